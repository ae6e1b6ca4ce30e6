/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/requests/analysis_cells.h"

#include <string.h>

#include "features/requests/analysis_causes.h"
#include "base/order.h"
#include "profile/profile.h"

struct request_cells {
	GPtrArray *list;
	struct request_uncounted uncounted;
};

FREES_DATA(free_cause, struct request_cause_cell, cause, g_free(cause->where))

struct request_cell *request_cell_new(const char *name)
{
	struct request_cell *cell = g_new0(struct request_cell, 1);

	cell->name = g_strdup(name);
	cell->causes = g_ptr_array_new_with_free_func(free_cause);
	return cell;
}

FREES(request_cell_free, struct request_cell, cell, g_ptr_array_unref(cell->causes); g_free(cell->name))

static void free_cell(gpointer cell)
{
	request_cell_free(cell);
}

struct request_cells *request_cells_new(void)
{
	struct request_cells *c = g_new0(struct request_cells, 1);

	c->list = g_ptr_array_new_with_free_func(free_cell);
	return c;
}

FREES(request_cells_free, struct request_cells, c, g_ptr_array_unref(c->list))

const GPtrArray *request_cells_list(const struct request_cells *c)
{
	return c->list;
}

struct request_uncounted *request_cells_uncounted(struct request_cells *c)
{
	return &c->uncounted;
}

void request_uncounted_add(struct request_uncounted *into, const struct request_uncounted *more)
{
	PROFILE_SUM_MEMBERS(into, more, handed, no_route, others);
}

struct request_cell *request_cells_get(struct request_cells *c, const char *name)
{
	EACH_POINTER(i, struct request_cell, cell, c->list)
		if (strcmp(cell->name, name) == 0)
			return cell;
	g_ptr_array_add(c->list, request_cell_new(name));
	return c->list->pdata[c->list->len - 1];
}

struct request_cause_cell *request_cause_get(GPtrArray *causes, enum reason reason, const char *where)
{
	struct request_cause_cell *cause;

	for (guint i = 0; i < causes->len; i++) {
		cause = causes->pdata[i];
		if (cause->reason == reason && strcmp(cause->where, where) == 0)
			return cause;
	}
	cause = g_new0(struct request_cause_cell, 1);
	cause->reason = reason;
	cause->where = g_strdup(where);
	g_ptr_array_add(causes, cause);
	return cause;
}

static void add_ranges(uint64_t *into, const uint64_t *what)
{
	for (unsigned i = 0; i < OFFCPU_REQUEST_RANGES; i++)
		into[i] = profile_sum(into[i], what[i]);
}

void request_sum_add(struct offcpu_request_sum *into, const struct offcpu_request_sum *sum)
{
	PROFILE_SUM_MEMBERS(&into->all, &sum->all, count, wall_ns, on_cpu_ns, blocked_ns, runnable_ns, preempted_ns);
	into->max_ns = MAX(into->max_ns, sum->max_ns);
	for (unsigned i = 0; i < OFFCPU_REQUEST_SLOTS; i++)
		into->hist[i] = profile_sum(into->hist[i], sum->hist[i]);
}

void request_cell_add(struct request_cell *into, const struct request_cell *what)
{
	request_sum_add(&into->sum, &what->sum);
	add_ranges(into->wall_ns, what->wall_ns);
	EACH_POINTER(i, const struct request_cause_cell, cause, what->causes)
		add_ranges(request_cause_get(into->causes, cause->reason, cause->where)->ns, cause->ns);
}

/* ---- of a window ---- */

static bool is_wait(const struct request_cause_cell *cause)
{
	return cause->reason != REASON_ON_CPU && (cause->reason != REASON_CPU_QUEUE || *cause->where);
}

