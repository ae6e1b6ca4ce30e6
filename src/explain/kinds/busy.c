/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/findings_part.h"

#include <string.h>

#include "analyse/plumbing.h"
#include "base/hash.h"

/*
 * An event loop is recognised by its waits in epoll, or by frames of a `loop` rule on its stacks.  It holds up clients
 * if it is on CPU or in the run queue for most of the time, and for long at a time: that long new events have to wait.
 * A loop that is never idle has no capacity left, however short its turns are.
 *
 * A pool's worker is recognised by frames of a `pool` rule.  A pool is full if hardly any of its threads' time is idle.
 */
#define LOOP_BUSY 0.5	/* of its time */
#define LOOP_TURN_NS 20000000	/* between two waits for events */
#define LOOP_SATURATED 0.95
#define POOL_IDLE 0.05
#define POOL_THREADS_MIN 2
#define FRAME_SHARE 0.8	/* of looks that must include a function to name it */

struct thread_sum {
	const struct rule *loop, *pool;	/* NULL: no rule matched */
	enum finding_busy busy;
	uint64_t events_ns, events_cnt;	/* in epoll */
	uint64_t blocked_ns;
	uint64_t idle_ns;
};

struct busy_finder {
	struct findings *f;
	struct thread_sum *sums;	/* by thread */
	GHashTable *rows;	/* (process, rule, kind) -> index in rows */
};

struct row_key {
	const char *process;
	const struct rule *rule;
	uint64_t kind;
};

HASH_KEY(key, struct row_key, process, rule, kind)

static bool is_selected(const struct findings *f, uint32_t thread)
{
	return (!f->selection || f->selection->threads[thread]) &&
	       !(profile_thread(f->profile, thread)->flags & THREAD_KERNEL);
}

static uint64_t wanted_ns(const struct thread *t)
{
	return t->on_cpu_ns + t->runnable_ns + t->preempted_ns;
}

/* Not if threads take turns: while one runs goroutines or Erlang processes, another waits for events. */
static bool is_event_wait(const struct findings *f, uint32_t i)
{
	static const char *const schedulers[] = { "Go", "Erlang", NULL };
	const struct rule *rule = reasons_rule(f->reasons, i);

	return rule && rule->reason == REASON_EVENT_LOOP &&
	       !g_strv_contains(schedulers, reasons_protocol(f->reasons, i)) &&
	       g_str_has_prefix(plumbing_syscall(reasons_plumbing(f->reasons), profile_wait(f->profile, i)), "epoll");
}

static void add_waits(struct busy_finder *b)
{
	const struct profile *p = b->f->profile;

	EACH_ROW(i, const struct wait, w, p->waits) {
		struct thread_sum *sum = &b->sums[w->thread];

		if (!is_selected(b->f, w->thread))
			continue;
		sum->loop = sum->loop ? sum->loop : reasons_loop(b->f->reasons, i);
		sum->blocked_ns += w->blocked_ns;
		sum->idle_ns += reasons_is_idle(b->f->reasons, i) ? w->blocked_ns : 0;
		if (w->blocked_ns && is_event_wait(b->f, i)) {
			sum->events_ns += w->blocked_ns;
			sum->events_cnt += w->count;
		}
	}
}

/* A command that computes from its first instruction on, and never waited for a client, holds nobody up. */
static bool is_busy_loop(const struct profile *p, const struct thread *t, const struct thread_sum *sum)
{
	double all = (double)thread_observed_ns(t), wanted = (double)wanted_ns(t);

	if ((!sum->loop && sum->events_ns <= sum->blocked_ns / 2) || (profile_is_of_command(p) && !sum->events_cnt))
		return false;
	return all > 0 && (wanted > LOOP_SATURATED * all ||
			   (wanted > LOOP_BUSY * all && wanted / (double)(sum->events_cnt + 1) > LOOP_TURN_NS));
}

static const struct rule *rule_of(const struct thread_sum *sum)
{
	return sum->busy == BUSY_POOL ? sum->pool : sum->loop;
}

