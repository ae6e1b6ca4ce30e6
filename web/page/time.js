// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// When it was: a heat map of time and duration, a lane for each thread, and ranges of both that the graph is made of.

const HEAT_HEIGHT = 132,
	LANE = 15,
	LANES_SHOWN = 9;

// Rows of (wait, slice, slot): see src/render/html/slices.c.
async function readSlices(data) {
	if (data.slices || !document.getElementById('slices')) return data.slices;
	const r = new Reader(await block('slices')),
		length = r.number(),
		cnt = r.number(),
		unit = r.number(),
		rows = r.number();
	const perWait = r.fill(new Int32Array(data.waits.cnt)),
		s = { length, cnt, unit, rows, wait: new Int32Array(rows), slice: r.fill(new Int32Array(rows)) };
	let row = 0;
	perWait.forEach((n, wait) => {
		for (let k = 0; k < n; k++, row++) {
			s.wait[row] = wait;
			if (k) s.slice[row] += s.slice[row - 1];
		}
	});
	s.slot = r.fill(new Uint8Array(rows));
	s.classes = CLASSES.map(() => r.fill(new Float64Array(rows)).map((n) => n * unit));
	s.count = r.fill(new Float64Array(rows)).map((n) => n / 256);
	return (data.slices = s);
}

// The waits' sums within [from, to] slices.
function sumsWithin(range) {
	const { data } = V,
		s = data.slices,
		cnt = data.waits.cnt;
	const sums = { count: new Float64Array(cnt), classes: CLASSES.map(() => new Float64Array(cnt)) };
	for (let i = 0; i < s.rows; i++) {
		if (s.slice[i] < range[0] || s.slice[i] > range[1]) continue;
		sums.count[s.wait[i]] += s.count[i];
		for (let k = 0; k < CLASSES.length; k++) sums.classes[k][s.wait[i]] += s.classes[k][i];
	}
	return sums;
}
// Durations of the waits within the range, as addUpHist() has them of all.
function histWithin(waits, range) {
	const s = V.data.slices,
		hist = new Float64Array(HIST_SLOTS),
		wanted = new Uint8Array(V.data.waits.cnt);
	for (const i of waits) wanted[i] = 1;
	for (let i = 0; i < s.rows; i++)
		if (wanted[s.wait[i]] && s.slice[i] >= range[0] && s.slice[i] <= range[1])
			hist[s.slot[i]] += s.count[i];
	return hist;
}
function rangeSeconds(range) {
	const s = V.data.slices,
		end = Math.min((range[1] + 1) * s.length, V.data.about.window);
	return Math.max(1, end - range[0] * s.length) / 1e9;
}
function rangeWords(range) {
	const at = (ns) => (ns / 1e9).toFixed(V.data.slices.length < 1e9 ? 1 : 0),
		s = V.data.slices;
	return `${at(range[0] * s.length)} to ${at(Math.min((range[1] + 1) * s.length, V.data.about.window))} s`;
}

// ---- the heat map

function heatCells() {
	const { data } = V,
		s = data.slices,
		heat = new Float64Array(s.cnt * HIST_SLOTS),
		seen = new Int32Array(S.heat === 'threads' ? heat.length : 0).fill(-1);
	let low = HIST_SLOTS,
		high = 0;
	const below = V.heatOnly;
	for (let i = 0; i < s.rows; i++) {
		const mask = V.mask[s.wait[i]];
		if (!V.isThere[s.wait[i]] || (below && !below[s.wait[i]])) continue;
		let n = 0;
		for (let k = 0; k < ON_CPU; k++) if (mask & (1 << k)) n += s.classes[k][i]; // what runs has no duration
		if (S.count) n = n ? s.count[i] : 0;
		if (!n) continue;
		const cell = s.slice[i] * HIST_SLOTS + s.slot[i];
		if (S.heat === 'threads') {
			// Rows stand in the order of their threads.
			const thread = data.waits.thread[s.wait[i]];
			if (seen[cell] !== thread) heat[cell]++;
			seen[cell] = thread;
		} else heat[cell] += n;
		low = Math.min(low, s.slot[i]);
		high = Math.max(high, s.slot[i]);
	}
	return { heat, low: Math.min(low, high), high };
}

