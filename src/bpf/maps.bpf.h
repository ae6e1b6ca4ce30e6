/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_MAPS_BPF_H
#define BPF_MAPS_BPF_H

#include "bpf/state.bpf.h"

/*
 * A switch nearly always takes the same path, which must fit few lines of the instruction cache, as the kernel in
 * between has filled it. Rare code goes to functions of its own, or to the end.
 */
#define rarely(x) __builtin_expect(!!(x), 0)
#define mostly(x) __builtin_expect(!!(x), 1)

/* User space sets their numbers before load; waker_memories has one entry where no wakers are wanted. */
MAP(memories, ARRAY, __u32, struct memory, 1);
MAP(waker_memories, ARRAY, __u32, struct waker_memory, 1);

/* Everything that crosses: stacks (about 400 bytes each, once), accounts of dead threads, events. */
RING(ring, 4 << 20);	/* resized before load */

/*
 * On PREEMPT_RT the ring's lock is a sleeping lock (kernel/bpf/ringbuf.c: a spinlock_t, until it became a rqspinlock
 * in 2025). If two CPUs contended for it within the scheduler the second one would sleep there and stop the machine.
 * So on such kernels one program at a time uses the ring; for others it is full.
 */
__u32 ring_taken = 0;

#define RING_TRIES 16

static __always_inline bool is_preempt_rt(void)
{
	struct task_struct *task = NULL;

	return bpf_core_field_exists(task->softirq_disable_cnt);
}

/* A global function: where it does nothing, the verifier would otherwise have to remove it from every sender. */
__noinline int ring_enter(void)
{
	if (!is_preempt_rt())
		return true;
#pragma unroll
	for (int i = 0; i < RING_TRIES; i++)
		if (!__sync_val_compare_and_swap(&ring_taken, 0, 1))
			return true;
	return false;
}

static __always_inline void ring_leave(void)
{
	if (is_preempt_rt())
		__sync_lock_test_and_set(&ring_taken, 0);
}

/* 0: sent.  No wakeup: waking the tracer from inside the scheduler would trace the tracer. */
static __always_inline long ring_send(const void *record, __u64 size)
{
	long err;

	if (!ring_enter())
		return -1;
	err = bpf_ringbuf_output(&ring, (void *)record, size, BPF_RB_NO_WAKEUP);
	ring_leave();
	return err;
}

/* Reserves a record, to be filled and submitted; NULL: no room. size: a constant. */
static __always_inline void *ring_reserve(__u64 size)
{
	void *record;

	if (!ring_enter())
		return NULL;
	record = bpf_ringbuf_reserve(&ring, size, 0);
	ring_leave();
	return record;
}

/*
 * Ids that have crossed. Each id has one set, from which the oldest entry drops out: it then crosses again, and user
 * space knows it. Not a hash map: an insertion took a microsecond, and its creation some milliseconds at start.
 */
#define CROSSED_SETS_SHIFT 13
struct crossed_set {
	__u64 mark[8];
} __attribute__((aligned(64)));

/* Mapped, so that a set fits one cache line. */
MAP_FLAGS(crossed, ARRAY, __u32, struct crossed_set, 1 << CROSSED_SETS_SHIFT, BPF_F_MMAPABLE);

/*
 * Sums of waits, in two halves that take turns. User space swaps and reads them (attach/wait_table.c), and sets their
 * number and size before load. Not a hash map: hashing a key of 40 bytes, its bucket, and an element that spans four
 * lines took as long as recognising both stacks.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2 * OFFCPU_WAIT_SLOTS_MIN);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, OFFCPU_WAIT_SLOT_BYTES);
} wait_slots SEC(".maps");

/* Chains' parts of waits; two maps that are swapped with the halves. */
MAP(chains_a, HASH, struct offcpu_wait_key, struct offcpu_chain_sum, 8192);
MAP(chains_b, HASH, struct offcpu_wait_key, struct offcpu_chain_sum, 8192);

/*
 * What each switch reads and hardly anything writes. Kept apart from what programs write, since each write takes the
 * cache line away from the other CPUs.
 */
#define RARELY_WRITTEN SEC(".data")

/*
 * Which half is in use: from this time on the one that its lowest bit names (1: the second), before it the other one.
 * One word, so that a cut moves all CPUs to the other half at one instant. 0 and 1 name one half for all time.
 */
volatile __u64 half_edge RARELY_WRITTEN = 0;

static __always_inline bool is_second_half(__u64 now)
{
	__u64 edge = half_edge;

	return (now >= edge) == (edge & 1);
}

/* Unwind tables, see abi/space_abi.h. */
struct slab {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SPACE_SLAB_BLOCKS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct unwind_block));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, SPACE_SLABS_MAX);
	__type(key, __u32);
	__array(values, struct slab);
} slabs SEC(".maps");

