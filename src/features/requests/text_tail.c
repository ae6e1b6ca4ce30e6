/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/requests/text.h"

#include <string.h>

#include "base/order.h"
#include "explain/text.h"

/* What differs in the slowest 1% of requests, compared with the middle half. */

#define SLOWEST 0.01
#define SLOWEST_MOST 0.25	/* limit for the slow group, which grows if latencies are too similar */
#define ROWS 5
#define CAUSES_MAX 4096

struct group {
	uint32_t from, to;	/* ranges of latencies */
	uint64_t requests, wall_ns, on_cpu_ns;
};

struct cause {
	struct request_cause what;
	uint64_t slow_ns, middle_ns;	/* of all requests in each group */
	double more_ns;		/* per request */
};

static bool is_in(const struct group *g, const struct request_part *p)
{
	return p->range >= g->from && p->range < g->to;
}

static void sum_group(struct group *g, const GArray *parts, uint32_t func)
{
	EACH_ROW(i, const struct request_part, p, parts) {
		if (p->func != func || p->wait.state || !is_in(g, p))
			continue;
		g->requests += p->requests;
		g->wall_ns += p->wall_ns;
		g->on_cpu_ns += p->on_cpu_ns;
	}
}

/* False: too few requests, or too similar. */
static bool find_groups(const GArray *parts, uint32_t func, struct group *slow, struct group *middle)
{
	uint64_t counts[OFFCPU_REQUEST_RANGES] = { 0 }, all = 0, seen = 0;

	EACH_ROW(i, const struct request_part, p, parts)
		if (p->func == func && !p->wait.state && p->range < OFFCPU_REQUEST_RANGES)
			all += counts[p->range] += p->requests;
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

static struct cause *cause_of(GArray *causes, const struct request_cause *what)
{
	const struct cause fresh = { .what = *what };

	EACH_ROW(i, struct cause, c, causes)
		if (request_cause_equal(&c->what, what))
			return c;
	if (causes->len == CAUSES_MAX)	/* in a forged recording; further ones share the last */
		return &g_array_index(causes, struct cause, causes->len - 1);
	g_array_append_val(causes, fresh);
	return &g_array_index(causes, struct cause, causes->len - 1);
}

static void add_cause(GArray *causes, bool is_slow, uint64_t ns, const struct request_cause *what)
{
	struct cause *c = ns ? cause_of(causes, what) : NULL;

	if (c && is_slow)
		c->slow_ns += ns;
	else if (c)
		c->middle_ns += ns;
}

ORDER(by_difference, struct cause, ORDER_HIGH(more_ns))

/* Comes after all others. */
static void add_rest(GArray *causes, const struct group *slow, const struct group *middle)
{
	uint64_t slow_ns = 0, middle_ns = 0;

	for (guint i = 0; i < causes->len; i++) {
		slow_ns += g_array_index(causes, struct cause, i).slow_ns;
		middle_ns += g_array_index(causes, struct cause, i).middle_ns;
	}
	add_cause(causes, true, slow->wall_ns - MIN(slow_ns, slow->wall_ns), &request_cause_rest);
	add_cause(causes, false, middle->wall_ns - MIN(middle_ns, middle->wall_ns), &request_cause_rest);
}

/* What both groups spent time on, including on CPU, largest difference first. */
static GArray *find_causes(const struct profile *p, uint32_t func, const struct group *slow, const struct group *middle)
{
	GArray *causes = g_array_new(FALSE, TRUE, sizeof(struct cause));
	g_autoptr(GArray) waits = g_array_new(FALSE, FALSE, sizeof(struct wait)),
			  is_slow = g_array_new(FALSE, FALSE, sizeof(bool));
	struct request_causes *whats;

	EACH_ROW(i, const struct request_part, part, p->request_parts) {
		bool in_slow = is_in(slow, part);

		if (part->func != func || !part->wait.state || (!in_slow && !is_in(middle, part)))
			continue;
		g_array_append_val(waits, part->wait);
		g_array_append_val(is_slow, in_slow);
	}
	whats = request_causes_new(p, waits);
	EACH_ROW(i, const struct wait, w, waits) {
		struct request_cause what = request_causes_of(whats, i);

		add_cause(causes, g_array_index(is_slow, bool, i), w->blocked_ns, &what);
		add_cause(causes, g_array_index(is_slow, bool, i), w->runnable_ns + w->preempted_ns,
			  &request_cause_queue);
	}
	request_causes_free(whats);
	add_cause(causes, true, slow->on_cpu_ns, &request_cause_on_cpu);
	add_cause(causes, false, middle->on_cpu_ns, &request_cause_on_cpu);
	add_rest(causes, slow, middle);
	EACH_ROW(i, struct cause, c, causes)
		c->more_ns = (double)c->slow_ns / (double)slow->requests -
			     (double)c->middle_ns / (double)middle->requests;
	g_array_sort(causes, by_difference);
	return causes;
}

void request_cause_text(GString *s, const struct profile *p, const struct request_cause *c, unsigned width)
{
	const struct object *o = c->object ? profile_get_object(p, c->object - 1) : NULL;
	g_autoptr(GString) text = g_string_new(c->reason == REASON_ON_CPU ? "on CPU" : reason_text(c->reason));

	if (request_cause_equal(c, &request_cause_rest))
		g_string_assign(text, "in no class");
	if (o && o->kind == OBJECT_GOROUTINE && (c->reason == REASON_OTHER || !strcmp(o->name, text->str)))
		g_string_assign(text, o->name);
	else if (o)
		g_string_append_printf(text, " %s", o->name);
	if (c->frame >= 0 && profile_get_frame(p, (uint32_t)c->frame)->name)
		g_string_append_printf(text, " %s %s",
				       c->is_outer ? "in a function without symbols, called from" : "in",
				       profile_get_frame(p, (uint32_t)c->frame)->name);
	text_safe_cut(s, text->str, width);
}

void request_tail_text(GString *s, const struct profile *p, uint32_t func, const struct text_options *o)
{
	const struct request_row *row = profile_request(p, func);
	const GArray *parts = p->request_parts;
	struct group slow, middle;
	g_autoptr(GArray) causes = NULL;

	if (!find_groups(parts, func, &slow, &middle))
		return;
	causes = find_causes(p, func, &slow, &middle);
	g_string_append_printf(s, "\n%sThe slowest %.2g%% of ", text_bold(o),
			       100 * (double)slow.requests / (double)MAX(row->sum.all.count, 1));
	text_safe(s, row->name);
	g_string_append_printf(s, " (%s, from %s) take %s, the middle half %s", TEXT_COUNT(slow.requests),
			       TEXT_NS(request_slot_low(slow.from * OFFCPU_REQUEST_RANGE_SLOTS)),
			       TEXT_NS(slow.wall_ns / slow.requests), TEXT_NS(middle.wall_ns / middle.requests));
	g_string_append_printf(s, "; a request, most of the difference first:%s\n   SLOWEST    MIDDLE\n",
			       text_plain(o));
	for (guint i = 0; i < causes->len && i < ROWS; i++) {
		const struct cause *c = &g_array_index(causes, struct cause, i);

		if (c->more_ns <= 0)
			break;
		g_string_append_c(s, ' ');
		text_duration_cell(s, c->slow_ns / slow.requests, 9);
		g_string_append_c(s, ' ');
		text_duration_cell(s, c->middle_ns / middle.requests, 9);
		g_string_append(s, "  ");
		request_cause_text(s, p, &c->what, o->width > 40 ? o->width - 23 : 140);
		g_string_append_c(s, '\n');
	}
}
