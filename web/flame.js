// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The flame graph's behaviour: zoom, search, keyboard, permalinks.  The document already holds the
// whole picture; this reads the frames back from it (see src/render/svg/svg.c) and moves them.
// Names come from anywhere: they enter the page by textContent only.
(function () {
'use strict';

var SVG = 'http://www.w3.org/2000/svg', XHTML = 'http://www.w3.org/1999/xhtml';
var script = document.currentScript;
var svg = script && script.closest ? script.closest('svg') : document.querySelector('svg.offcpu');
if (!svg || !svg.dataset) return;

var inverted = svg.dataset.inverted === '1', unit = svg.dataset.unit;
var rowHeight = +svg.dataset.row, pad = +svg.dataset.pad, textPad = 4, gap = 0.6, toolsWidth = 380;
var beside = +svg.dataset.beside;	// how wide the column of idle time is
var box = svg.getAttribute('viewBox').split(' ').map(Number);
var width = box[2], height = box[3], cell = 7.25;
var frames = [], zoomed, current, hovered = null;
var term = '', exact = false;	// the search as typed, and whether case matters

function make(parent, ns, name, attributes) {
	var node = document.createElementNS(ns, name);
	for (var key in attributes) node.setAttribute(key, attributes[key]);
	if (parent) parent.appendChild(node);
	return node;
}
function one(selector) { return svg.querySelector(selector); }

var head = one('.head'), firstLine = one('.head .sub') || one('.status'), layer = one('.frames'), status = one('.status');
var statusName, statusInfo, matchedText, ring, edge, tools, input, caseButton, resetButton;

// ---- frames, read back from the document

function mix(h, factor, s) {
	for (var i = 0; i < s.length; i++) h = Math.imul(h ^ s.charCodeAt(i), factor);
	return Math.imul(h ^ 10, factor) >>> 0;
}

// An id depends on the names from the root to the frame only, so a link outlives a new drawing.
function readFrames() {
	var path = [], seen = {};
	svg.querySelectorAll('.frames > g').forEach(function (g, i) {
		var n = g.getAttribute('data-f').split(',').map(Number);
		var lines = g.querySelector('title').textContent.split('\n');
		path.length = n[2];
		var parent = n[2] ? path[n[2] - 1] : null;
		var f = {
			i: i, g: g, rect: g.querySelector('rect'), text: g.querySelector('text'),
			name: lines[0], info: lines.slice(1).join(' · '),
			start: n[0], total: n[1], depth: n[2], parent: parent, end: i + 1,
			rest: g.classList.contains('e'), shown: true, match: false
		};
		f.a = mix(parent ? parent.a : 2166136261, 16777619, f.name);
		f.b = mix(parent ? parent.b : 40503, 2246822519, f.name);
		f.id = f.a.toString(36) + f.b.toString(36);
		while (seen[f.id]) f.id += '_';
		seen[f.id] = true;
		path.push(f);
		frames.push(f);
		g.setAttribute('role', 'treeitem');
		g.setAttribute('aria-level', f.depth + 1);
		g.setAttribute('aria-label', f.name + ', ' + f.info);
	});
	for (var i = frames.length - 1; i > 0; i--)
		frames[i].parent.end = Math.max(frames[i].parent.end, frames[i].end);
}
function contains(f, other) { return other.i >= f.i && other.i < f.end; }

// ---- numbers for people

function amount(n) {
	if (unit !== 'ns') return Math.round(n).toLocaleString('en') + (n === 1 ? ' wait' : ' waits');
	var s = n / 1e9;
	if (s >= 7200) return Math.floor(s / 3600) + ' h ' + ('0' + Math.floor(s % 3600 / 60)).slice(-2) + ' min';
	if (s >= 120) return Math.floor(s / 60) + ' min ' + ('0' + Math.floor(s % 60)).slice(-2) + ' s';
	var units = [[1e9, ' s'], [1e6, ' ms'], [1e3, ' µs']];
	for (var i = 0; i < 3; i++) {
		var v = n / units[i][0];
		if (v >= 1) return v.toFixed(v < 9.995 ? 2 : v < 99.95 ? 1 : 0) + units[i][1];
	}
	return n + ' ns';
}
function percent(part, whole) {
	var p = whole ? 100 * part / whole : 0;
	return p > 0 && p < 0.001 ? 'under 0.001%' : +p.toFixed(p < 0.0995 ? 3 : 1) + '%';
}

// ---- drawing

function cells(s) {
	var n = 0;
	for (var i = 0; i < s.length; i++) n += s.charCodeAt(i) < 0x1100 ? 1 : 2;
	return n;
}
function cut(s, room) {
	if (cells(s) <= room) return s;
	var chars = Array.from(s), used = 1, i = 0;
	while (i < chars.length && used + cells(chars[i]) <= room) used += cells(chars[i++]);
	return chars.slice(0, i).join('') + '…';
}

function place(f, x, w, ancestor) {
	f.shown = w > 0;
	f.g.classList.toggle('h', !f.shown);
	f.g.classList.toggle('a', ancestor);
	if (!f.shown) return;
	var room = Math.floor((w - 2 * textPad) / cell);
	f.x = x;
	f.w = w;
	f.rect.setAttribute('x', x.toFixed(2));
	f.rect.setAttribute('width', Math.max(w - gap, 0.3).toFixed(2));
	if (room < 3) {
		if (f.text) f.text.textContent = '';
		return;
	}
	if (!f.text) f.text = make(f.g, SVG, 'text', { y: +f.rect.getAttribute('y') + 12.5 });
	f.text.setAttribute('x', (x + textPad).toFixed(2));
	f.text.textContent = cut((f.g.getAttribute('data-sign') || '') + f.name, room);
}

function layout() {
	var full = width - 2 * pad - beside, k = full / (zoomed.total || 1);
	frames.forEach(function (f) {
		if (contains(zoomed, f)) place(f, pad + (f.start - zoomed.start) * k, Math.max(f.total * k, 0.01), false);
		else if (contains(f, zoomed)) place(f, pad, full, true);
		else place(f, 0, 0, false);
	});
	resetButton.style.visibility = zoomed === frames[0] ? 'hidden' : 'visible';
	placeRing();
}

// Shows as much of `text` in the node as `room` pixels hold.
function write(node, text, room) {
	node.textContent = text;
	if (!text || node.getComputedTextLength() <= room) return;
	var low = 0, high = text.length;
	while (low < high) {
		var middle = (low + high + 1) >> 1;
		if (node.getSubStringLength(0, middle) <= room - 12) low = middle; else high = middle - 1;
	}
	node.textContent = text.slice(0, low).trimEnd() + '…';
}
// Cuts the lines around the graph to the window; the whole text stays in a tooltip.
function fitLines() {
	var found = matchedText.textContent ? matchedText.getComputedTextLength() + 2 * pad : 0;
	svg.querySelectorAll('.title, .sub').forEach(function (line) {
		if (line.whole === undefined) line.whole = line.textContent;
		write(line, line.whole, width - 2 * pad - (line.matches('.title') && toolsWidth + pad) - (line === firstLine && found));
		if (line.textContent !== line.whole) make(line, SVG, 'title', {}).textContent = line.whole;
	});
}

function fit() {
	var outer = svg.getBoundingClientRect().width;
	width = Math.max(Math.floor(outer) || box[2], 480);
	svg.setAttribute('viewBox', '0 0 ' + width + ' ' + height);
	one('.cover').setAttribute('width', width);
	edge.setAttribute('x2', width);
	if (beside) one('.idle').setAttribute('transform', 'translate(' + (width - box[2]) + ',0)');
	tools.setAttribute('x', width - pad - toolsWidth);
	matchedText.setAttribute('x', width - pad);
	fitLines();
	layout();
	showStatus();
}

function showStatus() {
	var f = hovered || (document.activeElement && document.activeElement === current.g ? current : null) ||
		(zoomed !== frames[0] ? zoomed : null);
	if (!f) {
		statusName.textContent = '';
		statusInfo.textContent = 'Click a frame to zoom in · arrow keys and Enter, too · / searches · Esc goes back out';
		statusInfo.setAttribute('class', 'hint');
		return;
	}
	var room = width - 2 * pad;
	statusInfo.removeAttribute('class');
	statusName.textContent = '';
	statusInfo.textContent = '  ' + f.info;
	var left = room - statusInfo.getComputedTextLength();
	statusName.textContent = cut(f.name, Math.floor(Math.max(room / 2, left) / cell));
	write(statusInfo, '  ' + f.info, room - statusName.getComputedTextLength());
}

function placeRing() {
	var on = document.activeElement === current.g && current.shown;
	ring.classList.toggle('h', !on);
	if (!on) return;
	ring.setAttribute('x', current.x);
	ring.setAttribute('y', current.rect.getAttribute('y'));
	ring.setAttribute('width', Math.max(current.w - gap, 2));
	ring.setAttribute('height', rowHeight - 1);
}

// The head stays in sight of a tall graph.
function stick() {
	var y = Math.max(0, -svg.getBoundingClientRect().top);
	head.setAttribute('transform', 'translate(0,' + y + ')');
	edge.classList.toggle('h', y === 0);
}
function reveal(f) {
	var y = +f.rect.getAttribute('y') + svg.getBoundingClientRect().top;
	var top = +svg.dataset.top, bottom = window.innerHeight - 2 * rowHeight;
	if (y < top) window.scrollBy(0, y - top - rowHeight);
	else if (y > bottom) window.scrollBy(0, y - bottom);
}

// ---- zoom, search, and the address that holds both

function writeAddress(push) {
	var parts = [];
	if (zoomed !== frames[0]) parts.push('zoom=' + zoomed.id);
	if (term) parts.push('search=' + encodeURIComponent(term));
	if (term && exact) parts.push('case=1');
	var url = parts.length ? '#' + parts.join('&') : location.pathname + location.search;
	try {
		history[push ? 'pushState' : 'replaceState'](null, '', url);
	} catch (e) {
		location.hash = parts.join('&');	// a document without a history of its own
	}
}

function readAddress() {
	var state = {};
	location.hash.slice(1).split('&').forEach(function (part) {
		var at = part.indexOf('=');
		if (at < 0) return;
		try {
			state[part.slice(0, at)] = decodeURIComponent(part.slice(at + 1));
		} catch (e) {
			state[part.slice(0, at)] = part.slice(at + 1);	// a stray % is itself
		}
	});
	zoomed = frames.find(function (f) { return f.id === state.zoom; }) || frames[0];
	current.g.removeAttribute('tabindex');
	current = zoomed;
	current.g.setAttribute('tabindex', 0);
	term = state.search || '';
	exact = state.case === '1';
	input.value = term;
	layout();
	search();
	showStatus();
}

function zoom(f) {
	if (f.rest) f = f.parent;
	if (f === zoomed) return;
	zoomed = f;
	point(f, document.activeElement === current.g);
	layout();
	search();
	showStatus();
	writeAddress(true);
}

// Sums the matched frames from `from` to `to`, each nested match once, with its outermost one.
function matchedIn(from, to) {
	var sum = 0;
	for (var i = from; i < to;) {
		if (frames[i].match) sum += frames[i].total;
		i = frames[i].match ? frames[i].end : i + 1;
	}
	return sum;
}

function search() {
	var regexp = null, bad = '', count = 0;
	try {
		if (term) regexp = new RegExp(term, exact ? '' : 'i');
	} catch (e) {
		bad = 'Not a regular expression: ' + e.message.replace(/^.*\/: */, '');
	}
	frames.forEach(function (f) {
		f.match = !!regexp && !f.rest && regexp.test(f.name);
		count += f.match;
		f.g.classList.toggle('m', f.match);
	});
	caseButton.setAttribute('aria-pressed', exact);
	svg.classList.toggle('searching', count > 0);
	matchedText.classList.toggle('bad', !!bad);
	matchedText.textContent = bad || (regexp ? matchedWords(count) : '');
	matchedText.setAttribute('role', bad ? 'alert' : 'status');
	fitLines();
}

function matchedWords(count) {
	if (!count) return 'No frame matches';
	var sum = matchedIn(0, frames.length), all = frames[0].total;
	var words = 'Matched ' + percent(sum, all) + ', ' + amount(sum) + ' in ' + count + (count === 1 ? ' frame' : ' frames');
	if (zoomed === frames[0]) return words;
	for (var f = zoomed.parent; f && !f.match;) f = f.parent;
	return words + '; ' + percent(f ? zoomed.total : matchedIn(zoomed.i, zoomed.end), zoomed.total) + ' of the zoomed frame';
}

function setSearch(text, caseMatters) {
	term = text;
	exact = caseMatters;
	search();
	showStatus();
	writeAddress(false);
}

// ---- moving about

// Makes f the frame that keys act on: the one stop of the Tab key in the graph.
function point(f, focus) {
	current.g.removeAttribute('tabindex');
	current = f;
	f.g.setAttribute('tabindex', 0);
	if (!focus) return;
	f.g.focus({ preventScroll: true });
	placeRing();
	reveal(f);
	showStatus();
}

function child(f) {
	var best = null;
	for (var i = f.i + 1; i < f.end; i = frames[i].end)
		if (frames[i].shown && (!best || frames[i].total > best.total)) best = frames[i];
	return best;
}
function sibling(f, step) {
	var row = frames.filter(function (g) { return g.depth === f.depth && g.shown; });
	row.sort(function (a, b) { return a.start - b.start; });
	return row[row.indexOf(f) + step];
}
function match(step) {
	var list = frames.filter(function (f) { return f.match && f.shown; });
	if (!list.length) return null;
	var at = list.indexOf(current);
	if (at >= 0 && document.activeElement === current.g) return list[(at + step + list.length) % list.length];
	return step > 0 ? list.find(function (f) { return f.i >= current.i; }) || list[0] : list[list.length - 1];
}

function leaveSearch(clear) {
	if (clear) {
		input.value = '';
		setSearch('', exact);
	}
	input.blur();
	point(current.shown ? current : zoomed, true);
}
function openSearch() {
	input.focus();
	input.select();
}

function inputKey(e) {
	if (e.key === 'Escape') leaveSearch(true);
	else if (e.key === 'Enter') {
		var f = match(1);
		if (f) point(f, true);
	} else return;
	e.preventDefault();
}

function key(e) {
	var target = e.target, find = (e.ctrlKey || e.metaKey) && !e.altKey && e.key.toLowerCase() === 'f';
	if (e.defaultPrevented) return;
	if (target === input) {
		if (!find) inputKey(e);	// a second Ctrl-F is the browser's own
		return;
	}
	if (target.isContentEditable || /^(input|textarea|select)$/i.test(target.tagName || '')) return;
	if (find || (e.key === '/' && !e.ctrlKey && !e.metaKey)) {
		openSearch();
		e.preventDefault();
		return;
	}
	if (e.ctrlKey || e.metaKey || e.altKey) return;
	if (/^button$/i.test(target.tagName || '') && (e.key === 'Enter' || e.key === ' ')) return;
	if (move(e)) e.preventDefault();
}

function move(e) {
	var f = null;
	switch (e.key) {
	case 'ArrowUp': f = inverted ? current.parent : child(current); break;
	case 'ArrowDown': f = inverted ? child(current) : current.parent; break;
	case 'ArrowLeft': f = sibling(current, -1); break;
	case 'ArrowRight': f = sibling(current, 1); break;
	case 'n': f = match(1); break;
	case 'N': f = match(-1); break;
	case 'Enter':
	case ' ': zoom(current); return true;
	case 'Escape':
		if (zoomed === frames[0] && term) leaveSearch(true);
		else zoom(frames[0]);
		return true;
	case '0': zoom(frames[0]); return true;
	default: return false;
	}
	if (f) point(f, true);
	return true;
}

// ---- the parts that only a browser needs, and the wiring

function button(bar, label, help, run) {
	var b = make(bar, XHTML, 'button', { type: 'button', title: help });
	b.textContent = label;
	b.addEventListener('click', run);
	return b;
}

function build() {
	status.textContent = '';
	statusName = make(status, SVG, 'tspan', { 'class': 'mono' });
	statusInfo = make(status, SVG, 'tspan', {});
	matchedText = make(head, SVG, 'text', { 'class': 'matched', y: firstLine.getAttribute('y'), 'aria-live': 'polite' });
	edge = make(head, SVG, 'line', { 'class': 'edge h', y1: +svg.dataset.top - 3, y2: +svg.dataset.top - 3 });
	ring = make(layer, SVG, 'rect', { 'class': 'ring h' });
	tools = make(head, SVG, 'foreignObject', { 'class': 'tools', y: 6, width: toolsWidth, height: 30 });
	var bar = make(tools, XHTML, 'div', { 'class': 'bar', role: 'search' });
	resetButton = button(bar, 'Reset zoom', 'Show the whole graph (Esc or 0)', function () { zoom(frames[0]); });
	input = make(bar, XHTML, 'input', {
		type: 'text', placeholder: 'Search, regular expression ( / )', spellcheck: 'false', autocomplete: 'off',
		'aria-label': 'Search frames by regular expression'
	});
	caseButton = button(bar, 'Aa', 'Tell upper from lower case', function () { setSearch(term, !exact); });
	caseButton.setAttribute('aria-label', 'Match case');
	svg.classList.add('live');
	svg.style.width = '100%';
	svg.style.height = height + 'px';
	if (beside) {
		one('.idle').setAttribute('role', 'img');
		one('.idle').setAttribute('aria-label', one('.idle title').textContent.replace(/\n/g, ', '));
	}
	layer.setAttribute('role', 'tree');
	layer.setAttribute('aria-label', 'Frames');
}

function frameOf(node) {
	var g = node.closest ? node.closest('.f') : null;
	return g ? frames.find(function (f) { return f.g === g; }) : null;
}
function hover(e) {
	hovered = frameOf(e.target);
	showStatus();
}

readFrames();
if (!frames.length) return;
zoomed = current = frames[0];
build();
cell = (function () {	// the font at hand may be wider than the one expected
	var probe = make(layer, SVG, 'text', {});
	probe.textContent = 'MMMMMMMMMMMMMMMMMMMM';
	var w = probe.getComputedTextLength() / 20;
	probe.remove();
	return Math.max(w || 0, 6.5) + 0.01;
})();
layer.addEventListener('click', function (e) {
	var f = frameOf(e.target);
	if (f) zoom(f);
});
layer.addEventListener('mouseover', hover);
layer.addEventListener('mouseleave', function () { hovered = null; showStatus(); });
document.addEventListener('focusin', function () { placeRing(); showStatus(); });
document.addEventListener('focusout', function () { setTimeout(function () { placeRing(); showStatus(); }, 0); });
input.addEventListener('input', function () { setSearch(input.value, exact); });
document.addEventListener('keydown', key);
window.addEventListener('resize', function () { fit(); stick(); });
window.addEventListener('scroll', stick);
window.addEventListener('hashchange', readAddress);
window.addEventListener('popstate', readAddress);
window.addEventListener('beforeprint', function () { head.removeAttribute('transform'); });
fit();
readAddress();
if (!inverted && height > window.innerHeight) window.scrollTo(0, height);
if (zoomed !== frames[0]) reveal(zoomed);
stick();
})();
