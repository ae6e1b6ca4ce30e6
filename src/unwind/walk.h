/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef UNWIND_WALK_H
#define UNWIND_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/offcpu_abi.h"
#include "unwind/arch.h"
#include "unwind/table.h"

/* Walks a user stack in user space, by the BPF unwinder's tables: for samples without BPF, and to test the tables. */

/* An executable mapping: ELF virtual address = address - bias. */
struct unwind_mapping {
	const struct unwind_table *table;	/* NULL: none, walk by frame pointer */
	uint64_t bias;
};

/* The mapping of an address; false: in no executable mapping. */
typedef bool (*unwind_find_fn)(void *ctx, uint64_t addr, struct unwind_mapping *ret);

enum unwind_end {
	UNWIND_COMPLETE,	/* reached the outermost frame */
	UNWIND_TRUNCATED,	/* there are more than max_depth frames */
	UNWIND_BROKEN,	/* the last frame's caller was not found; see `why` */
};

enum unwind_why {
	UNWIND_WHY_NONE,
	UNWIND_WHY_NOT_MAPPED,	/* an address in no executable mapping: the first, or a return address */
	UNWIND_WHY_NO_INFO,	/* no call frame information, and no usable frame pointer */
	UNWIND_WHY_COMPLEX,	/* the rule does not fit a row */
	UNWIND_WHY_UNKNOWN_REG,	/* the rule needs a register that is unknown in this frame */
	UNWIND_WHY_MEMORY,	/* the stack is unreadable */
	UNWIND_WHY_BACKWARDS,	/* the caller's frame would not be above this one */
};

/* How a frame was reached from its callee. */
enum unwind_via {
	UNWIND_VIA_REGS,	/* it is the innermost */
	UNWIND_VIA_TABLE,
	UNWIND_VIA_FP,
	UNWIND_VIA_SIGNAL,	/* a signal interrupted it: like the innermost it has no return address */
};

struct unwind_stack {
	uint64_t ip[OFFCPU_MAX_DEPTH];	/* innermost first */
	uint8_t via[OFFCPU_MAX_DEPTH];	/* enum unwind_via */
	uint32_t depth;	/* 0 if not even the first ip is mapped */
	uint8_t end;	/* enum unwind_end */
	uint8_t why;	/* enum unwind_why */
	uint64_t end_ip;	/* broken: the frame without a caller, or the unmapped address */
	uint32_t guess_cnt;	/* frames reached by frame pointer where a table has a gap */
};

/* A walk's callbacks. */
struct unwind_source {
	const struct unwind_arch *arch;
	unwind_find_fn find;
	unwind_read_fn read;
	void *ctx;	/* for both */
	uint32_t max_depth;	/* at most OFFCPU_MAX_DEPTH */
	/* if the frame pointer is needed and unknown, the frame is searched on the stack: see walk.c */
	bool finds_frames;
};

/* Only sp and ip are known: /proc/PID/task/TID/syscall has no other registers. */
void unwind_regs_set_sp(const struct unwind_arch *arch, uint64_t ip, uint64_t sp, struct unwind_regs *ret);
/* Only these three are known; others may be added to ret->reg and ret->known. */
void unwind_regs_set(const struct unwind_arch *arch, uint64_t ip, uint64_t sp, uint64_t bp, struct unwind_regs *ret);

/* Always fills *ret. */
void unwind_walk(const struct unwind_source *s, const struct unwind_regs *regs, struct unwind_stack *ret);

#endif
