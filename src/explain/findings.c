/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/findings.h"

#include <math.h>
#include <string.h>

#include "base/order.h"
#include "explain/findings_part.h"
#include "explain/limits.h"
#include "analyse/actors.h"
#include "analyse/reason/idle.h"
#include "analyse/locks.h"
#include "analyse/plumbing.h"
#include "base/find.h"
#include "base/hash.h"
#include "features/blame/analysis.h"

#define KERNEL_PCT 50
#define CAUSE_PART 20	/* of the time that matters */
/* Waits with equal keys are one finding: by lock, or by waiting function. */
struct key {
	const char *process;
	const char *function; /* interned; NULL for waits for the same lock, and for a CPU */
	const char *module; /* of a function of a script: others of that name, as run, are another program's */
	const struct rule *loop;
	uint32_t lock, reason;
};

HASH_KEY(key, struct key, process, function, module, lock, reason, loop)

struct maker {
	struct findings *f;
	const struct selection *selection;
	GHashTable *index; /* struct key -> row + 1 */
	GHashTable *threads; /* set of (row, thread) */
	GArray *longest_ns; /* uint64_t, by row: of the wait that represents it */
	uint32_t *locks; /* see lock_ids_new() */
	uint32_t *kinds; /* see lock_kinds_new() */
	uint32_t *rings; /* see deadlock_rings_new() */
	GHashTable *members; /* set of (row, lock) */
	GHashTable *waiters; /* set of (lock, thread) */
	GHashTable *classes; /* process name -> row + 1 */
};

static bool is_selected(const struct maker *m, uint32_t thread)
{
	return (!m->selection || m->selection->threads[thread]) &&
	       (m->f->has_kernel_only || !(profile_thread(m->f->profile, thread)->flags & THREAD_KERNEL));
}

/* Instead of a row, for idle threads. */
#define IDLE_ROW (UINT32_MAX - 1)
#define IDLE_KERNEL_ROW (UINT32_MAX - 2)

static uint32_t row_of(struct maker *m, const struct key *key, uint32_t wait)
{
	struct findings *f = m->f;
	uint32_t at = GPOINTER_TO_UINT(g_hash_table_lookup(m->index, key));

	if (at)
		return at - 1;
	const struct rule *rule = reasons_rule(f->reasons, wait);
	const bool is_yield = key->reason == REASON_CPU_QUEUE && key->function;
	struct finding row = {
		.reason = (enum reason)key->reason,
		.id = f->rows->len + 1,
		.wait = wait,
		.process = key->process,
		.pid = profile_thread(f->profile, profile_wait(f->profile, wait)->thread)->pid,
		.frame = -1,
		FINDING_OWN_ONLY,
		.loop = key->loop,
		.is_yield = is_yield,
		.is_spin = is_yield && rule && g_str_has_prefix(rule->name, "yield-"),	/* of a runtime */
		.is_doubtful = rule && g_str_has_prefix(rule->name, RULES_NOT_LOOKED_AT),
	};
	uint64_t none = 0;

	g_array_append_val(f->rows, row);
	g_array_append_val(m->longest_ns, none);
	g_hash_table_insert(m->index, g_memdup2(key, sizeof(*key)), GUINT_TO_POINTER(f->rows->len));
	return f->rows->len - 1;
}

/* Adds a part of a wait for that reason; returns the row's id. */
static uint32_t add(struct maker *m, const struct key *key, uint32_t wait, uint64_t ns, bool has_shape)
{
	struct findings *f = m->f;
	const struct wait *w = profile_wait(f->profile, wait);
	uint32_t at = row_of(m, key, wait);
	struct finding *row = &g_array_index(f->rows, struct finding, at);
	uint64_t *longest_ns = &g_array_index(m->longest_ns, uint64_t, at);

	row->time_ns += ns;
	row->time_se_ns = hypot(row->time_se_ns, (double)w->off_cpu_se_ns);
	f->matters_ns += ns;
	if (profile_thread(f->profile, w->thread)->pid != row->pid)
		row->pid = 0;
	if (ns >= *longest_ns) {
		*longest_ns = ns;
		row->wait = wait;
		row->frame = finding_frame(f, wait);
		row->object = reasons_object(f->reasons, wait);
	}
	if (hash_new_pair(m->threads, at, w->thread))
		row->threads_cnt++;
	row->count += w->count;
	if (!has_shape)
		return row->id;
	if (m->rings[wait] && !row->deadlock) {
		row->deadlock = wait + 1;
		row->deadlock_next = m->rings[wait];
	}
	if (w->max_ns > row->max_ns) {
		row->max_ns = w->max_ns;
		row->longest = wait + 1;
	}
	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		row->hist[i] += w->hist[i];
	row->durations_ns += wait_off_cpu_ns(w);
	return row->id;
}

