/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_IO_RECORD_PART_H
#define FEATURES_IO_RECORD_PART_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "features/io/file_abi.h"
#include "features/io/record_file.h"

/*
 * Appends the path of a record. names: rec->path_bytes bytes of it; given: the program's path if the record has only
 * its address, or NULL.
 */
void file_path_append(GString *s, const struct file_rec_op *rec, const char *names, const char *given);

/* System calls that are file operations. */

/* FILE_CALLS_END rows by system call number, for the BPF programs. */
void file_calls_fill(struct file_call *calls);
/* The kernel's name of the row's system call after "sys_": "newfstat". NULL: no more rows. */
const char *file_call_function(size_t at);
/* Bits by IORING_OP_*: the io_uring operations on files, or those that open one. */
uint64_t file_uring_ops(bool opens_only);
/* The name of a row's op: "read", "pread", "fsync"; "?" if unknown. */
const char *file_call_name(uint32_t op);
/* Is its result a number of bytes? */
bool file_call_has_bytes(uint32_t op);

/* Sums of slow operations: by file, and by thread and place. */
struct file_rows;

/* Borrows p for threads and texts. */
struct file_rows *file_rows_new(struct profile *p);
void file_rows_free(struct file_rows *r);	/* NULL is fine */
/* user, kernel: stack nodes; 0: none. */
void file_rows_add(struct file_rows *r, const struct file_op *op, uint32_t user, uint32_t kernel);
/* Sorts and fills in: rows, files, all, and the counts done, open_at_end, begun_before, unlisted. */
void file_rows_result(struct file_rows *r, struct file_result *ret);
/* Rows become waits of the profile. */
void file_rows_to_profile(struct file_rows *r);

/* The bar of a duration, and the middle of a bar. */
unsigned file_bar(uint64_t ns);
uint64_t file_bar_ns(unsigned bar);

struct file_bpf;

/*
 * Detects the begin and end of file operations. Preferably with a probe on the kernel's functions for these system
 * calls (kprobe.multi), which costs no other call anything. Else with the tracepoints of all system calls, which
 * makes each of them slower.
 */
struct file_attach;

/*
 * Before the object is loaded: selects its programs. has_fault: tracepoints report page faults, so no function needs
 * a probe. False: this kernel does not show page faults.
 */
bool file_attach_select(struct file_bpf *skel, bool has_fault);
/* NULL with an error: nothing is attached. */
struct file_attach *file_attach_new(struct file_bpf *skel, GError **error);
/* Does every system call of the machine become slower? */
bool file_attach_is_by_tracepoints(const struct file_attach *a);
/* Waits for running programs; later ones find the window closed. */
void file_attach_settle(struct file_attach *a);
void file_attach_free(struct file_attach *a);	/* NULL is fine */

#endif
