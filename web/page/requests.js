// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Requests: a lane of them over time, the graph of what one that is chosen waited for, and time by the request.
// Only pages of recordings that have some hold this part; the others ask for it as V.more.

const REQUESTS_TALL = 122,
	REQUEST_NEAR = 14, // px that a click may miss by
	SLOW_SHARE = 0.01;

Object.assign(S, { request: '', perRequest: false });
Object.assign(FIELDS, { request: 's', perRequest: 'b' });
WEIGHTS.per_request = 7;
WEIGHT_WORDS.per_request = 'off-CPU time per request';
HELP.splice(3, 0, [
	'Requests',
	[
		['q Q', 'the slowest, the next ones, and back'],
		['← →', 'in the lane: before, after'],
		['Shift ← →', 'the same of slow ones'],
		['↑ ↓', 'slower, faster'],
		['Delete', 'all requests'],
	],
]);

function readRequests(r, data) {
	const functions = Array.from({ length: r.number() }, () => ({
		name: data.texts[r.number()],
		count: r.number(),
		seen: 0,
	}));
	let at = 0;
	const list = Array.from({ length: r.number() }, (_, id) => ({
		id,
		of: functions[r.number()],
		thread: data.threads[r.number()],
		start: (at += r.signed()),
		wall: r.number(),
		onCpu: r.number(),
		classes: [r.number(), r.number(), r.number()],
		flags: r.number(),
		waits: Array.from({ length: r.number() }, () => ({ row: r.number() - 1, count: r.number(), classes: [r.number(), r.number(), r.number()] })),
	}));
	const slowest = [...list].sort((a, b) => b.wall - a.wall || a.id - b.id);
	// All of the slowest ones are there, so which are among the slowest of a hundred is exact.
	slowest.forEach((s, i) => Object.assign(s, { rank: i, isSlow: ++s.of.seen <= s.of.count * SLOW_SHARE }));
	return { functions, list, slowest, count: functions.reduce((sum, f) => sum + f.count, 0) };
}

const chosenRequest = () => (S.request && V.requests.list[+S.request]) || null;

function chooseRequest(s) {
	Object.assign(S, { request: s ? String(s.id) : '', range: null, range2: null, zoom: '', x: null, select: '' });
	update(true);
	if (s) say(requestWords(s));
}

// What the chosen one waited for, by the page's rows.
function requestSums() {
	const s = chosenRequest(),
		{ cnt } = V.data.waits;
	if (!s) return null;
	const sums = { count: new Float64Array(cnt), classes: CLASSES.map(() => new Float64Array(cnt)) };
	for (const { row, count, classes } of s.waits) {
		if (row < 0) continue;
		sums.count[row] += count;
		classes.forEach((ns, k) => (sums.classes[k][row] += ns));
	}
	return sums;
}

function requestWords(s) {
	const [blocked, runnable, preempted] = s.classes,
		parts = [
			[s.onCpu, 'on CPU'],
			[blocked, 'blocked'],
			[runnable + preempted, 'waiting for a CPU'],
		].filter(([ns]) => ns > s.wall * 0.001);
	return `${s.of.name} took ${time(s.wall)} at ${(s.start / 1e9).toFixed(3)} s in thread ${s.thread.tid}: ` + parts.map(([ns, what]) => `${time(ns)} ${what}`).join(', ');
}

// ---- the lane

function requestColour(s, theme) {
	const parts = [...s.classes, s.onCpu];
	return categoryColour(CLASSES[parts.indexOf(Math.max(...parts))], theme);
}

