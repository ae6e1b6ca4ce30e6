/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_WALK_GIL_BPF_H
#define BPF_WALK_GIL_BPF_H

#include "bpf/account.bpf.h"
#include "bpf/walk/language.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/walk/space.bpf.h"
#include "bpf/sums.bpf.h"

/*
 * The holder of an interpreter's lock (CPython's GIL, Ruby's GVL) as another thread begins to wait for it, and the
 * function it is in. Read at switch-out from the waiting thread's own state, in memory that both share.
 *
 * The holder is likely to be running: its innermost frames may change while they are read. User space checks what is a
 * code object.
 *
 * The waiting thread sleeps up to 5 ms at a time (sys.getswitchinterval()) and then checks again. Each such piece has
 * its holder. Together they are one wait, which counts where it ends, with the duration of all pieces.
 */

#define GIL_RAN_NS 100000	/* a thread that only checked again has not run longer */

static __always_inline bool user_word(__u64 addr, __u64 *ret)
{
	return !(addr & 7) && !bpf_probe_read_user(ret, sizeof(*ret), (const void *)addr);
}

/* The lock of the thread's interpreter; 0: not known. */
static __always_inline __u64 gil_of(struct walk_state *at, const struct offcpu_language *l)
{
	__u64 state, interp, gil;

	if (l->gil)
		return l->gil;
	if (!user_word(at->thread_pointer + l->keys_at, &state) || !state ||
	    (l->key_at != OFFCPU_KEY_NONE && !user_word(state + l->key_at, &state)) || !state ||
	    !user_word(state + l->interp_at, &interp) || !interp || !user_word(interp + l->gil_at, &gil))
		return 0;
	return gil;
}

#define RUBY_QUEUE_BYTES 16	/* entry of a queue; it points to itself while the thread is in none */
#define RUBY_COND_BYTES 48	/* what it sleeps on while it is in the queue, and otherwise */

/* Ruby's lock, if the thread waits in its queue on the futex at addr; else 0. */
static __always_inline __u64 gvl_of(struct walk_state *at, const struct offcpu_language *l, __u64 addr)
{
	__u64 place, word;

	if (!user_word(at->thread_pointer + l->keys_at, &word) || !user_word(word + l->key_at, &word) ||
	    !user_word(word + l->cframe_at, &word) || !word || !user_word(word + l->interp_at, &word) || !word)
		return 0;
	place = word + l->queue_at;
	if (addr < place + RUBY_QUEUE_BYTES || addr >= place + RUBY_QUEUE_BYTES + RUBY_COND_BYTES ||
	    !user_word(word + l->ractor_at, &at->method) || !at->method || !user_word(place, &word) || word == place)
		return 0;
	return at->method + l->gil_at;
}

#define MUSL_WAITER_FUTEX 20	/* in struct waiter (pthread_cond_timedwait.c); the next waiter is at 8 */
#define MUSL_WAITERS_MAX 8	/* a new waiter is the first in the list, so it is near the front as it falls asleep */

/*
 * Is addr the futex of a thread that waits for the GIL's condition? With musl each waiter sleeps on a word on its own
 * stack, which it has added to the condition's list.
 */
static __always_inline bool is_in_gil_queue(__u64 gil, __u64 addr)
{
	__u64 waiter, at = gil + OFFCPU_GIL_QUEUE_AT;

	for (int i = 0; i < MUSL_WAITERS_MAX; i++) {
		if (!user_word(at, &waiter) || !waiter)
			return false;
		if (waiter + MUSL_WAITER_FUTEX == addr)
			return true;
		at = waiter + sizeof(waiter);
	}
	return false;
}

static __always_inline bool is_part_of_gil(const struct offcpu_language *l, __u64 gil, __u64 addr)
{
	return (addr >= gil + OFFCPU_GIL_COND_AT && addr < gil + OFFCPU_GIL_BYTES) ||
	       (l->sleeps_in_queue && is_in_gil_queue(gil, addr));
}

/* The thread that holds the lock; 0: nobody does. */
static __always_inline __u64 holder_of(const struct offcpu_language *l, __u64 gil)
{
	__u64 holder, locked;

	if (!user_word(gil + (l->queue_at ? 0 : OFFCPU_GIL_HOLDER_AT), &holder))
		return 0;
	if (!l->queue_at && (!user_word(gil + OFFCPU_GIL_LOCKED_AT, &locked) || (__u32)locked != 1))
		return 0;
	return holder;
}

