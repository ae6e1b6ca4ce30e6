/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef LANGUAGE_ABI_H
#define LANGUAGE_ABI_H

#ifndef __bpf__	/* there, ktypes.h has them */
#include <linux/types.h>
#endif

/*
 * The frames of an interpreter: where a program keeps them, which user space finds out once a program and the kernel
 * programs go by; and what these send of a stack of them.
 */

#define OFFCPU_REC_LANGUAGE 15	/* beside enum offcpu_rec_type */
#define OFFCPU_REC_GIL 16
#define OFFCPU_LANGUAGE_DEPTH 127
#define OFFCPU_LANGUAGES_MAX 4096	/* programs */

/* What tells that a frame is the first of its own call of the interpreter, so that C called it. */
enum offcpu_language_entry {
	OFFCPU_ENTRY_EACH = 0,	/* each is */
	OFFCPU_ENTRY_FLAG,	/* the byte at entry_at is not 0 */
	/* the frame after it, whose byte at entry_at is entry_value, and which is none itself */
	OFFCPU_ENTRY_OWNER,
	/* the byte at entry_at has entry_value's bit, and the function is the language's own: PHP */
	OFFCPU_ENTRY_BIT,
	OFFCPU_ENTRY_BEHIND,	/* the byte that the pointer at entry_at leads to has that bit: Ruby */
	OFFCPU_ENTRY_CONTEXT,	/* the word at entry_at is 0: Perl, whose frames are walked otherwise, see below */
};

enum offcpu_language_kind {
	OFFCPU_LANGUAGE_PYTHON,
	OFFCPU_LANGUAGE_RUBY,
	OFFCPU_LANGUAGE_PHP,
	OFFCPU_LANGUAGE_PERL,
};

#define OFFCPU_KEY_NONE 0xffffffffU

#define OFFCPU_LANGUAGE_VERSION(kind, major, minor) ((__u32)(kind) << 16 | (major) << 8 | (minor))
#define OFFCPU_LANGUAGE_KIND(version) ((version) >> 16)

/*
 * One program that runs an interpreter.  Offsets are from what is named; all words are aligned.  Names are CPython's;
 * of Ruby the thread's keys are its vector of thread-local storage, and its state is a block of that.
 */
struct offcpu_language {
	__u32 version;		/* OFFCPU_LANGUAGE_VERSION(); never 0 */
	__s32 keys_at;		/* thread pointer: where the C library keeps the pointer to thread-specific data */
	__u32 key_at;		/* that: the thread's PyThreadState; OFFCPU_KEY_NONE: keys_at leads to it (3.15) */
	/* PyThreadState: _PyCFrame, if has_cframe; else the frame is in the PyThreadState itself */
	__u32 cframe_at;
	__u32 frame_at;		/* _PyCFrame or PyThreadState: the innermost frame */
	__u32 code_at, previous_at;	/* frame: code object; caller */
	__u32 instr_at;		/* frame: where it stands in the code */
	__u32 entry_at;
	__u8 instr_bytes;	/* 8: an address; 4: an index */
	__u8 entry;		/* enum offcpu_language_entry */
	__u8 entry_value;
	__u8 has_cframe;
	__u64 code_type;	/* address of PyCode_Type */
	/* PHP: the address of the state, which only a program's first thread uses; 0: each thread has one */
	__u64 state;
	/* Ruby: frames lie one behind the other, up to the end of the stack that the state begins with; 0: no */
	__u32 frame_bytes;
	__u16 name_at, file_at;	/* PHP: code: two texts, whose hashes tell it from another one in that place */
	/* the lock that all threads of an interpreter share; tid_at 0: who holds it cannot be told */
	__u64 gil;		/* its address; 0: each interpreter has one */
	__u32 interp_at, gil_at;	/* PyThreadState: the interpreter; that: the address of its lock */
	__u32 thread_at;	/* PyThreadState: address of the C library's struct pthread */
	__u32 tid_at;		/* that: the thread's id */
	/*
	 * Ruby: the lock is its ractor's, at gil_at of that; interp_at is of the context and leads to the thread, which
	 * has its ractor, its context, and its place in the queue for the lock, behind which is what it sleeps on; 0: not
	 * known
	 */
	__u16 ractor_at, context_at, queue_at;
	__u8 sleeps_in_queue, pad;	/* musl: who waits for a condition sleeps on a place on its own stack */
};

/* The lock itself, in all versions: struct _gil_runtime_state. */
#define OFFCPU_GIL_HOLDER_AT 8	/* PyThreadState of who holds it, or did so last */
#define OFFCPU_GIL_LOCKED_AT 16
#define OFFCPU_GIL_SWITCHES_AT                                                                                         \
	24 /* how often it went to another thread; at 0 after how many us its holder is asked to let go */
