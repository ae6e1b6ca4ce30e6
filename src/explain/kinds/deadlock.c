/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/findings_part.h"

#include <string.h>

#include "analyse/locks.h"
#include "base/hash.h"
#include "features/slices/rows.h"
#include "profile/limits.h"

/*
 * A lock's holder is known from the wait's start, or from the recording's end for a wait that lasts all the time. A
 * holder that began its own wait later may have released before.  Then the lock's first waiter was woken: so a
 * released lock has another waiter whose wait has ended.  If that is possible, there is no ring.
 *
 * Short waits, and waits that time out, are in no ring: what resolves itself is no deadlock.
 */
#define LONG_NS 1000000000ULL
#define SEVERAL UINT32_MAX

struct finder {
	const struct profile *p;
	const uint32_t *locks;	/* see lock_ids_new() */
	GHashTable *open;	/* (pid, tid) -> index + 1 of the wait that is open at the end */
	GHashTable *ended;	/* lock -> thread + 1 whose wait for it has ended, or SEVERAL */
	GHashTable *files;	/* pid -> like open, for a process with a single thread that waits for a file lock */
	/* (pid, tid) -> index + 1 of the longest wait for a monitor whose owner the JVM reported */
	GHashTable *monitors;
};

static uint64_t *key_new(uint32_t pid, uint32_t tid)
{
	uint64_t key = (uint64_t)pid << 32 | tid;

	return g_memdup2(&key, sizeof(key));
}

uint64_t deadlock_long_ns(const struct profile *p)
{
	return MIN(LONG_NS, p->info.duration_ns / 10 * 9);
}

/* glibc uses a separate operation for mutexes with time limit; else the function tells. */
static bool may_time_out(const struct profile *p, const struct wait *w)
{
	const struct object *o = profile_wait_object(p, w);

	for (uint32_t n = w->user; n; n = profile_get_node(p, n)->parent) {
		const char *name = profile_get_frame(p, profile_get_node(p, n)->frame)->name;

		while (name && *name == '_')
			name++;
		if (name && (g_str_has_prefix(name, "pthread_mutex_") || g_str_has_prefix(name, "pthread_rwlock_")) &&
		    (strstr(name, "timed") || strstr(name, "clock")))
			return true;
	}
	return o->kind == LOCK_MUTEX && strcmp(o->operation, "FUTEX_WAIT_BITSET") == 0;
}

/* By thread: number of waits open at the window's end; a sum of windows may have many. */
static uint64_t *open_waits_new(const struct profile *p)
{
	uint64_t *cnt = g_new0(uint64_t, (gsize)p->threads->len + 1);

	for (uint32_t i = 0; i < p->waits->len; i++)
		if (profile_wait(p, i)->flags & WAIT_OPEN_AT_END)
			cnt[profile_wait(p, i)->thread] += profile_wait(p, i)->count;
	return cnt;
}

static bool goes_on(const struct thread *t, const struct wait *w, uint64_t open_cnt)
{
	return t->flags & THREAD_OPEN_AT_END && w->flags & WAIT_OPEN_AT_END && open_cnt == 1 && !w->runnable_ns &&
	       !w->preempted_ns;
}

/*
 * Java: the JVM wakes waiters now and then, so no wait lasts long.  But it reported monitors' owners at the
 * recording's end, only for threads that still wait.
 */
static void find_monitors(struct finder *f)
{
	const struct profile *p = f->p;
	g_autofree uint64_t *blocked_ns = g_new0(uint64_t, (gsize)p->threads->len + 1);
	g_autofree uint32_t *longest = g_new0(uint32_t, (gsize)p->threads->len + 1);

	g_autofree bool *is_told = g_new0(bool, (gsize)p->threads->len + 1);

	if (p->info.range.is_cut)
		return;
	for (uint32_t i = 0; i < p->threads->len; i++)
		is_told[i] = profile_monitor_holder(p, profile_thread(p, i)->pid, profile_thread(p, i)->tid);
	EACH_ROW(i, const struct wait, w, p->waits) {
		if (!is_told[w->thread] || !wait_is_for_monitor(p, w))
			continue;
		blocked_ns[w->thread] += w->blocked_ns;
		if (!longest[w->thread] || w->blocked_ns > profile_wait(p, longest[w->thread] - 1)->blocked_ns)
			longest[w->thread] = i + 1;
	}
	for (uint32_t i = 0; i < p->threads->len; i++)
		if (longest[i] && blocked_ns[i] >= deadlock_long_ns(p))
			g_hash_table_insert(f->monitors, key_new(profile_thread(p, i)->pid, profile_thread(p, i)->tid),
					    GUINT_TO_POINTER(longest[i]));
}

