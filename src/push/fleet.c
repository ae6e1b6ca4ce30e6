/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "push/fleet.h"

#include <string.h>

#include "base/refuse.h"
#include "push/clickhouse.h"
#include "push/fleet_rows.h"

#define ANSWER_MAX_BYTES (UINT64_C(1) << 30)
#define NS_A_SECOND 1000000000
#define SECONDS_A_DAY 86400
#define HOSTS_BY_NAME 1000

#define OF_THREAD "host, process, comm, pid, tid, thread_start_ns, program"
/* A frame is part of many stacks, so frames are sent once, and stacks as numbers of frames: a tenth of the bytes. */
#define OF_FRAME "name, module, build_id, offset, file, line, kind, why, inline"
#define FRAME_NUMBER "cityHash64(" OF_FRAME ")"
#define FRAME_ARRAYS "names, modules, build_ids, offsets, files, lines, kinds, whys, inlines"
#define EACH_FRAME \
	"names AS name, modules AS module, build_ids AS build_id, offsets AS offset, files AS file, lines AS line, kinds AS kind, " \
	"whys AS why, inlines AS inline"
#define OF_TASKS "host, process, pid, kind"
#define OF_TASK "state, reason, stack, end, creator, creator_file, creator_line, parent, name, awaited_by"
/* Identifies a row of waits across windows.  Rows of wakes refer to a row of one window. */
#define OF_WAIT OF_THREAD ", state, flags, user_stack, kernel_stack, object"
#define WAIT_NUMBER "cityHash64(" OF_WAIT ")"
#define OF_WAKERS \
	"waker IN (SELECT waker FROM $Twakes WHERE $W UNION ALL SELECT longest_waker FROM $Twaits WHERE $W)"
#define BOTH_STACKS "SELECT arrayJoin([user_stack, kernel_stack]) FROM "
#define OF_STACKS \
	"stack IN (" BOTH_STACKS "$Twaits WHERE $W UNION ALL " BOTH_STACKS "$Ton_cpu WHERE $W UNION ALL " \
	BOTH_STACKS "$Twakers WHERE $C AND " OF_WAKERS " UNION ALL SELECT stack FROM $Ttasks WHERE $W)"
#define SQUARES(column) "toUInt64(round(sqrt(sum(toFloat64(" column ") * toFloat64(" column ")))))"

/*
 * $T is the table prefix.  $W selects the windows asked for, $C contents of their hosts and days.  Both conditions
 * follow the tables' sort order, so that the server reads nothing else.  The server sums, and sorts by the rows of the
 * first window, so that a single window reads back unchanged.  Of a thread's flags, "open at the start" is from its
 * first window, "open at the end" from its last.
 */
