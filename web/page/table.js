// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The same as a table: every function once, however often it is in a stack.

const COLUMNS = [
	['name', 'Function'],
	['total', 'Total'],
	['share', 'Share'],
	['own', 'Itself'],
	['count', 'Waits'],
	['longest', 'Longest'],
	['module', 'In'],
];
const CHANGE_COLUMNS = [
	['name', 'Function'],
	['before', 'Before'],
	['after', 'After'],
	['change', 'Change'],
	['error', '±'],
	['percent', '%'],
	['each', 'Each'],
	['own', 'Itself'],
	['module', 'In'],
];
const columns = () => (V.sides ? CHANGE_COLUMNS : COLUMNS);
const TABLE_STEP = 250;
let tableShown = TABLE_STEP;

function tableRows() {
	const { labels, items, weight, data } = V,
		{ tree, leaf } = V.trees[0],
		cnt = labels.cnt;
	const total = new Float64Array(cnt),
		own = new Float64Array(cnt),
		count = new Float64Array(cnt),
		longest = new Float64Array(cnt);
	const seen = new Int32Array(cnt).fill(-1);
	for (const i of items.order) {
		if (!weight[i]) continue;
		// Merged from the leaves, the leaf is the child of the root.
		let node = leaf[i],
			inner = -1;
		for (; node > 0; node = tree.parent[node]) {
			const label = tree.label[node];
			if (!S.reverse && inner < 0) inner = label;
			if (S.reverse) inner = label;
			if (seen[label] === i) continue;
			seen[label] = i;
			total[label] += weight[i];
			count[label] += V.isThere[i] ? V.sums.count[i] : 0;
			if (V.isThere[i]) longest[label] = Math.max(longest[label], data.waits.max[i]);
		}
		if (inner >= 0) own[inner] += weight[i];
	}
	const rows = [],
		compared = V.sides ? compareTable() : null;
	for (let i = 0; i < cnt; i++) {
		const isThere = compared ? compared.before[i] + compared.after[i] : total[i];
		if (!isThere || i === V.rootLabel || (V.looks.found && !V.looks.found[i])) continue;
		const c = compared && changeOf(compared, i);
		rows.push({
			label: i,
			name: labels.text[i],
			module: labels.module[i],
			c,
			// What is a change stands before what is none.
			change: c && Math.abs(c.by) * (c.isReal || c.each ? 1 : 1e-15),
			before: c && c.before,
			after: c && c.after,
			error: c && c.error,
			each: c && c.each ? c.each.means[AFTER] / c.each.means[BEFORE] : 0,
			percent: c && (c.isReal ? (c.before ? c.by / c.before : Infinity) : 0),
			total: total[i],
			share: total[i],
			own: own[i],
			count: count[i],
			longest: longest[i],
		});
	}
	const key = sortKey(),
		sign = S.ascending ? 1 : -1;
	if (key === 'name' || key === 'module')
		rows.sort((a, b) => sign * (a[key] < b[key] ? -1 : a[key] > b[key] ? 1 : sign * (b.total - a.total)));
	else rows.sort((a, b) => (a[key] === b[key] ? 0 : sign * (a[key] - b[key])) || (a.name < b.name ? -1 : 1));
	return rows;
}
function sortKey() {
	return columns().some(([name]) => name === S.sort) ? S.sort : V.sides ? 'change' : 'total';
}

// Every function's time on both sides, once for a wait.
function compareTable() {
	const { tree, leaf } = V.trees[0],
		{ sides, sideWeight } = V,
		cnt = V.labels.cnt,
		seen = new Int32Array(cnt).fill(-1);
	const sums = [new Float64Array(cnt), new Float64Array(cnt)],
		counts = new Float64Array(cnt),
		list = [];
	let turn = 0;
	const keysOf = (i, keys) => {
		turn++;
		for (let node = leaf[i]; node > 0; node = tree.parent[node]) {
			if (seen[tree.label[node]] === turn) continue;
			seen[tree.label[node]] = turn;
			keys.push(tree.label[node]);
		}
	};
	for (let i = 0; i < leaf.length; i++) {
		if (!sideWeight[BEFORE][i] && !sideWeight[AFTER][i]) continue;
		list.length = 0;
		keysOf(i, list);
		for (const label of list)
			for (const k of [BEFORE, AFTER]) {
				sums[k][label] += sideWeight[k][i];
				if (sideWeight[k][i]) counts[label] += sides[k].count[i];
			}
	}
	return compareKeys(cnt, keysOf, sums, counts, (label) => V.labels.why[label] === LOST, -1);
}

