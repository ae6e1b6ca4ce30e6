// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What only pages of two recordings need, and only they hold: the sides, what the head and foot say of them, and who ended
// the waits on each.

async function readErrors(data) {
	const r = new Reader(await block('diff')),
		cnt = data.waits.cnt;
	await readDetail(data);
	data.errors = { root: r.fill(new Float64Array(cnt)), sampled: r.fill(new Float64Array(cnt)) };
	V.batches.read(r);
}

// The waits of both recordings are in one list: each side has those of its threads.
function sidesOfDiff(data) {
	const { diff } = data.about,
		w = data.waits;
	return [BEFORE, AFTER].map((side) => {
		const own = (i) => w.thread[i] < diff.beforeThreads === (side === BEFORE);
		const only = (column) => column.map((n, i) => (own(i) ? n : 0));
		return {
			count: only(w.count),
			classes: w.classes.map(only),
			squares: data.errors.root.map((n) => n * n),
			batches: V.batches, // of diffs alone: batches.js
			sampled: data.errors.sampled,
			scale: diff.scale[side],
			observed: (thread) => data.threads[thread].observed,
			window: diff.window[side],
			isAfter: side === AFTER,
			isWhole: (i) => !(w.flags[i] & 3), // began and ended in the window
		};
	});
}

// Of both recordings: as they are, ranges of them, or who ended the waits.
function sidesOfBoth(data) {
	const whole = (V.sidesOfDiff = V.sidesOfDiff || sidesOfDiff(data));
	if (V.ofWakes) return whole.map((side) => sideOfWakes(data, side));
	if (!V.isRanged) return whole;
	// What is divided by the time of threads, or by requests, is divided by the range's share of it.
	const sides = whole.map((side, k) => {
		const range = sideRanges()[k],
			s = data.sideSlices[k];
		return range ? sideOfRange(data, range, s, data.about.diff.perTime ? (side.scale * s.window) / (rangeSeconds(range, s) * 1e9) : side.scale) : side;
	});
	V.sums = {
		count: sides[BEFORE].count.map((n, i) => n + sides[AFTER].count[i]),
		classes: sides[BEFORE].classes.map((c, bit) => c.map((n, i) => n + sides[AFTER].classes[bit][i])),
	};
	return sides;
}
// Wakings of a side.  A waker's part of a wait row is taken to be as long a wait as the row's others are.
function sideOfWakes(data, side) {
	const k = data.wakes,
		share = k.wait.map((wait, i) => {
			const all = side.classes.reduce((sum, c) => sum + c[wait], 0);
			return all ? Math.min(1, (k.blocked[i] + k.runnable[i]) / all) : 0;
		}),
		only = (column) => column.map((n, i) => (share[i] ? n : 0)),
		none = share.map(() => 0);
	return {
		...side,
		count: only(k.count),
		classes: [only(k.blocked), only(k.runnable), none, none],
		squares: share.map((part, i) => part * side.squares[k.wait[i]]),
		sampled: share.map((part, i) => Math.sqrt(part) * side.sampled[k.wait[i]]),
		batches: null,
		isWhole: () => false,
	};
}

// Which side is which is always to be read.
function sideWords(diff) {
	const names = ['BEFORE is ', 'AFTER is '];
	one('.words').classList.add('wrap');
	one('#sides').hidden = false;
	one('#sides').append(
		...names.map((name, side) => make('span', {}, make('b', { text: name }), diff.sides[side])),
		make('span', { text: diff.machines }),
		make('span', { text: diff.norm }),
	);
}
function changeFoot({ diff, version }) {
	const words = diff.counted
		? [
				'± is twice the standard error',
				`what two runs differ by anyway: ${percent(diff.noise, 1)}`,
				'grey is within the noise, or too little to tell',
			]
		: ['how many waits there were is not known, so nothing tells how much of a change is noise'];
	one('#foot').textContent = [...words, 'offcpu ' + version].join(' · ');
}
// Of a diff: the share of each side's time that a switch stands for, before and after.
function shareTexts() {
	const sides = sidesOfDiff(V.data),
		sum = (side, keep) => {
			let n = 0;
			side.classes.forEach((c, bit) => {
				for (let i = 0; i < c.length; i++) if (c[i] && keep(i, bit)) n += c[i];
			});
			return n;
		};
	const whole = sides.map((side) => sum(side, () => true)),
		of = (keep, k) => Math.round((1000 * sum(sides[k], keep)) / (whole[k] || 1)) / 10;
	return (keep) => `${of(keep, BEFORE)} → ${of(keep, AFTER)}%`;
}

// Who ended the waits, on both sides.
function wakerChanges(items) {
	const { wakes, wakers, waits } = V.data,
		{ beforeThreads } = V.data.about.diff,
		rows = new Map(),
		unknown = { name: '[unknown]', before: 0, after: 0 };
	for (const i of items) {
		const side = waits.thread[i] < beforeThreads ? 'before' : 'after',
			scale = V.sides[side === 'before' ? BEFORE : AFTER].scale,
			all = S.count ? waits.count[i] : waits.classes[0][i];
		let known = 0;
		for (let n = wakes.first[i]; n < wakes.first[i + 1]; n++) {
			const { name } = wakers[wakes.waker[n]],
				row = rows.get(name) || { name, before: 0, after: 0, run: () => showWakers(name) },
				part = S.count ? wakes.count[n] : wakes.blocked[n];
			row[side] += scale * part;
			known += part;
			rows.set(name, row);
		}
		if (known) unknown[side] += scale * Math.max(0, all - known);
	}
	const list = [...rows.values()],
		sum = list.reduce((n, row) => n + row.before + row.after, 0);
	if (unknown.before + unknown.after > sum * 1e-3) list.push(unknown);
	return changeBars('Woken by', list);
}