function drawHeat() {
	const canvas = one('#heat canvas'),
		width = one('#heat').clientWidth,
		context = canvas.getContext('2d'),
		s = V.data.slices,
		ratio = Math.min(devicePixelRatio || 1, 2);
	const all = laneSums();
	V.laneCnt = all.length;
	V.laneFrom = Math.max(0, Math.min(V.laneFrom || 0, all.length - LANES_SHOWN));
	const lanes = all.slice(V.laneFrom, V.laneFrom + LANES_SHOWN),
		height = HEAT_HEIGHT + 8 + lanes.length * LANE,
		dark = themeName() === 'dark';
	canvas.width = width * ratio;
	canvas.height = height * ratio;
	canvas.style.width = width + 'px';
	canvas.style.height = height + 'px';
	one('#heat').style.height = height + 18 + 'px';
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	const { heat, low, high } = heatCells(),
		left = (V.heatLeft = 112),
		wide = (width - left) / s.cnt,
		tall = HEAT_HEIGHT / Math.max(1, high - low + 1);
	const top = heat.reduce((a, b) => Math.max(a, b), 0) || 1,
		style = getComputedStyle(document.documentElement);
	const text = style.getPropertyValue('--soft'),
		ink = dark
			? [
					[28, 34, 46],
					[40, 92, 190],
					[120, 220, 255],
				]
			: [
					[236, 241, 250],
					[66, 130, 224],
					[16, 28, 92],
				];
	for (let i = 0; i < s.cnt; i++) {
		for (let slot = low; slot <= high; slot++) {
			const n = heat[i * HIST_SLOTS + slot];
			if (!n) continue;
			const share = Math.pow(n / top, 0.4);
			context.fillStyle = css(
				share < 0.5 ? mix(ink[0], ink[1], share * 2) : mix(ink[1], ink[2], share * 2 - 1),
			);
			context.fillRect(
				left + i * wide,
				HEAT_HEIGHT - (slot - low + 1) * tall,
				Math.max(0.6, wide - (wide > 4 ? 0.6 : 0)),
				Math.max(0.6, tall - 0.6),
			);
		}
	}
	context.font = '11px system-ui, "DejaVu Sans", sans-serif';
	context.fillStyle = text;
	context.textAlign = 'right';
	context.textBaseline = 'middle';
	let last = HEAT_HEIGHT + 20;
	[1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10].forEach((ns) => {
		const y = HEAT_HEIGHT - (Math.log2(ns) - low) * tall;
		if (y < 6 || y > HEAT_HEIGHT - 4 || last - y < 14) return;
		last = y;
		context.fillText(time(ns).replace(/\.0+ /, ' '), left - 8, y);
	});
	lanes.forEach((lane, i) => drawLane(context, lane, HEAT_HEIGHT + 8 + i * LANE, left, wide, text));
	one('#lanehint').textContent =
		all.length > LANES_SHOWN
			? `lanes ${V.laneFrom + 1} to ${V.laneFrom + lanes.length} of ${number(all.length)}: wheel, ↑ ↓`
			: '';
	V.heatTop = top;
	showRanges();
}
// What the darkest cell stands for.
function heatWords() {
	if (S.heat === 'threads') return `darkest: ${plural(V.heatTop, 'thread')}`;
	return `darkest: ${S.count ? plural(V.heatTop, 'wait') : time(V.heatTop)}`;
}
function scrollLanes(by) {
	V.laneFrom = (V.laneFrom || 0) + by;
	drawHeat();
}

// Time by class of the largest groups in each slice.
function laneSums() {
	const { data } = V,
		s = data.slices,
		by = S.by === 'merged' ? 'comm' : S.by,
		label = data.threads.map((t) => groupLabel(V.labels, t, by)),
		lanes = new Map();
	for (let i = 0; i < s.rows; i++) {
		const wait = s.wait[i];
		if (!V.mask[wait]) continue;
		const group = label[data.waits.thread[wait]];
		let lane = lanes.get(group);
		if (!lane)
			lanes.set(
				group,
				(lane = {
					name: V.labels.text[group],
					sum: 0,
					classes: CLASSES.map(() => new Float64Array(s.cnt)),
				}),
			);
		for (let k = 0; k < CLASSES.length; k++) {
			if (!(V.mask[wait] & (1 << k))) continue;
			lane.classes[k][s.slice[i]] += s.classes[k][i];
			lane.sum += s.classes[k][i];
		}
	}
	return [...lanes.values()].sort((a, b) => b.sum - a.sum || (a.name < b.name ? -1 : 1));
}
function drawLane(context, lane, y, left, wide, text) {
	const cnt = V.data.slices.cnt,
		theme = themeName();
	let top = 0;
	for (let i = 0; i < cnt; i++)
		top = Math.max(
			top,
			lane.classes.reduce((sum, c) => sum + c[i], 0),
		);
	for (let i = 0; i < cnt; i++) {
		let at = y + LANE - 1;
		for (let k = 0; k < CLASSES.length; k++) {
			const tall = ((LANE - 2) * lane.classes[k][i]) / (top || 1);
			context.fillStyle =
				V.classColours && V.classTheme === theme
					? V.classColours[k]
					: ((V.classTheme = theme),
						(V.classColours = CLASSES.map((c) => categoryColour(c, theme))))[k];
			context.fillRect(left + i * wide, at - tall, Math.max(0.6, wide), tall);
			at -= tall;
		}
	}
	context.fillStyle = text;
	context.fillText(cut(lane.name, 15), left - 8, y + LANE / 2);
}

