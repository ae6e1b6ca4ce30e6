/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_PROC_STATUS_H
#define BASE_PROC_STATUS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Fields of /proc/PID/status. The kernel escapes a newline in a name, so no program can add a line to it. */

/* The text after "NAME:", to the end of the line and beyond; NULL: no such line. */
const char *proc_status_field(const char *status, const char *name);
/* Its first number; 0: none. */
uint64_t proc_status_number(const char *status, const char *name);
/* The number of the process or thread in the innermost pid namespace, which it uses itself; 0: not given. */
uint32_t proc_status_innermost_id(const char *status);

/* The number of our pid namespace; 0: it is the initial one. */
uint32_t proc_own_pid_namespace(void);
/* Not ru_maxrss, which a child inherits from its parent; 0: not known. */
uint64_t proc_own_peak_rss_bytes(void);
/*
 * Does that /proc use the same process ids as this process? Not if it was mounted in an outer pid namespace: then 2
 * there is another process than our 2. True also if it does not tell.
 */
bool proc_is_ours(const char *proc_dir);

/* How many threads of the machine are runnable, and how many exist, from /proc/loadavg; false: unreadable. */
bool loadavg_threads(unsigned *ret_runnable, unsigned *ret_all);

/* Time of all CPUs since the machine began, in clock ticks, from the first line of /proc/stat; false: unreadable. */
struct cpus_time {
	uint64_t busy, all;	/* busy: neither idle nor idle with disks at work; a hypervisor's time for others counts */
};
bool cpus_time_read(const char *proc_dir, struct cpus_time *ret);

/* The current processes in our pid namespace: uint32_t, owned by the caller; empty if /proc is unreadable. */
GArray *process_ids(void);
/* The current threads of a process, at most so many, likewise. */
GArray *process_threads(uint32_t pid, unsigned max_cnt);
/* It is neither alive nor a zombie. Answered at once, also where /proc hides other users' processes. */
bool process_has_ended(uint32_t pid);

/*
 * Appends to ids (uint32_t) the processes with this name, or whose executable's file name it is, or the name of the
 * script that this one runs, except the caller.  False: none.
 */
bool process_ids_named(const char *name, GArray *ids);

/* The file name of the script that its interpreter runs; NULL: it runs none, or that is not known. Free with g_free(). */
char *process_script_name(uint32_t pid);

/* That, or else the process's own name; NULL: it is gone. */
char *process_called(const char *proc_dir, uint32_t pid);

/* The letter of its first thread's state, as in /proc/PID/stat; 0: it is gone. */
char process_state(const char *proc_dir, uint32_t pid);

/* ids: uint32_t; NULL: none. */
bool process_ids_contain(const GArray *ids, uint32_t id);

/* Appends to ids the descendants of these processes, except the caller. */
void process_ids_add_descendants(GArray *ids);

#endif
