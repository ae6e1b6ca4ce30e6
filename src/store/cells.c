/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "store/line.h"

#include <string.h>

#include "base/order.h"
#include "store/blob.h"

#define CELLS_VERSION 1
#define SLOT_BITS 3	/* significant bits kept of the time in each slot of the histogram */
#define REASONS_MAX 256	/* of a group: newer versions may have more reasons */

struct cells {
	GHashTable *groups;	/* struct cell_group as key and value */
};

static guint hash_group(gconstpointer key)
{
	const struct cell_group *g = key;

	return g_str_hash(g->process) * 31 + g_str_hash(g->service);
}

static gboolean is_same_group(gconstpointer a, gconstpointer b)
{
	const struct cell_group *x = a, *y = b;

	return strcmp(x->process, y->process) == 0 && strcmp(x->service, y->service) == 0;
}

static void free_group(gpointer group)
{
	struct cell_group *g = group;

	for (unsigned i = 0; i < REASON_COUNT; i++)
		g_free(g->of[i]);
	g_free((char *)(uintptr_t)g->process);
	g_free((char *)(uintptr_t)g->service);
	g_free(g);
}

struct cells *cells_new(void)
{
	struct cells *c = g_new0(struct cells, 1);

	c->groups = g_hash_table_new_full(hash_group, is_same_group, free_group, NULL);
	return c;
}

FREES(cells_free, struct cells, c, g_hash_table_unref(c->groups))

static struct cell_group *group_of(struct cells *c, const char *process, const char *service)
{
	const struct cell_group key = { .process = process, .service = service };
	struct cell_group *g = g_hash_table_lookup(c->groups, &key);

	if (!g) {
		g = g_new0(struct cell_group, 1);
		g->process = g_strdup(process);
		g->service = g_strdup(service);
		g_hash_table_add(c->groups, g);
	}
	return g;
}

static struct cell *cell_of(struct cell_group *g, enum reason reason)
{
	if (!g->of[reason])
		g->of[reason] = g_new0(struct cell, 1);
	return g->of[reason];
}

const char *cells_process(const struct thread *t)
{
	return t->process && *t->process ? t->process : t->comm;
}

const char *cells_service(const struct thread *t)
{
	if (t->service)
		return t->service;
	return t->flags & THREAD_KERNEL ? "(kernel)" : "(no service)";
}

/* Distributes a wait's time over the slots of its histogram, weighted by count times the slot's middle. */
static void add_durations(uint64_t *by_slot, const struct wait *w, uint64_t ns)
{
	double all = 0, part = 0;
	uint64_t told_ns = 0;

	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		all += (double)w->hist[i] * (double)(UINT64_C(3) << i);
	if (all <= 0) {	/* without a histogram, all waits count as equally long */
		unsigned slot = profile_hist_slot(w->count ? ns / w->count : ns);

		profile_add(&by_slot[slot], ns);
		return;
	}
	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++) {
		part += (double)w->hist[i] * (double)(UINT64_C(3) << i);
		uint64_t until_ns = part >= all ? ns : (uint64_t)((double)ns * part / all);

		if (!w->hist[i] || until_ns < told_ns)
			continue;
		profile_add(&by_slot[i], until_ns - told_ns);
		told_ns = until_ns;
	}
}

static void add_wait(struct cell *c, const struct wait *w, bool is_idle)
{
	profile_add(&c->runnable_ns, w->runnable_ns);
	profile_add(&c->preempted_ns, w->preempted_ns);
	if (is_idle) {
		profile_add(&c->idle_ns, w->blocked_ns);
		return;
	}
	profile_add(&c->blocked_ns, w->blocked_ns);
	add_durations(c->by_slot, w, profile_sum(w->blocked_ns, profile_sum(w->runnable_ns, w->preempted_ns)));
}

static void add_accounts(struct cell_group *g, const struct thread *t)
{
	profile_add(&g->on_cpu_ns, t->on_cpu_ns);
	profile_add(&g->runnable_ns, t->runnable_ns);
	profile_add(&g->preempted_ns, t->preempted_ns);
	profile_add(&g->unlisted_ns, profile_sum(t->filtered_ns, t->lost_ns));
}

