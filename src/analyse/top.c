/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/top.h"

#include <math.h>
#include <string.h>

#include "analyse/locks.h"
#include "analyse/plumbing.h"
#include "analyse/reason/reasons.h"
#include "base/hash.h"
#include "base/order.h"
#include "features/wakers/analysis.h"

static const char *const by_names[TOP_BY_COUNT] = {
	[TOP_BY_LEAF] = "leaf",	     [TOP_BY_STACK] = "stack", [TOP_BY_THREAD] = "thread",
	[TOP_BY_PROCESS] = "process", [TOP_BY_COMM] = "comm",	[TOP_BY_STATE] = "state",
	[TOP_BY_SYSCALL] = "syscall", [TOP_BY_REASON] = "reason", [TOP_BY_OBJECT] = "object",
	[TOP_BY_SERVICE] = "service", [TOP_BY_ROUTE] = "route", [TOP_BY_POD] = "pod",
	[TOP_BY_CONTAINER] = "container", [TOP_BY_UNIT] = "unit",
};

const char *top_by_name(enum top_by by)
{
	return (unsigned)by < TOP_BY_COUNT ? by_names[by] : "unknown";
}

const char *top_by_names(void)
{
	return "leaf, stack, thread, process, service, pod, container, unit, comm, state, syscall, reason, object, route, "
	       "attribute:KEY";
}

bool top_by_parse(const char *name, enum top_by *ret_by)
{
	for (unsigned i = 0; i < TOP_BY_COUNT; i++) {
		if (g_strcmp0(name, by_names[i]) == 0) {
			*ret_by = (enum top_by)i;
			return true;
		}
	}
	return false;
}

const char *top_by_attribute(const char *name)
{
	static const char prefix[] = "attribute:";

	return g_str_has_prefix(name, prefix) && name[strlen(prefix)] ? name + strlen(prefix) : NULL;
}

/* What distinguishes rows; unused members are 0, strings are interned. */
struct row_key {
	const char *name;
	uint32_t a, b, c, d, e;
};

HASH_BYTES(key, struct row_key)

/* One stack may read thousands of files, or wait for as many children: those get no rows of their own. */
static uint32_t object_told_apart(const struct top *t, const struct profile *p, const struct wait *w)
{
	const struct object *o = profile_wait_object(p, w);
	bool is_many = o && (o->kind == OBJECT_FILE || o->kind == OBJECT_DIRECTORY || o->kind == OBJECT_FAULT ||
			     o->kind == OBJECT_CHILD);

	return is_many ? 0 : t->locks[w->object];
}

/* Locks with the same name may have different addresses or be in other processes. */
static void set_object(struct row_key *key, const struct profile *p, const struct wait *w)
{
	const struct object *o = profile_wait_object(p, w);

	if (!o) {
		key->b = w->state == 'R';
		return;
	}
	key->name = o->name;
	key->a = o->kind + 1u;
	key->c = (uint32_t)(o->addr >> 32);
	key->d = (uint32_t)o->addr;
	key->e = object_is_lock(o) ? o->pid : 0;
}

/* For a part of a wait from split(): `object` is the whole wait's index. */
static enum reason reason_of(const struct top *t, const struct wait *part)
{
	if (part->state == 'R' && !(part->flags & WAIT_THROTTLED))
		return REASON_CPU_QUEUE;
	return reasons_of(t->reasons, part->object);
}

/* "pod:NAMESPACE/WORKLOAD" without a trailing container name. */
static const char *pod_name(const struct top *t, const char *service)
{
	const char *workload = strchr(service, '/'), *container = workload ? strchr(workload + 1, '/') : NULL;
	g_autofree char *pod = container ? g_strndup(service, (gsize)(container - service)) : g_strdup(service);

	return g_string_chunk_insert_const(t->strings, pod);
}

/* By the agent's names of units (docs/agent.md). */
static bool is_unit(const char *service)
{
	return g_str_has_suffix(service, ".service") || g_str_has_suffix(service, ".scope") ||
	       g_str_has_suffix(service, ".slice");
}

