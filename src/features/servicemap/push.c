/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/servicemap/findings.h"

#include "push/clickhouse.h"
#include "push/fleet.h"
#include "push/fleet_rows.h"

#define ANSWER_MAX_BYTES (UINT64_C(64) << 20)
#define ROWS_MAX 200000	/* per answer */
/* Waits whose object names the other end. */
#define IS_FOR_SOMEBODY "(startsWith(reason, 'network.') OR reason = 'event_loop')"

struct row_reader {
	struct target *target;
	struct service_map *map;
	const struct fleet_query *range;
	GString *texts[5];	/* of the current row */
};

static const char *take_text(struct row_reader *r, struct cursor *c, unsigned n)
{
	fleet_text(c, r->texts[n]);
	return r->texts[n]->str;
}

static void host_row(struct row_reader *r, struct cursor *c)
{
	const char *host = take_text(r, c, 0);

	service_map_add_host(r->map, host, cursor_u64(c));
}

static void on_cpu_row(struct row_reader *r, struct cursor *c)
{
	struct service_time t = { .host = take_text(r, c, 0), .service = take_text(r, c, 1), .reason = REASON_ON_CPU };

	t.ns = cursor_u64(c);
	if (!c->bad)
		service_map_add_time(r->map, &t);
}

/* An unknown reason comes from a later version. */
static void wait_row(struct row_reader *r, struct cursor *c)
{
	struct object o = { .operation = "", .place = "" };
	struct service_time t = { .host = take_text(r, c, 0), .service = take_text(r, c, 1) }, queued = t;

	queued.reason = REASON_CPU_QUEUE;
	if (!reason_parse(take_text(r, c, 2), &t.reason))
		t.reason = REASON_OTHER;
	t.is_idle = cursor_u8(c);
	t.object = object_kind_parse(take_text(r, c, 3), &o.kind) ? &o : NULL;
	o.name = take_text(r, c, 4);
	t.ns = cursor_u64(c);
	queued.ns = cursor_u64(c);
	if (c->bad)
		return;
	service_map_add_time(r->map, &t);
	service_map_add_time(r->map, &queued);
}

static void connection_row(struct row_reader *r, struct cursor *c)
{
	struct peer_row row = { .host = take_text(r, c, 0),
				.process = take_text(r, c, 1),
				.from_unix_ns = r->range->from_unix_ns,
				.to_unix_ns = r->range->to_unix_ns };
	bool serves;

	row.pid = cursor_u32(c);
	serves = cursor_u8(c);
	row.local = take_text(r, c, 2);
	row.remote = take_text(r, c, 3);
	if (!c->bad)
		service_map_add_connection(r->map, &row, serves ? CONNECTION_SERVER : CONNECTION_CLIENT);
}

#define BOUND " LIMIT " G_STRINGIFY(ROWS_MAX)
static const struct {
	const char *sql;
	void (*row)(struct row_reader *r, struct cursor *c);
	bool of_windows;	/* windows have no column `service` */
} selects[] = {
	{ "SELECT host, sum(duration_ns) FROM $Twindows FINAL WHERE $W GROUP BY host ORDER BY host" BOUND, host_row, true },
	{ "SELECT host, service, sum(on_cpu_ns) AS ns FROM $Tthreads FINAL WHERE $W AND bitAnd(flags, 1) = 0 GROUP BY host, service "
	  "ORDER BY ns DESC, host, service" BOUND,
	  on_cpu_row, false },
	{ "SELECT w.host, w.service, reason, is_idle, kind, name, sum(blocked) AS ns, sum(queued) FROM (SELECT host, service, reason, "
	  "idle != '' AS is_idle, if(" IS_FOR_SOMEBODY ", object, 0) AS number, sum(blocked_ns) AS blocked, "
	  "sum(runnable_ns + preempted_ns) AS queued FROM $Twaits FINAL WHERE $W AND (idle = '' OR reason = 'event_loop') "
	  "GROUP BY host, service, reason, is_idle, number) AS w LEFT JOIN (SELECT host, service, object, any(kind) AS kind, "
	  "any(name) AS name FROM $Tobjects WHERE $C AND object IN (SELECT object FROM $Twaits WHERE $W AND " IS_FOR_SOMEBODY ") "
	  "GROUP BY host, service, object) AS o ON w.host = o.host AND w.service = o.service AND w.number = o.object "
	  "GROUP BY w.host, w.service, reason, is_idle, kind, name ORDER BY ns DESC, w.host, w.service, reason, is_idle, kind, name" BOUND,
	  wait_row, false },
	{ "SELECT host, service, pid, side = 'server', local, remote FROM $Tconnections FINAL WHERE $W "
	  "GROUP BY host, service, pid, side, local, remote ORDER BY max(start) DESC, host, pid, side, local, remote" BOUND,
	  connection_row, false },
};

static bool read_rows(struct row_reader *r, const char *sql, void (*row)(struct row_reader *r, struct cursor *c),
		      GError **error)
{
	g_autoptr(GByteArray) answer = target_query(r->target, sql, ANSWER_MAX_BYTES, error);
	guint rows = 0;

	if (!answer)
		return false;
	for (struct cursor c = cursor_of(answer->data, answer->len); c.at < c.end; rows++) {
		row(r, &c);
		if (c.bad || rows >= ROWS_MAX)
			return fleet_bad(error, "%s: a row of a service is damaged", target_name(r->target));
	}
	return true;
}

bool fleet_services(struct target *t, const struct fleet_hosts_query *q, struct service_map *map, GError **error)
{
	g_autoptr(GString) tables = g_string_new(NULL), windows = g_string_new(NULL), days = g_string_new(NULL);
	struct row_reader r = { .target = t, .map = map, .range = &q->range };
	bool ok = true;

	clickhouse_name(tables, target_database(t));
	g_string_append_c(tables, '.');
	fleet_append_range(windows, &q->range);
	g_string_append_printf(windows, " AND window IN (SELECT window FROM %swindows WHERE ", tables->str);
	fleet_append_windows(windows, &q->range);
	g_string_append_c(windows, ')');
	g_autoptr(GString) rows = g_string_new(windows->str);

	fleet_append_services(rows, q);
	fleet_append_days(days, &q->range);
	fleet_append_services(days, q);
	for (size_t i = 0; i < G_N_ELEMENTS(r.texts); i++)
		r.texts[i] = g_string_new(NULL);
	for (size_t i = 0; ok && i < G_N_ELEMENTS(selects); i++) {
		const struct fleet_places places = { .tables = tables->str, .contents = days->str,
						     .windows = selects[i].of_windows ? windows->str : rows->str };
		g_autofree char *sql = fleet_fill_in(selects[i].sql, &places);

		ok = read_rows(&r, sql, selects[i].row, error);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(r.texts); i++)
		g_string_free(r.texts[i], TRUE);
	return ok;
}
