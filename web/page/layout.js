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

// Children of each node that weigh anything, in a row: list[first[n]] to list[first[n + 1] - 1].
function childLists(tree, total, rank, byName) {
	const { cnt, parent, label } = tree, first = new Int32Array(cnt + 1), list = new Int32Array(cnt);
	for (let i = 1; i < cnt; i++) if (total[i] > 0) first[parent[i] + 1]++;
	for (let i = 0; i < cnt; i++) first[i + 1] += first[i];
	const at = first.slice();
	for (let i = 1; i < cnt; i++) if (total[i] > 0) list[at[parent[i]]++] = i;
	const before = byName ? (a, b) => rank[label[a]] - rank[label[b]]
		: (a, b) => total[b] - total[a] || rank[label[a]] - rank[label[b]];
	for (let n = 0; n < cnt; n++) {
		const from = first[n], to = first[n + 1];
		if (to - from > 12) list.subarray(from, to).sort(before);
		else for (let i = from + 1; i < to; i++) {
			const node = list[i];
			let k = i;
			for (; k > from && before(list[k - 1], node) > 0; k--) list[k] = list[k - 1];
			list[k] = node;
		}
	}
	return { first, list };
}

// Row by row: nodes[p] begins at left[p]; row d is p from rows[d] to rows[d + 1] - 1.
function layOut(tree, sums, rank, byName) {
	const { total, own } = sums, { first, list } = childLists(tree, total, rank, byName);
	const nodes = new Int32Array(tree.cnt), left = new Float64Array(tree.cnt), placeOf = new Int32Array(tree.cnt).fill(-1);
	const rows = [];
	let end = 1;
	placeOf[0] = 0;
	for (let from = 0, to = 1; from < to; from = to, to = end) {
		rows.push(from);
		for (let p = from; p < to; p++) {
			let x = left[p];
			for (let k = first[nodes[p]]; k < first[nodes[p] + 1]; k++) {
				const child = list[k];
				nodes[end] = child;
				left[end] = x;
				placeOf[child] = end++;
				x += total[child];
			}
		}
	}
	rows.push(end);
	return { tree, total, own, nodes, left, placeOf, rows, first, list, width: total[0], depth: rows.length - 1, cnt: end };
}

// Depth-first numbers: the nodes below n are those with pre[n] < pre <= last[n].
function preOrder(layout) {
	if (layout.pre) return layout;
	const { tree, nodes, cnt } = layout, size = new Int32Array(tree.cnt), pre = new Int32Array(tree.cnt).fill(-1);
	const last = new Int32Array(tree.cnt), next = new Int32Array(tree.cnt);
	for (let p = cnt - 1; p >= 0; p--) {
		size[nodes[p]]++;
		if (p) size[tree.parent[nodes[p]]] += size[nodes[p]];
	}
	for (let p = 0; p < cnt; p++) {
		const n = nodes[p], parent = tree.parent[n];
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
	const { left, nodes, total } = layout;
	let low = layout.rows[d], high = layout.rows[d + 1];
	while (low < high) {
		const middle = (low + high) >> 1;
		if (left[middle] + total[nodes[middle]] <= x) low = middle + 1;
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
	const best = new Float64Array(tree.cnt), which = new Uint8Array(tree.cnt), sum = new Float64Array(tree.cnt);
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

// A name of each node by the names on its path, the same in every drawing of the same stacks.
function pathHashes(tree, labels) {
	if (tree.hashes) return tree.hashes;
	const ofLabel = new Map(), low = new Int32Array(tree.cnt), high = new Int32Array(tree.cnt);
	const hash = (text) => {
		let a = 0x811c9dc5 | 0, b = 0x1b873593 | 0;
		for (let i = 0; i < text.length; i++) {
			a = Math.imul(a ^ text.charCodeAt(i), 0x01000193);
			b = Math.imul(b ^ text.charCodeAt(i), 0x5bd1e995) + i;
		}
		return [a, b];
	};
	for (let i = 1; i < tree.cnt; i++) {
		const label = tree.label[i];
		let h = ofLabel.get(label);
		if (!h) ofLabel.set(label, h = hash(labels.text[label] + '\n' + labels.module[label]));
		low[i] = Math.imul(low[tree.parent[i]] ^ h[0], 0x01000193) + 1;
		high[i] = Math.imul(high[tree.parent[i]] ^ h[1], 0x85ebca6b) + 3;
	}
	return tree.hashes = { low, high };
}
function nodeName(tree, labels, node) {
	const h = pathHashes(tree, labels);
	return (h.low[node] >>> 0).toString(36) + '.' + (h.high[node] >>> 0).toString(36);
}
function nodeByName(tree, labels, name) {
	const parts = name.split('.').map((s) => parseInt(s, 36) | 0), h = pathHashes(tree, labels);
	for (let i = 0; i < tree.cnt; i++) if (h.low[i] === parts[0] && h.high[i] === parts[1]) return i;
	return -1;
}
