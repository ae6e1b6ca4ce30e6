/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "push/metrics.h"

#include <string.h>

#include "features/requests/analysis_cells.h"
#include "push/services.h"

#define NS_A_SECOND 1000000000
#define CLASSES 4

static const char *const classes[CLASSES] = { "on_cpu", "blocked", "runnable", "preempted" };
/*
 * Upper bounds of buckets, as powers of two of nanoseconds: slots of waits' histograms, so that nothing is
 * interpolated.
 */
static const unsigned edges[] = { 17, 20, 23, 27, 30, 34 };
#define EDGES G_N_ELEMENTS(edges)

/* Counters of one service. */
struct counters {
	const char *service;	/* owned by `services`, or a literal */
	uint64_t class_ns[CLASSES];
	uint64_t ns[REASON_COUNT][2], waits[REASON_COUNT][2];	/* [1]: idle */
};

const unsigned metrics_request_edges[METRICS_REQUEST_EDGES] = { 14, 16, 18, 20, 21, 22, 23, 24,
								 25, 26, 27, 28, 29, 30, 32, 34 };

/* Counters of one [request NAME] of the agent's configuration, of which there are few. */
struct request_counters {
	char *name;
	struct offcpu_request_sum sum;
};

struct metrics {
	GPtrArray *requests;		/* struct request_counters */
	struct services *services;
	GPtrArray *counters;	/* struct counters */
	uint64_t buckets[REASON_COUNT][EDGES + 1], sum_ns[REASON_COUNT];	/* without idle time */
	uint64_t windows, window_ns, lost_ns, losses;
};

static void free_request(gpointer data)
{
	g_free(((struct request_counters *)data)->name);
	g_free(data);
}

struct metrics *metrics_new(void)
{
	struct metrics *m = g_new0(struct metrics, 1);

	m->services = services_new(SERVICES_MAX);
	m->counters = g_ptr_array_new_with_free_func(g_free);
	m->requests = g_ptr_array_new_with_free_func(free_request);
	return m;
}

FREES(metrics_free, struct metrics, m, services_free(m->services); g_ptr_array_unref(m->counters);
      g_ptr_array_unref(m->requests))

static struct counters *counters_of(struct metrics *m, const struct thread *t)
{
	const char *service = services_name(m->services, t);

	EACH_POINTER(i, struct counters, c, m->counters)
		if (c->service == service || strcmp(c->service, service) == 0)
			return c;
	struct counters *c = g_new0(struct counters, 1);

	c->service = service;
	g_ptr_array_add(m->counters, c);
	return c;
}

static void add_hist(struct metrics *m, enum reason reason, const struct wait *w)
{
	for (unsigned slot = 0; slot < PROFILE_HIST_SLOTS; slot++) {
		size_t bucket = 0;

		while (bucket < EDGES && slot >= edges[bucket])
			bucket++;
		m->buckets[reason][bucket] += w->hist[slot];
	}
	m->sum_ns[reason] += wait_off_cpu_ns(w);
}

/* Time waited for a CPU has its own reason and is never idle. */
static void add_wait(struct metrics *m, const struct profile *p, const struct reasons *reasons, guint i)
{
	const struct wait *w = profile_wait(p, i);
	struct counters *c = counters_of(m, profile_thread(p, w->thread));
	enum reason reason = reasons_of(reasons, i);
	bool is_idle = reasons_is_idle(reasons, i);

	c->ns[reason][is_idle] += w->blocked_ns;
	c->ns[REASON_CPU_QUEUE][0] += w->runnable_ns + w->preempted_ns;
	c->waits[reason][is_idle] += w->count;
	if (!is_idle)
		add_hist(m, reason, w);
}

static void add_request(struct metrics *m, const struct request_row *row)
{
	struct request_counters *c = NULL;

	for (guint i = 0; i < m->requests->len && !c; i++)
		if (strcmp(((struct request_counters *)m->requests->pdata[i])->name, row->name) == 0)
			c = m->requests->pdata[i];
	if (!c) {
		c = g_new0(struct request_counters, 1);
		c->name = g_strdup(row->name);
		g_ptr_array_add(m->requests, c);
	}
	request_sum_add(&c->sum, &row->sum);
}