static struct finding_class *class_of(struct maker *m, uint32_t thread)
{
	struct findings *f = m->f;
	const char *program = f->programs[thread];
	uint32_t at = GPOINTER_TO_UINT(g_hash_table_lookup(m->classes, program));

	if (!at) {
		struct finding_class c = { .process = program, .pid = profile_thread(f->profile, thread)->pid };

		g_array_append_val(f->classes, c);
		at = f->classes->len;
		g_hash_table_insert(m->classes, (gpointer)program, GUINT_TO_POINTER(at));
	}
	return &g_array_index(f->classes, struct finding_class, at - 1);
}

/* Adds the accounts, before waits explain them. */
static void add_accounts(struct maker *m)
{
	const struct profile *p = m->f->profile;
	/* set of (class, pid) */
	g_autoptr(GHashTable) pids = g_hash_table_new(hash_number, NULL);

	EACH_ROW(i, const struct thread, t, p->threads) {
		if (!is_selected(m, i))
			continue;
		struct finding_class *c = class_of(m, i);
		if (hash_new_pair(pids, (uint32_t)(c - &g_array_index(m->f->classes, struct finding_class, 0)), t->pid))
			c->processes_cnt++;
		c->threads_cnt++;
		c->observed_ns += thread_observed_ns(t);
		c->on_cpu_ns += t->on_cpu_ns;
		c->unlisted_ns += thread_off_cpu_ns(t);
		c->residual_ns += thread_residual_ns(t);
		c->switches += t->switches;
	}
	EACH_ROW(i, struct finding_class, c, m->f->classes)
		if (c->processes_cnt > 1)
			c->pid = 0;
}

/*
 * For what holds up an event loop: the innermost function of the program that is not in a package, where something
 * blocking was called.
 */
static int64_t loop_frame(const struct findings *f, uint32_t user)
{
	const struct profile *p = f->profile;

	for (uint32_t n = user; n; n = profile_get_node(p, n)->parent) {
		uint32_t frame = profile_get_node(p, n)->frame;
		const struct frame *fr = profile_get_frame(p, frame);

		if (fr->name && fr->module && g_str_has_suffix(fr->module, ".py") && !plumbing_is_scripts_library(fr))
			return frame;
	}
	return -1;
}

struct finding finding_plain(const struct finding *row)
{
	return (struct finding){
		.reason = row->reason,
		.wait = row->wait,
		.process = row->process,
		.frame = row->frame,
		.object = row->object,
		FINDING_OWN_ONLY,
	};
}

struct finding finding_of_wait(const struct findings *f, uint32_t wait)
{
	const struct wait *w = profile_wait(f->profile, wait);

	return (struct finding){
		.reason = reasons_of(f->reasons, wait),
		.wait = wait,
		.process = f->programs[w->thread],
		.frame = finding_frame(f, wait),
		.object = w->object,
		FINDING_OWN_ONLY,
	};
}

int64_t finding_frame(const struct findings *f, uint32_t wait)
{
	uint32_t user = profile_wait(f->profile, wait)->user;
	int64_t frame = reasons_loop(f->reasons, wait) ? loop_frame(f, user) : -1;

	return frame >= 0 ? frame : plumbing_user_parent(reasons_plumbing(f->reasons), user);
}

/* Whom it asks: of a name server a rule knows that, else the kind of the socket.  NULL: nobody, or unknown. */
static const char *asks_whom(const struct findings *f, uint32_t wait)
{
	const struct rule *rule = reasons_rule(f->reasons, wait);
	const struct object *o = profile_wait_object(f->profile, profile_wait(f->profile, wait));

	if (!rule || rule->reason != REASON_NETWORK_RECEIVE)
		return NULL;
	return rule->protocol && *rule->protocol ? g_intern_string(rule->protocol) : o && *o->place ? o->place : NULL;
}

