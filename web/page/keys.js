// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What a user does: by key, by mouse, by button.  Everything has a key.

// In two columns.
const HELP = [
	[
		'Move',
		[
			['← →', 'frame beside'],
			['↑ ↓', 'caller, callee'],
			['Enter', 'zoom in'],
			['Esc', 'back out, step by step'],
			['0', 'whole graph'],
			['+ −', 'closer, farther'],
			['Shift ← →', 'pan'],
			['PgUp PgDn', 'scroll'],
			['Home', 'to the root'],
		],
	],
	[
		'Find',
		[
			['/', 'search, a regular expression'],
			['n N', 'next, previous match'],
			['e', 'upper and lower case matter'],
		],
	],
	[
		'View',
		[
			['1', 'flame graph'],
			['2', 'table'],
			['3', 'callers and callees of the frame'],
			['4', 'wakers of the frame'],
			['5', 'time'],
			['g', 'group: merged, process, name, thread'],
			['w', 'weight: time, its parts, number'],
			['k', 'colours'],
			['r', 'reverse: merge from the leaves'],
			['i', 'invert: root on top'],
			['o', 'order: by weight, by name'],
			['v', 'of a comparison, width: both, after, before'],
			['a', 'all frames: none folded'],
			['d', 'details'],
			['s', 'all switches'],
			['t', 'light, dark'],
		],
	],
	[
		'Time',
		[
			['← →', 'move the range'],
			['Shift ← →', 'longer, shorter'],
			['b', 'compare with where it is now; of a difference: the other side'],
			['Delete', 'whole window'],
			['h', 'heat: time, threads'],
			['↑ ↓', 'other lanes'],
			['Ctrl drag', 'a second range, to compare with'],
		],
	],
	[
		'Take',
		[
			['c', 'copy name'],
			['C', 'copy stack'],
			['l', 'copy link to this view'],
			['p', 'print'],
		],
	],
	[
		'Mouse',
		[
			['click', 'zoom in'],
			['drag', 'pan'],
			['Ctrl wheel', 'closer, farther'],
			['Shift wheel', 'pan'],
			['right button', 'callers and callees'],
			['switch, with Shift', 'this one alone'],
		],
	],
];

function showHelp(open) {
	const help = one('#help');
	if (!help.firstChild) {
		help.append(
			make('h2', { text: 'Keys and mouse' }),
			...HELP.map(([title, rows]) =>
				section(
					title,
					make(
						'dl',
						{},
						...rows.flatMap(([key, what]) => [
							make('dt', {}, make('kbd', { text: key })),
							make('dd', { text: what }),
						]),
					),
				),
			),
			make('button', { type: 'button', text: 'Close', onclick: () => showHelp(false) }),
		);
	}
	help.hidden = !open;
	if (open) help.querySelector('button').focus();
	else one('#tree').focus({ preventScroll: true });
}

function say(text) {
	one('#said').textContent = text;
	one('#said').classList.add('shown');
	clearTimeout(say.timer);
	say.timer = setTimeout(() => one('#said').classList.remove('shown'), 2500);
}

function copy(text, what) {
	const done = () => say(`${what} copied`);
	const old = () => {
		const area = make('textarea', { class: 'away' });
		area.value = text;
		document.body.append(area);
		area.select();
		const ok = document.execCommand('copy');
		area.remove();
		say(ok ? `${what} copied` : 'The browser does not let this page copy');
		one('#tree').focus({ preventScroll: true });
	};
	if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, old);
	else old();
	return text;
}
const copyName = () => copy(describe(V.selected.pane, V.selected.node).name, 'Name');
const copyStack = () => copy(stackText(V.selected.pane, V.selected.node), 'Stack');
const copyLink = () => copy(location.href, 'Link');

// ---- where to look

function select(pane, node, quiet) {
	hover(null);
	V.selected = { pane, node };
	S.select = refOf(pane, node);
	reveal(pane, node);
	draw();
	V.afterUpdate();
	if (!quiet) writeAddress(false);
}

// Scrolls and pans so that the frame is in sight.
function reveal(pane, node) {
	const y = (pane.base + pane.step * pane.layout.tree.depth[node]) * ROW,
		box = one('#scroll');
	if (y < box.scrollTop) box.scrollTop = y - ROW;
	else if (y + ROW > box.scrollTop + box.clientHeight) box.scrollTop = y + 2 * ROW - box.clientHeight;
	const [a, b] = span(pane, node),
		wide = pane.x1 - pane.x0;
	if (b > pane.x0 && a < pane.x1) return;
	pane.x0 = Math.max(0, Math.min(pane.layout.width - wide, (a + b - wide) / 2));
	pane.x1 = pane.x0 + wide;
	keepSpan(pane);
}

