/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/watchdog.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define AFTER_S 10
#define FRAMES_MAX 6

static char *read_own(const char *tid, const char *name)
{
	g_autofree char *path = g_strdup_printf("/proc/self/task/%s/%s", tid, name);
	char *text = NULL;

	g_file_get_contents(path, &text, NULL, NULL);
	return text ? text : g_strdup("");
}

/* "[<0>] futex_wait_queue+0x60/0x90" by lines, as "futex_wait_queue, ..." */
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
	g_string_append_c(s, '\n');
}

static gpointer watch(gpointer data)
{
	g_autoptr(GString) s = g_string_new("offcpu: the window ended 10 s ago, and this process has not; its threads:\n");
	GDir *tasks;

	(void)data;
	g_usleep(AFTER_S * G_USEC_PER_SEC);
	tasks = g_dir_open("/proc/self/task", 0, NULL);
	for (const char *tid; tasks && (tid = g_dir_read_name(tasks));)
		add_thread(s, tid);
	if (tasks)
		g_dir_close(tasks);
	if (write(STDERR_FILENO, s->str, s->len) < 0)
		return NULL;	/* nobody listens */
	return NULL;
}

void watchdog_begin(void)
{
	g_thread_unref(g_thread_new("watchdog", watch, NULL));
}