static const struct fleet_select {
	const char *sql;
	fleet_row_fn row;
	/* the others are skipped if no window has such rows, or they are not wanted */
	enum { OF_ALL, ONLY_WAKERS, ONLY_TASKS, ONLY_OBJECTS, ONLY_CONNECTIONS } of;
} selects[] = {
	{ "SELECT host, start_unix_ns, start_ns, duration_ns, cpus, kernel, version, command_line, filters, switches, tracer_cpu_ns, "
	  "tracer_start_cpu_ns, tracer_stop_cpu_ns, tracer_bpf_ns, tracer_peak_rss_bytes, knows, unknown, on_cpu_hz, on_cpu_end_hz, "
	  "scale_start_ns, scale_end_ns, scale_max_ns, raised, lowered, over, budget_ppm, used_ppm, peak_ppm, looks_rounds, "
	  "looks_asked_ns, looks_budget_ppm FROM $Twindows FINAL WHERE $W ORDER BY start_unix_ns, host, window",
	  fleet_window_row, OF_ALL },
	{ "SELECT " OF_THREAD
	  ", toUInt32(bitOr(bitOr(bitAnd(argMin(flags, start), 2), bitAnd(argMax(flags, start), 4)), "
	  "bitAnd(groupBitOr(flags), 2147483673))), argMax(service, start), min(from_ns), sum(to_ns - from_ns), sum(on_cpu_ns), sum(blocked_ns), sum(runnable_ns), "
	  "sum(preempted_ns), sum(filtered_ns), sum(lost_ns), sum(switches) FROM $Tthreads FINAL WHERE $W GROUP BY " OF_THREAD
	  " ORDER BY min(start), host, min(row)",
	  fleet_thread_row, OF_ALL },
	{ "SELECT " OF_THREAD
	  ", state, sum(count), sum(blocked_ns), sum(runnable_ns), sum(preempted_ns) FROM $Tstates FINAL WHERE $W "
	  "GROUP BY " OF_THREAD ", state ORDER BY min(start), host, min(row)",
	  fleet_state_row, OF_ALL },
	{ "SELECT " FRAME_NUMBER " AS frame, " OF_FRAME " FROM $Tstacks ARRAY JOIN " EACH_FRAME
	  " WHERE $C AND " OF_STACKS " LIMIT 1 BY frame",
	  fleet_frame_row, OF_ALL },
	/* sorted so that neighbours share prefixes, which halves the compressed size */
	{ "SELECT stack, end, arrayMap((" OF_FRAME ") -> " FRAME_NUMBER ", " FRAME_ARRAYS ") AS frames FROM $Tstacks WHERE $C AND " OF_STACKS
	  " ORDER BY frames, end LIMIT 1 BY stack",
	  fleet_stack_row, OF_ALL },
	{ "SELECT object, kind, is_private, operation, name, place, pid, address, holder_tid FROM $Tobjects WHERE $C AND "
	  "object IN (SELECT object FROM $Twaits WHERE $W) ORDER BY object LIMIT 1 BY object",
	  fleet_object_row, OF_ALL },
	{ "SELECT waker, pid, tid, start_ns, comm, irq, user_stack, kernel_stack FROM $Twakers WHERE $C AND "
	  OF_WAKERS " ORDER BY waker LIMIT 1 BY waker",
	  fleet_waker_row, ONLY_WAKERS },
	{ "SELECT " OF_WAIT ", " WAIT_NUMBER ", sum(count), sum(blocked_ns), "
	  "sum(runnable_ns), sum(preempted_ns), max(max_ns), argMax(longest_start_unix_ns, max_ns), "
	  "argMax(longest_waker, max_ns), " SQUARES("off_cpu_se_ns") ", " SQUARES("count_se") ", sumForEach(hist) "
	  "FROM $Twaits FINAL WHERE $W GROUP BY " OF_WAIT " ORDER BY min(start), host, min(row)",
	  fleet_wait_row, OF_ALL },
	{ "SELECT number, waker, sum(count), sum(blocked_ns), sum(runnable_ns), sumForEach(hist) FROM "
	  "(SELECT start, window, row, wait, waker, count, blocked_ns, runnable_ns, hist FROM $Twakes FINAL WHERE $W) AS k "
	  "INNER JOIN "
	  "(SELECT window, row AS wait, " WAIT_NUMBER " AS number FROM $Twaits FINAL WHERE $W) AS w USING (window, wait) "
	  "GROUP BY number, waker ORDER BY min(start), min(row), number, waker",
	  fleet_wake_row, ONLY_WAKERS },
	{ "SELECT " OF_THREAD
	  ", user_stack, kernel_stack, sum(samples), sum(weight_ns) FROM $Ton_cpu FINAL WHERE $W GROUP BY " OF_THREAD
	  ", user_stack, kernel_stack ORDER BY min(start), host, min(row)",
	  fleet_on_cpu_row, OF_ALL },
	{ "SELECT " OF_TASKS ", argMax(version, start), sum(window_ns), sum(looks), max(rate_milli_hz), "
	  "intDiv(sum(looked_at_ppm * looks), sum(looks)), sum(cpu_ns), sum(stale), sum(unreadable), sum(no_row), max(is_cut) "
	  "FROM $Ttask_populations FINAL WHERE $W GROUP BY " OF_TASKS " ORDER BY min(start), host, min(row)",
	  fleet_population_row, ONLY_TASKS },
	{ "SELECT " OF_TASKS ", " OF_TASK ", sum(seen), sum(task_ns), " SQUARES(
		 "task_se_ns") " FROM $Ttasks FINAL WHERE $W GROUP BY " OF_TASKS ", " OF_TASK
			       " ORDER BY min(start), host, min(row)",
	  fleet_task_row, ONLY_TASKS },
	{ "SELECT object, direction, sum(count), sum(blocked_ns), sum(peer_ns), sum(network_ns), sum(silent_ns), sum(unclear_ns), "
	  "sum(resent), argMax(srtt_us, start), argMax(min_rtt_us, start) FROM $Ttcp_waits FINAL WHERE $W GROUP BY object, direction "
	  "ORDER BY min(start), min(row), object, direction",
	  fleet_tcp_row, ONLY_OBJECTS },
	{ "SELECT pid, side = 'server', local, remote FROM $Tconnections FINAL WHERE $W GROUP BY pid, side, local, remote "
	  "ORDER BY min(start), min(row), pid, side, local, remote",
	  fleet_connection_row, ONLY_CONNECTIONS },
	{ "SELECT reason, any(help), sum(count), sum(time_ns) FROM $Tlosses FINAL WHERE $W GROUP BY reason ORDER BY min(row), reason",
	  fleet_loss_row, OF_ALL },
};

