// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Everything has a key.

function setSpan(span, centre) {
	const length = Math.max(SPAN_MIN, Math.min(SPAN_MAX, span));
	if (S.live && centre === undefined) {
		S.last = length;
	} else {
		const middle = centre === undefined ? (S.from + S.to) / 2 : centre;
		S.live = false;
		[S.from, S.to] = [middle - length / 2, middle + length / 2];
	}
	update(true);
}
// A span that has a button: up to the history's end.
function setLast(span) {
	S.live = true;
	S.range = S.with = null;
	S.last = span;
	update(true);
}
function panBy(share) {
	const by = (S.to - S.from) * share;
	S.live = false;
	S.from += by;
	S.to += by;
	if (S.to > V.extent.to && by > 0) [S.from, S.to] = [V.extent.to - (S.to - S.from), V.extent.to];
	if (S.from < V.extent.from && by < 0 && S.to - S.from < V.extent.to - V.extent.from) [S.from, S.to] = [V.extent.from, V.extent.from + (S.to - S.from)];
	update(true);
}
function zoomToRange() {
	if (!S.range) return say('Drag over the time line first');
	const wide = Math.max(SPAN_MIN, S.range[1] - S.range[0]),
		middle = (S.range[0] + S.range[1]) / 2;
	return setSpan(wide * 1.2, middle);
}
function goLive() {
	const span = S.to - S.from;
	if (S.live) {
		S.live = false;
		return update(true);
	}
	return setLast(Math.min(span, 86400e3));
}

// Moves the range by steps, or its end with Shift; makes one where there is none.
function moveRange(steps, isEnd) {
	const { step } = V.line;
	if (!S.range) S.range = between(V.extent.to - step, V.extent.to);
	else {
		const [a, b] = S.range,
			by = steps * step;
		S.range = isEnd ? [a, Math.max(a + step, b + by)] : [a + by, b + by];
		if (S.range[1] > V.extent.to + step || S.range[0] < V.extent.from - step) S.range = [a, b];
	}
	S.live = false;
	placeRanges();
	clearTimeout(moveRange.timer);
	moveRange.timer = setTimeout(() => update(true), 250);
}

function backOut() {
	if (!one('#help').hidden) return showHelp(false);
	if (one('#export').open) one('#export').open = false;
	else if (S.with) {
		S.with = null;
		if (S.tab === 'compare') S.tab = 'stacks';
	} else if (S.range) S.range = null;
	else if (isFiltered()) Object.assign(S, NO_FILTER);
	return update(true);
}

function setTab(tab) {
	S.tab = tab;
	writeAddress(true);
	drawTabs();
}
function turnTheme() {
	S.theme = themeName() === 'dark' ? 'light' : 'dark';
	try {
		localStorage.setItem('offcpu-theme', S.theme);
	} catch {
		// it is for this page only then
	}
	writeAddress(false);
	draw();
}

async function copy(text, words) {
	try {
		await navigator.clipboard.writeText(text);
		say(words);
	} catch {
		say(text);
	}
}
function say(text) {
	one('#said').textContent = text;
	one('#said').classList.add('shown');
	clearTimeout(say.timer);
	say.timer = setTimeout(() => one('#said').classList.remove('shown'), 2600);
}