/* The program's waiting function; of one without name whom it asks, so that these are told apart.  NULL: unknown. */
static const char *own_function(const struct maker *m, uint32_t wait)
{
	int64_t frame = finding_frame(m->f, wait);
	const char *name = frame >= 0 ? profile_get_frame(m->f->profile, (uint32_t)frame)->name : NULL;

	return name ?: asks_whom(m->f, wait);
}

/* Native functions of one name are one: files of programs and libraries are copied and replaced. */
static const char *script_of(const struct maker *m, uint32_t wait)
{
	int64_t at = finding_frame(m->f, wait);
	const struct frame *frame = at >= 0 ? profile_get_frame(m->f->profile, (uint32_t)at) : NULL;

	return frame && frame->name && g_strcmp0(frame->module, frame->file) == 0 ? frame->module : NULL;
}

/* Parking and joining use a separate word per thread: counting these says nothing. */
static bool is_counted(const struct object *o)
{
	return object_is_lock(o) && o->kind != LOCK_PARK && o->kind != LOCK_JOIN;
}

static void count_lock(struct maker *m, struct finding *row, uint32_t i)
{
	const struct wait *w = profile_wait(m->f->profile, i);

	row->locks_cnt += hash_new_pair(m->members, row->id, m->locks[w->object]);
	row->lock_waiters_cnt += hash_new_pair(m->waiters, m->locks[w->object], w->thread);
}

/* A word on the waiter's stack (parking_lot has one per thread), or a condition: not the lock itself. */
static bool is_parking_place(const struct object *o)
{
	return !lock_is_held(o) || g_str_has_prefix(o->name, "stack of thread ");
}

/* Each thread, or each wait, has a condition of its own, as in the JVM, Ruby and Python: their number tells nothing. */
static void forget_own_words(struct findings *f)
{
	EACH_ROW(i, struct finding, row, f->rows) {
		bool is_own = row->locks_cnt >= row->threads_cnt && row->lock_waiters_cnt == row->locks_cnt;

		row->has_own_words = is_own && row->object &&
				     is_parking_place(profile_get_object(f->profile, row->object - 1));
		if (row->has_own_words && row->locks_cnt == row->threads_cnt)
			row->locks_cnt = MIN(row->locks_cnt, 1);
	}
}

static void add_sleep(struct maker *m, struct finding_class *c, uint32_t i)
{
	struct findings *f = m->f;
	const struct wait *w = profile_wait(f->profile, i);
	enum reason reason = reasons_of(f->reasons, i);
	enum idle_kind idle = f->has_kernel_only && reasons_idle(f->reasons, i) == IDLE_KERNEL
				      ? IDLE_NOT
				      : reasons_idle(f->reasons, i);
	const struct object *o = profile_wait_object(f->profile, w);

	if (idle) {
		c->idle_ns += w->blocked_ns;
		f->idle_ns[idle] += w->blocked_ns;
		if (idle == IDLE_KERNEL)
			f->idle_kernel_cnt += hash_new_pair(m->threads, IDLE_KERNEL_ROW, w->thread);
		else
			f->idle_threads_cnt += hash_new_pair(m->threads, IDLE_ROW, w->thread);
		return;
	}
	struct key key = { .process = f->programs[w->thread], .reason = reason };
	bool is_anywhere = reasons_is_anywhere(f->reasons, i);

	if (o && !is_anywhere && lock_is_held(o) && reason_family(reason) == FAMILY_LOCK)
		key.lock = m->kinds[m->locks[w->object]];
	else
		key.function = is_anywhere ? NULL : own_function(m, i);
	key.module = key.function ? script_of(m, i) : NULL;
	if (!key.function && reason == REASON_LOCK_KERNEL && o && o->kind == OBJECT_FILE)	/* as for flock(1) */
		key.lock = m->locks[w->object];
	if (reason != REASON_LOCK_GIL && !is_anywhere)	/* caused by others */
		key.loop = reasons_loop(f->reasons, i);
	f->blocked_ns += w->blocked_ns;
	c->family_ns[reason_family(reason)] += w->blocked_ns;
	f->blocked_in[i] = add(m, &key, i, w->blocked_ns, true);
	if (o && is_counted(o))
		count_lock(m, &g_array_index(f->rows, struct finding, f->blocked_in[i] - 1), i);
}

