// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// How two sides differ, before and after, and what of it is no noise: by the rules of docs/diff.md, as src/analyse/diff
// has them.  The sides are two recordings, or two ranges of one.

const FALSE_SHARE = 0.001, // of what is called a change
	TESTED_SHARE = 0.001, // of a side's time: what is less is not tested
	TESTED_COUNT = 5, // waits
	SHORT = 0.05, // of a row's time: as the shortest waits hold it
	BEFORE = 0,
	AFTER = 1;
const SMALL = 0,
	NOISE = 1,
	REAL = 2,
	UNKNOWN = 3; // nothing tells what is noise

// ---- the sides

// What is compared: both recordings, or ranges of them, two ranges of one, or who ended the waits; null: nothing.
function sidesNow(data, isRanged) {
	if (!data.about.diff) return isRanged && S.range2 ? sideRanges().map((range) => sideOfRange(data, range, data.slices, 1e9 / (rangeSeconds(range) * 1e9))) : null;
	return sidesOfBoth(data);
}
// Of the range's rows a wait is as long as the mean of its slot tells, and no longer than the range.
function sideOfRange(data, range, s, scale) {
	const sums = sumsWithin(range, s),
		w = data.waits,
		long = rangeSeconds(range, s) * 1e9,
		squares = new Float64Array(w.cnt);
	for (let i = 0; i < s.rows; i++) {
		if (s.slice[i] < range[0] || s.slice[i] > range[1]) continue;
		const ns = s.classes[0][i] + s.classes[1][i] + s.classes[2][i],
			low = 2 ** s.slot[i],
			mean = s.count[i] ? Math.min(2 * low, Math.max(low, ns / s.count[i])) : 1.5 * low;
		squares[s.wait[i]] += ns * Math.min(1.04 * mean, long);
	}
	for (let i = 0; i < w.cnt; i++)
		if (w.samples[i]) squares[i] = (sums.classes[ON_CPU][i] * w.classes[ON_CPU][i]) / w.samples[i];
	// Of sampling only the error of the whole is known: variances go by time, as those of waits of one length do.
	const { about } = data,
		perNs = about.sampled && about.listed ? about.error ** 2 / about.listed : 0;
	return {
		...sums,
		squares,
		sampled: sums.classes[0].map((n, i) => Math.sqrt(perNs * (n + sums.classes[1][i] + sums.classes[2][i]))),
		scale,
		observed: (thread) => Math.min(data.threads[thread].observed, long),
		window: long,
		isAfter: s === data.sideSlices[AFTER],
		isWhole: () => false, // a range does not tell
	};
}

// By side, each item's weight as it is compared.
function sideWeights(sides) {
	return sides.map((side) => {
		const weight = new Float64Array(side.count.length);
		for (let i = 0; i < weight.length; i++)
			weight[i] = side.scale * weigh(side.count, side.classes, i, false, V.waitOf(i));
		return weight;
	});
}
// What gives a frame its width: one side, or the mean of both, so that neither what is new nor what is gone is missed.
function widthOf(before, after) {
	if (S.width === 'both') return after.map((n, i) => (n + before[i]) / 2);
	return S.width === 'before' ? before : after;
}
const perUnit = () => (V.data.about.diff ? V.data.about.diff.unit : '/s');
const noiseOfRuns = () => (V.data.about.diff ? V.data.about.diff.noise : 0.01);
const isCounted = () => !V.data.about.diff || V.data.about.diff.counted;

// ---- Student's distribution

function logGamma(x) {
	const c = [
		76.18009172947146, -86.50532032941677, 24.01409824083091, -1.231739572450155, 0.001208650973866179,
		-0.000005395239384953,
	];
	let sum = 1.000000000190015;
	for (let i = 0; i < 6; i++) sum += c[i] / (x + 1 + i);
	return (x + 0.5) * Math.log(x + 5.5) - x - 5.5 + Math.log((2.5066282746310005 * sum) / x);
}
// The continued fraction of the incomplete beta function, by Lentz's method.
function betaFraction(a, b, x) {
	const kept = (v) => (Math.abs(v) < 1e-300 ? 1e-300 : v);
	let c = 1,
		d = 1 / kept(1 - ((a + b) * x) / (a + 1)),
		f = d;
	for (let m = 1; m <= 500; m++) {
		const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m)),
			odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
		d = 1 / kept(1 + even * d);
		c = kept(1 + even / c);
		f *= c * d;
		d = 1 / kept(1 + odd * d);
		c = kept(1 + odd / c);
		f *= c * d;
		if (Math.abs(c * d - 1) < 1e-12) break;
	}
	return f;
}
// How likely a |t| at least that large is by chance.
function studentP(t, freedom) {
	if (!t) return 1;
	const a = Math.min(freedom, 1e6) / 2,
		x = a / (a + (t * t) / 2);
	const front = Math.exp(
		logGamma(a + 0.5) - logGamma(a) - logGamma(0.5) + a * Math.log(x) + 0.5 * Math.log1p(-x),
	);
	return x < (a + 1) / (a + 2.5)
		? (front * betaFraction(a, 0.5, x)) / a
		: 1 - front * 2 * betaFraction(0.5, a, 1 - x);
}
// Benjamini, Hochberg: the highest p that counts.
function threshold(p) {
	p.sort((a, b) => a - b);
	for (let i = p.length; i-- > 0; ) if (p[i] <= (FALSE_SHARE * (i + 1)) / p.length) return p[i];
	return -1;
}

