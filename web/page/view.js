// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// From the state to what is drawn.  Each step is made again only when what it depends on has changed:
// trees (which stacks, merged how), weights (what counts), looks (colours, search), and the picture.

const V = { keys: {}, timings: {}, panes: [] };

function timed(name, run) {
	const from = performance.now(),
		result = run();
	V.timings[name] = performance.now() - from;
	return result;
}
// Makes V's part `name` again when its key is another one.
function step(name, key, run) {
	if (V.keys[name] === key) return false;
	V.keys[name] = key;
	timed(name, run);
	return true;
}

// ---- trees

// The view whose trees are shown: table and time look at the flame graph's.
function treeView() {
	return S.view === 'table' || S.view === 'time' ? 'flame' : S.view;
}
function treesKey() {
	const view = treeView();
	const more =
		view === 'sandwich'
			? [S.label, S.module]
			: view === 'wakers'
				? [S.of, S.ofReverse, S.reverse]
				: [S.reverse];
	return JSON.stringify([view, S.by, S.allFrames, ...more]);
}

function plainTree(items, reverse) {
	const tree = new Tree(V.rootLabel, V.data.nodeParent.length),
		leaf = new Int32Array(items.group.length).fill(-1);
	(reverse ? buildReverse : buildForward)(tree, V.data, items, leaf);
	return { tree, leaf };
}

// Which waits are below the frame of the flame graph that S.of names; all, without it.
function waitsOf(items) {
	const keep = new Uint8Array(V.data.waits.cnt).fill(1);
	if (!S.of) return keep;
	const { tree, leaf } = plainTree(items, S.ofReverse),
		node = nodeByName(tree, V.labels, S.of);
	if (node <= 0) return keep;
	const below = new Uint8Array(tree.cnt);
	for (let i = node; i < tree.cnt; i++)
		below[i] = i === node || (tree.parent[i] >= 0 && below[tree.parent[i]]);
	V.ofLabel = tree.label[node];
	return keep.map((_, i) => below[leaf[i]]);
}

function makeTrees() {
	const { data, labels } = V,
		waits = waitItems(data, labels, S.by),
		view = treeView();
	V.ofWakes = view === 'wakers';
	V.waitOf = V.ofWakes ? (i) => data.wakes.wait[i] : (i) => i; // of an item
	V.items = waits;
	V.ofLabel = -1;
	if (view === 'wakers') {
		V.items = wakeItems(data, labels, waitsOf(waits));
		V.trees = [plainTree(V.items, S.reverse)];
	} else if (view === 'sandwich') {
		const label = findLabel(S.label, S.module),
			root = label < 0 ? V.rootLabel : label;
		const callers = new Tree(root),
			callees = new Tree(root),
			a = new Int32Array(data.waits.cnt),
			b = new Int32Array(data.waits.cnt);
		buildAround(callers, callees, data, waits, label, a, b);
		V.trees = [
			{ tree: callees, leaf: b },
			{ tree: callers, leaf: a },
		];
	} else {
		V.trees = [plainTree(waits, S.reverse)];
	}
}

function findLabel(text, module) {
	const { labels } = V;
	for (let i = 0; i < labels.cnt; i++) if (labels.text[i] === text && labels.module[i] === module) return i;
	return labels.text.indexOf(text);
}

// ---- weights

// The category of a class of a wait's time: what a thread waits for a CPU has one of its own, whatever came before it.
function categoryOf(f, wait, k) {
	const { queue } = V.data.about.facets[f];
	return queue >= 0 && (k === 1 || k === 2) ? queue : V.data.waits.facets[f][wait];
}
// By wait: the bits of the classes that no switch leaves out; and whether the wait as such is there, whose count and durations
// are those of its own category.
function makeMasks() {
	const { waits, about } = V.data,
		off = S.off.map((set, f) => Uint8Array.from(about.facets[f].categories, (_, c) => set.has(c)));
	V.mask = new Uint8Array(waits.cnt).fill(S.classes);
	V.isThere = new Uint8Array(waits.cnt).fill(1);
	about.facets.forEach(({ queue }, f) => {
		if (!S.off[f].size) return;
		const noQueue = queue >= 0 && off[f][queue] ? 6 : 0;
		for (let i = 0; i < waits.cnt; i++) {
			const isOff = off[f][waits.facets[f][i]];
			V.mask[i] &= ~((isOff ? (queue >= 0 ? 9 : 15) : 0) | noQueue);
			if (isOff) V.isThere[i] = 0;
		}
	});
}
// What of the wait counts, from item i's count and time by class; asTime: its time, whatever is shown.
function weigh(count, classes, i, asTime, wait = i) {
	let sum = 0;
	for (let k = 0; k < classes.length; k++) if (V.mask[wait] & (1 << k)) sum += classes[k][i];
	return S.count && !asTime ? (sum > 0 && V.isThere[wait] ? count[i] : 0) : sum;
}