/* Equal names share a pointer. */
static const char *service_name(const struct top *t, const struct thread *th)
{
	static const char none[] = "(no service)", kernel[] = "(kernel)", no_pod[] = "(no pod)",
			  no_container[] = "(no container)", no_unit[] = "(no unit)";
	const char *service = th->service ? th->service : "";
	const bool is_pod = g_str_has_prefix(service, "pod:");

	if (!*service && th->flags & THREAD_KERNEL)
		return kernel;
	switch (t->by) {
	case TOP_BY_POD: return is_pod ? pod_name(t, service) : no_pod;
	case TOP_BY_CONTAINER: return is_pod || g_str_has_prefix(service, "container:") ? service : no_container;
	case TOP_BY_UNIT: return is_unit(service) ? service : no_unit;
	default: return *service ? service : none;
	}
}

static bool is_by_service(enum top_by by)
{
	return by == TOP_BY_SERVICE || by == TOP_BY_POD || by == TOP_BY_CONTAINER || by == TOP_BY_UNIT;
}

/* Equal names share a pointer. */
static const char *route_name(const struct top *t, const struct wait *w)
{
	static const char none[] = "(no request)", none_of[] = "(not told)";
	const char *route = routes_of(t->routes, w->user);

	return route ? route : t->attribute ? none_of : none;
}

/* Strings from plumbing.h and comms are interned. */
static struct row_key key_of(const struct top *t, const struct profile *p, const struct wait *w)
{
	const struct thread *th = profile_thread(p, w->thread);
	struct row_key key;

	memset(&key, 0, sizeof(key));	/* including padding: keys are compared bytewise */
	switch (t->by) {
	case TOP_BY_LEAF: key.name = plumbing_leaf(t->plumbing, w); break;
	case TOP_BY_SYSCALL: key.name = plumbing_syscall(t->plumbing, w); break;
	case TOP_BY_COMM: key.name = th->comm; break;
	case TOP_BY_SERVICE:
	case TOP_BY_POD:
	case TOP_BY_CONTAINER:
	case TOP_BY_UNIT: key.name = service_name(t, th); break;
	case TOP_BY_ROUTE: key.name = route_name(t, w); break;
	case TOP_BY_STATE: key.a = w->state; break;
	case TOP_BY_THREAD: key.a = w->thread; break;
	case TOP_BY_PROCESS:
		key.name = th->process;
		key.a = th->pid;
		break;
	case TOP_BY_STACK:
		/* not the process: equal stacks are one row, and their files distinguish programs */
		key.name = th->comm;
		key.b = w->user;
		key.c = w->kernel;
		key.d = w->state;
		key.e = object_told_apart(t, p, w);
		break;
	case TOP_BY_OBJECT: set_object(&key, p, w); break;
	case TOP_BY_REASON: key.a = reason_of(t, w); break;
	case TOP_BY_COUNT: break;
	}
	return key;
}

static char *object_name(const struct profile *p, const struct wait *w)
{
	GString *s = g_string_new(NULL);

	object_append_wait_label(s, p, w);
	return g_string_free(s, FALSE);
}

/* "comm (12/34)", with the known ids. */
static char *thread_name(const struct profile *p, const char *comm, uint32_t pid, uint32_t tid)
{
	comm = comm ? comm : "";
	if (p->info.unknown & UNKNOWN_IDS || (p->info.imported && !pid && !tid))
		return g_strdup(comm);
	if (p->info.imported && !pid)
		return g_strdup_printf("%s (tid %u)", comm, tid);
	return tid ? g_strdup_printf("%s (%u/%u)", comm, pid, tid) : g_strdup_printf("%s (%u)", comm, pid);
}

static const char *row_name(const struct top *t, const struct profile *p, const struct wait *w)
{
	const struct thread *th = profile_thread(p, w->thread);
	g_autofree char *name = NULL;

	switch (t->by) {
	case TOP_BY_LEAF:
	case TOP_BY_STACK: return plumbing_leaf(t->plumbing, w);
	case TOP_BY_SYSCALL: return plumbing_syscall(t->plumbing, w);
	case TOP_BY_COMM: return th->comm ? th->comm : "";
	case TOP_BY_SERVICE:
	case TOP_BY_POD:
	case TOP_BY_CONTAINER:
	case TOP_BY_UNIT: return service_name(t, th);
	case TOP_BY_ROUTE: return route_name(t, w);
	case TOP_BY_REASON: return reason_name(reason_of(t, w));
	case TOP_BY_STATE: name = g_strdup_printf("%c %s", w->state, state_text(w->state)); break;
	case TOP_BY_THREAD: name = thread_name(p, th->comm, th->pid, th->tid); break;
	case TOP_BY_PROCESS: name = thread_name(p, th->process, th->pid, 0); break;
	case TOP_BY_OBJECT: name = object_name(p, w); break;
	case TOP_BY_COUNT: break;
	}
	return g_string_chunk_insert(t->strings, name ? name : "");
}

