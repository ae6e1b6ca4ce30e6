/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "store/line.h"

#include <string.h>

#include "profile/on_cpu.h"
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

void line_sums_free(struct line_sums *s)
{
	if (!s)
		return;
	for (unsigned by = 0; by < STORE_BY_CNT; by++)
		g_hash_table_unref(s->groups[by]);
	g_free(s);
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void add(struct line_sums *s, enum store_by by, const char *name, uint64_t ns)
{
	if (!ns)
		return;
	uint64_t *have = g_hash_table_lookup(s->groups[by], name);

	if (!have) {
		have = g_new0(uint64_t, 1);
		g_hash_table_insert(s->groups[by], g_strndup(name, LINE_NAME_MAX_BYTES), have);
	}
	*have = sum(*have, ns);
}

/* Its time by how long each of its waits was: in the proportion of the middles of the histogram's slots. */
static void add_durations(uint64_t *by_slot, const struct wait *w, uint64_t ns)
{
	double all = 0, part = 0;
	uint64_t told_ns = 0;

	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		all += (double)w->hist[i] * (double)(UINT64_C(3) << i);
	if (all <= 0) {	/* without a histogram they are taken to be alike */
		unsigned slot = profile_hist_slot(w->count ? ns / w->count : ns);

		by_slot[slot] = sum(by_slot[slot], ns);
		return;
	}
	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++) {
		part += (double)w->hist[i] * (double)(UINT64_C(3) << i);
		uint64_t until_ns = part >= all ? ns : (uint64_t)((double)ns * part / all);

		if (!w->hist[i] || until_ns < told_ns)
			continue;
		by_slot[i] = sum(by_slot[i], until_ns - told_ns);
		told_ns = until_ns;
	}
}

/* Time of waits that are in a line. */
struct wait_sums {
	uint64_t by_reason[REASON_COUNT], by_slot[PROFILE_HIST_SLOTS];
	uint64_t idle_ns, blocked_ns, runnable_ns, preempted_ns;
	uint64_t *busy_ns;	/* of each thread */
};

static void add_wait(struct wait_sums *sums, const struct wait *w, enum reason reason, bool is_idle,
		     bool with_durations)
{
	uint64_t queue_ns = w->runnable_ns + w->preempted_ns,
		 busy_ns = is_idle ? queue_ns : sum(queue_ns, w->blocked_ns);

	sums->runnable_ns = sum(sums->runnable_ns, w->runnable_ns);
	sums->preempted_ns = sum(sums->preempted_ns, w->preempted_ns);
	sums->by_reason[REASON_CPU_QUEUE] = sum(sums->by_reason[REASON_CPU_QUEUE], queue_ns);
	sums->busy_ns[w->thread] = sum(sums->busy_ns[w->thread], busy_ns);
	if (is_idle) {
		sums->idle_ns = sum(sums->idle_ns, w->blocked_ns);
		return;
	}
	sums->blocked_ns = sum(sums->blocked_ns, w->blocked_ns);
	sums->by_reason[reason] = sum(sums->by_reason[reason], w->blocked_ns);
	if (with_durations)
		add_durations(sums->by_slot, w, busy_ns);
}

/* By thread and by reason first: strings are looked up once a thread. */
static void add_waits(struct line_sums *s, const struct profile *p, const struct reasons *reasons,
		      const struct selection *selection, struct wait_sums *sums)
{
	for (guint i = 0; i < p->waits->len; i++) {
		const struct wait *w = profile_wait(p, i);

		if (w->state != ON_CPU_STATE && (!selection || selection->waits[i]))
			add_wait(sums, w, reasons_of(reasons, i), reasons_is_idle(reasons, i), selection != NULL);
	}
	for (unsigned i = 0; i < REASON_COUNT; i++)
		add(s, STORE_BY_REASON, reason_name((enum reason)i), sums->by_reason[i]);
	for (unsigned i = 0; i < PROFILE_HIST_SLOTS && selection; i++) {
		char name[24];

		g_snprintf(name, sizeof(name), "%" G_GUINT64_FORMAT, UINT64_C(1) << i);
		add(s, STORE_BY_DURATION, name, sums->by_slot[i]);
	}
	add(s, STORE_BY_CLASS, "blocked", sums->blocked_ns);
	add(s, STORE_BY_CLASS, "idle", sums->idle_ns);
}

static void add_accounts(struct line_sums *s, const struct thread *t)
{
	add(s, STORE_BY_CLASS, "on CPU", t->on_cpu_ns);
	add(s, STORE_BY_CLASS, "runnable", t->runnable_ns);
	add(s, STORE_BY_CLASS, "preempted", t->preempted_ns);
	add(s, STORE_BY_CLASS, "not listed", sum(t->filtered_ns, t->lost_ns));
}

void line_sums_add_profile(struct line_sums *s, const struct profile *p, const struct reasons *reasons,
			   const struct selection *selection)
{
	g_autofree uint64_t *busy_ns = g_new0(uint64_t, p->threads->len + 1);
	struct wait_sums sums = { .busy_ns = busy_ns };

	add_waits(s, p, reasons, selection, &sums);
	/* Accounts are of whole threads; where waits are chosen, only theirs counts. */
	if (selection && selection->by_stack) {
		add(s, STORE_BY_CLASS, "runnable", sums.runnable_ns);
		add(s, STORE_BY_CLASS, "preempted", sums.preempted_ns);
	}
	for (guint i = 0; i < p->threads->len; i++) {
		const struct thread *t = profile_thread(p, i);

		if (!selection || (selection->threads[i] && !selection->by_stack))
			add_accounts(s, t);
		add(s, STORE_BY_PROCESS, t->process && *t->process ? t->process : t->comm, busy_ns[i]);
		add(s, STORE_BY_SERVICE,
		    t->service                 ? t->service
		    : t->flags & THREAD_KERNEL ? "(kernel)"
					       : "(no service)",
		    busy_ns[i]);
	}
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

static int largest_first(gconstpointer a, gconstpointer b)
{
	const struct group *x = a, *y = b;

	return x->ns != y->ns ? (x->ns > y->ns ? -1 : 1) : strcmp(x->name, y->name);
}

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
			*ret_rest_ns = sum(*ret_rest_ns, g.ns);
	}
	g_array_sort(groups, largest_first);
	for (guint i = LINE_GROUPS_MAX; i < groups->len; i++)
		*ret_rest_ns = sum(*ret_rest_ns, g_array_index(groups, struct group, i).ns);
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
		for (guint i = 0; i < groups->len; i++) {
			const struct group *g = &g_array_index(groups, struct group, i);

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

	add(a->s, a->by, name ? name : "", ns);
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
