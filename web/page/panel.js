// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What is known of the selected frame: its share, its distribution, its source, who woke it, what it waited for.

function amount(n) {
	if (V.sides) return bare(n) + unitWords();
	return S.count ? plural(n, 'wait') : S.perRequest ? V.more.perRequest(n) : time(n);
}

// The items whose path goes through the frame.
function itemsBelow(pane, node) {
	const { leaf, tree } = V.trees[pane.index],
		layout = preOrder(pane.layout),
		list = [];
	for (const i of V.items.order)
		if (V.weight[i] > 0 && leaf[i] >= 0 && isBelow(layout, leaf[i], node)) list.push(i);
	return tree ? list : [];
}

function describe(pane, node) {
	const { layout } = pane,
		{ tree, total, own } = layout,
		label = tree.label[node],
		above = node > 0 ? tree.parent[node] : 0;
	return {
		label,
		name: V.labels.text[label],
		module: V.labels.module[label],
		why: WHY[V.labels.why[label]] || '',
		total: total[node],
		own: own[node],
		all: layout.width,
		above: total[above],
		depth: tree.depth[node],
	};
}
// One line for the status, the tooltip and the mirrored tree.
function summary(pane, node) {
	const d = describe(pane, node);
	const parts = [amount(d.total), percent(d.total, d.all) + ' of all'];
	if (node > 0 && pane.layout.tree.parent[node] > 0) parts.push(percent(d.total, d.above) + ' of parent');
	if (d.module) parts.push(baseName(d.module));
	if (d.why) parts.push(d.why);
	if (V.sides) parts.splice(0, 1, changeWords(pane, node));
	return parts.join(' · ');
}

function stackText(pane, node) {
	const names = pane.layout.tree
		.path(node)
		.slice(1)
		.map((n) => V.labels.text[pane.layout.tree.label[n]]);
	return (S.reverse || pane.index === 1 ? names : names.reverse()).join('\n');
}

function fact(list, name, value) {
	list.append(make('dt', { text: name }), make('dd', { text: value }));
}

function section(title, ...children) {
	return make('section', {}, make('h3', { text: title }), ...children);
}

// Bars of the durations, a power of two each, and marks at the percentiles.
// draw: puts other bars in the place of these.
function histogram(hist, marks, draw) {
	const used = [...hist.keys()].filter((i) => hist[i] > 0);
	if (!used.length) return null;
	let from = used[0],
		to = used[used.length - 1];
	while (to - from < 7) {
		if (from > 0) from--;
		if (to - from < 7 && to < HIST_SLOTS - 1) to++;
	}
	const w = 296,
		h = 92,
		top = Math.max(...hist),
		wide = w / (to - from + 1);
	const image = svg('svg', {
		viewBox: `0 0 ${w} ${h + 30}`,
		width: w,
		height: h + 30,
		role: 'img',
		'aria-label': 'Durations: ' + marks.map(([n, v]) => `${n} ${time(v)}`).join(', '),
	});
	if (draw) draw(image, from, wide, h, top);
	for (let i = from; i <= to && !draw; i++) {
		const tall = hist[i] ? Math.max(1.5, (h * hist[i]) / top) : 0;
		const bar = svg('rect', {
			class: 'bar',
			x: (i - from) * wide + 0.5,
			y: h - tall,
			width: Math.max(1, wide - 1),
			height: tall,
		});
		bar.append(svg('title', {}, `${time(2 ** i)} to ${time(2 ** (i + 1))}: ${plural(hist[i], 'wait')}`));
		image.append(bar);
	}
	image.append(svg('line', { class: 'axis', x1: 0, x2: w, y1: h + 0.5, y2: h + 0.5 }));
	for (const [name, value] of marks) {
		const x = Math.min(w - 1, Math.max(1, (Math.log2(value) - from) * wide));
		image.append(svg('line', { class: 'mark', x1: x, x2: x, y1: 0, y2: h }), svg('title', {}, name));
	}
	let last = -60;
	[1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11].forEach((ns, i) => {
		const x = (Math.log2(ns) - from) * wide,
			text = ['1 µs', '10 µs', '100 µs', '1 ms', '10 ms', '100 ms', '1 s', '10 s', '100 s'][i];
		if (x < 12 || x > w - 12 || x - last < 50) return;
		last = x;
		image.append(
			svg('line', { class: 'axis', x1: x, x2: x, y1: h, y2: h + 4 }),
			svg('text', { x, y: h + 17, 'text-anchor': 'middle' }, text),
		);
	});
	return image;
}

