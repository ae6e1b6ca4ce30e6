/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_GO_PROGRAM_H
#define SYMBOLIZE_GO_PROGRAM_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/frame.h"
#include "runtimes/go/answers.h"

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

/*
 * What runtime/pprof.Do() has a goroutine labelled with.  A set of labels is never changed, so what is read is right
 * where the goroutine still has that set behind the reading.
 */

#define GO_LABELS_FIRST_MINOR 18
#define GO_LABELS_SORTED_MINOR 24	/* a sorted slice of pairs, no map any more */
#define GO_LABELS_LAST_MINOR 27
#define GO_LABELS_MAX 4
#define GO_LABEL_KEY_MAX 64
#define GO_LABEL_VALUE_MAX 200

struct go_label {
	char key[GO_LABEL_KEY_MAX], value[GO_LABEL_VALUE_MAX];	/* valid UTF-8 */
};
struct go_labels {
	unsigned cnt;
	struct go_label label[GO_LABELS_MAX];	/* by key */
};

/* Where in struct g the pointer to them is, by where its `startpc` is; 0: not known of that version, 19 of "go1.19". */
uint32_t go_labels_at(unsigned minor, uint32_t start);
/* Those that rows are told apart by (base/trace_attributes.h).  minor: of Go's version. */
void go_labels_read(uint32_t pid, unsigned minor, uint64_t addr, struct go_labels *ret);

/*
 * The goroutines of a program that runs on meanwhile: it is never stopped.  Each is read twice, before and after its
 * stack; one that changed between is told as such, and has no stack.
 */

#define GO_GOROUTINES_MAX (16u << 20)
#define GO_FRAMES_MAX 128

enum go_status {
	GO_STATUS_IDLE = 0,
	GO_STATUS_RUNNABLE = 1,
	GO_STATUS_RUNNING = 2,
	GO_STATUS_SYSCALL = 3,
	GO_STATUS_WAITING = 4,
	GO_STATUS_DEAD = 6,
	GO_STATUS_COPYING = 8,	/* its stack moves */
	GO_STATUS_PREEMPTED = 9,
	GO_STATUS_LEAKED = 10,	/* from Go 1.26 on: found to wait for ever */
	GO_STATUS_DEAD_EXTRA = 11,
	GO_STATUS_SCAN = 0x1000,	/* the garbage collector looks at its stack */
};

struct go_goroutine {
	uint64_t goid, parent;	/* parent 0: not known */
	uint64_t creator;	/* return address of the `go` statement; 0: none */
	uint64_t start;		/* of the function that it began with */
	enum go_status status;	/* without GO_STATUS_SCAN; neither idle nor dead */
	const char *reason;	/* of one that waits; NULL: not known */
	bool is_stale;		/* it changed while it was read: no stack */
	bool begins_at_pc;	/* pcs[0] is where it goes on, and no return address: it has not run yet */
	const uint64_t *pcs;	/* innermost first */
	unsigned pc_cnt;	/* 0: it runs, or could not be read */
	enum stack_end end;
	const struct go_labels *labels;	/* NULL: none */
};

typedef void (*go_goroutine_fn)(void *ctx, const struct go_goroutine *g);

struct go_census {
	uint64_t listed;	/* in the program's list, dead ones too */
	uint64_t looked_at;	/* of these */
	uint64_t unreadable;
	bool is_cut;		/* the list was longer than we read, or makes no sense */
};

/*
 * Tells `fn` of every stride-th goroutine of the list from `first` on.  False: the list could not be read, since the
 * process is gone or may not be read.
 */
bool go_goroutines_read(const struct go_program *p, uint64_t first, uint64_t stride, go_goroutine_fn fn, void *ctx,
			struct go_census *ret);
/* How long the list is; 0: it cannot be read. */
uint64_t go_goroutines_listed(const struct go_program *p);

#endif