/* "stock in take_stock", to append to the reason's text. */
static char *where_of(const struct profile *p, const struct request_cause *c)
{
	const struct object *o = c->object ? profile_get_object(p, c->object - 1) : NULL;
	const char *function = c->frame >= 0 ? profile_get_frame(p, (uint32_t)c->frame)->name : NULL;
	GString *s = g_string_new(o ? o->name : NULL);

	if (function)
		g_string_append_printf(s, "%s%s %s", s->len ? " " : "",
				       c->is_outer ? "in a function without symbols, called from" : "in", function);
	if (s->len > REQUEST_WHERE_MAX_BYTES) {
		g_string_truncate(s, REQUEST_WHERE_MAX_BYTES - 3);
		g_string_append(s, "...");
	}
	char *text = g_utf8_make_valid(s->str, (gssize)s->len);

	g_string_free(s, TRUE);
	if (strlen(text) > REQUEST_WHERE_MAX_BYTES)	/* replacing invalid bytes may have made it longer */
		*text = '\0';
	return text;
}

static void add_part(struct request_cell *cell, const struct request_part *part)
{
	cell->wall_ns[part->range] = profile_sum(cell->wall_ns[part->range], part->wall_ns);
	uint64_t *on_cpu = request_cause_get(cell->causes, REASON_ON_CPU, "")->ns;
	uint64_t *queue = request_cause_get(cell->causes, REASON_CPU_QUEUE, "")->ns;

	on_cpu[part->range] = profile_sum(on_cpu[part->range], part->on_cpu_ns);
	queue[part->range] = profile_sum(queue[part->range],
					 profile_sum(part->wait.runnable_ns, part->wait.preempted_ns));
}

/*
 * The blocked time of requests is exact. While waits are sampled, the recorded ones stand for all waits of requests
 * with such latencies, so their times are scaled to that total, which they must never exceed.
 */
static void calibrate(struct request_cell *cell, const uint64_t *blocked_ns, bool is_sampled)
{
	for (unsigned i = 0; i < OFFCPU_REQUEST_RANGES; i++) {
		uint64_t told = 0;

		for (guint k = 0; k < cell->causes->len; k++)
			if (is_wait(cell->causes->pdata[k]))
				told = profile_sum(told, ((struct request_cause_cell *)cell->causes->pdata[k])->ns[i]);
		for (guint k = 0; k < cell->causes->len && told && (is_sampled || told > blocked_ns[i]); k++) {
			struct request_cause_cell *cause = cell->causes->pdata[k];

			if (is_wait(cause))
				cause->ns[i] = (uint64_t)((double)cause->ns[i] / (double)told * (double)blocked_ns[i]);
		}
	}
}

/* The blocked time of requests with that name, from their threads' accounts. */
static void calibrate_cells(struct request_cells *c, const struct profile *p)
{
	EACH_POINTER(n, struct request_cell, cell, c->list) {
		uint64_t blocked_ns[OFFCPU_REQUEST_RANGES] = { 0 };

		EACH_ROW(i, const struct request_part, part, p->request_parts)
			if (!part->wait.state && strcmp(profile_request(p, part->func)->name, cell->name) == 0)
				blocked_ns[part->range] = profile_sum(blocked_ns[part->range], part->wait.blocked_ns);
		calibrate(cell, blocked_ns, p->info.sampling.max_ns != 0);
	}
}

const struct thread *request_thread(const struct profile *p, const char *name)
{
	const struct request_part *most = NULL;

	EACH_ROW(i, const struct request_part, part, p->request_parts)
		if (!part->wait.state && (!most || part->requests > most->requests) &&
		    strcmp(profile_request(p, part->func)->name, name) == 0)
			most = part;
	return most ? profile_thread(p, most->wait.thread) : NULL;
}

static uint64_t count_of(const struct profile *p, const char *loss_name)
{
	const struct profile_loss *loss = profile_find_loss(p, loss_name);

	return loss ? loss->count : 0;
}

/* Each of these losses is one request; losses of a request's parts are not counted. */
static struct request_uncounted uncounted_of(const struct profile *p)
{
	static const char *const others[] = { "request_left", "request_no_site", "request_no_room", "request_new_route" };
	struct request_uncounted u = { .handed = count_of(p, "request_handed"), .no_route = count_of(p, "request_no_route") };