#define OFFCPU_GIL_COND_AT 32	/* from here on its conditions and mutexes */
#define OFFCPU_GIL_BYTES 208
#define OFFCPU_GIL_QUEUE_AT 40	/* musl: the first of those who wait for its condition */
#define OFFCPU_GIL_DEPTH 8	/* frames of its holder */

#define OFFCPU_LANGUAGE_ENTRY 1	/* in `code` */

/* Ruby and PHP, in all versions known of. */
#define OFFCPU_RUBY_IS_C 0x80	/* in the same word as "entry": a frame of a function in C */
#define OFFCPU_RUBY_KIND 0x7fff0001
#define OFFCPU_RUBY_IS_DUMMY 0x79990001	/* what a thread's stack begins with */
#define OFFCPU_PHP_INTERNAL 1	/* the byte that code begins with: a function in C */
#define OFFCPU_PHP_HASH_AT 8	/* zend_string: the hash of its text */

/*
 * Perl, in all versions known of.  The thread's state is its PerlInterpreter, which has the innermost PERL_SI at
 * frame_at and the statement that runs at instr_at.  A PERL_SI has an array of contexts of frame_bytes, of which some
 * are calls: with the statement that called, where to go on (entry_at; 0: back to C), and the function (code_at).
 */
#define OFFCPU_PERL_CONTEXTS_AT 8	/* PERL_SI: its contexts, the one further out, the number of the last one */
#define OFFCPU_PERL_OUTER_AT 16
#define OFFCPU_PERL_LAST_AT 32
#define OFFCPU_PERL_CALLER_AT 16	/* context, whose first byte is its kind: the COP that called */
#define OFFCPU_PERL_KIND 0xf
#define OFFCPU_PERL_IS_SORT 0	/* by a block, which C calls and which is no function */
#define OFFCPU_PERL_IS_SUB 9
#define OFFCPU_PERL_IS_FORMAT 10
#define OFFCPU_PERL_IS_EVAL 11		/* of a text or, without the first bit, of a file, but for a block */
#define OFFCPU_PERL_EVALS_TEXT 0x20
#define OFFCPU_PERL_EVALS_BLOCK 0xc0
#define OFFCPU_PERL_NAME_AT 56	/* what an SV begins with the address of, of a CV: its GV, unless it has a name itself */
#define OFFCPU_PERL_FLAGS_AT 92
#define OFFCPU_PERL_HAS_NAME 0x8000
#define OFFCPU_PERL_LINE_AT 36	/* COP */
#define OFFCPU_PERL_BYTES 8192	/* no PerlInterpreter is longer; what is compiled stands at a COP within */

/* `code` where it is no function's address. */
#define OFFCPU_PERL_MAIN 8
#define OFFCPU_PERL_EVAL 16
#define OFFCPU_PERL_REQUIRE 24
#define OFFCPU_PERL_SORT 32

struct offcpu_language_frame {
	__u64 code;		/* address of the code object, and OFFCPU_LANGUAGE_ENTRY; Perl: of a GV, or a CV with a name */
	__u64 instr;
	/*
	 * of an entry: where its frame after it lies on the C stack, above the stack pointer; 0: not there; PHP:
	 * hashes; Perl: the line
	 */
	__u32 entry_at;
	__u32 pad;
};

/*
 * A user stack with the interpreter's frames in it: waits are summed under `id` as under that of any user stack.
 * Crosses once, after the user stack.
 */
struct offcpu_rec_language {
	__u32 type;
	__u32 depth;
	__u64 id;
	__u64 ustack;		/* without them */
	__u64 ts_ns;
	__u64 proc_start_ns;	/* with exec_no and pid: the address space */
	__u64 code_type;
	__u32 pid;
	__u32 exec_no;
	__u32 version;
	__u32 is_cut;		/* there are more frames */
	__u32 holder;		/* of OFFCPU_REC_GIL */
	__u32 pad;
	struct offcpu_language_frame frame[OFFCPU_LANGUAGE_DEPTH];	/* innermost first */
};

/*
 * The same struct as OFFCPU_REC_GIL is what a wait for the GIL is for, in place of a struct offcpu_rec_object: who
 * held it as the wait began (`holder`, as its own pid namespace numbers it; 0: nobody), and that thread's frames,
 * OFFCPU_GIL_DEPTH at most.  It may be running, so they are what was met.  ustack is the lock's address.
 */

#endif
