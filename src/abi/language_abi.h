/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef LANGUAGE_ABI_H
#define LANGUAGE_ABI_H

#ifndef __bpf__	/* BPF programs have them from ktypes.h */
#include <linux/types.h>
#endif

/*
 * Frames of an interpreted language: where an interpreter keeps them (user space finds this out for each program, for
 * the BPF programs to follow), and the record in which BPF sends the frames of one stack.
 */

#define OFFCPU_REC_LANGUAGE 15	/* continues enum offcpu_rec_type */
#define OFFCPU_REC_GIL 16
#define OFFCPU_LANGUAGE_DEPTH 127
#define OFFCPU_LANGUAGES_MAX 4096	/* programs */

/* How to tell that a frame is the first of its own call of the interpreter, that is, was called by C. */
enum offcpu_language_entry {
	OFFCPU_ENTRY_EACH = 0,	/* each frame is */
	OFFCPU_ENTRY_FLAG,	/* the byte at entry_at is not 0 */
	/* the frame after it is: the one whose byte at entry_at is entry_value, and which is not counted itself */
	OFFCPU_ENTRY_OWNER,
	/* PHP: the byte at entry_at has entry_value's bit, and the function is written in PHP */
	OFFCPU_ENTRY_BIT,
	OFFCPU_ENTRY_BEHIND,	/* Ruby: the byte that the pointer at entry_at leads to has that bit */
	OFFCPU_ENTRY_CONTEXT,	/* Perl: the word at entry_at is 0; Perl's frames are walked differently, see below */
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
 * One program that runs an interpreter. Each comment names the structure that the offset is into; all words are
 * aligned. Names are CPython's. In Ruby, keys are the vector of thread-local storage, and the state is a block of
 * that.
 */
struct offcpu_language {
	__u32 version;		/* OFFCPU_LANGUAGE_VERSION(); never 0 */
	__s32 keys_at;		/* from the thread pointer: where libc keeps the pointer to thread-specific data */
	__u32 key_at;		/* thread-specific data: its PyThreadState; OFFCPU_KEY_NONE: keys_at leads to it
				 * (3.15) */
	/* PyThreadState: _PyCFrame, if has_cframe; else the frame is in the PyThreadState itself */
	__u32 cframe_at;
	__u32 frame_at;		/* _PyCFrame or PyThreadState: pointer to the innermost frame */
	__u32 code_at, previous_at;	/* frame: its code object; its caller */
	__u32 instr_at;		/* frame: the current instruction */
	__u32 entry_at;
	__u8 instr_bytes;	/* 8: an address; 4: an index */
	__u8 entry;		/* enum offcpu_language_entry */
	__u8 entry_value;
	__u8 has_cframe;
	__u64 code_type;	/* address of PyCode_Type */
	/* PHP: the address of the state, which only the program's first thread uses; 0: each thread has its own */
	__u64 state;
	/* Ruby: frames are adjacent, up to the end of the stack, which the state begins with; 0: they are not */
	__u32 frame_bytes;
	__u16 name_at, file_at;	/* PHP: code: two strings whose hashes detect that other code has taken its place */
	/* the lock that all threads of an interpreter share; tid_at 0: its holder cannot be found */
	__u64 gil;		/* its address; 0: each interpreter has one */
	__u32 interp_at, gil_at;	/* PyThreadState: the interpreter; interpreter: the address of its lock */
	__u32 thread_at;	/* PyThreadState: the C library's struct pthread */
	__u32 tid_at;		/* struct pthread: the thread's id */
	/*
	 * Ruby: the lock is its ractor's, at gil_at there; interp_at is in the context and leads to the thread. The
	 * thread has its ractor, its context, and its entry in the queue for the lock, followed by what it sleeps on;
	 * 0: not known
	 */
	__u16 ractor_at, context_at, queue_at;
	__u8 sleeps_in_queue, pad;	/* musl: a thread that waits for a condition sleeps on a word on its stack */
};

/* The lock itself is the same in all versions: struct _gil_runtime_state. */
#define OFFCPU_GIL_HOLDER_AT 8	/* PyThreadState of the current or last holder */
#define OFFCPU_GIL_LOCKED_AT 16
#define OFFCPU_GIL_SWITCHES_AT                                                                                         \
	24 /* how often the holder changed; at 0: after how many us the holder is asked to release it */
#define OFFCPU_GIL_COND_AT 32	/* its conditions and mutexes begin here */
#define OFFCPU_GIL_BYTES 208
#define OFFCPU_GIL_QUEUE_AT 40	/* musl: the first waiter of the condition */
#define OFFCPU_GIL_DEPTH 8	/* frames kept of its holder */

#define OFFCPU_LANGUAGE_ENTRY 1	/* a bit of `code` */

/* The same in all known versions of Ruby and PHP. */
#define OFFCPU_RUBY_IS_C 0x80	/* in the word of "entry": a frame of a C function */
#define OFFCPU_RUBY_KIND 0x7fff0001
#define OFFCPU_RUBY_IS_DUMMY 0x79990001	/* the first frame of a thread's stack */
#define OFFCPU_PHP_INTERNAL 1	/* the byte that code begins with: a C function */
#define OFFCPU_PHP_HASH_AT 8	/* zend_string: the hash of the string */

/*
 * The same in all known versions of Perl. The thread's state is its PerlInterpreter. This has the innermost PERL_SI at
 * frame_at and the current statement at instr_at. A PERL_SI has an array of contexts of frame_bytes each, some of
 * which are calls: with the calling statement, where to return to (entry_at; 0: to C), and the function (code_at).
 */
#define OFFCPU_PERL_CONTEXTS_AT 8	/* PERL_SI: its contexts, the next outer PERL_SI, index of the last context */
#define OFFCPU_PERL_OUTER_AT 16
#define OFFCPU_PERL_LAST_AT 32
#define OFFCPU_PERL_CALLER_AT 16	/* context, whose first byte is its kind: the calling COP */
#define OFFCPU_PERL_KIND 0xf
#define OFFCPU_PERL_IS_SORT 0	/* sort with a block: called from C, and no function */
#define OFFCPU_PERL_IS_SUB 9
#define OFFCPU_PERL_IS_FORMAT 10
#define OFFCPU_PERL_IS_EVAL 11		/* eval of a string or, without the first bit, of a file; not of a block */
#define OFFCPU_PERL_EVALS_TEXT 0x20
#define OFFCPU_PERL_EVALS_BLOCK 0xc0
#define OFFCPU_PERL_NAME_AT 56	/* CV: what its SV begins with the address of: its GV, unless it has a name itself */
#define OFFCPU_PERL_FLAGS_AT 92
#define OFFCPU_PERL_HAS_NAME 0x8000
#define OFFCPU_PERL_LINE_AT 36	/* in the COP */
#define OFFCPU_PERL_BYTES 8192	/* upper bound of a PerlInterpreter's size; compiled code stands at a COP inside it */

/* Value of `code` that is no function's address: the main program. */
#define OFFCPU_PERL_MAIN 8
#define OFFCPU_PERL_EVAL 16
#define OFFCPU_PERL_REQUIRE 24
#define OFFCPU_PERL_SORT 32

struct offcpu_language_frame {
	__u64 code;		/* address of the code object, and OFFCPU_LANGUAGE_ENTRY; Perl: of a GV or a named
				 * CV */
	__u64 instr;
	/*
	 * of an entry: where its next frame lies on the C stack, above the stack pointer; 0: not there; PHP: hashes;
	 * Perl: the line
	 */
	__u32 entry_at;
	__u32 pad;
};

/*
 * A user stack with the interpreter's frames in it: waits are summed under `id` as under any user stack. Crosses once,
 * after the plain user stack.
 */
struct offcpu_rec_language {
	__u32 type;
	__u32 depth;
	__u64 id;
	__u64 ustack;		/* the plain stack, without them */
	__u64 ts_ns;
	__u64 proc_start_ns;	/* with exec_no and pid it identifies the address space */
	__u64 code_type;
	__u32 pid;
	__u32 exec_no;
	__u32 version;
	__u32 is_cut;		/* frames were left out */
	__u32 holder;		/* only in OFFCPU_REC_GIL */
	__u32 pad;
	struct offcpu_language_frame frame[OFFCPU_LANGUAGE_DEPTH];	/* innermost first */
};

/*
 * The same struct as OFFCPU_REC_GIL tells of a wait for the GIL, in place of a struct offcpu_rec_object: `holder` is
 * the thread that held it as the wait began, as its own pid namespace numbers it (0: nobody). The frames are that
 * thread's, OFFCPU_GIL_DEPTH at most. It may be running, so they are a snapshot. ustack is the lock's address.
 */

#endif
