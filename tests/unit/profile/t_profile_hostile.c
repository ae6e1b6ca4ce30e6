/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What is no recording, cut off, corrupted or forged is refused with a reason, or read as a valid profile. */
#include "profile/profile_file.h"

#include <glib/gstdio.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

#include "sample.h"

struct place {
	char *dir, *path;
};

static void place_make(struct place *at, gconstpointer data)
{
	at->dir = g_dir_make_tmp(NULL, NULL);
	g_assert_nonnull(at->dir);
	at->path = g_build_filename(at->dir, "x.offcpu", NULL);
}

static void place_remove(struct place *at, gconstpointer data)
{
	g_remove(at->path);
	g_assert_cmpint(g_rmdir(at->dir), ==, 0);
	g_free(at->dir);
	g_free(at->path);
}

static void make(const struct place *at, const struct sample_size *size)
{
	struct profile *p = sample_profile(size, 5);
	GError *error = NULL;

	g_remove(at->path);
	profile_file_write(p, at->path, &error);
	g_assert_no_error(error);
	profile_free(p);
}

static unsigned char *load(const struct place *at, size_t *ret_len)
{
	char *bytes = NULL;
	gsize len = 0;

	g_assert_true(g_file_get_contents(at->path, &bytes, &len, NULL));
	*ret_len = len;
	return (unsigned char *)bytes;
}

/* `want` is a printf format for the path. */
static void assert_refused(const struct place *at, GQuark domain, int code, const char *want)
{
	g_auto(GStrv) parts = g_strsplit(want, "PATH", -1);
	g_autofree char *message = g_strjoinv(at->path, parts);
	GError *error = NULL;

	g_assert_null(profile_file_read(at->path, &error));
	g_assert_nonnull(error);
	g_assert_cmpstr(error->message, ==, message);
	g_assert_error(error, domain, code);
	g_error_free(error);
}

#define NOT_RECORDING PROFILE_FILE_ERROR, PROFILE_FILE_ERROR_NOT_RECORDING
#define OTHER_VERSION PROFILE_FILE_ERROR, PROFILE_FILE_ERROR_OTHER_VERSION
#define DAMAGED PROFILE_FILE_ERROR, PROFILE_FILE_ERROR_DAMAGED

static void put_file(const struct place *at, const void *bytes, size_t len)
{
	g_assert_true(g_file_set_contents(at->path, bytes, (gssize)len, NULL));
}

static void test_other_files(struct place *at, gconstpointer data)
{
	static const char text[] = "worker;main;read 17\n";
	g_autofree char *much_text = g_strnfill(100000, 'x');

	assert_refused(at, G_FILE_ERROR, G_FILE_ERROR_NOENT, "cannot read 'PATH': No such file or directory");
	put_file(at, "", 0);
	assert_refused(at, NOT_RECORDING, "'PATH' is empty, not a recording");
	put_file(at, text, sizeof(text) - 1);
	assert_refused(at, NOT_RECORDING, "'PATH' is not an offcpu recording");
	put_file(at, much_text, 100000);
	assert_refused(at, NOT_RECORDING, "'PATH' is not an offcpu recording");
	g_remove(at->path);
	g_assert_cmpint(g_mkdir(at->path, 0700), ==, 0);
	assert_refused(at, NOT_RECORDING, "'PATH' is a directory, not a recording");
	g_assert_cmpint(g_rmdir(at->path), ==, 0);
	g_assert_cmpint(mkfifo(at->path, 0600), ==, 0);
	assert_refused(at, NOT_RECORDING, "'PATH' is no regular file, not a recording");
}

/* Runs SQL on the file as anybody with a shell can, DEFENSIVE off. */
static void forge(const struct place *at, const char *sql)
{
	sqlite3 *db = NULL;
	char *message = NULL;

	g_assert_cmpint(sqlite3_open(at->path, &db), ==, SQLITE_OK);
	sqlite3_exec(db, "PRAGMA writable_schema=ON", NULL, NULL, NULL);
	sqlite3_exec(db, sql, NULL, NULL, &message);
	g_assert_cmpstr(message, ==, NULL);
	sqlite3_close(db);
}

static void test_other_databases(struct place *at, gconstpointer data)
{
	forge(at, "CREATE TABLE cookies(a)");
	assert_refused(at, NOT_RECORDING, "'PATH' is an SQLite database, but not an offcpu recording");
	make(at, &sample_small);
	forge(at, "PRAGMA user_version=9");
	assert_refused(at, OTHER_VERSION,
		       "'PATH' was written by another version of offcpu (schema 9; this one reads 1): record anew");
	forge(at, "PRAGMA user_version=-1");
	assert_refused(at, OTHER_VERSION, "'PATH' was written by another version of offcpu "
					  "(schema 4294967295; this one reads 1): record anew");
	make(at, &sample_small);
	forge(at, "PRAGMA journal_mode=WAL");
	assert_refused(at, DAMAGED, "'PATH' was changed and left in WAL mode "
				    "(sqlite3 FILE 'PRAGMA journal_mode=DELETE' helps)");
}