void metrics_add(struct metrics *m, const struct profile *p, const struct reasons *reasons)
{
	services_learn(m->services, p);
	EACH_ROW(i, const struct thread, t, p->threads) {
		const uint64_t ns[CLASSES] = { t->on_cpu_ns, t->blocked_ns, t->runnable_ns, t->preempted_ns };
		struct counters *c = counters_of(m, t);

		for (int k = 0; k < CLASSES; k++)
			c->class_ns[k] += ns[k];
	}
	for (guint i = 0; i < p->waits->len; i++)
		if (profile_wait(p, i)->state != 'C')
			add_wait(m, p, reasons, i);
	for (guint i = 0; i < p->losses->len; i++) {
		m->losses += g_array_index(p->losses, struct profile_loss, i).count;
		m->lost_ns += g_array_index(p->losses, struct profile_loss, i).time_ns;
	}
	for (guint i = 0; i < p->requests->len && !p->info.has_requests; i++)
		add_request(m, profile_request(p, i));
	m->windows++;
	m->window_ns += p->info.duration_ns;
}

void metrics_head(GString *s, const char *name, const char *type, const char *help)
{
	g_string_append_printf(s, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void append_seconds(GString *s, uint64_t ns)
{
	g_string_append_printf(s, " %" G_GUINT64_FORMAT ".%09" G_GUINT64_FORMAT "\n", (guint64)(ns / NS_A_SECOND),
			       (guint64)(ns % NS_A_SECOND));
}

static void append_number(GString *s, uint64_t n)
{
	g_string_append_printf(s, " %" G_GUINT64_FORMAT "\n", (guint64)n);
}

/* Writes NAME{LABEL="... */
static void begin_label(GString *s, const char *name, const char *label, const char *text)
{
	g_autofree char *valid = g_utf8_make_valid(text, -1);

	g_string_append_printf(s, "%s{%s=\"", name, label);
	for (const char *c = valid; *c; c++) {
		if (*c == '\n')
			g_string_append(s, "\\n");
		else if (*c == '"' || *c == '\\')
			g_string_append_printf(s, "\\%c", *c);
		else
			g_string_append_c(s, *c);
	}
	g_string_append_c(s, '"');
}

void metrics_labelled(GString *s, const char *name, const char *label, const char *text, uint64_t value)
{
	begin_label(s, name, label, text);
	g_string_append_c(s, '}');
	append_number(s, value);
}

void metrics_number(GString *s, const char *name, const char *type, const char *help, uint64_t value)
{
	metrics_head(s, name, type, help);
	g_string_append(s, name);
	append_number(s, value);
}

void metrics_seconds(GString *s, const char *name, const char *type, const char *help, uint64_t value_ns)
{
	metrics_head(s, name, type, help);
	g_string_append(s, name);
	append_seconds(s, value_ns);
}

static void by_reason(const struct metrics *m, GString *s, const char *name, bool is_time)
{
	EACH_POINTER(i, const struct counters, c, m->counters) {
		for (int r = 0; r < REASON_COUNT; r++)
			for (int idle = 0; idle < 2; idle++) {
				uint64_t value = is_time ? c->ns[r][idle] : c->waits[r][idle];

				if (!value)
					continue;
				begin_label(s, name, "service", c->service);
				g_string_append_printf(s, ",reason=\"%s\",idle=\"%s\"}", reason_name(r),
						       idle ? "yes" : "no");
				(is_time ? append_seconds : append_number)(s, value);
			}
	}
}

static void histogram(const struct metrics *m, GString *s, const char *name)
{
	for (int r = 0; r < REASON_COUNT; r++) {
		uint64_t sum = 0;

		if (!m->sum_ns[r])
			continue;
		for (size_t k = 0; k < EDGES; k++) {
			uint64_t edge_ns = UINT64_C(1) << edges[k];

			sum += m->buckets[r][k];
			g_string_append_printf(s,
					       "%s_bucket{reason=\"%s\",le=\"%" G_GUINT64_FORMAT ".%09" G_GUINT64_FORMAT
					       "\"}",
					       name, reason_name(r), (guint64)(edge_ns / NS_A_SECOND),
					       (guint64)(edge_ns % NS_A_SECOND));
			append_number(s, sum);
		}
		sum += m->buckets[r][EDGES];
		g_string_append_printf(s, "%s_bucket{reason=\"%s\",le=\"+Inf\"}", name, reason_name(r));
		append_number(s, sum);
		g_string_append_printf(s, "%s_sum{reason=\"%s\"}", name, reason_name(r));
		append_seconds(s, m->sum_ns[r]);
		g_string_append_printf(s, "%s_count{reason=\"%s\"}", name, reason_name(r));
		append_number(s, sum);
	}
}

void metrics_request_buckets(const struct offcpu_request_sum *sum, uint64_t ret_counts[METRICS_REQUEST_EDGES + 1])
{
	size_t bucket = 0;

	memset(ret_counts, 0, (METRICS_REQUEST_EDGES + 1) * sizeof(ret_counts[0]));
	for (unsigned slot = 0; slot < OFFCPU_REQUEST_SLOTS; slot++) {
		while (bucket < METRICS_REQUEST_EDGES &&
		       request_slot_high(slot) > UINT64_C(1) << metrics_request_edges[bucket])
			bucket++;
		ret_counts[bucket] = profile_sum(ret_counts[bucket], sum->hist[slot]);
	}
}

static void request_bucket(GString *s, const char *name, const char *request, const char *edge, uint64_t cnt)
{
	begin_label(s, name, "request", request);
	g_string_append_printf(s, ",le=\"%s\"}", edge);
	append_number(s, cnt);
}

static void request_histogram(GString *s, const char *name, const struct request_counters *c)
{
	g_autofree char *bucket = g_strconcat(name, "_bucket", NULL), *sum_name = g_strconcat(name, "_sum", NULL),
			*count_name = g_strconcat(name, "_count", NULL);
	uint64_t cnt = 0, counts[METRICS_REQUEST_EDGES + 1];

	metrics_request_buckets(&c->sum, counts);
	for (size_t k = 0; k < METRICS_REQUEST_EDGES; k++) {
		uint64_t edge_ns = UINT64_C(1) << metrics_request_edges[k];
		g_autofree char *edge = g_strdup_printf("%" G_GUINT64_FORMAT ".%09" G_GUINT64_FORMAT,
							(guint64)(edge_ns / NS_A_SECOND),
							(guint64)(edge_ns % NS_A_SECOND));

		cnt += counts[k];
		request_bucket(s, bucket, c->name, edge, cnt);
	}
	cnt += counts[METRICS_REQUEST_EDGES];
	request_bucket(s, bucket, c->name, "+Inf", cnt);
	begin_label(s, sum_name, "request", c->name);
	g_string_append_c(s, '}');
	append_seconds(s, c->sum.all.wall_ns);
	metrics_labelled(s, count_name, "request", c->name, cnt);
}

static void requests_text(const struct metrics *m, GString *s)
{
	if (!m->requests->len)
		return;
	metrics_head(s, "offcpu_request_duration_seconds", "histogram", "How long requests took, by name.");
	for (guint i = 0; i < m->requests->len; i++)
		request_histogram(s, "offcpu_request_duration_seconds", m->requests->pdata[i]);
	metrics_head(s, "offcpu_request_seconds_total", "counter", "Time of requests by what they did.");
	EACH_POINTER(i, const struct request_counters, c, m->requests) {
		const uint64_t ns[CLASSES] = { c->sum.all.on_cpu_ns, c->sum.all.blocked_ns, c->sum.all.runnable_ns,
					       c->sum.all.preempted_ns };

		for (int k = 0; k < CLASSES; k++) {
			begin_label(s, "offcpu_request_seconds_total", "request", c->name);
			g_string_append_printf(s, ",class=\"%s\"}", classes[k]);
			append_seconds(s, ns[k]);
		}
	}
}

void metrics_text(const struct metrics *m, GString *s)
{
	metrics_head(s, "offcpu_thread_seconds_total", "counter", "Time of threads by what they did.");
	EACH_POINTER(i, const struct counters, c, m->counters) {
		for (int k = 0; k < CLASSES; k++) {
			begin_label(s, "offcpu_thread_seconds_total", "service", c->service);
			g_string_append_printf(s, ",class=\"%s\"}", classes[k]);
			append_seconds(s, c->class_ns[k]);
		}
	}
	metrics_head(s, "offcpu_wait_seconds_total", "counter", "Time off CPU by what it was for.");
	by_reason(m, s, "offcpu_wait_seconds_total", true);
	metrics_head(s, "offcpu_waits_total", "counter", "Waits by what they were for.");
	by_reason(m, s, "offcpu_waits_total", false);
	metrics_head(s, "offcpu_wait_duration_seconds", "histogram", "How long waits took that were not idle.");
	histogram(m, s, "offcpu_wait_duration_seconds");
	requests_text(m, s);
	metrics_number(s, "offcpu_windows_total", "counter", "Windows that were recorded.", m->windows);
	metrics_seconds(s, "offcpu_window_seconds_total", "counter", "Time that was recorded.", m->window_ns);
	metrics_number(s, "offcpu_losses_total", "counter", "Events that could not be recorded.", m->losses);
	metrics_seconds(s, "offcpu_lost_seconds_total", "counter",
			"Time of threads that losses concern, where it is known.", m->lost_ns);
}
