/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_PARTS_H
#define FOLD_PARTS_H

#include <string.h>

#include "abi/offcpu_abi.h"
#include "profile/profile.h"

/*
 * What the parts of a fold share: fold.c is threads and their waits, fold_stacks.c stacks, fold_wakers.c who
 * ended the waits, fold_objects.c what they were for.
 */

static inline void fold_drop_record(struct profile *p)
{
	profile_add_loss(p, "bad_record", "a record of impossible size was dropped", 1, 0);
}

/* One number for a program: what one process ran from one exec to the next. */
static inline uint64_t fold_space(uint64_t proc_start_ns, uint32_t pid, uint32_t exec_no)
{
	return proc_start_ns ^ (uint64_t)pid << 32 ^ exec_no;
}

/* A name as the kernel has it, of OFFCPU_COMM_LEN bytes, as a string of the profile. */
static inline const char *fold_comm(struct profile *p, const char *comm)
{
	char text[OFFCPU_COMM_LEN + 1] = { 0 };

	memcpy(text, comm, OFFCPU_COMM_LEN);
	return profile_string(p, text);
}

#endif
