/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef IO_FILE_ROWS_H
#define IO_FILE_ROWS_H

#include "io/file.h"

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

#endif