static void add_queue(struct maker *m, struct finding_class *c, uint32_t i, uint64_t *throttled_ns)
{
	struct findings *f = m->f;
	const struct wait *w = profile_wait(f->profile, i);
	uint64_t ns = w->runnable_ns + w->preempted_ns, throttled = MIN(ns, throttled_ns[w->thread]);
	const struct rule *rule = reasons_rule(f->reasons, i);
	struct key key = { .process = f->programs[w->thread], .reason = REASON_CPU_THROTTLED };
	bool is_own = w->state == 'R';

	if (is_own && !throttled && reasons_of(f->reasons, i) == REASON_CPU_THROTTLED)
		throttled = ns;
	else
		throttled_ns[w->thread] -= throttled;
	f->queue_ns += ns;
	c->throttled_ns += throttled;
	c->queue_ns += ns - throttled;
	if (throttled)
		f->queued_in[i] = add(m, &key, i, throttled, is_own);
	key.reason = REASON_CPU_QUEUE;
	key.function = is_own && rule_is_yield(rule) ? own_function(m, i) : NULL;
	if (ns > throttled)
		f->queued_in[i] = add(m, &key, i, ns - throttled, is_own);
}

static void add_waits(struct maker *m)
{
	const struct profile *p = m->f->profile;
	g_autofree uint64_t *throttled_ns = throttled_by_thread(p);

	EACH_ROW(i, const struct wait, w, p->waits) {
		if (!is_selected(m, w->thread)) {
			if (!m->selection || m->selection->waits[i]) {
				m->f->idle_ns[IDLE_KERNEL] += w->blocked_ns;
				m->f->idle_kernel_cnt += hash_new_pair(m->threads, IDLE_KERNEL_ROW, w->thread);
			}
			continue;
		}
		if (m->selection && !m->selection->waits[i])
			continue;
		struct finding_class *c = class_of(m, w->thread);
		uint64_t all = wait_off_cpu_ns(w);

		c->unlisted_ns -= MIN(all, c->unlisted_ns);
		if (w->blocked_ns)
			add_sleep(m, c, i);
		if (w->runnable_ns + w->preempted_ns)
			add_queue(m, c, i, throttled_ns);
		if (!reasons_is_idle(m->f->reasons, i)) {
			c->max_ns = MAX(c->max_ns, w->max_ns);
			for (unsigned s = 0; s < PROFILE_HIST_SLOTS; s++)
				c->hist[s] += w->hist[s];
			c->durations_ns += all;
		}
	}
}

/* If wakers are known, so is each thread's run-queue time after a sleep. */
static void add_queue_shape(struct maker *m)
{
	const struct profile *p = m->f->profile;

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		uint32_t thread = profile_wait(p, wake->wait)->thread;
		const struct key key = { .process = m->f->programs[thread], .reason = REASON_CPU_QUEUE };
		uint32_t at = GPOINTER_TO_UINT(g_hash_table_lookup(m->index, &key));

		if (!at || !wake->runnable_ns || !is_selected(m, thread) ||
		    (m->selection && !m->selection->waits[wake->wait]))
			continue;
		struct finding *row = &g_array_index(m->f->rows, struct finding, at - 1);
		for (unsigned s = 0; s < PROFILE_HIST_SLOTS; s++)
			row->hist[s] += wake->hist[s];
		row->durations_ns += wake->runnable_ns;
		row->max_ns = row->longest = 0; /* no wake has the longest */
	}
}

