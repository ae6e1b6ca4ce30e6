/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef FEATURES_WAKERS_CHAIN_BPF_H
#define FEATURES_WAKERS_CHAIN_BPF_H

#include "bpf/account.bpf.h"
#include "bpf/running.bpf.h"
#include "features/wakers/waker.bpf.h"

/*
 * Chains of wakers (docs/semantics.md, "The waker"). Each thread keeps its last completed sleep and the chain that
 * ended it. A waking prepends the waker to the chain of the waker's own last sleep and passes that to the sleeper: so
 * one waking costs one copy, however long the chain is.
 *
 * A chain explains the sleeper's blocked time and nothing else. The waker was awake since its own waking; before that
 * it slept, and the part of its sleep in this time is explained by its own waker; and so on. A waker that was awake
 * all that time is the last one. The sleeps of a chain are nested, so no thread is in it twice, and it is short where
 * threads are busy.
 */

#define HOP_MASK (OFFCPU_CHAIN_MAX - 1)

static __always_inline __u64 at_most(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

/* Its last sleep, which is now in *c, for user space to keep. A global function: the verifier checks it once. */
__noinline int send_sleep(const struct thread_state *st, struct chain_state *c, __u64 off_before_ns)
{
	struct offcpu_rec_sleep *rec;

	if (!st || !c)
		return 0;
	rec = ring_reserve(sizeof(*rec));
	c->sleeps++;
	if (!rec) {
		count_loss(OFFCPU_LOSS_CHAIN_LOG, 0);
		return 0;
	}
	rec->type = OFFCPU_REC_SLEEP;
	rec->tno = st->tno;
	rec->no = c->sleeps;
	rec->by_tno = c->by_tno;
	rec->slept_ns = c->slept_ns;
	rec->woken_ns = c->woken_ns;
	rec->off_before_ns = off_before_ns;
	rec->waker = c->cnt ? c->hops[0].waker : 0;
	rec->waker_on_ns = c->hops[0].on_ns;
	rec->waker_off_ns = c->hops[0].woken_ns ? c->hops[0].off_ns : 0;
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

/* A thread's wait has ended: keeps it if it was a sleep, else adds it to the time since the last one. */
static __always_inline void note_wait(const struct thread_state *st, struct chain_state *c,
				      const struct wait_parts *parts, __u64 now)
{
	__u64 off_before_ns = c->off_ns;

	if (st->mode != MODE_ASLEEP) {
		c->off_ns += now - st->since_ns;
		return;
	}
	c->slept_ns = st->since_ns;
	c->woken_ns = st->since_ns + parts->blocked_ns;
	c->off_ns = parts->runnable_ns;
	c->by_tno = st->waker_tno;
	if (!parts->runnable_ns) {	/* no waking was seen */
		c->cnt = 0;
		c->end = OFFCPU_CHAIN_UNKNOWN;
		c->by_tno = 0;
	} else if (!parts->blocked_ns) {
		c->cnt = 0;
		c->end = OFFCPU_CHAIN_AWAKE;
	}
	if (parts->blocked_ns)
		send_sleep(st, c, off_before_ns);
}

/* Was the waker asleep in a part of the time from start_ns on? Then its own waker explains that. */
static __always_inline bool slept_since(const struct chain_hop *hop, __u64 start)
{
	return hop->woken_ns > start && hop->woken_ns > hop->slept_ns;
}

/* The waker of the chain's last thread: the sleeper, one in the chain, or neither? */
static __always_inline void close_loop(struct offcpu_rec_chain *rec, const struct chain_state *c, __u32 sleeper_tno)
{
	__u32 by = c->hops[(rec->cnt - 1) & HOP_MASK].by_tno;

	if (!by)
		return;
	if (by == sleeper_tno)
		rec->end = OFFCPU_CHAIN_LOOP;
	for (__u32 i = 0; i < OFFCPU_CHAIN_MAX; i++) {
		if (i + 1 >= rec->cnt)
			break;
		if (c->hops[i].tno != by)
			continue;
		rec->end = OFFCPU_CHAIN_LOOP;
		rec->loop_to = i + 1;
	}
}

/*
 * Copies the chain of the waker's last sleep as far as it explains the sleeper's time, after the first hop, the waker
 * itself. A global function: the verifier checks it once.
 */
__noinline int follow_waker(struct chain_state *c, const struct chain_state *of_waker, struct offcpu_rec_chain *rec,
			    __u64 start)
{
	__u32 cnt = 1, depth = cfg.chain_depth;

	if (!c || !of_waker || !rec)
		return 0;
	rec->end = c->hops[0].woken_ns ? OFFCPU_CHAIN_AWAKE : OFFCPU_CHAIN_START;
	for (__u32 i = 0; i < OFFCPU_CHAIN_MAX - 1; i++) {
		const struct chain_hop *last = &c->hops[i];

		if (!last->tno) {
			rec->end = OFFCPU_CHAIN_INTERRUPT;
			break;
		}
		if (!slept_since(last, start)) {
			rec->end = last->woken_ns ? OFFCPU_CHAIN_AWAKE : OFFCPU_CHAIN_START;
			break;
		}
		if (last->slept_ns > start)
			start = last->slept_ns;
		if (i >= of_waker->cnt) {
			rec->end = of_waker->end;
			if (of_waker->skipped)
				count_loss(OFFCPU_LOSS_WAKER_SKIPPED, last->woken_ns - last->slept_ns);
			break;
		}
		rec->end = OFFCPU_CHAIN_CUT;
		if (cnt >= depth)
			break;
		c->hops[i + 1] = of_waker->hops[i];
		rec->waker[i + 1] = of_waker->hops[i].waker;
		cnt++;
	}
	rec->cnt = cnt;
	return 0;
}

static __always_inline __u64 chain_hash(const struct offcpu_rec_chain *rec)
{
	__u64 h = mix(STACK_MIX, (__u64)rec->cnt << 16 | rec->end << 8 | rec->loop_to);

	for (__u32 i = 0; i < OFFCPU_CHAIN_MAX; i++) {
		if (i >= rec->cnt)
			break;
		h = mix(h, rec->waker[i]);
	}
	return h ? h : 1;
}

/* Sends the chain unless it has crossed before; returns its id, or that of its first waker when it was not sent. */
static __always_inline __u64 intern_chain(struct offcpu_rec_chain *rec, struct chain_state *c)
{
	__u64 id = chain_hash(rec);

	if (c->seen == id)
		return id;
	if (!has_crossed(id)) {
		rec->type = OFFCPU_REC_CHAIN;
		rec->pad = 0;
		rec->id = id;
		if (!send_crossing(rec, sizeof(*rec), id, OFFCPU_LOSS_WAKER))
			return rec->waker[0];
	}
	c->seen = id;
	return id;
}

/* Is p off CPU completely? While it is going to sleep it may still read its own chain. */
static __always_inline bool is_asleep(struct task_struct *p, const struct thread_state *st)
{
	return st->mode == MODE_ASLEEP || (st->mode == MODE_UNKNOWN && !is_on_cpu(p));
}

/* An unselected thread is followed, too, but without its stacks: it may wake a selected one. */
__noinline int other_out(struct thread_state *st, struct scratch *scratch, bool asleep, __u64 now)
{
	if (!st || !scratch)
		return 0;
	draw_sleep(st, scratch, now);
	st->since_ns = now;
	st->mode = asleep ? MODE_ASLEEP : MODE_QUEUED;
	return 0;
}

/* c: NULL while chains are disabled; the thread's mode is tracked for when they are enabled. */
__noinline int other_in(struct thread_state *st, struct chain_state *c, __u64 now)
{
	struct wait_parts parts;

	if (!st)
		return 0;
	if (st->mode == MODE_UNKNOWN) {
		st->since_ns = window.start_ns;
		st->mode = st->wake_ns > window.start_ns ? MODE_ASLEEP : MODE_NEW;
	}
	if (c && st->mode != MODE_ON_CPU) {
		split_wait(st, now, false, &parts);
		/* its time is in no account, but a chain that leads to it ends there */
		if (st->mode == MODE_ASLEEP && !parts.runnable_ns)
			count_loss(OFFCPU_LOSS_NO_WAKE, 0);
		note_wait(st, c, &parts, now);
	}
	st->mode = MODE_ON_CPU;
	st->since_ns = st->on_ns = now;
	return 0;
}

static __always_inline bool was_seen_to_enter(const struct thread_state *st)
{
	return st->mode == MODE_ON_CPU || st->mode == MODE_UNKNOWN || st->mode == MODE_DEAD;
}

/*
 * A thread wakes another, so it runs, but its switch-in was not seen (see recover_switch_in()). Returns since when it
 * runs, at the latest: the scheduler's count of its CPU time may be a tick late.
 */
__noinline __u64 meet_waker(struct thread_state *wst, struct chain_state *c, __u64 ran_ns, __u64 now)
{
	struct wait_parts parts;
	__u64 entered;

	if (!wst || !c)
		return now;
	entered = now - at_most(ran_ns, now - wst->since_ns);
	if (!wst->selected) {
		count_loss(OFFCPU_LOSS_SEQUENCE, 0);
		other_in(wst, c, entered);
	} else if (wst->mode == MODE_ASLEEP) {
		/* account and losses follow when it is switched out */
		split_wait(wst, entered, false, &parts);
		note_wait(wst, c, &parts, entered);
	}
	return entered;
}

/* The first waker of a chain, which is running. */
static __always_inline void note_first(struct chain_hop *first, struct thread_state *wst, __u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct chain_state *c = chain_of(wst);
	__u64 queued_ns = 0;

	first->tno = wst->tno;
	first->on_ns = wst->on_ns;
	if (!c)
		return;	/* chains were disabled just now */
	if (rarely(!was_seen_to_enter(wst))) {
		first->on_ns = meet_waker(wst, c, task->se.sum_exec_runtime - wst->exec_ns, now);
		if (wst->mode == MODE_QUEUED || wst->mode == MODE_NEW)
			queued_ns = first->on_ns - wst->since_ns;
	}
	first->by_tno = c->by_tno;
	first->slept_ns = c->slept_ns;
	first->woken_ns = c->woken_ns;
	first->off_ns = c->off_ns + queued_ns;
}

/* The id of the chain that begins with `waker`, which wakes p; wst: the waker's thread, NULL for an interrupt. */
static __always_inline __u64 chain_now(struct task_struct *p, struct thread_state *st, struct thread_state *wst,
				       __u64 waker, struct scratch *scratch, __u64 now)
{
	struct chain_state *c = chain_of(st), *of_waker;
	struct offcpu_rec_chain *rec = &scratch->chain;
	__u64 start = st->mode == MODE_UNKNOWN ? window.start_ns : st->since_ns;
	bool asleep = is_asleep(p, st);
	struct chain_hop *first;

	st->waker_place = 0;	/* the next waking counts as from another place: see calls_again() */
	if (!c)
		return waker;
	if (asleep && start < chains_since_ns) {	/* chains do not cover all of that time */
		c->cnt = 0;
		c->end = OFFCPU_CHAIN_UNKNOWN;
		return waker;
	}
	first = &c->hops[0];
	rec->cnt = 1;
	rec->loop_to = 0;
	rec->end = wst ? OFFCPU_CHAIN_AWAKE : OFFCPU_CHAIN_INTERRUPT;
	rec->waker[0] = waker;
	if (!asleep)
		return intern_chain(rec, c);
	first->waker = waker;
	first->tno = 0;
	first->woken_ns = 0;
	if (wst) {
		note_first(first, wst, now);
		of_waker = chain_of(wst);
		if (slept_since(first, start))
			follow_waker(c, of_waker, rec, start);
		else if (!first->woken_ns)
			rec->end = OFFCPU_CHAIN_START;
		if (rec->end == OFFCPU_CHAIN_AWAKE)
			close_loop(rec, c, st->tno);
	}
	c->cnt = rec->cnt;
	c->end = rec->end;
	c->skipped = 0;
	return intern_chain(rec, c);
}

/* The thread's waker is skipped: its short sleep will explain nothing in a chain. */
static __always_inline void skip_chain(struct task_struct *p, struct thread_state *st)
{
	struct chain_state *c = chain_of(st);

	if (!c || !is_asleep(p, st))
		return;
	st->waker_tno = 0;
	c->cnt = 0;
	c->end = OFFCPU_CHAIN_UNKNOWN;
	c->skipped = 1;
}

/* The part of [start, end) in which the waker was awake: running, or waiting for a CPU. */
static __always_inline void split_awake(const struct chain_hop *hop, __u64 start, __u64 end, __u64 *ret_ran,
					__u64 *ret_off)
{
	__u64 last_stretch = end - at_most(end, start > hop->on_ns ? start : hop->on_ns);

	/* for a later hop `end` is the time of its waking, as for the first */
	*ret_off = at_most(hop->off_ns, end - start - last_stretch);
	*ret_ran = end - start - *ret_off;
}

/* Divides a wait's time along its chain. False: the first waker used all of it, so no sum is needed. */
__noinline int tell_chain(const struct thread_state *st, const struct chain_state *c, struct offcpu_chain_sum *ret_sum)
{
	__u64 start, end;

	if (!st || !c || !ret_sum)
		return 0;
	start = st->since_ns;
	end = st->wake_ns;
	if (end <= start || !c->cnt)
		return 0;
	for (__u32 i = 0; i < OFFCPU_CHAIN_MAX; i++) {
		const struct chain_hop *hop = &c->hops[i];
		__u64 from = start;

		if (i >= c->cnt || !hop->tno)
			break;
		if (slept_since(hop, start))
			from = hop->woken_ns;
		if (from > end)
			from = end;
		split_awake(hop, from, end, &ret_sum->hop[i].ran_ns, &ret_sum->hop[i].runnable_ns);
		end = from;
		if (end == start)
			break;
		from = hop->slept_ns > start ? hop->slept_ns : start;
		from = at_most(from, end);
		ret_sum->hop[i].earlier_ns = from - start;
		start = from;
	}
	ret_sum->rest_ns = end - start;
	return c->cnt > 1 || ret_sum->hop[0].ran_ns != st->wake_ns - st->since_ns;
}

/* Adds these times under the wait's key; weight_q8: its sampling weight. A global function, checked once. */
__noinline int add_chain(const struct offcpu_wait_key *its_key, const struct offcpu_chain_sum *story, __u64 weight_q8)
{
	struct offcpu_wait_key key;
	struct offcpu_chain_sum *sum;
	struct scratch *scratch;
	bool second;

	if (!its_key || !story)
		return false;
	key = *its_key;	/* Linux 6.1 requires a map's key to be on the stack */
	second = key.flags & OFFCPU_KEY_SECOND;
	key.flags &= ~OFFCPU_KEY_SECOND;
	sum = second ? bpf_map_lookup_elem(&chains_b, &key) : bpf_map_lookup_elem(&chains_a, &key);
	if (!sum) {
		scratch = my_scratch();
		if (!scratch ||
		    (second ? bpf_map_update_elem(&chains_b, &key, &scratch->no_chain_sum, BPF_NOEXIST) :
			      bpf_map_update_elem(&chains_a, &key, &scratch->no_chain_sum, BPF_NOEXIST)))
			return false;
		__sync_fetch_and_add(&chain_entries, 1);
		sum = second ? bpf_map_lookup_elem(&chains_b, &key) : bpf_map_lookup_elem(&chains_a, &key);
		if (!sum)
			return false;
	}
	for (__u32 i = 0; i < OFFCPU_CHAIN_MAX; i++) {
		sum->hop[i].ran_ns += story->hop[i].ran_ns * weight_q8 / SAMPLE_ONE_Q8;
		sum->hop[i].runnable_ns += story->hop[i].runnable_ns * weight_q8 / SAMPLE_ONE_Q8;
		sum->hop[i].earlier_ns += story->hop[i].earlier_ns * weight_q8 / SAMPLE_ONE_Q8;
	}
	sum->rest_ns += story->rest_ns * weight_q8 / SAMPLE_ONE_Q8;
	return true;
}

#define EARLIER_MIN_NS 2000	/* shorter activities of wakers before their sleep are ignored */

/* Asks user space what a wait's wakers did before their last sleeps. A global function, checked once. */
__noinline int ask_for_earlier(const struct offcpu_wait_key *key, const struct thread_state *st,
			       const struct chain_state *c, const struct offcpu_chain_sum *story, __u64 weight_q8)
{
	__u64 start;

	if (!key || !st || !c || !story)
		return 0;
	start = st->since_ns;
	for (__u32 i = 0; i < OFFCPU_CHAIN_MAX; i++) {
		__u64 earlier_ns = story->hop[i].earlier_ns;
		struct offcpu_rec_earlier *rec;

		if (i >= c->cnt)
			break;
		if (earlier_ns >= EARLIER_MIN_NS) {
			rec = ring_reserve(sizeof(*rec));
			if (!rec) {
				count_loss(OFFCPU_LOSS_CHAIN_LOG, earlier_ns);
				break;
			}
			rec->type = OFFCPU_REC_EARLIER;
			rec->tno = c->hops[i].tno;
			rec->hop = i;
			rec->depth = cfg.chain_depth > i + 1 ? cfg.chain_depth - i - 1 : 0;
			rec->start_ns = start;
			rec->end_ns = start + earlier_ns;
			rec->weight_q8 = weight_q8;
			rec->key = *key;
			rec->key.flags &= ~OFFCPU_KEY_SECOND;
			bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
		}
		start += earlier_ns;
	}
	return 0;
}

/* For a wait listed under key. */
static __always_inline void list_chain(const struct offcpu_wait_key *key, const struct thread_state *st,
				       const struct chain_state *c, struct scratch *scratch)
{
	const struct chain_hop *first = &c->hops[0];
	const struct kept_wait *kept = &scratch->kept;

	if (!key->waker || st->mode != MODE_ASLEEP)
		return;
	/* an interrupt, or a waker that ran all the time: nothing to divide */
	if (c->cnt == 1 && (!first->tno || (!slept_since(first, st->since_ns) && first->on_ns <= st->since_ns)))
		return;
	scratch->chain_sum = scratch->no_chain_sum;
	if (!tell_chain(st, c, &scratch->chain_sum))
		return;
	if (add_chain(key, &scratch->chain_sum, kept->weight_q8))
		ask_for_earlier(key, st, c, &scratch->chain_sum, kept->weight_q8);
	else
		count_loss(OFFCPU_LOSS_CHAIN_MAP, kept->parts.blocked_ns);
}

#endif
