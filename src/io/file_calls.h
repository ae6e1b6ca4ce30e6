/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef IO_FILE_CALLS_H
#define IO_FILE_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/file_abi.h"

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

#endif
