/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Recordings on disk: what is written is read, and a failure leaves every file as it was. */
#include "profile/profile_file.h"

#include <glib/gstdio.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profile/profile_schema.h"
#include "sample.h"

struct place {
	char *dir, *path, *old;
};

static void place_make(struct place *at, gconstpointer data)
{
	at->dir = g_dir_make_tmp(NULL, NULL);
	g_assert_nonnull(at->dir);
	at->path = g_build_filename(at->dir, "trace 50%?.offcpu#", NULL);
	at->old = g_strconcat(at->path, ".old", NULL);
}

static void place_remove(struct place *at, gconstpointer data)
{
	GDir *dir = g_dir_open(at->dir, 0, NULL);
	const char *name;

	while ((name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(at->dir, name, NULL);

		g_assert_cmpint(g_remove(path), ==, 0);
	}
	g_dir_close(dir);
	g_assert_cmpint(g_rmdir(at->dir), ==, 0);
	g_free(at->dir);
	g_free(at->path);
	g_free(at->old);
}

static int by_name(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in the directory, sorted: "a b c". */
static char *names_in(const char *path)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	GDir *dir = g_dir_open(path, 0, NULL);
	const char *name;

	while ((name = g_dir_read_name(dir)))
		g_ptr_array_add(names, g_strdup(name));
	g_dir_close(dir);
	g_ptr_array_sort(names, by_name);
	g_ptr_array_add(names, NULL);
	return g_strjoinv(" ", (char **)names->pdata);
}

static void assert_names(const struct place *at, const char *want)
{
	g_autofree char *names = names_in(at->dir);

	g_assert_cmpstr(names, ==, want);
}

static void write_sample(const struct profile *p, const char *path)
{
	GError *error = NULL;

	profile_file_write(p, path, &error);
	g_assert_no_error(error);
}

static void assert_reads_as(const struct profile *p, const char *path)
{
	GError *error = NULL;
	struct profile *q = profile_file_read(path, &error);

	g_assert_no_error(error);
	assert_profiles_equal(p, q);
	profile_free(q);
}

static void assert_refused_to_write(const struct profile *p, const char *path, const char *want)
{
	GError *error = NULL;

	g_assert_false(profile_file_write(p, path, &error));
	g_assert_nonnull(error);
	g_assert_cmpstr(error->message, ==, want);
	g_error_free(error);
}

static void test_round_trip(struct place *at, gconstpointer size)
{
	for (unsigned seed = 0; seed < 2; seed++) {
		struct profile *p = sample_profile(size, seed);

		write_sample(p, at->path);
		assert_reads_as(p, at->path);
		profile_free(p);
	}
}

static void test_empty(struct place *at, gconstpointer data)
{
	struct profile *p = profile_new();

	write_sample(p, at->path);
	assert_reads_as(p, at->path);
	assert_names(at, "trace 50%?.offcpu#");
	profile_free(p);
}

static void test_extremes(struct place *at, gconstpointer data)
{
	struct profile *p = profile_new();
	g_autofree char *lots = g_strnfill(3 * PROFILE_STRING_MAX_BYTES, 'n');
	const struct frame f = { .name = lots, .module = "", .offset = UINT64_MAX, .line = UINT32_MAX };
	const struct thread t = { .pid = UINT32_MAX, .tid = UINT32_MAX, .to_ns = PROFILE_NS_MAX, .flags = UINT32_MAX,
				  .on_cpu_ns = PROFILE_NS_MAX, .start_ns = PROFILE_NS_MAX,
				  .comm = "\xc3\xa9'\"; DROP TABLE", .process = "" };
	struct wait w = { .state = 'I', .flags = UINT8_MAX, .count = INT64_MAX, .blocked_ns = PROFILE_NS_MAX };

	profile_add_thread(p, &t);
	w.user = profile_node(p, 0, profile_frame(p, &f));
	for (int i = 0; i < PROFILE_HIST_SLOTS; i++)
		w.hist[i] = UINT32_MAX - (uint32_t)i;
	profile_add_wait(p, &w);
	write_sample(p, at->path);
	assert_reads_as(p, at->path);
	profile_free(p);
}

static void test_relative_path(struct place *at, gconstpointer data)
{
	struct profile *p = sample_profile(&sample_small, 3);
	g_autofree char *cwd = g_get_current_dir();

	g_assert_cmpint(g_chdir(at->dir), ==, 0);
	write_sample(p, "file:x?mode=memory");
	assert_reads_as(p, "file:x?mode=memory");
	assert_names(at, "file:x?mode=memory");
	g_assert_cmpint(g_chdir(cwd), ==, 0);
	profile_free(p);
}

static void test_keeps_the_older(struct place *at, gconstpointer data)
{
	struct profile *p[3];

	for (unsigned i = 0; i < 3; i++) {
		p[i] = sample_profile(&sample_small, i);
		write_sample(p[i], at->path);
	}
	assert_reads_as(p[2], at->path);
	assert_reads_as(p[1], at->old);
	assert_names(at, "trace 50%?.offcpu# trace 50%?.offcpu#.old");
	for (unsigned i = 0; i < 3; i++)
		profile_free(p[i]);
}

/* Another file of that name is a user's too: it is put aside, never overwritten. */
static void test_keeps_another_file(struct place *at, gconstpointer data)
{
	struct profile *p = sample_profile(&sample_small, 0);
	g_autofree char *text = NULL;

	g_assert_true(g_file_set_contents(at->path, "my notes", -1, NULL));
	write_sample(p, at->path);
	assert_reads_as(p, at->path);
	g_assert_true(g_file_get_contents(at->old, &text, NULL, NULL));
	g_assert_cmpstr(text, ==, "my notes");
	profile_free(p);
}

static void test_stale_temporary(struct place *at, gconstpointer data)
{
	struct profile *p = sample_profile(&sample_small, 0);
	g_autofree char *tmp = g_strdup_printf("%s/.trace 50%%?.offcpu#.tmp-%d", at->dir, getpid());

	g_assert_true(g_file_set_contents(tmp, "left by a killed process", -1, NULL));
	write_sample(p, at->path);
	assert_reads_as(p, at->path);
	assert_names(at, "trace 50%?.offcpu#");
	profile_free(p);
}

static void test_no_directory(struct place *at, gconstpointer data)
{
	struct profile *p = sample_profile(&sample_small, 0);
	g_autofree char *path = g_build_filename(at->dir, "no", "x.offcpu", NULL);
	g_autofree char *want = g_strdup_printf("cannot write '%s': no file can be made in '%s/no': "
						"No such file or directory", path, at->dir);

	assert_refused_to_write(p, path, want);
	profile_free(p);
}

static void test_directories_in_the_way(struct place *at, gconstpointer data)
{
	struct profile *p = sample_profile(&sample_small, 0), *q = sample_profile(&sample_small, 1);
	g_autofree char *is_dir = g_strdup_printf("cannot write '%s': it is a directory", at->path);
	g_autofree char *old_is_dir = g_strdup_printf("cannot write '%s': the older recording cannot be kept: "
						      "'%s' is a directory", at->path, at->old);

	g_assert_cmpint(g_mkdir(at->path, 0700), ==, 0);
	assert_refused_to_write(p, at->path, is_dir);
	assert_names(at, "trace 50%?.offcpu#");
	g_assert_cmpint(g_rmdir(at->path), ==, 0);

	write_sample(p, at->path);
	g_assert_cmpint(g_mkdir(at->old, 0700), ==, 0);
	assert_refused_to_write(q, at->path, old_is_dir);
	assert_reads_as(p, at->path);
	assert_names(at, "trace 50%?.offcpu# trace 50%?.offcpu#.old");
	profile_free(p);
	profile_free(q);
}

static void test_no_regular_file(struct place *at, gconstpointer data)
{
	struct profile *p = sample_profile(&sample_small, 0);
	g_autofree char *want = g_strdup_printf("cannot write '%s': it is not a regular file", at->path);

	g_assert_cmpint(mkfifo(at->path, 0600), ==, 0);
	assert_refused_to_write(p, at->path, want);
	assert_names(at, "trace 50%?.offcpu#");
	profile_free(p);
}

static bool is_last_called;

static void note_the_last(void)
{
	is_last_called = true;
}

/* The waits come when the threads are already on their way. */
static void test_still_being_made(struct place *at, gconstpointer data)
{
	struct profile *p = sample_profile(&sample_large, 0);
	GArray *waits = g_array_copy(p->waits), *frames = g_array_copy(p->frames);
	GError *error = NULL;

	g_array_set_size(p->waits, 0);
	g_array_set_size(p->frames, 0);
	struct profile_file *file = profile_file_begin(p, at->path);

	g_usleep(2000);
	g_array_append_vals(p->frames, frames->data, frames->len);
	g_array_append_vals(p->waits, waits->data, waits->len);
	profile_file_complete(file);
	is_last_called = false;
	g_assert_true(profile_file_end(file, note_the_last, &error));
	g_assert_no_error(error);
	g_assert_true(is_last_called);
	assert_reads_as(p, at->path);
	assert_names(at, "trace 50%?.offcpu#");
	g_array_unref(waits);
	g_array_unref(frames);
	profile_free(p);
}

/* Nothing is left when the waits turn out wrong, though the threads are written. */
static void test_bad_in_the_end(struct place *at, gconstpointer data)
{
	struct profile *p = sample_profile(&sample_small, 0);
	struct profile_file *file = profile_file_begin(p, at->path);
	GError *error = NULL;

	g_array_index(p->waits, struct wait, 1).state = '?';
	profile_file_complete(file);
	is_last_called = false;
	g_assert_false(profile_file_end(file, note_the_last, &error));
	g_assert_error(error, PROFILE_FILE_ERROR, PROFILE_FILE_ERROR_DAMAGED);
	g_assert_true(is_last_called);
	assert_names(at, "");
	g_error_free(error);
	profile_free(p);
}

struct abandoner {
	struct place *at;
	struct profile_file *file;
	gulong after_us;
};

static gpointer abandon_later(gpointer data)
{
	struct abandoner *a = data;

	g_usleep(a->after_us);
	g_assert_true(profile_file_abandon(a->file));
	assert_names(a->at, "");
	return NULL;
}

/* At whatever moment it is given up, nothing is left, and nothing comes. */
static void test_abandoned(struct place *at, gconstpointer data)
{
	struct profile *p = sample_profile(&sample_small, 0);

	for (unsigned i = 0; i < 300; i++) {
		struct abandoner a = { .at = at, .file = profile_file_begin(p, at->path), .after_us = i * 20 };
		g_autoptr(GError) error = NULL;
		GThread *thread = g_thread_new("abandoner", abandon_later, &a);

		profile_file_complete(a.file);
		g_thread_join(thread);
		g_assert_false(profile_file_end(a.file, NULL, &error));
		g_assert_nonnull(error);
		assert_names(at, "");
	}
	profile_free(p);
}

static struct profile_file *to_abandon;

static void abandon_at_last(void)
{
	g_assert_true(profile_file_abandon(to_abandon));
}

static void test_abandoned_at_last(struct place *at, gconstpointer data)
{
	struct profile *p = sample_profile(&sample_small, 0);
	g_autoptr(GError) error = NULL;

	write_sample(p, at->path);
	to_abandon = profile_file_begin(p, at->path);
	profile_file_complete(to_abandon);
	g_assert_false(profile_file_end(to_abandon, abandon_at_last, &error));
	g_assert_nonnull(error);
	assert_names(at, "trace 50%?.offcpu#");
	assert_reads_as(p, at->path);
	profile_free(p);
}

static void test_bad_model(struct place *at, gconstpointer data)
{
	struct profile *p = sample_profile(&sample_small, 0);
	g_autofree char *want = g_strdup_printf("cannot write '%s': wait 1 has no valid state", at->path);

	g_array_index(p->waits, struct wait, 1).state = '?';
	assert_refused_to_write(p, at->path, want);
	assert_names(at, "");
	profile_free(p);
}

/* Runs `body` in a child, which may give up rights and limits, and takes over its failures. */
static int in_child_status(void (*body)(struct place *at), struct place *at)
{
	int status;
	pid_t pid = fork();

	g_assert_cmpint(pid, >=, 0);
	if (pid == 0) {
		body(at);
		_exit(0);
	}
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void in_child(void (*body)(struct place *at), struct place *at)
{
	g_assert_cmpint(in_child_status(body, at), ==, 0);
}

static void write_without_rights(struct place *at)
{
	struct profile *p = sample_profile(&sample_small, 1);
	g_autofree char *want = g_strdup_printf("cannot write '%s': no file can be made in '%s': Permission denied",
						at->path, at->dir);

	if (geteuid() == 0)
		g_assert_cmpint(setresuid(65534, 65534, 65534), ==, 0);
	assert_refused_to_write(p, at->path, want);
}

static void test_unwritable_directory(struct place *at, gconstpointer data)
{
	struct profile *p = sample_profile(&sample_small, 0);

	write_sample(p, at->path);
	g_assert_cmpint(chmod(at->dir, 0555), ==, 0);
	in_child(write_without_rights, at);
	g_assert_cmpint(chmod(at->dir, 0755), ==, 0);
	assert_reads_as(p, at->path);
	assert_names(at, "trace 50%?.offcpu#");
	profile_free(p);
}

static void write_beyond_limit(struct place *at)
{
	struct profile *p = sample_profile(&sample_large, 1);
	g_autofree char *want = g_strdup_printf("cannot write '%s': File too large", at->path);

	signal(SIGXFSZ, SIG_IGN);
	/* At every size: the first page, some pages, all but the last. */
	for (rlim_t limit = 0; limit <= 1 << 20; limit = limit ? limit * 4 : 4096) {
		const struct rlimit bytes = { limit, 2 << 20 };

		g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &bytes), ==, 0);
		assert_refused_to_write(p, at->path, want);
	}
}