function makeWeights() {
	const { data, items } = V,
		cnt = items.group.length,
		weight = (V.weight = new Float64Array(cnt));
	const ranged = !!S.range && !!data.slices && !V.ofWakes,
		k = data.wakes;
	const only = V.more && !V.ofWakes && V.more.sums(); // of one request
	const w = (V.sums = only || (ranged ? sumsWithin(S.range, data.slices) : data.waits));
	// Wakers are not known by the slice.
	V.isOne = !!only;
	V.isRanged = V.isOne || ranged || (!!data.about.diff && !V.ofWakes && !!data.sideSlices && !!(S.range || S.range2));
	makeMasks();
	V.sides = sidesNow(data, ranged);
	if (V.sides) {
		V.sideWeight = sideWeights(V.sides);
		V.sideTotals = V.sideWeight.map((side) => side.reduce((a, b) => a + b, 0));
		weight.set(widthOf(...V.sideWeight));
	}
	for (const i of V.sides ? [] : items.order) {
		const wait = V.waitOf(i);
		weight[i] = V.ofWakes ? weigh(k.count, [k.blocked, k.runnable], i, false, wait) : weigh(w.count, w.classes, i);
	}
	V.compare = V.sides ? V.trees.map(compareTree) : null;
	V.layouts = V.trees.map(({ tree, leaf }) =>
		layOut(tree, sumUp(tree, items, leaf, weight), S.byName ? V.labels.rank : null),
	);
	V.total = V.layouts[0].width;
}

// ---- looks

// Two ranges are always coloured so.
function isByChange() {
	return !!V.sides && (!V.data.about.diff || S.colours === 'change');
}
function colourNames() {
	const { about } = V.data;
	if (S.colours === 'kind') return ['user', 'kernel'];
	if (S.colours === 'module') return Array.from({ length: MODULE_HUES }, (_, i) => 'module ' + i);
	if (S.colours === 'class') return CLASSES;
	const facet = about.facets.find((f) => f.name === S.colours) || about.facets[0];
	return facet.categories.map((c) => c.name).concat(['runnable', 'preempted', 'on CPU']);
}

// Items' weights by what they are coloured by.
function colourParts(names) {
	const { data, items, weight } = V,
		parts = names.map(() => new Float64Array(items.group.length));
	const f = Math.max(
			0,
			data.about.facets.findIndex((x) => x.name === S.colours),
		),
		facet = data.waits.facets[f];
	const rest = names.length - 3;
	for (const i of items.order) {
		if (!weight[i]) continue;
		const wait = V.waitOf(i);
		const t = V.ofWakes
			? [data.wakes.blocked[i], data.wakes.runnable[i], 0, 0]
			: V.sums.classes.map((c) => c[i]);
		const on = t.map((n, k) => (V.mask[wait] & (1 << k) ? n : 0));
		if (S.colours === 'class')
			on.forEach((n, k) => {
				parts[k][i] = n;
			});
		else {
			parts[facet[wait]][i] += on[0];
			parts[rest][i] += on[1];
			parts[rest + 1][i] += on[2];
			parts[rest + 2][i] += on[3];
		}
	}
	return parts;
}

function makeColours() {
	const names = (V.colourNames = colourNames()),
		byLabel = S.colours === 'kind' || S.colours === 'module';
	const looks = V.looks,
		label = labelLooks(V.labels, S.colours);
	looks.byLabel = byLabel;
	looks.category = label.category;
	looks.shade = label.shade;
	looks.kind = V.labels.kind;
	looks.names = V.labels.text;
	const parts = byLabel ? null : colourParts(names);
	V.which = V.trees.map(({ tree, leaf }) => (byLabel ? null : dominant(tree, V.items, leaf, parts)));
}

function themeName() {
	return V.printing ? 'light' : S.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
}
function makeTheme() {
	const theme = themeName();
	document.documentElement.dataset.theme = theme;
	V.looks.colours = colourTable(V.colourNames, theme);
	V.looks.back = V.looks.colours.back;
	V.looks.text = V.looks.colours.text;
}

// ---- search: once per name, not per frame

function makeSearch() {
	V.looks.found = null;
	V.searchError = '';
	V.foundNodes = null;
	V.foundShare = 0;
	if (!S.find) return;
	let expression;
	try {
		expression = new RegExp(S.find, S.exact ? '' : 'i');
	} catch (e) {
		V.searchError = 'Not a regular expression: ' + e.message.replace(/^.*\/: */, '');
		return;
	}
	const found = new Uint8Array(V.labels.cnt);
	for (let i = 0; i < found.length; i++)
		found[i] = i !== V.rootLabel && expression.test(V.labels.text[i]);
	V.looks.found = found;
	// In the order of the picture; what lies under another match counts with that one.
	const layout = V.layouts[0],
		{ nodes, total, cnt, tree } = layout,
		under = new Uint8Array(tree.cnt),
		list = [];
	for (let p = 0; p < cnt; p++) {
		const node = nodes[p],
			above = tree.parent[node];
		under[node] = above >= 0 && (under[above] || found[tree.label[above]]);
		if (!found[tree.label[node]]) continue;
		list.push(node);
		if (!under[node]) V.foundShare += total[node];
	}
	const { labelFolded, labelText } = V.data;
	V.foundFolded = !list.length && !S.allFrames && labelText.some((name, i) => labelFolded[i] && expression.test(name));
	preOrder(layout);
	V.foundNodes = list.sort((a, b) => layout.pre[a] - layout.pre[b]);
}

