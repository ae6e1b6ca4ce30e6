// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Weights on a tree, and where each frame lies: rows of frames in the order they are drawn.

// total: each node's weight with all below it; leafWeight[i] goes to leaf[i].
function sumUp(tree, items, leaf, weight) {
	const total = new Float64Array(tree.cnt);
	for (const i of items.order) if (leaf[i] >= 0) total[leaf[i]] += weight[i];
	const own = total.slice();
	for (let i = tree.cnt - 1; i > 0; i--) total[tree.parent[i]] += total[i];
	return { total, own };
}

// Children of each node that weigh anything, by rank of their labels or the heaviest first, in a row:
// list[first[n]] to list[first[n + 1] - 1].
function childLists(tree, total, rank) {
	const { cnt, parent, label } = tree,
		first = new Int32Array(cnt + 1),
		list = new Int32Array(cnt);
	for (let i = 1; i < cnt; i++) if (total[i] > 0) first[parent[i] + 1]++;
	for (let i = 0; i < cnt; i++) first[i + 1] += first[i];
	const at = first.slice();
	for (let i = 1; i < cnt; i++) if (total[i] > 0) list[at[parent[i]]++] = i;
	const before = rank
		? (a, b) => rank[label[a]] - rank[label[b]]
		: (a, b) => total[b] - total[a] || label[a] - label[b];
	for (let n = 0; n < cnt; n++) {
		const from = first[n],
			to = first[n + 1];
		if (to - from > 12) list.subarray(from, to).sort(before);
		else
			for (let i = from + 1; i < to; i++) {
				const node = list[i];
				let k = i;
				for (; k > from && before(list[k - 1], node) > 0; k--) list[k] = list[k - 1];
				list[k] = node;
			}
	}
	return { first, list };
}

// Row by row: nodes[p] begins at left[p]; row d is p from rows[d] to rows[d + 1] - 1.
function layOut(tree, sums, rank) {
	const { total, own } = sums,
		{ first, list } = childLists(tree, total, rank);
	const nodes = new Int32Array(tree.cnt),
		left = new Float64Array(tree.cnt),
		right = new Float64Array(tree.cnt),
		placeOf = new Int32Array(tree.cnt).fill(-1);
	const rows = [];
	let end = 1;
	placeOf[0] = 0;
	right[0] = total[0];
	for (let from = 0, to = 1; from < to; from = to, to = end) {
		rows.push(from);
		for (let p = from; p < to; p++) {
			let x = left[p];
			for (let k = first[nodes[p]]; k < first[nodes[p] + 1]; k++) {
				const child = list[k];
				nodes[end] = child;
				left[end] = x;
				x += total[child];
				right[end] = x;
				placeOf[child] = end++;
			}
		}
	}
	rows.push(end);
	return {
		tree,
		total,
		own,
		nodes,
		left,
		right,
		placeOf,
		rows,
		first,
		list,
		width: total[0],
		depth: rows.length - 1,
		cnt: end,
	};
}

// Depth-first numbers: the nodes below n are those with pre[n] < pre <= last[n].
function preOrder(layout) {
	if (layout.pre) return layout;
	const { tree, nodes, cnt } = layout,
		size = new Int32Array(tree.cnt),
		pre = new Int32Array(tree.cnt).fill(-1);
	const last = new Int32Array(tree.cnt),
		next = new Int32Array(tree.cnt);
	for (let p = cnt - 1; p >= 0; p--) {
		size[nodes[p]]++;
		if (p) size[tree.parent[nodes[p]]] += size[nodes[p]];
	}
	for (let p = 0; p < cnt; p++) {
		const n = nodes[p],
			parent = tree.parent[n];
		pre[n] = p ? next[parent] : 0;
		if (p) next[parent] += size[n];
		next[n] = pre[n] + 1;
		last[n] = pre[n] + size[n] - 1;
	}
	layout.pre = pre;
	layout.last = last;
	return layout;
}

function isBelow(layout, node, above) {
	return layout.pre[node] >= layout.pre[above] && layout.pre[node] <= layout.last[above];
}

// The first place of row d whose end is beyond x.
function placeAt(layout, d, x) {
	const { right } = layout;
	let low = layout.rows[d],
		high = layout.rows[d + 1];
	while (low < high) {
		const middle = (low + high) >> 1;
		if (right[middle] <= x) low = middle + 1;
		else high = middle;
	}
	return low;
}

// The node at x in row d, or -1.
function nodeAt(layout, d, x) {
	if (d < 0 || d >= layout.depth) return -1;
	const p = placeAt(layout, d, x);
	return p < layout.rows[d + 1] && layout.left[p] <= x ? layout.nodes[p] : -1;
}

// For each node the category that most of its weight has: parts[k][i] is what of item i is of category k.
function dominant(tree, items, leaf, parts) {
	const best = new Float64Array(tree.cnt),
		which = new Uint8Array(tree.cnt),
		sum = new Float64Array(tree.cnt);
	for (let k = 0; k < parts.length; k++) {
		sum.fill(0);
		let any = false;
		for (const i of items.order) {
			if (leaf[i] < 0 || !parts[k][i]) continue;
			sum[leaf[i]] += parts[k][i];
			any = true;
		}
		if (!any) continue;
		for (let i = tree.cnt - 1; i >= 0; i--) {
			if (sum[i] > best[i]) {
				best[i] = sum[i];
				which[i] = k;
			}
			if (i && sum[i]) sum[tree.parent[i]] += sum[i];
		}
	}
	return which;
}

// A name of a node by the names on its path, the same in every drawing of the same stacks: two hashes.
function stepHash(above, text) {
	let [a, b] = above;
	for (let i = 0; i < text.length; i++) {
		const c = text.charCodeAt(i);
		a = Math.imul(a ^ c, 0x01000193);
		b = Math.imul(b ^ c, 0x5bd1e995) + 3;
	}
	return [Math.imul(a ^ 10, 0x01000193), Math.imul(b ^ (b >>> 15), 0x85ebca6b)];
}
const hashName = (h) => (h[0] >>> 0).toString(36) + '.' + (h[1] >>> 0).toString(36);

function nodeName(tree, labels, node) {
	let h = [0x811c9dc5 | 0, 0x1b873593 | 0];
	for (const n of tree.path(node))
		if (n) h = stepHash(h, labels.text[tree.label[n]] + '\n' + labels.module[tree.label[n]]);
	const name = hashName(h);
	tree.named = tree.named || new Map();
	tree.named.set(name, node);
	return name;
}
// The node of that name, or -1.  Looks through the tree, from the root, where the name did not come from here.
function nodeByName(tree, labels, name) {
	if (tree.named && tree.named.has(name)) return tree.named.get(name);
	const hashes = [[0x811c9dc5 | 0, 0x1b873593 | 0]];
	for (let i = 1; i < tree.cnt; i++) {
		hashes[i] = stepHash(
			hashes[tree.parent[i]],
			labels.text[tree.label[i]] + '\n' + labels.module[tree.label[i]],
		);
		if (hashName(hashes[i]) === name) return i;
	}
	return -1;
}