function drawRequests() {
	const lane = one('#requests'),
		canvas = lane.querySelector('canvas'),
		width = lane.clientWidth,
		ratio = Math.min(devicePixelRatio || 1, 2),
		context = canvas.getContext('2d'),
		theme = themeName(),
		style = getComputedStyle(document.documentElement),
		{ list, slowest } = V.requests;
	canvas.width = width * ratio;
	canvas.height = REQUESTS_TALL * ratio;
	canvas.style.width = width + 'px';
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.font = '11px system-ui, "DejaVu Sans", sans-serif';
	context.textBaseline = 'middle';
	const left = 112,
		high = Math.log2(Math.max(2, slowest[0].wall)) + 0.3,
		low = Math.min(high - 2, Math.log2(Math.max(1, slowest[slowest.length - 1].wall)) - 0.3),
		x = (ns) => left + ((width - left - 6) * ns) / V.data.about.window,
		y = (ns) => 8 + ((REQUESTS_TALL - 26) * (high - Math.log2(Math.max(1, ns)))) / (high - low);
	context.fillStyle = style.getPropertyValue('--soft');
	context.textAlign = 'right';
	let last = REQUESTS_TALL;
	for (let ns = 1e3; ns < 1e11; ns *= 10) {
		const at = y(ns);
		if (at < 8 || at > REQUESTS_TALL - 20 || last - at < 14) continue;
		last = at;
		context.fillText(time(ns).replace(/\.0+ /, ' '), left - 8, at);
		context.globalAlpha = 0.15;
		context.fillRect(left, at, width, 1);
		context.globalAlpha = 1;
	}
	V.requestAt = list.map((s) => {
		const from = x(s.start),
			wide = Math.max(3, x(s.start + s.wall) - from);
		return { x: from, wide, y: y(s.wall) };
	});
	// The slow ones last, on top of the others: higher, and with an edge.
	for (let i = list.length - 1; i >= 0; i--) {
		const s = slowest[i],
			at = V.requestAt[s.id],
			tall = s.isSlow ? 8 : 4;
		context.fillStyle = requestColour(s, theme);
		context.globalAlpha = s.isSlow ? 1 : 0.7;
		context.fillRect(at.x, at.y - tall / 2, at.wide, tall);
		context.globalAlpha = 1;
		context.strokeStyle = style.getPropertyValue('--text');
		if (s.isSlow) context.strokeRect(at.x - 0.5, at.y - tall / 2 - 0.5, at.wide + 1, tall + 1);
	}
	const s = chosenRequest();
	if (s) {
		const at = V.requestAt[s.id];
		context.strokeStyle = style.getPropertyValue('--accent');
		context.lineWidth = 2;
		context.strokeRect(at.x - 4, at.y - 8, at.wide + 8, 16);
		context.fillStyle = context.strokeStyle;
		context.fillRect(at.x, at.y + 8, 1, REQUESTS_TALL - 18 - at.y - 8);
	}
	lane.setAttribute('aria-valuemax', list.length - 1);
	lane.setAttribute('aria-valuenow', s ? s.id : 0);
	lane.setAttribute('aria-valuetext', s ? requestWords(s) : laneWords());
	const key = make('i', {});
	Object.assign(key.style, { display: 'inline-block', width: '9px', height: '9px', borderRadius: '3px', background: categoryColour(CLASSES[ON_CPU], theme) });
	lane.querySelector('small').replaceChildren(laneWords() + '; coloured by what took most, ', key, ' on CPU' + (s ? '' : '. Click for the waits of one; by key: q, arrows, Delete'));
}
function laneWords() {
	const { list, count } = V.requests,
		some = list.length < count ? `the slowest and a sample of the others drawn, ${number(list.length)}; ` : '';
	return `${plural(count, 'request')}, ${some}the ${number(list.filter((s) => s.isSlow).length)} slowest, 1 of 100, with an edge`;
}

function nearestRequest(e) {
	const box = one('#requests').getBoundingClientRect(),
		px = e.clientX - box.left,
		py = e.clientY - box.top;
	let best = null,
		least = REQUEST_NEAR;
	for (const s of V.requests.slowest) {
		const at = V.requestAt[s.id],
			far = Math.hypot(Math.max(at.x - px, 0, px - at.x - at.wide), at.y - py);
		if (far < least) [best, least] = [s, far];
	}
	return best;
}
function tipOf(e) {
	const s = e && nearestRequest(e),
		tip = one('#tip');
	tip.hidden = !s;
	if (!s) return;
	tip.replaceChildren(make('b', { text: `${s.of.name} ${time(s.wall)}` }), make('span', { text: requestWords(s) }));
	tip.style.transform = `translate(${Math.min(e.clientX + 14, innerWidth - tip.getBoundingClientRect().width - 8)}px,${e.clientY + 20}px)`;
}

// Among the requests in the order of `list`, from the chosen one on.
function stepRequest(list, by) {
	const s = chosenRequest(),
		{ slowest } = V.requests;
	if (!list.length) return;
	let at = list.indexOf(s);
	// One that is not in the list: from where it would be.
	if (s && at < 0) at = list.findIndex((other) => other.id > s.id) - (by > 0 ? 1 : 0);
	chooseRequest(s ? list[Math.max(0, Math.min(list.length - 1, at + by))] : slowest[0]);
}
function requestKey(e) {
	const { list, slowest } = V.requests,
		inTime = e.shiftKey ? list.filter((s) => s.isSlow) : list;
	if (e.key === 'ArrowLeft' || e.key === 'ArrowRight') stepRequest(inTime, e.key === 'ArrowRight' ? 1 : -1);
	else if (e.key === 'ArrowUp' || e.key === 'ArrowDown') stepRequest(slowest, e.key === 'ArrowDown' ? 1 : -1);
	else if (e.key === 'Home') chooseRequest(slowest[0]);
	else if (e.key === 'Delete' || e.key === 'Backspace') chooseRequest(null);
	else return;
	e.preventDefault();
	e.stopPropagation();
}
KEYS.q = () => stepRequest(V.requests.slowest, 1);
KEYS.Q = () => stepRequest(V.requests.slowest, -1);

