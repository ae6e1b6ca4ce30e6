// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The graph for screen readers: a tree of the selected frame, the frames on its path, those beside it and those in it.
// Focus stays on the tree's element, which names the active item; what the canvas shows is the same.

const ARIA_MOST = 40;

function ariaItem(pane, node, level, place, size) {
	const { layout } = pane,
		{ tree, first } = layout,
		children = first[node + 1] - first[node];
	const here = pane.index === V.selected.pane.index && node === V.selected.node;
	const item = make('li', {
		role: 'treeitem',
		id: here ? 'active-item' : undefined,
		'aria-level': level,
		'aria-posinset': place,
		'aria-setsize': size,
		'aria-selected': here,
		'aria-expanded': children
			? layout.tree.depth[node] < layout.tree.depth[V.selected.node] || here
			: undefined,
		text: `${V.labels.text[tree.label[node]]}, ${summary(pane, node)}`,
	});
	return item;
}

// In the order of a tree that is open along the path to the selected frame.
function ariaList(pane, node, path, level, out) {
	const { first, list, tree } = pane.layout,
		from = first[node],
		to = first[node + 1],
		next = path[level];
	for (let k = from; k < to; k++) {
		if (k - from >= ARIA_MOST && list[k] !== next) continue;
		out.push(ariaItem(pane, list[k], level + 1, k - from + 1, to - from));
		if (list[k] === next) ariaList(pane, next, path, level + 1, out);
	}
	return tree ? out : [];
}

function showAria() {
	const graph = one('#tree'),
		{ pane, node } = V.selected;
	if (V.empty) {
		graph.replaceChildren();
		return;
	}
	const path = pane.layout.tree.path(node),
		items = [ariaItem(pane, 0, 1, 1, 1)];
	ariaList(pane, 0, path, 1, items);
	graph.replaceChildren(...items);
	if (one('#active-item')) graph.setAttribute('aria-activedescendant', 'active-item');
}
