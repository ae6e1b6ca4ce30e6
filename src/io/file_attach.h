/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef IO_FILE_ATTACH_H
#define IO_FILE_ATTACH_H

#include <glib.h>
#include <stdbool.h>

struct file_bpf;

/*
 * Where file operations begin and end.  Best by a probe on the kernel's functions of these system calls, many at once
 * (kprobe.multi): no other call pays.  Else by the tracepoints of all calls, which every system call then pays for.
 */
struct file_attach;

/*
 * Before the object is loaded: chooses which of its programs are.  has_fault: tracepoints tell of page faults, so no
 * function need be probed. False: page faults are not seen here.
 */
bool file_attach_select(struct file_bpf *skel, bool has_fault);
/* NULL, with a sentence: nothing is attached. */
struct file_attach *file_attach_new(struct file_bpf *skel, GError **error);
/* All system calls of the machine pay for it. */
bool file_attach_is_by_tracepoints(const struct file_attach *a);
/* Programs that run are through, and one that begins later finds the window closed. */
void file_attach_settle(struct file_attach *a);
void file_attach_free(struct file_attach *a);	/* NULL is fine */

#endif
