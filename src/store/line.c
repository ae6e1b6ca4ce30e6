/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "store/line.h"

#include "base/each.h"
#include "base/order.h"
#include "store/blob.h"

#define LINE_VERSION 1

struct line_sums {
	GHashTable *groups[STORE_BY_CNT];	/* name -> uint64_t */
};

struct line_sums *line_sums_new(void)
{
	struct line_sums *s = g_new0(struct line_sums, 1);

	for (unsigned by = 0; by < STORE_BY_CNT; by++)
		s->groups[by] = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	return s;
}

FREES(line_sums_free, struct line_sums, s,
      for (unsigned by = 0; by < STORE_BY_CNT; by++) g_hash_table_unref(s->groups[by]))

static void add_group_ns(struct line_sums *s, enum store_by by, const char *name, uint64_t ns)
{
	char most[LINE_NAME_MAX_BYTES + 1];
	uint64_t *have;

	if (!ns)
		return;
	g_strlcpy(most, name, sizeof(most));
	have = g_hash_table_lookup(s->groups[by], most);
	if (!have) {
		have = g_new0(uint64_t, 1);
		g_hash_table_insert(s->groups[by], g_strdup(most), have);
	}
	profile_add(have, ns);
}

/* Groups of every window are kept as numbers and get their names at the end. */
enum line_class { CLASS_BLOCKED, CLASS_IDLE, CLASS_ON_CPU, CLASS_RUNNABLE, CLASS_PREEMPTED, CLASS_UNLISTED, CLASS_CNT };
static const char *const class_names[CLASS_CNT] = { "blocked",  "idle",      "on CPU",
						    "runnable", "preempted", "not listed" };

struct totals {
	uint64_t by_class[CLASS_CNT], by_reason[REASON_COUNT], by_slot[PROFILE_HIST_SLOTS];
};

static void add_to(uint64_t *into, uint64_t ns)
{
	profile_add(into, ns);
}

/* Returns the time that the process had to wait, without idle time. */
static uint64_t add_cell(struct totals *t, const struct cell *c, enum reason reason)
{
	uint64_t queue_ns = profile_sum(c->runnable_ns, c->preempted_ns);

	add_to(&t->by_class[CLASS_BLOCKED], c->blocked_ns);
	add_to(&t->by_class[CLASS_IDLE], c->idle_ns);
	add_to(&t->by_reason[reason], c->blocked_ns);
	add_to(&t->by_reason[REASON_CPU_QUEUE], queue_ns);
	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		add_to(&t->by_slot[i], c->by_slot[i]);
	return profile_sum(queue_ns, c->blocked_ns);
}

struct adding_cells {
	struct line_sums *s;
	const bool *reasons;	/* NULL: all */
	bool is_of_waits;
	struct line_known *known;
	struct totals totals;
};

static void add_group_of_cells(void *ctx, const struct cell_group *g)
{
	struct adding_cells *a = ctx;
	struct totals *t = &a->totals;
	uint64_t busy_ns = 0, runnable_ns = 0, preempted_ns = 0;

	for (unsigned i = 0; i < REASON_COUNT; i++) {
		if (!g->of[i] || (a->reasons && !a->reasons[i]))
			continue;
		profile_add(&busy_ns, add_cell(t, g->of[i], (enum reason)i));
		add_to(&runnable_ns, g->of[i]->runnable_ns);
		add_to(&preempted_ns, g->of[i]->preempted_ns);
	}
	/* Accounts are of whole threads; with a selection of waits, only the waits count. */
	add_to(&t->by_class[CLASS_RUNNABLE], a->is_of_waits ? runnable_ns : g->runnable_ns);
	add_to(&t->by_class[CLASS_PREEMPTED], a->is_of_waits ? preempted_ns : g->preempted_ns);
	if (!a->is_of_waits) {
		add_to(&t->by_class[CLASS_ON_CPU], g->on_cpu_ns);
		add_to(&t->by_class[CLASS_UNLISTED], g->unlisted_ns);
	}
	add_group_ns(a->s, STORE_BY_PROCESS, g->process, busy_ns);
	add_group_ns(a->s, STORE_BY_SERVICE, g->service, busy_ns);
}

static void add_totals(struct line_sums *s, const struct totals *t)
{
	for (unsigned i = 0; i < CLASS_CNT; i++)
		add_group_ns(s, STORE_BY_CLASS, class_names[i], t->by_class[i]);
	for (unsigned i = 0; i < REASON_COUNT; i++)
		add_group_ns(s, STORE_BY_REASON, reason_name((enum reason)i), t->by_reason[i]);
	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++) {
		char name[24];

		if (!t->by_slot[i])
			continue;
		g_snprintf(name, sizeof(name), "%" G_GUINT64_FORMAT, UINT64_C(1) << i);
		add_group_ns(s, STORE_BY_DURATION, name, t->by_slot[i]);
	}
}

void line_sums_add_cells(struct line_sums *s, const struct cells *cells, bool is_of_waits)
{
	struct adding_cells a = { .s = s, .is_of_waits = is_of_waits };

	cells_visit(cells, add_group_of_cells, &a);
	add_totals(s, &a.totals);
}

struct line_known {
	const struct store_part *part;
	const GPtrArray *names;
	uint8_t *processes, *services;	/* for each number: 0: not asked yet, 1: no, 2: yes */
};

