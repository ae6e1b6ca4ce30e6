/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Paths as the kernel's names tell them, sums by file, percentiles, the table of system calls. */
#include <glib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/proc/mount_point.h"
#include "features/io/record_counts.h"
#include "features/io/record_part.h"
#include "profile/profile_file.h"
#include "render/text/text.h"

#define NAMES(text) (text), sizeof(text)	/* with the last zero byte */

static void check_path(uint32_t flags, const char *names, size_t bytes, const char *given, const char *wanted)
{
	const struct file_rec_op rec = { .flags = flags, .path_bytes = (uint32_t)bytes, .given = given ? 1 : 0 };
	g_autofree char *exact = g_memdup2(names, bytes);	/* so that a sanitizer sees its end */
	g_autoptr(GString) s = g_string_new(NULL);

	file_path_append(s, &rec, exact, given);
	g_assert_cmpstr(s->str, ==, wanted);
}

static void test_path(void)
{
	check_path(FILE_OP_ABSOLUTE, NAMES("file\0dir\0mnt"), NULL, "/mnt/dir/file");
	check_path(FILE_OP_ABSOLUTE, "", 0, NULL, "/");
	check_path(0, NAMES("memfd:x"), NULL, "memfd:x");
	check_path(FILE_OP_DELETED, NAMES("memfd:x"), NULL, "memfd:x (deleted)");
	check_path(FILE_OP_CUT, NAMES("file\0dir"), NULL, ".../dir/file");
	check_path(0, "", 0, NULL, "");
	/* the last name is the program's */
	check_path(FILE_OP_ABSOLUTE | FILE_OP_GIVEN, NAMES("dir\0mnt\0a/b"), NULL, "/mnt/dir/a/b");
	check_path(FILE_OP_ABSOLUTE | FILE_OP_GIVEN, NAMES("dir\0mnt\0./b"), NULL, "/mnt/dir/b");
	check_path(FILE_OP_GIVEN, NAMES("/etc/x"), NULL, "/etc/x");
	check_path(FILE_OP_ABSOLUTE | FILE_OP_GIVEN, NAMES("file\0dir\0"), NULL, "/dir/file");
	check_path(FILE_OP_ABSOLUTE | FILE_OP_GIVEN, NAMES("x"), NULL, "/x");
	/* read from the process's memory */
	check_path(FILE_OP_ABSOLUTE | FILE_OP_GIVEN, NAMES("dir"), "x", "/dir/x");
	check_path(FILE_OP_ABSOLUTE | FILE_OP_GIVEN, NAMES("dir"), "/x", "/x");
	check_path(FILE_OP_ABSOLUTE | FILE_OP_GIVEN, NAMES("dir"), "", "/dir");
}

/* Cut anywhere, or of more names than there can be. */
static void test_path_bounds(void)
{
	char many[1024];

	check_path(FILE_OP_ABSOLUTE, "file\0di", 7, NULL, "/file");
	check_path(FILE_OP_ABSOLUTE, "fi", 2, NULL, "/");
	check_path(FILE_OP_GIVEN, "fi", 2, NULL, "");
	for (size_t i = 0; i < sizeof(many); i++)
		many[i] = i % 2 ? 0 : 'a';
	const struct file_rec_op rec = { .path_bytes = sizeof(many) };
	g_autoptr(GString) s = g_string_new(NULL);

	file_path_append(s, &rec, many, NULL);
	g_assert_cmpuint(s->len, ==, 2 * (FILE_PATH_STEPS + 1) - 1);
}

static void check_mount(const char *mountinfo, uint32_t dev, const char *wanted)
{
	g_autoptr(GString) s = g_string_new("a/b");

	mount_point_prepend(s, mountinfo, dev);
	g_assert_cmpstr(s->str, ==, wanted);
}