function showRanges() {
	const s = V.data.slices,
		wide = (one('#heat').clientWidth - V.heatLeft) / s.cnt;
	for (const [id, range] of [
		['#range', S.range],
		['#range2', S.range2],
	]) {
		const node = one(id);
		node.hidden = !range;
		if (range)
			Object.assign(node.style, {
				left: V.heatLeft + range[0] * wide + 'px',
				width: (range[1] - range[0] + 1) * wide + 'px',
			});
	}
	const words = S.range
		? `Range ${rangeWords(S.range)}` + (S.range2 ? `, compared with ${rangeWords(S.range2)}` : '')
		: 'Whole window';
	one('#heat').setAttribute('aria-valuetext', words);
	one('#heat').setAttribute('aria-valuenow', S.range ? S.range[0] : 0);
	one('#heat').setAttribute('aria-valuemax', s.cnt - 1);
	one('#heathint').textContent = S.range
		? heatWords()
		: heatWords() +
			'. Drag for a range, then Ctrl-drag for another one to compare with; by key: arrows, Shift, b, Delete';
}

// first: of the two ranges.
function setRange(range, first) {
	const last = V.data.slices.cnt - 1,
		clip = (n) => Math.max(0, Math.min(last, n));
	S[first ? 'range' : 'range2'] = range && [clip(Math.min(...range)), clip(Math.max(...range))];
	if (!S.range) [S.range, S.range2] = [S.range2, null];
	update(false);
}

function heatKey(e) {
	const range = S.range || [0, -1],
		sign = e.key === 'ArrowRight' ? 1 : -1;
	if (e.key === 'ArrowLeft' || e.key === 'ArrowRight') {
		if (!S.range) setRange([0, Math.floor(V.data.slices.cnt / 10)], true);
		else if (e.shiftKey) setRange([range[0], Math.max(range[0], range[1] + sign)], true);
		else if (range[0] + sign >= 0 && range[1] + sign < V.data.slices.cnt)
			setRange([range[0] + sign, range[1] + sign], true);
	} else if (V.laneCnt > LANES_SHOWN && /^(Arrow|Page)(Up|Down)$/.test(e.key)) {
		scrollLanes((e.key.endsWith('Down') ? 1 : -1) * (e.key[0] === 'P' ? LANES_SHOWN : 1));
	} else if (e.key === 'b' && S.range) {
		S.range2 = S.range2 ? null : S.range.slice();
		update(false);
	} else if (e.key === 'Delete' || e.key === 'Backspace') {
		S.range2 = null;
		setRange(null, true);
	} else return;
	e.preventDefault();
	e.stopPropagation();
}

function heatMouse() {
	const heat = one('#heat');
	let from = null,
		first = true;
	const at = (e) =>
		Math.floor(
			(e.clientX - heat.getBoundingClientRect().left - V.heatLeft) /
				((heat.clientWidth - V.heatLeft) / V.data.slices.cnt),
		);
	heat.addEventListener('keydown', heatKey);
	heat.addEventListener(
		'wheel',
		(e) => {
			if (V.laneCnt <= LANES_SHOWN || !e.deltaY || e.ctrlKey) return;
			scrollLanes(Math.sign(e.deltaY));
			e.preventDefault();
		},
		{ passive: false },
	);
	heat.addEventListener('pointerdown', (e) => {
		if (e.button) return;
		from = at(e);
		first = !(e.ctrlKey || e.metaKey) || !S.range;
		heat.setPointerCapture(e.pointerId);
	});
	heat.addEventListener('pointermove', (e) => {
		if (from === null || from === at(e)) return;
		S[first ? 'range' : 'range2'] = [
			Math.max(0, Math.min(from, at(e))),
			Math.min(V.data.slices.cnt - 1, Math.max(from, at(e))),
		];
		showRanges();
	});
	heat.addEventListener('pointerup', (e) => {
		if (from === null) return;
		const to = at(e),
			was = from;
		from = null;
		if (was === to && first) S.range2 = null;
		setRange(
			was === to && first && S.range && was >= S.range[0] && was <= S.range[1] ? null : [was, to],
			first,
		);
	});
}

V.showTime = () => {
	const shown = S.view === 'time' && !!V.data.slices;
	if (!shown) return;
	const pane = V.zoomPane;
	V.heatOnly = null;
	if (pane.zoomed > 0 && !S.reverse) {
		V.heatOnly = new Uint8Array(V.data.waits.cnt);
		const { leaf } = V.trees[0],
			layout = preOrder(pane.layout);
		for (const i of V.items.order)
			if (leaf[i] >= 0 && isBelow(layout, leaf[i], pane.zoomed)) V.heatOnly[i] = 1;
	}
	drawHeat();
};