static void test_file_size_limit(struct place *at, gconstpointer data)
{
	struct profile *p = sample_profile(&sample_small, 0), *q = sample_profile(&sample_small, 1);

	write_sample(p, at->path);
	write_sample(q, at->path);
	in_child(write_beyond_limit, at);
	assert_reads_as(q, at->path);
	assert_reads_as(p, at->old);
	assert_names(at, "trace 50%?.offcpu# trace 50%?.offcpu#.old");
	profile_free(p);
	profile_free(q);
}

#define NO_TMPFS 77

static void write_to_full_disk(struct place *at)
{
	struct profile *p = sample_profile(&sample_small, 0), *q = sample_profile(&sample_large, 1);
	g_autofree char *want = g_strdup_printf("cannot write '%s': No space left on device", at->path);

	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", at->dir, "tmpfs", 0, "size=512k") != 0)
		_exit(NO_TMPFS);
	write_sample(p, at->path);
	assert_refused_to_write(q, at->path, want);
	assert_reads_as(p, at->path);
	assert_names(at, "trace 50%?.offcpu#");
}

static void test_full_disk(struct place *at, gconstpointer data)
{
	int status = in_child_status(write_to_full_disk, at);

	if (status == NO_TMPFS)
		g_test_skip("no right to mount a tmpfs");
	else
		g_assert_cmpint(status, ==, 0);
}

