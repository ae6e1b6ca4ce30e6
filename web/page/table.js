// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The same as a table: every function once, however often it is in a stack.

const COLUMNS = [
	['name', 'Function'],
	['total', 'Total'],
	['change', 'Change'],
	['share', 'Share'],
	['own', 'Itself'],
	['count', 'Waits'],
	['longest', 'Longest'],
	['module', 'In'],
];
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
	const before = new Float64Array(cnt),
		{ weight2 } = V;
	const seen = new Int32Array(cnt).fill(-1);
	for (const i of items.order) {
		if (!weight[i] && !(weight2 && weight2[i])) continue;
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
			if (weight2) before[label] += weight2[i];
			count[label] += V.sums.count[i];
			longest[label] = Math.max(longest[label], data.waits.max[i]);
		}
		if (inner >= 0) own[inner] += weight[i];
	}
	const rows = [];
	for (let i = 0; i < cnt; i++) {
		if ((!total[i] && !before[i]) || (V.looks.found && !V.looks.found[i])) continue;
		rows.push({
			label: i,
			name: labels.text[i],
			module: labels.module[i],
			change: weight2 ? total[i] / rangeSeconds(S.range) - before[i] / rangeSeconds(S.range2) : 0,
			total: total[i],
			share: total[i],
			own: own[i],
			count: count[i],
			longest: longest[i],
		});
	}
	const key = COLUMNS.some(([name]) => name === S.sort) ? S.sort : 'total',
		sign = S.ascending ? 1 : -1;
	if (key === 'name' || key === 'module')
		rows.sort((a, b) => sign * (a[key] < b[key] ? -1 : a[key] > b[key] ? 1 : sign * (b.total - a.total)));
	else rows.sort((a, b) => sign * (a[key] - b[key]) || (a.name < b.name ? -1 : 1));
	return rows;
}

// More or less a second than in the other range.
function changeText(perSecond) {
	const n = Math.abs(perSecond);
	return n ? `${perSecond > 0 ? '+' : '−'}${S.count ? number(n) : time(n)}/s` : '0';
}

function sortBy(column) {
	S.ascending = S.sort === column ? !S.ascending : column === 'name' || column === 'module';
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
		make('td', { text: amount(row.total) }),
		make('td', { class: 'change', text: V.weight2 ? changeText(row.change) : '' }),
		make('td', { text: percent(row.total, V.total) }),
		make('td', { text: row.own ? amount(row.own) : '' }),
		make('td', { text: number(row.count) }),
		make('td', { text: time(row.longest) }),
		make('td', { class: 'module', text: baseName(row.module || ''), title: row.module }),
	];
	const fill = make('i', {});
	fill.style.width = `${(100 * row.total) / V.total}%`;
	cells[3].append(fill);
	if (!V.weight2) cells.splice(2, 1);
	if (V.isRanged) cells[cells.length - 2].textContent = '';
	return make('tr', {}, ...cells);
}

function showTable() {
	const box = one('#table');
	box.hidden = S.view !== 'table';
	if (box.hidden) return;
	const rows = tableRows(),
		head = make('tr', {});
	for (const [column, title] of COLUMNS) {
		if (column === 'change' && !V.weight2) continue;
		const sorted = S.sort === column;
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
			text: `${plural(rows.length, 'function')}${V.looks.found ? ' found' : ''}; each counts once for a wait, so totals overlap`,
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