const HELP = [
	[
		'Mouse',
		[
			['Drag', 'choose a range: A'],
			['Click', 'choose one bar'],
			['Ctrl-drag', 'choose what to compare with: B'],
			['Edges of A', 'drag to change it'],
			['Double click', 'zoom to the range'],
			['Shift-click', 'in the legend: this series alone'],
		],
	],
	[
		'Time line',
		[
			['← →', 'move the range (in the time line)'],
			['Shift ← →', 'move its end'],
			[', .', 'earlier, later'],
			['+ -', 'show less, more time'],
			['z', 'zoom to the range'],
			['n', 'follow what is recorded now'],
			['b', 'reason, process, service, kind'],
		],
	],
	[
		'Range',
		[
			['1 2 3 4', 'stacks, flame graph, compare, services'],
			['p', 'compare with the time before'],
			['y', 'compare with a day before'],
			['i', 'show idle waits'],
			['f', 'filter by process'],
			['/', 'filter by function'],
			['x', 'export'],
			['Escape', 'one step back'],
		],
	],
	[
		'Page',
		[
			['l', 'copy a link to this view'],
			['t', 'light or dark'],
			['?', 'this help'],
		],
	],
];
function showHelp(shown) {
	const help = one('#help');
	if (shown) {
		showHelp.from = document.activeElement;
		help.replaceChildren(
			make('h2', { text: 'Keys and mouse' }),
			make('p', { text: 'Each bar is a stretch of time; its height is how many threads were off CPU then, on average, and its colours what for. Choose a range to see what they waited for.' }),
			...HELP.map(([title, rows]) => make('section', {}, make('h3', { text: title }), make('dl', {}, ...rows.flatMap(([key, text]) => [make('dt', {}, make('kbd', { text: key })), make('dd', { text })])))),
			make('button', { type: 'button', text: 'Close', onclick: () => showHelp(false) }),
		);
	}
	help.hidden = !shown;
	if (shown) help.querySelector('button').focus();
	else if (showHelp.from) showHelp.from.focus();
}

const KEYS = {
	n: goLive,
	',': () => panBy(-0.5),
	'.': () => panBy(0.5),
	'+': () => setSpan((S.to - S.from) / 2),
	'=': () => setSpan((S.to - S.from) / 2),
	'-': () => setSpan((S.to - S.from) * 2),
	z: zoomToRange,
	b: () => {
		S.by = BYS[(BYS.indexOf(S.by) + 1) % BYS.length];
		update(true);
	},
	1: () => setTab('stacks'),
	2: () => setTab('flame'),
	3: () => setTab('compare'),
	4: () => setTab('services'),
	p: () => compareWith(BEFORE[0][1]),
	y: () => compareWith(BEFORE[2][1]),
	i: () => {
		S.idle = !S.idle;
		update(true);
	},
	f: () => one('#f-process').focus(),
	'/': () => one('#f-grep').focus(),
	x: () => {
		one('#export').open = !one('#export').open;
		one('#export summary').focus();
	},
	l: () => copy(location.href, 'The link to this view is copied'),
	t: turnTheme,
	'?': () => showHelp(one('#help').hidden),
	Escape: backOut,
};

function tabKey(e) {
	const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
	if (!by || e.target.getAttribute('role') !== 'tab') return false;
	setTab(TABS[(TABS.indexOf(S.tab) + by + TABS.length) % TABS.length]);
	one('#t-' + S.tab).focus();
	return true;
}
// Up and down among the rows of a table.
function rowKey(e) {
	const by = { ArrowUp: -1, ArrowDown: 1 }[e.key],
		rows = [...document.querySelectorAll('#detail .name')],
		at = rows.indexOf(e.target);
	if (!by || at < 0) return false;
	rows[Math.max(0, Math.min(rows.length - 1, at + by))].focus();
	return true;
}
function lineKey(e) {
	const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
	if (e.target.id !== 'line' || !V.line) return false;
	if (by) moveRange(by, e.shiftKey);
	else if (e.key === 'Enter') zoomToRange();
	else return false;
	return true;
}

function onKey(e) {
	const typing = ['INPUT', 'SELECT', 'TEXTAREA'].includes(e.target.tagName) && e.target.type !== 'checkbox';
	if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || !V.extent) return;
	if (typing) {
		if (e.key === 'Escape') e.target.blur();
		return;
	}
	if (!one('#help').hidden && e.key === 'Tab') {
		e.preventDefault();
		return;
	}
	if (tabKey(e) || rowKey(e) || lineKey(e)) e.preventDefault();
	else if (KEYS[e.key]) {
		KEYS[e.key]();
		e.preventDefault();
	}
}
