/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_GO_PROGRAM_H
#define SYMBOLIZE_GO_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "symbolize/runtime/go_answers.h"

/*
 * A living process of a Go program (Go 1.18 and later), seen from outside by its memory and its function
 * table.  Stripped programs have that table, too; everything else is found by it or by what memory must hold, so no
 * version needs offsets of ours: the list of goroutines by the code of runtime.allgadd, the fields of a goroutine by
 * what the first one must have in them, names of wait reasons by the array that the runtime has them in.  Neither file
 * nor memory is trusted: the file is read by a process without rights where there is one, the memory in pieces of a
 * fixed size.
 */

#define GO_REASONS_MAX 128
#define GO_REASON_TEXT_MAX 64
#define GO_GOROUTINE_BYTES_MAX 512

/* Offsets in the runtime's struct g. */
struct go_layout {
	uint32_t status, goid, wait_since, reason, parent, creator, start;
	uint32_t bytes;		/* that have to be read of it */
	bool has_parent;	/* from Go 1.21 on */
	uint32_t labels;	/* 0: not known */
	unsigned minor;		/* 19 of "go1.19" */
};

struct go_program {
	uint32_t pid;
	int fd;			/* of the file */
	struct go_file file;
	GHashTable *codes;	/* address and is_return: struct go_code *, or NULL; what was asked of the file */
	uint64_t bias;		/* memory address less the file's */
	uint64_t goroutines;	/* address of the slice runtime.allgs */
	uint64_t inline_data;	/* of go:func.*, in the file; 0: not found, inlined functions have no names then */
	struct go_layout layout;
	char *path;		/* of the file, as the process names it */
	char reasons[GO_REASONS_MAX][GO_REASON_TEXT_MAX];
	uint32_t reason_cnt;
};

enum go_state {
	GO_READABLE,
	GO_NONE,	/* no Go program, or it is gone */
	/*
	 * it is one, but the runtime's list of goroutines was not found: it has just begun, or is of an unknown
	 * version
	 */
	GO_NOT_READY,
};

/* The process must live.  Close it in any case. */
enum go_state go_program_open(struct go_program *p, const char *proc_dir, uint32_t pid);
void go_program_close(struct go_program *p);
/* An empty `codes`, for whoever makes one by hand. */
GHashTable *go_program_codes_new(void);

/*
 * What runs at an address in memory.  is_return: it is that of the call before it.  NULL: no function is known there.
 * It is valid until the next call.
 */
const struct go_code *go_program_code(const struct go_program *p, uint64_t pc, bool is_return);

#endif
