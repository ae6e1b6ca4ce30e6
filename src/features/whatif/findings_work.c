/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/whatif/findings.h"

#include <math.h>
#include <string.h>

#include "analyse/locks.h"
#include "analyse/plumbing.h"
#include "base/parse.h"
#include "profile/limits.h"

#define LOCK_PART_MIN 0.003	/* of the time: shorter waits for a lock are plain delays */

/* Matches the name, the name with its kind, or the part before or within parentheses. */
static bool is_named(const struct object *o, const char *name)
{
	g_autoptr(GString) label = g_string_new(NULL);
	size_t bytes = strlen(name);
	const char *inside = strchr(o->name, '(');

	object_append_label(label, o);
	return !strcmp(o->name, name) || !strcmp(label->str, name) ||
	       (g_str_has_prefix(o->name, name) && g_str_has_prefix(o->name + bytes, " (")) ||
	       (inside && g_str_has_prefix(inside + 1, name) && inside[1 + bytes] == ')');
}

int work_change_of(const struct work_source *s, uint32_t wait)
{
	const struct wait *w = profile_wait(s->p, wait);
	uint32_t id = s->lock_ids[w->object];
	const struct object *o = profile_wait_object(s->p, w), *lock = id ? profile_get_object(s->p, id - 1) : o;

	for (guint i = 0; i < s->changes_cnt; i++) {
		const struct whatif_change *c = &s->changes[i];

		if (!w->blocked_ns)
			return -1;
		if ((c->kind == WHATIF_REASON && reasons_of(s->reasons, wait) == c->reason) ||
		    (o && c->kind == WHATIF_LOCK && object_is_lock(o) &&
		     (is_named(lock, c->name) || is_named(o, c->name))) ||
		    (o && c->kind == WHATIF_PEER && o->kind == OBJECT_SOCKET && is_named(o, c->name)))
			return (int)i;
	}
	return -1;
}

enum part { PART_DELAY, PART_SLEEP, PART_LOCK, PART_HANDED, PART_OUTSIDE };

static enum part part_of(const struct work_source *s, uint32_t wait, int change)
{
	const struct object *o = profile_wait_object(s->p, profile_wait(s->p, wait));
	enum idle_kind idle = reasons_idle(s->reasons, wait);

	if (change >= 0)
		return s->changes[change].kind == WHATIF_LOCK ? PART_LOCK : PART_DELAY;
	if (o && object_is_lock(o) && lock_is_held(o) && idle == IDLE_NOT && o->kind != LOCK_FUTEX)
		return PART_LOCK;
	switch (reasons_of(s->reasons, wait)) {
	case REASON_SLEEP: return PART_SLEEP;
	case REASON_LOCK_CONDITION:
	case REASON_LOCK_SEMAPHORE:
	case REASON_LOCK_OTHER:
	case REASON_PIPE:
	case REASON_POOL_IDLE: return PART_HANDED;
	case REASON_NETWORK_ACCEPT:
	case REASON_EVENT_LOOP:
	case REASON_TERMINAL:
	case REASON_CHILD_EXIT:
	case REASON_STOPPED: return PART_OUTSIDE;
	default: return idle == IDLE_NOT ? PART_DELAY : PART_OUTSIDE;
	}
}

bool part_is_handed(const struct work_source *s, uint32_t wait)
{
	return part_of(s, wait, work_change_of(s, wait)) == PART_HANDED;
}

static const char *function_of(const struct work_source *s, const struct wait *w)
{
	int64_t frame = plumbing_user_parent(reasons_plumbing(s->reasons), w->user);

	return frame < 0 ? NULL : profile_get_frame(s->p, (uint32_t)frame)->name;
}

static struct work_lock *lock_of(struct work *work, uint32_t id)
{
	for (uint32_t i = 0; i < work->locks_cnt; i++)
		if (work->locks[i].id == id)
			return &work->locks[i];
	if (work->locks_cnt == WORK_LOCKS_MAX)
		return NULL;
	work->locks[work->locks_cnt] = (struct work_lock){ .id = id, .change = -1 };
	return &work->locks[work->locks_cnt++];
}

static bool is_other(const struct work_source *s, const bool *chosen, const struct object *o)
{
	for (guint i = 0; o->holder_tid && i < s->p->threads->len; i++)
		if (profile_thread(s->p, i)->tid == o->holder_tid)
			return !chosen[i];
	return false;
}

static void add_lock(const struct work_source *s, const bool *chosen, uint32_t wait, int change, struct work *work)
{
	const struct wait *w = profile_wait(s->p, wait);
	struct work_lock *l = lock_of(work, s->lock_ids[w->object]);
	double ns = (double)w->blocked_ns;

	if (!l) {
		work->delay[WHATIF_CHANGES_MAX] += ns;
		work->queue += (double)w->runnable_ns;
		return;
	}
	l->wait += ns + (double)w->runnable_ns;
	l->wake_ns += (double)w->runnable_ns;
	l->sleeps_a_ns += (double)w->count;
	l->change = change >= 0 ? change : l->change;
	if (is_other(s, chosen, profile_wait_object(s->p, w)))
		l->held_by_others += ns;
	if (ns > l->longest_ns && function_of(s, w)) {
		l->longest_ns = ns;
		l->function = function_of(s, w);
	}
}