static void rewrite_for_ever(struct place *at)
{
	struct profile *p = sample_profile(&sample_small, 1);

	for (;;)
		profile_file_write(p, at->path, NULL);
}

/* A recorder killed at any instant: a complete recording stands under the name, always. */
static void test_killed_writer(struct place *at, gconstpointer data)
{
	struct profile *p = sample_profile(&sample_small, 1);

	write_sample(p, at->path);
	for (int i = 0; i < 25; i++) {
		pid_t pid = fork();

		g_assert_cmpint(pid, >=, 0);
		if (pid == 0)
			rewrite_for_ever(at);
		/* Read while it writes, then kill it. */
		for (gint64 end = g_get_monotonic_time() + 2000 * (i + 1); g_get_monotonic_time() < end;)
			assert_reads_as(p, at->path);
		g_assert_cmpint(kill(pid, SIGKILL), ==, 0);
		g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
		assert_reads_as(p, at->path);
	}
	profile_free(p);
}

/* Reading leaves nothing behind and works where nothing may be written. */
static void test_read_only(struct place *at, gconstpointer data)
{
	struct profile *p = sample_profile(&sample_small, 0);

	write_sample(p, at->path);
	g_assert_cmpint(chmod(at->path, 0444), ==, 0);
	g_assert_cmpint(chmod(at->dir, 0555), ==, 0);
	assert_reads_as(p, at->path);
	g_assert_cmpint(chmod(at->dir, 0755), ==, 0);
	assert_names(at, "trace 50%?.offcpu#");
	profile_free(p);
}

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
	assert_query(at->path, "PRAGMA user_version", "7|");
	assert_query(at->path, "PRAGMA integrity_check", "ok|");
	assert_query(at->path, "PRAGMA foreign_key_check", "");
	assert_query(at->path, "SELECT comm, pid, tid, state, open_at_end, count, off_cpu_ns, user_leaf, kernel_leaf "
			       "FROM v_wait", "x|8|9|D|1|3|360|/bin/x+0xff|schedule|");
	assert_query(at->path, "SELECT id, depth, end, leaf FROM v_stack",
		     "1|1|none|main|2|2|broken|/bin/x+0xff|3|1|none|schedule|");
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
	for (const struct profile_table *t = NULL; (t = profile_table_next(t, PROFILE_FILE_SCHEMA));) {
		g_autofree char *sql = g_strdup_printf("SELECT sql FROM sqlite_master WHERE name = '%s'", t->name);
		g_autofree char *want = g_strconcat(t->sql, "|", NULL);

		assert_query(at->path, sql, want);
	}
	profile_free(p);
}