void fleet_regex(GString *s, const char *glob)
{
	g_string_append(s, "^(?s:");
	for (; *glob; glob++) {
		if (*glob == '*')
			g_string_append(s, ".*");
		else if (*glob == '?')
			g_string_append_c(s, '.');
		else if (g_ascii_isalnum(*glob) || *glob == '_' || *glob == '-' || (unsigned char)*glob >= 128)
			g_string_append_c(s, *glob);
		else
			g_string_append_printf(s, "\\x%02x", (unsigned char)*glob);
	}
	g_string_append(s, ")$");
}

void fleet_append_range(GString *sql, const struct fleet_query *q)
{
	g_string_append_printf(sql,
			       "start >= toDateTime(%" G_GUINT64_FORMAT ") AND start <= toDateTime(%" G_GUINT64_FORMAT
			       ")",
			       (guint64)MIN(q->from_unix_ns / NS_A_SECOND, UINT32_MAX),
			       (guint64)MIN(q->to_unix_ns / NS_A_SECOND, UINT32_MAX));
}

static void append_glob(GString *sql, const struct fleet_query *q)
{
	g_autoptr(GString) regex = g_string_new(NULL);

	if (!q->host_glob)
		return;
	if (!strpbrk(q->host_glob, "*?")) {
		g_string_append(sql, " AND host = ");
		clickhouse_text(sql, q->host_glob);
		return;
	}
	fleet_regex(regex, q->host_glob);
	g_string_append(sql, " AND match(host, ");
	clickhouse_text(sql, regex->str);
	g_string_append_c(sql, ')');
}

void fleet_append_windows(GString *sql, const struct fleet_query *q)
{
	fleet_append_range(sql, q);
	g_string_append_printf(sql,
			       " AND start_unix_ns >= %" G_GUINT64_FORMAT " AND start_unix_ns < %" G_GUINT64_FORMAT,
			       (guint64)q->from_unix_ns, (guint64)q->to_unix_ns);
	append_glob(sql, q);
}

/*
 * The hosts of the windows found, as a list of names unless there are too many: tables sorted by host are searched
 * faster by name.
 */
static void append_hosts(GString *sql, const struct fleet *f, const struct fleet_query *q)
{
	if (f->hosts->len > HOSTS_BY_NAME) {
		append_glob(sql, q);
		return;
	}
	for (guint i = 0; i < f->hosts->len; i++) {
		g_string_append(sql, i ? ", " : " AND host IN (");
		clickhouse_text(sql, g_array_index(f->hosts, struct fleet_host, i).name);
	}
	g_string_append_c(sql, ')');
}

/* Rows of other tables: only of complete windows. */
static char *rows_of_windows(const char *tables, const struct fleet *f, const struct fleet_query *q)
{
	GString *sql = g_string_new(NULL);

	fleet_append_range(sql, q);
	append_hosts(sql, f, q);
	g_string_append_printf(sql, " AND window IN (SELECT window FROM %swindows WHERE ", tables);
	fleet_append_windows(sql, q);
	g_string_append(sql, ")");
	return g_string_free(sql, FALSE);
}

void fleet_append_days(GString *sql, const struct fleet_query *q)
{
	const uint64_t days[] = { q->from_unix_ns / NS_A_SECOND / SECONDS_A_DAY,
				  q->to_unix_ns / NS_A_SECOND / SECONDS_A_DAY };

	g_string_append_printf(sql, "day >= toDate(%u) AND day <= toDate(%u)",
			       (unsigned)CLAMP(days[0], 1, UINT16_MAX) - 1, (unsigned)MIN(days[1], UINT16_MAX));
}

static char *contents_of(const struct fleet *f, const struct fleet_query *q)
{
	GString *sql = g_string_new(NULL);

	fleet_append_days(sql, q);
	append_hosts(sql, f, q);
	return g_string_free(sql, FALSE);
}

