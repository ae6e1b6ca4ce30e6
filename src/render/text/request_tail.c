/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/text/request.h"

#include <inttypes.h>

#include "analyse/plumbing.h"
#include "analyse/reason/reasons.h"
#include "render/text/style.h"
#include "render/text/util.h"

/* What is different in the slowest 1% of requests, against the middle half. */

#define SLOWEST 0.01
#define SLOWEST_MOST 0.25	/* where latencies are alike no fewer can be told apart */
#define ROWS 5

struct group {
	uint32_t from, to;	/* ranges of latencies */
	uint64_t requests, wall_ns, on_cpu_ns;
};

struct cause {
	enum reason reason;
	int64_t frame;		/* of the program; -1: not known */
	uint32_t object;
	uint64_t slow_ns, middle_ns;	/* of all requests of each group */
	double more_ns;		/* a request */
};

static bool is_in(const struct group *g, const struct request_part *p)
{
	return p->range >= g->from && p->range < g->to;
}

static void sum_group(struct group *g, const GArray *parts, uint32_t func)
{
	for (guint i = 0; i < parts->len; i++) {
		const struct request_part *p = &g_array_index(parts, struct request_part, i);

		if (p->func != func || p->wait.state || !is_in(g, p))
			continue;
		g->requests += p->requests;
		g->wall_ns += p->wall_ns;
		g->on_cpu_ns += p->on_cpu_ns;
	}
}

/* False: too few requests, or too much alike. */
static bool find_groups(const GArray *parts, uint32_t func, struct group *slow, struct group *middle)
{
	uint64_t counts[OFFCPU_REQUEST_RANGES] = { 0 }, all = 0, seen = 0;

	for (guint i = 0; i < parts->len; i++) {
		const struct request_part *p = &g_array_index(parts, struct request_part, i);

		if (p->func == func && !p->wait.state && p->range < OFFCPU_REQUEST_RANGES)
			all += counts[p->range] += p->requests;
	}
	*middle = (struct group){ .from = OFFCPU_REQUEST_RANGES };
	*slow = (struct group){ .from = OFFCPU_REQUEST_RANGES, .to = OFFCPU_REQUEST_RANGES };
	for (uint32_t i = 0; i < OFFCPU_REQUEST_RANGES; i++) {
		uint64_t until = seen + counts[i];

		if (counts[i] && 4 * until > all && 4 * seen < 3 * all) {
			middle->from = MIN(middle->from, i);
			middle->to = i + 1;
		}
		seen = until;
	}
	seen = 0;
	for (uint32_t i = OFFCPU_REQUEST_RANGES; i-- > middle->to;) {
		if (seen && (double)(seen + counts[i]) > SLOWEST * (double)all)
			break;
		seen += counts[i];
		slow->from = i;
	}
	sum_group(slow, parts, func);
	sum_group(middle, parts, func);
	return all && slow->requests && middle->requests && (double)slow->requests <= SLOWEST_MOST * (double)all;
}

static struct cause *cause_of(GArray *causes, enum reason reason, int64_t frame, uint32_t object)
{
	const struct cause fresh = { .reason = reason, .frame = frame, .object = object };

	for (guint i = 0; i < causes->len; i++) {
		struct cause *c = &g_array_index(causes, struct cause, i);

		if (c->reason == reason && c->frame == frame && c->object == object)
			return c;
	}
	g_array_append_val(causes, fresh);
	return &g_array_index(causes, struct cause, causes->len - 1);
}

static void add_cause(GArray *causes, bool is_slow, uint64_t ns, enum reason reason, int64_t frame, uint32_t object)
{
	struct cause *c = ns ? cause_of(causes, reason, frame, object) : NULL;

	if (c && is_slow)
		c->slow_ns += ns;
	else if (c)
		c->middle_ns += ns;
}

static gint by_difference(gconstpointer a, gconstpointer b)
{
	const struct cause *x = a, *y = b;

	return (x->more_ns < y->more_ns) - (x->more_ns > y->more_ns);
}