static const struct {
	const char *sql, *want;
} forgeries[] = {
	/* values */
	{ "UPDATE wait SET state = 'X' WHERE id = 3", "row 4 of table \"wait\" has an invalid state" },
	{ "UPDATE wait SET state = 'SS' WHERE id = 3", "row 4 of table \"wait\" has an invalid state" },
	{ "UPDATE wait SET state = NULL", "row 1 of table \"wait\" has an invalid state" },
	{ "UPDATE wait SET thread_id = 5 WHERE id = 0", "row 1 of table \"wait\" has an invalid thread_id" },
	{ "UPDATE wait SET user_stack_id = 4000000000 WHERE id = 0", "row 1 of table \"wait\" has an invalid user_stack_id" },
	{ "UPDATE wait SET kernel_stack_id = -1 WHERE id = 0", "row 1 of table \"wait\" has an invalid kernel_stack_id" },
	{ "UPDATE wait SET blocked_ns = -1 WHERE id = 9", "row 10 of table \"wait\" has an invalid blocked_ns" },
	{ "UPDATE wait SET max_ns = 4611686018427387905 WHERE id = 9", "row 10 of table \"wait\" has an invalid max_ns" },
	{ "UPDATE wait SET count = 'many' WHERE id = 9", "row 10 of table \"wait\" has an invalid count" },
	{ "UPDATE wait SET count = 1.5 WHERE id = 9", "row 10 of table \"wait\" has an invalid count" },
	{ "UPDATE wait SET blocked_ns = 4611686018427387904", "blocked_ns of table \"wait\" adds up to more than 63 bits" },
	{ "UPDATE wait SET count = 9223372036854775807 WHERE log2_ns IS NOT NULL", "count of table \"wait\" adds up to more than 63 bits" },
	{ "UPDATE wait SET flags = 256 WHERE id = 4", "row 5 of table \"wait\" has an invalid flags" },
	{ "UPDATE wait SET log2_ns = '[48,1]' WHERE id = 4", "row 5 of table \"wait\" has an invalid log2_ns" },
	{ "UPDATE wait SET log2_ns = '[47,1,1]' WHERE id = 4", "row 5 of table \"wait\" has an invalid log2_ns" },
	{ "UPDATE wait SET log2_ns = '[1,4294967296]' WHERE id = 4", "row 5 of table \"wait\" has an invalid log2_ns" },
	{ "UPDATE wait SET log2_ns = '[1]' WHERE id = 4", "row 5 of table \"wait\" has an invalid log2_ns" },
	{ "UPDATE wait SET log2_ns = '[2,1],' WHERE id = 4", "row 5 of table \"wait\" has an invalid log2_ns" },
	{ "UPDATE wait SET log2_ns = '[,]' WHERE id = 4", "row 5 of table \"wait\" has an invalid log2_ns" },
	{ "UPDATE wait SET log2_ns = '[2,-1]' WHERE id = 4", "row 5 of table \"wait\" has an invalid log2_ns" },
	{ "UPDATE wait SET log2_ns = '[[2,1]]' WHERE id = 4", "row 5 of table \"wait\" has an invalid log2_ns" },
	{ "UPDATE wait SET count = 2, log2_ns = NULL, max_ns = 1 WHERE id = 4", "row 5 of table \"wait\" has an invalid log2_ns" },
	{ "UPDATE wait SET count = 2, log2_ns = '[1,2]', max_ns = NULL WHERE id = 4", "row 5 of table \"wait\" has an invalid max_ns" },
	{ "UPDATE wait SET count = 1, log2_ns = NULL, max_ns = NULL WHERE id = 4", NULL },
	{ "UPDATE wait SET log2_ns = zeroblob(40000) WHERE id = 4", "row 5 of table \"wait\" has an invalid log2_ns" },
	{ "UPDATE wait SET log2_ns = hex(zeroblob(40000)) WHERE id = 4", "table \"wait\": string or blob too big" },
	{ "UPDATE thread SET to_ns = from_ns - 1 WHERE id = 1", "row 2 of table \"thread\" has an invalid to_ns" },
	{ "UPDATE thread SET pid = 4294967296 WHERE id = 1", "row 2 of table \"thread\" has an invalid pid" },
	{ "UPDATE thread SET comm = 7 WHERE id = 1", NULL }, /* TEXT affinity: it is '7' */
	{ "UPDATE thread SET comm = x'00' WHERE id = 1", "row 2 of table \"thread\" has an invalid comm" },
	{ "UPDATE thread SET comm = printf('%20000d', 1) WHERE id = 1", "row 2 of table \"thread\" has an invalid comm" },
	{ "UPDATE thread SET on_cpu_ns = 4611686018427387904", "on_cpu_ns of table \"thread\" adds up to more than 63 bits" },
	{ "UPDATE stack SET parent_id = id", "row 1 of table \"stack\" has an invalid parent_id" },
	{ "UPDATE stack SET parent_id = 10 WHERE id = 4", "row 4 of table \"stack\" has an invalid parent_id" },
	{ "UPDATE stack SET frame_id = 1000 WHERE id = 4", "row 4 of table \"stack\" has an invalid frame_id" },
	{ "UPDATE stack SET frame_id = NULL WHERE id = 4", "row 4 of table \"stack\" has an invalid frame_id" },
	{ "UPDATE stack SET depth = 200 WHERE id = 4", "row 4 of table \"stack\" has an invalid depth" },
	{ "UPDATE stack SET end = 5 WHERE id = 4", "row 4 of table \"stack\" has an invalid end" },
	{ "UPDATE frame SET kind = 3 WHERE id = 4", "row 5 of table \"frame\" has an invalid kind" },
	{ "UPDATE frame SET why = 6 WHERE id = 4", "row 5 of table \"frame\" has an invalid why" },
	{ "UPDATE frame SET name_id = NULL WHERE id = 4", "row 5 of table \"frame\" has an invalid why" },
	{ "UPDATE frame SET name_id = 100000 WHERE id = 4", "row 5 of table \"frame\" has an invalid name_id" },
	{ "UPDATE frame SET offset = 'far' WHERE id = 4", "row 5 of table \"frame\" has an invalid offset" },
	{ "UPDATE window SET duration_ns = -5", "row 1 of table \"window\" has an invalid duration_ns" },
	{ "UPDATE window SET tracer_bpf_ns = NULL", NULL },
	{ "UPDATE meta SET value = 'eight' WHERE key = 'cpus'", "row 3 of table \"meta\" has an invalid value" },
	{ "INSERT INTO meta VALUES('later', 1.5)", NULL },
	{ "UPDATE loss SET count = -1", "row 1 of table \"loss\" has an invalid count" },
	/* rows */
	{ "DELETE FROM window", "table \"window\" is empty" },
	{ "INSERT INTO window SELECT 2, 1, 1, 1, 1, 1, 1, 1", "table \"window\" has more than 1 rows" },
	{ "DELETE FROM string WHERE id = 3", "the ids of table \"string\" are not consecutive" },
	{ "DELETE FROM stack WHERE id = 1", "the ids of table \"stack\" are not consecutive" },
	{ "DELETE FROM wait WHERE id = 7", "the ids of table \"wait\" are not consecutive" },
	{ "DELETE FROM wait", "row 1 of table \"wake\" has an invalid wait_id" },
	{ "DELETE FROM trace; DELETE FROM hop; DELETE FROM story; DELETE FROM wake; DELETE FROM wait", NULL },
	{ "DELETE FROM story", "row 1 of table \"hop\" has an invalid story_id" },
	{ "DELETE FROM hop", "the times of story 1 are not its waking's" },
	{ "DELETE FROM chain", "row 1 of table \"story\" has an invalid chain_id" },
	{ "UPDATE chain SET next_id = id", "row 1 of table \"chain\" has an invalid next_id" },
	{ "UPDATE chain SET end = 7 WHERE id = 1", "row 2 of table \"chain\" has an invalid end" },
	{ "UPDATE chain SET next_id = NULL, end = 0 WHERE id = 1", "row 2 of table \"chain\" has an invalid end" },
	{ "UPDATE chain SET waker_id = -1 WHERE id = 1", "row 2 of table \"chain\" has an invalid waker_id" },
	{ "UPDATE chain SET loop_steps = 17 WHERE id = 1", "row 2 of table \"chain\" has an invalid loop_steps" },
	{ "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 20) INSERT INTO chain SELECT i + (SELECT "
	  "count(*) FROM chain), 0, i + (SELECT count(*) FROM chain) - 1, 0, 0 FROM n", "row 56 of table \"chain\" has an invalid next_id" },
	{ "UPDATE hop SET step = 0 WHERE id = 1", "row 2 of table \"hop\" has an invalid step" },
	{ "UPDATE hop SET step = 3 WHERE id = 1", "row 2 of table \"hop\" has an invalid step" },
	{ "UPDATE hop SET ran_ns = ran_ns + 1 WHERE id = 1", "the times of story 1 are not its waking's" },
	{ "UPDATE hop SET ran_ns = 1 << 62", "the times of story 1 add up to more than 292 years" },
	{ "UPDATE story SET count = 1 << 50 WHERE id = 1", "the times of story 1 are not its waking's" },
	{ "UPDATE story SET wake_id = 1 << 20 WHERE id = 1", "row 2 of table \"story\" has an invalid wake_id" },
	{ "UPDATE story SET rest_ns = -1 WHERE id = 1", "row 2 of table \"story\" has an invalid rest_ns" },
	{ "DELETE FROM waker", "row 1 of table \"wake\" has an invalid waker_id" },
	{ "DELETE FROM hop; DELETE FROM story; DELETE FROM chain; DELETE FROM wake; DELETE FROM waker",
	  "row 1 of table \"storm\" has an invalid waker_id" },
	{ "DELETE FROM blame", NULL },
	{ "DELETE FROM storm", NULL },
	{ "DELETE FROM trace", NULL },
	{ "UPDATE trace SET wait_id = 0 WHERE id = 1", "row 2 of table \"trace\" has an invalid wait_id" },
	{ "UPDATE trace SET trace_id = upper('A' || substr(trace_id, 2)) WHERE id = 1", "row 2 of table \"trace\" has an invalid trace_id" },
	{ "UPDATE trace SET span_id = '12' WHERE id = 1", "row 2 of table \"trace\" has an invalid trace_id" },
	{ "DELETE FROM blame WHERE id = 1", "the ids of table \"blame\" are not consecutive" },
	{ "UPDATE blame SET thread_id = 1000 WHERE id = 1", "row 2 of table \"blame\" has an invalid thread_id" },
	{ "UPDATE blame SET kind = 0 WHERE id = 1", "row 2 of table \"blame\" has an invalid kind" },
	{ "UPDATE blame SET kind = 4 WHERE id = 1", "row 2 of table \"blame\" has an invalid kind" },
	{ "UPDATE blame SET comm = x'00' WHERE id = 1", "row 2 of table \"blame\" has an invalid comm" },
	{ "UPDATE blame SET runnable_ns = runnable_ns * 3 + 9 WHERE id = 1", "blame 1 is for more than its thread waited for a CPU" },
	{ "UPDATE blame SET preempted_ns = 1 << 62 WHERE id = 1", "blame 1 is for more than its thread waited for a CPU" },
	{ "INSERT INTO blame SELECT (SELECT count(*) FROM blame), thread_id, 1, 7, 7, 'x', 1, runnable_ns, preempted_ns + 1 "
	  "FROM blame WHERE id = 1", "blame 5 is for more than its thread waited for a CPU" },
	{ "DELETE FROM on_cpu", NULL },
	{ "DELETE FROM meta WHERE key = 'on_cpu_hz'", "it has samples and no rate" },
	{ "UPDATE on_cpu SET thread_id = 1000 WHERE id = 1", "row 2 of table \"on_cpu\" has an invalid thread_id" },
	{ "UPDATE on_cpu SET user_stack_id = 100000 WHERE id = 1", "row 2 of table \"on_cpu\" has an invalid user_stack_id" },
	{ "UPDATE on_cpu SET samples = 0 WHERE id = 1", "on-CPU row 1 has no samples" },
	{ "UPDATE on_cpu SET samples = -1 WHERE id = 1", "row 2 of table \"on_cpu\" has an invalid samples" },
	{ "UPDATE on_cpu SET weight_ns = 1 << 62", "weight_ns of table \"on_cpu\" adds up to more than 63 bits" },
	{ "DELETE FROM request", "row 1 of table \"request_calls\" has an invalid id" },
	{ "UPDATE request SET count = -1 WHERE id = 0", "row 1 of table \"request\" has an invalid count" },
	{ "UPDATE request SET wall_ns = 1 << 63 WHERE id = 0", "row 1 of table \"request\" has an invalid wall_ns" },
	{ "UPDATE request SET name = NULL WHERE id = 0", NULL },
	{ "UPDATE request SET latency_ns = '[593,1]' WHERE id = 0", "row 1 of table \"request\" has an invalid latency_ns" },
	{ "UPDATE request SET latency_ns = '[5,1,5,1]' WHERE id = 0", "row 1 of table \"request\" has an invalid latency_ns" },
	{ "UPDATE request SET latency_ns = '[5,1,]' WHERE id = 0", "row 1 of table \"request\" has an invalid latency_ns" },
	{ "UPDATE request SET latency_ns = '[5' WHERE id = 0", "row 1 of table \"request\" has an invalid latency_ns" },
	{ "UPDATE request SET latency_ns = '[5,1]x' WHERE id = 0", "row 1 of table \"request\" has an invalid latency_ns" },
	{ "UPDATE request SET latency_ns = '[5,-1]' WHERE id = 0", "row 1 of table \"request\" has an invalid latency_ns" },
	{ "UPDATE request SET latency_ns = NULL WHERE id = 0", "row 1 of table \"request\" has an invalid latency_ns" },
	{ "UPDATE request SET latency_ns = '[]' WHERE id = 0", NULL },
	{ "UPDATE request SET latency_ns = '[5,9223372036854775807]'", "a number of request 0 is out of range" },
	{ "UPDATE request_calls SET self_wall_ns = 'x' WHERE id = 1", "row 2 of table \"request_calls\" has an invalid self_wall_ns" },
	{ "DELETE FROM request_calls", NULL },
	{ "DELETE FROM request_part", NULL },
	{ "UPDATE request_part SET request_id = 2 WHERE id = 1", "row 2 of table \"request_part\" has an invalid request_id" },
	{ "UPDATE request_part SET latency_range = 200 WHERE id = 1", "row 2 of table \"request_part\" has an invalid latency_range" },
	{ "UPDATE request_part SET state = 'X' WHERE id = 1", "row 2 of table \"request_part\" has an invalid state" },
	{ "UPDATE request_part SET thread_id = 1000 WHERE id = 1", "row 2 of table \"request_part\" has an invalid thread_id" },
	{ "UPDATE request_part SET user_stack_id = 1 << 30 WHERE id = 1", "row 2 of table \"request_part\" has an invalid user_stack_id" },
	{ "UPDATE request_part SET object_id = 1 << 30 WHERE id = 1", "row 2 of table \"request_part\" has an invalid object_id" },
	{ "UPDATE request_part SET blocked_ns = 1 << 62", "blocked_ns of table \"request_part\" adds up to more than 63 bits" },
	{ "DELETE FROM span_wait; DELETE FROM span", NULL },
	{ "DELETE FROM span", "row 1 of table \"span_wait\" has an invalid span_id" },
	{ "UPDATE span SET request_id = 2 WHERE id = 1", "row 2 of table \"span\" has an invalid request_id" },
	{ "UPDATE span SET thread_id = NULL WHERE id = 1", "row 2 of table \"span\" has an invalid thread_id" },
	{ "UPDATE span SET start_ns = -1 WHERE id = 1", "row 2 of table \"span\" has an invalid start_ns" },
	{ "UPDATE span SET flags = 32 WHERE id = 1", "row 2 of table \"span\" has an invalid flags" },
	{ "UPDATE span SET wall_ns = 1 << 62", "wall_ns of table \"span\" adds up to more than 63 bits" },
	{ "UPDATE span_wait SET span_id = 1 WHERE id = 2", "row 3 of table \"span_wait\" has an invalid span_id" },
	{ "UPDATE span_wait SET state = NULL WHERE id = 1", "row 2 of table \"span_wait\" has an invalid state" },
	{ "UPDATE span_wait SET count = 1.5 WHERE id = 1", "row 2 of table \"span_wait\" has an invalid count" },
	{ "UPDATE span_wait SET kernel_stack_id = -1 WHERE id = 1", "row 2 of table \"span_wait\" has an invalid kernel_stack_id" },
	{ "UPDATE span_wait SET blocked_ns = 1 << 62", "wait 1 of a span has no valid stack, object, state or time" },
	{ "WITH RECURSIVE n(i) AS (SELECT 6 UNION ALL SELECT i + 1 FROM n WHERE i < 60) INSERT INTO span_wait "
	  "SELECT i, 5, 'S', NULL, NULL, NULL, 1, 1, 1, 1 FROM n", "row 37 of table \"span_wait\" has an invalid span_id" },
	{ "DELETE FROM task; DELETE FROM task_population; DELETE FROM task_look; DELETE FROM task_look_cells", NULL },
	{ "DELETE FROM task_look; DELETE FROM task_look_cells", NULL },
	{ "DELETE FROM task_look_cells", NULL },
	{ "DELETE FROM task_look", "row 1 of table \"task_look_cells\" has an invalid look_id" },
	{ "UPDATE task_look SET population_id = 2 WHERE id = 1", "row 2 of table \"task_look\" has an invalid population_id" },
	{ "UPDATE task_look SET start_ns = 0 WHERE id = 1", "the looks at task population 0 are out of order or range" },
	{ "UPDATE task_look SET period_ns = 0 WHERE id = 1", "the looks at task population 0 are out of order or range" },
	{ "UPDATE task_look SET looks = 0 WHERE id = 1", "the looks at task population 0 are out of order or range" },
	{ "UPDATE task_look SET weight_milli = 0 WHERE id = 1", "the looks at task population 0 are out of order or range" },
	{ "UPDATE task_look SET stale = -1 WHERE id = 1", "row 2 of table \"task_look\" has an invalid stale" },
	{ "UPDATE task_look_cells SET look_id = 0 WHERE id = 2", "row 3 of table \"task_look_cells\" has an invalid look_id" },
	{ "UPDATE task_look_cells SET cells = x'0501ff' WHERE id = 1", "row 2 of table \"task_look_cells\" has an invalid cells" },
	{ "UPDATE task_look_cells SET cells = x'ffff0101' WHERE id = 1", "row 2 of table \"task_look_cells\" has an invalid cells" },
	{ "UPDATE task_look_cells SET cells = x'010101000101' WHERE id = 1", "the looks at task population 0 are out of order or range" },
	{ "UPDATE task_look_cells SET cells = 'text' WHERE id = 1", "row 2 of table \"task_look_cells\" has an invalid cells" },
	{ "DELETE FROM task_population; DELETE FROM task_look_cells", "row 1 of table \"task\" has an invalid population_id" },
	{ "UPDATE task_population SET kind = 'fiber' WHERE id = 1", "row 2 of table \"task_population\" has an invalid kind" },
	{ "UPDATE task_population SET window_ns = 0 WHERE id = 1", "row 2 of table \"task_population\" has an invalid window_ns" },
	{ "UPDATE task_population SET looks = NULL WHERE id = 1", "row 2 of table \"task_population\" has an invalid looks" },
	{ "UPDATE task_population SET looked_at_ppm = 1000001 WHERE id = 1", "row 2 of table \"task_population\" has an invalid looked_at_ppm" },
	{ "UPDATE task_population SET is_cut = 2 WHERE id = 1", "row 2 of table \"task_population\" has an invalid is_cut" },
	{ "UPDATE task_population SET program = printf('%20000d', 1) WHERE id = 1", "row 2 of table \"task_population\" has an invalid program" },
	{ "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 1025) INSERT INTO task_population "
	  "SELECT i, 1, 'asyncio', '', NULL, 1, 1, 1, 1, 1, 0, 0, 0, 0 FROM n", "table \"task_population\" has more than 1024 rows" },
	{ "WITH RECURSIVE n(i) AS (SELECT (SELECT count(*) FROM task) UNION ALL SELECT i + 1 FROM n WHERE i < 17000) INSERT INTO task "
	  "SELECT i, 1, 'waiting', NULL, NULL, 0, NULL, NULL, NULL, NULL, 1, 1, 1 FROM n", "table \"task\" has more than 16384 rows" },
	{ "UPDATE task SET population_id = 2 WHERE id = 1", "row 2 of table \"task\" has an invalid population_id" },
	{ "UPDATE task SET population_id = NULL WHERE id = 1", "row 2 of table \"task\" has an invalid population_id" },
	{ "UPDATE task SET state = NULL WHERE id = 1", "row 2 of table \"task\" has an invalid state" },
	{ "UPDATE task SET stack_id = 1 << 30 WHERE id = 1", "row 2 of table \"task\" has an invalid stack_id" },
	{ "UPDATE task SET stack_end = 5 WHERE id = 1", "row 2 of table \"task\" has an invalid stack_end" },
	{ "UPDATE task SET creator_frame_id = -1 WHERE id = 1", "row 2 of table \"task\" has an invalid creator_frame_id" },
	{ "UPDATE task SET name = x'00' WHERE id = 1", "row 2 of table \"task\" has an invalid name" },
	{ "UPDATE task SET task_ns = -1 WHERE id = 1", "row 2 of table \"task\" has an invalid task_ns" },
	{ "UPDATE task SET task_se_ns = 1 << 63 WHERE id = 1", "row 2 of table \"task\" has an invalid task_se_ns" },
	{ "UPDATE storm SET waker_id = NULL WHERE id = 0", "row 1 of table \"storm\" has an invalid waker_id" },
	{ "UPDATE storm SET ended = woken + 1 WHERE id = 0", "storm 0 is more than it woke" },
	{ "UPDATE storm SET again = ended + 1 WHERE id = 0", "storm 0 is more than it woke" },
	{ "UPDATE storm SET most = woken + 1 WHERE id = 0", "storm 0 is more than it woke" },
	{ "UPDATE storm SET calls = 1 << 62 WHERE id < 2", "calls of table \"storm\" adds up to more than 63 bits" },
	{ "UPDATE storm SET cpu_ns = 1.5 WHERE id = 0", "row 1 of table \"storm\" has an invalid cpu_ns" },
	{ "DELETE FROM waker WHERE id = 2", "the ids of table \"waker\" are not consecutive" },
	{ "DELETE FROM wake WHERE id = 2", "the ids of table \"wake\" are not consecutive" },
	{ "UPDATE wake SET wait_id = -1 WHERE id = 1", "row 2 of table \"wake\" has an invalid wait_id" },
	{ "UPDATE wake SET waker_id = NULL WHERE id = 1", "row 2 of table \"wake\" has an invalid waker_id" },
	{ "UPDATE wake SET count = count + 1 << 40 WHERE id = 1", "waking 1 is more than its wait" },
	{ "UPDATE wake SET blocked_ns = blocked_ns * 2 WHERE id = 1", "waking 1 is more than its wait" },
	{ "UPDATE wake SET runnable_ns = 1 << 62 WHERE id = 1", "waking 1 is more than its wait" },
	{ "UPDATE wake SET log2_ns = '[2,-1]' WHERE id = 1", "row 2 of table \"wake\" has an invalid log2_ns" },
	{ "UPDATE wake SET log2_ns = NULL WHERE id = 1", "row 2 of table \"wake\" has an invalid log2_ns" },
	{ "UPDATE waker SET start_ns = -1 WHERE id = 1", "row 2 of table \"waker\" has an invalid start_ns" },
	{ "UPDATE waker SET tid = 1 << 32 WHERE id = 1", "row 2 of table \"waker\" has an invalid tid" },
	{ "UPDATE waker SET comm = x'00' WHERE id = 1", "row 2 of table \"waker\" has an invalid comm" },
	{ "UPDATE waker SET irq = printf('%20000d', 1) WHERE id = 1", "row 2 of table \"waker\" has an invalid irq" },
	{ "UPDATE waker SET user_stack_id = 1 << 30 WHERE id = 1", "row 2 of table \"waker\" has an invalid user_stack_id" },
	{ "UPDATE waker SET kernel_stack_id = 'k' WHERE id = 1", "row 2 of table \"waker\" has an invalid kernel_stack_id" },
	{ "UPDATE thread SET id = -1 WHERE id = 0", "the ids of table \"thread\" are not consecutive" },
	{ "INSERT INTO wait SELECT (SELECT count(*) FROM wait), thread_id, user_stack_id, kernel_stack_id, "
	  "state, flags, count, blocked_ns, runnable_ns, preempted_ns, off_cpu_se_ns, max_ns, log2_ns, "
	  "object_id, count_se FROM wait WHERE id = 0", NULL },
	{ "UPDATE wait SET object_id = -1 WHERE id = 0", "row 1 of table \"wait\" has an invalid object_id" },
	{ "UPDATE wait SET object_id = 1 << 30 WHERE id = 0", "row 1 of table \"wait\" has an invalid object_id" },
	{ "UPDATE wait SET object_id = 'x' WHERE id = 0", "row 1 of table \"wait\" has an invalid object_id" },
	{ "UPDATE wait SET object_id = NULL", NULL },
	{ "DELETE FROM object WHERE id = 1", "the ids of table \"object\" are not consecutive" },
	{ "UPDATE object SET kind = 'spinlock' WHERE id = 1", "row 2 of table \"object\" has an invalid kind" },
	{ "UPDATE object SET is_private = 2 WHERE id = 1", "row 2 of table \"object\" has an invalid is_private" },
	{ "UPDATE object SET name = x'00' WHERE id = 1", "row 2 of table \"object\" has an invalid name" },
	{ "UPDATE object SET name = printf('%20000d', 1) WHERE id = 1", "row 2 of table \"object\" has an invalid name" },
	{ "UPDATE object SET address = 1.5 WHERE id = 1", "row 2 of table \"object\" has an invalid address" },
	{ "UPDATE object SET holder_tid = -1 WHERE id = 1", "row 2 of table \"object\" has an invalid holder_tid" },
	{ "UPDATE object SET pid = 1 << 32 WHERE id = 1", "row 2 of table \"object\" has an invalid pid" },
	{ "UPDATE object SET name = 'same', pid = 1, address = 1, kind = 'mutex', holder_tid = NULL", NULL },
	{ "UPDATE wait SET off_cpu_se_ns = -1 WHERE id = 0", "row 1 of table \"wait\" has an invalid off_cpu_se_ns" },
	{ "UPDATE wait SET count_se = -1 WHERE id = 0", "row 1 of table \"wait\" has an invalid count_se" },
	{ "DELETE FROM state_total", NULL },
	{ "DELETE FROM state_total WHERE id = 0", "the ids of table \"state_total\" are not consecutive" },
	{ "UPDATE state_total SET thread_id = 1 << 20", "row 1 of table \"state_total\" has an invalid thread_id" },
	{ "UPDATE state_total SET state = 'X'", "row 1 of table \"state_total\" has an invalid state" },
	{ "UPDATE state_total SET blocked_ns = 1 << 62", "blocked_ns of table \"state_total\" adds up to more than 63 bits" },
	{ "DELETE FROM sampling", NULL },
	{ "UPDATE sampling SET used_ppm = NULL", NULL },
	{ "UPDATE sampling SET max_scale_ns = 'high'", "row 1 of table \"sampling\" has an invalid max_scale_ns" },
	{ "INSERT INTO sampling SELECT 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1", "table \"sampling\" has more than 1 rows" },
	{ "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO loss "
	  "SELECT i, 1, 'r' || i, '', 1, 1 FROM n", "table \"loss\" has more than 1024 rows" },
	{ "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO meta "
	  "SELECT 'k' || i, 1 FROM n", "table \"meta\" has more than 64 rows" },
	/* schema */
	{ "DROP TABLE loss", "a table is missing" },
	{ "DROP TABLE trace", "a table is missing" },
	{ "ALTER TABLE wait ADD COLUMN x DEFAULT 1", "\"wait\" is not the table of its schema" },
	{ "ALTER TABLE wait RENAME TO w; CREATE VIEW wait AS SELECT * FROM w", /* SQLite renames references, too */
	  "\"wake\" is not the table of its schema" },
	{ "ALTER TABLE loss RENAME TO l; CREATE TABLE loss(id, window_id, reason, help, count, time_ns)",
	  "\"loss\" is not the table of its schema" },
	{ "DROP TABLE loss; CREATE TABLE Loss(id INTEGER PRIMARY KEY, window_id, reason, help, count AS "
	  "(length(hex(zeroblob(1000000)))), time_ns)", "\"loss\" is not the table of its schema" },
	{ "CREATE TRIGGER t AFTER INSERT ON wait BEGIN DELETE FROM wait; END", "it holds a trigger or a virtual table" },
	{ "INSERT INTO sqlite_master VALUES('table', 'v', 'v', 0, 'CREATE VIRTUAL TABLE v USING fts5(x)')",
	  "it holds a trigger or a virtual table" },
	{ "UPDATE sqlite_master SET rootpage = 0 WHERE name = 'wait'", "it holds a trigger or a virtual table" },
	{ "UPDATE sqlite_master SET sql = replace(sql, 'count INTEGER', 'count AS (1)') WHERE name = 'wait'",
	  "\"wait\" is not the table of its schema" },
	{ "CREATE INDEX i ON wait(thread_id)", NULL },
	{ "CREATE TABLE mine(a); DROP VIEW v_wait; CREATE VIEW v_wait AS WITH RECURSIVE n(i) AS "
	  "(SELECT 1 UNION ALL SELECT i FROM n) SELECT * FROM n", NULL },
	{ "PRAGMA page_size = 512; VACUUM", NULL },
};

