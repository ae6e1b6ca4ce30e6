/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RUNTIMES_GO_PROGRAM_H
#define RUNTIMES_GO_PROGRAM_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/frame.h"
#include "runtimes/go/answers.h"

/*
 * A live process of a Go program (Go 1.18 and later), read from outside through its memory and function table, which
 * stripped programs have, too. Everything else is found by that table or by plausibility of memory, so no offsets by
 * version are needed: the list of goroutines from the code of runtime.allgadd, the fields of a goroutine from the
 * known values of the first one, names of wait reasons from the runtime's array. Neither file nor memory is trusted:
 * a process without rights reads the file, if there is one, and memory is read in pieces of a fixed size.
 */

#define GO_REASONS_MAX 128
#define GO_REASON_TEXT_MAX 64
#define GO_GOROUTINE_BYTES_MAX 512

/* Offsets in the runtime's struct g. */
struct go_layout {
	uint32_t status, goid, reason, parent, creator, start;
	uint32_t bytes;		/* length to read */
	bool has_parent;	/* from Go 1.21 on */
	uint32_t labels;	/* 0: unknown */
	unsigned minor;		/* of the Go version: 19 for go1.19 */
};

struct go_program {
	uint32_t pid;
	int fd;			/* of the program's file */
	struct go_file file;
	GHashTable *codes;	/* cache of answers: (address, is_return) -> struct go_code *, or NULL */
	uint64_t bias;		/* memory address minus file address */
	uint64_t goroutines;	/* address of the slice runtime.allgs */
	uint64_t inline_data;	/* file address of go:func.*; 0: not found, and inlined functions have no names */
	struct go_layout layout;
	char *path;		/* of the file, as seen by the process */
	char reasons[GO_REASONS_MAX][GO_REASON_TEXT_MAX];
	uint32_t reason_cnt;
};

enum go_state {
	GO_READABLE,
	GO_NONE,	/* not a Go program, or the process is gone */
	/* a Go program whose list of goroutines was not found: it just started, or its version is unknown */
	GO_NOT_READY,
};

/* lines: the process's mappings (struct maps_line). The process must be alive. Close it in either case. */
enum go_state go_program_open(struct go_program *p, const char *proc_dir, uint32_t pid, const GArray *lines);
/* For one that was not ready: is it now? */
bool go_program_is_ready(struct go_program *p);
void go_program_close(struct go_program *p);
/* An empty `codes`, for programs set up by hand. */
GHashTable *go_program_codes_new(void);

/*
 * The code at a memory address. is_return: a return address, so the call before it. NULL: no known function. Valid
 * until the next call.
 */
const struct go_code *go_program_code(const struct go_program *p, uint64_t pc, bool is_return);

/*
 * Labels of a goroutine that were set with runtime/pprof.Do(). A set of labels never changes, so what was read is
 * valid if the goroutine still refers to it afterwards.
 */

#define GO_LABELS_FIRST_MINOR 18
#define GO_LABELS_SORTED_MINOR 24	/* from then on labels are a sorted slice of pairs, not a map */
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

/* The offset of the labels pointer in struct g, relative to `startpc`. 0: unknown for this version (19 for go1.19). */
uint32_t go_labels_at(unsigned minor, uint32_t start);
/* Reads labels that distinguish rows (base/trace_attributes.h). minor: of the Go version. */
void go_labels_read(uint32_t pid, unsigned minor, uint64_t addr, struct go_labels *ret);

/*
 * The goroutines of a running program, which is not stopped. Each is read before and after its stack. One that
 * changed in between is marked stale and has no stack.
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
	GO_STATUS_COPYING = 8,	/* its stack is being moved */
	GO_STATUS_PREEMPTED = 9,
	GO_STATUS_LEAKED = 10,	/* from Go 1.26 on: detected as blocked forever */
	GO_STATUS_DEAD_EXTRA = 11,
	GO_STATUS_SCAN = 0x1000,	/* the garbage collector is scanning its stack */
};

struct go_goroutine {
	uint64_t goid, parent;	/* parent 0: unknown */
	uint64_t creator;	/* return address of the `go` statement; 0: none */
	uint64_t start;		/* its first function */
	enum go_status status;	/* without GO_STATUS_SCAN; not idle or dead */
	const char *reason;	/* if it waits; NULL: unknown */
	bool is_stale;		/* it changed while being read: no stack */
	bool begins_at_pc;	/* pcs[0] is no return address: the goroutine has not run yet */
	const uint64_t *pcs;	/* innermost first */
	unsigned pc_cnt;	/* 0: it is running, or unreadable */
	enum stack_end end;
	const struct go_labels *labels;	/* NULL: none */
};

typedef void (*go_goroutine_fn)(void *ctx, const struct go_goroutine *g);

struct go_census {
	uint64_t listed;	/* length of the program's list, including dead ones */
	uint64_t looked_at;	/* number of these that were read */
	uint64_t unreadable;
	bool is_cut;		/* the list is longer than the limit, or invalid */
};

/*
 * Calls `fn` for every stride-th goroutine of the list from `first` on. False: the list cannot be read, because the
 * process is gone or access is denied.
 */
bool go_goroutines_read(const struct go_program *p, uint64_t first, uint64_t stride, go_goroutine_fn fn, void *ctx,
			struct go_census *ret);
/* The length of the list. 0: it cannot be read. */
uint64_t go_goroutines_listed(const struct go_program *p);

#endif
