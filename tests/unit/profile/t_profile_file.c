/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Recordings on disk: what is written is read, and a failure leaves every file as it was. */
#include "profile/profile_file.h"

#include <glib/gstdio.h>
#include <sched.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "place.h"
#include "sample.h"

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

/* What the rows are stays with them; a word that is not ours is none. */
static void test_rows_are(struct place *at, gconstpointer data)
{
	static const char *const words[][2] = { { ROWS_CPU, ROWS_CPU }, { ROWS_GOROUTINES, ROWS_GOROUTINES }, { "lies", NULL } };
	struct profile *p = sample_profile(&sample_small, 0), *q;

	p->info.imported = "pprof (cpu in nanoseconds)";
	for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
		p->info.rows_are = words[i][0];
		write_sample(p, at->path);
		q = profile_file_read(at->path, NULL);
		g_assert_nonnull(q);
		g_assert_cmpstr(q->info.rows_are, ==, words[i][1]);
		g_assert_cmpstr(q->info.imported, ==, p->info.imported);
		profile_free(q);
	}
	profile_free(p);
}

/* Of what is long enough and began in the window; by whom, where that is known. */
static void test_longest(struct place *at, gconstpointer data)
{
	struct profile *p = sample_profile(&sample_small, 0), *q;
	unsigned told = 0;

	for (guint i = 0; i < p->waits->len; i++)
		profile_set_longest(p, i, p->info.start_unix_ns + i, i % 3 ? 1 + i % p->wakers->len : 0);
	write_sample(p, at->path);
	q = profile_file_read(at->path, NULL);
	g_assert_nonnull(q);
	g_assert_cmpuint(p->waits->len, ==, q->waits->len);
	for (guint i = 0; i < p->waits->len; i++) {
		const struct wait *x = profile_wait(p, i), *y = profile_wait(q, i);
		bool is_told = i && x->max_ns >= 1000000;

		g_assert_cmpuint(y->max_start_unix_ns, ==, is_told ? x->max_start_unix_ns : 0);
		g_assert_cmpuint(y->max_waker, ==, is_told ? x->max_waker : 0);
		told += is_told;
	}
	g_assert_cmpuint(told, >, 10);
	profile_free(p);
	profile_free(q);
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

/* Below sudo a recording in the caller's folder is his, and in another one root's. */
static void test_called_by_sudo(struct place *at, gconstpointer data)
{
	struct profile *p = sample_profile(&sample_small, 0);
	struct stat st;

	if (geteuid() != 0) {
		g_test_skip("only root gives files away");
		profile_free(p);
		return;
	}
	g_setenv("SUDO_UID", "4711", TRUE);
	g_setenv("SUDO_GID", "4712", TRUE);
	write_sample(p, at->path);
	g_assert_cmpint(stat(at->path, &st), ==, 0);
	g_assert_cmpint(st.st_uid, ==, 0);
	g_assert_cmpint(chown(at->dir, 4711, 4712), ==, 0);
	write_sample(p, at->path);
	g_assert_cmpint(stat(at->path, &st), ==, 0);
	g_assert_cmpint(st.st_uid, ==, 4711);
	g_assert_cmpint(st.st_gid, ==, 4712);
	g_assert_cmpint(st.st_mode & 0777, ==, 0600);
	assert_reads_as(p, at->path);
	g_unsetenv("SUDO_UID");
	g_unsetenv("SUDO_GID");
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
	g_autofree char *want = g_strdup_printf("cannot write '%s': row 2 of table \"wait\" has an invalid state", at->path);

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

/* What a recorder that was killed left goes as the next one begins; what one is writing, or is young, stays. */
static void test_left(struct place *at, gconstpointer data)
{
	static const char *const names[] = { "left", "locked", "young", "other" };
	g_autofree char *base = g_path_get_basename(at->path);
	const struct timespec old[2] = { { 0, UTIME_NOW }, { 1000000000, 0 } };
	int fds[G_N_ELEMENTS(names)];

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *path = g_strdup_printf("%s/.%s.tmp-%zu", at->dir, i == 3 ? "another" : base, i + 1);

		fds[i] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		g_assert_cmpint(fds[i], >=, 0);
		if (i != 2)
			g_assert_cmpint(futimens(fds[i], old), ==, 0);
		if (i == 1)
			g_assert_cmpint(flock(fds[i], LOCK_EX), ==, 0);
	}
	g_assert_true(profile_file_may_write(at->path, NULL));
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		struct stat st;

		g_assert_cmpint(fstat(fds[i], &st), ==, 0);
		g_assert_cmpuint(st.st_nlink, ==, i == 0 ? 0 : 1);
		close(fds[i]);
	}
	for (size_t i = 1; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *path = g_strdup_printf("%s/.%s.tmp-%zu", at->dir, i == 3 ? "another" : base, i + 1);

		g_assert_cmpint(unlink(path), ==, 0);
	}
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
	g_assert_true(profile_file_may_write(at->path, NULL));
	assert_refused_to_write(q, at->path, want);
	assert_reads_as(p, at->path);
	assert_names(at, "trace 50%?.offcpu#");
	/* told before there is something to lose */
	if (mount("none", at->dir, "tmpfs", 0, "size=64k") != 0)
		_exit(NO_TMPFS);
	g_autoptr(GError) error = NULL;
	g_assert_false(profile_file_may_write(at->path, &error));
	g_assert_nonnull(strstr(error->message, "there is no room for a recording in"));
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

#define ADD(path, body, data) g_test_add("/profile-file/" path, struct place, data, place_make, body, place_remove)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("round-trip/small", test_round_trip, &sample_small);
	ADD("round-trip/large", test_round_trip, &sample_large);
	ADD("round-trip/longest", test_longest, NULL);
	ADD("round-trip/rows-are", test_rows_are, NULL);
	ADD("round-trip/empty", test_empty, NULL);
	ADD("round-trip/extremes", test_extremes, NULL);
	ADD("relative-path", test_relative_path, NULL);
	ADD("left", test_left, NULL);
	ADD("keeps-the-older", test_keeps_the_older, NULL);
	ADD("keeps-another-file", test_keeps_another_file, NULL);
	ADD("stale-temporary", test_stale_temporary, NULL);
	ADD("no-directory", test_no_directory, NULL);
	ADD("directories-in-the-way", test_directories_in_the_way, NULL);
	ADD("no-regular-file", test_no_regular_file, NULL);
	ADD("called-by-sudo", test_called_by_sudo, NULL);
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
	return g_test_run();
}
