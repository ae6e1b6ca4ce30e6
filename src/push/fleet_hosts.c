/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "push/fleet.h"

#include "push/clickhouse.h"
#include "push/fleet_rows.h"

#define ANSWER_MAX_BYTES (UINT64_C(64) << 20)

CLEARS(row_clear, struct fleet_host_row, r, g_free(r->host); g_free(r->version); g_free(r->kernel);
       g_free(r->most_service); g_free(r->most_reason); g_free(r->finding))

static void append_list(GString *sql, const char *globs)
{
	g_auto(GStrv) list = g_strsplit(globs, ",", -1);

	g_string_append(sql, " AND (0");
	for (char **glob = list; *glob; glob++) {
		g_autoptr(GString) regex = g_string_new(NULL);

		fleet_regex(regex, g_strstrip(*glob));
		g_string_append(sql, " OR match(service, ");
		clickhouse_text(sql, regex->str);
		g_string_append_c(sql, ')');
	}
	g_string_append_c(sql, ')');
}

void fleet_append_services(GString *sql, const struct fleet_hosts_query *q)
{
	for (size_t i = 0; i < G_N_ELEMENTS(q->only); i++)
		if (q->only[i])
			append_list(sql, q->only[i]);
}

/* A reader who may not see a host's services does not see the host in the list either. */
static char *statement(const char *database, const struct fleet_hosts_query *q)
{
	g_autoptr(GString) tables = g_string_new(NULL), windows = g_string_new(NULL), services = g_string_new(NULL);
	g_autoptr(GString) range = g_string_new(NULL);
	bool is_bound = q->only[0] || q->only[1];

	clickhouse_name(tables, database);
	fleet_append_windows(windows, &q->range);
	fleet_append_range(range, &q->range);
	fleet_append_services(services, q);
	return g_strdup_printf(
		"SELECT w.host, version, kernel, cpus, windows, last_ns, observed_ns, tracer_ns, lost_ns, matters_ns, most_ns, "
		"most_service, most_reason, found_windows, finding FROM (SELECT host, argMax(version, start) AS version, argMax(kernel, start) AS kernel, "
		"argMax(cpus, start) AS cpus, count() AS windows, max(start_unix_ns + duration_ns) AS last_ns, "
		"sum(duration_ns) AS observed_ns, "
		"sum(if(tracer_stop_cpu_ns > tracer_start_cpu_ns, tracer_stop_cpu_ns - tracer_start_cpu_ns, 0) + tracer_bpf_ns) AS tracer_ns FROM %1$s.windows FINAL WHERE %2$s "
		"GROUP BY host) AS w %4$s JOIN (SELECT host, sum(ns) AS matters_ns, max(ns) AS most_ns, argMax(service, ns) AS "
		"most_service, argMax(reason, ns) AS most_reason FROM (SELECT host, service, reason, sum(off_cpu_ns) AS ns FROM "
		"%1$s.by_reason FINAL WHERE window IN (SELECT window FROM %1$s.windows WHERE %2$s) AND %5$s AND idle = ''%3$s "
		"GROUP BY host, service, reason) GROUP BY host) AS r ON w.host = r.host LEFT JOIN (SELECT host, sum(time_ns) AS lost_ns "
		"FROM %1$s.losses FINAL WHERE window IN (SELECT window FROM %1$s.windows WHERE %2$s) AND %5$s GROUP BY host) AS l "
		"ON w.host = l.host LEFT JOIN (SELECT host, uniqExact(window) AS found_windows, argMax(sentence, (start, -toInt64(row))) AS finding "
		"FROM %1$s.findings FINAL WHERE window IN (SELECT window FROM %1$s.windows WHERE %2$s) AND %5$s%3$s GROUP BY host) AS f "
		"ON w.host = f.host ORDER BY matters_ns / (observed_ns + 1) DESC, w.host LIMIT %6$d FORMAT RowBinary",
		tables->str, windows->str, services->str, is_bound ? "INNER" : "LEFT", range->str, FLEET_HOSTS_MAX);
}

static char *take_text(struct cursor *c, GString *text)
{
	fleet_text(c, text);
	return g_strdup(text->str);
}

static bool take_row(struct cursor *c, GString *text, struct fleet_host_row *ret)
{
	ret->host = take_text(c, text);
	ret->version = take_text(c, text);
	ret->kernel = take_text(c, text);
	ret->cpus = cursor_u32(c);
	EACH(TAKE, ret->windows, ret->last_unix_ns, ret->observed_ns, ret->tracer_ns, ret->lost_ns, ret->matters_ns,
	     ret->most_ns)
	ret->most_service = take_text(c, text);
	ret->most_reason = take_text(c, text);
	ret->found_windows = cursor_u64(c);
	ret->finding = take_text(c, text);
	return !c->bad;
}

GArray *fleet_hosts(struct target *t, const struct fleet_hosts_query *q, GError **error)
{
	g_autofree char *sql = statement(target_database(t), q);
	g_autoptr(GByteArray) answer = target_query(t, sql, ANSWER_MAX_BYTES, error);
	g_autoptr(GString) text = g_string_new(NULL);
	GArray *rows;

	if (!answer)
		return NULL;
	rows = g_array_new(FALSE, TRUE, sizeof(struct fleet_host_row));
	g_array_set_clear_func(rows, row_clear);
	for (struct cursor c = cursor_of(answer->data, answer->len); c.at < c.end;) {
		struct fleet_host_row row = { 0 };
		bool ok = take_row(&c, text, &row) && rows->len < FLEET_HOSTS_MAX;

		g_array_append_val(rows, row);
		if (ok)
			continue;
		g_array_unref(rows);
		fleet_bad(error, "%s: a row of a host is damaged", target_name(t));
		return NULL;
	}
	return rows;
}
