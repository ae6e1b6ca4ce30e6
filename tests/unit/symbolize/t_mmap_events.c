/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <dlfcn.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supply/mmap_events.h"

/* What was told of one process. */
struct story {
	uint32_t pid;
	GString *text;	/* a letter for each thing */
	uint64_t last_ns;
	bool saw_program;
};

static void add(struct story *s, uint32_t pid, uint64_t ts_ns, char letter)
{
	g_assert_cmpuint(ts_ns, >=, s->last_ns);
	s->last_ns = ts_ns;
	if (pid == s->pid)
		g_string_append_c(s->text, letter);
}

static void on_mmap(void *data, uint32_t pid, uint64_t ts_ns, const struct symbolizer_mapping *m)
{
	struct story *s = data;

	add(s, pid, ts_ns, 'm');
	if (pid == s->pid && g_str_has_suffix(s->text->str, "xm")) {	/* an exec maps its program first */
		g_assert_true(g_str_has_suffix(m->path, "/sleep"));
		s->saw_program = m->inode && m->len;
	}
}

static void on_exec(void *data, uint32_t pid, uint64_t ts_ns, const char *name)
{
	const struct story *s = data;

	if (pid == s->pid)
		g_assert_cmpstr(name, ==, "sleep");
	add(data, pid, ts_ns, 'x');
}

static void on_fork(void *data, uint32_t parent, uint32_t pid, uint64_t ts_ns)
{
	struct story *s = data;

	add(s, pid, ts_ns, 'f');
	if (pid == s->pid)
		g_assert_cmpuint(parent, ==, (uint32_t)getpid());
}

static void on_exited(void *data, uint32_t pid, uint64_t ts_ns)
{
	add(data, pid, ts_ns, 'e');
}

static pid_t start(const char *seconds)
{
	pid_t child = fork();

	g_assert_cmpint(child, >=, 0);
	if (!child) {
		execlp("sleep", "sleep", seconds, (char *)NULL);
		_exit(127);
	}
	return child;
}

static struct mmap_events *open_or_skip(void)
{
	g_autoptr(GError) error = NULL;
	struct mmap_events *me = mmap_events_open(&error);

	if (!me)
		g_test_skip(error->message);
	else
		g_assert_cmpuint(mmap_events_fd_count(me), >, 0);
	return me;
}

static gpointer idle_thread(gpointer data)
{
	return data;
}

static void test_story(void)
{
	struct mmap_events *me = open_or_skip();
	g_autoptr(GString) text = g_string_new(NULL);
	struct story s = { .text = text };
	struct mmap_events_sink sink = { on_mmap, on_exec, on_fork, on_exited, &s };
	int status;

	if (!me)
		return;
	g_thread_join(g_thread_new("idle", idle_thread, NULL));	/* a thread is no process */
	s.pid = (uint32_t)start("0");
	g_assert_cmpint(waitpid((pid_t)s.pid, &status, 0), ==, (pid_t)s.pid);
	g_assert_cmpint(status, ==, 0);
	g_assert_cmpuint(mmap_events_drain(me, &sink), >, 3);
	g_assert_true(g_str_has_prefix(text->str, "fxm"));
	g_assert_true(g_str_has_suffix(text->str, "me"));
	g_assert_cmpuint(strcspn(text->str, "e"), ==, text->len - 1);
	g_assert_true(s.saw_program);
	g_assert_cmpuint(mmap_events_lost_cnt(me), ==, 0);
	mmap_events_free(me);
}

/*
 * More than a ring holds: what is not told must be counted.  A ring holds some thousand records; a thread
 * makes two or three, on whatever CPU, and the count may come with the next record that fits (before 6.0).
 */
static void test_lost(void)
{
	struct mmap_events *me = open_or_skip();
	g_autoptr(GString) text = g_string_new(NULL);
	struct story s = { .text = text };
	struct mmap_events_sink sink = { on_mmap, on_exec, on_fork, on_exited, &s };
	unsigned threads = 0;
	uint64_t lost;

	if (!me)
		return;
	g_assert_cmpuint(mmap_events_lost_cnt(me), ==, 0);
	while (!mmap_events_lost_cnt(me) && threads < 20000 * mmap_events_fd_count(me)) {
		for (int i = 0; i < 1000; i++)
			g_thread_join(g_thread_new("idle", idle_thread, NULL));
		threads += 1000;
		if (threads % (10000 * mmap_events_fd_count(me)) == 0)
			mmap_events_drain(me, &sink);
	}
	lost = mmap_events_lost_cnt(me);
	g_assert_cmpuint(lost, >, 0);
	g_assert_cmpuint(threads, >, 1000);
	mmap_events_drain(me, &sink);
	g_assert_cmpuint(mmap_events_lost_cnt(me), >=, lost);	/* an emptied ring has not forgotten */
	mmap_events_free(me);
}

