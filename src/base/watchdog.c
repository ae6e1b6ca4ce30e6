/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/urgency.h"

#include <string.h>

#include "base/quiet_thread.h"

#define FRAMES_MAX 6

static struct {
	struct watchdog_options options;
	GThread *thread;
	GMutex lock;	/* protects what follows */
	GCond cond;
	gint64 due_us;
	bool has_reported, is_over;
} dog;

static char *read_own(const char *tid, const char *name)
{
	g_autofree char *path = g_strdup_printf("/proc/self/task/%s/%s", tid, name);
	char *text = NULL;

	g_file_get_contents(path, &text, NULL, NULL);
	return text ? text : g_strdup("");
}

/* Lines of "[<0>] futex_wait_queue+0x60/0x90" become "futex_wait_queue, ...". */
static void add_frames(GString *s, char *stack)
{
	unsigned cnt = 0;

	for (char *line = strtok(stack, "\n"); line && cnt < FRAMES_MAX; line = strtok(NULL, "\n")) {
		char *name = strstr(line, "] ");

		if (!name)
			continue;
		name += 2;
		name[strcspn(name, "+")] = '\0';
		g_string_append_printf(s, "%s%s", cnt++ ? ", " : " in ", name);
	}
}

static void add_thread(GString *s, const char *tid)
{
	g_autofree char *comm = read_own(tid, "comm"), *stat = read_own(tid, "stat"), *stack = read_own(tid, "stack"),
			*wchan = read_own(tid, "wchan");
	const char *end = strrchr(stat, ')');

	g_string_append_printf(s, "  %s (%s) %c", g_strchomp(comm), tid, end && end[1] ? end[2] : '?');
	if (*stack)
		add_frames(s, stack);
	else if (*wchan && strcmp(wchan, "0") != 0)
		g_string_append_printf(s, " in %s", wchan);
}

static void report_threads(const struct watchdog_options *o)
{
	GDir *tasks = g_dir_open("/proc/self/task", 0, NULL);

	o->say(o->why, o->data);
	for (const char *tid; tasks && (tid = g_dir_read_name(tasks));) {
		g_autoptr(GString) line = g_string_new(NULL);

		add_thread(line, tid);
		o->say(line->str, o->data);
	}
	if (tasks)
		g_dir_close(tasks);
}

static gpointer run_watchdog(gpointer data)
{
	g_mutex_lock(&dog.lock);
	while (!dog.is_over) {
		if (dog.has_reported) {
			g_cond_wait(&dog.cond, &dog.lock);
		} else if (g_get_monotonic_time() < dog.due_us) {
			g_cond_wait_until(&dog.cond, &dog.lock, dog.due_us);
		} else {
			dog.has_reported = true;
			g_mutex_unlock(&dog.lock);
			report_threads(&dog.options);
			g_mutex_lock(&dog.lock);
		}
	}
	g_mutex_unlock(&dog.lock);
	return NULL;
}

void watchdog_begin(const struct watchdog_options *options)
{
	watchdog_end();
	dog.options = *options;
	dog.is_over = dog.has_reported = false;
	dog.due_us = g_get_monotonic_time() + (gint64)options->after_ms * 1000;
	dog.thread = quiet_thread_new("watchdog", run_watchdog, NULL, NULL);
}

void watchdog_feed(void)
{
	if (!dog.thread)
		return;
	g_mutex_lock(&dog.lock);
	dog.due_us = g_get_monotonic_time() + (gint64)dog.options.after_ms * 1000;
	if (dog.has_reported)
		g_cond_signal(&dog.cond);
	dog.has_reported = false;
	g_mutex_unlock(&dog.lock);
}

void watchdog_end(void)
{
	if (!dog.thread)
		return;
	g_mutex_lock(&dog.lock);
	dog.is_over = true;
	g_cond_signal(&dog.cond);
	g_mutex_unlock(&dog.lock);
	g_thread_join(g_steal_pointer(&dog.thread));
}
