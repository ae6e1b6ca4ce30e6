// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What a comparison (compare.js) shows: words, colours, head and foot, and the panel with both sides of everything.

// ---- in words

function change(pane, node) {
	return changeOf(V.compare[pane.index], node);
}
function changeOf(c, key) {
	const before = c.before[key],
		after = c.after[key],
		by = after - before;
	return {
		before,
		after,
		by,
		error: c.error[key],
		verdict: c.verdict[key],
		isReal: by !== 0 && c.verdict[key] >= REAL,
		share: before + after ? by / Math.max(before, after) : 0,
		each: c.each.get(key),
	};
}
// "+37%": how much longer each wait is.
function eachWords({ each }) {
	if (!each) return '';
	const [before, after] = each.means;
	return percentWords({ before, after, by: after - before });
}
const few = (n) => (n >= 100 || Number.isInteger(n) ? number(n) : String(+n.toPrecision(2)));
const bare = (n) => (S.count ? few(n) : time(n));
const signed = (n) => (n < 0 ? '−' : '+') + bare(Math.abs(n));
function percentWords(c) {
	if (!c.before) return 'new';
	if (!c.after) return 'gone';
	const p = (100 * Math.abs(c.by)) / c.before;
	return (c.by < 0 ? '−' : '+') + (p >= 9995 ? `${number(p / 100)}×` : `${+p.toFixed(p < 9.95 ? 1 : 0)}%`);
}
// "+0.40 s ±0.10 s, +12%": with twice the error, as the text has it.
function byWords(c) {
	const by = signed(c.by);
	if (c.verdict === UNKNOWN) return `${by}, ${percentWords(c)}`;
	if (c.verdict === SMALL) return `${by}, too little to tell`;
	const error = ` ±${bare(2 * c.error)}`;
	const longer = c.each ? `; each wait ${eachWords(c)}` : '';
	return (c.isReal ? `${by}${error}, ${percentWords(c)}` : `${by}${error}, within the noise`) + longer;
}
const unitWords = () => (S.count ? ' waits' : '') + perUnit();
function changeWords(pane, node) {
	const c = change(pane, node);
	return `before ${bare(c.before)}, after ${bare(c.after)}${unitWords()}: ${byWords(c)}`;
}
// What stands before a frame's name, so that colour alone says nothing.
function signWords(c) {
	if (!c.isReal) return c.each ? `each ${eachWords(c)} ` : '';
	return c.before && c.after ? `${percentWords(c)} ` : c.after ? '+ new ' : '− gone ';
}

// ---- in colour: orange more, blue less, grey the same or noise; hatched, so that it is seen without colours, too

const HATCH_NONE = 0,
	HATCH_MORE = 1, // rising lines, and close ones for what is new
	HATCH_LESS = 2, // falling ones, and close ones for what is gone
	HATCH_NEW = 3,
	HATCH_GONE = 4;
function hatchOf(c) {
	if (!c.isReal) return HATCH_NONE;
	if (!c.before) return HATCH_NEW;
	return c.after ? (c.by > 0 ? HATCH_MORE : HATCH_LESS) : HATCH_GONE;
}