function sortBy(column) {
	S.ascending = sortKey() === column ? !S.ascending : column === 'name' || column === 'module';
	S.sort = column;
	update();
	one(`#table th[data-column=${column}] button`).focus();
}

function tableRow(row, i) {
	const cells = [
		make(
			'td',
			{ class: 'name' },
			make('button', {
				type: 'button',
				text: row.name,
				title: 'Callers and callees of ' + row.name,
				tabindex: i ? -1 : 0,
				onclick: () => showSandwich(row.label),
			}),
		),
		...(V.sides ? changeCells(row) : amountCells(row)),
		make('td', { class: 'module', text: baseName(row.module || ''), title: row.module }),
	];
	return make('tr', {}, ...cells);
}
function amountCells(row) {
	const fill = make('i', {}),
		share = make('td', { text: percent(row.total, V.total) });
	fill.style.width = `${(100 * row.total) / V.total}%`;
	share.append(fill);
	return [
		make('td', { text: amount(row.total) }),
		share,
		make('td', { text: row.own ? amount(row.own) : '' }),
		make('td', { text: number(row.count) }),
		make('td', { text: V.isRanged ? '' : time(row.longest) }),
	];
}
function changeCells({ c, own }) {
	const verdict = c.verdict === SMALL ? '' : c.isReal ? percentWords(c) : '=',
		fill = make('i', {}),
		by = make('td', { class: 'change', text: c.by ? signed(c.by) : '0' });
	fill.style.background = css(changeColour(c.isReal ? c.share : 0, themeName()));
	fill.style.width = `${(100 * Math.abs(c.by)) / Math.max(...V.sideTotals)}%`;
	by.append(fill);
	return [
		make('td', { text: bare(c.before) }),
		make('td', { text: bare(c.after) }),
		by,
		make('td', { text: c.verdict === NOISE || c.verdict === REAL ? bare(2 * c.error) : '' }),
		make('td', { text: verdict }),
		make('td', {
			text: eachWords(c),
			title: c.each ? `Each wait: ${c.each.means.map(time).join(' → ')} ±${time(2 * c.each.error)}` : '',
		}),
		make('td', { text: own ? bare(own) : '' }),
	];
}

function showTable() {
	const box = one('#table');
	box.hidden = S.view !== 'table';
	if (box.hidden) return;
	const rows = tableRows(),
		head = make('tr', {});
	for (const [column, title] of columns()) {
		const sorted = sortKey() === column;
		head.append(
			make(
				'th',
				{
					'aria-sort': sorted ? (S.ascending ? 'ascending' : 'descending') : 'none',
					dataset: { column },
					class: column === 'name' || column === 'module' ? 'left' : '',
				},
				make('button', {
					type: 'button',
					text: title + (sorted ? (S.ascending ? ' ▲' : ' ▼') : ''),
					onclick: () => sortBy(column),
				}),
			),
		);
	}
	const body = make('tbody', {}, ...rows.slice(0, tableShown).map(tableRow));
	const table = make(
		'table',
		{},
		make('caption', {
			text:
				`${plural(rows.length, 'function')}${V.looks.found ? ' found' : ''}; each counts once for a wait, so totals overlap` +
				(V.sides
					? `; ${S.count ? 'waits' : 'times'}${perUnit()}; ± is twice the standard error, = is within the noise, nothing is too little to tell`
					: ''),
		}),
		make('thead', {}, head),
		body,
	);
	box.replaceChildren(table);
	if (rows.length > tableShown) {
		box.append(
			make('button', {
				type: 'button',
				class: 'more',
				text: `${number(rows.length - tableShown)} more`,
				onclick: () => {
					tableShown *= 4;
					showTable();
				},
			}),
		);
	}
}

// Up and Down between the rows.
function tableKey(e) {
	const buttons = [...document.querySelectorAll('#table tbody button')],
		at = buttons.indexOf(document.activeElement);
	const to = {
		ArrowDown: at + 1,
		ArrowUp: at - 1,
		Home: 0,
		End: buttons.length - 1,
		PageDown: at + 20,
		PageUp: at - 20,
	}[e.key];
	if (to === undefined || !buttons.length) return false;
	const next = buttons[Math.max(0, Math.min(buttons.length - 1, to))];
	buttons.forEach((b) => {
		b.tabIndex = b === next ? 0 : -1;
	});
	next.focus();
	return true;
}