/* What no version before the seventh knew is gone. */
static struct profile *sample_of_six(void)
{
	struct profile *p = sample_profile(&sample_tiny, 9);

	g_array_set_size(p->requests, 0);
	g_array_set_size(p->request_parts, 0);
	g_array_set_size(p->spans, 0);
	g_array_set_size(p->span_waits, 0);
	p->info.has_requests = false;
	p->info.request_slower_ns = 0;
	return p;
}

/* And before the sixth. */
static struct profile *sample_of_five(void)
{
	struct profile *p = sample_of_six();

	for (guint i = 0; i < p->threads->len; i++)
		g_array_index(p->threads, struct thread, i).service = NULL;
	return p;
}

/* And before the fifth. */
static struct profile *sample_of_four(void)
{
	struct profile *p = sample_of_five();

	g_array_set_size(p->on_cpu, 0);
	p->info.on_cpu_hz = p->info.on_cpu_end_hz = 0;
	return p;
}

/* What no version before the third knew is gone. */
static struct profile *old_sample(void)
{
	struct profile *p = sample_of_four();

	g_array_set_size(p->states, 0);
	g_array_set_size(p->objects, 0);
	g_array_set_size(p->wakers, 0);
	g_array_set_size(p->wakes, 0);
	g_array_set_size(p->chains, 0);
	g_array_set_size(p->stories, 0);
	g_array_set_size(p->blames, 0);
	g_array_set_size(p->storms, 0);
	p->info.sampling = (struct profile_sampling){ 0 };
	p->info.has_wakers = p->info.has_locks = p->info.has_blame = p->info.has_storms = false;
	for (guint i = 0; i < p->waits->len; i++) {
		g_array_index(p->waits, struct wait, i).off_cpu_se_ns = 0;
		g_array_index(p->waits, struct wait, i).count_se = 0;
		g_array_index(p->waits, struct wait, i).object = 0;
	}
	return p;
}

