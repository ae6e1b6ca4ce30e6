/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What stands in a recording's tables: the published queries, the schema, and rows that say less. */
#include <sqlite3.h>
#include <string.h>

#include "place.h"
#include "profile/profile_schema.h"
#include "sample.h"

static char *query(const char *path, const char *sql)
{
	g_autoptr(GString) out = g_string_new(NULL);
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	int rc;

	g_assert_cmpint(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), ==, SQLITE_OK);
	rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
	g_assert_cmpstr(rc == SQLITE_OK ? "" : sqlite3_errmsg(db), ==, "");
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(stmt); i++)
			g_string_append_printf(out, "%s|", (const char *)sqlite3_column_text(stmt, i));
	g_assert_cmpint(rc, ==, SQLITE_DONE);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return g_strdup(out->str);
}

static void assert_query(const char *path, const char *sql, const char *want)
{
	g_autofree char *got = query(path, sql);

	g_assert_cmpstr(got, ==, want);
}

/* A recording of one wait, so that every column of every view has a known value. */
static struct profile *one_wait(void)
{
	struct profile *p = profile_new();
	const struct frame frames[] = {
		{ .name = "main", .module = "/bin/x", .offset = 16, .file = "x.c", .line = 7 },
		{ .module = "/bin/x", .offset = 255, .why = FRAME_NO_SYMBOLS },
		{ .name = "schedule", .module = "[kernel]", .offset = 0xffffffff81000000, .kind = FRAME_KERNEL },
	};
	const struct thread t = { .pid = 8, .tid = 9, .comm = "x", .process = "px", .from_ns = 100, .to_ns = 1100,
				  .on_cpu_ns = 600, .blocked_ns = 300, .runnable_ns = 60, .preempted_ns = 30,
				  .flags = THREAD_EXITED };
	struct wait w = { .state = 'D', .flags = WAIT_OPEN_AT_END, .count = 3, .blocked_ns = 300, .runnable_ns = 60,
			  .max_ns = 250, .hist = { [5] = 2, [7] = 1 } };

	profile_add_thread(p, &t);
	w.user = profile_node(p, 0, profile_frame(p, &frames[0]));
	w.user = profile_node(p, w.user, profile_frame(p, &frames[1]));
	w.kernel = profile_node(p, 0, profile_frame(p, &frames[2]));
	profile_stack_end(p, w.user, STACK_BROKEN);
	profile_add_wait(p, &w);
	return p;
}

/* The published queries of docs/file-format.md. */
static void test_sql(struct place *at, gconstpointer data)
{
	struct profile *p = one_wait();

	write_sample(p, at->path);
	assert_query(at->path, "PRAGMA application_id", "1868981104|");
	assert_query(at->path, "PRAGMA user_version", "1|");
	assert_query(at->path, "PRAGMA integrity_check", "ok|");
	assert_query(at->path, "PRAGMA foreign_key_check", "");
	assert_query(at->path, "SELECT comm, pid, tid, state, open_at_end, count, off_cpu_ns, user_leaf, kernel_leaf "
			       "FROM v_wait", "x|8|9|D|1|3|360|/bin/x+0xff|schedule|");
	assert_query(at->path, "SELECT id, depth, end, leaf FROM v_stack",
		     "1|1|none|main|2|2|broken|/bin/x+0xff|3|1|none|schedule|");
	assert_query(at->path, "SELECT id, stack FROM v_stack_text", "1|main|2|main;/bin/x+0xff|3|schedule|");
	assert_query(at->path, "SELECT observed_ns, off_cpu_ns, residual_ns, exited, execed FROM v_thread",
		     "1000|390|10|1|0|");
	assert_query(at->path, "SELECT name, file, line, kind, why FROM v_frame WHERE id = 0", "main|x.c|7|user|named|");
	assert_query(at->path, "SELECT exponent, count FROM v_hist WHERE wait_id = 0", "5|2|7|1|");
	assert_query(at->path, "SELECT printf('%x', offset) FROM frame WHERE id = 2", "ffffffff81000000|");
	profile_free(p);
}

static void test_folded_sql(struct place *at, gconstpointer data)
{
	struct profile *p = one_wait();

	write_sample(p, at->path);
	assert_query(at->path,
		     "WITH RECURSIVE path(stack_id, next_id, line) AS ("
		     "  SELECT id, parent_id, leaf FROM v_stack"
		     "  UNION ALL"
		     "  SELECT p.stack_id, s.parent_id, s.leaf || ';' || p.line"
		     "  FROM path p JOIN v_stack s ON s.id = p.next_id)"
		     "SELECT w.comm || coalesce(';' || u.line, '') || ';-' || coalesce(';' || k.line, ''), "
		     "       sum(w.off_cpu_ns) "
		     "FROM v_wait w "
		     "LEFT JOIN path u ON u.stack_id = w.user_stack_id AND u.next_id IS NULL "
		     "LEFT JOIN path k ON k.stack_id = w.kernel_stack_id AND k.next_id IS NULL "
		     "GROUP BY 1 ORDER BY 2 DESC",
		     "x;main;/bin/x+0xff;-;schedule|360|");
	profile_free(p);
}

/* The reader compares byte for byte: what SQLite keeps is what we gave it, nothing else. */
static void test_schema_is_kept_verbatim(struct place *at, gconstpointer data)
{
	struct profile *p = profile_new();

	write_sample(p, at->path);
	for (const struct profile_table *t = profile_tables; t < profile_tables + TABLE_CNT; t++) {
		g_autofree char *made = profile_table_sql(t);
		g_autofree char *sql = g_strdup_printf("SELECT sql FROM sqlite_master WHERE name = '%s'", t->name);
		g_autofree char *want = g_strconcat(made, "|", NULL);

		assert_query(at->path, sql, want);
	}
	profile_free(p);
}

/* Of one wait alone the histogram and the maximum are left out, but only when nothing is lost by it. */
static void test_single_waits(struct place *at, gconstpointer data)
{
	struct profile *p = one_wait();
	struct wait w = *profile_wait(p, 0);

	memset(w.hist, 0, sizeof(w.hist));
	for (uint64_t ns = 0; ns <= 1000; ns += ns ? 333 : 1) {
		w = (struct wait){ .thread = w.thread, .state = 'D', .flags = w.flags, .user = w.user, .kernel = w.kernel,
				   .count = 1, .blocked_ns = ns, .max_ns = ns };
		w.hist[profile_hist_slot(ns)] = 1;
		g_array_set_size(p->waits, 0);
		g_array_append_val(p->waits, w);
		write_sample(p, at->path);
		assert_query(at->path, "SELECT max_ns IS NULL, log2_ns IS NULL FROM wait", "1|1|");
		g_autofree char *want = g_strdup_printf("%u|1|", profile_hist_slot(ns));
		assert_query(at->path, "SELECT exponent, count FROM v_hist", want);
		assert_reads_as(p, at->path);
	}
	g_array_index(p->waits, struct wait, 0).max_ns = 5;
	write_sample(p, at->path);
	assert_query(at->path, "SELECT max_ns, log2_ns FROM wait", "5|[9,1]|");
	assert_reads_as(p, at->path);
	profile_free(p);
}

#define ADD(path, body, data) g_test_add("/profile-schema/" path, struct place, data, place_make, body, place_remove)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("sql", test_sql, NULL);
	ADD("folded-sql", test_folded_sql, NULL);
	ADD("single-waits", test_single_waits, NULL);
	ADD("schema-is-kept-verbatim", test_schema_is_kept_verbatim, NULL);
	return g_test_run();
}
