// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// When it was: a heat map of time and duration, a lane for each thread, and ranges of both that the graph is made of.

const HEAT_HEIGHT = 132,
	LANE = 15,
	LANES_SHOWN = 9,
	HEAT_HEIGHT_SIDE = 84, // of each side of a difference
	LANES_SHOWN_SIDE = 3;

// Rows of (wait, slice, slot): see src/features/slices/page.c.
// Of a difference those of both sides.
async function readSlices(data) {
	if (data.sideSlices || !document.getElementById('slices')) return data.sideSlices;
	const r = new Reader(await block('slices')),
		windows = data.about.diff ? data.about.diff.window : [data.about.window];
	data.sideSlices = windows.map((window) => ({ ...slicesOf(r, data.waits.cnt), window }));
	if (!data.about.diff) {
		data.slices = data.sideSlices[0];
		data.sideSlices[AFTER] = data.slices;
	}
	return data.sideSlices;
}
function slicesOf(r, waitsCnt) {
	const length = r.number(),
		cnt = r.number(),
		unit = r.number(),
		rows = r.number();
	const perWait = r.fill(new Int32Array(waitsCnt)),
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
	return s;
}

// The waits' sums within [from, to] slices.
function sumsWithin(range, s) {
	const cnt = V.data.waits.cnt;
	const sums = { count: new Float64Array(cnt), classes: CLASSES.map(() => new Float64Array(cnt)) };
	for (let i = 0; i < s.rows; i++) {
		if (s.slice[i] < range[0] || s.slice[i] > range[1]) continue;
		sums.count[s.wait[i]] += s.count[i];
		for (let k = 0; k < CLASSES.length; k++) sums.classes[k][s.wait[i]] += s.classes[k][i];
	}
	return sums;
}
// Durations of the waits within the range, as addUpHist() has them of all.
function histWithin(waits, range, s) {
	const hist = new Float64Array(HIST_SLOTS),
		wanted = new Uint8Array(V.data.waits.cnt);
	for (const i of waits) wanted[i] = 1;
	for (let i = 0; i < s.rows; i++)
		if (wanted[s.wait[i]] && s.slice[i] >= range[0] && s.slice[i] <= range[1])
			hist[s.slot[i]] += s.count[i];
	return hist;
}
function rangeSeconds(range, s = V.data.slices) {
	const end = Math.min((range[1] + 1) * s.length, s.window);
	return Math.max(1, end - range[0] * s.length) / 1e9;
}
function rangeWords(range, s = V.data.slices) {
	const at = (ns) => (ns / 1e9).toFixed(s.length < 1e9 ? 1 : 0);
	return `${at(range[0] * s.length)} to ${at(Math.min((range[1] + 1) * s.length, s.window))} s`;
}
// By side, before and after: its range, or null.
const sideRanges = () => [S.range2, S.range];

// ---- the heat map