/* Where one process had the C library. */
struct library {
	uint32_t pid;
	uint64_t ip;
};

static void library_mmap(void *data, uint32_t pid, uint64_t ts_ns, const struct symbolizer_mapping *m)
{
	struct library *l = data;

	Dl_info own;

	/* of getpid(), which every C library exports */
	if (pid == l->pid && strstr(m->path, "/libc") && dladdr(dlsym(RTLD_DEFAULT, "getpid"), &own))
		l->ip = m->start + (uint64_t)((char *)own.dli_saddr - (char *)own.dli_fbase) - m->pgoff;
}

static void ignore(void *data, uint32_t pid, uint64_t ts_ns)
{
}

static void ignore_exec(void *data, uint32_t pid, uint64_t ts_ns, const char *name)
{
	ignore(data, pid, ts_ns);
}

static void ignore_fork(void *data, uint32_t parent, uint32_t pid, uint64_t ts_ns)
{
}

static void note_mmap(void *s, uint32_t pid, uint64_t ts_ns, const struct symbolizer_mapping *m)
{
	symbolizer_note_mmap(s, pid, ts_ns, m);
}

static void note_exec(void *s, uint32_t pid, uint64_t ts_ns, const char *name)
{
	symbolizer_note_exec(s, pid, ts_ns, name);
}

static void note_fork(void *s, uint32_t parent, uint32_t pid, uint64_t ts_ns)
{
	symbolizer_note_fork(s, parent, pid, ts_ns);
}

static void note_exit(void *s, uint32_t pid, uint64_t ts_ns)
{
	symbolizer_note_exit(s, pid, ts_ns);
}

/* What a process that started and ended unseen had mapped comes from its notes alone. */
static void test_note(void)
{
	struct mmap_events *me = open_or_skip(), *other = me ? mmap_events_open(NULL) : NULL;
	struct library library = { 0 };
	struct mmap_events_sink sink = { library_mmap, ignore_exec, ignore_fork, ignore, &library };
	struct symbolizer *symbolizer;
	struct mmap_events_sink notes = { note_mmap, note_exec, note_fork, note_exit, NULL };
	struct symbol symbol;
	uint64_t now_ns = (uint64_t)g_get_monotonic_time() * 1000;
	int status;
	pid_t child;

	if (!me)
		return;
	notes.data = symbolizer = symbolizer_new();
	child = start("0");
	g_assert_nonnull(other);
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_cmpuint(mmap_events_drain(me, &notes), >, 3);
	library.pid = (uint32_t)child;
	mmap_events_drain(other, &sink);
	if (library.ip) {	/* else sleep is a static program */
		symbolizer_user(symbolizer, (uint32_t)child, now_ns + 3600000000000, library.ip, false, &symbol);
		g_assert_nonnull(symbol.module);
		g_assert_nonnull(strstr(symbol.module, "/libc"));
		g_assert_cmpint(symbol.why, ==, FRAME_NAMED);
		g_assert_nonnull(symbol.name);
	}
	symbolizer_user(symbolizer, (uint32_t)child, now_ns + 3600000000000, 16, false, &symbol);
	g_assert_cmpint(symbol.why, ==, FRAME_NOT_MAPPED);
	g_assert_cmphex(symbol.offset, ==, 16);
	symbolizer_user(symbolizer, (uint32_t)child, 0, 16, false, &symbol);
	g_assert_cmpint(symbol.why, ==, FRAME_PROCESS_GONE);
	symbolizer_free(symbolizer);
	mmap_events_free(other);
	mmap_events_free(me);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/mmap-events/story", test_story);
	g_test_add_func("/mmap-events/lost", test_lost);
	g_test_add_func("/mmap-events/note", test_note);
	return g_test_run();
}