	for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
		u.others = profile_sum(u.others, count_of(p, others[i]));
	return u;
}

struct request_cells *request_cells_of(const struct profile *p)
{
	struct request_cells *c;
	g_autoptr(GArray) waits = g_array_new(FALSE, FALSE, sizeof(struct wait));
	g_autoptr(GPtrArray) parts = g_ptr_array_new();
	struct request_causes *causes;

	if (!p->requests->len)
		return NULL;
	c = request_cells_new();
	c->uncounted = uncounted_of(p);
	for (guint i = 0; i < p->requests->len; i++)
		request_sum_add(&request_cells_get(c, profile_request(p, i)->name)->sum, &profile_request(p, i)->sum);
	EACH_ROW(i, const struct request_part, part, p->request_parts) {
		if (!part->wait.state) {
			add_part(request_cells_get(c, profile_request(p, part->func)->name), part);
			continue;
		}
		g_array_append_val(waits, part->wait);
		g_ptr_array_add(parts, (gpointer)(uintptr_t)part);
	}
	causes = request_causes_new(p, waits);
	for (guint i = 0; i < waits->len; i++) {
		const struct request_part *part = parts->pdata[i];
		struct request_cell *cell = request_cells_get(c, profile_request(p, part->func)->name);
		const struct request_cause what = request_causes_of(causes, i);
		g_autofree char *where = where_of(p, &what);
		uint64_t *ns = request_cause_get(cell->causes, what.reason, where)->ns;

		ns[part->range] = profile_sum(ns[part->range], part->wait.blocked_ns);
	}
	request_causes_free(causes);
	calibrate_cells(c, p);
	return c;
}

/* ---- the slowest ---- */

static uint64_t count_in(const struct request_cell *cell, uint32_t range)
{
	uint64_t cnt = 0;

	for (unsigned i = range * OFFCPU_REQUEST_RANGE_SLOTS;
	     i < (range + 1) * OFFCPU_REQUEST_RANGE_SLOTS && i < OFFCPU_REQUEST_SLOTS; i++)
		cnt = profile_sum(cnt, cell->sum.hist[i]);
	return cnt;
}

uint32_t request_cell_slowest(const struct request_cell *cell, double share)
{
	uint32_t from = OFFCPU_REQUEST_RANGES;
	uint64_t seen = 0;

	for (uint32_t i = OFFCPU_REQUEST_RANGES; i--;) {
		uint64_t cnt = count_in(cell, i);

		if (seen && (double)(seen + cnt) > share * (double)cell->sum.all.count)
			break;
		seen += cnt;
		from = i;
	}
	return from;
}

uint64_t request_cell_count_from(const struct request_cell *cell, uint32_t range)
{
	uint64_t cnt = 0;

	for (; range < OFFCPU_REQUEST_RANGES; range++)
		cnt = profile_sum(cnt, count_in(cell, range));
	return cnt;
}

static uint64_t sum_from(const uint64_t *ns, uint32_t range)
{
	uint64_t sum = 0;

	for (; range < OFFCPU_REQUEST_RANGES; range++)
		sum = profile_sum(sum, ns[range]);
	return sum;
}

uint64_t request_cell_wall_from(const struct request_cell *cell, uint32_t range)
{
	return sum_from(cell->wall_ns, range);
}

uint64_t request_cause_from(const struct request_cause_cell *cause, uint32_t range)
{
	return sum_from(cause->ns, range);
}

static gint most_first(gconstpointer a, gconstpointer b)
{
	const struct request_cause_cell *x = *(struct request_cause_cell *const *)a,
					*y = *(struct request_cause_cell *const *)b;
	uint64_t x_ns = request_cause_from(x, 0), y_ns = request_cause_from(y, 0);

	if (x_ns != y_ns)
		return x_ns < y_ns ? 1 : -1;
	return x->reason != y->reason ? (x->reason > y->reason) - (x->reason < y->reason) : strcmp(x->where, y->where);
}

