/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/proc/status.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROC_PID_INIT_INO 0xEFFFFFFCU	/* include/linux/proc_ns.h */

/* The beginning of a file, as a string. */
static bool read_start(const char *path, char *text, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	const ssize_t n = read(fd, text, bytes - 1);

	close(fd);
	text[MAX(n, 0)] = '\0';
	return n > 0;
}

bool cpus_time_read(const char *proc_dir, struct cpus_time *ret)
{
	g_autofree char *path = g_strdup_printf("%s/stat", proc_dir);
	char text[512];
	uint64_t n[8] = { 0 };	/* proc(5): user, nice, system, idle, iowait, irq, softirq, steal; guests' time is in the first two */

	if (!read_start(path, text, sizeof(text)) || !g_str_has_prefix(text, "cpu "))
		return false;
	char *at = text + strlen("cpu ");

	*ret = (struct cpus_time){ 0 };
	for (size_t i = 0; i < G_N_ELEMENTS(n); i++) {
		n[i] = g_ascii_strtoull(at, &at, 10);
		ret->all += n[i];
	}
	ret->busy = ret->all - n[3] - n[4];
	return ret->all;
}

bool loadavg_threads(unsigned *ret_runnable, unsigned *ret_all)
{
	char text[96];

	/* proc(5): three averages, runnable/all, the last pid */
	return read_start("/proc/loadavg", text, sizeof(text)) &&
	       sscanf(text, "%*s %*s %*s %u/%u", ret_runnable, ret_all) == 2;
}

const char *proc_status_field(const char *status, const char *name)
{
	g_autofree char *begin = g_strdup_printf("\n%s:", name);
	const char *line;

	if (g_str_has_prefix(status, begin + 1))
		return status + strlen(begin) - 1;
	line = strstr(status, begin);
	return line ? line + strlen(begin) : NULL;
}

uint64_t proc_status_number(const char *status, const char *name)
{
	const char *field = proc_status_field(status, name);

	return field ? g_ascii_strtoull(field, NULL, 10) : 0;
}

/* The last of the numbers in "NSpid:	123	7". */
uint32_t proc_status_innermost_id(const char *status)
{
	const char *field = proc_status_field(status, "NSpid"), *last = NULL;

	for (const char *p = field; p && *p && *p != '\n'; p++)
		if (g_ascii_isdigit(*p) && !g_ascii_isdigit(p[-1]))
			last = p;
	return last ? (uint32_t)strtoul(last, NULL, 10) : 0;
}

uint32_t proc_own_pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) || st.st_ino == PROC_PID_INIT_INO ? 0 : (uint32_t)st.st_ino;
}

uint64_t proc_own_peak_rss_bytes(void)
{
	g_autofree char *text = NULL;

	return g_file_get_contents("/proc/self/status", &text, NULL, NULL) ? proc_status_number(text, "VmHWM") * 1024
									   : 0;
}

bool proc_is_ours(const char *proc_dir)
{
	g_autofree char *path = g_build_filename(proc_dir, "self", NULL), *self = g_file_read_link(path, NULL);
	guint64 number;

	return !self || !g_ascii_string_to_unsigned(self, 10, 0, G_MAXINT, &number, NULL) ||
	       number == (guint64)getpid();
}