/* For rows without durations; an import may have a million of them. */
static const uint64_t no_hist[PROFILE_HIST_SLOTS];

static void drop_hist(struct top_row *row)
{
	if (row->hist != no_hist)
		g_free((gpointer)row->hist);
	row->hist = no_hist;
}

static void add_hist(struct top_row *row, const struct wait *w)
{
	if (row->hist == no_hist && memcmp(w->hist, no_hist, sizeof(w->hist)) == 0)
		return;
	if (row->hist == no_hist)
		row->hist = g_new0(uint64_t, PROFILE_HIST_SLOTS);
	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		((uint64_t *)row->hist)[i] += w->hist[i];
}

static void start_row(const struct top *t, const struct profile *p, const struct wait *w, struct top_row *row)
{
	memset(row, 0, sizeof(*row));
	row->name = row_name(t, p, w);
	row->hist = no_hist;
	row->thread = w->thread;
	row->user_parent = -1;
	if (t->by == TOP_BY_STACK) {
		row->user = w->user;
		row->kernel = w->kernel;
		row->object = object_told_apart(t, p, w);
		row->user_parent = plumbing_user_parent(t->plumbing, w->user);
	}
	if (t->by == TOP_BY_STACK || t->by == TOP_BY_STATE)
		row->state = w->state;
	if (t->by == TOP_BY_REASON)
		row->reason = (uint8_t)reason_of(t, w);
}

/*
 * Adds what waits tell about a row whose time and count are known otherwise.  durations_ns: sum of those in its
 * histogram.
 */
static void add_shape(struct top_row *row, const struct wait *w, uint32_t index, uint64_t durations_ns)
{
	if (w->max_ns > row->max_ns) {
		row->max_ns = w->max_ns;
		row->longest = index + 1;
	}
	add_hist(row, w);
	row->durations_ns += durations_ns;
}

static void add_wait(struct top *t, struct top_row *row, const struct wait *w)
{
	uint64_t weight = weight_of_wait(w, t->weight);

	row->weight += weight;
	t->sum += weight;
	row->blocked_ns += w->blocked_ns;
	row->runnable_ns += w->runnable_ns;
	row->preempted_ns += w->preempted_ns;
	row->off_cpu_ns += wait_off_cpu_ns(w);
	row->on_cpu_ns += w->on_cpu_ns;
	row->count += w->state == ON_CPU_STATE ? 0 : w->count;
	row->samples += w->state == ON_CPU_STATE ? w->count : 0;
	if (w->state != ON_CPU_STATE || !t->sums_on_cpu)
		row->off_cpu_se_ns = hypot(row->off_cpu_se_ns, (double)w->off_cpu_se_ns);
	row->count_se = hypot(row->count_se, (double)w->count_se);
}

/* Ties are broken by ids that do not depend on hashing. */
ORDER(row_compare, struct top_row,
      ORDER_HIGH(weight) ORDER_TEXT(name) ORDER_LOW(thread) ORDER_LOW(state) ORDER_LOW(user) ORDER_LOW(kernel)
      ORDER_LOW(object))

static uint64_t whole_of(const struct top *t, const struct profile *p, const struct selection *selection)
{
	uint64_t whole = 0;

	if (t->weight == WEIGHT_COUNT || t->without_idle)
		return t->sum;
	EACH_ROW(i, const struct thread, th, p->threads) {
		if (selection && !selection->threads[i])
			continue;
		switch (t->weight) {
		case WEIGHT_BLOCKED: whole += th->blocked_ns; break;
		case WEIGHT_RUNNABLE: whole += th->runnable_ns; break;
		case WEIGHT_PREEMPTED: whole += th->preempted_ns; break;
		case WEIGHT_ON_CPU: whole += th->on_cpu_ns; break;
		case WEIGHT_TIME: whole += th->on_cpu_ns + thread_off_cpu_ns(th); break;
		default: whole += thread_off_cpu_ns(th); break;
		}
	}
	return whole;
}

