// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// When waits of which duration were, over the flame graph of the range: each cell is a stretch of time and a power of two
// of durations, its colour how much time of threads went there.  Idle waits are left out.

const HEAT = 150,
	HEAT_TOP = 8,
	HEAT_CELL = 9; // pixels of a cell at least

function heatNode() {
	return make(
		'figure',
		{ id: 'heat' },
		make('figcaption', { class: 'soft', text: 'Reading how long waits were…' }),
		make('canvas', { role: 'img', 'aria-label': 'Time of waits by when they were and how long each was', onpointermove: heatTip, onpointerleave: hideTip, onclick: heatClick }),
	);
}
function heatWidth() {
	return Math.max(80, one('#heat').clientWidth - LEFT - RIGHT);
}

async function readHeat() {
	const range = shownRange(),
		step = stepFor(range[1] - range[0], (heatWidth() * BAR) / HEAT_CELL, !!S.grep);
	try {
		const line = await ask('heat', route('line', lineQuery(range, step, { by: 'duration', series: 48 })));
		if (!line || S.tab !== 'flame') return;
		V.heat = { ...lineOf(line, 'duration'), rows: line.series.map((s) => ({ slot: Math.round(Math.log2(+s.name)), ns: s.ns })) };
		drawHeat();
	} catch (e) {
		V.heat = null;
		if (one('#heat')) one('#heat figcaption').textContent = e.message;
	}
}

function heatColours() {
	return themeName() === 'dark' ? [[28, 34, 46], [40, 92, 190], [120, 220, 255]] : [[236, 241, 250], [66, 130, 224], [16, 28, 92]];
}
function heatColour(inks, share) {
	return css(share < 0.5 ? mix(inks[0], inks[1], share * 2) : mix(inks[1], inks[2], share * 2 - 1));
}

// Where things are: slots low to high, all of the line's steps across.
function heatPlan() {
	const { rows, steps } = V.heat,
		slots = rows.map((r) => r.slot),
		low = Math.min(...slots),
		high = Math.max(...slots);
	return { low, high, wide: heatWidth() / steps, tall: HEAT / (high - low + 1) };
}

function drawHeatAxes(c, plan) {
	const { heat } = V,
		at = (n) => heat.from + n * heat.step;
	c.font = '11px system-ui, sans-serif';
	c.fillStyle = ink('--soft');
	c.textAlign = 'right';
	c.textBaseline = 'middle';
	let last = 1e9;
	for (let ns = 1e3; ns < 1e15; ns *= 10) {
		const y = HEAT_TOP + HEAT - (Math.log2(ns) - plan.low) * plan.tall;
		if (y < HEAT_TOP || y > HEAT_TOP + HEAT - 4 || last - y < 14) continue;
		last = y;
		c.fillText(time(ns).replace(/\.0+ /, ' '), LEFT - 6, y);
	}
	c.textBaseline = 'top';
	c.textAlign = 'left';
	c.fillText(clock(at(0), true), LEFT, HEAT_TOP + HEAT + 6);
	c.textAlign = 'right';
	c.fillText(clock(at(heat.steps), true), LEFT + heatWidth(), HEAT_TOP + HEAT + 6);
}

function drawHeat() {
	const { heat } = V,
		canvas = one('#heat canvas');
	if (!heat || !canvas) return;
	if (!heat.rows.length) {
		canvas.hidden = true;
		one('#heat figcaption').textContent = 'No wait is left that is not idle.';
		return;
	}
	const ratio = devicePixelRatio || 1,
		all = one('#heat').clientWidth,
		c = canvas.getContext('2d'),
		plan = heatPlan(),
		inks = heatColours();
	let top = 0;
	for (const row of heat.rows) for (const ns of row.ns) top = Math.max(top, ns);
	canvas.width = Math.round(all * ratio);
	canvas.height = Math.round((HEAT + HEAT_TOP + 24) * ratio);
	canvas.style.width = all + 'px';
	c.scale(ratio, ratio);
	const pattern = hatch(c, ink('--line'));
	for (let n = 0; n < heat.steps; n++) {
		const [from, to] = heatRange(n);
		if (!heat.gaps[n] || from < V.extent.from || to > V.extent.to) continue;
		c.fillStyle = pattern;
		c.fillRect(LEFT + n * plan.wide, HEAT_TOP, plan.wide, HEAT);
	}
	for (const row of heat.rows) {
		const y = HEAT_TOP + HEAT - (row.slot - plan.low + 1) * plan.tall;
		for (let n = 0; n < heat.steps; n++) {
			if (!row.ns[n]) continue;
			c.fillStyle = heatColour(inks, Math.pow(row.ns[n] / top, 0.4));
			c.fillRect(LEFT + n * plan.wide, y, Math.max(0.6, plan.wide - (plan.wide > 4 ? 0.6 : 0)), Math.max(0.6, plan.tall - 0.6));
		}
	}
	drawHeatAxes(c, plan);
	one('#heat figcaption').textContent = `How long each wait was, and when. The darkest cell is ${time(top)} of threads in ${spanWords(heat.step)}; a click chooses a column.`;
}

function heatAt(e) {
	const box = one('#heat canvas').getBoundingClientRect(),
		{ heat } = V;
	if (!heat || !heat.rows.length) return null;
	const plan = heatPlan(),
		n = Math.floor((e.clientX - box.left - LEFT) / plan.wide),
		slot = plan.low + Math.floor((HEAT_TOP + HEAT - (e.clientY - box.top)) / plan.tall);
	return n < 0 || n >= heat.steps || slot < plan.low || slot > plan.high ? null : { n, slot };
}
function heatRange(n) {
	const { heat } = V;
	return [heat.from + n * heat.step, heat.from + (n + 1) * heat.step];
}
function heatTip(e) {
	const at = heatAt(e),
		tip = one('#tip');
	tip.hidden = !at;
	if (!at) return;
	const row = V.heat.rows.find((r) => r.slot === at.slot),
		ns = row ? row.ns[at.n] : 0;
	tip.replaceChildren(
		make('b', { text: rangeWords(heatRange(at.n)) }),
		make('p', { text: `Waits of ${time(2 ** at.slot)} to ${time(2 ** (at.slot + 1))}: ${V.heat.gaps[at.n] ? 'nothing was recorded' : ns ? time(ns) + ' of threads' : 'none'}` }),
	);
	tip.style.left = (e.clientX + 16 + tip.offsetWidth > innerWidth ? e.clientX - tip.offsetWidth - 16 : e.clientX + 16) + 'px';
	tip.style.top = Math.min(e.clientY + 14, innerHeight - tip.offsetHeight - 4) + 'px';
}
function heatClick(e) {
	const at = heatAt(e);
	if (!at) return;
	S.range = heatRange(at.n);
	S.live = false;
	update(true);
}