static void test_forged(struct place *at, gconstpointer data)
{
	for (size_t i = 0; i < G_N_ELEMENTS(forgeries); i++) {
		make(at, &sample_small);
		forge(at, forgeries[i].sql);
		g_test_message("%s", forgeries[i].sql);
		if (forgeries[i].want) {
			g_autofree char *want = g_strdup_printf("'PATH' is damaged: %s", forgeries[i].want);

			assert_refused(at, DAMAGED, want);
		} else {
			GError *error = NULL;
			struct profile *p = profile_file_read(at->path, &error);

			g_assert_no_error(error);
			g_assert_true(profile_check(p, NULL));
			profile_free(p);
		}
	}
}

/* Repeated rows of a forged file are merged, so that interning holds for what is read, too. */
static void test_repeated_rows(struct place *at, gconstpointer data)
{
	struct profile *want = sample_profile(&sample_small, 5), *p;
	GError *error = NULL;

	make(at, &sample_small);
	forge(at, "INSERT INTO string SELECT (SELECT count(*) FROM string), text FROM string WHERE id = 0;"
		  "INSERT INTO frame SELECT (SELECT count(*) FROM frame), (SELECT max(id) FROM string), module_id, "
		  "offset, file_id, line, kind, why, is_inline FROM frame WHERE id = 0;"
		  "UPDATE stack SET frame_id = (SELECT max(id) FROM frame) WHERE frame_id = 0");
	p = profile_file_read(at->path, &error);
	g_assert_no_error(error);
	assert_profiles_equal(p, want);
	profile_free(p);
	profile_free(want);
}