/* 10 KiB each. */
MAP_FLAGS(spaces, HASH, __u64, struct space, SPACES_MAX, BPF_F_NO_PREALLOC);

/* Those programs of `spaces` that have an interpreter. */
MAP_FLAGS(languages, HASH, __u64, struct offcpu_language, OFFCPU_LANGUAGES_MAX, BPF_F_NO_PREALLOC);

/* Those programs of `spaces` whose threads have a trace context. */
MAP_FLAGS(contexts, HASH, __u64, struct offcpu_context_place, OFFCPU_CONTEXTS_MAX, BPF_F_NO_PREALLOC);

/*
 * Per CPU: cached rules of recently walked addresses; a new look-up takes several times as long as the rest of a step.
 * A generation identifies one version of one program's mappings.
 */
#define RULES 2048	/* 32 KiB, the most that the kernel allows */
struct found_rules {
	struct found_rule {
		__u64 addr;
		__u32 generation;	/* 0: an empty slot */
		__u32 rule;
	} slot[RULES];
};

MAP(rules, PERCPU_ARRAY, __u32, struct found_rules, 1);
MAP(losses, PERCPU_ARRAY, __u32, struct offcpu_loss_count, OFFCPU_LOSS_COUNT);
MAP(scratches, PERCPU_ARRAY, __u32, struct scratch, 1);

/* The iterators may be preempted, so they have a scratch of their own; only one runs at a time. */
MAP(iter_scratch, ARRAY, __u32, struct scratch, 1);
MAP(filter_tgids, HASH, __u32, __u8, 4096);
MAP(filter_tids, HASH, __u32, __u8, 4096);

const volatile struct offcpu_config cfg = {};
const volatile char comm_glob[2 * OFFCPU_COMM_LEN] = {};

/* The window is [start_ns, stop_ns), set a little ahead of time. In one struct, so that one address serves both. */
volatile struct {
	__u64 start_ns, stop_ns;
	__u64 cut_ns;		/* time of the last completed cut: see cut.bpf.h */
} window = { ~0ULL, ~0ULL, ~0ULL };
/* stop_ns is a cut, not the end. */
volatile __u8 is_cut RARELY_WRITTEN = 0;
/* User space increments it when `crossed` is emptied; what is cached of it elsewhere is then stale: see cut.bpf.h. */
volatile __u64 crossed_turn RARELY_WRITTEN = 0;
volatile __u8 forgets_crossed RARELY_WRITTEN = 0;
/* Waits shorter than this are sampled (abi/sample.h); 0: none is. User space changes it while we run. */
volatile __u64 scale_ns RARELY_WRITTEN = 0;
/* where waits may be sampled, wakers of shorter sleeps are skipped */
volatile __u64 wakers_from_ns RARELY_WRITTEN = 0;
/* Mask of slice numbers: in a long recording user space clears lower bits, and slices become longer. */
volatile __u32 slice_mask RARELY_WRITTEN = ~0U;
/* The scheduler's functions: their start and size in bytes, once user space has set them. */
volatile __u64 sched_text RARELY_WRITTEN = 0, sched_text_bytes RARELY_WRITTEN = 0;
/* Of both halves of wait_slots: which groups of slots are in use. User space clears them when it empties the slots. */
__u8 wait_groups[OFFCPU_WAIT_GROUPS] = { 0 };
/* Slots taken in the current half since the last swap, and entries in the current map of chains. */
__u64 wait_entries = 0, chain_entries = 0;
/* Of `memories`: where the search for a free one begins, and how many are taken. */
__u32 next_memory = 0, memories_taken = 0;
/* Chains of wakers are recorded from then on; 0: not now. */
volatile __u64 chains_since_ns RARELY_WRITTEN = 0;
/* The window is open; precise enough to count switches. */
volatile __u8 is_open RARELY_WRITTEN = 0;
/* close_thread leaves threads without an event in the window to a second walk: they are unlikely to move just now. */
volatile __u8 leaves_quiet RARELY_WRITTEN = 0;
/*
 * Bits of threads that may be selected, by their tasks' addresses: a thread that no filter selects costs reading one
 * bit. Threads may share a bit.
 */
#define SELECTED_SHIFT 16
__u64 selected_bits[(1 << SELECTED_SHIFT) / 64] = {};
/* User space increments it after each change of `spaces` or `file_tables`. */
volatile __u32 tables_epoch RARELY_WRITTEN = 1;

/* One step of hashing 64-bit words. */
#define STACK_MIX 0x9e3779b97f4a7c15ULL

static __always_inline __u64 mix(__u64 h, __u64 word)
{
	h = (h ^ word) * STACK_MIX;
	return h ^ h >> 29;
}

