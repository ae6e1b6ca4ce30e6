/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_GO_GOROUTINES_H
#define SYMBOLIZE_GO_GOROUTINES_H

#include "base/frame.h"
#include "symbolize/runtime/go_labels.h"
#include "symbolize/runtime/go_program.h"

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