const CHANGE_COLOURS = {
	light: { same: [225, 229, 236], more: [250, 158, 66], less: [120, 172, 240] },
	dark: { same: [58, 64, 76], more: [168, 82, 8], less: [36, 98, 190] },
};
function changeColour(share, theme) {
	const { same, more, less } = CHANGE_COLOURS[theme];
	return share ? mix(same, share > 0 ? more : less, 0.35 + 0.65 * Math.sqrt(Math.abs(share))) : same;
}
function diffPixels() {
	const theme = themeName(),
		back = THEMES[theme].back,
		shades = Array.from({ length: 65 }, (_, i) => changeColour((i - 32) / 32, theme)),
		[full, dim] = [shades.map(pack), shades.map((c) => pack(mix(c, back, THEMES[theme].dim)))];
	return (pane) => (node, isDim) => {
		const c = change(pane, node);
		return (isDim ? dim : full)[c.isReal ? 32 + Math.sign(c.by) * Math.max(1, Math.round(32 * Math.abs(c.share))) : 32];
	};
}
const LEGEND = [
	[1, '+ new, or much more'],
	[0.1, '+ a little more'],
	[0, 'the same, or noise'],
	[-0.1, '− a little less'],
	[-1, '− gone, or much less'],
];
function legend() {
	const theme = themeName();
	return LEGEND.map(([share, text]) => {
		const key = make('i', {});
		key.style.backgroundColor = css(changeColour(share, theme));
		if (share) key.className = (share > 0 ? 'rising' : 'falling') + (Math.abs(share) === 1 ? ' close' : '');
		return make('span', {}, key, text);
	});
}
// What has no width in the picture.
function goneWords() {
	if (S.width === 'both') return '';
	const { tree, total } = V.layouts[0],
		c = V.compare[0],
		other = S.width === 'after' ? c.before : c.after;
	let gone = 0;
	for (let i = 1; i < tree.cnt; i++) if (!total[i] && other[i] && total[tree.parent[i]]) gone += other[i];
	return gone
		? `; ${bare(gone)} of ${S.width === 'after' ? 'before' : 'after'} is in stacks that are not here (v)`
		: '';
}

// ---- head and foot

function changeParts() {
	const wordsOf = (side) => (sideRanges()[side] ? rangeWords(sideRanges()[side], V.data.sideSlices[side]) : 'whole window'),
		ofRange = V.isRanged ? ` (before: ${wordsOf(BEFORE)}, after: ${wordsOf(AFTER)})` : '',
		words = changeOf(V.compare[0], 0);
	const off = V.data.about.facets.flatMap((facet, f) =>
		facet.categories.filter((c, k) => c.idle && S.off[f].has(k)),
	);
	return [
		`Before ${bare(words.before)}, after ${bare(words.after)}${unitWords()}: ${byWords(words)}${ofRange}${goneWords()}`,
		off.length ? 'idle is switched off' : '',
		V.total === 0 ? nothingWords() : '',
	];
}

// ---- of a comparison: both sides of everything

function changeFacts(facts, pane, node, items) {
	const c = change(pane, node);
	fact(facts, 'Before', bare(c.before) + unitWords());
	fact(facts, 'After', bare(c.after) + unitWords());
	fact(facts, 'Change', byWords(c));
	const waits = [BEFORE, AFTER].map((k) => items.reduce((sum, i) => sum + V.sides[k].count[i], 0));
	const times = [BEFORE, AFTER].map((k) =>
		items.reduce((sum, i) => sum + V.sides[k].classes.slice(0, ON_CPU).reduce((n, t) => n + t[i], 0), 0),
	);
	if (waits[BEFORE] + waits[AFTER]) {
		fact(facts, 'Waits', waits.map((n, k) => few(n * V.sides[k].scale)).join(' → ') + perUnit());
		fact(
			facts,
			'Each',
			waits.map((n, k) => (n ? time(times[k] / n) : '—')).join(' → ') +
				' on average' +
				(c.each ? `; whole waits: ${c.each.means.map(time).join(' → ')} ±${time(2 * c.each.error)}, ${eachWords(c)}` : ''),
		);
	}
}