/* CPU time of callbacks in a finding's loop: by process and loop, and the function with most of it. */
static void add_loop_samples(const struct maker *m, struct finding *row)
{
	const struct profile *p = m->f->profile;
	g_autofree uint64_t *sums = g_new0(uint64_t, (gsize)p->frames->len + 1);	/* by frame + 1 */
	uint64_t most = 0;

	EACH_ROW(i, const struct wait, w, p->waits) {
		if (w->state != ON_CPU_STATE || reasons_loop(m->f->reasons, i) != row->loop ||
		    m->f->programs[w->thread] != row->process || (m->selection && !m->selection->waits[i]))
			continue;
		const int64_t frame = finding_frame(m->f, i);

		sums[frame + 1] += w->on_cpu_ns;
		row->loop_on_cpu_ns += w->on_cpu_ns;
		if (sums[frame + 1] > most) {
			most = sums[frame + 1];
			row->loop_on_cpu_frame = frame;
		}
	}
}

bool finding_has_own_locks(const struct finding *row)
{
	return row->reason == REASON_LOCK_CONDITION && row->locks_cnt > 1 &&
	       (row->lock_waiters_cnt == row->locks_cnt || row->locks_cnt >= row->threads_cnt);
}

const char *finding_process_name(const struct findings *f, uint32_t pid)
{
	const struct thread *last = NULL;

	EACH_ROW(i, const struct thread, t, f->profile->threads)	/* it may have become another program */
		if (t->pid == pid && (!last || t->from_ns > last->from_ns))
			last = t;
	return last ? last->process : NULL;
}

struct finding *finding_of_id(const struct findings *f, uint32_t id)
{
	return id ? FIRST_ROW(struct finding, row, f->rows, row->id == id, row, NULL) : NULL;
}

struct finding *finding_cause(const struct findings *f, const struct finding *row)
{
	struct finding *cause = row->by.does_ns && row->by.does_wait ?
					finding_of_id(f, f->blocked_in[row->by.does_wait - 1]) : NULL;

	return cause != row ? cause : NULL;
}

bool finding_ends_far(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);
	bool is_connection = o && (o->kind == OBJECT_SOCKET || object_upstream(o));
	const struct waker by = { .pid = row->by.pid, .comm = row->by.comm };

	/* a master owns the socket, and its workers answer */
	return is_connection && o->pid && by.pid && by.pid != finding_pid(f, row) &&
	       (by.pid == o->pid || idle_is_asked(f->profile, profile_wait(f->profile, row->wait), &by));
}

unsigned finding_follow(const struct findings *f, const struct finding *row,
			const struct finding *ret[FINDING_HOPS_MAX])
{
	unsigned cnt = 0;

	for (const struct finding *next = row; cnt < FINDING_HOPS_MAX; ret[cnt++] = next) {
		next = finding_cause(f, next);
		if (!next || !next->by.does_ns || !finding_ends_far(f, next) || next->by.pid == row->by.pid)
			break;
		for (unsigned k = 0; k < cnt; k++)
			if (next->by.pid == ret[k]->by.pid)
				return cnt;
	}
	return cnt;
}

bool finding_has_process(const struct findings *f, const struct finding *row, uint32_t pid)
{
	const struct profile *p = f->profile;

	for (uint32_t i = 0; i < p->waits->len; i++)
		if (profile_thread(p, profile_wait(p, i)->thread)->pid == pid && finding_has_wait(f, row, i))
			return true;
	return false;
}

static void count_looks(struct findings *f)
{
	const struct profile_info *info = &f->profile->info;
	double each_ns = info->looks.rounds ? (double)info->duration_ns / (double)info->looks.rounds : 0;

	for (guint i = 0; each_ns > 0 && i < f->rows->len; i++) {
		struct finding *row = &g_array_index(f->rows, struct finding, i);

		row->looks = (uint64_t)MAX(1, llround((double)row->time_ns / each_ns));
		row->is_doubtful = (double)row->time_ns <= row->time_se_ns;
	}
}

ORDER(compare_findings, struct finding, ORDER_HIGH_OF(finding_rank_ns) ORDER_LOW(wait))

uint64_t finding_class_matters_ns(const struct finding_class *c)
{
	uint64_t sum = c->queue_ns + c->throttled_ns;

	for (unsigned i = 0; i < FAMILY_COUNT; i++)
		sum += c->family_ns[i];
	return sum;
}