static void sort_waits(struct finder *f)
{
	const struct profile *p = f->p;
	g_autofree uint64_t *open_cnt = open_waits_new(p);

	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct object *o = profile_wait_object(p, w);
		const struct thread *t = profile_thread(p, w->thread);

		if (profile_file_lock_holder(p, t->pid) && !p->info.range.is_cut && wait_is_for_file_lock(p, w) &&
		    goes_on(t, w, open_cnt[w->thread]) && w->blocked_ns >= deadlock_long_ns(p) &&
		    deadlock_is_alone(p, t->pid) && deadlock_knows_all(p, t->pid))
			g_hash_table_insert(f->files, GUINT_TO_POINTER(t->pid), GUINT_TO_POINTER(i + 1));
		if (!o || !lock_is_held(o) || o->kind == OBJECT_KERNEL_LOCK)
			continue;
		gpointer lock = GUINT_TO_POINTER(f->locks[w->object]);
		uint32_t of = GPOINTER_TO_UINT(g_hash_table_lookup(f->ended, lock));

		if (!goes_on(t, w, open_cnt[w->thread]))
			g_hash_table_insert(f->ended, lock,
					    GUINT_TO_POINTER(of && of != w->thread + 1 ? SEVERAL : w->thread + 1));
		else if (w->blocked_ns >= deadlock_long_ns(p) && o->holder_tid && !may_time_out(p, w))
			g_hash_table_insert(f->open, key_new(t->pid, t->tid), GUINT_TO_POINTER(i + 1));
	}
}

bool deadlock_knows_all(const struct profile *p, uint32_t pid)
{
	static const char *const narrow[] = { "thread", "comm ", "state ", "waits " };	/* of filters */

	for (size_t i = 0; p->info.filters && i < G_N_ELEMENTS(narrow); i++)
		if (strstr(p->info.filters, narrow[i]))
			return false;
	for (guint i = 0; i < p->threads->len; i++)
		if (profile_thread(p, i)->pid == pid && profile_thread(p, i)->lost_ns)
			return false;
	return profile_has_slices(p) && !p->info.sampling.max_ns;
}

bool deadlock_is_alone(const struct profile *p, uint32_t pid)
{
	uint32_t tid = 0;

	/* after an exec there are two rows with one id */
	EACH_ROW(i, const struct thread, t, p->threads) {
		if (t->pid == pid && tid && t->tid != tid)
			return false;
		tid = t->pid == pid ? t->tid : tid;
	}
	return tid;
}

/* The writer of the pipe that a process with a single thread has been waiting for since long; 0: none. */
static uint32_t writer_to(const struct profile *p, const struct wait *w)
{
	const struct object *o = profile_wait_object(p, w);
	uint32_t pid = profile_thread(p, w->thread)->pid;

	return o && o->kind == OBJECT_PIPE && o->pid && g_str_has_prefix(o->name, "pipe from ") && !g_str_has_suffix(o->name, " more") &&
	       w->flags & WAIT_OPEN_AT_END && w->max_ns >= deadlock_long_ns(p) && deadlock_is_alone(p, pid) &&
	       deadlock_knows_all(p, pid) ? o->pid : 0;
}

uint32_t deadlock_of_pipes(const struct profile *p, uint32_t wait)
{
	const struct wait *w = profile_wait(p, wait);
	uint32_t writer = p->info.range.is_cut ? 0 : writer_to(p, w), pid = profile_thread(p, w->thread)->pid;

	for (uint32_t i = 0; writer && writer != pid && i < p->waits->len; i++)
		if (profile_thread(p, profile_wait(p, i)->thread)->pid == writer &&
		    writer_to(p, profile_wait(p, i)) == pid)
			return i + 1;
	return 0;
}

