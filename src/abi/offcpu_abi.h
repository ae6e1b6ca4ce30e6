/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef OFFCPU_ABI_H
#define OFFCPU_ABI_H

/*
 * What the BPF programs and user space share: fixed-width records, the configuration and the loss reasons.
 *
 * All times are nanoseconds of CLOCK_MONOTONIC unless a name says otherwise.
 */

#ifndef __bpf__	/* BPF programs have them from ktypes.h */
#include <linux/types.h>
#endif

#define OFFCPU_MAX_DEPTH 127	/* frames of one stack; the default of kernel.perf_event_max_stack */
#define OFFCPU_HIST_SLOTS 48	/* powers of two of ns: slot i holds [2^i, 2^(i+1)), the last one all above */
#define OFFCPU_CHAIN_MAX 16	/* maximal number of wakers in a chain */
#define OFFCPU_WAKE_SLOTS 32	/* like OFFCPU_HIST_SLOTS, of delays from waking to running */
#define OFFCPU_COMM_LEN 16
#define OFFCPU_ANCESTRY 32	/* levels of cgroups that are checked */

/* Part of the key that waits are summed under, besides the stacks. */
enum offcpu_key_flag {
	OFFCPU_OPEN_AT_START = 1 << 0,	/* the thread was asleep when the window began */
	/* shorter than the scale: stands for others; fold/sums.h makes it exact */
	OFFCPU_KEY_SAMPLED = 1 << 1,
	OFFCPU_KEY_ONCPU = 1 << 2,	/* hist: a stretch on CPU, not a wait */
	OFFCPU_KEY_RUNQ = 1 << 3,	/* hist: only the run-queue delay */
	OFFCPU_KEY_CROSSING = 1 << 4,	/* one wait that began before the slice where it ends: see its slot's
					 * start_ns */
	OFFCPU_KEY_THROTTLED = 1 << 5,	/* more than half of it was a cgroup's CPU quota */
	OFFCPU_KEY_SECOND = 1 << 6,	/* summed in the second half of the slots; user space clears it */
	/* of an open wait: the filters exclude it; at the end it may still belong to a request */
	OFFCPU_OPEN_FILTERED = 1 << 7,
};

/* Why time or a stack could not be recorded; counted in the kernel, shown by every report. */
#define OFFCPU_LOSSES(X) \
	X(STORAGE, "storage", \
	  "a thread had no room for its account: more threads began at once than there was room for") \
	X(HIDDEN, "hidden_thread", "a thread ran that the kernel hides from tracing programs: it has no account") \
	X(WAIT_MAP, "wait_map_full", "the map of wait sums was full") \
	X(KSTACK, "kernel_stack", "the kernel stack of a wait is not known") \
	X(USTACK, "user_stack", "the user stack could not be walked") \
	X(RING_STACK, "ring_stack", "the ring buffer was full for a stack (it is tried again)") \
	X(RING_THREAD, "ring_thread", "there was no room for the account of a thread that had ended") \
	X(RING_EVENT, "ring_event", "the ring buffer was full for an event line") \
	X(RING_SWITCH, "ring_switch", "the ring buffer was full for a context switch") \
	X(LANGUAGE, "interpreter", "an interpreter's frames could not be read: the user stack is shown without them") \
	X(CONTEXT, "trace_context", "a thread's trace context could not be read: its wait is shown without it") \
	X(NO_TABLE, "no_unwind_table", \
	  "a user stack was walked by frame pointers, its unwind tables were not there yet") \
	X(SNAPSHOT, "snapshot", "a sleeping thread woke before its user stack could be read") \
	X(NO_WAKE, "missed_wakeup", "a sleep ended and its waking was not seen") \
	X(WAKER, "waker", \
	  "who woke a thread is not known: the waker had no account, or its record did not get through") \
	X(WAKER_SKIPPED, "waker_sampled", \
	  "who ended a sleep was not looked at: the sleep was short, but in a chain, or kept for its long wait for a CPU") \
	X(WAKER_ESTIMATED, "waker_estimated", \
	  "what woke a thread from short sleeps had several callers: which one is known of some, and told of all") \
	X(CHAIN_MAP, "chain_map_full", \
	  "the map of what chains of wakers tell was full: the first waker counts as having run") \
	X(CHAIN_LOG, "chain_log", "the ring buffer was full for what a waker did earlier: a chain tells it as one") \
	X(OBJECT, "lock", "which lock or other object a thread waited for did not get through") \
	X(BLAME_MAP, "blame_map", "no room was left to sum up who held the CPU") \
	X(STORM_MAP, "storm_map", "no room was left to sum up a wakeup storm") \
	X(ONCPU_MAP, "on_cpu_map", "no room was left for samples of threads on CPU") \
	X(SEQUENCE, "missed_switch", "a context switch of the thread was not seen") \
	X(REMEMBERED, "remembered_walk", "a remembered walk differed from a full one (only checked by tests)") \
	X(RECURSION, "recursion", "the kernel skipped a program that would have nested")

