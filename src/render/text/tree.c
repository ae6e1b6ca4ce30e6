/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <string.h>

#include "analyse/plumbing.h"
#include "explain/text.h"
#include "render/text/text.h"

#define COLUMNS 110
#define NAME_COLUMNS 48
#define INDENT_COLUMNS 2
#define INDENT_MAX 30
#define SHARE_COLUMNS 6
#define ARROW " > "
#define BRANCH_PERCENT 90	/* a node with that much of its time in one child is not a fork */

struct printing {
	GString *s;
	const struct tree *t;
	GHashTable *runtime;
	double least;	/* minimum share of the total for a path to be shown */
	unsigned lines;
};

/*
 * Of library functions only those called by the program are informative, of the kernel all but entry and scheduler
 * functions.
 */
static bool is_shown(const struct printing *p, const struct tree_label *label, const struct tree_label *caller)
{
	const char *shown;

	if (label->kind == TREE_USER && g_hash_table_contains(p->runtime, label->text) &&
	    (caller->kind != TREE_USER || g_hash_table_contains(p->runtime, caller->text)))
		return false;
	return label->kind != TREE_DELIMITER &&
	       (label->kind != TREE_KERNEL || !plumbing_kernel_rule(label->text, &shown) || shown);
}

static uint32_t heaviest_child(const struct tree *t, uint32_t node)
{
	uint32_t most = TREE_NONE;

	for (uint32_t c = tree_node(t, node)->first_child; c != TREE_NONE; c = tree_node(t, c)->next_sibling)
		if (most == TREE_NONE || tree_node(t, c)->total > tree_node(t, most)->total)
			most = c;
	return most;
}

static unsigned columns_of(const GPtrArray *names)
{
	unsigned sum = 0;

	for (guint i = 0; i < names->len; i++)
		sum += text_width(g_ptr_array_index(names, i)) + (i ? (unsigned)strlen(ARROW) : 0);
	return sum;
}

/* Writes functions, caller first, on one line, cut in the middle if it is too long. */
static void append_names(GString *s, GPtrArray *names, unsigned columns)
{
	guint cut = 0, at = 0;

	while (names->len > 3 &&
	       columns_of(names) + (cut ? (unsigned)strlen("... 100 functions ..." ARROW) : 0) > columns) {
		at = names->len / 2 - 1;
		g_ptr_array_remove_index(names, at);
		cut++;
	}
	for (guint i = 0; i < names->len; i++) {
		g_string_append(s, i ? ARROW : "");
		if (cut && i == at)
			g_string_append_printf(s, "... %u function%s ..." ARROW, cut, cut == 1 ? "" : "s");
		g_string_append(s, g_ptr_array_index(names, i));
	}
	g_string_append_c(s, '\n');
}

static int compare_totals(gconstpointer va, gconstpointer vb, gpointer data)
{
	const struct tree *t = data;
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;
	uint64_t x = tree_node(t, a)->total, y = tree_node(t, b)->total;

	return x != y ? (x > y ? -1 : 1) : a < b ? -1 : a > b;
}

static void append_node(struct printing *p, uint32_t node, unsigned depth);

static void append_children(struct printing *p, uint32_t node, unsigned depth)
{
	const struct tree *t = p->t;
	g_autoptr(GArray) children = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	for (uint32_t c = tree_node(t, node)->first_child; c != TREE_NONE; c = tree_node(t, c)->next_sibling)
		if ((double)tree_node(t, c)->total >= p->least * (double)tree_node(t, 0)->total)
			g_array_append_val(children, c);
	g_array_sort_with_data(children, compare_totals, (gpointer)(uintptr_t)t);
	for (guint i = 0; i < children->len; i++)
		append_node(p, g_array_index(children, uint32_t, i), depth);
}

/* A line for the node and its descendants up to the next fork; then its branches. */
static void append_node(struct printing *p, uint32_t node, unsigned depth)
{
	const struct tree *t = p->t;
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	const uint64_t total = tree_node(t, node)->total;
	const unsigned indent = MIN(depth * INDENT_COLUMNS, INDENT_MAX);
	uint32_t next = node;

	bool is_kernel = false;

	do {
		node = next;
		if (is_shown(p, tree_node_label(t, node), tree_node_label(t, tree_node(t, node)->parent))) {
			GString *name = g_string_new(NULL);

			if (is_kernel)	/* the innermost kernel function suffices */
				g_ptr_array_set_size(names, (gint)names->len - 1);
			is_kernel = tree_node_label(t, node)->kind == TREE_KERNEL;
			text_safe_cut(name, tree_node_label(t, node)->text, NAME_COLUMNS);
			g_ptr_array_add(names, g_string_free(name, FALSE));
		}
		next = heaviest_child(t, node);
	} while (next != TREE_NONE &&
		 (double)tree_node(t, next)->total * 100 >= (double)tree_node(t, node)->total * BRANCH_PERCENT);
	if (names->len) {
		g_string_append_printf(p->s, "%5.1f%% %*s", text_percent(total, tree_node(t, 0)->total), (int)indent, "");
		append_names(p->s, names, COLUMNS - SHARE_COLUMNS - indent);
		p->lines++;
	}
	if (next != TREE_NONE)
		append_children(p, node, depth + (names->len ? 1 : 0));
}

void text_tree(GString *s, const struct tree *t, GHashTable *runtime, unsigned lines_max)
{
	static const double least[] = { 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5 };
	const gsize from = s->len;

	for (unsigned i = 0; i < G_N_ELEMENTS(least); i++) {
		struct printing p = { .s = s, .t = t, .runtime = runtime, .least = least[i] };

		append_children(&p, 0, 0);
		if (p.lines <= lines_max)
			return;
		g_string_truncate(s, from);
	}
}
