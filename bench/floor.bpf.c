/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The least that keeps the account of each thread: time on CPU, and off CPU by state, blocked apart
 * from runnable; for threads that are there, that are forked and that end.  No filter, no window, no
 * stack, no histogram, no loss told, nothing recovered.  What this costs sampling cannot save.
 *
 * With with_stacks set, also what no tracer can do without that sums each wait under its stacks, though all of them are known:
 * it looks at the words by which a stack is told from another one, and adds to a sum.  No walk, no name, no collision looked at.
 */
#include "bpf/ktypes.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum { STATE_S, STATE_D, STATE_OTHER, STATE_R, STATE_COUNT };

struct account {
	__u64 start_ns;
	__u32 pid, tid;
	__u64 pad1[6];
	/* second line: written by who wakes it, from another CPU */
	__u64 wake_ns;
	__u64 pad2[7];
	/* third line: each switch */
	__u64 since_ns;
	__u64 on_ns;
	__u64 switches;
	__u32 state;
	bool is_off;
	__u64 pad3[4];
	struct {
		__u64 count, blocked_ns, runnable_ns;
	} of[STATE_COUNT];
	__u64 user_stack;	/* what tells it from others, at the last switch-out */
	__u64 pad4[3];
};

/*
 * The accounts lie side by side, and an index finds one by the address of the task: the number of the account, and above that
 * the task's address but for what it begins at, a cache line (src/bpf/threads.bpf.h).
 */
#define MIX 0x9e3779b97f4a7c15ULL
#define SLOT_BITS 15
#define INDEX_BITS 15
#define TRIES 16
#define NO_SLOT ((1U << SLOT_BITS) - 1)
#define MAP_TYPE_QUEUE 22	/* include/uapi/linux/bpf.h */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, NO_SLOT);
	__type(key, __u32);
	__type(value, struct account);
} accounts SEC(".maps");

struct {
	__uint(type, MAP_TYPE_QUEUE);
	__uint(max_entries, NO_SLOT);
	__type(value, __u32);
} free_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} ring SEC(".maps");

/*
 * A sleeper's kernel stack has some eight return addresses within so many bytes of its __schedule(), and its user stack five
 * (bench/sleepers.c, Linux 6.18, glibc 2.36); the stacks of most servers are deeper.
 */
#define KERNEL_WORDS 48
#define USER_WORDS 32
#define EACH_WORDS 6
#define SUM_BITS 17

struct sum {
	__u64 key, count, blocked_ns, runnable_ns, squares, longest_ns, pad[2];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << SUM_BITS);
	__type(key, __u32);
	__type(value, struct sum);
} sums SEC(".maps");

const volatile bool with_stacks = false;
/* The clock is read and the threads' memory found, and that is all. */
const volatile bool only_finds = false;

__u64 entries[1 << INDEX_BITS] __attribute__((aligned(64))) = { 0 };	/* 0: free */
__u32 slots_begun = 1;
__u64 base = 0;

static __always_inline __u64 tag_of(struct task_struct *task)
{
	__u64 tag = (__u64)task;

	asm volatile("%[tag] -= %[base]" : [tag] "+r"(tag) : [base] "r"(&base));
	return tag;
}

static __always_inline __u32 first_place(__u64 tag)
{
	return tag * MIX >> (64 - INDEX_BITS);
}

static __always_inline __u64 key_of(__u64 tag)
{
	return tag >> 6 << SLOT_BITS;
}

static __always_inline __u64 *nth_entry(__u64 tag, __u32 n)
{
	return &entries[(first_place(tag) ^ n) & ((1U << INDEX_BITS) - 1)];
}

/* NO_SLOT: it has none. */
__noinline __u32 find(__u64 tag)
{
	for (__u32 i = 1; i < TRIES; i++) {
		__u64 found = *nth_entry(tag, i) ^ key_of(tag);

		if (found < NO_SLOT)
			return found;
	}
	return NO_SLOT;
}

static __always_inline struct account *account_of(struct task_struct *task)
{
	__u64 tag = tag_of(task), found = entries[first_place(tag)] ^ key_of(tag);
	__u32 slot = found < NO_SLOT ? found : find(tag);

	return bpf_map_lookup_elem(&accounts, &slot);
}

static __always_inline void create(struct task_struct *task, __u64 now)
{
	__u64 tag = tag_of(task);
	struct account *a;
	__u32 slot;

	if (bpf_map_pop_elem(&free_slots, &slot))
		slot = __sync_fetch_and_add(&slots_begun, 1);
	a = bpf_map_lookup_elem(&accounts, &slot);
	if (!a)
		return;
	__builtin_memset(a, 0, sizeof(*a));
	a->start_ns = task->start_boottime;
	a->pid = task->tgid;
	a->tid = task->pid;
	a->since_ns = now;
	a->is_off = true;
	a->state = STATE_R;
	for (__u32 i = 0; i < TRIES; i++)
		if (!__sync_val_compare_and_swap(nth_entry(tag, i), 0, key_of(tag) | slot))
			return;
	bpf_map_push_elem(&free_slots, &slot, 0);
}