/* Fills in the holder and its frames; both stay empty if the lock is free. */
static __always_inline void find_gil_holder(struct scratch *s, const struct offcpu_language *l, __u64 gil)
{
	struct language_walk w = { .l = l, .at = &s->walk, .s = &s->language };
	__u64 holder = holder_of(l, gil), pthread, first;
	__u32 tid;

	if (!holder || !user_word(holder + l->thread_at, &pthread) || !pthread ||
	    bpf_probe_read_user(&tid, sizeof(tid), (const void *)(pthread + l->tid_at)))
		return;
	s->language.rec.holder = tid;
	if (l->queue_at) {
		if (!user_word(holder + l->context_at, &holder) || !holder || !user_word(holder, &first) ||
		    !user_word(holder + sizeof(first), &pthread))
			return;
		s->language.end = first + pthread * sizeof(pthread);
	} else if (l->has_cframe && !user_word(holder + l->cframe_at, &holder)) {
		return;
	}
	if (!user_word(holder + l->frame_at, &first))
		return;
	s->language.frame = first;
	bpf_loop(2 * OFFCPU_GIL_DEPTH, language_step, &w, 0);
}

/*
 * The innermost frame's position is kept at a granularity of 64 bytes: otherwise a loop would count as many holders as
 * it has instructions.
 */
#define GIL_INSTR_MASK (~63ULL)

static __always_inline __u64 gil_hash(const struct offcpu_rec_language *rec, __u64 seed)
{
	__u64 h = mix(mix(seed, rec->ustack), (__u64)rec->holder << 32 | rec->depth);

	for (__u32 i = 0; i < OFFCPU_GIL_DEPTH; i++) {
		if (i >= rec->depth)
			break;
		h = mix(mix(h, rec->frame[i].code), i ? rec->frame[i].instr : rec->frame[i].instr & GIL_INSTR_MASK);
	}
	return h ? h : 1;
}

static __always_inline bool gil_cross(const struct thread_state *st, struct offcpu_rec_language *rec,
				      const struct offcpu_language *l)
{
	__u64 size = offsetof(struct offcpu_rec_language, frame) + (__u64)rec->depth * sizeof(rec->frame[0]),
	      id = rec->id;

	if (has_crossed(id))
		return true;
	rec->type = OFFCPU_REC_GIL;
	rec->ts_ns = 0;
	rec->proc_start_ns = st->proc_start_ns;
	rec->code_type = l->code_type;
	rec->pid = st->pid;
	rec->exec_no = st->exec_no;
	rec->version = l->version;
	barrier_var(size);
	if (size > sizeof(*rec))
		return false;
	return send_crossing(rec, size, id, OFFCPU_LOSS_OBJECT);
}

/*
 * Does the thread continue the wait from which it has just checked again? It stands in the same place. Had it got the
 * lock in between, the lock would have changed hands at least twice: to it, and to the current holder. If it did
 * change twice, the timer shows that the thread only checked.
 */
static __always_inline void join_gil(struct thread_state *st, __u64 gil)
{
	__u64 switches = 0, interval_us = 0, before = st->futex.gil_switches;

	user_word(gil + OFFCPU_GIL_SWITCHES_AT, &switches);
	user_word(gil, &interval_us);
	if (st->futex.gil_before != st->futex.sp || st->since_ns - st->on_ns > GIL_RAN_NS ||
	    (switches - before > 1 && st->futex.gil_piece_ns < interval_us * 1000))
		st->futex.gil_ns = 0;
	st->futex.gil_switches = switches;
}

/*
 * A thread goes to sleep on the futex at addr: is that a part of the GIL? Returns the id of what it waits for, or 0. A
 * global function: the verifier checks it once.
 */
