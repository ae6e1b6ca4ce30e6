/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_TRACES_ABI_H
#define FEATURES_TRACES_ABI_H

#include "abi/offcpu_abi.h"

/*
 * The trace context of a thread (OTEP 4947): a variable in its thread-local storage points to a record with its
 * current trace and span, and attributes. User space finds the variable; the kernel programs read the record of a
 * thread that is off CPU, and sum its waits by the wanted attributes.
 */

#define OFFCPU_REC_CONTEXT 18	/* continues enum offcpu_rec_type */
#define OFFCPU_REC_TRACE 19
#define OFFCPU_REC_REQUEST_ROUTE 23	/* struct offcpu_rec_context without a stack: asks for such requests' name */
#define OFFCPU_CONTEXTS_MAX 4096	/* number of programs */

/* Where that variable is in a program's threads. */
struct offcpu_context_place {
	/* 0: at `at` from the thread pointer; else in the block of this module, by the dynamic linker's number */
	__u64 module;
	__s64 at;		/* offset from either */
	__s32 dtv_at;		/* from the thread pointer: the vector of blocks */
	__u32 dtv_bytes;	/* size of its entries */
	__u64 keys[4];		/* bit mask of wanted attributes */
	/*
	 * Go: the variable is the goroutine, not a record; offset of its labels, and in the thread's own structure
	 * (OFFCPU_GO_THREAD_AT of a goroutine) that of the goroutine it runs for. 0: not Go, or not known
	 */
	__u16 labels_at, runs_at;
	__u32 has_list;		/* labels are a list (Go 1.24); else a map */
};

/*
 * Labels of Go's runtime/pprof become a record, too: a key is a wanted name's number. Names of equal length are
 * adjacent.
 */
#define OFFCPU_GO_THREAD_AT 48		/* m in the runtime's struct g, in all known versions */
#define OFFCPU_GO_LABELS_BEHIND 48	/* address of the goroutine's first function */
#define OFFCPU_GO_LABELS_MAX 64		/* limit of a goroutine */
#define OFFCPU_LABEL_NAMES 32		/* numbers are 1 to one less */
#define OFFCPU_LABEL_NAME_BYTES 64	/* of a name, with its end */
#define OFFCPU_LABEL_VALUE_BYTES 200	/* longer values are truncated */
#define OFFCPU_LABEL_TRACE_DIGITS 32	/* of the trace's label; the span has half as many */

/* The record, in its writers' layout: 28 bytes, then attributes of a key, a length and a value. */
#define OFFCPU_CONTEXT_VALID_AT 24
#define OFFCPU_CONTEXT_SIZE_AT 26
#define OFFCPU_CONTEXT_HEAD_BYTES 28
#define OFFCPU_CONTEXT_BYTES 256	/* of attributes; the rest is ignored */
#define OFFCPU_CONTEXT_WORDS ((7 + OFFCPU_CONTEXT_HEAD_BYTES + OFFCPU_CONTEXT_BYTES + 7) / 8)

/*
 * A user stack of a thread with such attributes: waits are summed under `id` as under any user stack. Crosses once,
 * after the plain user stack.
 */
struct offcpu_rec_context {
	__u32 type;
	__u16 shift;		/* of the record's first byte in `word` */
	__u16 is_labels;	/* keys are numbers of label_name, not the program's */
	__u64 id;
	__u64 ustack;		/* the plain stack, without them */
	__u64 ts_ns;
	__u64 proc_start_ns;	/* with exec_no and pid it identifies the address space */
	__u32 pid;
	__u32 exec_no;
	__u64 word[OFFCPU_CONTEXT_WORDS];
};

/* The trace of a wait: sent for the longest one so far of each row. */
struct offcpu_rec_trace {
	__u32 type;
	__u32 pad;
	struct offcpu_wait_key key;
	__u64 start_ns, duration_ns;
	__u8 trace[16], span[8];	/* in W3C's format */
};

#endif