// "The longest: thread 4711 mysqld, began 14:32:18.250, woken by ..."
function longestWait(detail, waits) {
	if (!V.data.about.hasLongest || V.isRanged || !waits.length) return '';
	const max = V.data.waits.max,
		i = waits.reduce((a, b) => (max[b] > max[a] ? b : a));
	if (!detail.began[i]) return '';
	const t = V.data.threads[V.data.waits.thread[i]],
		at = detail.began[i],
		clock = new Date(at - new Date(at).getTimezoneOffset() * 6e4).toISOString().slice(0, -1).replace('T', ' ');
	return make('p', {
		class: 'longest',
		text:
			`Longest ${time(max[i])}: ` +
			(t.tid ? `thread ${t.tid} ${t.comm}` : `a short-lived ${t.comm}`) +
			`, began ${V.data.waits.flags[i] & OPEN_AT_START ? 'before ' : ''}${clock}` +
			(detail.endedBy[i] ? `, woken by ${detail.endedBy[i]}` : ''),
	});
}

function distribution(detail, all) {
	if (V.isOne) return [];
	const waits = all.filter((i) => V.isThere[i]);
	const hist = V.isRanged ? histWithin(waits, S.range, V.data.slices) : addUpHist(detail, waits),
		w = V.data.waits;
	const max = waits.reduce((m, i) => Math.max(m, w.max[i]), 0),
		sum = V.isRanged ? 0 : sumOfWaits(waits), // a wait counts where it ends, its time where it lies
		count = hist.reduce((a, b) => a + b, 0);
	if (!count) return [];
	const marks = [
		['p50', 0.5],
		['p90', 0.9],
		['p99', 0.99],
	].map(([name, share]) => [name, quantile(hist, share, sum, max)]);
	const table = make('div', { class: 'quantiles' });
	for (const [name, value] of V.isRanged ? marks : [...marks, ['longest', max]]) {
		table.append(
			make(
				'div',
				{},
				make('b', { text: time(value) }),
				make('span', { text: (name[0] === 'p' ? '≈ ' : '') + name }),
			),
		);
	}
	return [section('How long', histogram(hist, marks), table, longestWait(detail, waits))];
}

// " (12 for a CPU alone)": preemptions stand in the same frames as sleeps do.
function queueWords(items, count) {
	const blocked = V.data.waits.classes[0],
		cnt = V.ofWakes ? 0 : items.reduce((sum, i) => sum + (V.isThere[i] && !blocked[i] ? V.sums.count[i] : 0), 0);
	return cnt && cnt < count ? ` (${number(cnt)} for a CPU alone)` : '';
}

// Rows of name, bar and amount, the largest first; run: what a click on one does.
function bars(title, rows, all, run) {
	if (!rows.length) return null;
	rows.sort((a, b) => b.amount - a.amount);
	const list = make('ul', { class: 'bars' });
	for (const row of rows.slice(0, 8)) {
		const fill = make('i', {});
		fill.style.width = `${Math.max(0.5, Math.min(100, (100 * row.amount) / all))}%`;
		if (row.colour) fill.style.background = row.colour;
		const inside = [
			make('span', { class: 'name', text: row.name, title: row.title || row.name }),
			make('span', { class: 'amount', text: `${amount(row.amount)} · ${percent(row.amount, all)}` }),
			fill,
		];
		list.append(
			make(
				'li',
				{},
				run && row.key !== undefined
					? make('button', { type: 'button', onclick: () => run(row) }, ...inside)
					: make('div', {}, ...inside),
			),
		);
	}
	if (rows.length > 8) list.append(make('li', { class: 'more', text: `${number(rows.length - 8)} more` }));
	return section(title, list);
}

function gather(map, key, amountOf) {
	map.set(key, (map.get(key) || 0) + amountOf);
}