/* What both groups waited for, most of the difference first; on CPU is one of them. */
static GArray *find_causes(const struct profile *p, const GArray *parts, uint32_t func, const struct group *slow, const struct group *middle)
{
	GArray *causes = g_array_new(FALSE, TRUE, sizeof(struct cause)), *waits = g_array_new(FALSE, FALSE, sizeof(struct wait));
	struct profile view = *p;	/* with these waits in the place of its own */
	struct reasons *reasons;

	view.wakes = g_array_new(FALSE, FALSE, sizeof(struct wake));
	view.waits = waits;
	for (guint i = 0; i < parts->len; i++) {
		struct wait w = g_array_index(parts, struct request_part, i).wait;

		w.state = w.state && w.state != '?' ? w.state : 'S';
		g_array_append_val(waits, w);
	}
	reasons = reasons_new(&view, NULL);
	for (guint i = 0; i < parts->len; i++) {
		const struct request_part *part = &g_array_index(parts, struct request_part, i);
		bool is_slow = is_in(slow, part), is_known = part->wait.state != '?';

		if (part->func != func || !part->wait.state || (!is_slow && !is_in(middle, part)))
			continue;
		add_cause(causes, is_slow, part->wait.blocked_ns, is_known ? reasons_of(reasons, i) : REASON_OTHER,
			  is_known ? plumbing_user_parent(reasons_plumbing(reasons), part->wait.user) : -1, part->wait.object);
		add_cause(causes, is_slow, part->wait.runnable_ns + part->wait.preempted_ns, REASON_CPU_QUEUE, -1, 0);
	}
	reasons_free(reasons);
	add_cause(causes, true, slow->on_cpu_ns, REASON_ON_CPU, -1, 0);
	add_cause(causes, false, middle->on_cpu_ns, REASON_ON_CPU, -1, 0);
	for (guint i = 0; i < causes->len; i++) {
		struct cause *c = &g_array_index(causes, struct cause, i);

		c->more_ns = (double)c->slow_ns / (double)slow->requests - (double)c->middle_ns / (double)middle->requests;
	}
	g_array_sort(causes, by_difference);
	g_array_unref(view.wakes);
	g_array_unref(waits);
	return causes;
}

static void append_cause(GString *s, const struct profile *p, const struct cause *c)
{
	const struct object *o = c->object ? profile_get_object(p, c->object - 1) : NULL;

	g_string_append(s, c->reason == REASON_ON_CPU ? "on CPU" : reason_text(c->reason));
	if (o && o->name && *o->name) {
		g_string_append(s, " ");
		text_safe_cut(s, o->name, 60);
	}
	if (c->frame >= 0 && profile_get_frame(p, (uint32_t)c->frame)->name) {
		g_string_append(s, " in ");
		text_safe_cut(s, profile_get_frame(p, (uint32_t)c->frame)->name, 60);
	}
}

void request_tail_text(GString *s, const struct profile *p, const GArray *parts, const struct request_row *row, uint32_t func,
		       const struct text_options *o)
{
	struct group slow, middle;
	g_autoptr(GArray) causes = NULL;

	if (!find_groups(parts, func, &slow, &middle))
		return;
	causes = find_causes(p, parts, func, &slow, &middle);
	g_string_append_printf(s, "\n%sThe slowest %.2g%% of ", text_bold(o), 100 * (double)slow.requests / (double)MAX(row->sum.all.count, 1));
	text_safe(s, row->name);
	g_string_append(s, " (");
	text_thousands(s, slow.requests);
	g_string_append(s, ", from ");
	text_duration(s, request_slot_low(slow.from * OFFCPU_REQUEST_RANGE_SLOTS));
	g_string_append(s, ") take ");
	text_duration(s, slow.wall_ns / slow.requests);
	g_string_append(s, ", the middle half ");
	text_duration(s, middle.wall_ns / middle.requests);
	g_string_append_printf(s, "; a request, most of the difference first:%s\n   SLOWEST    MIDDLE\n", text_plain(o));
	for (guint i = 0; i < causes->len && i < ROWS; i++) {
		const struct cause *c = &g_array_index(causes, struct cause, i);

		if (c->more_ns <= 0)
			break;
		g_string_append_c(s, ' ');
		text_duration_cell(s, c->slow_ns / slow.requests, 9);
		g_string_append_c(s, ' ');
		text_duration_cell(s, c->middle_ns / middle.requests, 9);
		g_string_append(s, "  ");
		append_cause(s, p, c);
		g_string_append_c(s, '\n');
	}
}
