/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "push/fleet.h"

#include <string.h>

#include "push/clickhouse.h"
#include "push/fleet_rows.h"

#define ANSWER_MAX_BYTES (UINT64_C(1) << 30)
#define NS_A_SECOND 1000000000

#define OF_THREAD "host, process, comm, pid, tid, thread_start_ns, program"
#define OF_STACK "stack, end, names, modules, build_ids, offsets, files, lines, kinds, whys, inlines"
#define OF_TASKS "host, process, pid, kind"
#define OF_TASK "state, reason, stack, end, creator, creator_file, creator_line, parent, name, awaited_by"
#define OF_WAKERS \
	"(waker IN (SELECT waker FROM $Twakes WHERE $W) OR waker IN (SELECT longest_waker FROM $Twaits WHERE $W))"
#define SQUARES(column) "toUInt64(round(sqrt(sum(toFloat64(" column ") * toFloat64(" column ")))))"

/*
 * $T is a table, $W what limits rows to the windows that are asked for.  Sums are the server's, in the order of the
 * first window's rows, so that one window reads back as it was.  Of a thread's flags, open at the start is that of its
 * first window, open at the end that of its last.
 */
static const struct fleet_select {
	const char *sql;
	fleet_row_fn row;
	enum { OF_ALL, ONLY_WAKERS, ONLY_TASKS } of;	/* the others are left out where no window has any */
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
	{ "SELECT " OF_STACK " FROM $Tstacks WHERE "
	  "stack IN (SELECT arrayJoin([user_stack, kernel_stack]) FROM $Twaits WHERE $W) OR "
	  "stack IN (SELECT arrayJoin([user_stack, kernel_stack]) FROM $Ton_cpu WHERE $W) OR "
	  "stack IN (SELECT arrayJoin([user_stack, kernel_stack]) FROM $Twakers WHERE " OF_WAKERS ") ORDER BY stack LIMIT 1 BY stack",
	  fleet_stack_row, OF_ALL },
	{ "SELECT object, kind, is_private, operation, name, place, pid, address, holder_tid FROM $Tobjects WHERE "
	  "object IN (SELECT object FROM $Twaits WHERE $W) ORDER BY object LIMIT 1 BY object",
	  fleet_object_row, OF_ALL },
	{ "SELECT waker, pid, tid, start_ns, comm, irq, user_stack, kernel_stack FROM $Twakers WHERE "
	  OF_WAKERS " ORDER BY waker LIMIT 1 BY waker",
	  fleet_waker_row, ONLY_WAKERS },
	{ "SELECT " OF_THREAD
	  ", state, flags, user_stack, kernel_stack, object, any(wait), sum(count), sum(blocked_ns), "
	  "sum(runnable_ns), sum(preempted_ns), max(max_ns), argMax(longest_start_unix_ns, max_ns), "
	  "argMax(longest_waker, max_ns), " SQUARES("off_cpu_se_ns") ", " SQUARES(
		 "count_se") ", sumForEach(hist) "
			     "FROM $Twaits FINAL WHERE $W GROUP BY " OF_THREAD
			     ", state, flags, user_stack, kernel_stack, object "
			     "ORDER BY min(start), host, min(row)",
	  fleet_wait_row, OF_ALL },
	{ "SELECT wait, waker, sum(count), sum(blocked_ns), sum(runnable_ns), sumForEach(hist) FROM $Twakes FINAL WHERE $W "
	  "GROUP BY wait, waker ORDER BY min(start), min(row), wait, waker",
	  fleet_wake_row, ONLY_WAKERS },
	{ "SELECT " OF_THREAD
	  ", user_stack, kernel_stack, sum(samples), sum(weight_ns) FROM $Ton_cpu FINAL WHERE $W GROUP BY " OF_THREAD
	  ", user_stack, kernel_stack ORDER BY min(start), host, min(row)",
	  fleet_on_cpu_row, OF_ALL },
	{ "SELECT " OF_STACK " FROM $Tstacks WHERE stack IN (SELECT stack FROM $Ttasks WHERE $W) ORDER BY stack LIMIT 1 BY stack",
	  fleet_stack_row, ONLY_TASKS },
	{ "SELECT " OF_TASKS ", argMax(version, start), sum(window_ns), sum(looks), max(rate_milli_hz), "
	  "intDiv(sum(looked_at_ppm * looks), sum(looks)), sum(cpu_ns), sum(stale), sum(unreadable), sum(no_row), max(is_cut) "
	  "FROM $Ttask_populations FINAL WHERE $W GROUP BY " OF_TASKS " ORDER BY min(start), host, min(row)",
	  fleet_population_row, ONLY_TASKS },
	{ "SELECT " OF_TASKS ", " OF_TASK ", sum(seen), sum(task_ns), " SQUARES(
		 "task_se_ns") " FROM $Ttasks FINAL WHERE $W GROUP BY " OF_TASKS ", " OF_TASK
			       " ORDER BY min(start), host, min(row)",
	  fleet_task_row, ONLY_TASKS },
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

/* Of the windows themselves: by day first, which is what finds their parts of the tables. */
static void append_range(GString *sql, const struct fleet_query *q)
{
	g_string_append_printf(sql,
			       "start >= toDateTime(%" G_GUINT64_FORMAT ") AND start <= toDateTime(%" G_GUINT64_FORMAT
			       ")",
			       (guint64)MIN(q->from_unix_ns / NS_A_SECOND, UINT32_MAX),
			       (guint64)MIN(q->to_unix_ns / NS_A_SECOND, UINT32_MAX));
}

static void append_host(GString *sql, const struct fleet_query *q)
{
	g_autoptr(GString) regex = g_string_new(NULL);

	if (!q->host_glob)
		return;
	fleet_regex(regex, q->host_glob);
	g_string_append(sql, " AND match(host, ");
	clickhouse_text(sql, regex->str);
	g_string_append_c(sql, ')');
}

static void append_windows(GString *sql, const struct fleet_query *q)
{
	append_range(sql, q);
	g_string_append_printf(sql,
			       " AND start_unix_ns >= %" G_GUINT64_FORMAT " AND start_unix_ns < %" G_GUINT64_FORMAT,
			       (guint64)q->from_unix_ns, (guint64)q->to_unix_ns);
	append_host(sql, q);
}

/* Of other tables: only of windows that are complete. */
static char *rows_of_windows(const char *tables, const struct fleet_query *q)
{
	GString *sql = g_string_new(NULL);

	append_range(sql, q);
	g_string_append_printf(sql, " AND window IN (SELECT window FROM %swindows WHERE ", tables);
	append_windows(sql, q);
	g_string_append(sql, ")");
	return g_string_free(sql, FALSE);
}

static char *fill_in(const char *sql, const char *tables, const char *windows)
{
	g_auto(GStrv) by_table = g_strsplit(sql, "$T", -1);
	g_autofree char *named = g_strjoinv(tables, by_table);
	g_auto(GStrv) by_window = g_strsplit(named, "$W", -1);
	g_autofree char *whole = g_strjoinv(windows, by_window);

	return g_strconcat(whole, " FORMAT RowBinary", NULL);
}

static bool read_rows(struct target *t, struct fleet *f, const struct fleet_select *select, const char *tables,
		      const char *windows, GError **error)
{
	g_autofree char *sql = fill_in(select->sql, tables, windows);
	g_autoptr(GByteArray) answer = target_query(t, sql, ANSWER_MAX_BYTES, error);

	if (!answer)
		return false;
	struct cursor c = { .at = answer->data, .end = answer->data + answer->len };

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

	return fleet_bad(error, "%s: no window of %s%s%s began from %s to %s", target_name(t),
			 q->host_glob ? "a host like \"" : "any host", q->host_glob ? q->host_glob : "",
			 q->host_glob ? "\"" : "", from_text ? from_text : "then", to_text ? to_text : "then");
}

/* What is of all hosts together. */
static void sum_hosts(struct fleet *f)
{
	struct profile_info *info = &f->p->info;
	g_autofree char *several = g_strdup_printf("%u hosts", f->hosts->len);

	info->host = f->hosts->len == 1 ? g_array_index(f->hosts, struct fleet_host, 0).name
					: profile_string(f->p, several);
	for (guint i = 0; i < f->hosts->len; i++) {
		const struct fleet_host *host = &g_array_index(f->hosts, struct fleet_host, i);

		info->duration_ns = MAX(info->duration_ns, host->duration_ns);
		info->cpus = host->cpus > UINT32_MAX - info->cpus ? UINT32_MAX : info->cpus + host->cpus;
	}
}

struct profile *fleet_read(struct target *t, const struct fleet_query *q, GError **error)
{
	g_autoptr(GString) tables = g_string_new(NULL), of_windows = g_string_new(NULL);
	struct fleet *f = fleet_new();
	bool ok = true;

	clickhouse_name(tables, target_database(t));
	g_string_append_c(tables, '.');
	append_windows(of_windows, q);
	g_autofree char *of_rows = rows_of_windows(tables->str, q);

	for (size_t i = 0; ok && i < G_N_ELEMENTS(selects); i++) {
		if ((selects[i].of == ONLY_WAKERS && !f->p->info.has_wakers) ||
		    (selects[i].of == ONLY_TASKS && !f->p->info.has_tasks))
			continue;
		ok = read_rows(t, f, &selects[i], tables->str, i ? of_rows : of_windows->str, error);
		if (ok && i == 0)
			ok = f->windows || no_window(t, q, error);
	}
	if (ok) {
		sum_hosts(f);
		fleet_end_tasks(f);
		ok = profile_check(f->p, error);
		if (!ok)
			g_prefix_error(error, "%s: ", target_name(t));
	}
	if (ok)
		return fleet_steal(f);
	fleet_free(f);
	return NULL;
}
