// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The time line: bars of a step each, stacked by what the time was for.  Steps that nothing was recorded in are hatched,
// so that a pause never looks like a quiet time.

const LEFT = 46,
	RIGHT = 12,
	TOP = 22,
	BOTTOM = 24,
	NARROW = 620; // as in serve.css

// Processes and services have no colour of their own: each gets one of these by its name, no two the same.  Hue, saturation,
// lightness of light; any two are at least 35 apart in CIE Lab, in both themes (tests/web/test_serve.py).
const WHEEL = [
	[204, 80, 58],
	[42, 80, 58],
	[276, 60, 70],
	[120, 80, 58],
	[336, 80, 58],
	[84, 40, 46],
	[240, 80, 58],
	[18, 40, 58],
	[162, 80, 58],
	[300, 80, 58],
	[72, 80, 58],
	[12, 80, 58],
];
function wheelColour([hue, saturation, light], theme) {
	return css(theme === 'dark' ? rgb(hue, saturation * 0.8, light - 8) : rgb(hue, saturation, light));
}

// On a phone the first finding is on the first screen, too.
function lineHeight() {
	return innerWidth <= NARROW ? 128 : 210;
}

function seriesColours(line) {
	const theme = themeName(),
		taken = new Set(),
		colours = {};
	for (const { name } of line.series) {
		if (name === 'idle' || name === '(others)' || line.by === 'reason' || line.by === 'class') colours[name] = reasonColour(name, theme);
	}
	for (const { name } of [...line.series].sort((a, b) => (a.name < b.name ? -1 : 1))) {
		if (colours[name]) continue;
		let at = textHash(name) % WHEEL.length;
		for (let n = 0; n < WHEEL.length && taken.has(at); n++) at = (at + 1) % WHEEL.length;
		taken.add(at);
		colours[name] = wheelColour(WHEEL[at], theme);
	}
	return colours;
}

function isOff(name) {
	return S.off.has(name);
}
// Time as a number of threads; the first and the last step may be recorded in part.
function threads(ns, n) {
	const at = V.line.from + n * V.line.step,
		ms = Math.min(at + V.line.step, V.extent.to) - Math.max(at, V.extent.from);
	// What was stored since the extent was asked for has steps beyond it.
	return ns / ((ms > 0 ? Math.max(ms, 1000) : V.line.step) * 1e6);
}
function plotWidth() {
	return Math.max(100, one('#line').clientWidth - LEFT - RIGHT);
}
function xOf(ms) {
	return LEFT + ((ms - S.from) / (S.to - S.from)) * plotWidth();
}
function msAt(x) {
	return S.from + ((x - LEFT) / plotWidth()) * (S.to - S.from);
}
// The nearest edge of a step.
function snap(ms) {
	const step = V.line ? V.line.step : 10e3;
	return Math.round(ms / step) * step;
}
function stepAt(ms) {
	const n = V.line ? Math.floor((ms - V.line.from) / V.line.step) : -1;
	return n >= 0 && n < V.line.steps ? n : -1;
}
function totalAt(n) {
	let sum = 0;
	for (const s of V.line.series) if (!isOff(s.name)) sum += s.ns[n];
	return sum;
}

const SPIKE = 3; // times what nearly all bars have: from here on a bar is cut off
// What the axis ends at: a few bars that are far above all others end in a mark, so that the others keep their shape.
function axisOf() {
	const heights = [];
	for (let n = 0; n < V.line.steps; n++) if (!V.line.gaps[n]) heights.push(threads(totalAt(n), n));
	heights.sort((a, b) => a - b);
	const most = heights[heights.length - 1] || 0,
		usual = heights[Math.max(0, Math.ceil(heights.length * 0.95) - 1 - (heights.length < 20 ? 1 : 0))] || 0,
		isCut = heights.length >= 8 && usual > 0 && most > SPIKE * usual,
		top = isCut ? usual * 1.5 : most,
		unit = niceStep(top || 1);
	return { unit, max: unit * Math.ceil(Math.max(top, unit / 2) / unit) };
}

// 1, 2, 2.5, 5 times a power of ten: at most five lines.
function niceStep(max) {
	const raw = max / 4,
		power = 10 ** Math.floor(Math.log10(raw));
	return power * [1, 2, 2.5, 5, 10].find((n) => n * power >= raw);
}

