/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/requests/rows.h"

#include <math.h>
#include <string.h>

#include "profile/profile_rows.h"

uint64_t request_slot_low(unsigned slot)
{
	unsigned octave = slot / OFFCPU_REQUEST_STEPS, step = slot % OFFCPU_REQUEST_STEPS;

	return octave ? (uint64_t)(OFFCPU_REQUEST_STEPS + step) << (octave - 1) : step;
}

uint64_t request_slot_high(unsigned slot)
{
	return request_slot_low(slot + 1);
}

static void subtract_times(struct offcpu_request_times *from, const struct offcpu_request_times *what)
{
	from->count -= what->count;
	from->wall_ns -= what->wall_ns;
	from->on_cpu_ns -= what->on_cpu_ns;
	from->blocked_ns -= what->blocked_ns;
	from->runnable_ns -= what->runnable_ns;
	from->preempted_ns -= what->preempted_ns;
}

void request_since(const struct offcpu_request_sum *now, const struct offcpu_request_sum *then,
		   struct offcpu_request_sum *ret_diff)
{
	*ret_diff = *now;
	subtract_times(&ret_diff->all, &then->all);
	subtract_times(&ret_diff->slow, &then->slow);
	ret_diff->unwound_cnt -= then->unwound_cnt;
	ret_diff->max_ns = 0;
	for (unsigned i = 0; i < OFFCPU_REQUEST_SLOTS; i++) {
		ret_diff->hist[i] -= then->hist[i];
		if (ret_diff->hist[i])
			ret_diff->max_ns = MIN(request_slot_high(i), now->max_ns);
	}
}

double *request_span_weights(const struct profile *p)
{
	double *weights = g_new0(double, p->requests->len + 1);
	g_autofree uint64_t *slowest = g_new0(uint64_t, p->requests->len + 1),
			    *others = g_new0(uint64_t, p->requests->len + 1);

	EACH_ROW(i, const struct request_span, s, p->spans) {
		if (s->flags & OFFCPU_SPAN_SLOWEST)
			slowest[s->func]++;
		else
			others[s->func]++;
	}
	for (guint i = 0; i < p->requests->len; i++) {
		uint64_t all = profile_request(p, i)->sum.all.count;

		if (others[i] && all > slowest[i])
			weights[i] = (double)(all - slowest[i]) / (double)others[i];
	}
	return weights;
}

static uint64_t scaled(uint64_t ns, double weight)
{
	double value = (double)ns * weight;

	return value < (double)PROFILE_NS_MAX ? (uint64_t)value : PROFILE_NS_MAX;
}

static void add_span(struct offcpu_request_times *t, const struct request_span *s, double weight)
{
	t->wall_ns = profile_sum(t->wall_ns, scaled(s->wall_ns, weight));
	t->on_cpu_ns = profile_sum(t->on_cpu_ns, scaled(s->on_cpu_ns, weight));
	t->blocked_ns = profile_sum(t->blocked_ns, scaled(s->blocked_ns, weight));
	t->runnable_ns = profile_sum(t->runnable_ns, scaled(s->runnable_ns, weight));
	t->preempted_ns = profile_sum(t->preempted_ns, scaled(s->preempted_ns, weight));
}

static unsigned slot_of(uint64_t ns)
{
	unsigned exponent = ns ? 63 - (unsigned)__builtin_clzll(ns) : 0;

	if (exponent < 4)
		return (unsigned)ns;
	return exponent >= 40 ? OFFCPU_REQUEST_SLOTS - 1 : offcpu_request_slot(ns, exponent);
}

/*
 * Adds a part for the span itself and for each of its waits. The kernel sums parts; these are merged if they are
 * equal.
 */