/* Keeps the largest ones, and sums the others by reason. */
GPtrArray *request_causes_bounded(const GPtrArray *causes)
{
	g_autoptr(GPtrArray) order = g_ptr_array_new();
	GPtrArray *some = g_ptr_array_new_with_free_func(free_cause);

	for (guint i = 0; i < causes->len; i++)
		g_ptr_array_add(order, causes->pdata[i]);
	g_ptr_array_sort(order, most_first);
	EACH_POINTER(i, const struct request_cause_cell, cause, order)
		if (request_cause_from(cause, 0))
			add_ranges(request_cause_get(some, cause->reason, i < REQUEST_CAUSES_MAX ? cause->where : "")->ns,
				   cause->ns);
	return some;
}

/* ---- in the steps of a time line ---- */

struct request_line *request_line_new(uint64_t from_unix_ns, uint64_t step_ns, uint32_t steps)
{
	struct request_line *l = g_new0(struct request_line, 1);

	l->from_unix_ns = from_unix_ns;
	l->step_ns = step_ns;
	l->steps = steps;
	l->series = g_array_new(FALSE, FALSE, sizeof(struct request_series));
	return l;
}

void request_line_free(struct request_line *l)
{
	if (!l)
		return;
	EACH_ROW(i, struct request_series, s, l->series) {
		for (uint32_t k = 0; k < l->steps; k++)
			request_cell_free(s->steps[k]);
		g_free(s->steps);
		request_cell_free(s->all);
	}
	g_array_unref(l->series);
	g_free(l);
}

const struct request_series *request_line_find(const struct request_line *l, const char *name)
{
	EACH_ROW(i, const struct request_series, s, l->series)
		if (strcmp(s->name, name) == 0)
			return s;
	return NULL;
}

static const struct request_series *series_of(struct request_line *l, const char *name)
{
	const struct request_series *have = request_line_find(l, name);
	struct request_series s;

	if (have)
		return have;
	s.all = request_cell_new(name);
	s.name = s.all->name;
	s.steps = g_new0(struct request_cell *, l->steps);
	g_array_append_val(l->series, s);
	return &g_array_index(l->series, struct request_series, l->series->len - 1);
}

static void add_cell(struct request_line *l, uint32_t step, uint64_t duration_ns, const struct request_cell *cell)
{
	const struct request_series *s = series_of(l, cell->name);

	if (!s->steps[step])
		s->steps[step] = request_cell_new(cell->name);
	request_cell_add(s->steps[step], cell);
	request_cell_add(s->all, cell);
	s->steps[step]->observed_ns = profile_sum(s->steps[step]->observed_ns, duration_ns);
	s->all->observed_ns = profile_sum(s->all->observed_ns, duration_ns);
}

/* Where finer rows are gone, a row may extend beyond the edges: it counts in the first or the last step. */
static uint32_t step_of(const struct request_line *l, uint64_t start_unix_ns, uint64_t duration_ns)
{
	uint64_t middle = start_unix_ns + duration_ns / 2;

	if (middle <= l->from_unix_ns)
		return 0;
	return (uint32_t)MIN((middle - l->from_unix_ns) / l->step_ns, l->steps - 1);
}

void request_line_add(struct request_line *l, uint64_t start_unix_ns, uint64_t duration_ns,
		      const struct request_cells *cells)
{
	uint32_t step = step_of(l, start_unix_ns, duration_ns);

	l->longest_row_ns = MAX(l->longest_row_ns, duration_ns);
	request_uncounted_add(&l->uncounted, &cells->uncounted);
	for (guint i = 0; i < cells->list->len; i++)
		add_cell(l, step, duration_ns, cells->list->pdata[i]);
}

ORDER(by_name, struct request_series, ORDER_TEXT(name))

void request_line_sort(struct request_line *l)
{
	g_array_sort(l->series, by_name);
}