enum offcpu_loss {
#define X(id, name, help) OFFCPU_LOSS_##id,
	OFFCPU_LOSSES(X)
#undef X
	OFFCPU_LOSS_COUNT
};

/* One counter of losses: how often, and how much thread time, where known. */
struct offcpu_loss_count {
	__u64 count;
	__u64 time_ns;
};

struct offcpu_wait_key {
	__u64 ustack;	/* stack ids, 0: none; hist: pid << 32 | tid */
	__u64 kstack;
	__u64 waker;	/* see offcpu_rec_waker, with chains offcpu_rec_chain; 0: not wanted or not known */
	__u64 object;	/* see abi/object_abi.h; 0: not wanted or not known */
	__u32 tno;	/* thread number, see offcpu_rec_thread */
	__u8 flags;	/* enum offcpu_key_flag */
	__u8 state;	/* 'S','D','T','t','P','I','R' */
	/* slice in which the wait ends, modulo 65536, see slice_ns of the configuration; 0 once assigned */
	__u16 slice;
};

/*
 * Where waits are summed in the kernel: an array of these, in two halves that take turns. A wait's place is found by
 * its key's hash, or is the next free one. What nearly every wait adds to lies in two adjacent cache lines: the first
 * one, and the histogram from 4 us to 268 ms. Where sampling is on, one wait may stand for several: see abi/sample.h.
 */
struct offcpu_wait_slot {
	__u64 ustack, kstack;
	__u32 tno;		/* 0: free; this and the next four are fields of struct offcpu_wait_key */
	__u8 flags;
	__u8 state;
	__u16 slice;
	__u64 count_q8;		/* in units of 1 / SAMPLE_ONE_Q8 */
	__u64 blocked_ns;
	__u64 runnable_ns;
	__u64 preempted_ns;
	__u64 max_ns;		/* durations of kept waits, unscaled */
	/* second cache line */
	__u32 hist_q8[OFFCPU_HIST_SLOTS];	/* see offcpu_hist_place(); saturating */
	__u64 variance;		/* of the sampled time, in units of 1 << SAMPLE_VARIANCE_SHIFT ns^2 */
	__u64 waker, object;	/* also of the key */
	__u64 start_ns;		/* of the longest wait; with OFFCPU_KEY_CROSSING of the only one */
	/* Slots are shorter by this if wakers are not wanted; whole pairs of cache lines either way. */
	__u32 wake_hist_q8[OFFCPU_WAKE_SLOTS];	/* of each wait's runnable_ns; saturating */
	__u8 unused[96];
};
#define OFFCPU_WAIT_SLOT_BYTES 512	/* size with wakers */
#define OFFCPU_SHORT_SLOT_BYTES 384
#define OFFCPU_WAIT_SLOTS_MIN 16384	/* slots in each half; a power of two */
#define OFFCPU_WAIT_SLOTS_MAX 65536
#define OFFCPU_WAIT_GROUP_SLOTS 32	/* slots that user space reads at once: whole pages of 4 KiB */
#define OFFCPU_WAIT_GROUPS (2 * OFFCPU_WAIT_SLOTS_MAX / OFFCPU_WAIT_GROUP_SLOTS)
#define OFFCPU_WAIT_SLOTS_NONE 32	/* slots of a half where none is used: still whole pages */
_Static_assert(sizeof(struct offcpu_wait_slot) == OFFCPU_WAIT_SLOT_BYTES &&
	       __builtin_offsetof(struct offcpu_wait_slot, hist_q8) == 64 &&
	       __builtin_offsetof(struct offcpu_wait_slot, wake_hist_q8) <= OFFCPU_SHORT_SLOT_BYTES, "see above");

