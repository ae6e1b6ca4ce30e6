// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Two ranges: what differs, and whether it is more than noise.  A is the selected range, B what it is compared with.

const BEFORE = [
	['the same time before', (a) => a[1] - a[0]],
	['an hour before', () => 3600e3],
	['a day before', () => 86400e3],
	['a week before', () => 7 * 86400e3],
];

function compareWith(shift) {
	const range = shownRange(),
		back = shift(range),
		other = [range[0] - back, range[1] - back];
	if (other[0] < V.extent.from) return say('The history begins ' + rangeWords([V.extent.from, V.extent.to]).split(' to ')[0]);
	S.range = range;
	S.with = other;
	S.live = false;
	S.tab = 'compare';
	if (other[0] < S.from) S.from = Math.max(V.extent.from, other[0] - (range[1] - range[0]));
	return update(true);
}

function compareTools() {
	const buttons = BEFORE.map(([text, shift]) => make('button', { type: 'button', text, onclick: () => compareWith(shift) }));
	return make('div', { class: 'tools' }, make('span', { class: 'soft', text: 'Compare with' }), ...buttons, make('span', { class: 'soft', text: 'or drag with Ctrl in the time line.' }));
}

// "+12%" with a sign that needs no colour.
function changeCell(row) {
	const milli = row.time.percent_milli,
		real = row.time.is_change,
		text = row.fate === 'new' ? 'new' : row.fate === 'vanished' ? 'gone' : milli === null ? '' : `${milli > 0 ? '+' : '−'}${percentWords(Math.abs(milli) / 1000)}`;
	const more = row.after.scaled_ns > row.before.scaled_ns;
	const each = !real && row.each.is_change && row.each.percent_milli, // why it is listed all the same
		why = each ? make('small', { class: each > 0 ? 'worse' : 'better', text: `each wait ${each > 0 ? '▲ +' : '▼ −'}${percentWords(Math.abs(each) / 1000)}` }) : null;
	return make('td', { class: real ? (more ? 'worse' : 'better') : 'same' }, real ? (more ? '▲ ' : '▼ ') : '= ', text, why);
}
function percentWords(p) {
	return p >= 1000 ? `${Math.round(p / 100)}×` : `${p < 10 ? p.toFixed(1) : Math.round(p)}%`;
}

const DIFF_ROWS = 14;
function diffTable(title, table) {
	// what changed, the largest first, and of the rest only enough to see what did not
	const rank = (r) => (r.time.is_change ? 2 : r.each.is_change ? 1 : 0),
		all = [...table.rows].sort((a, b) => rank(b) - rank(a) || Math.abs(b.time.by_ns) - Math.abs(a.time.by_ns)),
		rows = all.slice(0, Math.min(DIFF_ROWS, Math.max(5, all.filter(rank).length))),
		left = table.rows_total - rows.length,
		most = Math.max(1, ...rows.map((r) => Math.max(r.before.scaled_ns, r.after.scaled_ns)));
	const body = rows.map((r) => {
		const cell = (side, label) => {
			const bar = make('i', { class: 'amount' });
			bar.style.width = `${(100 * side.scaled_ns) / most}%`;
			return make('td', { class: 'time', dataset: { label } }, time(side.scaled_ns), bar);
		};
		return make(
			'tr',
			{},
			make('td', { class: 'first' }, make('span', { class: 'name', text: title === 'By reason' ? reasonWords(r.name) : r.name }), r.comm ? make('div', { class: 'about' }, make('span', { text: r.comm })) : null),
			cell(r.before, 'B'),
			cell(r.after, 'A'),
			changeCell(r),
			make('td', { class: 'rare', text: r.before.p99_ns ? time(r.before.p99_ns) : '' }),
			make('td', { class: 'rare', text: r.after.p99_ns ? time(r.after.p99_ns) : '' }),
		);
	});
	const head = [
		[title, 'first'],
		['B, per thread-minute', ''],
		['A, per thread-minute', ''],
		['Change', ''],
		['p99, B', 'rare'],
		['p99, A', 'rare'],
	].map(([text, cls]) => make('th', { scope: 'col', class: cls, text }));
	if (left > 0) body.push(make('tr', {}, make('td', { class: 'first none', colspan: 6, text: `and ${plural(left, 'row')} that changed less` })));
	return make('table', {}, make('thead', {}, make('tr', {}, ...head)), make('tbody', {}, ...body));
}

