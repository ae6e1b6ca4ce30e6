/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_PROC_STATUS_H
#define BASE_PROC_STATUS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Fields of the text of a /proc/PID/status.  The kernel escapes a newline in a name, so no program can add a line to
 * it.
 */

/* What stands behind "NAME:", up to the end of the line and beyond; NULL: there is no such line. */
const char *proc_status_field(const char *status, const char *name);
/* Its first number; 0: there is none. */
uint64_t proc_status_number(const char *status, const char *name);
/*
 * The number of the process or thread in the innermost of its pid namespaces, by which it calls itself; 0: it is not
 * told.
 */
uint32_t proc_status_innermost_id(const char *status);

/*
 * Are the numbers in that /proc those by which this process knows itself and others?  Not where it was mounted in an
 * outer pid namespace: then 2 there is another process than our 2.  True also where it does not tell.
 */
bool proc_is_ours(const char *proc_dir);

/* How many threads of the machine run or could, and how many there are, as /proc/loadavg says; false: it does not. */
bool loadavg_threads(unsigned *ret_runnable, unsigned *ret_all);

/*
 * The processes that there are now, in our pid namespace: uint32_t, owned by the caller; empty where /proc cannot be
 * read.
 */
GArray *process_ids(void);
/* Neither lives nor is a zombie.  That is told at once, also where /proc hides other users' processes. */
bool process_has_ended(uint32_t pid);

/*
 * Appends to ids (uint32_t) the processes whose name, or whose executable's file name, is `name`; not the caller.
 * False: there is none.
 */
bool process_ids_named(const char *name, GArray *ids);

/* ids: uint32_t; NULL: none. */
bool process_ids_contain(const GArray *ids, uint32_t id);

/* Appends to ids the processes that these have forked, and those that these have; not the caller. */
void process_ids_add_descendants(GArray *ids);

#endif
