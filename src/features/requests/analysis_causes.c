/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/requests/analysis_causes.h"

#include "analyse/locks.h"
#include "analyse/plumbing.h"
#include "base/order.h"
#include "profile/profile.h"

const struct request_cause request_cause_queue = { .reason = REASON_CPU_QUEUE, .frame = -1 };
const struct request_cause request_cause_on_cpu = { .reason = REASON_ON_CPU, .frame = -1 };
const struct request_cause request_cause_rest = { .reason = REASON_OTHER, .frame = -2 };

struct request_causes {
	const struct profile *p;
	const GArray *waits;
	struct profile view;	/* a copy whose waits are those of the spans */
	struct reasons *reasons;
};

struct request_causes *request_causes_new(const struct profile *p, const GArray *waits)
{
	struct request_causes *c = g_new0(struct request_causes, 1);

	c->p = p;
	c->waits = waits;
	c->view = *p;
	c->view.wakes = g_array_new(FALSE, FALSE, sizeof(struct wake));
	c->view.waits = g_array_new(FALSE, FALSE, sizeof(struct wait));
	for (guint i = 0; i < waits->len; i++) {
		struct wait w = g_array_index(waits, struct wait, i);

		w.state = w.state && w.state != '?' ? w.state : 'S';
		g_array_append_val(c->view.waits, w);
	}
	c->reasons = reasons_new(&c->view, NULL);
	return c;
}

FREES(request_causes_free, struct request_causes, c, reasons_free(c->reasons); g_array_unref(c->view.wakes);
      g_array_unref(c->view.waits))

/*
 * A thread's own stack has another address in each thread but is the same thing in all. So are a lock without a name
 * and what a thread sleeps on until a timeout. The set of descriptors through which a lock is awaited says nothing
 * about the lock.
 */
static uint32_t telling_object(const struct profile *p, uint32_t object, enum reason reason)
{
	const struct object *o = object && reason != REASON_SLEEP ? profile_get_object(p, object - 1) : NULL;

	if (o && o->kind == OBJECT_EPOLL && reason_family(reason) == FAMILY_LOCK)
		return 0;
	return o && o->name && *o->name && !lock_is_nameless(o) && !g_str_has_prefix(o->name, "stack of thread ") ? object : 0;
}

bool request_is_without_goroutine(const struct reasons *reasons, uint32_t wait)
{
	const struct rule *rule = reasons_rule(reasons, wait);
	enum reason reason = reasons_of(reasons, wait);

	return rule && g_str_has_prefix(rule->name, "go-") && (reason == REASON_POOL_IDLE || reason == REASON_EVENT_LOOP);
}

struct request_cause request_causes_of(const struct request_causes *c, guint wait)
{
	const struct wait *w = &g_array_index(c->waits, struct wait, wait);

	if (!w->state || w->state == '?')
		return (struct request_cause){ .reason = REASON_OTHER, .frame = -1 };
	if (request_is_without_goroutine(c->reasons, wait))
		return request_cause_rest;
	enum reason reason = reasons_of(c->reasons, wait);

	return (struct request_cause){
		.reason = reason,
		.frame = plumbing_user_parent(reasons_plumbing(c->reasons), w->user),
		.object = telling_object(c->p, w->object, reason),
		.is_outer = plumbing_user_parent_is_outer(reasons_plumbing(c->reasons), w->user),
	};
}