// By side the durations, and their percentiles in two rows.
function distributions(detail, items) {
	const w = V.data.waits;
	const sides = [BEFORE, AFTER].map((k) => {
		const own = items.filter((i) => V.sides[k].count[i] > 0);
		const range = V.isRanged && sideRanges()[k],
			hist = range ? histWithin(own, range, V.data.sideSlices[k]) : addUpHist(detail, own);
		return {
			hist,
			sum: range ? 0 : sumOfWaits(own),
			max: own.reduce((m, i) => Math.max(m, w.max[i]), 0),
			cnt: hist.reduce((a, b) => a + b, 0),
		};
	});
	if (!sides[BEFORE].cnt && !sides[AFTER].cnt) return [];
	const shares = [
		['p50', 0.5],
		['p90', 0.9],
		['p99', 0.99],
	];
	const table = make('div', { class: 'quantiles five' }, make('span', {}), ...shares.map(([n]) => make('span', { text: '≈ ' + n })));
	sides.forEach(({ hist, sum, max, cnt }, k) =>
		table.append(
			make('span', { text: k === BEFORE ? 'before' : 'after' }),
			...shares.map(([, share]) => make('b', { text: cnt ? time(quantile(hist, share, sum, max)) : '—' })),
		),
	);
	// Each side's bars have one sum, so that shapes are compared.
	const [x, y] = sides.map(({ hist, cnt }) => hist.map((n) => (cnt ? n / cnt : 0)));
	return [section('How long', sideHistogram(x, y), table)];
}
function sideHistogram(before, after) {
	const image = histogram(
		after.map((n, i) => Math.max(n, before[i])),
		[],
		(svgImage, from, wide, h, top) => {
			for (let i = from; i < from + Math.round(296 / wide); i++) {
				for (const [name, hist, shift] of [
					['less', before, 0],
					['more', after, 0.5],
				]) {
					const tall = hist[i] ? Math.max(1.5, (h * hist[i]) / top) : 0;
					const bar = svg('rect', {
						class: 'bar ' + name,
						x: (i - from + shift) * wide + 0.5,
						y: h - tall,
						width: Math.max(1, wide / 2 - 0.5),
						height: tall,
					});
					bar.append(
						svg(
							'title',
							{},
							`${shift ? 'after' : 'before'}, ${time(2 ** i)} to ${time(2 ** (i + 1))}: ${percent(hist[i], 1)} of the waits`,
						),
					);
					svgImage.append(bar);
				}
			}
		},
	);
	if (image) image.setAttribute('aria-label', 'Durations before and after');
	return image;
}

// Rows of a name and both sides, the largest change first.
function changeBars(title, rows) {
	const list = make('ul', { class: 'bars' }),
		all = Math.max(...V.sideTotals) || 1;
	rows.sort((a, b) => Math.abs(b.after - b.before) - Math.abs(a.after - a.before));
	for (const row of rows.slice(0, 8)) {
		const [x, y] = [make('i', { class: 'less' }), make('i', { class: 'more' })];
		x.style.width = `${(100 * row.before) / all}%`;
		y.style.width = `${(100 * row.after) / all}%`;
		list.append(
			make(
				'li',
				{},
				make(
					row.run ? 'button' : 'div',
					row.run ? { class: 'two', type: 'button', onclick: row.run } : { class: 'two' },
					make('span', { class: 'name', text: row.name, title: row.name }),
					make('span', { class: 'amount', text: `${bare(row.before)} → ${bare(row.after)}` }),
					x,
					y,
				),
			),
		);
	}
	if (rows.length > 8) list.append(make('li', { class: 'more', text: `${number(rows.length - 8)} more` }));
	return rows.length ? section(title, list) : null;
}
function changeSplits(items) {
	const { data } = V,
		sections = [];
	const rowsOf = (nameOf) => {
		const sums = new Map();
		for (const i of items) {
			const name = nameOf(i);
			if (name === null) continue;
			const row = sums.get(name) || { name, before: 0, after: 0 };
			row.before += V.sideWeight[BEFORE][i];
			row.after += V.sideWeight[AFTER][i];
			sums.set(name, row);
		}
		return [...sums.values()];
	};
	if (!S.count)
		sections.push(
			changeBars(
				'What kind of time',
				CLASSES.map((name, k) => {
					const [before, after] = V.sides.map((side) =>
						side.scale * items.reduce((n, i) => n + (V.mask[V.waitOf(i)] & (1 << k) ? side.classes[k][i] : 0), 0),
					);
					return { name, before, after };
				}).filter((row) => row.before + row.after),
			),
		);
	data.about.facets.forEach((facet, f) =>
		sections.push(
			changeBars(
				`By ${facet.name}`,
				rowsOf((i) => facet.categories[data.waits.facets[f][V.waitOf(i)]].name),
			),
		),
	);
	if (data.objects)
		sections.unshift(
			changeBars(
				'Waited for',
				rowsOf((i) => {
					const id = data.waits.object[V.waitOf(i)],
						o = id && data.objects[id - 1];
					return o ? `${o.kind} ${o.name}` : null;
				}),
			),
		);
	if (data.about.hasWakers && data.wakes && !V.ofWakes && !V.isRanged) sections.unshift(wakerChanges(items));
	return sections;
}
