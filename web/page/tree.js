// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Trees of labels, merged from stacks.  A tree knows paths only; layout.js gives it weights.

// Labels of the recording, and of threads and others that only views have, which are added at the end.
class Labels {
	constructor(data) {
		this.text = data.labelText.slice();
		this.module = data.labelModule.slice();
		this.kind = data.labelKernel; // 0 user, 1 kernel, 2 a thread or process
		this.why = data.labelWhy;
		this.made = new Map();
	}
	add(text) {
		let id = this.made.get(text);
		if (id !== undefined) return id;
		id = this.text.length;
		this.text.push(text);
		this.module.push('');
		if (id >= this.kind.length) {
			for (const name of ['kind', 'why']) {
				const bigger = new Uint8Array(id * 1.2 + 64);
				bigger.set(this[name]);
				this[name] = bigger;
			}
		}
		this.kind[id] = 2;
		this.made.set(text, id);
		return id;
	}
	get cnt() {
		return this.text.length;
	}
	// By alphabet, so that comparing is a subtraction; made again when labels came.
	get rank() {
		if (!this.ranks || this.ranks.length !== this.cnt) {
			const order = Array.from(this.text.keys()),
				text = this.text;
			order.sort((a, b) => (text[a] < text[b] ? -1 : text[a] > text[b] ? 1 : a - b));
			this.ranks = new Int32Array(this.cnt);
			order.forEach((label, i) => {
				this.ranks[label] = i;
			});
		}
		return this.ranks;
	}
}

// A growing set of nodes, child before parent never.  Children are found by (parent, label).
class Tree {
	constructor(rootLabel, expected) {
		this.cnt = 1;
		this.size = Math.max(1024, expected | 0);
		this.parent = new Int32Array(this.size);
		this.label = new Int32Array(this.size);
		this.depth = new Int32Array(this.size);
		this.stack = new Int32Array(this.size); // one of the recording's stack nodes that is here, for its source line
		this.parent[0] = -1;
		this.label[0] = rootLabel;
		this.rehash(2048);
	}
	grow() {
		for (const name of ['parent', 'label', 'depth', 'stack']) {
			const bigger = new Int32Array(this.size * 2);
			bigger.set(this[name]);
			this[name] = bigger;
		}
		this.size *= 2;
	}
	rehash(places) {
		while (places < this.size * 2) places *= 2;
		this.mask = places - 1;
		this.table = new Int32Array(places); // 0 is free: the root is nobody's child
		for (let i = 1; i < this.cnt; i++) this.table[this.place(this.parent[i], this.label[i])] = i;
	}
	place(parent, label) {
		const table = this.table,
			mask = this.mask;
		let at = Math.imul(parent + 1, 0x9e3779b1) ^ Math.imul(label + 1, 0x85ebca6b);
		at ^= at >>> 15;
		for (at &= mask; table[at]; at = (at + 1) & mask) {
			const node = table[at];
			if (this.parent[node] === parent && this.label[node] === label) break;
		}
		return at;
	}
	child(parent, label, stack) {
		let at = this.place(parent, label);
		if (this.table[at]) return this.table[at];
		if (this.cnt === this.size) {
			this.grow();
			if (this.size * 2 > this.table.length) this.rehash(this.table.length);
			at = this.place(parent, label);
		}
		const node = this.cnt++;
		this.parent[node] = parent;
		this.label[node] = label;
		this.depth[node] = this.depth[parent] + 1;
		this.stack[node] = stack;
		return (this.table[at] = node);
	}
	// From the root to the node.
	path(node) {
		const path = [];
		for (; node >= 0; node = this.parent[node]) path.unshift(node);
		return path;
	}
}

// By label, whether its frames are left out of trees.
const foldedLabels = (data) => (S.allFrames ? new Uint8Array(data.labelCnt) : data.labelFolded);
// A sample on CPU stands in its innermost frame, which is never folded.
function innerOf(items, i) {
	return items.samples && items.samples[i] ? items.kernel[i] || items.user[i] : 0;
}

// The leaf of each item's path.  An item has a group (a label, or -1 for none) and two stacks;
// `order` puts equal groups together.
function buildForward(tree, data, items, leaf) {
	const { nodeParent, nodeLabel } = data,
		memo = new Int32Array(nodeParent.length),
		stamp = new Int32Array(nodeParent.length);
	const up = [],
		fold = foldedLabels(data);
	let lastGroup = -2,
		turn = 0;
	for (const i of items.order) {
		const group = items.group[i];
		if (group !== lastGroup) {
			turn++;
			lastGroup = group;
			stamp[0] = turn;
			memo[0] = group < 0 ? 0 : tree.child(0, group, 0);
		}
		let at = items.user[i];
		while (stamp[at] !== turn) {
			up.push(at);
			at = nodeParent[at];
		}
		let node = memo[at];
		while (up.length) {
			const n = up.pop();
			if (!fold[nodeLabel[n]]) node = tree.child(node, nodeLabel[n], n);
			memo[n] = node;
			stamp[n] = turn;
		}
		for (at = items.kernel[i]; at; at = nodeParent[at]) up.push(at);
		while (up.length) {
			const n = up.pop();
			if (!fold[nodeLabel[n]]) node = tree.child(node, nodeLabel[n], n);
		}
		const inner = innerOf(items, i);
		leaf[i] = fold[nodeLabel[inner]] && inner ? tree.child(node, nodeLabel[inner], inner) : node;
	}
}

