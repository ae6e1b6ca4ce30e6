// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What is shown, all of it: the fragment of the address holds it, so a link shows the same again.

const S = {
	view: 'flame', // flame, sandwich, wakers, table, time
	by: 'comm', // merged, process, comm, thread
	reverse: false, // from the leaves
	down: false, // root at the top
	byName: false, // neighbours by name, not by weight
	classes: 15, // bits of CLASSES
	count: false, // waits, not time
	colours: '', // a facet's name, class, kind, module
	off: [], // by facet: Set of categories that are left out
	zoom: '',
	x: null, // zoomed frame by nodeName(); [from, to] in shares of the whole
	y: null, // scrolled so far, in rows
	select: '', // selected frame
	find: '',
	exact: false,
	label: '',
	module: '', // of the sandwich: text and module
	of: '',
	ofReverse: false, // of the wakers: whose
	sort: 'total',
	ascending: false,
	range: null,
	range2: null, // [first slice, last slice]
	heat: 'time', // of a cell of the heat map: time, threads
	width: 'both', // of a comparison: both, after, before
	allFrames: false, // none is folded
	panel: true,
	allSwitches: false,
	theme: '', // '', light, dark
};
let defaults = null;

const WEIGHTS = { time: 15, off_cpu: 7, on_cpu: 8, blocked: 1, runnable: 2, preempted: 4, count: 7 };

const FIELDS = {
	view: 's',
	by: 's',
	reverse: 'b',
	down: 'b',
	byName: 'b',
	classes: 'n',
	count: 'b',
	colours: 's',
	zoom: 's',
	x: 'l',
	y: 'n',
	select: 's',
	find: 's',
	exact: 'b',
	label: 's',
	module: 's',
	of: 's',
	ofReverse: 'b',
	sort: 's',
	ascending: 'b',
	range: 'l',
	range2: 'l',
	heat: 's',
	width: 's',
	allFrames: 'b',
	panel: 'b',
	allSwitches: 'b',
	theme: 's',
};
const CHOICES = {
	view: ['flame', 'sandwich', 'wakers', 'table', 'time'],
	by: ['merged', 'process', 'comm', 'thread'],
	theme: ['', 'light', 'dark'],
	heat: ['time', 'threads'],
	width: ['both', 'after', 'before'],
};

function stateText(value, kind) {
	if (kind === 'b') return value ? '1' : '0';
	if (kind === 'l') return value.join('-');
	return String(value);
}

function stateToHash() {
	const parts = [];
	for (const key in FIELDS) {
		if (
			S[key] === null ||
			stateText(S[key], FIELDS[key]) ===
				(defaults[key] === null ? '' : stateText(defaults[key], FIELDS[key]))
		)
			continue;
		parts.push(`${key}=${encodeURIComponent(stateText(S[key], FIELDS[key]))}`);
	}
	const off = S.off.map((set) => [...set].sort((a, b) => a - b).join('.')).join('_');
	if (off !== defaults.off.map((set) => [...set].join('.')).join('_')) parts.push(`off=${off}`);
	return parts.join('&');
}

function hashToState(hash) {
	const data = {};
	for (const part of hash.replace(/^#/, '').split('&')) {
		const at = part.indexOf('=');
		if (at < 0) continue;
		try {
			data[part.slice(0, at)] = decodeURIComponent(part.slice(at + 1));
		} catch (e) {
			data[part.slice(0, at)] = part.slice(at + 1); // a stray % is itself
		}
	}
	for (const key in FIELDS) {
		const text = data[key],
			kind = FIELDS[key];
		S[key] = defaults[key];
		if (text === undefined || (CHOICES[key] && !CHOICES[key].includes(text))) continue;
		if (kind === 's') S[key] = text;
		else if (kind === 'b') S[key] = text === '1';
		else if (kind === 'n') S[key] = Number.isFinite(+text) ? +text : defaults[key];
		else if (/^\d+(\.\d+)?-\d+(\.\d+)?$/.test(text)) S[key] = text.split('-').map(Number);
	}
	S.classes = S.classes & 15 || 7;
	S.off = defaults.off.map((set, i) => {
		if (data.off === undefined) return new Set(set);
		return new Set((data.off.split('_')[i] || '').split('.').filter(Boolean).map(Number));
	});
}

// push: a step that "back" undoes.
function writeAddress(push) {
	const hash = stateToHash(),
		url = hash ? '#' + hash : location.pathname + location.search;
	if (hash === location.hash.slice(1)) return;
	try {
		history[push ? 'pushState' : 'replaceState'](null, '', url);
	} catch (e) {
		location.hash = hash; // a document without a history of its own
	}
}
