/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/windows.h"

#include <glib.h>
#include <string.h>

#include "base/each.h"

struct fold_windows {
	GHashTable *last_cut;	/* tno -> struct offcpu_rec_thread as of the last cut that reported it */
	GArray *held;		/* struct offcpu_rec_thread of the next window */
	uint64_t edge_ns;
};

struct fold_windows *fold_windows_new(void)
{
	struct fold_windows *w = g_new0(struct fold_windows, 1);

	w->last_cut = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	w->held = g_array_new(FALSE, FALSE, sizeof(struct offcpu_rec_thread));
	w->edge_ns = UINT64_MAX;
	return w;
}

FREES(fold_windows_free, struct fold_windows, w, g_hash_table_destroy(w->last_cut); g_array_unref(w->held))

static void take_off(struct offcpu_state_total *from, const struct offcpu_state_total *what)
{
	from->count -= what->count;
	from->blocked_ns -= what->blocked_ns;
	from->runnable_ns -= what->runnable_ns;
	from->preempted_ns -= what->preempted_ns;
}

/* Counters only grow, except for some that are estimates while a wait is open. */
static uint64_t growth(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void take_off_last_cut(struct offcpu_rec_thread *rec, const struct offcpu_rec_thread *at_last_cut)
{
	rec->account.on_cpu_ns -= at_last_cut->account.on_cpu_ns;
	rec->account.switches -= at_last_cut->account.switches;
	rec->account.lost_ns -= at_last_cut->account.lost_ns;
	for (unsigned i = 0; i < OFFCPU_STATE_COUNT; i++)
		take_off(&rec->account.state[i], &at_last_cut->account.state[i]);
	take_off(&rec->account.filtered, &at_last_cut->account.filtered);
	rec->throttled_runnable_ns = growth(rec->throttled_runnable_ns, at_last_cut->throttled_runnable_ns);
	rec->throttled_preempted_ns = growth(rec->throttled_preempted_ns, at_last_cut->throttled_preempted_ns);
	rec->from_ns = MAX(rec->from_ns, at_last_cut->to_ns);
	rec->flags &= ~(uint32_t)OFFCPU_THREAD_OPEN_AT_START;
	if (at_last_cut->flags & OFFCPU_THREAD_OPEN_AT_END)
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

static void report_window(struct fold_windows *w, const struct offcpu_rec_thread *rec, fold_windows_fn take, void *data)
{
	struct offcpu_rec_thread *at_last_cut = g_hash_table_lookup(w->last_cut, GUINT_TO_POINTER(rec->tno));
	struct offcpu_rec_thread own = *rec;

	if (at_last_cut)
		take_off_last_cut(&own, at_last_cut);
	if (rec->end == OFFCPU_END_CUT) {
		if (at_last_cut)
			*at_last_cut = *rec;
		else
			g_hash_table_insert(w->last_cut, GUINT_TO_POINTER(rec->tno), g_memdup2(rec, sizeof(*rec)));
		add_open(&own);
		own.end = OFFCPU_END_WINDOW;
	} else if (at_last_cut) {
		g_hash_table_remove(w->last_cut, GUINT_TO_POINTER(rec->tno));
	}
	take(&own, data);
}

void fold_windows_take(struct fold_windows *w, const struct offcpu_rec_thread *rec, fold_windows_fn take, void *data)
{
	if (rec->to_ns > w->edge_ns)
		g_array_append_vals(w->held, rec, 1);
	else
		report_window(w, rec, take, data);
}

bool fold_windows_take_still(struct fold_windows *w, const struct offcpu_rec_still *rec, fold_windows_fn take,
			     void *data)
{
	struct offcpu_rec_thread *at_last_cut = g_hash_table_lookup(w->last_cut, GUINT_TO_POINTER(rec->tno));
	struct offcpu_rec_thread own;

	if (!at_last_cut || at_last_cut->to_ns > w->edge_ns)
		return false;
	memcpy(at_last_cut->comm, rec->comm, sizeof(at_last_cut->comm));
	memcpy(at_last_cut->process, rec->process, sizeof(at_last_cut->process));
	at_last_cut->cgroup_id = rec->cgroup_id;
	at_last_cut->open_flags |= OFFCPU_OPEN_AT_START;
	at_last_cut->open_waker = 0;
	at_last_cut->open_blocked_ns = w->edge_ns - at_last_cut->to_ns;
	at_last_cut->open_runnable_ns = at_last_cut->open_preempted_ns = 0;
	own = *at_last_cut;
	memset(&own.account, 0, sizeof(own.account));
	own.throttled_runnable_ns = own.throttled_preempted_ns = 0;
	own.from_ns = at_last_cut->to_ns;
	at_last_cut->to_ns = own.to_ns = w->edge_ns;
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
		report_window(w, &g_array_index(held, struct offcpu_rec_thread, i), take, data);
}