// By class, and by each facet.
function splits(items) {
	const { data } = V,
		sections = [],
		all = items.reduce((sum, i) => sum + V.weight[i], 0),
		theme = themeName();
	if (data.about.rowsAre) return sections; // no rule and no state is about these
	if (!V.ofWakes && !S.count) {
		const rows = CLASSES.map((name, k) => ({
			name,
			amount: items.reduce((sum, i) => sum + (V.mask[i] & (1 << k) ? V.sums.classes[k][i] : 0), 0),
			colour: categoryColour(name, theme),
		})).filter((r) => r.amount > 0);
		sections.push(bars('What kind of time', rows, all));
	}
	data.about.facets.forEach((facet, f) => {
		const sums = new Map();
		for (const i of items) {
			const wait = V.ofWakes ? data.wakes.wait[i] : i;
			const blocked = S.count ? V.weight[i] : V.mask[wait] & 1 ? (V.ofWakes ? data.wakes.blocked : V.sums.classes[0])[i] : 0;
			const ran = V.sides || V.ofWakes || S.count || !(V.mask[wait] & (1 << ON_CPU)) ? 0 : V.sums.classes[ON_CPU][i];
			if (ran) gather(sums, data.waits.facets[f][wait], ran);
			if (blocked) gather(sums, data.waits.facets[f][wait], blocked);
		}
		const rows = [...sums].map(([k, n]) => ({
			name: facet.categories[k].name,
			amount: n,
			colour: categoryColour(facet.categories[k].name, theme),
		}));
		const what = S.count ? 'Waits' : data.about.onCpuHz && !V.ofWakes ? 'On-CPU and blocked time' : 'Blocked time';
		sections.push(bars(`${what} by ${facet.name}`, rows, all));
	});
	return sections;
}

// " *": an address that each of many short-lived processes has another one of
const objectName = (o) => (o.name.includes(o.kind) ? o.name : `${o.kind} ${o.name}`).replace(/ \*$/, '') + (o.holder ? `, held by thread ${o.holder}` : '');
// The largest of sums by key.
function mostOf(sums, all, nameOf) {
	const [key, n] = [...sums].reduce((most, row) => (row[1] > most[1] ? row : most));
	return { name: nameOf(key), share: n / all };
}

async function wakersAndObjects(items) {
	const { data } = V,
		sections = [],
		found = { sections, waker: null, object: null };
	if (V.ofWakes || V.isRanged || V.sides || (!data.about.hasWakers && !data.about.hasObjects)) return found;
	await readWakers(data);
	const wakers = new Map(),
		objects = new Map(),
		k = data.wakes,
		w = data.waits;
	let known = 0,
		slept = 0,
		waited = 0;
	for (const i of items) {
		slept += S.count ? w.count[i] : w.classes[0][i];
		for (let n = k.first[i]; n < k.first[i + 1]; n++) {
			const part = S.count ? k.count[n] : k.blocked[n];
			known += part;
			gather(wakers, data.wakers[k.waker[n]].name, part);
		}
		if (w.object[i]) {
			gather(objects, w.object[i], V.weight[i]);
			waited += V.weight[i];
		}
	}
	const all = items.reduce((sum, i) => sum + V.weight[i], 0);
	if (data.about.hasObjects && waited) {
		found.object = mostOf(objects, all, (id) => objectName(data.objects[id - 1]));
		sections.push(
			bars(
				'Waited for',
				[...objects].map(([id, n]) => {
					const o = data.objects[id - 1];
					return {
						name: objectName(o),
						title: `${objectName(o)} ${o.place}`,
						amount: n,
					};
				}),
				all,
			),
		);
	}
	if (data.about.hasWakers && known) {
		found.waker = mostOf(wakers, slept, (name) => name);
		const rows = [...wakers].map(([name, n]) => ({
			name,
			amount: n,
			key: name,
			title: `${name}: show what it did as it woke these`,
		}));
		if (slept - known > slept * 1e-6) rows.push({ name: '[unknown]', amount: slept - known });
		sections.push(bars('Woken by', rows, slept, (row) => showWakers(row.key)));
	}
	return found;
}

// Lines of the source that the frame's stacks name.
function sourceOf(detail, pane, node) {
	const stack = pane.layout.tree.stack[node];
	if (!stack) return '';
	const frame = V.data.nodeFrame[stack],
		file = detail.file[frame],
		line = detail.line[frame];
	return (
		(file ? file + (line ? ':' + line : '') : '') +
		(detail.inlined[frame] ? (file ? ', inlined' : 'inlined') : '')
	);
}

