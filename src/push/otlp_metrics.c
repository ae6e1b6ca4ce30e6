/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include "base/version.h"
#include "exchange/otlp_attribute.h"
#include "features/requests/analysis_cells.h"
#include "push/identity.h"
#include "push/metrics.h"
#include "push/rowbinary.h"
#include "push/series.h"

#define SLOWEST_SHARE 0.01

enum { REQUEST_RESOURCE = 1, RESOURCE_METRICS_RESOURCE = 1, RESOURCE_METRICS_SCOPE, SCOPE_METRICS_SCOPE = 1,
       SCOPE_METRICS_METRIC };
enum { METRIC_NAME = 1, METRIC_DESCRIPTION, METRIC_UNIT, METRIC_SUM = 7, METRIC_HISTOGRAM = 9 };
enum { DATA_POINTS = 1, DATA_TEMPORALITY, SUM_IS_MONOTONIC, TEMPORALITY_DELTA = 1 };
enum { POINT_START = 2, POINT_END, NUMBER_DOUBLE, NUMBER_INT = 6, NUMBER_ATTRIBUTE };
enum {
	HISTOGRAM_COUNT = 4,
	HISTOGRAM_SUM,
	HISTOGRAM_COUNTS,
	HISTOGRAM_BOUNDS,
	HISTOGRAM_ATTRIBUTE = 9,
	HISTOGRAM_MAX = 12
};

struct window {
	const struct profile *p;
	const struct request_cell *cell;
	GString *scope;		/* receives the metrics */
};

static uint64_t bits_of(double number)
{
	union { double number; uint64_t bits; } u = { .number = number };

	return u.bits;
}

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

static void begin_point(const struct window *w, GString *point)
{
	g_string_truncate(point, 0);
	wire_fixed64(point, POINT_START, w->p->info.start_unix_ns);
	wire_fixed64(point, POINT_END, w->p->info.start_unix_ns + w->p->info.duration_ns);
}

/* Delta temporality: each window holds only its own events. */
static void put_metric(const struct window *w, const char *name, const char *unit, const char *help, unsigned kind,
		       GString *points)
{
	g_autoptr(GString) metric = g_string_new(NULL);

	wire_uint(points, DATA_TEMPORALITY, TEMPORALITY_DELTA);
	if (kind == METRIC_SUM)
		wire_uint(points, SUM_IS_MONOTONIC, true);
	wire_string(metric, METRIC_NAME, name);
	wire_string(metric, METRIC_DESCRIPTION, help);
	wire_string(metric, METRIC_UNIT, unit);
	wire_message(metric, kind, points);
	wire_message(w->scope, SCOPE_METRICS_METRIC, metric);
}

static void put_histogram(const struct window *w)
{
	g_autoptr(GString) point = g_string_new(NULL), counts = g_string_new(NULL), bounds = g_string_new(NULL),
			   points = g_string_new(NULL);
	const struct offcpu_request_sum *sum = &w->cell->sum;
	uint64_t buckets[METRICS_REQUEST_EDGES + 1];

	metrics_request_buckets(sum, buckets);
	for (size_t i = 0; i <= METRICS_REQUEST_EDGES; i++)
		rb_u64(counts, buckets[i]);
	for (size_t i = 0; i < METRICS_REQUEST_EDGES; i++)
		rb_u64(bounds, bits_of(seconds(UINT64_C(1) << metrics_request_edges[i])));
	begin_point(w, point);
	wire_fixed64(point, HISTOGRAM_COUNT, sum->all.count);
	wire_fixed64(point, HISTOGRAM_SUM, bits_of(seconds(sum->all.wall_ns)));
	wire_message(point, HISTOGRAM_COUNTS, counts);
	wire_message(point, HISTOGRAM_BOUNDS, bounds);
	otlp_attribute(point, HISTOGRAM_ATTRIBUTE, "offcpu.request", w->cell->name);
	wire_fixed64(point, HISTOGRAM_MAX, bits_of(seconds(sum->max_ns)));
	wire_message(points, DATA_POINTS, point);
	put_metric(w, "offcpu.request.duration", "s", "How long requests took.", METRIC_HISTOGRAM, points);
}