/* A mapped file's mount is looked up by its device. */
static void test_path_mount(void)
{
	const char *text = "22 1 0:21 / /proc rw - proc proc rw\n"
			   "23 1 254:1 /sub /bound rw - ext4 /dev/vda1 rw\n"
			   "24 1 254:1 / /with\\040space rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
			   "25 1 254:2 / / rw - ext4 /dev/vda2 rw\n"
			   "26 1 254:3 / /torn\\04\n27";

	check_mount(text, 254 << 20 | 1, "/with space/a/b");
	check_mount(text, 254 << 20 | 2, "/a/b");
	check_mount(text, 254 << 20 | 3, "/torn\\04/a/b");
	check_mount(text, 254 << 20 | 4, "a/b");
	check_mount("", 1, "a/b");
	check_mount(NULL, 1, "a/b");
}

static void test_bars(void)
{
	unsigned before = 0;

	g_assert_cmpuint(file_bar(0), ==, 0);
	g_assert_cmpuint(file_bar(UINT64_MAX), ==, FILE_BARS - 1);
	for (uint64_t ns = 100; ns < 1500000000000; ns += ns / 13 + 1) {
		unsigned bar = file_bar(ns);
		double error = (double)file_bar_ns(bar) / (double)ns - 1;

		g_assert_cmpuint(bar, >=, before);
		before = bar;
		if (ns > 800)
			g_assert_cmpfloat(ABS(error), <, 1.0 / 15);
	}
}

static void add(struct file_rows *r, const char *op, const char *path, uint32_t tid, uint64_t ns)
{
	const struct file_op o = {
		.op = op, .path = path, .process = "p", .comm = "worker", .pid = 7, .tid = tid, .latency_ns = ns, .blocked_ns = ns / 2,
		.runq_ns = ns / 4, .bytes = 10, .has_bytes = true,
	};

	file_rows_add(r, &o, 0, 0);
}

static void test_sums(void)
{
	static const char read_op[] = "read", fsync_op[] = "fsync";
	struct profile *p = profile_new();
	struct file_rows *r = file_rows_new(p);
	struct file_result result = { 0 };

	for (uint64_t i = 1; i <= 20; i++)
		add(r, read_op, "/a", 8, i * 1000);
	for (uint64_t i = 1; i <= 1000; i++)
		add(r, fsync_op, "/a", i % 2 ? 8 : 9, i * 10000);
	file_rows_result(r, &result);
	g_assert_cmpuint(result.counts.done, ==, 1020);
	g_assert_cmpuint(result.all.bytes, ==, 10200);
	g_assert_cmpuint(result.files->len, ==, 2);
	const struct file_by_file *most = &g_array_index(result.files, struct file_by_file, 0);
	const struct file_by_file *few = &g_array_index(result.files, struct file_by_file, 1);

	g_assert_cmpstr(most->op, ==, "fsync");
	g_assert_cmpuint(most->sum.count, ==, 1000);
	g_assert_cmpuint(most->sum.max_ns, ==, 10000000);
	g_assert_cmpfloat(ABS((double)file_percentile_ns(most, 0.5) / 5000000 - 1), <, 0.07);
	g_assert_cmpfloat(ABS((double)file_percentile_ns(most, 0.99) / 9900000 - 1), <, 0.07);
	g_assert_cmpuint(file_percentile_ns(few, 0.5), ==, 11000);	/* exact */
	g_assert_cmpuint(file_percentile_ns(few, 0.99), ==, 20000);
	/* threads of one name are one row, but two threads of the recording */
	g_assert_cmpuint(result.rows->len, ==, 2);
	g_assert_cmpuint(p->threads->len, ==, 2);
	g_array_unref(result.rows);
	g_array_unref(result.files);
	file_rows_to_profile(r);
	g_assert_cmpuint(p->waits->len, ==, 3);
	uint64_t cnt = 0;

	for (guint i = 0; i < p->waits->len; i++)
		cnt += g_array_index(p->waits, struct wait, i).count;
	g_assert_cmpuint(cnt, ==, 1020);
	file_rows_free(r);
	profile_free(p);
}