static int compare_classes(gconstpointer va, gconstpointer vb)
{
	const struct finding_class *a = va, *b = vb;
	uint64_t x = finding_class_matters_ns(a) + a->on_cpu_ns, y = finding_class_matters_ns(b) + b->on_cpu_ns;

	if (x != y)
		return x > y ? -1 : 1;
	return strcmp(a->process, b->process);
}

static bool has_user_threads(const struct profile *p, const struct selection *selection)
{
	for (uint32_t i = 0; i < p->threads->len; i++) {
		if ((!selection || selection->threads[i]) && !(profile_thread(p, i)->flags & THREAD_KERNEL))
			return true;
	}
	return false;
}

/* Finds locks that somebody waits for during nearly the whole window.  On a whole machine there are always some. */
static void find_stuck(struct findings *f)
{
	if (profile_is_of_machine(f->profile) || !f->profile->info.duration_ns)
		return;
	EACH_ROW(i, struct finding, row, f->rows) {
		bool is_exclusive = row->reason == REASON_LOCK_MUTEX || row->reason == REASON_LOCK_RWLOCK ||
				    row->reason == REASON_LOCK_KERNEL;

		if (is_exclusive && finding_fills_window(f->profile, row->max_ns))
			row->is_stuck = true;
	}
}

/* A fork of a large process waits for a short-lived child and copies for as long: reported with what that delays. */
static void find_forks(struct findings *f)
{
	EACH_ROW(i, const struct finding, fork, f->rows) {
		for (guint k = 0; fork->is_fork && k < f->rows->len; k++) {
			struct finding *row = &g_array_index(f->rows, struct finding, k);

			if (row->reason == REASON_CHILD_EXIT && row->process == fork->process &&
			    row->by.comm == row->process && row->frame >= 0 && row->frame == fork->by.frame)
				row->is_told_with = true;
		}
	}
}

#define LONGER 4

/* Each pause is short, and the other wait is sometimes noticeable. */
static bool is_short_beside(const struct finding *pause, const struct finding *other)
{
	if (other->count <= 1 || other->reason == REASON_CPU_QUEUE || other->is_told_elsewhere)
		return false;
	return pause->max_ns && pause->max_ns < FINDING_NOTICED_NS && other->max_ns >= FINDING_NOTICED_NS &&
	       other->max_ns / LONGER >= pause->max_ns;
}

/* A pause does not rank first if another finding of the process has a known cause and is worth reporting. */
static void find_pauses_beside(struct findings *f)
{
	EACH_FIRST(i, cause, f, FINDINGS_TOLD_MAX) {
		bool is_held_up = cause->by.is_holder && cause->by.does_ns && cause->by.does == REASON_CPU_QUEUE;
		bool has_cause = finding_has_limit(cause) || cause->bursts.cnt || is_held_up;
		bool is_worth = !cause->busy && cause->reason != REASON_SLEEP &&
				cause->time_ns >= f->matters_ns / CAUSE_PART;

		for (guint k = 0; is_worth && k < f->rows->len; k++) {
			struct finding *row = &g_array_index(f->rows, struct finding, k);

			if (row->reason == REASON_SLEEP && row->process == cause->process && !row->loop &&
			    !row->limit.limit && (has_cause || is_short_beside(row, cause)))
				row->is_beside_cause = true;
		}
	}
}

/* Waits for pages evicted by a memory limit: in many functions if these are program code. */
static uint64_t refaults_ns(const struct findings *f, const char *process)
{
	uint64_t ns = 0;

	EACH_ROW(i, const struct finding, row, f->rows)
		ns += row->process == process && row->limit.refaults && row->limit.kernel_pct >= KERNEL_PCT
			      ? row->time_ns
			      : 0;
	return ns;
}

/* The lock's holder waits for such pages. */
static bool is_held_in_refaults(const struct findings *f, const struct finding *lock)
{
	for (guint i = 0; lock->reason == REASON_LOCK_GIL && lock->by.frame >= 0 && i < f->rows->len; i++) {
		const struct finding *row = &g_array_index(f->rows, struct finding, i);

		if (row->process == lock->process && row->limit.refaults && row->frame == lock->by.frame)
			return true;
	}
	return false;
}