static __always_inline __u64 scale_now(void)
{
	return cfg.may_sample ? scale_ns : 0;
}

/*
 * Makes a pointer to the kernel's memory readable without a helper; Linux 6.2 (a35b9af4ec2c). On older kernels the
 * types' ids are 0. Newer bpf_core_read.h has the same. The object for older kernels is compiled without it: to find
 * out that no module has the function, libbpf needs CAP_SYS_ADMIN, which the agent does not have.
 */
#ifndef WITHOUT_CAST
extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym __weak;
#endif

/*
 * Decided at compile time, with an object for either case. Otherwise the kernel would remove the untaken branch at 200
 * places at load, and move the rest of the program each time.
 */
#ifdef ALWAYS_CASTS
#define can_cast() true
#else
#define can_cast() (cfg.task_struct_id && cfg.timespec64_id)
#endif

/*
 * The task as a plain pointer. If the verifier trusts a task it searches all of the kernel's types for each pointer
 * that is followed, which takes some milliseconds each (Linux 6.4, 57539b1c0ac2).
 */
static __always_inline const struct task_struct *plain(const struct task_struct *task)
{
#ifdef WITHOUT_CAST
	barrier_var(task);	/* else clang uses what the pointer was compared with, which may be a number */
	return task;
#else
	return can_cast() ? bpf_rdonly_cast(task, cfg.task_struct_id) : task;
#endif
}

/* `to` is aligned to 8 bytes. A helper would take several times as long. */
static __always_inline void copy_comm(void *to, const struct task_struct *task)
{
	((__u64 *)to)[0] = *(__u64 *)task->comm;
	((__u64 *)to)[1] = *(__u64 *)(task->comm + 8);
}

/*
 * A global function: inlined at its many callers it would make the programs a tenth larger and their loading slower.
 */
__noinline int count_loss(__u32 reason, __u64 time_ns)
{
	struct offcpu_loss_count *loss = bpf_map_lookup_elem(&losses, &reason);

	if (loss) {
		loss->count++;
		loss->time_ns += time_ns;
	}
	return 0;
}

static __always_inline __u64 crossed_mark(__u64 id)
{
	return mix(id, crossed_turn + 1) | 1;
}

static __always_inline struct crossed_set *crossed_set_of(__u64 mark)
{
	__u32 set = mark >> (64 - CROSSED_SETS_SHIFT);

	return bpf_map_lookup_elem(&crossed, &set);
}

/* These two are global functions: the verifier checks them once. */
__noinline int has_crossed(__u64 id)
{
	__u64 mark = crossed_mark(id);
	struct crossed_set *s = crossed_set_of(mark);

	if (!s)
		return false;
#pragma unroll
	for (int i = 0; i < 8; i++)
		if (s->mark[i] == mark)
			return true;
	return false;
}

/* Of two CPUs at once one may lose its entry: that id crosses again. */
__noinline int note_crossed(__u64 id)
{
	__u64 mark = crossed_mark(id);
	struct crossed_set *s = crossed_set_of(mark);

	if (!s)
		return 0;
#pragma unroll
	for (int i = 7; i > 0; i--)
		s->mark[i] = s->mark[i - 1];
	s->mark[0] = mark;
	return 0;
}

/* Sends a record unless it has crossed before. False: it was not sent, which is counted under `loss`. */
static __always_inline bool send_crossing(const void *record, __u64 size, __u64 id, __u32 loss)
{
	if (ring_send(record, size)) {
		count_loss(loss, 0);
		return false;
	}
	note_crossed(id);
	return true;
}

/* Keys that take no room on the stack, of which the deepest walks leave none (Linux 6.1). */
const volatile __u32 small_keys[OFFCPU_THREAD_TABLES] = { 0, 1, 2, 3, 4, 5, 6, 7 };

static __always_inline struct scratch *my_scratch(void)
{
	return bpf_map_lookup_elem(&scratches, (const void *)&small_keys[0]);
}

/*
 * st: the result of thread_of() in the same program. NULL: chains are not wanted, or not now. State from when they
 * were last recorded is reset, as it says nothing of the time since.
 */
static __always_inline struct chain_state *chain_of(struct thread_state *st)
{
	__u64 since_ns = cfg.chain_depth ? chains_since_ns : 0;
	struct chain_state *c;

	if (!since_ns)
		return NULL;
	c = &((struct chained_thread *)st)->chain;
	if (c->told_since_ns != since_ns) {
		c->slept_ns = c->woken_ns = c->off_ns = 0;
		c->by_tno = 0;
		c->cnt = 0;
		c->end = OFFCPU_CHAIN_UNKNOWN;
		c->told_since_ns = since_ns;
	}
	return c;
}

#endif