/* Whoever walks through a file system does not fill our memory: every operation is counted still. */
static void test_many_files(void)
{
	struct profile *p = profile_new();
	struct file_rows *r = file_rows_new(p);
	struct file_result result = { 0 };
	const unsigned cnt = 30000;

	for (unsigned i = 0; i < cnt; i++) {
		g_autofree char *path = g_strdup_printf("/%u", i);

		add(r, "stat", path, 8, 1000);
	}
	add(r, "fsync", "/slow", 8, 20000000);	/* what is slow has a row all the same */
	file_rows_result(r, &result);
	g_assert_cmpuint(result.files->len, ==, 20002);
	g_assert_cmpstr(g_array_index(result.files, struct file_by_file, 0).path, ==, "/slow");
	g_assert_cmpuint(result.counts.done, ==, cnt + 1);
	g_assert_cmpuint(result.counts.unlisted, ==, cnt - 20000);
	g_array_unref(result.rows);
	g_array_unref(result.files);
	file_rows_free(r);
	profile_free(p);
}

/* What is read back says that these are operations, and no report calls them waits off CPU. */
static void test_recording(void)
{
	static const char fsync_op[] = "fsync";
	const struct text_options options = { .top = 5, .by = TOP_BY_STACK, .weight = WEIGHT_OFF_CPU };
	g_autofree char *folder = g_dir_make_tmp("offcpu-file-ops-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(folder, "r.offcpu", NULL);
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(GError) error = NULL;
	struct profile *p = profile_new();
	struct file_rows *r = file_rows_new(p);

	add(r, fsync_op, "/a", 8, 5000000);
	add(r, fsync_op, "/a", 8, 7000000);
	io_recording_info(p, "file operations", "operations", 1000, 2000, 1000000000);
	file_rows_to_profile(r);
	g_assert_true(profile_file_write(p, path, &error));
	g_assert_no_error(error);
	file_rows_free(r);
	profile_free(p);
	p = profile_file_read(path, &error);
	g_assert_no_error(error);
	g_assert_cmpstr(p->info.rows_are, ==, "operations");
	g_assert_cmpstr(p->info.imported, ==, "offcpu io: file operations");
	g_assert_cmpint(g_array_index(p->waits, struct wait, 0).state, ==, '?');

	text_report(text, p, NULL, NULL, &options);
	g_assert_nonnull(strstr(text->str, "Recorded  offcpu io: file operations\n"));
	g_assert_nonnull(strstr(text->str, "12.0 ms in 2 operations"));
	g_assert_null(strstr(text->str, "off CPU"));
	g_assert_null(strstr(text->str, "Imported"));
	g_assert_null(strstr(text->str, "sleep"));
	profile_free(p);
	unlink(path);
	rmdir(folder);
}

static void test_calls(void)
{
	struct file_call calls[FILE_CALLS_END] = { 0 };

	file_calls_fill(calls);
	g_assert_cmpstr(file_call_name(calls[SYS_read].op), ==, "read");
	g_assert_true(file_call_has_bytes(calls[SYS_pwrite64].op));
	g_assert_cmpstr(file_call_name(calls[SYS_fdatasync].op), ==, "fdatasync");
	g_assert_false(file_call_has_bytes(calls[SYS_fdatasync].op));
	g_assert_cmpuint(calls[SYS_openat].flags, ==, FILE_CALL_OPENS);
	g_assert_cmpuint(calls[SYS_futex].op, ==, 0);
	g_assert_cmpuint(calls[SYS_recvfrom].op, ==, 0);
	g_assert_cmpstr(file_call_name(0), ==, "?");
	g_assert_cmpstr(file_call_name(254), ==, "?");
	g_assert_cmpstr(file_call_name(FILE_OP_PAGE), ==, "fault");
	for (unsigned i = 0; i < FILE_CALLS_END; i++)
		if (calls[i].op)
			g_assert_true(calls[i].fd || calls[i].path || calls[i].flags & FILE_CALL_FREE);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/io/path", test_path);
	g_test_add_func("/io/path-bounds", test_path_bounds);
	g_test_add_func("/io/path-mount", test_path_mount);
	g_test_add_func("/io/bars", test_bars);
	g_test_add_func("/io/sums", test_sums);
	g_test_add_func("/io/many-files", test_many_files);
	g_test_add_func("/io/recording", test_recording);
	g_test_add_func("/io/calls", test_calls);
	return g_test_run();
}
