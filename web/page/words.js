// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Numbers for people, and what a histogram says.

function time(ns) {
	const s = ns / 1e9;
	if (s >= 3600) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
	if (s >= 60) return `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s`;
	for (const [unit, name] of [
		[1e9, 's'],
		[1e6, 'ms'],
		[1e3, 'µs'],
	]) {
		const v = ns / unit;
		if (v >= 1) return `${v.toFixed(v < 9.995 ? 2 : v < 99.95 ? 1 : 0)} ${name}`;
	}
	return `${Math.round(ns)} ns`;
}
function number(n) {
	return Math.round(n).toLocaleString('en');
}
function plural(n, word, many = word + 's') {
	return `${number(n)} ${Math.round(n) === 1 ? word : many}`;
}
function percent(part, whole) {
	const p = whole ? (100 * part) / whole : 0;
	return p > 0 && p < 0.001 ? 'under 0.001%' : `${+p.toFixed(p < 0.0995 ? 3 : 1)}%`;
}
function baseName(path) {
	return path.slice(path.lastIndexOf('/') + 1) || path;
}

const WHY = [
	'',
	'no symbols in file',
	'address not mapped',
	'process gone or hidden',
	'file could not be read',
	'stack lost',
];
const LOST = 5;

// Sums the histograms of waits; `share` of each: 0 to 1, or null for all.
function addUpHist(detail, waits) {
	const hist = new Float64Array(HIST_SLOTS);
	for (const i of waits)
		for (let k = detail.first[i]; k < detail.first[i + 1]; k++) hist[detail.slots[k]] += detail.bars[k];
	return hist;
}
// The duration that this share does not exceed: wait_percentile_ns() of src/features/wakers/analysis.c, where the why is told.
// sum, max: 0 where they are not known.
function quantile(hist, share, sum, max) {
	let left = share * hist.reduce((a, b) => a + b, 0);
	const last = hist.findLastIndex((n) => n > 0);
	for (let slot = 0; slot <= last; slot++) {
		if (hist[slot] && left <= hist[slot]) {
			const low = 2 ** slot,
				hasLongest = max && slot === last,
				high = hasLongest ? slotEnd(slot, max) : 2 * low,
				ns = low + ((high - low) * (hasLongest ? Math.ceil(left) : left)) / hist[slot];
			return Math.min(sum ? withinSum(hist, slot, Math.max(Math.ceil(left), 1), last, ns, sum, max) : ns, max || Infinity);
		}
		left -= hist[slot];
	}
	return max || 0;
}
const slotEnd = (slot, max) => (max ? Math.max(Math.min(2 ** (slot + 1), max), 2 ** slot) : 2 ** (slot + 1));
function withinSum(hist, slot, rank, last, ns, sum, max) {
	const low = slot ? 2 ** slot : 0,
		high = slotEnd(slot, max),
		n = hist[slot],
		longest = max && slot === last ? high : 0;
	let atLeast = sum,
		atMost = sum;
	for (let i = 0; i <= last; i++) {
		if (i === slot) continue;
		atMost -= i ? hist[i] * 2 ** i : 0;
		atLeast -= hist[i] * slotEnd(i, max);
	}
	if (max && slot !== last) atMost -= Math.max(max - 2 ** last, 0);
	if (atMost < (n - 1) * low + Math.max(longest, low) || atLeast > n * high) return ns;
	const behind = n - rank + (longest ? 0 : 1),
		ceiling = behind > 0 ? (atMost - longest - (rank - 1) * low) / behind : high;
	return Math.max(Math.min(ns, ceiling), (atLeast - (n - rank) * high) / rank);
}
// Of whole waits, whatever of them is shown.
function sumOfWaits(waits) {
	const [blocked, runnable, preempted] = V.data.waits.classes;
	return waits.reduce((sum, i) => sum + blocked[i] + runnable[i] + preempted[i], 0);
}

// Makes an element: attributes, "text", and "on" + event; children follow.
function make(name, options, ...children) {
	const node = document.createElement(name);
	for (const [key, value] of Object.entries(options || {})) {
		if (key === 'text') node.textContent = safe(value);
		else if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
		else if (key === 'dataset') Object.assign(node.dataset, value);
		else if (value !== undefined && value !== null) node.setAttribute(key, value);
	}
	node.append(...children.filter((c) => c !== null && c !== undefined).map((c) => (c instanceof Node ? c : safe(c))));
	return node;
}
function svg(name, attributes, text) {
	const node = document.createElementNS('http://www.w3.org/2000/svg', name);
	for (const key in attributes) node.setAttribute(key, attributes[key]);
	if (text !== undefined) node.textContent = text;
	return node;
}
const one = (selector) => document.querySelector(selector);