static struct finding *row_of(struct busy_finder *b, uint32_t thread)
{
	const struct thread_sum *sum = &b->sums[thread];
	const struct thread *t = profile_thread(b->f->profile, thread);
	const struct row_key key = { .process = b->f->programs[thread], .rule = rule_of(sum), .kind = sum->busy };
	guint at = GPOINTER_TO_UINT(g_hash_table_lookup(b->rows, &key));

	if (!at) {
		const struct finding row = {
			.reason = REASON_ON_CPU,
			.process = key.process,
			.pid = t->pid,
			.frame = -1,
			FINDING_OWN_ONLY,
			.busy = sum->busy,
			.busy_rule = key.rule,
		};

		g_array_append_val(b->f->rows, row);
		at = b->f->rows->len;
		g_hash_table_insert(b->rows, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(at));
	}
	return &g_array_index(b->f->rows, struct finding, at - 1);
}

static void add_thread(struct busy_finder *b, uint32_t thread)
{
	const struct thread *t = profile_thread(b->f->profile, thread);
	const struct thread_sum *sum = &b->sums[thread];
	struct finding *row = row_of(b, thread);
	uint64_t observed_ns = thread_observed_ns(t);

	if (t->pid != row->pid)
		row->pid = 0;
	row->threads_cnt++;
	row->observed_ns += observed_ns;
	row->on_cpu_ns += t->on_cpu_ns;
	row->queue_ns += t->runnable_ns + t->preempted_ns;
	if (sum->busy == BUSY_LOOP) {
		row->time_ns += wanted_ns(t);
		row->count += sum->events_cnt;
	} else {
		row->time_ns += observed_ns - MIN(sum->idle_ns, observed_ns);
	}
}

static bool has_no_rest(const struct busy_finder *b, uint32_t thread)
{
	uint64_t all = thread_observed_ns(profile_thread(b->f->profile, thread));

	return all && (double)b->sums[thread].idle_ns < POOL_IDLE * (double)all;
}

/* Processes, by name, with enough busy threads for a pool: only their stacks are examined. */
static GHashTable *crowded_new(const struct busy_finder *b)
{
	const struct profile *p = b->f->profile;
	GHashTable *crowded = g_hash_table_new(NULL, NULL);	/* name -> number of threads */

	for (uint32_t i = 0; i < p->threads->len; i++) {
		const char *name = b->f->programs[i];

		if (is_selected(b->f, i) && has_no_rest(b, i))
			g_hash_table_insert(crowded, (gpointer)name,
					    GUINT_TO_POINTER(GPOINTER_TO_UINT(g_hash_table_lookup(crowded, name)) + 1));
	}
	return crowded;
}

/* Finds the rule of the pool that a thread works for, by any of its stacks. */
static void find_pools(struct busy_finder *b)
{
	const struct profile *p = b->f->profile;
	g_autoptr(GHashTable) crowded = crowded_new(b);

	for (uint32_t i = 0; i < p->waits->len; i++) {
		uint32_t t = profile_wait(p, i)->thread;

		if (is_selected(b->f, t) && !b->sums[t].pool &&
		    GPOINTER_TO_UINT(g_hash_table_lookup(crowded, b->f->programs[t])) >= POOL_THREADS_MIN)
			b->sums[t].pool = reasons_pool(b->f->reasons, i);
	}
}

/* Drops pools that are not full. */
static void drop_pools(struct busy_finder *b)
{
	for (guint i = b->f->rows->len; i-- > 0;) {
		const struct finding *row = &g_array_index(b->f->rows, struct finding, i);

		if (row->busy == BUSY_POOL &&
		    (row->threads_cnt < POOL_THREADS_MIN ||
		     (double)row->time_ns < (1 - POOL_IDLE) * (double)row->observed_ns))
			g_array_remove_index(b->f->rows, i);
	}
}

/*
 * The innermost function of the program that nearly all looks include.  A computing program has many innermost
 * functions, called for one purpose.
 */