function keepSpan(pane) {
	const all = pane.layout.width,
		[a, b] = span(pane, pane.zoomed);
	const same = Math.abs(pane.x0 - a) < all * 1e-9 && Math.abs(pane.x1 - b) < all * 1e-9;
	S.x = same ? null : [+(pane.x0 / all).toFixed(9), +(pane.x1 / all).toFixed(9)];
}

let animation = 0;
function moveTo(pane, x0, x1, done) {
	cancelAnimationFrame(animation);
	const from = [pane.x0, pane.x1],
		start = performance.now(),
		last = 140;
	const set = (share) => {
		pane.x0 = from[0] + (x0 - from[0]) * share;
		pane.x1 = from[1] + (x1 - from[1]) * share;
		draw();
	};
	if (matchMedia('(prefers-reduced-motion: reduce)').matches || document.hidden) {
		set(1);
		if (done) done();
		return;
	}
	const frame = () => {
		const share = Math.min(1, (performance.now() - start) / last);
		set(share * (2 - share));
		if (share < 1) animation = requestAnimationFrame(frame);
		else if (done) done();
	};
	animation = requestAnimationFrame(frame);
}

function zoomTo(pane, node) {
	for (const other of V.panes) {
		if (other === pane) continue;
		Object.assign(other, { zoomed: 0, zoomDepth: 0, x0: 0, x1: other.layout.width || 1 });
	}
	pane.zoomed = node;
	pane.zoomDepth = pane.layout.tree.depth[node];
	V.zoomPane = pane;
	S.zoom = node > 0 ? refOf(pane, node) : '';
	S.x = null;
	V.selected = { pane, node };
	S.select = refOf(pane, node);
	const [a, b] = span(pane, node);
	moveTo(pane, a, b, () => {
		reveal(pane, node);
		draw();
	});
	V.afterUpdate();
	writeAddress(true);
}

// Keeps what is at `at` (a share of the width) where it is.
function magnify(pane, factor, at) {
	const all = pane.layout.width,
		wide = Math.min(all, Math.max(all * 1e-8, (pane.x1 - pane.x0) / factor));
	const x = pane.x0 + (pane.x1 - pane.x0) * at;
	setSpan(pane, x - wide * at, wide);
}
function setSpan(pane, x0, wide) {
	cancelAnimationFrame(animation);
	pane.x0 = Math.max(0, Math.min(pane.layout.width - wide, x0));
	pane.x1 = pane.x0 + wide;
	keepSpan(pane);
	draw();
	clearTimeout(setSpan.timer);
	setSpan.timer = setTimeout(() => writeAddress(false), 150);
}
function pan(pane, share) {
	const wide = pane.x1 - pane.x0;
	setSpan(pane, pane.x0 + wide * share, wide);
}

function backOut() {
	if (!one('#help').hidden) return showHelp(false);
	if (S.x || S.zoom) return zoomTo(V.zoomPane, 0);
	if (S.request) return V.more.choose(null);
	if (S.range || S.range2) {
		S.range2 = null;
		return setRange(null, true);
	}
	if (S.find) return setFind('');
	if (S.view !== 'flame') return setView('flame');
	return null;
}

// ---- views

function setView(view) {
	if (view === S.view) return;
	if (view === 'sandwich')
		return showSandwich(
			V.selected && V.selected.node > 0 ? V.selected.pane.layout.tree.label[V.selected.node] : -1,
		);
	if (view === 'wakers') return showWakers('');
	if (view === 'time') {
		if (!document.getElementById('slices'))
			return say(V.data.about.diff ? 'Not both recordings have slices of time' : 'This recording has no slices of time');
		if (!V.data.sideSlices) return readSlices(V.data).then(() => setView('time'));
	}
	const kept =
		['table', 'time', 'flame'].includes(S.view) && ['table', 'time', 'flame'].includes(view)
			? [S.zoom, S.x, S.select]
			: ['', null, ''];
	S.view = view;
	[S.zoom, S.x, S.select] = kept;
	update(true);
	focusView();
}
function focusView() {
	const target =
		S.view === 'time' ? one('#heat') : S.view === 'table' ? one('#table tbody button') : one('#tree');
	if (target) target.focus({ preventScroll: true });
}

function showSandwich(label) {
	if (label < 0 || V.labels.kind[label] === 2)
		return say('Choose a function first: its callers and callees are shown then');
	Object.assign(S, {
		view: 'sandwich',
		label: V.labels.text[label],
		module: V.labels.module[label],
		zoom: '',
		x: null,
		select: '',
	});
	update(true);
	one('#scroll').scrollTop = Math.max(
		0,
		(V.panes[1].layout.depth - 1) * ROW - one('#scroll').clientHeight / 2,
	);
	focusView();
}

