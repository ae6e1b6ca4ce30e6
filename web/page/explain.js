// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// In words: what was found in the recording, on top; and what the selected frame's time is, in the panel.

// ---- findings

const BASE = /^(\S+%) of (the time that matters): /;
function findingLine(finding, i) {
	const [head, share] = finding.sentence.match(BASE) || ['', ''],
		about = { class: 'sentence', text: finding.sentence.slice(head.length).replace(/^./, (c) => (head ? c : c.toUpperCase())), 'aria-label': finding.sentence },
		words = finding.tasks
			? make('b', { ...about, title: 'See offcpu flame --tasks' })
			: make('button', { type: 'button', ...about, title: 'Show it', onclick: () => showFinding(finding) });
	// on a phone's first screen there is room for so many letters above the graph
	const isLong = (finding.sentence + finding.advice).length > 200;
	return make(
		'li',
		{ class: (i ? '' : 'first') + (isLong ? ' long' : '') },
		make('b', { class: 'share', text: share, 'aria-hidden': true }),
		make(
			'div',
			{},
			words,
			make('span', { class: 'evidence', text: finding.evidence && finding.evidence + '.' }),
			finding.advice ? make('span', { class: 'advice', text: finding.advice }) : null,
		),
	);
}
// As many as the report has, and on a small screen the first one's sentence and advice, until more is asked for.
const FINDINGS_SHOWN = 3;
function sayMoreFindings(open) {
	const cnt = V.data.about.findings.length,
		words = [cnt > 1 ? `Why, and ${cnt - 1} more` : 'Why', `${cnt - FINDINGS_SHOWN} more`];
	one('#findings').classList.toggle('many', cnt > FINDINGS_SHOWN);
	one('#morefindings').replaceChildren(...words.map((text) => make('span', { text: open ? 'Less' : text })));
	one('#morefindings').setAttribute('aria-expanded', open);
}
function makeFindings() {
	const { findings } = V.data.about,
		list = one('#findings ol');
	one('#findings').hidden = !findings.length;
	if (findings.some((f) => BASE.test(f.sentence))) list.before(make('p', { class: 'base', text: 'Of the time that matters' }));
	list.append(...findings.map(findingLine));
	sayMoreFindings(false);
}
// The node on the path of the wait that has the label, nearest to the root; its leaf without.
function nodeOfFinding({ wait, label }) {
	const { tree, leaf } = V.trees[0];
	let found = leaf[wait];
	for (let node = leaf[wait]; node > 0; node = tree.parent[node]) if (tree.label[node] === label) found = node;
	return found;
}
// Of its reason and its kind of time alone: what the graph shows is then what the finding counts.
function showFinding(finding) {
	const { of, wait, label } = finding,
		off = V.data.about.facets.map(({ name, queue, categories }, f) => {
			const own = of === 'queue' ? queue : V.data.waits.facets[f][wait],
				others = of === 'blocked' && name === 'reason' && wait >= 0 ? categories.keys() : S.off[f];
			return new Set([...others].filter((c) => c !== own));
		});
	Object.assign(S, { view: 'flame', reverse: false, zoom: '', x: null, select: '', find: '', range: null, range2: null, count: false, off });
	S.classes = { blocked: WEIGHTS.blocked, queue: WEIGHTS.runnable | WEIGHTS.preempted, all: defaults.classes | WEIGHTS.blocked }[of];
	update(true);
	const node = (of === 'queue' && label < 0) || wait < 0 ? 0 : nodeOfFinding(finding),
		pane = V.panes[0];
	if (node > 0 && pane.layout.placeOf[node] >= 0) zoomTo(pane, node);
	focusView();
}

// ---- the selected frame

// What these items' time is, by what their threads do meanwhile: [{ says, advice, time }], the largest first.
function sayings(detail, items) {
	const sums = new Map(),
		{ queue } = V.data.about,
		w = V.sums;
	const add = (says, advice, ns) => {
		if (!ns) return;
		const row = sums.get(says) || { says, advice, time: 0 };
		row.time += ns;
		sums.set(says, row);
	};
	for (const i of items) {
		const of = (k) => (V.mask[i] & (1 << k) ? w.classes[k][i] : 0);
		add(detail.says[i], detail.advice[i], of(0));
		add(queue.says, queue.advice, of(1));
		add('loses its CPU to others', queue.advice, of(2));
		add('runs', '', of(ON_CPU));
	}
	return [...sums.values()].sort((a, b) => b.time - a.time);
}
// What is shown of a wait's time off CPU.
function offCpuOf(i) {
	let sum = 0;
	for (let k = 0; k < ON_CPU; k++) if (V.mask[i] & (1 << k)) sum += V.sums.classes[k][i];
	return sum;
}
// "9.3 times a second", by the recorded window.
function rateWords(count) {
	if (V.isOne) return '';
	const rate = count / (V.isRanged && !V.sides ? rangeSeconds(S.range) : V.data.about.window / 1e9);
	return rate >= 0.95 ? `${rate < 9.95 ? rate.toFixed(1) : number(rate)} times a second` : '';
}
// wakers: [name, share of the sleeps' time] and object: [name, share of all], or null.
function inWords(detail, items, { waker, object }, isWhole) {
	const rows = sayings(detail, items),
		all = rows.reduce((sum, row) => sum + row.time, 0);
	if (!all) return null;
	const of = (row) => `${Math.round((100 * row.time) / all)}%`,
		shown = rows.filter((row, i) => !i || (i < 3 && row.time > all / 10)),
		[first, ...rest] = shown,
		isOne = !isWhole && first.time >= all * 0.9, // else no advice is right for all of it
		who = isWhole ? 'a thread' : 'it',
		parts = [`${of(first)} of this time ${who} ${first.says}` + rest.map((row, i) => `${i + 1 === rest.length ? ' and' : ','} ${of(row)} it ${row.says}`).join('')];
	if (object && object.share > 0.5 && isOne) parts.push(`It waits for ${object.name} (${Math.round(100 * object.share)}%)`);
	if (waker && waker.share > 0.3 && isOne) parts.push(`${waker.name} ends ${Math.round(100 * waker.share)}% of its sleep`);
	const count = V.sides ? 0 : items.reduce((sum, i) => sum + (V.isThere[i] ? V.sums.count[i] : 0), 0),
		long = items.reduce((sum, i) => sum + (V.isThere[i] ? offCpuOf(i) : 0), 0);
	if (count > 1 && long) parts.push(`A wait takes ${time(long / count)} on average` + (rateWords(count) && `, ${rateWords(count)}`));
	return make(
		'p',
		{ class: 'inwords' },
		make('span', { text: parts.join('. ') + '.' }),
		isOne && first.advice ? make('b', { text: ' ' + first.advice }) : null,
	);
}