static gint slowest_first(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct request_span *x = profile_span(data, ((const struct span_top *)a)->span);
	const struct request_span *y = profile_span(data, ((const struct span_top *)b)->span);

	if (x->wall_ns != y->wall_ns)
		return x->wall_ns < y->wall_ns ? 1 : -1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static struct wait as_wait(const struct request_span *s, const struct span_wait *w)
{
	return (struct wait){
		.thread = s->thread,
		.user = w->user,
		.kernel = w->kernel,
		.object = w->object,
		.state = w->state,
		.count = w->count,
		.blocked_ns = w->blocked_ns,
		.runnable_ns = w->runnable_ns,
		.preempted_ns = w->preempted_ns,
	};
}

/* Sums waits with the same cause. The run queue and the CPU are causes, too. */
static void find_top(const struct request_span *s, const struct request_causes *causes, guint first,
		     struct span_top *top)
{
	uint64_t known = s->on_cpu_ns + s->runnable_ns + s->preempted_ns, waited_ns = 0;

	top->cause = s->on_cpu_ns >= s->runnable_ns + s->preempted_ns ? request_cause_on_cpu : request_cause_queue;
	top->ns = MAX(s->on_cpu_ns, s->runnable_ns + s->preempted_ns);
	for (uint32_t i = 0; i < s->wait_cnt; i++) {
		struct request_cause cause = request_causes_of(causes, first + i);
		uint64_t ns = 0;

		waited_ns = profile_sum(waited_ns, g_array_index(causes->waits, struct wait, first + i).blocked_ns);
		for (uint32_t k = 0; k < s->wait_cnt; k++) {
			struct request_cause other = request_causes_of(causes, first + k);

			if (request_cause_equal(&cause, &other))
				ns += g_array_index(causes->waits, struct wait, first + k).blocked_ns;
		}
		if (ns > top->ns) {
			top->ns = ns;
			top->cause = cause;
		}
	}
	/* parked goroutines are on no thread, so their waits may exceed the time that threads were blocked */
	known = profile_sum(known, MAX(s->blocked_ns, waited_ns));
	if (s->wall_ns > known && s->wall_ns - known > top->ns) {
		top->ns = s->wall_ns - known;
		top->cause = request_cause_rest;
	}
}

static void find_tops(const struct profile *p, GArray *tops)
{
	g_autoptr(GArray) waits = g_array_new(FALSE, FALSE, sizeof(struct wait));
	struct request_causes *causes;
	guint first = 0;

	for (guint i = 0; i < tops->len; i++) {
		const struct request_span *s = profile_span(p, g_array_index(tops, struct span_top, i).span);

		for (uint32_t k = 0; k < s->wait_cnt; k++) {
			struct wait w = as_wait(s, profile_span_wait(p, s->wait + k));

			g_array_append_val(waits, w);
		}
	}
	causes = request_causes_new(p, waits);
	EACH_ROW(i, struct span_top, top, tops) {
		const struct request_span *s = profile_span(p, top->span);

		find_top(s, causes, first, top);
		first += s->wait_cnt;
	}
	request_causes_free(causes);
}

GArray *request_slowest(const struct profile *p, int64_t func, guint most)
{
	GArray *tops = g_array_new(FALSE, TRUE, sizeof(struct span_top));

	for (guint i = 0; i < p->spans->len; i++) {
		struct span_top top = { .span = i };

		if (func < 0 || profile_span(p, i)->func == func)
			g_array_append_val(tops, top);
	}
	g_array_sort_with_data(tops, slowest_first, (gpointer)p);
	if (most && tops->len > most)
		g_array_set_size(tops, most);
	find_tops(p, tops);
	return tops;
}

GArray *request_tops(const struct profile *p, const GArray *spans)
{
	GArray *tops = g_array_new(FALSE, TRUE, sizeof(struct span_top));

	for (guint i = 0; i < spans->len; i++) {
		struct span_top top = { .span = g_array_index(spans, uint32_t, i) };

		g_array_append_val(tops, top);
	}
	find_tops(p, tops);
	return tops;
}

ORDER(most_first, struct request_share, ORDER_HIGH(ns) ORDER_LOW(reason))

GArray *request_shares(const struct profile *p, uint32_t func)
{
	GArray *shares = g_array_new(FALSE, FALSE, sizeof(struct request_share));
	g_autoptr(GArray) waits = g_array_new(FALSE, FALSE, sizeof(struct wait));
	uint64_t sums[REASON_COUNT] = { 0 };
	struct request_causes *causes;

	EACH_ROW(i, const struct request_part, part, p->request_parts)
		if (part->func == func && part->wait.state)
			g_array_append_val(waits, part->wait);
	causes = request_causes_new(p, waits);
	for (guint i = 0; i < waits->len; i++)
		sums[request_causes_of(causes, i).reason] += g_array_index(waits, struct wait, i).blocked_ns;
	request_causes_free(causes);
	for (unsigned i = 0; i < REASON_COUNT; i++) {
		struct request_share share = { (enum reason)i, sums[i] };

		if (sums[i])
			g_array_append_val(shares, share);
	}
	g_array_sort(shares, most_first);
	return shares;
}