// What leads is the largest change of the tables below, of what is no noise: a stack where it has
// half of it, since it says more than a reason.
function verdict(diff) {
	const total = diff.total,
		inAll = `In all ${time(total.before.scaled_ns)} → ${time(total.after.scaled_ns)} per thread-minute${total.time.is_change ? '' : ', within the noise'}.`;
	const size = (r) => (r ? Math.abs(r.time.by_ns) : 0),
		largest = (by) => diff.by[by].rows.filter((r) => r.time.is_change).sort((a, b) => size(b) - size(a))[0],
		reason = largest('reason'),
		stack = largest('stack'),
		row = size(stack) >= size(reason) / 2 ? stack : reason;
	if (row) {
		const name = row === reason ? reasonWords(row.name) : `${row.name}${row.comm ? ' of ' + row.comm : ''}`,
			how = row.fate === 'new' ? 'New in A' : row.fate === 'vanished' ? 'Gone in A' : row.time.by_ns > 0 ? 'More in A' : 'Less in A';
		return [`${how}: ${name}, ${time(row.before.scaled_ns)} → ${time(row.after.scaled_ns)} per thread-minute.`, inAll];
	}
	const each = diff.by.stack.rows.find((r) => r.each.is_change);
	if (each) return [`Each wait is ${each.each.by_ns > 0 ? 'longer' : 'shorter'} in A: ${each.name}, ${time(each.before.each_ns)} → ${time(each.after.each_ns)}.`, inAll];
	return ['Nothing changed beyond the noise.', inAll];
}

function drawDiff(detail, diff, query) {
	const side = (name, range, s) => make('p', { class: 'side' }, make('b', { class: 'letter ' + name, text: name }), ` ${rangeWords(range)}, ${plural(s.threads, 'thread')}`);
	const [leads, inAll] = verdict(diff);
	const address = route('diff.html', query) + (themeName() === 'dark' ? '#theme=dark' : '#theme=light');
	detail.replaceChildren(
		compareTools(),
		make('p', { class: 'verdict', text: leads }),
		make('p', { class: 'soft', text: inAll }),
		side('B', marked('with'), diff.before),
		side('A', clamped(marked('range') || shownRange()), diff.after),
		diffTable('By reason', diff.by.reason),
		make('p', { class: 'soft', text: '▲ and ▼ are changes that two runs of the same would not show; = is within the noise.' }),
		diffTable('By stack', diff.by.stack),
		...(diff.total.before.off_cpu_ns || diff.total.after.off_cpu_ns ? picture(address) : []),
	);
}
function picture(address) {
	return [
		make('p', { class: 'tools' }, make('a', { href: address, target: '_blank', rel: 'noopener', text: 'Open the picture in a tab' })),
		framed(make('iframe', { src: address, title: 'Flame graph of the difference', loading: 'lazy' })),
	];
}

async function drawCompare(detail) {
	if (!S.with) {
		detail.replaceChildren(compareTools(), make('p', { class: 'none', text: 'Was it like this before? Choose with what to compare the range.' }));
		return;
	}
	const query = { ...rangeQuery(shownRange()), before_from: nanoseconds(S.with[0]), before_to: nanoseconds(S.with[1]), ...filterQuery() },
		key = JSON.stringify(query) + themeName();
	if (detail.dataset.diff === key && detail.querySelector('table')) return;
	detail.replaceChildren(compareTools(), make('p', { class: 'none', text: 'Comparing…' }));
	detail.dataset.diff = key;
	try {
		const diff = await ask('diff', route('diff', query));
		if (!diff || S.tab !== 'compare') return;
		noteRead('with', diff.before);
		placeRanges();
		drawDiff(detail, diff, query);
	} catch (e) {
		if (S.tab === 'compare') detail.replaceChildren(compareTools(), make('p', { class: 'none', role: 'alert', text: e.message }));
	}
}