static void test_too_many_tables(struct place *at, gconstpointer data)
{
	make(at, &sample_small);
	forge(at, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) INSERT INTO "
		  "sqlite_master SELECT 'table', 't' || i, 't' || i, 2, 'CREATE TABLE t' || i || '(a)' FROM n");
	GError *error = NULL;
	gint64 start_us = g_get_monotonic_time();

	g_assert_null(profile_file_read(at->path, &error));
	g_assert_error(error, PROFILE_FILE_ERROR, PROFILE_FILE_ERROR_DAMAGED);
	g_assert_cmpint(g_get_monotonic_time() - start_us, <, 10 * G_USEC_PER_SEC);
	g_error_free(error);
}

/* Reads bytes that may be anything: refused with a sentence that names the file, or a valid profile. */
static bool read_anything(unsigned char *bytes, size_t len)
{
	GError *error = NULL;
	struct profile *p = profile_file_read_bytes(bytes, len, "FILE", &error);

	if (!p) {
		g_assert_nonnull(error);
		g_assert_true(g_str_has_prefix(error->message, "'FILE' "));
		g_error_free(error);
		return false;
	}
	g_assert_no_error(error);
	g_assert_true(profile_check(p, NULL));
	profile_free(p);
	return true;
}

/* A copy of exactly that length, so that a sanitizer sees a read beyond it. */
static bool read_copy(const unsigned char *bytes, size_t len)
{
	g_autofree unsigned char *copy = g_memdup2(bytes, len);

	return read_anything(copy, len);
}