static __always_inline __u64 hash_words(const __u64 *words, __u32 cnt)
{
	__u64 hash = 0;

	for (__u32 i = 0; i < cnt; i += EACH_WORDS)
		hash = (hash ^ words[i]) * MIX;
	return hash;
}

static __always_inline __u64 kernel_stack_of(struct task_struct *task)
{
	__u64 words[KERNEL_WORDS];

	return bpf_probe_read_kernel(words, sizeof(words), (void *)task->thread.sp) ? 0 : hash_words(words, KERNEL_WORDS);
}

/* Of the thread that runs. */
static __always_inline __u64 user_stack_of(struct task_struct *task)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);
	__u64 words[USER_WORDS];

	return bpf_probe_read_user(words, sizeof(words), (void *)regs->sp) ? 0 : hash_words(words, USER_WORDS);
}

static __always_inline void add_to_sum(struct task_struct *next, const struct account *a, __u64 blocked_ns, __u64 runnable_ns)
{
	__u64 key = (kernel_stack_of(next) ^ a->user_stack ^ a->start_ns) * MIX, total = blocked_ns + runnable_ns;
	__u32 slot = key >> (64 - SUM_BITS);
	struct sum *sum = bpf_map_lookup_elem(&sums, &slot);

	if (!sum)
		return;
	sum->key = key;
	__sync_fetch_and_add(&sum->count, 1);
	__sync_fetch_and_add(&sum->blocked_ns, blocked_ns);
	__sync_fetch_and_add(&sum->runnable_ns, runnable_ns);
	__sync_fetch_and_add(&sum->squares, total * total);
	if (total > sum->longest_ns)
		sum->longest_ns = total;
}

/* What is written is what tells that it was found. */
static __always_inline void find_both(struct task_struct *prev, struct task_struct *next, __u64 now)
{
	struct account *a;

	if (prev->pid && (a = account_of(prev)))
		a->since_ns = now;
	if (next->pid && (a = account_of(next)))
		a->since_ns = now;
}

SEC("tp_btf/sched_switch")
int floor_switch(unsigned long long *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	__u32 bits = (__u32)ctx[3], state;
	__u64 now = bpf_ktime_get_ns();
	struct account *a;

	if (only_finds) {
		find_both(prev, next, now);
		return 0;
	}
	if (prev->pid && (a = account_of(prev))) {
		a->on_ns += now - a->since_ns;
		a->switches++;
		a->since_ns = now;
		a->is_off = true;
		a->state = ctx[0] || !bits ? STATE_R : bits & TASK_INTERRUPTIBLE ? STATE_S :
			   bits & TASK_UNINTERRUPTIBLE ? STATE_D : STATE_OTHER;
		if (with_stacks && prev->mm && !(bits & TASK_DEAD))
			a->user_stack = user_stack_of(bpf_get_current_task_btf());
		if (bits & TASK_DEAD)
			bpf_ringbuf_output(&ring, a, sizeof(*a), BPF_RB_NO_WAKEUP);
	}
	if (next->pid && (a = account_of(next))) {
		state = a->state;
		if (a->is_off && state < STATE_COUNT) {
			__u64 wake = a->wake_ns;

			if (wake < a->since_ns || wake > now)
				wake = state == STATE_R ? a->since_ns : now;
			a->of[state].count++;
			a->of[state].blocked_ns += wake - a->since_ns;
			a->of[state].runnable_ns += now - wake;
			if (with_stacks)
				add_to_sum(next, a, wake - a->since_ns, now - wake);
		}
		a->is_off = false;
		a->since_ns = now;
	}
	return 0;
}

SEC("tp_btf/sched_waking")
int floor_waking(unsigned long long *ctx)
{
	struct account *a = account_of((void *)ctx[0]);

	if (a)
		a->wake_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/task_newtask")
int floor_newtask(unsigned long long *ctx)
{
	create((void *)ctx[0], bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/sched_process_free")
int floor_free(unsigned long long *ctx)
{
	__u64 tag = tag_of((void *)ctx[0]);

	for (__u32 i = 0; i < TRIES; i++) {
		__u64 *entry = nth_entry(tag, i), found = *entry ^ key_of(tag);
		__u32 slot = found;

		if (found < NO_SLOT) {
			__sync_lock_test_and_set(entry, 0);
			bpf_map_push_elem(&free_slots, &slot, 0);
			break;
		}
	}
	return 0;
}

/* Read once: the threads that are there. */
SEC("iter/task")
int floor_thread(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (task && !account_of(task))
		create(task, bpf_ktime_get_ns());
	return 0;
}
