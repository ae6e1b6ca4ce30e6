/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/windows.h"

#include <glib.h>
#include <string.h>

#include "base/each.h"

struct fold_windows {
	GHashTable *told;	/* tno -> struct offcpu_rec_thread as of the last cut that reported it */
	GArray *held;		/* struct offcpu_rec_thread of the next window */
	uint64_t edge_ns;
};

struct fold_windows *fold_windows_new(void)
{
	struct fold_windows *w = g_new0(struct fold_windows, 1);

	w->told = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	w->held = g_array_new(FALSE, FALSE, sizeof(struct offcpu_rec_thread));
	w->edge_ns = UINT64_MAX;
	return w;
}

FREES(fold_windows_free, struct fold_windows, w, g_hash_table_destroy(w->told); g_array_unref(w->held))

static void take_off(struct offcpu_state_total *from, const struct offcpu_state_total *what)
{
	from->count -= what->count;
	from->blocked_ns -= what->blocked_ns;
	from->runnable_ns -= what->runnable_ns;
	from->preempted_ns -= what->preempted_ns;
}

/* Counters only grow, except for some that are estimates while a wait is open. */
static uint64_t grown(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void take_off_told(struct offcpu_rec_thread *rec, const struct offcpu_rec_thread *told)
{
	rec->account.on_cpu_ns -= told->account.on_cpu_ns;
	rec->account.switches -= told->account.switches;
	rec->account.lost_ns -= told->account.lost_ns;
	for (unsigned i = 0; i < OFFCPU_STATE_COUNT; i++)
		take_off(&rec->account.state[i], &told->account.state[i]);
	take_off(&rec->account.filtered, &told->account.filtered);
	rec->throttled_runnable_ns = grown(rec->throttled_runnable_ns, told->throttled_runnable_ns);
	rec->throttled_preempted_ns = grown(rec->throttled_preempted_ns, told->throttled_preempted_ns);
	rec->from_ns = MAX(rec->from_ns, told->to_ns);
	rec->flags &= ~(uint32_t)OFFCPU_THREAD_OPEN_AT_START;
	if (told->flags & OFFCPU_THREAD_OPEN_AT_END)
		rec->flags |= OFFCPU_THREAD_OPEN_AT_START;
}

static struct offcpu_state_total *open_total(struct offcpu_rec_thread *rec)
{
	const char *letter = rec->open_state ? strchr(OFFCPU_STATE_LETTERS, rec->open_state) : NULL;

	if (!letter)
		return NULL;
	return rec->open_flags & OFFCPU_OPEN_FILTERED ? &rec->account.filtered
						      : &rec->account.state[letter - OFFCPU_STATE_LETTERS];
}

/* What is open at the cut belongs to the window until the cut. */
static void add_open(struct offcpu_rec_thread *rec)
{
	struct offcpu_state_total *total = open_total(rec);

	rec->account.on_cpu_ns += rec->open_on_cpu_ns;
	if (!total)
		return;
	total->count++;
	total->blocked_ns += rec->open_blocked_ns;
	total->runnable_ns += rec->open_runnable_ns;
	total->preempted_ns += rec->open_preempted_ns;
	if (rec->open_flags & OFFCPU_OPEN_FILTERED)
		rec->open_state = 0;
}

static void tell(struct fold_windows *w, const struct offcpu_rec_thread *rec, fold_windows_fn take, void *data)
{
	struct offcpu_rec_thread *told = g_hash_table_lookup(w->told, GUINT_TO_POINTER(rec->tno));
	struct offcpu_rec_thread own = *rec;

	if (told)
		take_off_told(&own, told);
	if (rec->end == OFFCPU_END_CUT) {
		if (told)
			*told = *rec;
		else
			g_hash_table_insert(w->told, GUINT_TO_POINTER(rec->tno), g_memdup2(rec, sizeof(*rec)));
		add_open(&own);
		own.end = OFFCPU_END_WINDOW;
	} else if (told) {
		g_hash_table_remove(w->told, GUINT_TO_POINTER(rec->tno));
	}
	take(&own, data);
}

void fold_windows_take(struct fold_windows *w, const struct offcpu_rec_thread *rec, fold_windows_fn take, void *data)
{
	if (rec->to_ns > w->edge_ns)
		g_array_append_vals(w->held, rec, 1);
	else
		tell(w, rec, take, data);
}

bool fold_windows_take_still(struct fold_windows *w, const struct offcpu_rec_still *rec, fold_windows_fn take,
			     void *data)
{
	struct offcpu_rec_thread *told = g_hash_table_lookup(w->told, GUINT_TO_POINTER(rec->tno));
	struct offcpu_rec_thread own;

	if (!told || told->to_ns > w->edge_ns)
		return false;
	memcpy(told->comm, rec->comm, sizeof(told->comm));
	memcpy(told->process, rec->process, sizeof(told->process));
	told->cgroup_id = rec->cgroup_id;
	told->open_flags |= OFFCPU_OPEN_AT_START;
	told->open_waker = 0;
	told->open_blocked_ns = w->edge_ns - told->to_ns;
	told->open_runnable_ns = told->open_preempted_ns = 0;
	own = *told;
	memset(&own.account, 0, sizeof(own.account));
	own.throttled_runnable_ns = own.throttled_preempted_ns = 0;
	own.from_ns = told->to_ns;
	told->to_ns = own.to_ns = w->edge_ns;
	own.flags |= OFFCPU_THREAD_OPEN_AT_START;
	own.end = OFFCPU_END_WINDOW;
	add_open(&own);
	take(&own, data);
	return true;
}

void fold_windows_cut(struct fold_windows *w, uint64_t edge_ns)
{
	w->edge_ns = edge_ns;
}

void fold_windows_next(struct fold_windows *w, fold_windows_fn take, void *data)
{
	g_autoptr(GArray) held = w->held;

	w->held = g_array_new(FALSE, FALSE, sizeof(struct offcpu_rec_thread));
	w->edge_ns = UINT64_MAX;
	for (guint i = 0; i < held->len; i++)
		tell(w, &g_array_index(held, struct offcpu_rec_thread, i), take, data);
}