// Time on CPU, by how many samples, and its standard error: each thread's sum is exact, its samples share it out.
function onCpuOf(items) {
	const w = V.data.waits,
		threads = new Map();
	let sum = 0,
		samples = 0,
		variance = 0;
	for (const i of items) {
		const ns = V.mask[i] & (1 << ON_CPU) ? V.sums.classes[ON_CPU][i] : 0;
		if (!ns) continue;
		sum += ns;
		samples += w.samples[i];
		gather(threads, w.thread[i], w.samples[i]);
	}
	if (V.isRanged) return { time: sum, text: `${time(sum)}, of samples in the range` };
	if (!V.samplesOf) {
		V.samplesOf = new Map();
		for (let i = 0; i < w.cnt; i++) if (w.samples[i]) gather(V.samplesOf, w.thread[i], w.samples[i]);
	}
	for (const [thread, k] of threads) {
		const n = (V.samplesOf.get(thread) || 0) + 2,
			share = (k + 1) / n;
		if (n > 2 && k < n - 2) variance += V.data.threads[thread].onCpu ** 2 * ((share * (1 - share)) / n);
	}
	const error = variance ? `, standard error ${time(Math.sqrt(variance))}` : '';
	return { time: sum, text: `${time(sum)} by ${plural(samples, 'sample')}${error}` };
}

let panelTurn = 0;
async function showPanel() {
	const panel = one('#panel'),
		turn = ++panelTurn;
	panel.hidden = !S.panel || S.view === 'table';
	if (panel.hidden || (V.empty && !V.isOne)) return;
	const { pane, node } = V.selected,
		d = describe(pane, node),
		items = itemsBelow(pane, node);
	const detail = await readDetail(V.data);
	if (V.data.about.diff && (V.data.about.hasObjects || V.data.about.hasWakers)) await readWakers(V.data);
	const others = await wakersAndObjects(items);
	if (turn !== panelTurn) return; // another frame was selected meanwhile
	const facts = make('dl', {}),
		where = sourceOf(detail, pane, node);
	const count = V.ofWakes
		? items.reduce((sum, i) => sum + V.data.wakes.count[i], 0)
		: items.reduce((sum, i) => sum + (V.isThere[i] ? V.sums.count[i] : 0), 0);
	if (V.sides) changeFacts(facts, pane, node, items);
	else fact(facts, S.count ? (V.data.about.rowsAre || 'Waits') : 'Time', `${amount(d.total)}, ${percent(d.total, d.all)} of all`);
	if (node > 0 && d.above !== d.total) fact(facts, 'Of parent', percent(d.total, d.above));
	if (d.own && d.own !== d.total && !V.sides) fact(facts, 'Itself', amount(d.own));
	const ran = V.ofWakes || S.count || !(S.classes & (1 << ON_CPU)) ? null : onCpuOf(items);
	if (ran && ran.time) fact(facts, 'On CPU', ran.text);
	if (!S.count && !V.sides && (count || !ran || !ran.time)) {
		const long = V.ofWakes ? d.total : items.reduce((sum, i) => sum + (V.isThere[i] ? offCpuOf(i) : 0), 0);
		if (V.data.about.rowsAre === 'tasks') fact(facts, 'Tasks', `${number(count)} on average`);
		else if (V.data.about.rowsAre) {
			if (count) fact(facts, V.data.about.rowsAre.replace(/^./, (c) => c.toUpperCase()), `${number(count)}, ${time(long / count)} on average`);
		} else fact(facts, 'Waits', number(count) + queueWords(items, count) + (count ? `, ${time(long / count)} on average` : ''));
	}
	if (d.module) fact(facts, 'In', d.module);
	if (where) fact(facts, 'Source', where);
	if (d.why) fact(facts, 'No name', d.why);
	const act = (text, title, run) => make('button', { type: 'button', text, title, onclick: run });
	const buttons = make(
		'div',
		{ class: 'actions' },
		act('Copy name', 'c', copyName),
		act('Copy stack', 'C', copyStack),
	);
	if (node > 0 && V.labels.kind[d.label] !== 2)
		buttons.append(act('Callers and callees', '3', () => showSandwich(d.label)));
	if (V.data.about.hasWakers && !V.ofWakes && S.view === 'flame')
		buttons.append(act('Wakers', '4', () => showWakers('')));
	const words = V.ofWakes || S.count || V.data.about.rowsAre ? null : inWords(detail, items, others, node === 0 && !pane.index && S.view !== 'sandwich');
	panel.replaceChildren(
		make('h2', { text: d.name }),
		...[words].filter(Boolean),
		facts,
		buttons,
		...(V.more ? V.more.panel() : []),
		...(V.ofWakes ? [] : V.sides ? distributions(detail, items) : distribution(detail, items)),
		...[...others.sections, ...(V.sides ? changeSplits(items) : splits(items))].filter(Boolean),
	);
}