// The stacks of whoever ended the selected frame's waits; of that name only, where one is given.
async function showWakers(name, ofAll) {
	if (!V.data.about.hasWakers)
		return say(
			V.data.about.diff ? 'Not both recordings have wakers: record with --wakers' : 'This recording has no wakers: record with --wakers',
		);
	await readWakers(V.data);
	// A frame that a search came to is meant only while the search stands.
	const isMeant = S.view !== 'table' && S.view !== 'sandwich' && (S.find || S.select !== V.foundSelect);
	if (ofAll || S.view === 'wakers') S.of = '';
	else Object.assign(S, { of: isMeant ? S.select : '', ofReverse: S.reverse });
	Object.assign(S, { view: 'wakers', zoom: '', x: null, select: '', reverse: false });
	update(true);
	const { first, list, tree } = V.panes[0].layout;
	for (let k = first[0]; name && k < first[1]; k++)
		if (V.labels.text[tree.label[list[k]]] === name) zoomTo(V.panes[0], list[k]);
	focusView();
	return null;
}

function cycle(list, value) {
	return list[(list.indexOf(value) + 1) % list.length];
}
function weightName() {
	if (S.count) return 'count';
	if (S.perRequest) return 'per_request';
	return Object.keys(WEIGHTS).find((name) => WEIGHTS[name] === S.classes && name !== 'count') || 'some';
}
function setWeight(name) {
	if (!(name in WEIGHTS)) return;
	S.classes = WEIGHTS[name];
	S.count = name === 'count';
	S.perRequest = name === 'per_request';
	update(true);
}
function set(key, value) {
	S[key] = value;
	update(true);
}
function setGroup(by) {
	Object.assign(S, { by, zoom: '', x: null, select: '' });
	update(true);
}
function setReverse(reverse) {
	Object.assign(S, { reverse, zoom: '', x: null, select: '' });
	update(true);
}

function setFind(text) {
	S.find = text;
	if (one('#find').value !== text) one('#find').value = text;
	update(false);
}
function nextMatch(stepBy) {
	const list = V.foundNodes;
	if (!list || !list.length) return say(S.find ? 'Nothing found' : 'Search first: /');
	const { pane, node } = V.selected,
		layout = V.layouts[0],
		at = pane.index ? -1 : list.indexOf(node);
	let next = at + stepBy;
	if (at < 0) {
		const here = pane.index ? 0 : layout.pre[node];
		next =
			stepBy > 0
				? list.findIndex((n) => layout.pre[n] > here)
				: list.findLastIndex((n) => layout.pre[n] < here);
	}
	if (next < 0) next = stepBy > 0 && at < 0 ? 0 : list.length - 1;
	select(V.panes[0], list[next % list.length]);
	V.foundSelect = S.select;
	return null;
}

// ---- keys

// The frame beside, above or below, as it is drawn.
function neighbour(direction) {
	const { pane, node } = V.selected,
		{ layout } = pane,
		p = layout.placeOf[node],
		d = layout.tree.depth[node];
	if (direction === 'left' || direction === 'right') {
		const q = p + (direction === 'left' ? -1 : 1);
		return q >= layout.rows[d] && q < layout.rows[d + 1] ? layout.nodes[q] : -1;
	}
	if ((direction === 'up') === pane.step > 0) {
		if (d === pane.from && pane.index === 1) return -1;
		return layout.tree.parent[node];
	}
	const child = layout.first[node];
	return child < layout.first[node + 1] ? biggest(layout, node) : -1;
}
function biggest(layout, node) {
	let best = -1;
	for (let k = layout.first[node]; k < layout.first[node + 1]; k++)
		if (best < 0 || layout.total[layout.list[k]] > layout.total[best]) best = layout.list[k];
	return best;
}
function step4(direction) {
	const { pane, node } = V.selected,
		next = neighbour(direction),
		callers = V.panes[1];
	if (next > 0 || (next === 0 && pane.index === 0)) return select(pane, next);
	// In a sandwich the way up from the function leads to its callers, and back.
	if (callers && pane.index === 0 && node === 0 && direction === 'up') {
		const child = biggest(callers.layout, 0);
		if (child > 0) return select(callers, child);
	}
	if (callers && pane.index === 1 && direction === 'down') return select(V.panes[0], 0);
	return null;
}