/* Looks strings up once per thread. */
void cells_add_profile(struct cells *c, const struct profile *p, const struct reasons *reasons,
		       const struct selection *selection)
{
	g_autofree struct cell_group **groups = g_new0(struct cell_group *, p->threads->len + 1);

	EACH_ROW(i, const struct thread, t, p->threads) {
		if (selection && !selection->threads[i])
			continue;
		groups[i] = group_of(c, cells_process(t), cells_service(t));
		add_accounts(groups[i], t);
	}
	EACH_ROW(i, const struct wait, w, p->waits)
		if (w->state != ON_CPU_STATE && groups[w->thread] && (!selection || selection->waits[i]))
			add_wait(cell_of(groups[w->thread], reasons_of(reasons, i)), w, reasons_is_idle(reasons, i));
}

void cells_visit(const struct cells *c, cells_fn fn, void *ctx)
{
	EACH_KEY(void, group, c->groups)
		fn(ctx, group);
}

void cells_add_group(struct cells *c, const struct cell_group *g)
{
	struct cell_group *into = group_of(c, g->process, g->service);

	profile_add(&into->on_cpu_ns, g->on_cpu_ns);
	profile_add(&into->runnable_ns, g->runnable_ns);
	profile_add(&into->preempted_ns, g->preempted_ns);
	profile_add(&into->unlisted_ns, g->unlisted_ns);
	for (unsigned i = 0; i < REASON_COUNT; i++) {
		if (!g->of[i])
			continue;
		struct cell *cell = cell_of(into, (enum reason)i);

		profile_add(&cell->blocked_ns, g->of[i]->blocked_ns);
		profile_add(&cell->idle_ns, g->of[i]->idle_ns);
		profile_add(&cell->runnable_ns, g->of[i]->runnable_ns);
		profile_add(&cell->preempted_ns, g->of[i]->preempted_ns);
		for (unsigned k = 0; k < PROFILE_HIST_SLOTS; k++)
			profile_add(&cell->by_slot[k], g->of[i]->by_slot[k]);
	}
}

/* ---- encoding ---- */

static bool is_empty(const struct cell_group *g)
{
	for (unsigned i = 0; i < REASON_COUNT; i++)
		if (g->of[i])
			return false;
	return !g->on_cpu_ns && !g->runnable_ns && !g->preempted_ns && !g->unlisted_ns;
}

/* Two bits less than the slot's own number: three significant bits remain. */
static unsigned slot_shift(unsigned slot)
{
	return slot > 2 ? slot - 2 : 0;
}

static uint64_t in_slot(const struct cell *c, unsigned slot)
{
	unsigned shift = slot_shift(slot);
	uint64_t ns = MIN(c->by_slot[slot], PROFILE_NS_MAX),
		 rounded = blob_round(shift ? ((ns >> (shift - 1)) + 1) >> 1 : ns, 63);

	return ns ? MAX(rounded, 1) : 0;
}

/* An upper bound of the time in the slots: all but idle time.  Run-queue time behind idle time counts. */
static uint64_t most_in_slots(const struct cell *c)
{
	return profile_sum(c->blocked_ns, profile_sum(c->runnable_ns, c->preempted_ns));
}

/* Writes how far the sum is below the upper bound, then the range of slots with time and their proportions. */
static void encode_slots(const struct cell *c, GByteArray *into)
{
	unsigned first = 0, end = PROFILE_HIST_SLOTS;
	uint64_t ns = 0;

	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		profile_add(&ns, c->by_slot[i]);
	blob_put(into, most_in_slots(c) - MIN(ns, most_in_slots(c)));

	while (first < end && !in_slot(c, first))
		first++;
	while (end > first && !in_slot(c, end - 1))
		end--;
	blob_put(into, end - first);
	if (end > first)
		blob_put(into, first);
	for (unsigned i = first; i < end; i++)
		blob_put_short(into, in_slot(c, i), SLOT_BITS);
}