static uint64_t begin_ns(const struct profile *p, const struct wait *w)
{
	return profile_thread(p, w->thread)->to_ns - w->blocked_ns;
}

/* Whether no lock was used before it began.  A window of many has no slices. */
static bool is_whole(const struct profile *p)
{
	return profile_has_slices(p) && !(p->info.range.is_cut && p->info.range.from_ns);
}

/* Whether the thread of `of_holder` still has the lock that `w` waits for. */
static bool is_held_still(const struct finder *f, const struct wait *w, const struct wait *of_holder)
{
	const struct profile *p = f->p;
	uint32_t ended = GPOINTER_TO_UINT(g_hash_table_lookup(f->ended, GUINT_TO_POINTER(f->locks[w->object])));

	if (w == of_holder && ended)	/* somebody else lets it go */
		return false;
	if (w->flags & WAIT_OPEN_AT_START)
		return is_whole(p);
	if (of_holder->flags & WAIT_OPEN_AT_START || begin_ns(p, of_holder) <= begin_ns(p, w))
		return true;
	return (!ended || ended == w->thread + 1) && profile_wait_object(p, w)->is_private &&
	       deadlock_knows_all(p, profile_thread(p, w->thread)->pid);
}

/* The same for the process that holds a file lock, or else for the child that it waits for. */
static uint32_t next_of_file(const struct finder *f, uint32_t waiter)
{
	uint32_t own = GPOINTER_TO_UINT(
		g_hash_table_lookup(f->files, GUINT_TO_POINTER(profile_file_lock_holder(f->p, waiter))));

	return own ? own : GPOINTER_TO_UINT(g_hash_table_lookup(
				   f->files, GUINT_TO_POINTER(profile_file_lock_holder_child(f->p, waiter))));
}

/* The wait, index + 1, of the holder of that wait's lock; 0: it waits for no lock. */
static uint32_t next_of(const struct finder *f, uint32_t wait)
{
	const struct wait *w = profile_wait(f->p, wait);
	uint32_t pid = profile_thread(f->p, w->thread)->pid;

	/* reported by the kernel after the recording ended, and both still wait */
	if (GPOINTER_TO_UINT(g_hash_table_lookup(f->files, GUINT_TO_POINTER(pid))) == wait + 1)
		return next_of_file(f, pid);
	uint32_t monitor_holder = profile_monitor_holder(f->p, pid, profile_thread(f->p, w->thread)->tid);
	g_autofree uint64_t *key = key_new(pid,
					   monitor_holder ? monitor_holder : profile_wait_object(f->p, w)->holder_tid);

	if (monitor_holder)
		return GPOINTER_TO_UINT(g_hash_table_lookup(f->monitors, key));
	uint32_t next = GPOINTER_TO_UINT(g_hash_table_lookup(f->open, key));

	return next && is_held_still(f, w, profile_wait(f->p, next - 1)) ? next : 0;
}

uint32_t *deadlock_rings_new(const struct profile *p, const uint32_t *locks)
{
	g_autoptr(GHashTable) open = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);
	g_autoptr(GHashTable) ended = g_hash_table_new(NULL, NULL), files = g_hash_table_new(NULL, NULL);
	g_autoptr(GHashTable) monitors = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);
	struct finder f = {
		.p = p, .locks = locks, .open = open, .ended = ended, .files = files, .monitors = monitors
	};
	uint32_t *rings = g_new0(uint32_t, (gsize)p->waits->len + 1);
	/* number of the walk that visited it; each continues to the end or to a visited wait */
	g_autofree uint32_t *walk_of = g_new0(uint32_t, (gsize)p->waits->len + 1);
	GHashTable *const starts[] = { open, files, monitors };
	uint32_t walk = 0;

	sort_waits(&f);
	find_monitors(&f);
	for (size_t i = 0; i < G_N_ELEMENTS(starts); i++) {
		EACH_VALUE(void, value, starts[i]) {
			uint32_t at = GPOINTER_TO_UINT(value);

			walk++;
			for (; at && !walk_of[at - 1]; at = next_of(&f, at - 1))
				walk_of[at - 1] = walk;
			for (; at && walk_of[at - 1] == walk && !rings[at - 1]; at = rings[at - 1])
				rings[at - 1] = next_of(&f, at - 1);
		}
	}
	return rings;
}