static void add_wait(const struct work_source *s, const bool *chosen, uint32_t wait, struct work *work)
{
	const struct wait *w = profile_wait(s->p, wait);
	int change = work_change_of(s, wait);
	enum part part = part_of(s, wait, change);
	double ns = (double)w->blocked_ns;

	if (!ns || part != PART_LOCK)
		work->queue += (double)(w->runnable_ns + w->preempted_ns);
	if (part == PART_LOCK && ns > 0)
		add_lock(s, chosen, wait, change, work);
	else if (part == PART_HANDED)
		work->handed += ns;
	else if (part == PART_OUTSIDE)
		work->outside += ns;
	else
		work->delay[change >= 0 ? change : WHATIF_CHANGES_MAX] += ns;
	if (change >= 0 && part != PART_LOCK)
		work->queue_behind[change] += (double)w->runnable_ns;
	if (part == PART_SLEEP)
		work->sleep += ns;
}

/* Delays that may be part of a hold: in functions called by the one that takes the lock. */
static void add_inside(const struct work_source *s, uint32_t wait, struct work *work)
{
	const struct wait *w = profile_wait(s->p, wait);
	int change = work_change_of(s, wait);
	enum part part = part_of(s, wait, change);

	if (part != PART_DELAY && part != PART_SLEEP)
		return;
	for (uint32_t i = 0; i < work->locks_cnt; i++) {
		const char *const names[] = { work->locks[i].function ?: "", NULL };
		if (work->locks[i].function && profile_stack_names(s->p, w->user, names))
			work->locks[i].inside[change >= 0 ? change : WHATIF_CHANGES_MAX] += (double)w->blocked_ns;
	}
}

/* The peer's threads: their time without waits for requests. */
static void find_service(const struct work_source *s, const bool *chosen, struct work *work)
{
	double waits[WHATIF_CHANGES_MAX] = { 0 }, own[WHATIF_CHANGES_MAX] = { 0 };
	uint32_t pid[WHATIF_CHANGES_MAX] = { 0 };
	g_autofree double *busy = g_new0(double, (gsize)s->p->threads->len + 1);

	for (guint i = 0; i < s->p->threads->len; i++)
		busy[i] = (double)(profile_thread(s->p, i)->on_cpu_ns + profile_thread(s->p, i)->runnable_ns +
				   profile_thread(s->p, i)->preempted_ns);
	EACH_ROW(i, const struct wait, w, s->p->waits) {
		int change = work_change_of(s, i);
		enum reason reason = reasons_of(s->reasons, i);

		if (change >= 0) {
			waits[change] += (double)w->blocked_ns;
			own[change] += chosen[w->thread] ? (double)w->blocked_ns : 0;
			if (chosen[w->thread] && s->changes[change].kind == WHATIF_PEER)
				pid[change] = profile_wait_object(s->p, w)->pid;
		}
		if (!reasons_is_idle(s->reasons, i) && reason != REASON_NETWORK_RECEIVE &&
		    reason != REASON_NETWORK_ACCEPT && reason != REASON_EVENT_LOOP)
			busy[w->thread] += (double)w->blocked_ns;
	}
	for (guint c = 0; c < s->changes_cnt; c++) {
		struct work_service *v = &work->service[c];
		v->others = waits[c] > 0 ? 1 - own[c] / waits[c] : 0;
		for (guint i = 0; pid[c] && i < s->p->threads->len; i++)
			if (profile_thread(s->p, i)->pid == pid[c] && !chosen[i] &&
			    busy[i] > 0.002 * (double)s->p->info.duration_ns) {
				v->servers++;
				v->busy += busy[i] / work->total_ns;
			}
	}
}

static double cpus_of(const struct profile *p, uint32_t thread)
{
	const struct thread *t = profile_thread(p, thread);
	const struct profile_limit *l = profile_find_limit(p, LIMIT_CPUS, t->pid, t->tid);
	g_autoptr(GArray) list = l ? cpu_list_parse(l->text) : NULL;

	return list && list->len ? list->len : MAX(p->info.cpus, 1);
}

static const char *leaf_of(const struct profile *p, uint32_t user)
{
	return user ? profile_get_frame(p, profile_get_node(p, user)->frame)->name : NULL;
}

/* CPU time in the calls that wait for what is changed, by samples: it scales with the calls. */
static void add_calls(const struct work_source *s, const bool *chosen, struct work *work)
{
	g_autoptr(GHashTable) calls = g_hash_table_new(NULL, NULL);	/* names are interned */
	double all = 0, inside[WHATIF_CHANGES_MAX] = { 0 };

	EACH_ROW(i, const struct wait, w, s->p->waits) {
		int change = chosen[w->thread] ? work_change_of(s, i) : -1;
		if (change >= 0 && s->changes[change].kind != WHATIF_LOCK && leaf_of(s->p, w->user))
			g_hash_table_insert(calls, (gpointer)leaf_of(s->p, w->user), GINT_TO_POINTER(change + 1));
	}
	EACH_ROW(i, const struct on_cpu_sample, o, s->p->on_cpu) {
		if (!chosen[o->thread])
			continue;
		double ns = (double)o->samples * (double)o->weight_ns;
		int change = GPOINTER_TO_INT(g_hash_table_lookup(calls, leaf_of(s->p, o->user))) - 1;
		all += ns;
		if (change >= 0 && o->kernel)
			inside[change] += ns;
	}
	for (guint c = 0; c < s->changes_cnt && all > 0; c++)
		work->cpu_in_calls[c] = work->on_cpu * inside[c] / all;
}