// ---- how well a sum is known

// By thread of a side: the error of any time of it by when it began and ended, a share of that time.
function livesOf(side) {
	if (side.lives) return side.lives;
	const { threads, about } = V.data,
		own = (i) => !about.diff || i < about.diff.beforeThreads === !side.isAfter,
		there = new Map();
	threads.forEach((t, i) => own(i) && gather(there, t.comm, side.observed(i)));
	return (side.lives = threads.map((t, i) => {
		const n = side.observed(i),
			all = there.get(t.comm);
		return n > 0 && n < side.window && own(i) ? Math.min((side.window - n) / n, Math.max(1, (side.window - all) / all)) : 0;
	}));
}

// One thread's waits of each wanted key of a side: lists of cells.  Waits stand in the order of their threads.
function tally(side, weight, keysCnt, keysOf, wanted) {
	const { about, waits, detail } = V.data,
		{ thread } = waits,
		idle = about.facets.map((f) => f.categories.map((c) => c.idle)),
		head = new Int32Array(keysCnt).fill(-1),
		hists = new Map(),
		keys = [],
		cells = [];
	for (let i = 0; i < weight.length; i++) {
		if (!weight[i]) continue;
		const all = side.classes.reduce((sum, c) => sum + c[i], 0),
			ran = side.classes[ON_CPU][i] > 0,
			wait = V.waitOf(i),
			isIdle = idle.some((of, f) => of[waits.facets[f][wait]]),
			ns = weigh(side.count, side.classes, i, true, wait);
		const share = all ? ns / all : 1;
		let squares = side.squares[i] * share * share;
		// What is little of its waits comes in a few of them.
		if (share < 0.5 && side.count[i]) squares = Math.max(squares, (4 * ns * ns) / side.count[i]);
		keys.length = 0;
		keysOf(i, keys);
		for (const key of keys) {
			if (!wanted[key]) continue;
			let at = head[key];
			if (at < 0 || cells[at].thread !== thread[wait]) {
				cells.push({ thread: thread[wait], ns: 0, idle: 0, squares: 0, sampled: 0, count: 0, whole: 0, wholes: 0, wholeSquares: 0, next: at });
				head[key] = at = cells.length - 1;
			}
			const cell = cells[at];
			cell.ns += ns;
			if (isIdle) cell.idle += ns;
			cell.squares += squares;
			if (ran) continue;
			if (side.batches) side.batches.add(hists, ~key, side, i);
			cell.sampled += (share * side.sampled[i]) ** 2;
			cell.count += side.count[i];
			if (!side.isWhole(i) || !V.isThere[wait]) continue;
			cell.whole += all;
			cell.wholes += side.count[i];
			cell.wholeSquares += side.squares[i];
			const hist = gathered(hists, key, HIST_SLOTS);
			for (let k = detail.first[i]; k < detail.first[i + 1]; k++) hist[detail.slots[k]] += detail.bars[k];
		}
	}
	return { head, cells, side, hists };
}
const gathered = (map, key, cnt) => map.get(key) || map.set(key, new Float64Array(cnt)).get(key);
// The mean of the longest waits, which hold all but SHORT of the time: many that are short say little of how long one is.
function meanOfMost(hist, sum) {
	const even = (n, slot) => n * 1.5 * 2 ** slot;
	let left = hist.reduce((a, n) => a + n),
		out = SHORT * hist.reduce((a, n, slot) => a + even(n, slot), 0);
	for (let slot = 0; slot < HIST_SLOTS && out > 0; slot++) {
		const share = hist[slot] && Math.min(1, out / even(hist[slot], slot));
		left -= share * hist[slot];
		out = share < 1 && hist[slot] ? 0 : out - even(hist[slot], slot);
	}
	return ((1 - SHORT) * sum) / left;
}
// No independence of threads is assumed: their errors add up.
function estimate(t, key, isAll) {
	const { cells, side } = t,
		list = [];
	let ns = 0,
		idle = 0,
		error = 0,
		sampled = 0,
		count = 0,
		countError = 0,
		whole = 0,
		wholes = 0,
		meanError = 0,
		apart = 0,
		lives = 0;
	const lifeShares = livesOf(side);
	for (let at = t.head[key]; at >= 0; at = cells[at].next) {
		whole += cells[at].whole;
		wholes += cells[at].wholes;
	}
	const mean = wholes ? whole / wholes : 0;
	for (let at = t.head[key]; at >= 0; at = cells[at].next) {
		const c = cells[at],
			observed = side.observed(c.thread),
			rest = 1 - (observed ? Math.min(c.ns / observed, 1) : 0);
		lives += (lifeShares[c.thread] * c.ns) ** 2;
		error += Math.sqrt(c.squares * Math.max(rest * rest, isAll ? 0 : 1 / (c.count + 1)));
		apart += (c.whole - mean * c.wholes) ** 2;
		meanError += Math.sqrt(Math.max(0, c.wholeSquares - 2 * mean * c.whole + c.wholes * mean * mean));
		sampled += c.sampled;
		count += c.count;
		countError += Math.sqrt(c.count);
		ns += c.ns;
		idle += c.idle;
		list.push(c);
	}
	const long = wholes ? meanOfMost(t.hists.get(key), whole) : 0,
		longer = whole ? long / whole : 0;
	const looked = sampled > 0 ? Math.min(count, (ns * ns) / sampled) : count,
		freedom = list.length ? Math.max(looked / list.length - 1, 1) : 0;
	const e = {
		list,
		ns,
		idle,
		mean,
		time: side.scale * ns,
		value: side.scale * (S.count ? count : ns),
		error: side.scale * (S.count ? countError : Math.sqrt(error * error + sampled)),
		freedom,
		scale: side.scale,
		lives: side.scale ** 2 * lives,
		wholes,
		each: { value: long, error: meanError * longer, freedom },
		apart: list.length > 1 ? Math.sqrt((apart * list.length) / (list.length - 1)) * longer : 0,
	};
	if (side.batches) side.batches.raise(e, t.hists.get(~key));
	return e;
}
// How differently threads of one name changed: the one with the most before against the one with the most after.
// Variances of the logarithms of the time and of the mean, and how many pairs there were.
function betweenThreads(before, after) {
	if (before.list.length < 3 || after.list.length < 3 || !(before.time > 0) || !(after.time > 0)) return [0, 0, 0];
	const names = V.data.threads,
		sorted = [before, after].map((side) =>
			side.list
				.map((c) => ({ comm: names[c.thread].comm, scaled: c.ns * side.scale, c }))
				.sort((a, b) => (a.comm < b.comm ? -1 : a.comm > b.comm ? 1 : b.scaled - a.scaled)),
		);
	const apart = ({ c }, side) => (c.whole / side.mean - c.wholes) / side.wholes;
	let sum = 0,
		sumEach = 0,
		pairs = 0;
	for (let i = 0, k = 0; i < sorted[0].length && k < sorted[1].length; ) {
		const x = sorted[0][i],
			y = sorted[1][k];
		if (x.comm === y.comm) {
			sum += (y.scaled / after.time - x.scaled / before.time) ** 2;
			if (before.mean && after.mean) sumEach += (apart(y, after) - apart(x, before)) ** 2;
			pairs++;
		}
		i += x.comm <= y.comm;
		k += y.comm <= x.comm;
	}
	const rest = pairs / (pairs - 1);
	return pairs < 3 ? [0, 0, 0] : [sum * rest, sumEach * rest, pairs];
}
// The logarithmic mean: a difference is that many times the difference of the logarithms.
function logMean(x, y) {
	const by = Math.log(y / x);
	return !(x > 0 && y > 0) ? 0 : Math.abs(by) < 1e-6 ? x : (y - x) / by;
}
// The error of the difference, and how likely it is by chance.  byWindow: as in struct diff.
function differ(before, after, logBetween, pairs, lives = 0, byWindow = 1) {
	const noise = noiseOfRuns(),
		between = logBetween * logMean(before.value, after.value) ** 2,
		own = before.error ** 2 + after.error ** 2;
	const terms =
		between > own
			? [[between, pairs - 1]]
			: [
					[before.error ** 2, before.freedom],
					[after.error ** 2, after.freedom],
				];
	let variance = noise * noise * (before.value ** 2 + after.value ** 2),
		below = 0;
	for (const [v, freedom] of [...terms, [lives, 0]]) {
		variance += v;
		if (freedom > 0) below += (v * v) / freedom;
	}
	const error = Math.sqrt(variance),
		freedom = below > 0 ? Math.max((variance * variance) / below, 1) : 1e9,
		by = after.value - before.value,
		other = after.value * byWindow - before.value;
	return { error, p: studentP(by * other > 0 && (Math.abs(by) < Math.abs(other) ? by : other) / error, freedom) };
}
function compareSides(before, after) {
	const [time, each, pairs] = betweenThreads(before, after);
	const c = differ(before, after, S.count ? 0 : time, pairs, S.count ? 0 : before.lives + after.lives, V.data.about.diff ? V.data.about.diff.byWindow : 1);
	// Of other threads than before how much they differ is no property of the key.
	if (before.list.length !== after.list.length)
		[before, after].forEach((side) => {
			if (side.apart > side.each.error) {
				side.each.error = side.apart;
				side.each.freedom = side.list.length - 1;
			}
		});
	c.each = before.wholes >= TESTED_COUNT && after.wholes >= TESTED_COUNT ? differ(before.each, after.each, each, pairs) : null;
	return c;
}