/* Readers take older recordings for ever: these were written by the first version and the second. */
static void test_older_versions(void)
{
	struct profile *p = old_sample();

	assert_reads_as(p, CORPUS "/schema_1");
	assert_reads_as(p, CORPUS "/schema_2");
	profile_free(p);
}

/* As the third writes them. */
static void test_third_version(void)
{
	struct profile *p = sample_of_four();

	for (guint i = 0; i < p->waits->len; i++)
		g_array_index(p->waits, struct wait, i).count_se = 0;
	assert_reads_as(p, CORPUS "/schema_3");
	profile_free(p);
}

static void test_fourth_version(void)
{
	struct profile *p = sample_of_four();

	assert_reads_as(p, CORPUS "/schema_4");
	profile_free(p);
}

static void test_fifth_version(void)
{
	struct profile *p = sample_of_five();

	assert_reads_as(p, CORPUS "/schema_5");
	profile_free(p);
}

static void test_sixth_version(void)
{
	struct profile *p = sample_of_six();

	assert_reads_as(p, CORPUS "/schema_6");
	profile_free(p);
}

/* Of one wait alone the histogram and the maximum are left out, but only when nothing is lost by it. */
static void test_single_waits(struct place *at, gconstpointer data)
{
	struct profile *p = one_wait();
	struct wait w = *profile_wait(p, 0);

	(void)data;
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

#define ADD(path, body, data) g_test_add("/profile-file/" path, struct place, data, place_make, body, place_remove)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("round-trip/small", test_round_trip, &sample_small);
	ADD("round-trip/large", test_round_trip, &sample_large);
	ADD("round-trip/empty", test_empty, NULL);
	ADD("round-trip/extremes", test_extremes, NULL);
	ADD("relative-path", test_relative_path, NULL);
	ADD("keeps-the-older", test_keeps_the_older, NULL);
	ADD("keeps-another-file", test_keeps_another_file, NULL);
	ADD("stale-temporary", test_stale_temporary, NULL);
	ADD("no-directory", test_no_directory, NULL);
	ADD("directories-in-the-way", test_directories_in_the_way, NULL);
	ADD("no-regular-file", test_no_regular_file, NULL);
	ADD("abandoned-at-last", test_abandoned_at_last, NULL);
	ADD("bad-model", test_bad_model, NULL);
	ADD("still-being-made", test_still_being_made, NULL);
	ADD("abandoned", test_abandoned, NULL);
	ADD("bad-in-the-end", test_bad_in_the_end, NULL);
	ADD("unwritable-directory", test_unwritable_directory, NULL);
	ADD("file-size-limit", test_file_size_limit, NULL);
	ADD("full-disk", test_full_disk, NULL);
	ADD("killed-writer", test_killed_writer, NULL);
	ADD("read-only", test_read_only, NULL);
	ADD("sql", test_sql, NULL);
	ADD("folded-sql", test_folded_sql, NULL);
	ADD("single-waits", test_single_waits, NULL);
	ADD("schema-is-kept-verbatim", test_schema_is_kept_verbatim, NULL);
	g_test_add_func("/profile-file/older-versions", test_older_versions);
	g_test_add_func("/profile-file/third-version", test_third_version);
	g_test_add_func("/profile-file/fourth-version", test_fourth_version);
	g_test_add_func("/profile-file/fifth-version", test_fifth_version);
	g_test_add_func("/profile-file/sixth-version", test_sixth_version);
	return g_test_run();
}
