/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_PARKED_BPF_H
#define BPF_PARKED_BPF_H

#include "bpf/maps.bpf.h"
#include "bpf/threads.bpf.h"

/*
 * Accounts of ended threads for which the ring had no room: thousands of threads may end between two reads of it, and
 * more if the reader itself waits for a CPU. Such an account is deferred: it takes a free slot of the threads' tables,
 * in a list (last in, first out). User space asks for the list once it has made room.
 */
#define NEXT_UNKNOWN (~0U)
#define PARKED_A_RUN 32

struct parked_account {
	__u32 next;	/* number of a slot; 0: none */
	__u32 pad;
	struct offcpu_rec_thread rec;
};

_Static_assert(sizeof(struct parked_account) <= sizeof(struct thread_state), "it lies in a thread's slot");

/* The slot deferred last, and the next one to be sent of those that user space asked for; encoded as `next`. */
__u32 parked = 0, parked_asked = 0;

/* Defers scratch->thread. False: there is no free slot. */
__noinline int park_account(const struct scratch *scratch)
{
	struct parked_account *p;
	__u32 slot;

	if (!scratch)
		return false;
	slot = take_slot();
	p = (void *)thread_in(slot);
	if (!p)
		return false;
	p->next = NEXT_UNKNOWN;
	bpf_probe_read_kernel(&p->rec, sizeof(p->rec), &scratch->thread);
	p->next = __sync_lock_test_and_set(&parked, slot);
	return true;
}

/* Sends scratch->thread, the account of an ended thread: now, or once user space has made room. */
static __always_inline void send_account(const struct scratch *scratch)
{
	const struct offcpu_rec_thread *rec = &scratch->thread;

	if (ring_send(rec, sizeof(*rec)) && !park_account(scratch))
		count_loss(OFFCPU_LOSS_RING_THREAD, rec->to_ns - rec->from_ns);
}

/* Sends the next account that was asked for. False: there is none, or no room, or another CPU is just deferring it. */
__noinline int send_one_parked(void)
{
	struct parked_account *p;
	__u32 slot, next;

	if (!parked_asked)
		parked_asked = __sync_lock_test_and_set(&parked, 0);
	slot = parked_asked;
	p = (void *)thread_in(slot);
	if (!p)
		return false;
	next = *(volatile __u32 *)&p->next;
	if (next == NEXT_UNKNOWN || ring_send(&p->rec, sizeof(p->rec)))
		return false;
	parked_asked = next;
	give_slot(slot);
	return true;
}

/* Run by user space, the only one to take from the list. */
SEC("raw_tp")
int send_parked(void *ctx)
{
	for (int i = 0; i < PARKED_A_RUN; i++)
		if (!send_one_parked())
			break;
	return 0;
}

#endif