static void test_cut_off(struct place *at, gconstpointer data)
{
	g_autofree unsigned char *bytes = NULL;
	size_t len;

	make(at, &sample_large);
	bytes = load(at, &len);
	g_assert_cmpuint(len, >, 100 * 4096);
	g_assert_true(read_copy(bytes, len));
	for (size_t cut = 0; cut < len; cut += 4096) {
		g_autofree char *want = NULL;

		put_file(at, bytes, cut);
		if (cut == 0) {
			assert_refused(at, NOT_RECORDING, "'PATH' is empty, not a recording");
			continue;
		}
		want = g_strdup_printf("'PATH' is cut off: it has %zu of %zu bytes", cut, len);
		assert_refused(at, DAMAGED, want);
	}
	for (size_t cut = 0; cut < 5000; cut += cut < 200 ? 1 : 7)
		g_assert_false(read_copy(bytes, cut));
}

/* Cut off, and the header says that it is right so. */
static void test_cut_off_and_mended(struct place *at, gconstpointer data)
{
	g_autofree unsigned char *bytes = NULL;
	size_t len;
	unsigned good = 0;

	make(at, &sample_medium);
	bytes = load(at, &len);
	for (uint32_t pages = 1; pages < len / 4096; pages++) {
		bytes[28] = (unsigned char)(pages >> 24);
		bytes[29] = (unsigned char)(pages >> 16);
		bytes[30] = (unsigned char)(pages >> 8);
		bytes[31] = (unsigned char)pages;
		good += read_copy(bytes, (size_t)pages * 4096);
	}
	g_assert_cmpuint(good, <, 3);
}