// ---- the picture

function paneRows() {
	return V.layouts[1] ? V.layouts[1].depth - 1 + V.layouts[0].depth : V.layouts[0].depth;
}
function makePanes() {
	const [main, callers] = V.layouts,
		height = Math.floor(V.painter.height / ROW);
	V.rows = paneRows();
	const up = !callers && !S.down,
		room = up ? Math.max(V.rows, height) : V.rows;
	V.tall = room * ROW;
	V.panes = V.layouts.map((layout, i) => {
		const old = V.panes[i],
			kept = old && old.layout === layout;
		const pane = {
			layout,
			which: V.which[i],
			index: i,
			from: 0,
			step: 1,
			base: 0,
			x0: 0,
			x1: layout.width || 1,
			zoomed: 0,
			zoomDepth: 0,
		};
		if (kept)
			Object.assign(pane, { x0: old.x0, x1: old.x1, zoomed: old.zoomed, zoomDepth: old.zoomDepth });
		if (callers) {
			pane.base = callers.depth - 1;
			if (i === 1) Object.assign(pane, { from: 1, step: -1 });
		} else if (up) {
			Object.assign(pane, { base: room - 1, step: -1 });
		}
		return pane;
	});
	const compare = isByChange() ? diffPixels() : null;
	for (const pane of V.panes) {
		pane.pixelOf = compare && compare(pane);
		pane.signOf = V.sides && ((node) => signWords(change(pane, node)));
		pane.hatchOf = compare && ((node) => hatchOf(change(pane, node)));
	}
	V.empty = main.width === 0;
}

// "c" + name is a frame among the callers of a sandwich.
function refOf(pane, node) {
	return node <= 0 && pane.index === 0
		? ''
		: (pane.index ? 'c' : '') + nodeName(pane.layout.tree, V.labels, node);
}
function byRef(ref) {
	if (!ref) return null;
	const index = ref[0] === 'c' && V.panes[1] ? 1 : 0,
		pane = V.panes[index];
	const name = ref.replace(/^c(?=.*\.)/, (c) => (index ? '' : c)),
		node = nodeByName(pane.layout.tree, V.labels, name);
	return node >= 0 && pane.layout.placeOf[node] >= 0 ? { pane, node } : null;
}

function span(pane, node) {
	const { left, placeOf, total } = pane.layout,
		x = left[placeOf[node]];
	return [x, x + total[node]];
}

// Takes zoom, pan and selection from the state.
function resolve() {
	for (const pane of V.panes) {
		pane.zoomed = pane.zoomDepth = 0;
		pane.x0 = 0;
		pane.x1 = pane.layout.width || 1;
	}
	const zoom = byRef(S.zoom),
		pane = zoom ? zoom.pane : V.panes[0];
	if (zoom) {
		pane.zoomed = zoom.node;
		pane.zoomDepth = pane.layout.tree.depth[zoom.node];
		[pane.x0, pane.x1] = span(pane, zoom.node);
	} else {
		S.zoom = '';
	}
	if (S.x && S.x[1] > S.x[0]) {
		pane.x0 = S.x[0] * pane.layout.width;
		pane.x1 = S.x[1] * pane.layout.width;
	}
	V.zoomPane = pane;
	V.selected = byRef(S.select) || (zoom ? zoom : { pane: V.panes[0], node: 0 });
}

function draw() {
	if (!V.painter.width) return;
	const from = performance.now();
	V.painter.draw(V.panes, V.looks, V.scroll());
	V.timings.draw = performance.now() - from;
	(V.timings.draws = V.timings.draws || []).push(V.timings.draw);
	if (V.timings.draws.length > 2000) V.timings.draws.shift();
	V.afterDraw();
}

// Brings everything up to date with the state.  push: the address becomes a step of its own.
function update(push) {
	const trees = treesKey(),
		weights =
			trees +
			JSON.stringify([S.classes, S.count, S.byName, S.range, S.range2, S.request, S.width, S.off.map((s) => [...s])]);
	step('trees', trees, makeTrees);
	step('weights', weights, makeWeights);
	step('colours', weights + S.colours, makeColours);
	step('theme', weights + S.colours + themeName(), makeTheme);
	step('search', weights + JSON.stringify([S.find, S.exact]), makeSearch);
	V.sync();
	V.measure();
	makePanes();
	resolve();
	V.place();
	draw();
	V.showTime();
	if (V.measure()) draw();
	V.afterUpdate();
	writeAddress(push);
}
