/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SAMPLE_PROC_THREAD_H
#define SAMPLE_PROC_THREAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A thread's files in /proc/PID/task/TID. They are kept open and read again, as far as there are descriptors. */

enum proc_file { PROC_SCHEDSTAT, PROC_STAT, PROC_SYSCALL, PROC_STACK, PROC_WCHAN, PROC_FILES };

struct proc_thread {
	pid_t pid, tid;
	int fd[PROC_FILES];	/* -1: not open */
};

void proc_thread_init(struct proc_thread *t, pid_t pid, pid_t tid);
void proc_thread_close(struct proc_thread *t);
/* Raises the limit of descriptors as far as allowed; call it once. */
void proc_thread_more_files(void);

/*
 * The text, followed by a 0 byte; returns its length, or -1 with errno: ESRCH or ENOENT when the thread has ended,
 * EPERM or EACCES when it is not readable.
 */
ssize_t proc_thread_read(struct proc_thread *t, enum proc_file which, char *buffer, size_t size);

/*
 * During an exec the kernel may never answer, and the reader can only end with its whole process. So one thread at a
 * time reads, and another one leaves it behind if it hangs. Returns a token for the current read; 0: none.
 */
uint64_t proc_thread_reading(void);
/* False: that read has ended. Else the reading thread never returns, and the caller replaces it. */
bool proc_thread_leave(uint64_t token, pid_t *ret_pid);

struct proc_sched {
	uint64_t run_ns, queue_ns;	/* total time on a CPU, and waiting for one */
	uint64_t runs;	/* how often it got a CPU */
};
/* False with errno, as above. */
bool proc_thread_sched(struct proc_thread *t, struct proc_sched *ret);

struct proc_stat {
	char comm[64];
	char state;
	bool is_kernel;
	uint64_t cpu_ticks, start_ticks;
	uint64_t code;	/* start of the program's code: changes with an exec; 0: not given */
};
bool proc_stat_parse(const char *text, struct proc_stat *ret);
bool proc_thread_stat(struct proc_thread *t, struct proc_stat *ret);

enum proc_call { PROC_RUNS, PROC_SLEEPS, PROC_KERNEL };
/* Parses /proc/.../syscall: "running", "-1 SP PC", "NR ARGS... SP PC". False: another format. */
bool proc_call_parse(const char *text, enum proc_call *ret_what, uint64_t *ret_sp, uint64_t *ret_ip);

#endif