static void test_flipped_bytes(struct place *at, gconstpointer data)
{
	g_autofree unsigned char *bytes = NULL;
	unsigned good = 0, refused = 0;
	size_t len, step = g_test_thorough() ? 1 : 443;	/* the fuzz target `rows` does more */

	make(at, &sample_small);
	bytes = load(at, &len);
	for (size_t i = 0; i < len; i += i < 100 ? 1 : step) {
		unsigned char keep = bytes[i];

		/* All bits, one bit, zero. */
		for (int how = 0; how < 3; how++) {
			bytes[i] = (unsigned char)(how == 0 ? ~keep : how == 1 ? keep ^ (1 << i % 8) : 0);
			if (read_anything(bytes, len))
				good++;
			else
				refused++;
		}
		bytes[i] = keep;
	}
	g_test_message("%u read, %u refused", good, refused);
	g_assert_cmpuint(good, >, 0);
	g_assert_cmpuint(refused, >, 0);
}

/* Pages that point to other pages than their own: cycles, shared branches, lost leaves. */
static void test_swapped_pages(struct place *at, gconstpointer data)
{
	g_autofree unsigned char *bytes = NULL, *copy = NULL;
	GRand *rand = g_rand_new_with_seed(1);
	size_t len;

	make(at, &sample_medium);
	bytes = load(at, &len);
	copy = g_malloc(len);
	for (int round = 0; round < 200; round++) {
		memcpy(copy, bytes, len);
		for (int i = 0; i <= round % 4; i++) {
			size_t from = (size_t)g_rand_int_range(rand, 1, (int)(len / 4096));
			size_t to = (size_t)g_rand_int_range(rand, 1, (int)(len / 4096));

			memcpy(copy + to * 4096, bytes + from * 4096, 4096);
		}
		read_anything(copy, len);
	}
	g_rand_free(rand);
}

#define ADD(path, body) g_test_add("/profile-hostile/" path, struct place, NULL, place_make, body, place_remove)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("other-files", test_other_files);
	ADD("other-databases", test_other_databases);
	ADD("forged", test_forged);
	ADD("repeated-rows", test_repeated_rows);
	ADD("too-many-tables", test_too_many_tables);
	ADD("cut-off", test_cut_off);
	ADD("cut-off-and-mended", test_cut_off_and_mended);
	ADD("flipped-bytes", test_flipped_bytes);
	ADD("swapped-pages", test_swapped_pages);
	return g_test_run();
}
