/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "sample/proc_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define FILES_SPARED 64	/* for all other files that are opened meanwhile */
#define PF_KTHREAD 0x200000u

static const char *const names[PROC_FILES] = { "schedstat", "stat", "syscall", "stack", "wchan" };
static unsigned files_open, files_max = 512;
/* The process whose file is being read, and in the upper bits the number of reads; 0: none. */
static _Atomic uint64_t reading;

void proc_thread_more_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	files_max = getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < 2 * FILES_SPARED ? 0 :
		    (unsigned)MIN(limit.rlim_cur, 1u << 20) - FILES_SPARED;
}

void proc_thread_init(struct proc_thread *t, pid_t pid, pid_t tid)
{
	*t = (struct proc_thread){ .pid = pid, .tid = tid };
	for (unsigned i = 0; i < PROC_FILES; i++)
		t->fd[i] = -1;
}

void proc_thread_close(struct proc_thread *t)
{
	for (unsigned i = 0; i < PROC_FILES; i++) {
		if (t->fd[i] < 0)
			continue;
		close(t->fd[i]);
		t->fd[i] = -1;
		files_open--;
	}
}

static int open_file(const struct proc_thread *t, enum proc_file which)
{
	char path[64];

	g_snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", t->pid, t->tid, names[which]);
	return open(path, O_RDONLY | O_CLOEXEC);
}

uint64_t proc_thread_reading(void)
{
	return atomic_load(&reading);
}

bool proc_thread_leave(uint64_t token, pid_t *ret_pid)
{
	*ret_pid = (pid_t)(uint32_t)token;
	return token && atomic_compare_exchange_strong(&reading, &token, 0);
}

/* A thread that was left behind must not continue: its data no longer exists. */
static ssize_t read_unless_left(pid_t pid, int fd, char *buffer, size_t size)
{
	static uint32_t reads;
	uint64_t token = (uint64_t)++reads << 32 | (uint32_t)pid;
	ssize_t len;
	int error;

	atomic_store(&reading, token);
	len = pread(fd, buffer, size, 0);
	error = errno;
	if (!atomic_compare_exchange_strong(&reading, &token, 0))
		for (;;)
			pause();
	errno = error;
	return len;
}

ssize_t proc_thread_read(struct proc_thread *t, enum proc_file which, char *buffer, size_t size)
{
	int fd = t->fd[which] >= 0 ? t->fd[which] : open_file(t, which), error;
	ssize_t len;

	if (fd < 0)
		return -1;
	len = read_unless_left(t->pid, fd, buffer, size - 1);
	error = errno;
	if (t->fd[which] < 0 && len >= 0 && files_open < files_max) {
		t->fd[which] = fd;
		files_open++;
	} else if (t->fd[which] < 0) {
		close(fd);
	}
	if (len >= 0)
		buffer[len] = '\0';
	errno = len == 0 ? ESRCH : error;	/* stack of a thread that has just ended */
	return len;
}

bool proc_thread_sched(struct proc_thread *t, struct proc_sched *ret)
{
	char text[128], *at = text;

	if (proc_thread_read(t, PROC_SCHEDSTAT, text, sizeof(text)) <= 0)
		return false;
	ret->run_ns = g_ascii_strtoull(at, &at, 10);
	ret->queue_ns = g_ascii_strtoull(at, &at, 10);
	ret->runs = g_ascii_strtoull(at, &at, 10);
	return true;
}

bool proc_stat_parse(const char *text, struct proc_stat *ret)
{
	const char *name = strchr(text, '('), *end = strrchr(text, ')');
	uint64_t field[27] = { 0 };
	char *at;

	*ret = (struct proc_stat){ 0 };
	if (!name || !end || end < name || end[1] != ' ' || !end[2])
		return false;
	g_strlcpy(ret->comm, name + 1, MIN(sizeof(ret->comm), (size_t)(end - name)));
	ret->state = end[2];
	at = (char *)end + 3;
	for (unsigned i = 4; i <= 26; i++) {
		char *before = at;

		field[i] = g_ascii_strtoull(at, &at, 10);
		if (at == before)
			return false;
	}
	ret->is_kernel = field[9] & PF_KTHREAD;
	ret->cpu_ticks = field[14] + field[15];
	ret->start_ticks = field[22];
	ret->code = field[26];
	return true;
}

bool proc_thread_stat(struct proc_thread *t, struct proc_stat *ret)
{
	char text[1024];

	if (proc_thread_read(t, PROC_STAT, text, sizeof(text)) <= 0)
		return false;
	if (proc_stat_parse(text, ret))
		return true;
	errno = EINVAL;
	return false;
}

bool proc_call_parse(const char *text, enum proc_call *ret_what, uint64_t *ret_sp, uint64_t *ret_ip)
{
	g_auto(GStrv) words = g_strsplit_set(text, " \n", 12);
	guint cnt = 0;

	*ret_what = PROC_RUNS;
	if (g_str_has_prefix(text, "running"))
		return true;
	while (words[cnt] && *words[cnt])
		cnt++;
	if (cnt != 3 && cnt != 9)
		return false;
	*ret_sp = g_ascii_strtoull(words[cnt - 2], NULL, 16);
	*ret_ip = g_ascii_strtoull(words[cnt - 1], NULL, 16);
	*ret_what = *ret_ip ? PROC_SLEEPS : PROC_KERNEL;
	return true;
}