const ARROWS = { ArrowLeft: 'left', ArrowRight: 'right', ArrowUp: 'up', ArrowDown: 'down' };
const KEYS = {
	Enter: () => zoomTo(V.selected.pane, V.selected.node),
	' ': () => zoomTo(V.selected.pane, V.selected.node),
	Escape: backOut,
	0: () => zoomTo(V.zoomPane, 0),
	Home: () => select(V.panes[0], 0),
	'+': () => magnify(V.zoomPane, 1.5, focusShare()),
	'=': () => magnify(V.zoomPane, 1.5, focusShare()),
	'-': () => magnify(V.zoomPane, 1 / 1.5, focusShare()),
	PageUp: () => one('#scroll').scrollBy(0, -one('#scroll').clientHeight * 0.8),
	PageDown: () => one('#scroll').scrollBy(0, one('#scroll').clientHeight * 0.8),
	'/': () => {
		one('#find').focus();
		one('#find').select();
	},
	n: () => nextMatch(1),
	N: () => nextMatch(-1),
	e: () => set('exact', !S.exact),
	1: () => setView('flame'),
	2: () => setView('table'),
	3: () => setView('sandwich'),
	4: () => showWakers(''),
	5: () => setView('time'),
	g: () => setGroup(cycle(groups(), S.by)),
	w: () =>
		setWeight(
			cycle(
				Object.keys(WEIGHTS).filter((n) => V.data.about.onCpuHz || (n !== 'time' && n !== 'on_cpu')),
				weightName(),
			),
		),
	k: () => set('colours', cycle(colourModes(), S.colours)),
	r: () => setReverse(!S.reverse),
	i: () => set('down', !S.down),
	o: () => set('byName', !S.byName),
	h: () =>
		S.view === 'time' ? set('heat', cycle(CHOICES.heat, S.heat)) : say('The heat map is in the view of time (5)'),
	v: () =>
		V.sides ? set('width', cycle(CHOICES.width, S.width)) : say('Nothing is compared: see Time (5)'),
	a: () => set('allFrames', !S.allFrames),
	d: () => set('panel', !S.panel),
	s: () => set('allSwitches', !S.allSwitches),
	t: () => set('theme', themeName() === 'dark' ? 'light' : 'dark'),
	c: copyName,
	C: copyStack,
	l: copyLink,
	p: () => window.print(),
	'?': () => showHelp(one('#help').hidden),
};
// Threads of two recordings are the same ones only where a process lived through both.
function groups() {
	const { diff } = V.data.about,
		names = V.data.threads.map((t) => `${t.pid}/${t.tid} ${t.comm}`);
	const isThere = !diff || names.slice(diff.beforeThreads).some((n) => names.indexOf(n) < diff.beforeThreads);
	return CHOICES.by.filter((by) => by !== 'thread' || isThere);
}
function colourModes() {
	const { diff, facets, rowsAre } = V.data.about;
	return [...(diff ? ['change'] : []), ...(rowsAre ? [] : [...facets.map((f) => f.name), 'class']), 'kind', 'module'];
}
function focusShare() {
	const pane = V.zoomPane,
		[a, b] = V.selected.pane === pane ? span(pane, V.selected.node) : [pane.x0, pane.x1];
	const x = ((a + b) / 2 - pane.x0) / (pane.x1 - pane.x0);
	return x > 0 && x < 1 ? x : 0.5;
}

function inputKey(e) {
	if (e.key === 'Escape') {
		setFind('');
		one('#tree').focus({ preventScroll: true });
	} else if (e.key === 'Enter') {
		nextMatch(e.shiftKey ? -1 : 1);
	} else return;
	e.preventDefault();
}

function onKey(e) {
	const target = e.target,
		find = (e.ctrlKey || e.metaKey) && !e.altKey && e.key.toLowerCase() === 'f';
	if (e.defaultPrevented) return;
	if (target.id === 'find') {
		if (!find) inputKey(e); // a second Ctrl-F is the browser's own
		return;
	}
	if (find) {
		KEYS['/']();
		e.preventDefault();
		return;
	}
	if (e.ctrlKey || e.metaKey || e.altKey || (target.tagName === 'SELECT' && e.key !== 'Escape')) return;
	const pressed = e.key === 'Enter' || e.key === ' ';
	if (pressed && target.tagName === 'BUTTON') return;
	if (S.view === 'table' && tableKey(e)) return e.preventDefault();
	if (ARROWS[e.key] && V.onGraph(target)) {
		if (e.shiftKey && e.key !== 'ArrowUp' && e.key !== 'ArrowDown')
			pan(V.zoomPane, e.key === 'ArrowLeft' ? -0.2 : 0.2);
		else step4(ARROWS[e.key]);
	} else if (KEYS[e.key] && !(pressed && !V.onGraph(target))) {
		KEYS[e.key]();
	} else return;
	e.preventDefault();
}