static void name_function(const struct busy_finder *b, struct finding *row, const bool *is_member)
{
	const struct profile *p = b->f->profile;
	const struct plumbing *pl = reasons_plumbing(b->f->reasons);
	g_autofree uint64_t *weights = g_new0(uint64_t, (gsize)p->nodes->len + 1);
	uint32_t best = 0;
	bool has_samples = false;

	for (uint32_t i = 0; i < p->waits->len && !has_samples; i++)
		has_samples = is_member[profile_wait(p, i)->thread] && profile_wait(p, i)->state == ON_CPU_STATE;
	EACH_ROW(i, const struct wait, w, p->waits) {
		uint64_t weight = is_member[w->thread] && w->user ? finding_looks(w, has_samples) : 0;

		row->looks_cnt += weight;
		for (uint32_t n = w->user; n && weight; n = profile_get_node(p, n)->parent)
			weights[n] += weight;
		if (is_member[w->thread] && (!row->wait || weight))
			row->wait = i;
	}
	for (uint32_t n = 1; n < p->nodes->len; n++)	/* parents have lower numbers */
		if (row->looks_cnt && (double)weights[n] >= FRAME_SHARE * (double)row->looks_cnt)
			best = n;
	row->in_frame_cnt = weights[best];
	row->has_samples = has_samples;
	for (uint32_t n = best; n && row->frame < 0; n = profile_get_node(p, n)->parent) {
		uint32_t frame = profile_get_node(p, n)->frame;
		const char *name = profile_get_frame(p, frame)->name;

		if (name && strcmp(name, "main") == 0)
			break;
		if (name && !plumbing_frame_is_runtime(pl, frame))
			row->frame = frame;
	}
}

/* For a pool whose work mostly waits: the function in which it waits longest. */
static void name_waits(const struct busy_finder *b, struct finding *row, const bool *is_member)
{
	const struct profile *p = b->f->profile;
	g_autofree uint64_t *sums = g_new0(uint64_t, (gsize)p->frames->len + 1);
	int64_t most = -1;

	for (uint32_t i = 0; row->busy == BUSY_POOL && row->frame < 0 && i < p->waits->len; i++) {
		const struct wait *w = profile_wait(p, i);
		int64_t frame = is_member[w->thread] && !reasons_is_idle(b->f->reasons, i) ? finding_frame(b->f, i)
											   : -1;

		if (frame < 0 || plumbing_frame_is_runtime(reasons_plumbing(b->f->reasons), (uint32_t)frame))
			continue;
		sums[frame] += w->blocked_ns;
		most = most < 0 || sums[frame] > sums[most] ? frame : most;
	}
	if (most < 0 || (double)sums[most] < FRAME_SHARE * (double)row->time_ns)
		return;
	row->frame = most;
	row->looks_cnt = 0;	/* preemptions may point to another function */
}

/* Whether the row is about the thread. */
static bool is_of_row(const struct busy_finder *b, uint32_t thread, const struct finding *row)
{
	const struct thread_sum *sum = &b->sums[thread];

	return sum->busy && sum->busy == row->busy && rule_of(sum) == row->busy_rule &&
	       b->f->programs[thread] == row->process;
}

void busy_find(struct findings *f)
{
	const struct profile *p = f->profile;
	struct busy_finder b = {
		.f = f,
		.sums = g_new0(struct thread_sum, (gsize)p->threads->len + 1),
		.rows = g_hash_table_new_full(key_hash, key_equal, g_free, NULL),
	};
	g_autofree bool *is_member = g_new0(bool, (gsize)p->threads->len + 1);
	guint first = f->rows->len;

	add_waits(&b);
	find_pools(&b);
	for (uint32_t i = 0; i < p->threads->len; i++) {
		struct thread_sum *sum = &b.sums[i];

		if (sum->pool)
			sum->busy = BUSY_POOL;
		else if (is_selected(f, i) && is_busy_loop(p, profile_thread(p, i), sum))
			sum->busy = BUSY_LOOP;
		if (sum->busy)
			add_thread(&b, i);
	}
	drop_pools(&b);
	for (guint r = first; r < f->rows->len; r++) {
		struct finding *row = &g_array_index(f->rows, struct finding, r);

		for (uint32_t i = 0; i < p->threads->len; i++)
			is_member[i] = is_of_row(&b, i, row);
		name_function(&b, row, is_member);
		name_waits(&b, row, is_member);
	}
	g_hash_table_unref(b.rows);
	g_free(b.sums);
}