__noinline __u64 gil_of_futex(struct thread_state *st, struct scratch *scratch, __u64 key, __u64 addr)
{
	struct offcpu_rec_language *rec;
	const struct offcpu_language *l;
	__u64 gil, id;

	if (!st || !scratch)
		return 0;
	rec = &scratch->language.rec;
	l = bpf_map_lookup_elem(&languages, &key);
	if (!l || !l->tid_at)
		return 0;
	scratch->walk.view.pgd = 0;
	gil = l->queue_at ? gvl_of(&scratch->walk, l, addr) : gil_of(&scratch->walk, l);
	if (!gil || (!l->queue_at && !is_part_of_gil(l, gil, addr)))
		return 0;
	if (l->queue_at)
		st->futex.gil_ns = 0;	/* a thread that waits for Ruby's lock sleeps once */
	else
		join_gil(st, gil);
	rec->depth = 0;
	rec->is_cut = 0;
	rec->holder = 0;
	rec->ustack = gil;
	find_gil_holder(scratch, l, gil);
	if (rec->depth > OFFCPU_GIL_DEPTH)
		rec->depth = OFFCPU_GIL_DEPTH;
	id = gil_hash(rec, key);
	rec->id = id;
	return gil_cross(st, rec, l) ? id : 0;
}

static __always_inline void take_back(__u32 *bar_q8)
{
	if (*bar_q8 >= SAMPLE_ONE_Q8)
		*bar_q8 -= SAMPLE_ONE_Q8;
}

/* Hash of a sum with an object, to detect that another sum has its slot by now. */
static __always_inline __u64 gil_sum_hash(__u64 ustack, __u64 kstack, __u64 waker, __u64 object, __u8 flags,
					  __u16 slice)
{
	return mix(mix(mix(mix(object, ustack), kstack), waker), (__u64)slice << 8 | flags);
}

static __always_inline void note_gil_sum(struct thread_state *st, const struct offcpu_wait_key *key)
{
	st->futex.gil_sum = st->last_sum;
	st->futex.gil_sum_of = gil_sum_hash(key->ustack, key->kstack, key->waker, key->object, key->flags, key->slice);
}

/* The previous piece is not a wait of its own: it is removed from the counts, if its sum is still there. */
static __always_inline void uncount_piece(struct thread_state *st)
{
	__u32 number = st->futex.gil_sum, place = offcpu_hist_place(log2_slot(st->futex.gil_ns));
	struct offcpu_wait_slot *s = bpf_map_lookup_elem(&wait_slots, &number);

	if (!s || s->tno != st->tno || s->state != 'S' || s->count_q8 < SAMPLE_ONE_Q8 ||
	    gil_sum_hash(s->ustack, s->kstack, s->waker, s->object, s->flags, s->slice) != st->futex.gil_sum_of)
		return;
	s->count_q8 -= SAMPLE_ONE_Q8;
	total_of(&st->account, OFFCPU_STATE_S)->count--;
	barrier_var(place);
	if (place < OFFCPU_HIST_SLOTS)
		take_back(&s->hist_q8[place]);
	if (cfg.want_wakers) {
		place = log2_slot(st->futex.gil_delay_ns);
		if (place >= OFFCPU_WAKE_SLOTS)
			place = OFFCPU_WAKE_SLOTS - 1;
		take_back(&s->wake_hist_q8[place]);
	}
}

/* Before a piece of a wait for the GIL is summed. Global functions, these two: the verifier checks them once. */
__noinline int begin_gil_sum(struct thread_state *st, struct kept_wait *kept)
{
	__u64 piece_ns;

	if (!st || !kept)
		return 0;
	piece_ns = kept->duration_ns;
	if (kept->weight_q8 != SAMPLE_ONE_Q8 || (cfg.chain_depth && chains_since_ns))
		st->futex.gil_ns = 0;
	else if (st->futex.gil_ns)
		uncount_piece(st);
	st->futex.gil_piece_ns = piece_ns;
	st->futex.gil_delay_ns = kept->delay_ns;
	st->futex.gil_ns += piece_ns;
	kept->duration_ns = st->futex.gil_ns;
	return 0;
}

static __always_inline void note_gil(struct task_struct *task, struct thread_state *st, struct scratch *scratch)
{
	scratch->walk.thread_pointer = thread_pointer(plain(task));
	st->futex.gil = gil_of_futex(st, scratch, is_in_parents(task, st) ? st->forked_space : stack_seed(st),
				     st->futex.addr[0]);
}

#endif
