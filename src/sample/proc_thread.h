/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SAMPLE_PROC_THREAD_H
#define SAMPLE_PROC_THREAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * What /proc/PID/task/TID tells of a thread.  Files are kept open and read again, as long as there are descriptors to
 * be had.
 */

enum proc_file { PROC_SCHEDSTAT, PROC_STAT, PROC_SYSCALL, PROC_STACK, PROC_WCHAN, PROC_FILES };

struct proc_thread {
	pid_t pid, tid;
	int fd[PROC_FILES];	/* -1: not open */
};

void proc_thread_init(struct proc_thread *t, pid_t pid, pid_t tid);
void proc_thread_close(struct proc_thread *t);
/* As many descriptors as this process may have, to be called once. */
void proc_thread_more_files(void);

/*
 * The text, with a 0 byte at its end; its length, or -1 with errno: ESRCH or ENOENT when the thread has ended, EPERM
 * or EACCES when it may not be read.
 */
ssize_t proc_thread_read(struct proc_thread *t, enum proc_file which, char *buffer, size_t size);

/*
 * Between two programs the kernel may never answer, and whoever reads then ends with its whole process alone.  So one
 * thread at a time reads, and another one leaves it behind.  What tells the read that is under way; 0: none is.
 */
uint64_t proc_thread_reading(void);
/* False: that read has ended.  Else the thread that reads never returns, and the caller takes its place. */
bool proc_thread_leave(uint64_t token, pid_t *ret_pid);

struct proc_sched {
	uint64_t run_ns, queue_ns;	/* on a CPU, and waiting for one, ever */
	uint64_t runs;	/* how often it got a CPU */
};
/* False, with errno, as above. */
bool proc_thread_sched(struct proc_thread *t, struct proc_sched *ret);

struct proc_stat {
	char comm[64];
	char state;
	bool is_kernel;
	uint64_t cpu_ticks, start_ticks;
	uint64_t code;	/* where its program begins: another one after an exec; 0: not told */
};
bool proc_stat_parse(const char *text, struct proc_stat *ret);
bool proc_thread_stat(struct proc_thread *t, struct proc_stat *ret);

enum proc_call { PROC_RUNS, PROC_SLEEPS, PROC_KERNEL };
/* Where a thread stands in user space: "running", "-1 SP PC", "NR ARGS... SP PC".  False: no such line. */
bool proc_call_parse(const char *text, enum proc_call *ret_what, uint64_t *ret_sp, uint64_t *ret_ip);

#endif
