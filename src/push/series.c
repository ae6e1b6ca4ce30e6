/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "push/series.h"

#include <string.h>

#include "base/hash.h"
#include "base/order.h"
#include "base/refuse.h"
#include "base/wire.h"
#include "exchange/format.h"
#include "features/tasks/analysis.h"
#include "profile/profile_map.h"
#include "push/http.h"
#include "push/identity.h"

#define NS_A_MILLISECOND 1000000
#define LABEL_MAX_BYTES 1024

/* All time of a service in the same stacks. */
struct stack_sum {
	const char *service;
	uint32_t user, kernel;
	bool is_idle;
	uint64_t count, ns;
};

struct push {
	const struct profile *p;
	const struct series_format *format;
	GHashTable *index;	/* struct stack_sum */
	GArray *sums;		/* struct stack_sum, by series, then by time, largest first */
	GPtrArray *units;
	uint64_t key;
};

HASH_KEY(sum, struct stack_sum, service, user, kernel, is_idle)

static void add_to_sum(struct push *push, const struct stack_sum *s)
{
	struct stack_sum *known = g_hash_table_lookup(push->index, s);

	if (!s->ns)
		return;
	if (!known) {
		g_hash_table_add(push->index, g_memdup2(s, sizeof(*s)));
		return;
	}
	known->count += s->count;
	known->ns += s->ns;
}

/* Time waited for a CPU is never idle, whatever came before it. */
static void sum_waits(struct push *push, const struct reasons *reasons, const struct services *services)
{
	EACH_ROW(i, const struct wait, w, push->p->waits) {
		struct stack_sum s = { .service = services_name(services, profile_thread(push->p, w->thread)),
				       .user = w->user,
				       .kernel = w->kernel,
				       .count = w->count,
				       .ns = wait_off_cpu_ns(w) };

		if (reasons_is_idle(reasons, i)) {
			s.is_idle = true;
			s.ns = w->blocked_ns;
			add_to_sum(push, &s);
			s.is_idle = false;
			s.count = 0;
			s.ns = w->runnable_ns + w->preempted_ns;
		}
		add_to_sum(push, &s);
	}
}

static int series_compare(const struct stack_sum *x, const struct stack_sum *y)
{
	int order = strcmp(x->service, y->service);

	return order ? order : (int)x->is_idle - (int)y->is_idle;
}

#define ORDER_SERIES if (series_compare(a, b)) return series_compare(a, b);
ORDER(sum_compare, struct stack_sum, ORDER_SERIES ORDER_HIGH(ns) ORDER_LOW(user) ORDER_LOW(kernel))

/* --- a profile for one series --- */

/* Events and off-CPU time are the only types: separate types for blocked and runnable time would double the series. */
static struct profile *profile_of(const struct push *push, guint first, guint cnt, uint32_t part)
{
	struct profile *p = profile_new();
	struct profile_map map;
	const struct thread nobody = { .comm = NULL };

	profile_map_begin(&map, push->p, p);
	profile_add_thread(p, &nobody);
	p->info.rows_are = push->p->info.rows_are;
	p->info.unknown = UNKNOWN_PARTS | (push->p->info.unknown & UNKNOWN_COUNTS);
	p->info.start_unix_ns = push->p->info.start_unix_ns + (uint64_t)part * NS_A_MILLISECOND;
	p->info.duration_ns = push->p->info.duration_ns;
	p->info.host = profile_string(p, *push->p->info.host ? push->p->info.host : "unknown");
	for (guint i = first; i < first + cnt; i++) {
		const struct stack_sum *s = &g_array_index(push->sums, struct stack_sum, i);
		const struct wait w = { .user = profile_map_node(&map, s->user),
					.kernel = profile_map_node(&map, s->kernel),
					.state = '?',
					.count = s->count,
					.blocked_ns = s->ns };

		profile_add_wait(p, &w);
	}
	profile_map_end(&map);
	EACH_ROW(i, const struct module_id, m, push->p->build_ids)
		profile_set_build_id(p, m->module, m->hex);
	return p;
}

/* --- shared by formats --- */

static void append_pprof(const struct profile *p, bool gzip, GString *out)
{
	const struct export_plan plan = { .folded = { .weight = WEIGHT_OFF_CPU } };
	const struct sink sink = sink_of_string(out);
	struct writer *w = writer_new(&sink, gzip);

	write_pprof(w, p, &plan);
	writer_end(w, NULL);
}

bool series_pprof(const struct series_part *part, gsize max_bytes, GString *ret)
{
	g_autoptr(GString) plain = g_string_new(NULL);

	append_pprof(part->p, false, plain);
	if (plain->len > max_bytes)
		return false;
	append_pprof(part->p, true, ret);
	return true;
}