static void encode_cell(const struct cell *c, uint64_t reason, GByteArray *into)
{
	const uint64_t numbers[] = { c->blocked_ns, c->idle_ns, c->runnable_ns, c->preempted_ns };
	uint64_t has = 0;

	for (unsigned i = 0; i < G_N_ELEMENTS(numbers); i++)
		has |= (uint64_t)(numbers[i] != 0) << i;
	blob_put(into, reason);
	blob_put(into, has);
	for (unsigned i = 0; i < G_N_ELEMENTS(numbers); i++)
		if (numbers[i])
			blob_put(into, numbers[i]);
	encode_slots(c, into);
}

struct encoding {
	const struct cells *c;
	cells_number_of number_of;
	void *ctx;
	GByteArray *into;
	GPtrArray *groups;	/* struct cell_group sorted by name, so that equal windows become equal bytes */
	bool ok;
};

static uint64_t number_of_name(struct encoding *e, const char *name)
{
	uint64_t got = strlen(name) <= CELLS_NAME_MAX_BYTES && *name ? e->number_of(e->ctx, name) : 0;

	e->ok = e->ok && got;
	return got;
}

static void encode_group(struct encoding *e, const struct cell_group *g)
{
	uint64_t runnable_ns = 0, preempted_ns = 0, cnt = 0;

	for (unsigned i = 0; i < REASON_COUNT; i++) {
		if (!g->of[i])
			continue;
		runnable_ns += g->of[i]->runnable_ns;
		preempted_ns += g->of[i]->preempted_ns;
		cnt++;
	}
	blob_put(e->into, number_of_name(e, g->process));
	blob_put(e->into, number_of_name(e, g->service));
	blob_put(e->into, g->on_cpu_ns);
	blob_put(e->into, g->unlisted_ns);
	blob_put_diff(e->into, g->runnable_ns, runnable_ns);
	blob_put_diff(e->into, g->preempted_ns, preempted_ns);
	blob_put(e->into, cnt);
	for (unsigned i = 0; i < REASON_COUNT && e->ok; i++)
		if (g->of[i])
			encode_cell(g->of[i], number_of_name(e, reason_name((enum reason)i)), e->into);
}

static void take_group(void *ctx, const struct cell_group *g)
{
	struct encoding *e = ctx;

	if (!is_empty(g))
		g_ptr_array_add(e->groups, (gpointer)(uintptr_t)g);
}

ORDER_POINTERS(by_name, struct cell_group, ORDER_TEXT(process) ORDER_TEXT(service))

bool cells_encode(const struct cells *c, cells_number_of number_of, void *ctx, GByteArray *into)
{
	g_autoptr(GPtrArray) groups = g_ptr_array_new();
	struct encoding e = { c, number_of, ctx, into, groups, true };

	cells_visit(c, take_group, &e);
	if (groups->len > CELLS_GROUPS_MAX)
		return false;
	g_ptr_array_sort(groups, by_name);
	blob_put(into, CELLS_VERSION);
	blob_put(into, groups->len);
	for (guint i = 0; i < groups->len && e.ok; i++)
		encode_group(&e, g_ptr_array_index(groups, i));
	return e.ok;
}

struct decoding {
	struct cursor c;
	const GPtrArray *names;
	struct cell cells[REASON_COUNT];	/* of the group that is being decoded */
	struct {
		uint64_t number;
		enum reason reason;
	} known[64];	/* cache of numbers that were names of reasons */
};

static const char *name_of(const struct decoding *d, uint64_t number)
{
	return g_ptr_array_index(d->names, number - 1);
}

static uint64_t get_number(struct decoding *d)
{
	uint64_t number = cursor_uleb(&d->c);

	d->c.bad = d->c.bad || !number || number > d->names->len;
	return number;
}

