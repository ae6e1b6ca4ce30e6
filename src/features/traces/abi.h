/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CONTEXT_ABI_H
#define CONTEXT_ABI_H

#include "abi/offcpu_abi.h"

/*
 * The trace context of a thread (OTEP 4947): a variable in its thread-local storage points to a record with the trace
 * and span that it works for, and attributes.  User space finds out where that variable is; the kernel programs read
 * the record of a thread that is off CPU, and sum its waits under the attributes that are asked for.
 */

#define OFFCPU_REC_CONTEXT 18	/* beside enum offcpu_rec_type */
#define OFFCPU_REC_TRACE 19
#define OFFCPU_REC_REQUEST_ROUTE 23	/* struct offcpu_rec_context of no stack: which name do such requests have? */
#define OFFCPU_CONTEXTS_MAX 4096	/* programs */

/* Where a program's threads have that variable. */
struct offcpu_context_place {
	/* 0: it lies at `at` from the thread pointer; else in the block of this module, as the dynamic linker numbers it */
	__u64 module;
	__s64 at;		/* from the one or the other */
	__s32 dtv_at;		/* thread pointer: the vector of blocks */
	__u32 dtv_bytes;	/* of each of its entries */
	__u64 keys[4];		/* attributes that are asked for: a bit for each */
	/*
	 * Go: that variable is the goroutine, no record; this far in it are its labels, and in the thread's own structure
	 * (OFFCPU_GO_THREAD_AT in a goroutine) what it runs for: 0: no Go, and not known
	 */
	__u16 labels_at, runs_at;
	__u32 has_list;		/* of labels (Go 1.24); else a map */
};

/*
 * Labels of Go's runtime/pprof become a record, too: a key is the number of a name that is asked for.  Of one length they lie one behind the other.
 */
#define OFFCPU_GO_THREAD_AT 48		/* in the runtime's struct g, each version known of: m */
#define OFFCPU_GO_LABELS_BEHIND 48	/* the address of the function that a goroutine began with */
#define OFFCPU_GO_LABELS_MAX 64		/* of a goroutine */
#define OFFCPU_LABEL_NAMES 32		/* numbers from 1 to one less */
#define OFFCPU_LABEL_NAME_BYTES 64	/* of a name, at most one less */
#define OFFCPU_LABEL_VALUE_BYTES 200	/* what is longer is cut */
#define OFFCPU_LABEL_TRACE_DIGITS 32	/* of a label that says the trace; half as many: the span */

/* The record, as its writers lay it out: 28 bytes, then attributes of a key, a length and so many bytes. */
#define OFFCPU_CONTEXT_VALID_AT 24
#define OFFCPU_CONTEXT_SIZE_AT 26
#define OFFCPU_CONTEXT_HEAD_BYTES 28
#define OFFCPU_CONTEXT_BYTES 256	/* of attributes, the first; what is longer is cut */
#define OFFCPU_CONTEXT_WORDS ((7 + OFFCPU_CONTEXT_HEAD_BYTES + OFFCPU_CONTEXT_BYTES + 7) / 8)

/*
 * A user stack of a thread with such attributes: waits are summed under `id` as under that of any user stack.  Crosses
 * once, after the user stack.
 */
struct offcpu_rec_context {
	__u32 type;
	__u16 shift;		/* in `word`, of the record's first byte */
	__u16 is_labels;	/* keys are numbers of label_name, not the program's own */
	__u64 id;
	__u64 ustack;		/* without them */
	__u64 ts_ns;
	__u64 proc_start_ns;	/* with exec_no and pid: the address space */
	__u32 pid;
	__u32 exec_no;
	__u64 word[OFFCPU_CONTEXT_WORDS];
};

/* For which trace a wait was: of each row the longest so far. */
struct offcpu_rec_trace {
	__u32 type;
	__u32 pad;
	struct offcpu_wait_key key;
	__u64 start_ns, duration_ns;
	__u8 trace[16], span[8];	/* as W3C writes them */
};

#endif