#define PHASES_MAX 64
#define EVEN_PART 0.95	/* if that share of durations is within two powers of two, all may be equal */

/* Durations are known only to a power of two. */
static void find_phases(const struct work_source *s, const bool *chosen, struct work *work)
{
	static const struct wait none;
	g_autofree double *hist = g_new0(double, (WHATIF_CHANGES_MAX + 1) * PROFILE_HIST_SLOTS);

	for (guint i = 0; i < s->p->waits->len; i++) {
		int change = work_change_of(s, i), at = change >= 0 ? change : WHATIF_CHANGES_MAX;
		bool is_delay = chosen[profile_wait(s->p, i)->thread] && part_of(s, i, change) <= PART_SLEEP;
		const struct wait *w = is_delay ? profile_wait(s->p, i) : &none;
		for (int slot = 0; slot < PROFILE_HIST_SLOTS; slot++)
			hist[at * PROFILE_HIST_SLOTS + slot] += w->hist[slot];
	}
	for (int c = 0; c <= WHATIF_CHANGES_MAX; c++) {
		const double *h = hist + c * PROFILE_HIST_SLOTS;
		double cnt = 0, sum = 0, squares = 0, most = 0;
		for (int slot = 0; slot < PROFILE_HIST_SLOTS; slot++) {
			double ns = 1.5 * exp2(slot);
			cnt += h[slot];
			sum += h[slot] * ns;
			squares += h[slot] * ns * ns;
			most = fmax(most, h[slot] + (slot ? h[slot - 1] : 0));
		}
		double relative = sum > 0 ? cnt * squares / (sum * sum) - 1 : 1;
		work->phases[c] = (uint32_t)CLAMP(1 / fmax(relative, 1e-3), 1, PHASES_MAX);
		work->is_even[c] = most >= EVEN_PART * cnt;
	}
}

/* Turns times into shares, and rarely used locks into delays. */
static void as_shares(struct work *work)
{
	double total = work->total_ns;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < work->locks_cnt; i++) {
		struct work_lock l = work->locks[i];
		l.held_by_others /= l.wait > 0 ? l.wait : 1;
		l.wake_ns /= l.sleeps_a_ns > 0 ? l.sleeps_a_ns : 1;
		l.sleeps_a_ns /= total;
		l.wait /= total;
		for (guint c = 0; c <= WHATIF_CHANGES_MAX; c++)
			l.inside[c] /= total;
		if (l.wait >= LOCK_PART_MIN || l.change >= 0)
			work->locks[kept++] = l;
		else
			work->delay[WHATIF_CHANGES_MAX] += l.wait * total;
	}
	work->locks_cnt = kept;
	for (guint c = 0; c <= WHATIF_CHANGES_MAX; c++)
		work->delay[c] /= total;
	for (guint c = 0; c < WHATIF_CHANGES_MAX; c++) {
		work->queue_behind[c] /= total;
		work->cpu_in_calls[c] /= total;
	}
	work->on_cpu /= total;
	work->queue /= total;
	work->sleep /= total;
	work->handed /= total;
	work->outside /= total;
	work->lost /= total;
}

void work_of(const struct work_source *s, const bool *chosen, struct work *ret)
{
	*ret = (struct work){ .first_thread = UINT32_MAX };
	EACH_ROW(i, const struct thread, t, s->p->threads) {
		if (!chosen[i])
			continue;
		ret->threads_cnt++;
		ret->first_thread = MIN(ret->first_thread, i);
		ret->total_ns += (double)thread_observed_ns(t);
		ret->on_cpu += (double)t->on_cpu_ns;
		ret->lost += fabs((double)thread_residual_ns(t)) + (double)(t->lost_ns + t->filtered_ns);
	}
	if (!ret->threads_cnt || ret->total_ns <= 0)
		return;
	for (guint i = 0; i < s->p->waits->len; i++)
		if (chosen[profile_wait(s->p, i)->thread])
			add_wait(s, chosen, i, ret);
	for (guint i = 0; i < s->p->waits->len; i++)
		if (chosen[profile_wait(s->p, i)->thread])
			add_inside(s, i, ret);
	ret->away = 1 - ret->total_ns / ((double)s->p->info.duration_ns * ret->threads_cnt);
	find_service(s, chosen, ret);
	ret->cpus = cpus_of(s->p, ret->first_thread);
	add_calls(s, chosen, ret);
	find_phases(s, chosen, ret);
	as_shares(ret);
}
