/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SAMPLE_SPACE_H
#define SAMPLE_SPACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/offcpu_abi.h"

/*
 * User stacks of sleeping threads, walked in user space: by the unwind tables of the files that their process maps, in
 * memory read by process_vm_readv(). Tables are built once for each file and shared by all processes.
 */
struct spaces_read;

struct spaces_read *spaces_read_new(void);
void spaces_read_free(struct spaces_read *s);	/* NULL is fine */

/* The known registers, and the stack above sp if it was read already. */
struct space_regs {
	uint64_t ip, sp, bp, link;	/* link 0: not known, or not used on this machine */
	bool has_bp;
	const void *stack;	/* bytes at sp; NULL: none */
	uint32_t stack_bytes;
};

/*
 * Fills ret's depth, end and ips: at least the innermost. space: distinguishes programs in one process; a new one
 * drops the cached mappings. False: the memory was unreadable, with errno; one frame is still filled in.
 */
bool spaces_read_walk(struct spaces_read *s, pid_t pid, uint64_t space, const struct space_regs *regs,
		      struct offcpu_rec_stack *ret);
/* The process has ended. */
void spaces_read_forget(struct spaces_read *s, pid_t pid);

#endif
