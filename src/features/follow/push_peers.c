/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "push/fleet.h"

#include "base/proc/net_table.h"
#include "push/clickhouse.h"
#include "push/fleet_rows.h"

#define ANSWER_MAX_BYTES (UINT64_C(64) << 20)
/* Windows that began before the range may overlap it.  If none is found there, the clock may be off. */
static const uint64_t arounds_ns[] = { UINT64_C(600) * 1000000000, UINT64_C(86400) * 1000000000 };

static char *statement(const char *database, const struct fleet_query *q, const struct peer_ask *ask,
		       uint64_t around_ns)
{
	g_autoptr(GString) tables = g_string_new(NULL), range = g_string_new(NULL), there = g_string_new(NULL);
	g_autoptr(GString) ours = g_string_new(NULL);
	const struct fleet_query around = { .from_unix_ns = q->from_unix_ns - MIN(q->from_unix_ns, around_ns),
					    .to_unix_ns = q->to_unix_ns + around_ns };
	struct net_end end;

	clickhouse_name(tables, database);
	fleet_append_range(range, &around);
	clickhouse_text(there, ask->there);
	for (const char *const *local = ask->locals; *local; local++) {
		if (!net_end_read(*local, &end))
			continue;	/* it has no port */
		g_string_append(ours, ours->len ? ", " : " OR remote IN (");
		clickhouse_text(ours, *local);
	}
	g_string_append(ours, ours->len ? ")" : "");
	return g_strdup_printf(
		"SELECT host, process, pid, local, remote, min(w.start_unix_ns), max(w.start_unix_ns + w.duration_ns) FROM "
		"(SELECT host, window, process, pid, local, remote FROM %1$s.connections FINAL WHERE %2$s AND side = 'server' AND "
		"(local = %3$s%4$s)) AS c INNER JOIN (SELECT window, start_unix_ns, duration_ns FROM %1$s.windows FINAL WHERE %2$s) AS w "
		"USING (window) GROUP BY host, process, pid, local, remote ORDER BY host, pid, local, remote LIMIT %5$d FORMAT RowBinary",
		tables->str, range->str, there->str, ours->str, FLEET_PEERS_MAX);
}

static const char *take_text(struct cursor *c, GString *text, GStringChunk *texts)
{
	fleet_text(c, text);
	return g_string_chunk_insert_const(texts, text->str);
}

static bool read_rows(struct target *t, const char *sql, GArray *rows, GStringChunk *texts, GError **error)
{
	g_autoptr(GByteArray) answer = target_query(t, sql, ANSWER_MAX_BYTES, error);
	g_autoptr(GString) text = g_string_new(NULL);

	if (!answer)
		return false;
	for (struct cursor c = cursor_of(answer->data, answer->len); c.at < c.end;) {
		struct peer_row row = { .host = take_text(&c, text, texts) };

		row.process = take_text(&c, text, texts);
		row.pid = cursor_u32(&c);
		row.local = take_text(&c, text, texts);
		row.remote = take_text(&c, text, texts);
		row.from_unix_ns = cursor_u64(&c);
		row.to_unix_ns = cursor_u64(&c);
		if (c.bad || rows->len >= FLEET_PEERS_MAX)
			return fleet_bad(error, "%s: a row of a connection is damaged", target_name(t));
		g_array_append_val(rows, row);
	}
	return true;
}

bool fleet_peers(struct target *t, const struct fleet_query *q, const struct peer_ask *ask, GArray *rows,
		 GStringChunk *texts, GError **error)
{
	for (size_t i = 0; i < G_N_ELEMENTS(arounds_ns) && !rows->len; i++) {
		g_autofree char *sql = statement(target_database(t), q, ask, arounds_ns[i]);

		if (!read_rows(t, sql, rows, texts, error))
			return false;
	}
	return true;
}