struct line_known *line_known_new(const struct store_part *part, const GPtrArray *names)
{
	struct line_known *k = g_new0(struct line_known, 1);

	k->part = part;
	k->names = names;
	k->processes = g_new0(uint8_t, names->len + 1);
	k->services = g_new0(uint8_t, names->len + 1);
	return k;
}

FREES(line_known_free, struct line_known, k, g_free(k->processes); g_free(k->services))

static bool is_wanted(const struct line_known *k, uint8_t *known, uint64_t number, store_wants_fn wants)
{
	if (wants && !known[number])
		known[number] = wants(k->part->ctx, g_ptr_array_index(k->names, number - 1)) ? 2 : 1;
	return !wants || known[number] == 2;
}

static bool wants_group(void *ctx, uint64_t process, uint64_t service)
{
	const struct line_known *k = ((const struct adding_cells *)ctx)->known;

	return is_wanted(k, k->processes, process, k->part->wants_process) &&
	       is_wanted(k, k->services, service, k->part->wants_service);
}

bool line_sums_add_packed_cells(struct line_sums *s, const void *bytes, size_t len_bytes, struct line_known *known)
{
	const bool *reasons = known->part->reasons;
	struct adding_cells a = { .s = s, .reasons = reasons, .is_of_waits = reasons != NULL, .known = known };

	if (!cells_decode(bytes, len_bytes, known->names, wants_group, add_group_of_cells, &a))
		return false;
	add_totals(s, &a.totals);
	return true;
}

void line_sums_visit(const struct line_sums *s, enum store_by by, line_name_fn fn, void *ctx)
{
	GHashTableIter iter;
	gpointer name, ns;

	g_hash_table_iter_init(&iter, s->groups[by]);
	while (g_hash_table_iter_next(&iter, &name, &ns))
		fn(ctx, name, *(const uint64_t *)ns);
}

struct group {
	const char *name;
	uint64_t ns;
};

ORDER(largest_first, struct group, ORDER_HIGH(ns) ORDER_TEXT(name))

static GArray *groups_of(const struct line_sums *s, unsigned by, uint64_t *ret_rest_ns)
{
	GArray *groups = g_array_new(FALSE, FALSE, sizeof(struct group));
	GHashTableIter iter;
	gpointer name, ns;

	*ret_rest_ns = 0;
	g_hash_table_iter_init(&iter, s->groups[by]);
	while (g_hash_table_iter_next(&iter, &name, &ns)) {
		const struct group g = { name, *(const uint64_t *)ns };

		if (*g.name)
			g_array_append_val(groups, g);
		else
			profile_add(ret_rest_ns, g.ns);
	}
	g_array_sort(groups, largest_first);
	for (guint i = LINE_GROUPS_MAX; i < groups->len; i++)
		profile_add(ret_rest_ns, g_array_index(groups, struct group, i).ns);
	g_array_set_size(groups, MIN(groups->len, LINE_GROUPS_MAX));
	return groups;
}

void line_sums_encode(const struct line_sums *s, line_number_of number_of, void *ctx, GByteArray *into)
{
	blob_put(into, LINE_VERSION);
	for (unsigned by = 0; by < LINE_BY_CNT; by++) {
		uint64_t rest_ns;
		g_autoptr(GArray) groups = groups_of(s, by, &rest_ns);

		blob_put(into, groups->len);
		blob_put(into, rest_ns);
		EACH_ROW(i, const struct group, g, groups) {
			blob_put(into, number_of(ctx, g->name));
			blob_put(into, g->ns);
		}
	}
}

bool line_visit(const void *bytes, size_t len_bytes, enum store_by by, line_group_fn fn, void *ctx)
{
	struct cursor c = { .at = bytes, .end = (const uint8_t *)bytes + len_bytes };

	if (cursor_uleb(&c) != LINE_VERSION)
		return false;
	for (unsigned n = 0; n <= (unsigned)by && !c.bad; n++) {
		uint32_t cnt = blob_get_cnt(&c, LINE_GROUPS_MAX);
		uint64_t rest_ns = blob_get(&c, PROFILE_NS_MAX);

		if (n == (unsigned)by && !c.bad)
			fn(ctx, 0, rest_ns);
		for (uint32_t i = 0; i < cnt && !c.bad; i++) {
			uint64_t number = cursor_uleb(&c), ns = blob_get(&c, PROFILE_NS_MAX);

			if (n == (unsigned)by && !c.bad)
				fn(ctx, number, ns);
		}
	}
	return !c.bad;
}

struct adding {
	struct line_sums *s;
	enum store_by by;
	line_name_of name_of;
	void *ctx;
};

static void add_group(void *ctx, uint64_t number, uint64_t ns)
{
	struct adding *a = ctx;
	const char *name = number ? a->name_of(a->ctx, number) : "";

	add_group_ns(a->s, a->by, name ? name : "", ns);
}

bool line_sums_add_bytes(struct line_sums *s, const void *bytes, size_t len_bytes, line_name_of name_of, void *ctx)
{
	for (unsigned by = 0; by < LINE_BY_CNT; by++) {
		struct adding a = { s, (enum store_by)by, name_of, ctx };

		if (!line_visit(bytes, len_bytes, (enum store_by)by, add_group, &a))
			return false;
	}
	return true;
}
