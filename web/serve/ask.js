// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Questions to the server.  Of each kind only the last one counts: an older one is given up.

const asking = {};

function nanoseconds(ms) {
	return String(Math.round(ms)) + '000000';
}

// The path of a route with its query; what is empty is left out.
function route(name, query) {
	const parts = Object.entries(query).filter(([, value]) => value !== '' && value !== null && value !== undefined);
	return 'api/' + name + (parts.length ? '?' + parts.map(([k, v]) => `${k}=${encodeURIComponent(v)}`).join('&') : '');
}
function filterQuery() {
	return Object.fromEntries(FILTERS.map((key) => [key, S[key]]));
}
function rangeQuery(range) {
	return { from: nanoseconds(range[0]), to: nanoseconds(range[1]) };
}

class Refused extends Error {}

// The answer as JSON; null where a later question of its kind has taken its place.
async function ask(kind, path) {
	if (asking[kind]) asking[kind].abort();
	const mine = new AbortController();
	asking[kind] = mine;
	try {
		for (let attempt = 0; ; attempt++) {
			const response = await fetch(path, { signal: mine.signal, cache: 'no-store' });
			if (response.ok) return await response.json();
			const why = (await response.text()).trim();
			// others are served just now
			if (response.status !== 503 || attempt === 5) throw new Refused(why || `the server says ${response.status}`);
			await new Promise((done) => setTimeout(done, 400 * (attempt + 1)));
			if (mine.signal.aborted) return null;
		}
	} catch (e) {
		if (e.name === 'AbortError') return null;
		throw e instanceof Refused ? e : new Refused('The server does not answer: is `offcpu serve` still running?');
	} finally {
		if (asking[kind] === mine) delete asking[kind];
	}
}

async function readExtent() {
	const e = await ask('extent', 'api/extent');
	if (!e) return false;
	V.extent = {
		...e,
		from: Math.floor(e.from_unix_ns / 1e6),
		to: Math.ceil(e.to_unix_ns / 1e6),
		now: e.now_unix_ns / 1e6,
		readAt: Date.now(),
	};
	return true;
}

const STEPS = [10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 345600];
const BAR = 5; // pixels that a bar has at least
const PART_ROWS = 240; // windows, minutes or hours that are unpacked for a part of the time line

// What the rows of a step are: the history holds windows of 10 s or less, minutes and hours.
function rowSeconds(step) {
	return step >= 3600 ? 3600 : step >= 60 ? 60 : 10;
}
function stepFor(span, width, isPart) {
	const bars = Math.max(20, Math.min(600, width / BAR)),
		fits = (s) => span / (s * 1000) <= bars && (!isPart || span / (rowSeconds(s) * 1000) <= PART_ROWS);
	return 1000 * (STEPS.find(fits) || STEPS[STEPS.length - 1]);
}
// Steps of so long, from the edge before to the edge behind.
function lineQuery(range, step, more) {
	const edges = [Math.floor(range[0] / step) * step, Math.ceil(range[1] / step) * step];
	return { ...rangeQuery(edges), ...filterQuery(), step: nanoseconds(step), ...more };
}
function lineOf(line, by) {
	const gaps = new Uint8Array(line.steps);
	for (const i of line.gaps) gaps[i] = 1;
	return { by, from: line.from_unix_ns / 1e6, step: line.step_ns / 1e6, steps: line.steps, gaps };
}

// The time line of the view: numbers become threads, which is what a person can count.
async function readLine(width) {
	const step = stepFor(S.to - S.from, width, !!S.grep),
		by = S.by,
		line = await ask('line', route('line', lineQuery([S.from, S.to], step, { by, series: 11 })));
	if (!line) return false;
	V.line = {
		...lineOf(line, by),
		isPart: isFiltered(),
		series: line.series.map((s) => ({
			name: s.name,
			ns: s.ns,
			sum: s.ns.reduce((a, b) => a + b, 0),
		})).sort((a, b) => (a.name === 'idle') - (b.name === 'idle')), // above what matters
	};
	return true;
}