function makeLane() {
	const lane = make(
		'div',
		{ id: 'requests', tabindex: 0, role: 'slider', 'aria-label': 'Requests', 'aria-valuemin': 0, title: '' },
		make('canvas', { 'aria-hidden': true }),
		make('small', {}),
	);
	Object.assign(lane.style, { position: 'relative', flex: 'none', cursor: 'pointer', borderBottom: '1px solid var(--line)' });
	Object.assign(lane.querySelector('canvas').style, { display: 'block', height: REQUESTS_TALL + 'px' });
	Object.assign(lane.querySelector('small').style, { position: 'absolute', right: '10px', bottom: '1px', color: 'var(--faint)' });
	lane.addEventListener('keydown', requestKey);
	lane.addEventListener('click', (e) => {
		const s = nearestRequest(e);
		if (s || S.request) chooseRequest(s);
	});
	lane.addEventListener('pointermove', tipOf);
	lane.addEventListener('pointerleave', () => tipOf(null));
	one('#heat').before(lane);
}

// ---- the panel

function requestFacts(s) {
	const facts = make('dl', {}),
		[blocked, runnable, preempted] = s.classes,
		unknown = s.waits.filter((w) => w.row < 0).reduce((sum, w) => sum + w.classes.reduce((a, b) => a + b), 0);
	fact(facts, 'Latency', `${time(s.wall)}, number ${number(s.rank + 1)} of ${number(V.requests.count)}`);
	fact(facts, 'Began', `${(s.start / 1e9).toFixed(6)} s after the start`);
	fact(facts, 'Thread', `${s.thread.tid} ${s.thread.comm}`);
	for (const [name, ns] of [
		['On CPU', s.onCpu],
		['Blocked', blocked],
		['Run queue', runnable],
		['Preempted', preempted],
		['Stack unknown', unknown],
	])
		if (ns) fact(facts, name, `${time(ns)}, ${percent(ns, s.wall)}`);
	const ends = ['others were called in it', 'it called itself', 'an exception ended it'].filter((_, bit) => s.flags & (1 << bit));
	if (ends.length) fact(facts, 'Note', ends.join(', '));
	return section(`Request ${s.of.name}`, facts);
}
function slowRequests() {
	const { slowest } = V.requests,
		list = make('ul', { class: 'bars' });
	for (const s of slowest.slice(0, 8)) {
		const fill = make('i', {});
		fill.style.width = `${Math.max(0.5, (100 * s.wall) / slowest[0].wall)}%`;
		fill.style.background = requestColour(s, themeName());
		list.append(
			make(
				'li',
				{},
				make(
					'button',
					{ type: 'button', title: requestWords(s), 'aria-pressed': s === chosenRequest(), onclick: () => chooseRequest(s) },
					make('span', { class: 'name', text: `${s.of.name}, ${(s.start / 1e9).toFixed(3)} s` }),
					make('span', { class: 'amount', text: time(s.wall) }),
					fill,
				),
			),
		);
	}
	return section('Slowest requests', list);
}

V.more = {
	async read() {
		V.requests = readRequests(new Reader(await block('requests')), V.data);
		makeLane();
		V.emptyWords = one('#empty').textContent;
	},
	sums: requestSums,
	choose: chooseRequest,
	perRequest: (n) => `${time(n / (chosenRequest() ? 1 : V.requests.count))} a request`,
	// Before anything is measured.
	sync() {
		one('#requests').hidden = S.view !== 'time';
		one('#empty').textContent = S.request ? 'This request did not wait, of what is switched on.' : V.emptyWords;
	},
	show() {
		if (S.view === 'time') drawRequests();
	},
	words: () => (S.request ? requestWords(chosenRequest()) : ''),
	panel: () => (S.request ? [requestFacts(chosenRequest())] : []).concat(S.view === 'time' || S.request ? slowRequests() : []),
	check() {
		if (!chosenRequest()) S.request = '';
	},
};
