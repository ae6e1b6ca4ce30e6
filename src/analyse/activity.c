/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/activity.h"

#include <string.h>

#include "analyse/locks.h"
#include "analyse/plumbing.h"
#include "analyse/routes.h"
#include "base/each.h"
#include "base/hash.h"
#include "features/wakers/analysis.h"

/* Sums by reason of a row under construction. */
struct reason_sums {
	uint64_t ns[REASON_COUNT];
	uint64_t longest_ns[REASON_COUNT];	/* longest row of waits for that reason, */
	uint32_t longest[REASON_COUNT];		/* and its index + 1 */
};

struct sum {
	struct activity_row row;
	struct reason_sums *by_reason;	/* NULL: all time was idle, as in most threads of a large pool */
	uint32_t last_thread;		/* index + 1 of the thread that was counted last */
};

struct summing {
	const struct profile *p;
	struct reasons *reasons;
	enum activity_by by;
	struct activity_scope scope;
	struct routes *routes;	/* NULL: not requested, or none */
	struct activity *activity;
	GHashTable *rows;	/* struct activity_key -> struct sum, which contains it */
	struct sum **of_thread;	/* by process or thread: each thread's sum, or NULL */
	struct sum total;
};

const char *activity_by_name(enum activity_by by)
{
	static const char *const names[ACTIVITY_BY_COUNT] = { "process", "thread", "reason",
							      "object",	 "stack",  "route" };

	return by < ACTIVITY_BY_COUNT ? names[by] : "";
}

bool activity_by_parse(const char *name, enum activity_by *ret_by)
{
	for (unsigned i = 0; i < ACTIVITY_BY_COUNT; i++) {
		if (strcmp(name, activity_by_name(i)) == 0) {
			*ret_by = i;
			return true;
		}
	}
	return false;
}

uint64_t activity_percentile_ns(const struct activity_row *r, double share)
{
	return wait_percentile_ns(r->hist, share, r->durations_ns, r->max_ns);
}

guint activity_key_hash(gconstpointer p)
{
	const struct activity_key *k = p;

	return hash_end(hash_more(hash_more(hash_more(k->word[0], k->word[1]), k->word[2]), k->word[3]));
}

gboolean activity_key_equal(gconstpointer a, gconstpointer b)
{
	return memcmp(a, b, sizeof(struct activity_key)) == 0;
}

/* Finds or adds the row with that key. */
static struct sum *sum_of(struct summing *s, const struct activity_key *key, bool *ret_is_new)
{
	struct sum *sum = g_hash_table_lookup(s->rows, key);

	*ret_is_new = !sum;
	if (!sum) {
		sum = g_new0(struct sum, 1);
		sum->row.key = *key;
		g_hash_table_insert(s->rows, &sum->row.key, sum);
	}
	return sum;
}

static const char *keep_text(struct summing *s, const char *name)
{
	return g_string_chunk_insert(s->activity->names, name);
}

static bool has_thread(const struct summing *s, const struct thread *t)
{
	return (!s->scope.pid || s->scope.pid == t->pid) && (!s->scope.tid || s->scope.tid == t->tid);
}

static bool is_by_thread(const struct summing *s)
{
	return s->by == ACTIVITY_BY_PROCESS || s->by == ACTIVITY_BY_THREAD;
}

static void count_thread(struct sum *sum, uint32_t thread)
{
	sum->row.threads_cnt += sum->last_thread != thread + 1;
	sum->last_thread = thread + 1;
}

/* Adds the time of a thread's account that is not in waits. */
static void add_account(struct sum *sum, const struct thread *t)
{
	struct activity_row *r = &sum->row;

	r->observed_ns += thread_observed_ns(t);
	ADD_MEMBERS(r, t, on_cpu_ns, blocked_ns, runnable_ns, preempted_ns);
	r->unlisted_ns += t->filtered_ns + t->lost_ns;
	r->residual_ns += thread_residual_ns(t);
	r->switches += t->switches;
}

static void add_thread(struct summing *s, uint32_t i)
{
	const struct thread *t = profile_thread(s->p, i);
	struct activity_key key = { { t->pid, (uintptr_t)t->process } };
	bool is_new;

	if (!has_thread(s, t))
		return;
	add_account(&s->total, t);
	count_thread(&s->total, i);
	if (!is_by_thread(s))
		return;
	if (s->by == ACTIVITY_BY_THREAD)
		key = (struct activity_key){ { t->pid, t->tid, t->start_ns, (uintptr_t)t->comm } };
	struct sum *sum = sum_of(s, &key, &is_new);

	if (is_new) {
		sum->row.name = s->by == ACTIVITY_BY_THREAD ? t->comm : t->process;
		sum->row.pid = t->pid;
		sum->row.tid = s->by == ACTIVITY_BY_THREAD ? t->tid : 0;
		sum->row.is_kernel = t->flags & THREAD_KERNEL;
	}
	add_account(sum, t);
	count_thread(sum, i);
	s->of_thread[i] = sum;
}