function buildReverse(tree, data, items, leaf) {
	const { nodeParent, nodeLabel } = data,
		fold = foldedLabels(data);
	for (const i of items.order) {
		const inner = innerOf(items, i);
		let node = 0;
		for (const stack of [items.kernel[i], items.user[i]])
			for (let at = stack; at; at = nodeParent[at])
				if (!fold[nodeLabel[at]] || at === inner) node = tree.child(node, nodeLabel[at], at);
		leaf[i] = items.group[i] < 0 ? node : tree.child(node, items.group[i], 0);
	}
}

// Which stacks name the label: by stack node, whether it or one above it does.
function stacksWith(data, label) {
	const has = new Uint8Array(data.nodeParent.length);
	for (let i = 1; i < has.length; i++)
		has[i] = has[data.nodeParent[i]] || data.nodeLabel[i] === label;
	return has;
}

// Two trees around a label: who calls it, and what it calls, from its outermost place in each stack.
// Leaf -1: it is not in there.
function buildAround(callers, callees, data, items, label, callerLeaf, calleeLeaf) {
	const { nodeParent, nodeLabel } = data,
		has = stacksWith(data, label),
		fold = foldedLabels(data),
		path = [],
		stacks = [];
	for (const i of items.order) {
		callerLeaf[i] = calleeLeaf[i] = -1;
		if (items.group[i] !== label && !has[items.user[i]] && !has[items.kernel[i]]) continue;
		path.length = stacks.length = 0;
		const inner = innerOf(items, i);
		for (const stack of [items.kernel[i], items.user[i]])
			for (let at = stack; at; at = nodeParent[at])
				if (!fold[nodeLabel[at]] || nodeLabel[at] === label || at === inner) stacks.push(at);
		for (const at of stacks) path.push(nodeLabel[at]);
		if (items.group[i] >= 0) {
			path.push(items.group[i]);
			stacks.push(0);
		}
		const from = path.lastIndexOf(label);
		let node = 0;
		for (let k = from + 1; k < path.length; k++) node = callers.child(node, path[k], stacks[k]);
		callerLeaf[i] = node;
		node = 0;
		for (let k = from - 1; k >= 0; k--) node = callees.child(node, path[k], stacks[k]);
		calleeLeaf[i] = node;
	}
}

function groupLabel(labels, thread, by) {
	if (by === 'merged') return -1;
	if (by === 'process')
		return labels.add(V.data.about.diff ? thread.process : `${thread.process} (${thread.pid})`);
	if (by === 'thread') return labels.add(`${thread.comm}-${thread.pid}/${thread.tid}`);
	return labels.add(thread.comm);
}

// Puts items of one group next to each other, and keeps their order otherwise.
function orderByGroup(items, cnt, keep) {
	const order = [];
	for (let i = 0; i < cnt; i++) if (!keep || keep(i)) order.push(i);
	const rank = new Map();
	for (const i of order) if (!rank.has(items.group[i])) rank.set(items.group[i], rank.size);
	if (rank.size > 1) order.sort((a, b) => rank.get(items.group[a]) - rank.get(items.group[b]) || a - b);
	items.order = Int32Array.from(order);
	return items;
}

// The waits as items of a tree.
function waitItems(data, labels, by) {
	const w = data.waits,
		ofThread = data.threads.map((t) => groupLabel(labels, t, by)),
		group = new Int32Array(w.cnt);
	for (let i = 0; i < w.cnt; i++) group[i] = ofThread[w.thread[i]];
	return orderByGroup({ group, user: w.user, kernel: w.kernel, samples: w.samples }, w.cnt);
}

// The wakings of some waits, by waker; data.wakers must be there.
function wakeItems(data, labels, keep) {
	const k = data.wakes,
		cnt = k.wait.length;
	const items = { group: new Int32Array(cnt), user: new Int32Array(cnt), kernel: new Int32Array(cnt) };
	const ofWaker = data.wakers.map((w) => labels.add(w.name));
	for (let i = 0; i < cnt; i++) {
		const waker = data.wakers[k.waker[i]];
		items.group[i] = ofWaker[k.waker[i]];
		items.user[i] = waker.user;
		items.kernel[i] = waker.kernel;
	}
	return orderByGroup(items, cnt, (i) => keep[k.wait[i]]);
}
