// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Latency of requests over the same time as the bars above: p50 and p99 of each step, on a scale of logarithms.

const LATENCY_HEIGHT = 96,
	LATENCY_TOP = 16,
	LATENCY_BOTTOM = 6;

// "38 ms": two digits are what one reads off a line.
function latencyWords(ns) {
	const [unit, text] = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']].find(([size]) => ns >= size) || [1, 'ns'];
	return `${+(ns / unit).toPrecision(2)} ${text}`;
}

async function readRequests(step) {
	const answer = await ask('requests', route('requests', { ...rangeQuery([Math.floor(S.from / step) * step, Math.ceil(S.to / step) * step]), step: nanoseconds(step) }));
	if (!answer) return;
	V.requests = answer;
	one('#requests').hidden = !answer.requests.length;
	one('#requests').replaceChildren(
		...answer.requests.map((r) => make('figure', { dataset: { request: r.name } }, make('figcaption', {}, make('b', { text: r.name }), ' ', r.sentence), make('canvas', { role: 'img', 'aria-label': r.sentence }))),
	);
	drawRequests();
}

function latencyPath(c, request, key, colour, y) {
	const step = V.requests.step_ns / 1e6;
	let before = -1;
	c.strokeStyle = colour;
	c.lineWidth = 1.5;
	c.beginPath();
	for (const s of request.steps) {
		const at = s.at_unix_ns / 1e6,
			x0 = Math.max(LEFT, xOf(at)),
			x1 = Math.min(LEFT + plotWidth(), xOf(at + step));
		if (s[key] === null || x1 <= x0) continue;
		// steps without requests are gaps in the line
		if (at === before) c.lineTo(x0, y(s[key]));
		else c.moveTo(x0, y(s[key]));
		c.lineTo(x1, y(s[key]));
		before = at + step;
	}
	c.stroke();
}

function drawLatency(canvas, request) {
	const ratio = devicePixelRatio || 1,
		all = one('#line').clientWidth,
		told = request.steps.filter((s) => s.count),
		low = Math.log(Math.max(1, Math.min(...told.map((s) => s.p50_ns)))),
		high = Math.max(low + 0.5, Math.log(Math.max(1, ...told.map((s) => s.p99_ns)))),
		tall = LATENCY_HEIGHT - LATENCY_TOP - LATENCY_BOTTOM,
		y = (ns) => LATENCY_TOP + tall * (1 - (Math.log(Math.max(1, ns)) - low) / (high - low)),
		c = canvas.getContext('2d');
	canvas.width = Math.round(all * ratio);
	canvas.height = Math.round(LATENCY_HEIGHT * ratio);
	canvas.style.width = all + 'px';
	canvas.style.height = LATENCY_HEIGHT + 'px';
	c.scale(ratio, ratio);
	c.clearRect(0, 0, all, LATENCY_HEIGHT);
	if (!told.length) return;
	c.font = '11px system-ui, sans-serif';
	c.textAlign = 'right';
	c.textBaseline = 'middle';
	c.strokeStyle = ink('--grid');
	c.lineWidth = 1;
	for (const at of [low, high]) {
		const line = Math.round(y(Math.exp(at))) + 0.5;
		c.beginPath();
		c.moveTo(LEFT, line);
		c.lineTo(LEFT + plotWidth(), line);
		c.stroke();
		c.fillStyle = ink('--soft');
		c.fillText(latencyWords(Math.exp(at)), LEFT - 4, line);
	}
	latencyPath(c, request, 'p50_ns', ink('--soft'), y);
	latencyPath(c, request, 'p99_ns', ink('--text'), y);
	c.textAlign = 'left';
	c.fillStyle = ink('--soft');
	c.fillText('p99 (dark) and p50 of how long requests took', LEFT, 7);
}

function drawRequests() {
	if (!V.requests) return;
	for (const figure of one('#requests').children) {
		const request = V.requests.requests.find((r) => r.name === figure.dataset.request);
		if (request) drawLatency(figure.querySelector('canvas'), request);
	}
}