static const char *object_name(struct summing *s, const struct wait *w)
{
	g_autoptr(GString) text = g_string_new(NULL);

	object_append_wait_label(text, s->p, w);
	return keep_text(s, text->str);
}

/* Equal in all windows, unlike nodes of stacks: different contexts may have the same route. */
static uint64_t route_key(const struct summing *s, const struct wait *w)
{
	const char *route = routes_of(s->routes, w->user);

	return route ? (uint64_t)hash_bytes(route, strlen(route)) << 32 | g_str_hash(route) : 1;
}

/* The row for a part of a wait: by reason, object, stack or route. */
static struct sum *row_of_wait(struct summing *s, uint32_t i, enum reason reason)
{
	const struct wait *w = profile_wait(s->p, i);
	const struct thread *t = profile_thread(s->p, w->thread);
	struct activity_key key = { { reason } };
	bool is_new;

	if (s->by == ACTIVITY_BY_OBJECT)
		key = (struct activity_key){ { w->object, !w->object && w->state == 'R' } };
	else if (s->by == ACTIVITY_BY_ROUTE)
		key = (struct activity_key){ { route_key(s, w) } };
	else if (s->by == ACTIVITY_BY_STACK)
		key = (struct activity_key){ { (uintptr_t)t->process, (uint64_t)w->user << 32 | w->kernel,
					       (uint64_t)w->state << 32 | w->object } };
	struct sum *sum = sum_of(s, &key, &is_new);

	if (is_new && s->by == ACTIVITY_BY_REASON) {
		sum->row.name = reason_text(reason);
	} else if (is_new && s->by == ACTIVITY_BY_OBJECT) {
		sum->row.name = object_name(s, w);
	} else if (is_new && s->by == ACTIVITY_BY_ROUTE) {
		sum->row.name = keep_text(s, routes_of(s->routes, w->user) ?: "(no request)");
	} else if (is_new) {
		sum->row.name = keep_text(s, plumbing_leaf(reasons_plumbing(s->reasons), w));
		sum->row.pid = t->pid;
	}
	if (sum->row.pid && sum->row.pid != t->pid)
		sum->row.pid = 0;
	sum->row.is_kernel = t->flags & THREAD_KERNEL;
	count_thread(sum, w->thread);
	return sum;
}

static void note_reason(struct sum *sum, enum reason reason, uint64_t ns, uint32_t wait)
{
	if (!ns)
		return;
	if (!sum->by_reason)
		sum->by_reason = g_new0(struct reason_sums, 1);
	sum->by_reason->ns[reason] += ns;
	if (ns > sum->by_reason->longest_ns[reason]) {
		sum->by_reason->longest_ns[reason] = ns;
		sum->by_reason->longest[reason] = wait + 1;
	}
}

/* Adds the wait's counts and durations, but not its time. */
static void add_durations(struct sum *sum, const struct wait *w, bool is_idle)
{
	if (!(w->flags & WAIT_OPEN_AT_START))
		sum->row.waits += w->count;
	if (is_idle)
		return;
	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		sum->row.hist[i] += w->hist[i];
	sum->row.durations_ns += wait_off_cpu_ns(w);
	sum->row.max_ns = MAX(sum->row.max_ns, w->max_ns);
}

/* The thread's account has the time already.  Splits it into idle time and reasons. */
static void sort_time(struct sum *sum, const struct wait *w, uint32_t i, enum reason reason, bool is_idle)
{
	if (is_idle) {
		uint64_t idle_ns = MIN(w->blocked_ns, sum->row.blocked_ns);

		sum->row.idle_ns += idle_ns;
		sum->row.blocked_ns -= idle_ns;
	} else {
		note_reason(sum, reason, w->blocked_ns, i);
	}
	note_reason(sum, REASON_CPU_QUEUE, w->runnable_ns + w->preempted_ns, i);
	add_durations(sum, w, is_idle);
}

static void add_blocked(struct sum *sum, const struct wait *w, uint32_t i, enum reason reason, bool is_idle)
{
	sum->row.observed_ns += w->blocked_ns;
	if (is_idle)
		sum->row.idle_ns += w->blocked_ns;
	else
		sum->row.blocked_ns += w->blocked_ns;
	note_reason(sum, reason, w->blocked_ns, i);
	add_durations(sum, w, is_idle);
}

static void add_queued(struct sum *sum, const struct wait *w, uint32_t i)
{
	sum->row.observed_ns += w->runnable_ns + w->preempted_ns;
	sum->row.runnable_ns += w->runnable_ns;
	sum->row.preempted_ns += w->preempted_ns;
	note_reason(sum, REASON_CPU_QUEUE, w->runnable_ns + w->preempted_ns, i);
}

static bool is_in_scope(const struct summing *s, const struct wait *w, enum reason reason)
{
	if (s->scope.object && s->scope.object != (w->object ? w->object + 1 : 1))
		return false;
	if (s->scope.route && s->scope.route != route_key(s, w))
		return false;
	return !s->scope.reason || s->scope.reason == reason + 1;
}

