/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "tui/view.h"

#include <string.h>

const char *view_sort_name(enum view_sort sort)
{
	static const char *const names[SORT_COUNT] = {
		"off-CPU", "on-CPU", "blocked", "run queue", "idle", "waits", "median", "p99", "threads", "pid", "name",
	};

	return sort < SORT_COUNT ? names[sort] : "";
}

const struct activity_row *view_row_at(const struct view *v, guint place)
{
	if (!v->activity || place >= v->order->len)
		return NULL;
	return &g_array_index(v->activity->rows, struct activity_row, g_array_index(v->order, uint32_t, place));
}

static uint64_t number_of(const struct activity_row *r, enum view_sort sort)
{
	switch (sort) {
	case SORT_MATTERS: return activity_matters_ns(r);
	case SORT_ON_CPU: return r->on_cpu_ns;
	case SORT_BLOCKED: return r->blocked_ns;
	case SORT_QUEUE: return activity_queue_ns(r);
	case SORT_IDLE: return r->idle_ns;
	case SORT_WAITS: return r->waits;
	case SORT_MEDIAN: return activity_percentile_ns(r, 0.5);
	case SORT_P99: return activity_percentile_ns(r, 0.99);
	case SORT_THREADS: return r->threads_cnt;
	default: return 0;
	}
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

/* Rows with their sort key: rows are large, and fetching thousands of them for each comparison is slow. */
struct sorted {
	uint64_t number, second;
	const char *name;
	uint32_t pid, row;
	struct activity_key key;
};

static struct sorted sorted_of(const struct view *v, uint32_t row)
{
	const struct activity_row *r = &g_array_index(v->activity->rows, struct activity_row, row);

	return (struct sorted){
		.number = number_of(r, v->sort), .second = activity_matters_ns(r) + r->on_cpu_ns,
		.name = r->name, .pid = r->pid, .row = row, .key = r->key,
	};
}

/* Numbers descending, names and ids ascending. Ties always have the same order. */
static gint compare(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct view *v = data;
	const struct sorted *x = a, *y = b;
	int order = v->sort == SORT_NAME  ? strcmp(x->name, y->name)
		    : v->sort == SORT_PID ? compare_numbers(y->pid, x->pid)
					  : compare_numbers(x->number, y->number);

	if (v->is_reversed)
		order = -order;
	order = order ? order : compare_numbers(x->second, y->second);
	order = order ? order : strcmp(x->name, y->name);
	order = order ? order : compare_numbers(y->pid, x->pid);
	return order ? order : memcmp(&x->key, &y->key, sizeof(x->key));
}

static bool has_text(const struct activity_row *r, const char *text)
{
	g_autofree char *name = g_ascii_strdown(r->name, -1), *wanted = g_ascii_strdown(text, -1);
	g_autofree char *pid = g_strdup_printf("%u", r->tid ? r->tid : r->pid);

	return strstr(name, wanted) || (r->pid && strcmp(pid, text) == 0);
}

static bool is_shown(const struct view *v, const struct activity_row *r)
{
	if (v->hides_kernel && r->is_kernel)
		return false;
	if (v->hides_idle && !activity_matters_ns(r) && !r->on_cpu_ns)
		return false;
	return !v->filter->len || has_text(r, v->filter->str);
}

/* With F the selection follows its row, else it stays at its place on the screen. */
static void find_selected(struct view *v)
{
	for (guint i = 0; i < v->order->len; i++) {
		if (memcmp(&view_row_at(v, i)->key, &v->selected_key, sizeof(v->selected_key)) != 0)
			continue;
		v->selected = i;
		return;
	}
}

void view_order(struct view *v)
{
	g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(struct sorted));

	g_array_set_size(v->order, 0);
	if (!v->activity)
		return;
	for (uint32_t i = 0; i < v->activity->rows->len; i++) {
		struct sorted one = sorted_of(v, i);

		if (is_shown(v, &g_array_index(v->activity->rows, struct activity_row, i)))
			g_array_append_val(rows, one);
	}
	g_array_sort_with_data(rows, compare, v);
	for (guint i = 0; i < rows->len; i++)
		g_array_append_val(v->order, g_array_index(rows, struct sorted, i).row);
	if (v->is_following || v->is_frozen || v->has_detail)
		find_selected(v);
	if (v->selected >= v->order->len)
		v->selected = v->order->len ? v->order->len - 1 : 0;
	if (v->order->len && !v->is_following && !v->has_detail)
		v->selected_key = view_row_at(v, v->selected)->key;
}

bool view_find(struct view *v, bool backwards, bool from_here)
{
	guint cnt = v->order->len;

	for (guint i = from_here ? 0 : 1; v->search->len && i < cnt + (from_here ? 0 : 1); i++) {
		guint place = (v->selected + (backwards ? cnt - i : i)) % cnt;

		if (!has_text(view_row_at(v, place), v->search->str))
			continue;
		v->selected = place;
		v->selected_key = view_row_at(v, place)->key;
		return true;
	}
	return false;
}