/*
 * keysOf(i, keys) appends the keys that wait i counts for.  sums: by side, the weight of each key; counts: the waits;
 * isLost(key): part of it is missing.  What comes out has by key the error, and a verdict: SMALL, NOISE, REAL, UNKNOWN;
 * and each: by key how much longer a whole wait is, where it is.
 */
function compareKeys(keysCnt, keysOf, sums, counts, isLost, allKey) {
	const wanted = new Uint8Array(keysCnt),
		error = new Float64Array(keysCnt),
		compared = new Map(),
		verdict = new Uint8Array(keysCnt),
		each = new Map();
	const [before, after] = sums,
		least = V.sideTotals.map((n) => TESTED_SHARE * n),
		tested = [];
	if (!isCounted()) return { before, after, error, each, verdict: verdict.fill(UNKNOWN) };
	for (let key = 0; key < keysCnt; key++)
		wanted[key] =
			(before[key] + after[key] > 0 && (before[key] >= least[0] || after[key] >= least[1])) &&
			counts[key] >= TESTED_COUNT &&
			!isLost(key);
	const tallies = V.sides.map((side, k) => tally(side, V.sideWeight[k], keysCnt, keysOf, wanted));
	for (let key = 0; key < keysCnt; key++) {
		if (!wanted[key]) continue;
		const sides = tallies.map((t) => estimate(t, key, key === allKey));
		// What changes of idle time does not matter.
		if (key !== allKey && sides[0].idle + sides[1].idle > (sides[0].ns + sides[1].ns) / 2) continue;
		const c = compareSides(...sides);
		error[key] = c.error;
		compared.set(key, c);
		tested.push(c.p);
		if (!c.each) continue;
		tested.push(c.each.p);
		c.each.means = sides.map((side) => side.each.value);
	}
	const most = threshold(tested);
	for (const [key, c] of compared) {
		verdict[key] = c.p <= most ? REAL : NOISE;
		if (c.each && c.each.p <= most) each.set(key, { means: c.each.means, error: c.each.error });
	}
	return { before, after, error, verdict, each };
}

function compareTree({ tree, leaf }) {
	const { items, sides, sideWeight } = V,
		sums = sideWeight.map((weight) => sumUp(tree, items, leaf, weight).total);
	const waits = new Float64Array(items.group.length);
	for (let i = 0; i < waits.length; i++)
		for (const k of [BEFORE, AFTER]) if (sideWeight[k][i]) waits[i] += sides[k].count[i];
	const counts = sumUp(tree, items, leaf, waits).total,
		isLost = new Uint8Array(tree.cnt);
	for (let i = 1; i < tree.cnt; i++)
		isLost[i] = isLost[tree.parent[i]] || V.labels.why[tree.label[i]] === LOST;
	const keysOf = (i, keys) => {
		for (let node = leaf[i]; node >= 0; node = tree.parent[node]) keys.push(node);
	};
	const isWhole = S.off.every((set) => !set.size) && (S.classes & 7) === 7 && V.trees.length === 1;
	return compareKeys(tree.cnt, keysOf, sums, counts, (n) => isLost[n], isWhole ? 0 : -1);
}
