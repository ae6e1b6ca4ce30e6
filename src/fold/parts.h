/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_PARTS_H
#define FOLD_PARTS_H

#include <string.h>

#include "abi/offcpu_abi.h"
#include "features/oncpu/abi.h"
#include "fold/fold.h"
#include "fold/stacks.h"
#include "profile/profile.h"

/*
 * Shared by the parts of a fold: fold.c has threads and their waits, fold_stacks.c stacks, fold_wakers.c wakers,
 * fold_objects.c the objects of waits.
 */

static inline void fold_drop_record(struct profile *p)
{
	profile_add_loss(p, "bad_record", "a record of impossible size was dropped", 1, 0);
}

/* Identifies a program: what a process ran from one exec to the next. */
static inline uint64_t fold_space(uint64_t proc_start_ns, uint32_t pid, uint32_t exec_no)
{
	return proc_start_ns ^ (uint64_t)pid << 32 ^ exec_no;
}

/* A comm of OFFCPU_COMM_LEN bytes as a string of the profile. */
static inline const char *fold_comm(struct profile *p, const char *comm)
{
	char text[OFFCPU_COMM_LEN + 1] = { 0 };

	memcpy(text, comm, OFFCPU_COMM_LEN);
	return profile_string(p, text);
}

/* The state shared by fold.c, which takes records, and finish.c, which turns them into rows. */

struct fold {
	struct profile *profile;
	struct fold_stacks *stacks;
	struct fold_wakers *wakers;
	struct fold_objects *objects;
	struct fold_targets *targets;
	struct fold_kernel_locks *kernel_locks;
	struct fold_on_cpu *on_cpu;
	GHashTable *threads;	/* tno -> index + 1 */
	struct sums *sums;
	struct fold_traces *traces;
	struct fold_slices *slices;	/* NULL: the window has no slices */
	struct open_requests *requests;	/* NULL: not recorded; borrowed */
	struct fold_services *services;	/* NULL: not recorded */
	GArray *open;		/* struct open_wait */
	GArray *throttled;	/* struct blame */
	GArray *owners;		/* uint32_t: the thread's index for each of the first sums */
	const char *const *park_names;	/* NULL: unknown */
	unsigned park_names_cnt;
	bool is_later_window;	/* not the first window */
	uint32_t lost_thread;	/* index + 1 of the row for threads whose account was lost */
};

/* A wait that was open at the end of the window. */
struct open_wait {
	uint64_t ustack, kstack, waker, object;
	uint64_t blocked_ns, runnable_ns, preempted_ns;
	uint32_t thread;
	uint8_t state, flags;
};

/* On-CPU samples, until their threads and the length of the window's slices are known. */
struct fold_on_cpu;

struct fold_on_cpu *fold_on_cpu_new(void);
void fold_on_cpu_free(struct fold_on_cpu *o);
/* Samples in slices of slice_ns. length_ns: the recording's current slice length; 0: no slices. */
void fold_on_cpu_add(struct fold_on_cpu *o, const struct oncpu_key *key, const struct oncpu_sum *sum, uint64_t slice_ns,
		     uint64_t length_ns);
size_t fold_on_cpu_cnt(const struct fold_on_cpu *o);
/* threads: thread number -> index + 1. length_ns, slice_cnt: the recording's slices; 0: none. */
void fold_on_cpu_finish(struct fold_on_cpu *o, struct fold_stacks *stacks, GHashTable *threads, struct profile *p,
			uint64_t length_ns, uint32_t slice_cnt);

/*
 * Distributes the kernel's sums of waits over the window's slices. Waits that cross a slice's edge come individually.
 * Rows are the entries of `struct sums`, then the waits open at the end of the window.
 */
struct fold_slices;

/* slice_ns: as the kernel programs have it; start_ns: of the window. */
struct fold_slices *fold_slices_new(uint64_t slice_ns, uint64_t start_ns);
void fold_slices_free(struct fold_slices *f);	/* NULL is fine */

/*
 * What is added from now on ended shortly before now_ns, because the kernel's slice numbers wrap. Lengthens slices if
 * there are too many, or too many cells for row_cnt rows.
 */
void fold_slices_now(struct fold_slices *f, uint64_t now_ns, size_t row_cnt);
/* How many kernel slices make one slice now, as a power of two. */
unsigned fold_slices_shift(const struct fold_slices *f);
/* The current length of a slice. */
uint64_t fold_slices_length_ns(const struct fold_slices *f);

/* The latest begin of the sum's waits, to within a slice. */
uint64_t fold_slices_when(const struct fold_slices *f, const struct offcpu_wait_slot *slot);
void fold_slices_add(struct fold_slices *f, size_t row, const struct offcpu_wait_slot *slot);
/* A single wait until end_ns. */
struct fold_open_wait {
	uint64_t end_ns, blocked_ns, runnable_ns, preempted_ns;
};

/* The profile's row of each sum, in order; wake: index + 1, 0: none. */
void fold_slices_tell(struct fold_slices *f, uint32_t wait, uint32_t wake);
/* After the sums: an open wait, and a row of waits whose position in the thread's life is unknown. */
void fold_slices_add_open(struct fold_slices *f, const struct fold_open_wait *open, uint32_t wait, uint32_t wake);
void fold_slices_add_even(struct fold_slices *f, uint32_t wait);
/* Adds the slices to the profile once its waits and window are final. */
void fold_slices_finish(struct fold_slices *f, struct profile *p);

#endif