function heatCells(s = V.data.sideSlices[0]) {
	const { data } = V,
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

const INKS = {
	light: [
		[236, 241, 250],
		[66, 130, 224],
		[16, 28, 92],
	],
	dark: [
		[28, 34, 46],
		[40, 92, 190],
		[120, 220, 255],
	],
};
// What of the recordings is drawn one below the other: one of them, or before and after with the same scales.
function heatMaps() {
	const isDiff = !!V.data.about.diff,
		most = isDiff ? LANES_SHOWN_SIDE : LANES_SHOWN,
		longest = Math.max(...V.data.sideSlices.map((s) => s.cnt * s.length));
	const maps = V.data.sideSlices.slice(0, isDiff ? 2 : 1).map((s, side) => {
		const all = laneSums(s);
		return { s, side, ...heatCells(s), all, tall: isDiff ? HEAT_HEIGHT_SIDE : HEAT_HEIGHT, share: (s.cnt * s.length) / longest };
	});
	V.laneCnt = Math.max(...maps.map((m) => m.all.length));
	V.laneMost = most;
	V.laneFrom = Math.max(0, Math.min(V.laneFrom || 0, V.laneCnt - most));
	let y = 0;
	for (const map of maps) {
		map.lanes = map.all.slice(V.laneFrom, V.laneFrom + most);
		map.y = y + (isDiff ? 14 : 0);
		map.bottom = y = map.y + map.tall + 8 + map.lanes.length * LANE;
		y += isDiff ? 6 : 0;
	}
	return maps;
}

function drawHeat() {
	const canvas = one('#heat canvas'),
		width = one('#heat').clientWidth,
		context = canvas.getContext('2d'),
		ratio = Math.min(devicePixelRatio || 1, 2),
		maps = (V.heatMaps = heatMaps()),
		height = maps[maps.length - 1].bottom;
	canvas.width = width * ratio;
	canvas.height = height * ratio;
	canvas.style.width = width + 'px';
	canvas.style.height = height + 'px';
	one('#heat').style.height = height + 18 + 'px';
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.font = '11px system-ui, "DejaVu Sans", sans-serif';
	context.textBaseline = 'middle';
	V.heatLeft = 112;
	// Cells of longer slices hold more: of two recordings they are compared by the second.
	const perSlice = (map) => (V.data.about.diff && S.heat !== 'threads' ? map.s.length / 1e9 : 1),
		top = Math.max(...maps.map((map) => map.heat.reduce((a, b) => Math.max(a, b), 0) / perSlice(map))) || 1;
	const low = Math.min(...maps.map((m) => m.low)),
		high = Math.max(...maps.map((m) => m.high)),
		lane = Math.max(...maps.flatMap((map) => map.lanes.map((l) => laneTop(l, map.s))));
	for (const map of maps) {
		map.wide = ((width - V.heatLeft) * map.share) / map.s.cnt;
		drawMap(context, map, { low, high, top: top * perSlice(map) });
		map.lanes.forEach((l, i) => drawLane(context, l, map, map.y + map.tall + 8 + i * LANE, maps.length > 1 ? lane : 0));
	}
	const isCut = V.laneCnt > V.laneMost;
	hint('#lanehint', isCut ? `lanes ${V.laneFrom + 1} to ${Math.min(V.laneFrom + V.laneMost, V.laneCnt)} of ${number(V.laneCnt)}` : '', isCut ? ': wheel, ↑ ↓' : '');
	V.heatTop = top;
	showRanges();
}
function drawMap(context, map, { low, high, top }) {
	const { s, heat, y, tall, wide } = map,
		left = V.heatLeft,
		cell = tall / Math.max(1, high - low + 1),
		[weak, middle, strong] = INKS[themeName()];
	for (let i = 0; i < s.cnt; i++) {
		for (let slot = low; slot <= high; slot++) {
			const n = heat[i * HIST_SLOTS + slot];
			if (!n) continue;
			const share = Math.pow(n / top, 0.4);
			context.fillStyle = css(share < 0.5 ? mix(weak, middle, share * 2) : mix(middle, strong, share * 2 - 1));
			context.fillRect(
				left + i * wide,
				y + tall - (slot - low + 1) * cell,
				Math.max(0.6, wide - (wide > 4 ? 0.6 : 0)),
				Math.max(0.6, cell - 0.6),
			);
		}
	}
	context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--soft');
	if (V.data.about.diff) {
		context.textAlign = 'left';
		context.fillText(map.side === BEFORE ? 'BEFORE' : 'AFTER', 10, y - 6);
	}
	context.textAlign = 'right';
	let last = tall + 20;
	[1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10].forEach((ns) => {
		const at = tall - (Math.log2(ns) - low) * cell;
		if (at < 6 || at > tall - 4 || last - at < 14) return;
		last = at;
		context.fillText(time(ns).replace(/\.0+ /, ' '), left - 8, y + at);
	});
}
// What the darkest cell stands for.
function heatWords() {
	if (S.heat === 'threads') return `darkest: ${plural(V.heatTop, 'thread')}`;
	return `darkest: ${S.count ? plural(V.heatTop, 'wait') : time(V.heatTop)}` + (V.data.about.diff ? ' a second' : '');
}
function scrollLanes(by) {
	V.laneFrom = (V.laneFrom || 0) + by;
	drawHeat();
}

// Time by class of the largest groups in each slice.
function laneSums(s) {
	const { data } = V,
		by = S.by === 'merged' ? 'comm' : S.by,
		label = data.threads.map((t) => groupLabel(V.labels, t, by)),
		below = data.about.diff && V.heatOnly,
		lanes = new Map();
	for (let i = 0; i < s.rows; i++) {
		const wait = s.wait[i];
		if (!V.mask[wait] || (below && !below[wait])) continue;
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
// The most time of a slice, by the second.
function laneTop(lane, s) {
	let top = 0;
	for (let i = 0; i < s.cnt; i++)
		top = Math.max(
			top,
			lane.classes.reduce((sum, c) => sum + c[i], 0),
		);
	return top / s.length;
}
// top: what a full lane stands for; 0: its own most.
function drawLane(context, lane, { s, wide }, y, top) {
	const theme = themeName(),
		full = (top || laneTop(lane, s)) * s.length,
		colours = CLASSES.map((c) => categoryColour(c, theme));
	for (let i = 0; i < s.cnt; i++) {
		let at = y + LANE - 1;
		for (let k = 0; k < CLASSES.length; k++) {
			const tall = ((LANE - 2) * lane.classes[k][i]) / (full || 1);
			context.fillStyle = colours[k];
			context.fillRect(V.heatLeft + i * wide, at - tall, Math.max(0.6, wide), tall);
			at -= tall;
		}
	}
	context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--soft');
	context.fillText(cut(lane.name, 15), V.heatLeft - 8, y + LANE / 2);
}

// ---- ranges: of a recording the first one and what it is compared with; of a difference that of each side

function showRanges() {
	const isDiff = !!V.data.about.diff,
		of = (side) => V.heatMaps[isDiff ? side : 0];
	for (const [id, range, side] of [
		['#range', S.range, AFTER],
		['#range2', S.range2, BEFORE],
	]) {
		const node = one(id),
			map = of(side);
		node.hidden = !range;
		if (range)
			Object.assign(node.style, {
				left: V.heatLeft + range[0] * map.wide + 'px',
				width: (range[1] - range[0] + 1) * map.wide + 'px',
				...(isDiff ? { top: map.y + 6 + 'px', bottom: 'auto', height: map.bottom - map.y + 'px' } : {}),
			});
	}
	const words = isDiff
		? ['Before', 'After'].map((name, side) => `${name}: ${sideRanges()[side] ? rangeWords(sideRanges()[side], of(side).s) : 'whole window'}`).join(', ')
		: S.range
			? `Range ${rangeWords(S.range)}` + (S.range2 ? `, compared with ${rangeWords(S.range2)}` : '')
			: 'Whole window';
	one('#heat').setAttribute('aria-valuetext', words);
	one('#heat').setAttribute('aria-valuenow', S.range ? S.range[0] : 0);
	one('#heat').setAttribute('aria-valuemax', of(AFTER).s.cnt - 1);
	const keys = isDiff
		? '. Drag for a range of that side; by key: arrows, Shift, b for the other side, Delete'
		: '. Drag for a range, then Ctrl-drag for another one to compare with; by key: arrows, Shift, b, Delete';
	hint('#heathint', heatWords(), S.range || S.range2 ? '' : keys);
}
// What is told of keys and mouse has no place on a phone.
function hint(where, words, keys) {
	one(where).replaceChildren(words, make('span', { class: 'keys', text: keys }));
}

// first: of the two ranges.
function setRange(range, first) {
	const last = V.data.sideSlices[first ? AFTER : BEFORE].cnt - 1,
		clip = (n) => Math.max(0, Math.min(last, n));
	S[first ? 'range' : 'range2'] = range && [clip(Math.min(...range)), clip(Math.max(...range))];
	if (!S.range && !V.data.about.diff) [S.range, S.range2] = [S.range2, null];
	update(false);
}

function heatKey(e) {
	const isDiff = !!V.data.about.diff,
		first = !isDiff || !V.heatBefore,
		own = first ? S.range : S.range2,
		range = own || [0, -1],
		{ cnt } = V.data.sideSlices[first ? AFTER : BEFORE],
		sign = e.key === 'ArrowRight' ? 1 : -1;
	if (e.key === 'ArrowLeft' || e.key === 'ArrowRight') {
		if (!own) setRange([0, Math.floor(cnt / 10)], first);
		else if (e.shiftKey) setRange([range[0], Math.max(range[0], range[1] + sign)], first);
		else if (range[0] + sign >= 0 && range[1] + sign < cnt) setRange([range[0] + sign, range[1] + sign], first);
	} else if (e.key === 'b' && isDiff) {
		V.heatBefore = !V.heatBefore;
		say(`Arrows move the range of ${V.heatBefore ? 'BEFORE' : 'AFTER'}`);
	} else if (V.laneCnt > V.laneMost && /^(Arrow|Page)(Up|Down)$/.test(e.key)) {
		scrollLanes((e.key.endsWith('Down') ? 1 : -1) * (e.key[0] === 'P' ? V.laneMost : 1));
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
		first = true,
		map = null;
	// Which of the maps the pointer is in, and the slice.
	const mapAt = (e) => V.heatMaps.find((m) => e.clientY - heat.getBoundingClientRect().top < m.bottom + 12) || V.heatMaps[V.heatMaps.length - 1];
	const at = (e) => Math.floor((e.clientX - heat.getBoundingClientRect().left - V.heatLeft) / map.wide);
	heat.addEventListener('keydown', heatKey);
	heat.addEventListener(
		'wheel',
		(e) => {
			if (V.laneCnt <= V.laneMost || !e.deltaY || e.ctrlKey) return;
			scrollLanes(Math.sign(e.deltaY));
			e.preventDefault();
		},
		{ passive: false },
	);
	heat.addEventListener('pointerdown', (e) => {
		if (e.button) return;
		map = mapAt(e);
		from = at(e);
		first = V.data.about.diff ? map.side === AFTER : !(e.ctrlKey || e.metaKey) || !S.range;
		heat.setPointerCapture(e.pointerId);
	});
	heat.addEventListener('pointermove', (e) => {
		if (from === null || from === at(e)) return;
		S[first ? 'range' : 'range2'] = [
			Math.max(0, Math.min(from, at(e))),
			Math.min(map.s.cnt - 1, Math.max(from, at(e))),
		];
		showRanges();
	});
	heat.addEventListener('pointerup', (e) => {
		if (from === null) return;
		const to = at(e),
			was = from;
		from = null;
		const own = first ? S.range : S.range2,
			isAgain = was === to && own && was >= own[0] && was <= own[1];
		if (was === to && first && !V.data.about.diff) S.range2 = null;
		setRange(isAgain && (first || V.data.about.diff) ? null : [was, to], first);
	});
}

V.showTime = () => {
	if (V.more) V.more.show();
	const shown = S.view === 'time' && !!V.data.sideSlices;
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