/* The place of a histogram's slot in hist_q8: those of short waits come last. */
static inline __u32 offcpu_hist_place(__u32 slot)
{
	const __u32 first = 12;

	return slot >= first ? slot - first : slot + OFFCPU_HIST_SLOTS - first;
}

#define OFFCPU_THREAD_TABLE_BITS 3	/* see bpf/threads.bpf.h */
#define OFFCPU_THREAD_TABLES (1 << OFFCPU_THREAD_TABLE_BITS)

/* One for each CPU, counted since the window began; user space reads them at any time. */
struct offcpu_counts {
	__u64 switches;
	__u64 unfollowed;	/* unselected processes that selected threads have started */
	__u64 listed;		/* waits summed under stacks */
	__u64 user_walks, kernel_walks;	/* of sleeping threads, whose stacks were not in the cache */
	/* only where some waits are not listed: */
	__u64 listing_ns;	/* time spent on listing waits */
	__u64 waits_q8[OFFCPU_HIST_SLOTS];	/* waits that the listed ones stand for, by duration */
};

/* The state letters of docs/semantics.md, as bits of state_mask and as indices. */
enum offcpu_state {
	OFFCPU_STATE_S, OFFCPU_STATE_R, OFFCPU_STATE_D, OFFCPU_STATE_T,
	OFFCPU_STATE_t, OFFCPU_STATE_P, OFFCPU_STATE_I, OFFCPU_STATE_COUNT
};
#define OFFCPU_STATE_LETTERS "SRDTtPI"

#define OFFCPU_STACK_LOST 1	/* in place of a stack's id: the stack was lost, and counted so */

/* All waits of a thread in one state that the filters admit, whether sampling kept them or not. */
struct offcpu_state_total {
	__u64 count;
	__u64 preempted_ns;	/* a preempted thread has only this; its account needs only these two */
	__u64 blocked_ns;
	__u64 runnable_ns;
};

/* The running account of a thread (docs/semantics.md, "Time of a thread"). Most updates are in its first 64 bytes. */
struct offcpu_account {
	__u64 on_cpu_ns;
	__u64 switches;		/* number of switches out */
	/* the off-CPU time, before sampling and losses, but without */
	struct offcpu_state_total state[OFFCPU_STATE_COUNT];
	/* what -m, -M and --state exclude */
	struct offcpu_state_total filtered;
	__u64 lost_ns;		/* part of the above in waits that could not be summed under a stack */
};

enum offcpu_rec_type {
	OFFCPU_REC_STACK = 1,
	OFFCPU_REC_THREAD = 2,
	OFFCPU_REC_EVENT = 3,
	OFFCPU_REC_SLEEP_PATH = 4,
	OFFCPU_REC_SPACE = 5,
	OFFCPU_REC_WAKER = 6,
	OFFCPU_REC_CHAIN = 7,
	OFFCPU_REC_SLEEP = 8,
	OFFCPU_REC_EARLIER = 9,
	OFFCPU_REC_OBJECT = 10,
	OFFCPU_REC_BLAME = 11,	/* see features/blame/abi.h */
	OFFCPU_REC_STILL = 12,
	OFFCPU_REC_SWITCH = 13,	/* see abi/sched_abi.h */
	OFFCPU_REC_REQUEST_SITE = 20,	/* see features/requests/abi.h */
	OFFCPU_REC_REQUEST_SPAN = 21,
};

/* How the walk of a stack ended, as far as the walker knows. */
enum offcpu_walk_end {
	OFFCPU_WALK_UNKNOWN = 0,	/* at the end of a chain of frame pointers, which gives no reason */
	OFFCPU_WALK_CUT,		/* at the maximal depth */
	OFFCPU_WALK_COMPLETE,		/* by the tables this is the outermost frame */
	OFFCPU_WALK_BROKEN,
};

struct offcpu_rec_stack {
	__u32 type;
	__u32 depth;
	__u64 id;
	__u64 ts_ns;
	__u64 proc_start_ns;	/* start of the process; with exec_no and pid it identifies the address space */
	__u32 pid;		/* in the tracer's pid namespace; 0 for kernel stacks */
	__u32 exec_no;
	__u16 is_user;
	__u16 is_exact;		/* of a kernel stack: ip[0] is not a return address */
	__u32 end;		/* enum offcpu_walk_end */
	__u64 tables_ns;	/* of a complete user stack: time of the mappings by which it was walked */
	__u64 ip[OFFCPU_MAX_DEPTH];
	/*
	 * Only of user stacks of programs with an interpreter: where each frame begins, above the stack pointer.
	 * Otherwise the record ends before it.
	 */
	__u32 sp[OFFCPU_MAX_DEPTH];
	__u32 pad;
};

