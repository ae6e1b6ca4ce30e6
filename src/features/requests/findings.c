/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/findings_part.h"

#include <string.h>

#include "base/hash.h"
#include "explain/text.h"

#define ONE_PERCENT_OF_ROW 90	/* percent of a finding for it to count as that of one route */
#define TOLD_PERCENT_OF_ROW 10	/* percent of a finding below which routes explain nothing */
#define ROUTE_COLUMNS 60

/* Part of a finding's time for one route. */
struct part {
	uint64_t key;	/* the finding's id and the route's number */
	uint32_t id;
	const char *route;
	uint64_t ns;
};

struct parts {
	GHashTable *sums;	/* struct part */
	GHashTable *numbers;	/* route numbers by name */
};

static void add_part(struct parts *parts, uint32_t id, const char *route, uint64_t ns)
{
	gpointer number;
	uint64_t key;
	struct part *part;

	if (!id || !ns)
		return;
	if (!g_hash_table_lookup_extended(parts->numbers, route, NULL, &number)) {
		number = GUINT_TO_POINTER(g_hash_table_size(parts->numbers));
		g_hash_table_insert(parts->numbers, (gpointer)route, number);
	}
	key = (uint64_t)id << 32 | GPOINTER_TO_UINT(number);
	part = g_hash_table_lookup(parts->sums, &key);
	if (!part) {
		part = g_new0(struct part, 1);
		*part = (struct part){ .key = key, .id = id, .route = route };
		g_hash_table_add(parts->sums, part);
	}
	part->ns += ns;
}

static void add_route(struct finding *row, const struct part *part)
{
	bool is_more = part->ns > row->route_ns ||
		       (part->ns == row->route_ns && row->route && strcmp(part->route, row->route) < 0);

	row->routes_cnt++;
	row->routed_ns += part->ns;
	if (!is_more)
		return;
	row->route = part->route;
	row->route_ns = part->ns;
}

void requests_of_find(struct findings *f)
{
	struct parts parts;
	g_autoptr(GHashTable) rows = NULL;

	f->routes = routes_new(f->profile);
	if (!f->routes)
		return;
	parts.sums = g_hash_table_new_full(hash_u64, g_int64_equal, NULL, g_free);
	parts.numbers = g_hash_table_new(NULL, NULL);
	EACH_ROW(i, const struct wait, w, f->profile->waits) {
		const char *route = f->blocked_in[i] || f->queued_in[i] ? routes_of(f->routes, w->user) : NULL;

		if (!route)
			continue;
		add_part(&parts, f->blocked_in[i], route, w->blocked_ns);
		add_part(&parts, f->queued_in[i], route, w->runnable_ns + w->preempted_ns);
	}
	rows = g_hash_table_new(NULL, NULL);
	EACH_ROW(i, struct finding, row, f->rows)
		if (row->id)
			g_hash_table_insert(rows, GUINT_TO_POINTER(row->id), row);
	EACH_VALUE(const struct part, part, parts.sums) {
		struct finding *row = g_hash_table_lookup(rows, GUINT_TO_POINTER(part->id));

		if (row)
			add_route(row, part);
	}
	g_hash_table_destroy(parts.sums);
	g_hash_table_destroy(parts.numbers);
}

static bool is_of_one(const struct finding *row)
{
	return row->route && row->route_ns >= row->time_ns / 100 * ONE_PERCENT_OF_ROW;
}

void requests_of_append(GString *s, const struct finding *row)
{
	if (!is_of_one(row))
		return;
	g_string_append(s, ", for ");
	text_safe_cut(s, row->route, ROUTE_COLUMNS);
}

void requests_of_append_share(GString *s, const struct finding *row)
{
	if (!row->route || is_of_one(row) || row->routed_ns < row->time_ns / 100 * TOLD_PERCENT_OF_ROW)
		return;
	g_string_append(s, "; for ");
	text_safe_cut(s, row->route, ROUTE_COLUMNS);
	g_string_append_printf(s, " %.0f%% of it", 100.0 * (double)row->route_ns / (double)row->time_ns);
	if (row->routes_cnt > 1)
		g_string_append_printf(s, ", of %u routes", row->routes_cnt);
}
