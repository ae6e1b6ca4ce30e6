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
 * The path that a record tells: appended.  names: rec->path_bytes bytes of it; given: the path that the program gave
 * where the record holds only its address, or NULL.
 */
void file_path_append(GString *s, const struct file_rec_op *rec, const char *names, const char *given);

/* The system calls that are file operations. */

/* FILE_CALLS_END rows by number, for the BPF programs. */
void file_calls_fill(struct file_call *calls);
/* What the kernel calls the row's system call behind "sys_": "newfstat".  NULL: there are no more rows. */
const char *file_call_function(size_t at);
/* Bits by IORING_OP_*: which operations of io_uring's are of files, or open one. */
uint64_t file_uring_ops(bool opens_only);
/* The name of a row's op: "read", "pread", "fsync"; "?" of none. */
const char *file_call_name(uint32_t op);
/* Its result is a number of bytes. */
bool file_call_has_bytes(uint32_t op);

/* Slow operations added up: by file, and by thread and place. */
struct file_rows;

/* p: for threads and texts; outlives this. */
struct file_rows *file_rows_new(struct profile *p);
void file_rows_free(struct file_rows *r);	/* NULL is fine */
/* user, kernel: stack nodes; 0: none. */
void file_rows_add(struct file_rows *r, const struct file_op *op, uint32_t user, uint32_t kernel);
/*
 * Sorts, and fills in what is known here: rows, files, all, and of the counts done, open_at_end, begun_before,
 * unlisted.
 */
void file_rows_result(struct file_rows *r, struct file_result *ret);
/* Rows become waits of the profile. */
void file_rows_to_profile(struct file_rows *r);

/* The bar of a duration, and the middle of a bar. */
unsigned file_bar(uint64_t ns);
uint64_t file_bar_ns(unsigned bar);

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