/*
 * What lies on the kernel stack `id` below its first frame. The kernel's walk of another thread leaves out the
 * scheduler's own text, and with it mutexes, semaphores and completions. Words that look like return addresses,
 * innermost first, each with the function that the preceding call calls (0: not a direct call). The last is the
 * stack's ip[0].
 */
#define OFFCPU_SLEEP_PATH_MAX 32
struct offcpu_rec_sleep_path {
	__u32 type;
	__u32 cnt;
	__u64 id;
	__u64 word[OFFCPU_SLEEP_PATH_MAX];
	__u64 callee[OFFCPU_SLEEP_PATH_MAX];
};

/* A program whose waits are to be walked and whose unwind tables are missing. */
struct offcpu_rec_space {
	__u32 type;
	__u32 pid;
	__u64 space;	/* the key under which its mappings are wanted */
};

/* The context in which a thread was made runnable. */
enum offcpu_waker_kind {
	OFFCPU_WAKER_TASK = 1,		/* by a thread, or by a soft interrupt that it raised itself */
	OFFCPU_WAKER_SOFTIRQ,
	OFFCPU_WAKER_HARDIRQ,
	OFFCPU_WAKER_NMI,
};

/* Interrupts between CPUs and of their timers, which have no number on x86. */
enum offcpu_irq_vector {
	OFFCPU_VECTOR_NONE = 0,
	OFFCPU_VECTOR_TIMER,
	OFFCPU_VECTOR_IPI,
	OFFCPU_VECTOR_IRQ_WORK,
};

#define OFFCPU_IRQ_NAME_LEN 32

/*
 * A waker: a thread at a place, or an interrupt. Like a stack it has an id and crosses once; waits are summed under
 * its id. Filters apply to the sleeper, so the waker may be any thread.
 */
struct offcpu_rec_waker {
	__u32 type;
	__u32 kind;		/* enum offcpu_waker_kind */
	__u64 id;
	__u64 ustack, kstack;
	__u64 start_ns;		/* of the thread */
	__u32 pid, tid;		/* 0: an interrupt, or the idle thread */
	__s32 nr;		/* number of the interrupt, vector of the soft interrupt; -1: not known */
	__u32 vector;		/* enum offcpu_irq_vector, of an interrupt without a number */
	char comm[OFFCPU_COMM_LEN];	/* of the thread; of an interrupt the disk that it serves, or empty */
	char irq_name[OFFCPU_IRQ_NAME_LEN];	/* the device's, from its driver; may be empty */
};

/* Why a chain of wakers ends (docs/semantics.md, "The waker"). */
enum offcpu_chain_end {
	OFFCPU_CHAIN_AWAKE = 1,	/* the last waker was awake all the time that is to be explained */
	OFFCPU_CHAIN_LOOP,	/* the same, but its own waker is the sleeper or already in the chain */
	OFFCPU_CHAIN_INTERRUPT,
	OFFCPU_CHAIN_CUT,	/* at the maximal depth */
	OFFCPU_CHAIN_START,	/* awake all the time; no sleep of it seen since tracing began */
	OFFCPU_CHAIN_UNKNOWN,	/* the last one's waker could not be recorded */
	OFFCPU_CHAIN_END_COUNT
};

/* A chain: the thread's waker, that waker's waker at its last sleep, and so on. */
struct offcpu_rec_chain {
	__u32 type;
	__u8 cnt;
	__u8 end;	/* enum offcpu_chain_end */
	__u8 loop_to;	/* 0: the sleeper; else the index of the waker */
	__u8 pad;
	__u64 id;
	__u64 waker[OFFCPU_CHAIN_MAX];	/* ids of offcpu_rec_waker, nearest first */
};

/*
 * The blocked time of one wait, divided along its chain: what each waker did from the previous one's sleep to its
 * waking. The rest of the blocked time is the first waker's CPU time, or an interrupt's where that is the first.
 */
struct offcpu_chain_sum {
	struct {
		__u64 ran_ns, runnable_ns;	/* after its own wait ended; runnable: includes preempted */
		__u64 earlier_ns;		/* before its own wait began */
	} hop[OFFCPU_CHAIN_MAX];
	__u64 rest_ns;		/* wait of the last waker, for a thread outside the chain or for an interrupt */
};

