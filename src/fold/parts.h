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

/* What fold.c, which takes records in, and finish.c, which makes the profile's rows of them, have in common. */

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
	struct fold_slices *slices;	/* NULL: the window has none */
	struct open_requests *requests;	/* NULL: they are not asked for; borrowed */
	struct fold_services *services;	/* NULL: they are not asked for */
	GArray *open;		/* struct open_wait */
	GArray *throttled;	/* struct blame */
	GArray *owners;		/* uint32_t; of each sum, the first ones first: index of its thread */
	const char *const *park_names;	/* NULL: not known */
	unsigned park_names_cnt;
	bool is_later_window;	/* another one was before */
	uint32_t lost_thread;	/* index + 1 of the row for threads whose account was lost */
};

/* What a thread was waiting in as the window ended. */
struct open_wait {
	uint64_t ustack, kstack, waker, object;
	uint64_t blocked_ns, runnable_ns, preempted_ns;
	uint32_t thread;
	uint8_t state, flags;
};

/* Samples of threads on CPU, until it is known who these were and how long the window's slices are. */
struct fold_on_cpu;

struct fold_on_cpu *fold_on_cpu_new(void);
void fold_on_cpu_free(struct fold_on_cpu *o);
/* Samples of slices of slice_ns each; those of the recording are of length_ns by now, 0: it has none. */
void fold_on_cpu_add(struct fold_on_cpu *o, const struct oncpu_key *key, const struct oncpu_sum *sum, uint64_t slice_ns,
		     uint64_t length_ns);
size_t fold_on_cpu_cnt(const struct fold_on_cpu *o);
/* threads: by thread number, index + 1.  length_ns, slice_cnt: the recording's slices; 0: it has none. */
void fold_on_cpu_finish(struct fold_on_cpu *o, struct fold_stacks *stacks, GHashTable *threads, struct profile *p,
			uint64_t length_ns, uint32_t slice_cnt);

/*
 * When the kernel's sums of waits were spent: they come apart by slices of the window, waits that cross a slice's edge
 * each for itself.  Rows are the entries of `struct sums`, and then the waits that were open as the window ended.
 */
struct fold_slices;

/* slice_ns: as the programs were told; start_ns: of the window. */
struct fold_slices *fold_slices_new(uint64_t slice_ns, uint64_t start_ns);
void fold_slices_free(struct fold_slices *f);	/* NULL is fine */

/*
 * What is added from here on ended before now_ns, and not long before: the kernel's numbers of slices are short.
 * Slices become longer where there would be too many of them, or too much in them for so many rows.
 */
void fold_slices_now(struct fold_slices *f, uint64_t now_ns, size_t row_cnt);
/* How many slices of the kernel's are one by now, as a power of two. */
unsigned fold_slices_shift(const struct fold_slices *f);
/* How long one is by now. */
uint64_t fold_slices_length_ns(const struct fold_slices *f);

/* When its waits began at the latest, but for less than a slice. */
uint64_t fold_slices_when(const struct fold_slices *f, const struct offcpu_wait_slot *slot);
void fold_slices_add(struct fold_slices *f, size_t row, const struct offcpu_wait_slot *slot);
/* One wait up to end_ns. */
struct fold_open_wait {
	uint64_t end_ns, blocked_ns, runnable_ns, preempted_ns;
};

/* Where the sums went in the profile, one after the other; wake: index + 1, 0: none. */
void fold_slices_tell(struct fold_slices *f, uint32_t wait, uint32_t wake);
/*
 * Then what is no sum: an open wait; and a row of waits of which it is not known when in the thread's life they
 * were.
 */
void fold_slices_add_open(struct fold_slices *f, const struct fold_open_wait *open, uint32_t wait, uint32_t wake);
void fold_slices_add_even(struct fold_slices *f, uint32_t wait);
/* Gives the profile its slices, once its waits and window are final. */
void fold_slices_finish(struct fold_slices *f, struct profile *p);

#endif