/*
 * Page faults at a memory limit and reclaim use CPU time, too.  If that is most of what the program runs, its running
 * and its run-queue time are no findings beside the limit's.
 */
static void find_costs(struct findings *f)
{
	EACH_ROW(i, struct finding, row, f->rows) {
		bool is_queue = row->reason == REASON_CPU_QUEUE && !row->is_yield && !row->busy;

		row->is_cost = (is_queue || row->busy == BUSY_LOOP || row->busy == BUSY_POOL ||
				is_held_in_refaults(f, row)) &&
			       refaults_ns(f, row->process) > f->matters_ns / CAUSE_PART;
	}
}

struct findings *findings_new(const struct profile *p, const struct selection *selection)
{
	struct findings *f = g_new0(struct findings, 1);
	struct maker m = {
		.f = f,
		.selection = selection,
		.locks = lock_ids_new(p),
		.index = g_hash_table_new_full(key_hash, key_equal, g_free, NULL),
		.threads = g_hash_table_new(hash_number, NULL),
		.members = g_hash_table_new(hash_number, NULL),
		.waiters = g_hash_table_new(hash_number, NULL),
		.classes = g_hash_table_new(NULL, NULL),
		.longest_ns = g_array_new(FALSE, FALSE, sizeof(uint64_t)),
	};

	m.rings = deadlock_rings_new(p, m.locks);
	f->profile = p;
	f->selection = selection;
	f->reasons = reasons_new(p, NULL);
	f->strings = g_string_chunk_new(64);
	f->programs = actors_programs(p, f->strings);
	m.kinds = lock_kinds_new(f, m.locks, m.rings);
	f->blocked_in = g_new0(uint32_t, (gsize)p->waits->len + 1);
	f->queued_in = g_new0(uint32_t, (gsize)p->waits->len + 1);
	f->rows = g_array_new(FALSE, FALSE, sizeof(struct finding));
	f->classes = g_array_new(FALSE, FALSE, sizeof(struct finding_class));
	f->has_kernel_only = !has_user_threads(p, selection);
	if (!p->info.rows_are) {
		add_accounts(&m);
		add_waits(&m);
		forget_own_words(f);
	}
	add_queue_shape(&m);
	find_stuck(f);
	clocks_find(f);
	count_looks(f);
	for (unsigned i = 0; i < IDLE_KIND_COUNT; i++)
		f->idle_sum_ns += i == IDLE_KERNEL ? 0 : f->idle_ns[i];
	g_array_sort(f->rows, compare_findings);
	for (guint i = 0; i < MIN(f->rows->len, FINDINGS_WITH_CAUSES); i++)
		if (g_array_index(f->rows, struct finding, i).loop)
			add_loop_samples(&m, &g_array_index(f->rows, struct finding, i));
	g_array_sort(f->classes, compare_classes);
	findings_find_causes(f, m.locks);
	both_stuck_find(f, m.locks);
	clocks_find_waited_for(f);
	behind_find(f);
	find_forks(f);
	missed_find(f);
	pauses_find(f);
	spawns_find(f);
	if (!p->info.imported && !p->info.has_requests && !p->info.looks.rounds) {
		busy_find(f);
		spins_find(f);
	}
	limits_find(f);
	bursts_find(f);
	hog_find(f);
	find_pauses_beside(f);
	find_costs(f);
	full_find_refusals(f);
	unended_find(f);
	behind_find_peers(f);
	chain_find(f);
	asked_find(f);
	requests_of_find(f);
	serial_find(f);
	g_array_sort(f->rows, compare_findings);
	one_by_one_find(f);
	g_hash_table_unref(m.index);
	g_hash_table_unref(m.threads);
	g_hash_table_unref(m.members);
	g_hash_table_unref(m.waiters);
	g_hash_table_unref(m.classes);
	g_array_unref(m.longest_ns);
	g_free(m.locks);
	g_free(m.kinds);
	g_free(m.rings);
	return f;
}

FREES(findings_free, struct findings, f, g_array_unref(f->rows); g_free(f->blocked_in); g_free(f->queued_in);
      g_array_unref(f->classes); serial_free(f->serial); routes_free(f->routes); reasons_free(f->reasons);
      g_free(f->programs); g_string_chunk_free(f->strings))