void series_labels(const struct series_part *part, struct series_label ret_labels[SERIES_LABELS])
{
	const struct series_label labels[SERIES_LABELS] = {
		{ "__name__", part->is_tasks ? "tasks" : "off_cpu" }, { "service_name", part->service }, { "instance", part->p->info.host },
		{ "idle", part->is_idle ? "yes" : "no" },
	};

	memcpy(ret_labels, labels, sizeof(labels));
}

char *series_value(const char *value)
{
	g_autofree char *cut = g_strndup(value, LABEL_MAX_BYTES);

	return g_utf8_make_valid(cut, -1);
}

void series_append_label(GString *out, unsigned field, const struct series_label *label)
{
	enum { LABEL_NAME = 1, LABEL_VALUE };
	g_autoptr(GString) pair = g_string_new(NULL);
	g_autofree char *value = series_value(label->value);

	wire_string(pair, LABEL_NAME, label->name);
	wire_string(pair, LABEL_VALUE, value);
	wire_message(out, field, pair);
}

/* --- requests --- */

/* Puts as many of the series' stacks from `first` on as fit into one request; returns their number. */
static guint make_request(struct push *push, guint first, guint left, uint32_t part)
{
	const struct stack_sum *of = &g_array_index(push->sums, struct stack_sum, first);
	guint cnt = MIN(left, push->format->samples_max);

	for (;; cnt = (cnt + 1) / 2) {
		struct profile *p = profile_of(push, first, cnt, part);
		const struct series_part one = { .p = p, .service = of->service, .is_idle = of->is_idle,
						 .is_tasks = push->p->info.rows_are != NULL };
		g_autoptr(GString) body = g_string_new(NULL);
		bool fits = push->format->body(&one, cnt == 1, body);

		if (fits) {
			struct push_unit *u = unit_new(push->key, push->units->len, push->p->info.start_unix_ns);

			(push->format->is_gzip ? unit_add : unit_add_plain)(u, "", body, p->waits->len);
			g_ptr_array_add(push->units, u);
		}
		profile_free(p);
		if (fits)
			return cnt;
	}
}

static void make_series_units(struct push *push, guint first, guint cnt)
{
	for (guint done = 0, part = 0; done < cnt; part++)
		done += make_request(push, first + done, cnt - done, part);
}

static void sum_tasks(struct push *push, const struct services *services)
{
	EACH_ROW(i, const struct wait, w, push->p->waits) {
		const struct stack_sum s = { .service = services_name(services, profile_thread(push->p, w->thread)),
					     .user = w->user,
					     .is_idle = task_profile_is_idle(push->p, w),
					     .count = w->count,
					     .ns = w->blocked_ns };

		add_to_sum(push, &s);
	}
}

/* Turns the sums into requests. */
static void make_units(struct push *push)
{
	push->sums = g_array_new(FALSE, FALSE, sizeof(struct stack_sum));
	EACH_KEY(void, s, push->index)
		g_array_append_vals(push->sums, s, 1);
	g_array_sort(push->sums, sum_compare);
	for (guint first = 0, next; first < push->sums->len; first = next) {
		const struct stack_sum *of = &g_array_index(push->sums, struct stack_sum, first);

		for (next = first + 1; next < push->sums->len; next++)
			if (series_compare(of, &g_array_index(push->sums, struct stack_sum, next)) != 0)
				break;
		make_series_units(push, first, next - first);
	}
	g_array_unref(push->sums);
	g_hash_table_remove_all(push->index);
}

GPtrArray *series_units(const struct profile *p, const struct reasons *reasons, struct services *services,
			const struct series_format *format, GError **error)
{
	struct push push = { .p = p, .format = format, .key = identity_of_window(p) };
	struct profile *tasks;

	if (p->info.imported)
		return refuse_null(error, PUSH_ERROR, PUSH_ERROR_USAGE,
			"%s does not tell when and where: only recordings can be pushed to %s", p->info.imported,
			format->engine);
	push.units = units_new();
	push.index = g_hash_table_new_full(sum_hash, sum_equal, g_free, NULL);
	services_learn(services, p);
	sum_waits(&push, reasons, services);
	make_units(&push);
	tasks = task_profile_new(p);
	if (tasks) {
		push.p = tasks;
		services_learn(services, tasks);
		sum_tasks(&push, services);
		make_units(&push);
	}
	profile_free(tasks);
	g_hash_table_unref(push.index);
	return push.units;
}