/*
 * With chains: each sleep of any thread as it ends. User space keeps the last ones of each thread, to tell what wakers
 * did before their last sleep. The record of a sleep crosses before those of later waits of the thread.
 */
struct offcpu_rec_sleep {
	__u32 type;
	__u32 tno;
	__u32 no;		/* counts the thread's sleeps, so a missing one is noticed */
	__u32 by_tno;		/* the waker; 0: an interrupt, or not known */
	__u64 slept_ns, woken_ns;
	/* runnable or preempted, from the end of its previous sleep to the beginning of this one */
	__u64 off_before_ns;
	__u64 waker;		/* its id; 0: not known */
	__u64 waker_on_ns;	/* where it is a thread: its last switch-in before the waking, */
	__u64 waker_off_ns;	/* and how long it had been runnable or preempted since its own last sleep */
};

/* One wait explained by its chain, in which a waker was active before its last sleep: user space tells what it did. */
struct offcpu_rec_earlier {
	__u32 type;
	__u32 tno;		/* the waker's */
	__u32 hop;		/* its index in the chain, from 0 */
	__u32 depth;		/* how many wakers may be followed from there */
	__u64 start_ns, end_ns;
	__u64 weight_q8;	/* weight of the wait by sampling */
	struct offcpu_wait_key key;	/* key of the chain's sum */
};

enum offcpu_thread_end {
	OFFCPU_END_WINDOW = 0,	/* still there when the window ended */
	OFFCPU_END_EXIT = 1,
	OFFCPU_END_EXEC = 2,	/* continues under another tno: another program */
	OFFCPU_END_LEFT = 3,	/* left the selected cgroup */
	/* continues in the next window: the account is cumulative since from_ns, except what is open at the cut */
	OFFCPU_END_CUT = 4,
};

enum offcpu_thread_flag {
	OFFCPU_THREAD_KERNEL = 1 << 0,
	/* was off CPU when the window began, whether that wait is listed or not */
	OFFCPU_THREAD_OPEN_AT_START = 1 << 1,
	OFFCPU_THREAD_OPEN_AT_END = 1 << 2,	/* was off CPU when it ended, listed or not */
};

struct offcpu_rec_thread {
	__u32 type;
	__u32 tno;
	__u32 pid;
	__u32 tid;
	__u64 start_ns;		/* since boot, start of the thread as the kernel has it */
	__u64 proc_start_ns;
	__u64 from_ns;
	__u64 to_ns;
	struct offcpu_account account;
	/* the parts in which the thread's cgroup had used up its CPU quota */
	__u64 throttled_runnable_ns, throttled_preempted_ns;
	__u64 cgroup_id;	/* in the version 2 hierarchy; 0: not wanted */
	char comm[OFFCPU_COMM_LEN];
	char process[OFFCPU_COMM_LEN];	/* comm of the thread group's leader */
	__u32 flags;		/* enum offcpu_thread_flag */
	__u8 end;		/* enum offcpu_thread_end */
	__u8 open_state;	/* letter of the wait still open at the end, 0: none */
	__u16 open_flags;	/* enum offcpu_key_flag of that wait: was it open at the start as well? */
	__u64 open_ustack;
	__u64 open_kstack;
	__u64 open_waker;	/* of a wait that has ended except for its time on the run queue */
	__u64 open_object;
	__u64 open_blocked_ns;
	__u64 open_runnable_ns;
	__u64 open_preempted_ns;
	/* at a cut, of a thread on CPU: since its switch-in or the previous cut */
	__u64 open_on_cpu_ns;
};

/* At a cut: a thread that has slept since the previous cut. Everything else is as in its record then. */
struct offcpu_rec_still {
	__u32 type;
	__u32 tno;
	__u64 cgroup_id;
	char comm[OFFCPU_COMM_LEN];
	char process[OFFCPU_COMM_LEN];
};