/* Blocked time counts for the wait's reason, run-queue time for REASON_CPU_QUEUE. */
static void add_parts(struct summing *s, uint32_t i, const struct wait *w, enum reason reason, bool is_idle)
{
	bool has_queued = is_in_scope(s, w, REASON_CPU_QUEUE) && w->runnable_ns + w->preempted_ns;
	bool has_slept = is_in_scope(s, w, reason) && (w->blocked_ns || w->state != 'R');

	if (has_slept)
		add_blocked(row_of_wait(s, i, reason), w, i, reason, is_idle);
	/* the duration of its sleep is not time in the queue */
	if (has_queued && (!has_slept || s->by == ACTIVITY_BY_REASON))
		add_durations(row_of_wait(s, i, REASON_CPU_QUEUE), w, w->state != 'R');
	if (has_queued)
		add_queued(row_of_wait(s, i, REASON_CPU_QUEUE), w, i);
}

static void add_wait(struct summing *s, uint32_t i)
{
	const struct wait *w = profile_wait(s->p, i);
	enum reason reason = reasons_of(s->reasons, i);
	bool is_idle = reasons_is_idle(s->reasons, i);

	if (!has_thread(s, profile_thread(s->p, w->thread)))
		return;
	sort_time(&s->total, w, i, reason, is_idle);
	if (is_by_thread(s))
		sort_time(s->of_thread[w->thread], w, i, reason, is_idle);
	else
		add_parts(s, i, w, reason, is_idle);
}

/* Only preemptions have run-queue durations here, so they are shown only if nearly all waits are preemptions. */
static void judge_queue(struct activity_row *row)
{
	uint64_t known = 0;

	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		known += row->hist[i];
	if (known * 10 >= row->waits * 9)
		return;
	memset(row->hist, 0, sizeof(row->hist));
	row->max_ns = 0;
}

static struct activity_row finished_row(const struct sum *sum)
{
	struct activity_row row = sum->row;

	for (unsigned i = 0; sum->by_reason && i < REASON_COUNT; i++) {
		if (sum->by_reason->ns[i] <= row.reason_ns)
			continue;
		row.reason = i;
		row.reason_ns = sum->by_reason->ns[i];
		row.wait = sum->by_reason->longest[i];
	}
	return row;
}

FREES_DATA(sum_free, struct sum, sum, g_free(sum->by_reason))

/*
 * Indices of waits by thread, so that each row sees a thread's waits in sequence and counts it once.  Free with
 * g_free().
 */
static uint32_t *waits_by_thread(const struct profile *p)
{
	g_autofree uint32_t *next = g_new0(uint32_t, (gsize)p->threads->len + 1);
	uint32_t *order = g_new0(uint32_t, (gsize)p->waits->len + 1);

	for (uint32_t i = 0; i < p->waits->len; i++)
		next[profile_wait(p, i)->thread + 1]++;
	for (uint32_t i = 1; i < p->threads->len; i++)
		next[i] += next[i - 1];
	for (uint32_t i = 0; i < p->waits->len; i++)
		order[next[profile_wait(p, i)->thread]++] = i;
	return order;
}

struct activity *activity_new(const struct profile *p, struct reasons *reasons, enum activity_by by,
			      const struct activity_scope *scope)
{
	g_autofree struct sum **of_thread = g_new0(struct sum *, p->threads->len + 1);
	struct summing s = { .p = p,
			     .reasons = reasons,
			     .by = by,
			     .activity = g_new0(struct activity, 1),
			     .of_thread = of_thread };
	g_autofree uint32_t *order = waits_by_thread(p);
	GHashTableIter iter;
	gpointer sum;

	if (scope)
		s.scope = *scope;
	s.routes = by == ACTIVITY_BY_ROUTE || s.scope.route ? routes_new(p) : NULL;
	s.activity->names = g_string_chunk_new(4096);
	s.rows = g_hash_table_new_full(activity_key_hash, activity_key_equal, NULL, sum_free);
	for (uint32_t i = 0; i < p->threads->len; i++)
		add_thread(&s, i);
	for (uint32_t i = 0; i < p->waits->len; i++)
		add_wait(&s, order[i]);
	s.activity->rows = g_array_sized_new(FALSE, FALSE, sizeof(struct activity_row), g_hash_table_size(s.rows));
	g_hash_table_iter_init(&iter, s.rows);
	while (g_hash_table_iter_next(&iter, NULL, &sum)) {
		struct activity_row row = finished_row(sum);

		if (by == ACTIVITY_BY_REASON && row.key.word[0] == REASON_CPU_QUEUE)
			judge_queue(&row);
		g_array_append_val(s.activity->rows, row);
	}
	s.activity->total = finished_row(&s.total);
	g_free(s.total.by_reason);
	g_hash_table_destroy(s.rows);
	routes_free(s.routes);
	return s.activity;
}

FREES(activity_free, struct activity, a, g_array_unref(a->rows); g_string_chunk_free(a->names))