/* Time of requests in that latency range and above, by reason. */
static void put_times(const struct window *w, const char *name, const char *help, uint32_t range)
{
	g_autoptr(GString) point = g_string_new(NULL), points = g_string_new(NULL);

	for (int reason = 0; reason < REASON_COUNT; reason++) {
		uint64_t ns = 0;

		EACH_POINTER(i, const struct request_cause_cell, cause, w->cell->causes)
			if ((int)cause->reason == reason)
				ns += request_cause_from(cause, range);
		if (!ns)
			continue;
		begin_point(w, point);
		wire_fixed64(point, NUMBER_DOUBLE, bits_of(seconds(ns)));
		otlp_attribute(point, NUMBER_ATTRIBUTE, "offcpu.request", w->cell->name);
		otlp_attribute(point, NUMBER_ATTRIBUTE, "offcpu.reason", reason_name(reason));
		wire_message(points, DATA_POINTS, point);
	}
	if (points->len)
		put_metric(w, name, "s", help, METRIC_SUM, points);
}

static void put_slowest(const struct window *w)
{
	g_autoptr(GString) point = g_string_new(NULL), points = g_string_new(NULL);
	uint32_t range = request_cell_slowest(w->cell, SLOWEST_SHARE);

	begin_point(w, point);
	wire_fixed64(point, NUMBER_INT, request_cell_count_from(w->cell, range));
	otlp_attribute(point, NUMBER_ATTRIBUTE, "offcpu.request", w->cell->name);
	wire_message(points, DATA_POINTS, point);
	put_metric(w, "offcpu.request.slowest", "{request}", "The slowest 1% of a window's requests, or about that.", METRIC_SUM,
		   points);
	put_times(w, "offcpu.request.slowest.time", "What these spent their time on.", range);
}

/* The requests of one name.  Their service is the resource. */
static void put_requests(const struct window *w, const struct services *services, GString *body)
{
	g_autoptr(GString) resource = g_string_new(NULL), of_scope = g_string_new(NULL), all = g_string_new(NULL);
	const struct thread *t = request_thread(w->p, w->cell->name);
	g_autofree char *service = series_value(t ? services_name(services, t) : "offcpu");

	otlp_attribute(resource, OTLP_RESOURCE_ATTRIBUTE, "service.name", service);
	otlp_attribute(resource, OTLP_RESOURCE_ATTRIBUTE, "host.name", w->p->info.host);
	wire_message(all, RESOURCE_METRICS_RESOURCE, resource);
	wire_string(of_scope, OTLP_SCOPE_NAME, "off_cpu");
	wire_string(of_scope, OTLP_SCOPE_VERSION, version_text());
	wire_message(w->scope, SCOPE_METRICS_SCOPE, of_scope);
	put_histogram(w);
	put_times(w, "offcpu.request.time", "What requests spent their time on.", 0);
	put_slowest(w);
	wire_message(all, RESOURCE_METRICS_SCOPE, w->scope);
	wire_message(body, REQUEST_RESOURCE, all);
}

struct push_unit *otlp_metrics_unit(const struct profile *p, const struct services *services, uint32_t part)
{
	struct request_cells *cells = request_cells_of(p);
	const GPtrArray *list = cells ? request_cells_list(cells) : NULL;
	g_autoptr(GString) body = g_string_new(NULL);
	struct push_unit *u = NULL;

	for (guint i = 0; list && i < list->len; i++) {
		g_autoptr(GString) scope = g_string_new(NULL);
		const struct window w = { .p = p, .cell = list->pdata[i], .scope = scope };

		if (w.cell->sum.all.count)
			put_requests(&w, services, body);
	}
	if (body->len) {
		u = unit_new(identity_of_window(p), part, p->info.start_unix_ns);
		unit_add(u, OTLP_METRICS, body, list->len);
	}
	request_cells_free(cells);
	return u;
}