static void decode_slots(struct decoding *d, const struct cell *own, struct cell *into)
{
	uint64_t all_ns = most_in_slots(own), ns = all_ns - blob_get(&d->c, all_ns), told_ns = 0;
	uint64_t cnt = blob_get(&d->c, PROFILE_HIST_SLOTS),
		 first = cnt && !d->c.bad ? blob_get(&d->c, PROFILE_HIST_SLOTS - cnt) : 0;
	double slots[PROFILE_HIST_SLOTS] = { 0 }, all = 0, part = 0;

	for (uint64_t i = first; i < first + cnt && !d->c.bad; i++) {
		slots[i] = (double)blob_get_short(&d->c, SLOT_BITS) * (double)(UINT64_C(1) << slot_shift((unsigned)i));
		all += slots[i];
	}
	for (uint64_t i = first; i < first + cnt && !d->c.bad; i++) {
		part += slots[i];
		uint64_t until_ns = part >= all ? ns : MIN(ns, (uint64_t)((double)ns * part / all));

		profile_add(&into->by_slot[i], until_ns - MIN(told_ns, until_ns));
		told_ns = MAX(told_ns, until_ns);
	}
}

/* Unknown reasons come from newer versions and count as REASON_OTHER. */
static enum reason get_reason(struct decoding *d)
{
	uint64_t number = get_number(d);
	unsigned at = number % G_N_ELEMENTS(d->known);

	if (d->c.bad)
		return REASON_OTHER;
	if (d->known[at].number != number) {
		d->known[at].number = number;
		if (!reason_parse(name_of(d, number), &d->known[at].reason))
			d->known[at].reason = REASON_OTHER;
	}
	return d->known[at].reason;
}

static struct cell *begin_cell(struct decoding *d, struct cell_group *g, enum reason reason)
{
	if (!g->of[reason])
		d->cells[reason] = (struct cell){ 0 };
	return g->of[reason] = &d->cells[reason];
}

static void decode_cell(struct decoding *d, struct cell_group *g)
{
	struct cell *into = begin_cell(d, g, get_reason(d)), own = { 0 };
	uint64_t *const numbers[] = { &own.blocked_ns, &own.idle_ns, &own.runnable_ns, &own.preempted_ns };
	uint64_t has = blob_get(&d->c, 15);

	for (unsigned i = 0; i < G_N_ELEMENTS(numbers); i++)
		*numbers[i] = has & 1u << i ? blob_get(&d->c, PROFILE_NS_MAX) : 0;
	profile_add(&into->blocked_ns, own.blocked_ns);
	profile_add(&into->idle_ns, own.idle_ns);
	profile_add(&into->runnable_ns, own.runnable_ns);
	profile_add(&into->preempted_ns, own.preempted_ns);
	profile_add(&g->runnable_ns, own.runnable_ns);
	profile_add(&g->preempted_ns, own.preempted_ns);
	decode_slots(d, &own, into);
}

static void decode_group(struct decoding *d, struct cell_group *g)
{
	uint64_t runnable_diff, preempted_diff;
	uint32_t cnt;

	g->on_cpu_ns = blob_get(&d->c, PROFILE_NS_MAX);
	g->unlisted_ns = blob_get(&d->c, PROFILE_NS_MAX);
	runnable_diff = blob_get_diff(&d->c, 0);
	preempted_diff = blob_get_diff(&d->c, 0);
	cnt = blob_get_cnt(&d->c, REASONS_MAX);
	for (uint32_t i = 0; i < cnt && !d->c.bad; i++)
		decode_cell(d, g);
	g->runnable_ns += runnable_diff;
	g->preempted_ns += preempted_diff;
	d->c.bad = d->c.bad || g->runnable_ns > PROFILE_NS_MAX || g->preempted_ns > PROFILE_NS_MAX;
}

bool cells_decode(const void *bytes, size_t len_bytes, const GPtrArray *names, cells_wants wants, cells_fn fn,
		  void *ctx)
{
	struct decoding d = { .c = { .at = bytes, .end = (const uint8_t *)bytes + len_bytes }, .names = names };

	if (cursor_uleb(&d.c) != CELLS_VERSION)
		return false;
	for (uint32_t cnt = blob_get_cnt(&d.c, CELLS_GROUPS_MAX); cnt; cnt--) {
		uint64_t process = get_number(&d), service = get_number(&d);

		if (d.c.bad)
			break;
		struct cell_group g = { .process = name_of(&d, process), .service = name_of(&d, service) };

		decode_group(&d, &g);
		if (!d.c.bad && (!wants || wants(ctx, process, service)))
			fn(ctx, &g);
	}
	return !d.c.bad;
}