/* One wait, for `offcpu events`. */
struct offcpu_rec_event {
	__u32 type;
	__u32 cpu;
	__u64 end_ns;		/* switched in */
	__u32 pid, tid;
	__u64 blocked_ns, runnable_ns, preempted_ns;
	__u64 ran_ns;		/* stretch on the CPU before the wait */
	__u64 ustack, kstack;
	__u32 by_pid, by_tid;	/* the thread that got the CPU when this one was preempted */
	char comm[OFFCPU_COMM_LEN];
	char by_comm[OFFCPU_COMM_LEN];
	__u64 waker, object;	/* ids, as in sums; 0: not known or not wanted */
	__u8 state;
	__u8 is_throttled;	/* as OFFCPU_KEY_THROTTLED */
	__u8 open_at_start;
	__u8 is_kernel;
	__u8 open_at_end;	/* set by user space: a wait that was open as the window ended, from the account */
	__u8 pad[3];
	__u8 trace[16], span[8];	/* of its request, as W3C defines them; 0: none */
};

/* Set before the programs are loaded; the verifier removes code of what is off. */
struct offcpu_config {
	__u64 min_ns, max_ns;		/* bounds of the duration of listed waits */
	__u64 request_slower_ns;	/* list only waits of requests that take this long; 0: of all */
	/* length of the window's slices that have separate sums; 0: none */
	__u64 slice_ns;
	__u32 self_tgid;		/* the tracer, which is left out; 0: trace it too */
	__u32 pidns_inum;		/* the tracer's pid namespace; 0: the initial one */
	__u32 max_depth;
	__u32 state_mask;		/* 1 << enum offcpu_state; 0: all */
	__u8 want_ustack, want_kstack;
	__u8 want_user, want_kernel;	/* which threads' stacks */
	__u8 by_tgid, by_tid, by_comm, by_cgroup;	/* active filters */
	__u8 follow_exec;		/* the command: select `command_pid` at its exec */
	__u8 follow_forks;		/* with by_tgid, by_tid: children of selected threads are selected, too */
	__u8 by_ancestry;		/* with by_tgid: and all existing descendants */
	__u8 want_events;
	__u8 want_switches;		/* send each context switch as well */
	__u8 want_waits;		/* sum waits under stacks */
	__u8 hist, hist_oncpu, hist_runq;	/* hist: no stacks, sums by thread */
	__u8 has_prev_state;		/* sched_switch passes prev_state (Linux 5.18) */
	__u8 want_tables;		/* unwind by tables where there are any */
	__u32 command_pid;
	__u32 stack_bytes;		/* size of a thread's kernel stack */
	__u32 wait_slots;		/* in each half: a power of two */
	__u32 thread_bits;		/* log2 of the number of slots in each table of threads */
	__u32 task_struct_id, timespec64_id;	/* BTF ids of these kernel types; 0: pointers cannot be cast to them */
	__u32 requests_max;		/* threads that can be in requests at once */
	__u32 memories, memories_max;	/* caches of walks: how many exist, and how many may be used */
	__u8 verify_walks;		/* tests: repeat each cached walk in full and compare */
	__u8 can_walk;			/* bpf_loop exists: our own programs walk user stacks */
	__u8 early_filter;		/* check selected_bits first */
	__u8 looks_at_all;		/* threads can only be selected by their slot */
	__u8 may_sample;		/* the scale may be above 0 */
	__u8 may_cut;
	__u8 lists_all;			/* no bounds and no states: without sampling each wait is listed */
	__u8 want_wakers;
	__u8 chain_depth;		/* 0: one waker, no chains */
	__u8 want_locks;
	__u8 want_objects;
	__u8 want_services;		/* accounts name the thread's group */
	__u8 want_storms;		/* record wakings of many threads at once */
	__u8 only_storms;		/* record wakers of those only */
	__u8 want_blame;		/* record which thread held the CPU while another one queued */
	__u8 want_requests;		/* list only waits within requests: see features/requests/request.bpf.h */
	__u8 requests_beside;		/* windows with requests are cut: list all other waits, too */
	__u8 want_spans;		/* send requests one by one: see features/requests/span.bpf.h */
	__u8 want_calls;		/* of several functions: sum each call, see features/requests/calls.bpf.h */
	__u8 named_routes;		/* requests are named by their routes */
	__u8 by_connection;		/* requests are identified by sockets */
	__u8 want_routes;		/* routes of requests: see features/requests/route.bpf.h */
	__u8 by_goroutine;		/* requests belong to goroutines, not threads: see runtimes/go/request.bpf.h */
	__u8 page_shift;		/* log2 of the kernel's page size */
	__u8 has_quota;			/* some cgroup has a CPU quota: check the run queues of woken threads, too */
};

#endif