static void add_parts(struct profile *p, const struct request_span *s, double weight)
{
	struct request_part part = {
		.func = s->func,
		.range = slot_of(s->wall_ns) / OFFCPU_REQUEST_RANGE_SLOTS,
		.requests = MAX((uint64_t)llround(weight), 1),
		.wait = { .thread = s->thread },
	};
	double whole = (double)part.requests;

	part.wall_ns = scaled(s->wall_ns, whole);
	part.on_cpu_ns = scaled(s->on_cpu_ns, whole);
	part.wait.blocked_ns = scaled(s->blocked_ns, whole);
	part.wait.runnable_ns = scaled(s->runnable_ns, whole);
	part.wait.preempted_ns = scaled(s->preempted_ns, whole);
	g_array_append_val(p->request_parts, part);
	part.wall_ns = part.on_cpu_ns = 0;
	for (uint32_t i = 0; i < s->wait_cnt; i++) {
		const struct span_wait *w = profile_span_wait(p, s->wait + i);

		part.wait = (struct wait){
			.thread = s->thread,
			.user = w->user,
			.kernel = w->kernel,
			.object = w->object,
			.state = w->state,
			.count = scaled(w->count, whole),
			.blocked_ns = scaled(w->blocked_ns, whole),
			.runnable_ns = scaled(w->runnable_ns, whole),
			.preempted_ns = scaled(w->preempted_ns, whole),
		};
		g_array_append_val(p->request_parts, part);
	}
}

void requests_estimate(struct profile *p, const double *weights)
{
	g_autofree double *counts = g_new0(double, p->requests->len + 1);

	g_array_set_size(p->request_parts, 0);
	EACH_ROW(i, struct request_row, row, p->requests) {
		memset(&row->sum, 0, sizeof(row->sum));
		memset(&row->calls, 0, sizeof(row->calls));
	}
	EACH_ROW(i, const struct request_span, s, p->spans) {
		struct offcpu_request_sum *sum = &g_array_index(p->requests, struct request_row, s->func).sum;
		double weight = s->flags & OFFCPU_SPAN_SLOWEST ? 1 : weights[s->func];
		double before = counts[s->func];

		counts[s->func] += weight;
		/* the rounding error is carried on, so that the bars add up to the count */
		sum->hist[slot_of(s->wall_ns)] += (uint64_t)(llround(counts[s->func]) - llround(before));
		sum->all.count = (uint64_t)llround(counts[s->func]);
		add_span(&sum->all, s, weight);
		sum->max_ns = MAX(sum->max_ns, s->wall_ns);
		if (p->info.request_slower_ns && s->wall_ns >= p->info.request_slower_ns) {
			add_span(&sum->slow, s, weight);
			sum->slow.count++;
		}
		add_parts(p, s, weight);
	}
}

/* Sums of a hostile file must not wrap. The tables' description checks the rest. */
static bool check_bars(const struct request_row *row, uint64_t *count)
{
	uint64_t bars = 0;

	for (unsigned i = 0; i < OFFCPU_REQUEST_SLOTS; i++)
		bars = profile_sum(bars, row->sum.hist[i]);
	*count = profile_sum(*count, MAX(bars, row->sum.all.count));
	return *count <= PROFILE_NS_MAX;
}

/* Is it NULL, or `len` hexadecimal digits? */
static bool is_hex(const char *text, size_t len)
{
	return !text || (strlen(text) == len && strspn(text, "0123456789abcdef") == len);
}

bool requests_check(const struct profile *p, GError **error)
{
	uint64_t count = 0, sum_ns = 0;

	for (guint i = 0; i < p->requests->len; i++)
		if (!check_bars(profile_request(p, i), &count))
			return profile_damaged(error, "a number of request %u is out of range", i);
	EACH_ROW(i, const struct request_span, s, p->spans) {
		if (s->context >= p->nodes->len || !is_hex(s->trace, 32) || !is_hex(s->trace_span, 16))
			return profile_damaged(error, "span %u has no valid trace", i);
		if (s->wait_cnt > OFFCPU_REQUEST_NOTES_MAX || s->wait > p->span_waits->len ||
		    s->wait_cnt > p->span_waits->len - s->wait)
			return profile_damaged(error, "span %u has no valid waits", i);
	}
	EACH_ROW(i, const struct span_wait, w, p->span_waits) {
		sum_ns = profile_sum(sum_ns, profile_sum(w->blocked_ns, profile_sum(w->runnable_ns, w->preempted_ns)));
		if (w->user >= p->nodes->len || w->kernel >= p->nodes->len || w->object > p->objects->len ||
		    !w->state || !strchr("SDTtPIR?", w->state) || sum_ns > INT64_MAX)
			return profile_damaged(error, "wait %u of a span has no valid stack, object, state or time", i);
	}
	return true;
}