/* In one pass, since a host's name may contain "$W". */
char *fleet_fill_in(const char *sql, const struct fleet_places *places)
{
	GString *s = g_string_new(NULL);

	for (const char *at = sql; *at; at++) {
		const char *text = *at != '$'	  ? NULL
				   : at[1] == 'T' ? places->tables
				   : at[1] == 'W' ? places->windows
						  : places->contents;

		if (text) {
			g_string_append(s, text);
			at++;
		} else {
			g_string_append_c(s, *at);
		}
	}
	g_string_append(s, " FORMAT RowBinary");
	return g_string_free(s, FALSE);
}

static bool read_rows(struct target *t, struct fleet *f, const struct fleet_select *select,
		      const struct fleet_places *places, GError **error)
{
	g_autofree char *sql = fleet_fill_in(select->sql, places);
	g_autoptr(GByteArray) answer = target_query(t, sql, ANSWER_MAX_BYTES, error);

	if (!answer)
		return false;
	struct cursor c = cursor_of(answer->data, answer->len);

	while (c.at < c.end)
		if (!select->row(f, &c, error)) {
			g_prefix_error(error, "%s: ", target_name(t));
			return false;
		}
	return true;
}

static bool no_window(struct target *t, const struct fleet_query *q, GError **error)
{
	g_autoptr(GDateTime) from = g_date_time_new_from_unix_local((gint64)(q->from_unix_ns / NS_A_SECOND));
	g_autoptr(GDateTime) to = g_date_time_new_from_unix_local((gint64)(q->to_unix_ns / NS_A_SECOND));
	g_autofree char *from_text = from ? g_date_time_format(from, "%F %T") : NULL;
	g_autofree char *to_text = to ? g_date_time_format(to, "%F %T") : NULL;

	return refuse(error, PUSH_ERROR, PUSH_ERROR_EMPTY, "%s: no window of %s%s%s began from %s to %s",
		      target_name(t), q->host_glob ? "a host like \"" : "any host", q->host_glob ? q->host_glob : "",
		      q->host_glob ? "\"" : "", from_text ? from_text : "then", to_text ? to_text : "then");
}

/* Adds up what concerns all hosts. */
static void sum_hosts(struct fleet *f)
{
	struct profile_info *info = &f->p->info;
	g_autofree char *several = g_strdup_printf("%u hosts", f->hosts->len);

	info->host = f->hosts->len == 1 ? g_array_index(f->hosts, struct fleet_host, 0).name
					: profile_string(f->p, several);
	EACH_ROW(i, const struct fleet_host, host, f->hosts) {
		info->duration_ns = MAX(info->duration_ns, host->duration_ns);
		info->cpus = host->cpus > UINT32_MAX - info->cpus ? UINT32_MAX : info->cpus + host->cpus;
	}
}

static bool read_all(struct target *t, struct fleet *f, const struct fleet_query *q, struct fleet_places *places,
		     GError **error)
{
	g_autoptr(GString) windows = g_string_new(NULL);

	fleet_append_windows(windows, q);
	places->windows = g_string_free(g_steal_pointer(&windows), FALSE);
	if (!read_rows(t, f, &selects[0], places, error) || (!f->windows && !no_window(t, q, error)))
		return false;
	g_free(places->windows);
	places->windows = rows_of_windows(places->tables, f, q);
	places->contents = contents_of(f, q);
	for (size_t i = 1; i < G_N_ELEMENTS(selects); i++) {
		if ((selects[i].of == ONLY_WAKERS && !f->p->info.has_wakers) ||
		    (selects[i].of == ONLY_OBJECTS && !f->p->info.has_objects) ||
		    (selects[i].of == ONLY_TASKS && !f->p->info.has_tasks) ||
		    (selects[i].of == ONLY_CONNECTIONS && !q->with_connections))
			continue;
		if (!read_rows(t, f, &selects[i], places, error))
			return false;
	}
	return true;
}

struct profile *fleet_read(struct target *t, const struct fleet_query *q, GError **error)
{
	g_autoptr(GString) tables = g_string_new(NULL);
	struct fleet *f = fleet_new();
	struct fleet_places places = { 0 };

	clickhouse_name(tables, target_database(t));
	g_string_append_c(tables, '.');
	places.tables = tables->str;
	bool ok = read_all(t, f, q, &places, error);

	g_free(places.windows);
	g_free(places.contents);
	if (ok) {
		sum_hosts(f);
		fleet_end_tasks(f);
		fleet_end_contents(f);
		ok = profile_check(f->p, error);
		if (!ok)
			g_prefix_error(error, "%s: ", target_name(t));
	}
	if (ok)
		return fleet_steal(f);
	fleet_free(f);
	return NULL;
}