/* Finds or adds the row for w. */
static uint32_t row_of(struct top *t, const struct profile *p, GHashTable *index, const struct wait *w)
{
	struct row_key key = key_of(t, p, w);
	gpointer at;

	if (g_hash_table_lookup_extended(index, &key, NULL, &at))
		return GPOINTER_TO_UINT(at);
	struct row_key *own = g_new(struct row_key, 1);
	struct top_row row;

	memcpy(own, &key, sizeof(key));
	start_row(t, p, w, &row);
	g_array_append_val(t->rows, row);
	g_hash_table_insert(index, own, GUINT_TO_POINTER(t->rows->len - 1));
	return t->rows->len - 1;
}

/* Distributions from another tool: their sums are estimates. */
static bool is_estimate(const struct profile *p)
{
	return p->info.imported && p->waits->len && profile_wait(p, 0)->off_cpu_se_ns;
}

/* Whether rows of this kind have exact totals apart from waits, which then only add distributions. */
static bool has_totals(const struct profile *p, const struct selection *selection, enum top_by by, enum weight weight)
{
	bool by_state = by == TOP_BY_THREAD || by == TOP_BY_PROCESS || is_by_service(by) || by == TOP_BY_COMM ||
			by == TOP_BY_STATE;

	return by_state && weight != WEIGHT_TIME && weight != WEIGHT_ON_CPU && profile_is_sampled(p) &&
	       p->states->len && !(selection && selection->by_stack);
}

static void add_totals(struct top *t, const struct profile *p, const struct selection *selection, GHashTable *index)
{
	EACH_ROW(i, const struct state_total, total, p->states) {
		const struct wait w = {
			.thread = total->thread, .state = total->state, .count = total->count,
			.blocked_ns = total->blocked_ns, .runnable_ns = total->runnable_ns,
			.preempted_ns = total->preempted_ns,
		};

		if (selection && (!selection->threads[w.thread] ||
				  (selection->states && !strchr(selection->states, w.state))))
			continue;
		uint32_t at = row_of(t, p, index, &w);
		add_wait(t, &g_array_index(t->rows, struct top_row, at), &w);
	}
}

/*
 * By reason, a wait is two parts: blocked time, and the run-queue time after it, whose length is known if its waker
 * is.  A wait that was never in the run queue is one part; so is one in state R.
 */
static unsigned split(const struct profile *p, const struct wakes_by_wait *wakes, uint32_t index,
		      struct wait ret_parts[2], uint64_t ret_durations_ns[2])
{
	const struct wait *w = profile_wait(p, index);
	struct wait *sleep = &ret_parts[0], *queue = &ret_parts[1];

	*sleep = *w;
	sleep->object = index;
	ret_durations_ns[0] = wait_off_cpu_ns(w);
	if (w->state == 'R' || w->state == ON_CPU_STATE || !(w->runnable_ns + w->preempted_ns))
		return 1;
	sleep->runnable_ns = sleep->preempted_ns = 0;
	*queue = (struct wait){
		.thread = w->thread, .user = w->user, .kernel = w->kernel, .object = index, .state = 'R',
		.runnable_ns = w->runnable_ns, .preempted_ns = w->preempted_ns,
		.count = w->count, .count_se = w->count_se,
	};
	ret_durations_ns[1] = wakes_add_queue(p, wakes, index, queue->hist);
	return 2;
}

/* Run-queue durations are shown only if nearly all are known. */
#define KNOWN_OF_TEN 9

static void judge_queue(struct top_row *row)
{
	uint64_t known = 0;

	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		known += row->hist[i];
	if (!row->runnable_ns && known == row->count)	/* only preemptions, which have their own rows */
		return;
	row->max_ns = row->longest = 0;
	if (known * 10 < row->count * KNOWN_OF_TEN)
		drop_hist(row);
}

static void judge_queues(struct top *t)
{
	for (guint i = 0; i < t->rows->len; i++)
		if (g_array_index(t->rows, struct top_row, i).reason == REASON_CPU_QUEUE)
			judge_queue(&g_array_index(t->rows, struct top_row, i));
}