const TICKS = [10, 30, 60, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000];
function timeTicks(width) {
	const most = Math.max(2, width / 92),
		step = 1000 * (TICKS.find((s) => (S.to - S.from) / (s * 1000) <= most) || TICKS[TICKS.length - 1]),
		ticks = [];
	// on the clock of this place
	const shift = new Date(S.from).getTimezoneOffset() * 60e3;
	for (let t = Math.ceil((S.from - shift) / step) * step + shift; t <= S.to; t += step) ticks.push(t);
	return { ticks, step };
}

function ink(name) {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function hatch(c, colour) {
	const tile = document.createElement('canvas');
	tile.width = tile.height = 8;
	const t = tile.getContext('2d');
	t.strokeStyle = colour;
	t.lineWidth = 1.2;
	t.beginPath();
	for (const at of [-8, 0, 8]) {
		t.moveTo(at, 8);
		t.lineTo(at + 8, 0);
	}
	t.stroke();
	return c.createPattern(tile, 'repeat');
}

function drawAxes(c, width, max, unit) {
	const height = lineHeight() - TOP - BOTTOM;
	c.font = '11px system-ui, sans-serif';
	c.fillStyle = ink('--soft');
	c.strokeStyle = ink('--grid');
	c.lineWidth = 1;
	c.textAlign = 'right';
	c.textBaseline = 'middle';
	for (let v = 0; v <= max * 1.0001; v += unit) {
		const y = Math.round(TOP + height - (v / max) * height) + 0.5;
		c.beginPath();
		c.moveTo(LEFT, y);
		c.lineTo(LEFT + width, y);
		c.stroke();
		c.fillText(+v.toPrecision(3), LEFT - 7, y);
	}
	const { ticks, step } = timeTicks(width);
	c.textBaseline = 'top';
	c.textAlign = 'center';
	let last = -1e9;
	for (const t of ticks) {
		const x = Math.round(xOf(t)) + 0.5,
			midnight = clock(t) === '00:00',
			text = step >= 86400e3 || midnight ? day(t) : clock(t, step < 60e3),
			half = c.measureText(text).width / 2;
		if (x < LEFT - 1 || x - half < last + 10 || x + half > LEFT + width + RIGHT) continue;
		last = x + half;
		c.strokeStyle = ink('--line');
		c.beginPath();
		c.moveTo(x, TOP + height);
		c.lineTo(x, TOP + height + 4);
		c.stroke();
		c.fillText(text, x, TOP + height + 7);
	}
}

function drawBars(c, width, max, colours) {
	const { line } = V,
		height = lineHeight() - TOP - BOTTOM,
		base = TOP + height,
		pattern = hatch(c, ink('--line')),
		cuts = [],
		series = line.series.filter((s) => !isOff(s.name)),
		wide = (line.step / (S.to - S.from)) * width,
		space = wide >= 7 ? 1 : 0;
	for (let n = 0; n < line.steps; n++) {
		const at = line.from + n * line.step,
			x0 = Math.max(LEFT, Math.round(xOf(at))),
			x1 = Math.min(LEFT + width, Math.round(xOf(at + line.step)) - space);
		if (x1 <= LEFT || x0 >= LEFT + width) continue;
		// what was not yet, or is not kept any more, is empty and no gap
		if (line.gaps[n] && at >= V.extent.from && at + line.step <= V.extent.to) {
			c.fillStyle = pattern;
			c.fillRect(x0, TOP, x1 - x0 + space, height);
		}
		let y = base,
			sum = 0;
		for (const s of series) {
			if (!s.ns[n]) continue;
			sum += threads(s.ns[n], n);
			const next = base - (Math.min(sum, max) / max) * height;
			c.fillStyle = colours[s.name];
			c.fillRect(x0, next, Math.max(1, x1 - x0), y - next);
			y = next;
		}
		if (sum > max) cuts.push({ x0, x1, sum });
	}
	drawCuts(c, cuts, width);
}

// A bar that goes on above the axis: a break across its top, and how high it is over the highest of a group.
function drawCuts(c, cuts, width) {
	const numbers = [];
	for (const cut of cuts) {
		c.fillStyle = ink('--back');
		for (const y of [TOP + 7, TOP + 12]) {
			c.beginPath();
			c.moveTo(cut.x0 - 1, y + 3);
			c.lineTo(cut.x1 + 1, y - 2);
			c.lineTo(cut.x1 + 1, y);
			c.lineTo(cut.x0 - 1, y + 5);
			c.fill();
		}
		const last = numbers[numbers.length - 1];
		if (!last || cut.x0 - last.x1 > 60) numbers.push({ ...cut });
		else if (cut.sum > last.sum) last.sum = cut.sum;
	}
	c.font = '600 11px system-ui, sans-serif';
	c.textAlign = 'left';
	c.textBaseline = 'middle';
	for (const { x0, x1, sum } of numbers) {
		const text = `▲ ${+sum.toPrecision(3)}`,
			wide = c.measureText(text).width + 8,
			x = x1 + 4 + wide > LEFT + width ? x0 - 4 - wide : x1 + 4;
		c.fillStyle = ink('--back');
		c.fillRect(x, TOP, wide, 16);
		c.fillStyle = ink('--text');
		c.fillText(text, x + 4, TOP + 8);
	}
}

function drawLine() {
	const box = one('#line'),
		canvas = one('#line canvas'),
		ratio = devicePixelRatio || 1,
		all = box.clientWidth,
		width = plotWidth();
	if (!V.line) return;
	canvas.width = Math.round(all * ratio);
	canvas.height = Math.round(lineHeight() * ratio);
	canvas.style.width = all + 'px';
	canvas.style.height = lineHeight() + 'px';
	const c = canvas.getContext('2d');
	c.scale(ratio, ratio);
	c.clearRect(0, 0, all, lineHeight());
	const { unit, max } = axisOf();
	V.axis = max;
	V.colours = seriesColours(V.line);
	drawAxes(c, width, max, unit);
	drawBars(c, width, max, V.colours);
	c.fillStyle = ink('--soft');
	c.font = '11px system-ui, sans-serif';
	c.textAlign = 'left';
	c.textBaseline = 'top';
	const label = V.line.isPart ? 'threads that the filters leave, on average' : 'threads off CPU, on average';
	c.textBaseline = 'alphabetic';
	c.fillText(label, LEFT - 40, TOP - 8);
	placeRanges();
	drawLegend();
}

function place(node, range) {
	node.hidden = !range || range[1] <= S.from || range[0] >= S.to;
	if (node.hidden) return;
	const a = Math.max(LEFT, xOf(range[0])),
		b = Math.min(LEFT + plotWidth(), xOf(range[1]));
	node.style.left = a + 'px';
	node.style.width = Math.max(3, b - a) + 'px';
}
function placeRanges() {
	place(one('#range'), marked('range'));
	place(one('#range2'), marked('with'));
	const slider = one('#line'),
		range = marked('range') || [S.from, S.to];
	slider.setAttribute('aria-valuenow', String(Math.round((100 * (range[0] - S.from)) / (S.to - S.from))));
	slider.setAttribute('aria-valuetext', (S.range ? '' : 'No range, the whole time line: ') + rangeWords(range) + ', ' + spanWords(range[1] - range[0]));
}

function seriesWords(name) {
	return V.line.by === 'class' || V.line.by === 'reason' ? reasonWords(name) : name || '(none)';
}

function drawLegend() {
	const legend = one('#legend'),
		focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.series : null;
	let all = 0;
	for (const s of V.line.series) if (!isOff(s.name)) all += s.sum;
	legend.replaceChildren(
		...V.line.series.map((s) => {
			const mark = make('i');
			mark.style.background = V.colours[s.name];
			return make(
				'button',
				{
					type: 'button',
					class: 'switch',
					'aria-pressed': String(!isOff(s.name)),
					title: 'Show or hide; with Shift this one alone',
					dataset: { series: s.name },
					onclick: (e) => toggleSeries(s.name, e.shiftKey),
				},
				mark,
				seriesWords(s.name),
				isOff(s.name) ? null : make('small', { text: percent(s.sum, all) }),
			);
		}),
	);
	for (const button of legend.children) if (focused && button.dataset.series === focused) button.focus();
}
function toggleSeries(name, alone) {
	const names = V.line.series.map((s) => s.name),
		isAlone = names.every((n) => isOff(n) === (n !== name));
	if (alone) S.off = new Set(isAlone ? ['idle'] : names.filter((n) => n !== name));
	else if (!S.off.delete(name)) S.off.add(name);
	drawLine();
	writeAddress(false);
}

// ---- the pointer

function showTip(x, y) {
	const n = stepAt(msAt(x)),
		tip = one('#tip'),
		cross = one('#cross');
	cross.hidden = n < 0 || x < LEFT || x > LEFT + plotWidth();
	tip.hidden = cross.hidden;
	if (tip.hidden) return;
	const { line } = V,
		at = line.from + n * line.step,
		rows = line.series.filter((s) => !isOff(s.name) && s.ns[n]).sort((a, b) => b.ns[n] - a.ns[n]);
	cross.style.left = xOf(at) + 'px';
	cross.style.width = Math.max(1, xOf(at + line.step) - xOf(at)) + 'px';
	tip.replaceChildren(make('b', { text: rangeWords([at, at + line.step]) }));
	if (line.gaps[n]) tip.append(make('p', { text: at < V.extent.from || at >= V.extent.to ? 'Not recorded' : 'Nothing was recorded here' }));
	else tip.append(make('p', { text: `${+threads(totalAt(n), n).toPrecision(3)} threads` }));
	for (const s of rows.slice(0, 8)) {
		const mark = make('i');
		mark.style.background = V.colours[s.name];
		tip.append(make('div', {}, mark, seriesWords(s.name), make('span', { text: String(+threads(s.ns[n], n).toPrecision(2)) })));
	}
	const box = one('#line').getBoundingClientRect(),
		left = box.left + x + 16;
	tip.style.left = (left + tip.offsetWidth > innerWidth ? left - tip.offsetWidth - 32 : left) + 'px';
	tip.style.top = Math.min(box.top + y + 14, innerHeight - tip.offsetHeight - 4) + 'px';
}
function hideTip() {
	one('#tip').hidden = true;
	one('#cross').hidden = true;
}

// Which end of the range is under the pointer: -1, 0, or none.
function endAt(x) {
	if (!S.range) return -1;
	return [0, 1].find((i) => Math.abs(xOf(marked('range')[i]) - x) <= 5) ?? -1;
}

function watchPointer() {
	const box = one('#line');
	let drag = null;
	const xIn = (e) => e.clientX - box.getBoundingClientRect().left;
	box.addEventListener('pointerdown', (e) => {
		if (e.button !== 0 || !V.line) return;
		const x = xIn(e),
			second = e.ctrlKey || e.metaKey,
			end = second ? -1 : endAt(x);
		drag = { key: second ? 'with' : 'range', from: end < 0 ? msAt(x) : marked('range')[1 - end], x, moved: end >= 0 };
		box.setPointerCapture(e.pointerId);
		hideTip();
	});
	box.addEventListener('pointermove', (e) => {
		const x = xIn(e);
		if (!drag) {
			box.style.cursor = endAt(x) >= 0 ? 'ew-resize' : 'crosshair';
			if (V.line) showTip(x, e.clientY - box.getBoundingClientRect().top);
			return;
		}
		drag.moved = drag.moved || Math.abs(x - drag.x) > 3;
		if (!drag.moved) return;
		S[drag.key] = between(drag.from, msAt(x));
		placeRanges();
	});
	const end = (e) => {
		if (!drag) return;
		const { key, moved } = drag;
		drag = null;
		const n = stepAt(msAt(xIn(e)));
		// a click chooses one bar
		if (!moved && n >= 0) S[key] = [V.line.from + n * V.line.step, V.line.from + (n + 1) * V.line.step];
		chosen(key);
	};
	box.addEventListener('pointerup', end);
	box.addEventListener('pointercancel', end);
	box.addEventListener('pointerleave', hideTip);
	box.addEventListener('dblclick', () => zoomToRange());
	box.addEventListener('contextmenu', (e) => {
		if (e.ctrlKey) e.preventDefault(); // Ctrl-click on a Mac
	});
}

// Whole steps, at least one, within the view and the history.
function between(a, b) {
	const { step } = V.line,
		low = Math.max(snap(Math.min(a, b)), Math.floor(V.extent.from / step) * step),
		high = Math.min(snap(Math.max(a, b)), Math.ceil(V.extent.to / step) * step);
	return [Math.min(low, high - step), high];
}
function chosen(key) {
	if (key === 'with') S.tab = 'compare';
	S.live = false; // what somebody looks at stays where it is
	update(true);
}
