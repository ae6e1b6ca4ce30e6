// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// How much the pieces of a window differ: another estimate of the error, as src/analyse/diff/batches.c has it.  Only pages
// of two recordings hold this part; the others have no V.batches.

const BATCHES = 20,
	BATCH_UNIT = 1024; // ns

V.batches = {
	of: new Map(), // by wait: blocked time, that in the run queue, and the number of its waits in each piece

	read(r) {
		for (let i = r.number(), wait = 0; i-- > 0; ) {
			wait += r.number();
			this.of.set(wait, r.fill(new Float64Array(3 * BATCHES)));
		}
	},

	// Of a key the time as it is shown, and of whole waits time and number.  Beside the histograms, whose keys are not negative.
	add(keys, key, side, i) {
		const own = this.of.get(i);
		if (!own) return;
		const to = gathered(keys, key, 3 * BATCHES),
			wait = V.waitOf(i),
			[blocked, runnable, preempted] = [0, 1, 2].map((bit) => (V.mask[wait] >> bit) & 1),
			[, ready, lost] = side.classes.map((c) => c[i]),
			share = (runnable * ready + preempted * lost) / (ready + lost) || 0;
		for (let k = 0; k < BATCHES; k++) {
			const cpu = own[BATCHES + k];
			to[k] += blocked * own[k] + share * cpu;
			if (!side.isWhole(i) || !V.isThere[wait]) continue;
			to[BATCHES + k] += own[k] + cpu;
			to[2 * BATCHES + k] += own[2 * BATCHES + k];
		}
	},

	// Variances of the sum, and of the mean of whole waits, relative.
	variances(batches) {
		const [sum, whole, count] = [0, 1, 2].map((part) => batches.subarray(part * BATCHES, (part + 1) * BATCHES)),
			all = (of) => of.reduce((a, n) => a + n),
			squares = (off) => sum.reduce((a, _, k) => a + off(k) ** 2, 0) * (BATCHES / (BATCHES - 1)),
			[ofSum, ofWhole, ofCount] = [sum, whole, count].map(all);
		return [
			squares((k) => sum[k] - ofSum / BATCHES) * BATCH_UNIT ** 2,
			ofWhole && ofCount ? squares((k) => whole[k] / ofWhole - count[k] / ofCount) : 0,
		];
	},

	// Where they say more than the waits do, that is the error.
	raise(e, batches) {
		if (!batches) return;
		const [time, mean] = this.variances(batches).map(Math.sqrt);
		if (!S.count && e.scale * time > e.error) {
			e.error = e.scale * time;
			e.freedom = BATCHES - 1;
		}
		if (e.each.value * mean > e.each.error) {
			e.each.error = e.each.value * mean;
			e.each.freedom = BATCHES - 1;
		}
	},
};