static struct top *top_make(struct plumbing *plumbing, const struct profile *p, const struct selection *selection,
			    enum top_by by, const char *attribute, enum weight weight)
{
	struct top *t = g_new0(struct top, 1);
	g_autoptr(GHashTable) index = g_hash_table_new_full(key_hash, key_equal, g_free, NULL);
	g_autoptr(GHashTable) seen = g_hash_table_new(hash_number, NULL);
	g_autoptr(GHashTable) pids = g_hash_table_new(hash_number, NULL);
	bool totals = has_totals(p, selection, by, weight);
	struct wakes_by_wait *wakes;

	t->by = by;
	t->attribute = attribute;
	t->weight = weight;
	t->rows_are = p->info.rows_are;
	t->without_idle = selection && selection->without_idle;
	t->is_exact = (totals || !profile_is_sampled(p)) && !is_estimate(p) && weight != WEIGHT_TIME &&
		      weight != WEIGHT_ON_CPU;
	t->sums_on_cpu = (by == TOP_BY_THREAD || by == TOP_BY_PROCESS || is_by_service(by) || by == TOP_BY_COMM ||
			  by == TOP_BY_STATE || by == TOP_BY_REASON) &&
			 !(selection && selection->by_stack);
	t->rows = g_array_new(FALSE, TRUE, sizeof(struct top_row));
	t->plumbing = plumbing;
	t->strings = g_string_chunk_new(4096);
	t->locks = lock_ids_new(p);
	t->reasons = by == TOP_BY_REASON ? reasons_new(p, NULL) : NULL;
	t->routes = by == TOP_BY_ROUTE ? routes_new_of(p, attribute) : NULL;
	wakes = by == TOP_BY_REASON ? wakes_by_wait_new(p) : NULL;
	if (totals)
		add_totals(t, p, selection, index);
	EACH_ROW(i, const struct wait, w, p->waits) {
		struct wait parts[2];
		uint64_t durations_ns[2] = { wait_off_cpu_ns(w) };

		if ((selection && !selection->waits[i]) || (w->state == ON_CPU_STATE && !weight_of_wait(w, weight)))
			continue;
		unsigned cnt = by == TOP_BY_REASON ? split(p, wakes, i, parts, durations_ns) : 1;
		for (unsigned k = 0; k < cnt; k++) {
			const struct wait *part = by == TOP_BY_REASON ? &parts[k] : w;
			uint32_t at = row_of(t, p, index, part);
			struct top_row *row = &g_array_index(t->rows, struct top_row, at);

			add_shape(row, part, i, durations_ns[k]);
			if (!totals)
				add_wait(t, row, part);
			if (by == TOP_BY_STACK || by == TOP_BY_REASON)
				row->threads_cnt += hash_new_pair(seen, at, part->thread);
			if (by == TOP_BY_STACK)
				row->processes_cnt += hash_new_pair(pids, at, profile_thread(p, part->thread)->pid);
		}
	}
	if (by == TOP_BY_REASON)
		judge_queues(t);
	wakes_by_wait_free(wakes);
	t->whole = whole_of(t, p, selection);
	g_array_sort(t->rows, row_compare);
	return t;
}

struct top *top_new(const struct profile *p, const struct selection *selection, enum top_by by,
		    enum weight weight)
{
	return top_make(plumbing_new(p), p, selection, by, NULL, weight);
}

struct top *top_new_beside(const struct top *other, const struct profile *p, const struct selection *selection,
			   enum top_by by, enum weight weight)
{
	return top_make(plumbing_ref(other->plumbing), p, selection, by, NULL, weight);
}

struct top *top_new_of(const struct profile *p, const struct selection *selection, const char *attribute,
		       enum weight weight)
{
	return top_make(plumbing_new(p), p, selection, TOP_BY_ROUTE, attribute, weight);
}

const char *top_title(const struct top *t)
{
	return t->attribute ? t->attribute : top_by_name(t->by);
}

FREES(top_free, struct top, t, EACH_ROW(i, struct top_row, row, t->rows) drop_hist(row); g_array_unref(t->rows);
      reasons_free(t->reasons); plumbing_free(t->plumbing); routes_free(t->routes); g_free(t->locks);
      g_string_chunk_free(t->strings))

double top_percent(const struct top *t, uint64_t weight)
{
	return t->whole ? 100.0 * (double)weight / (double)t->whole : 0.0;
}
