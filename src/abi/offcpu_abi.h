/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef OFFCPU_ABI_H
#define OFFCPU_ABI_H

/*
 * What the BPF programs and user space share: fixed-width records, the
 * configuration block and the loss reasons.
 *
 * All times are nanoseconds of CLOCK_MONOTONIC unless a name says otherwise.
 */

#ifndef __bpf__	/* there, ktypes.h has them */
#include <linux/types.h>
#endif

#define OFFCPU_MAX_DEPTH 127	/* frames of one stack; kernel.perf_event_max_stack's default */
#define OFFCPU_HIST_SLOTS 48	/* powers of two of ns: slot i holds [2^i, 2^(i+1)), the last all above */
#define OFFCPU_CHAIN_MAX 16	/* wakers followed, at most */
#define OFFCPU_WAKE_SLOTS 32	/* the same of delays from waking to running */
#define OFFCPU_COMM_LEN 16
#define OFFCPU_ANCESTRY 32	/* cgroup levels looked at */

/* What the sum of a wait is keyed by besides the stacks. */
enum offcpu_key_flag {
	OFFCPU_OPEN_AT_START = 1 << 0,	/* was asleep when the window began */
	/* shorter than the scale: stands for others, which fold/sums.h makes exact */
	OFFCPU_KEY_SAMPLED = 1 << 1,
	OFFCPU_KEY_ONCPU = 1 << 2,	/* hist: a stretch on CPU, not a wait */
	OFFCPU_KEY_RUNQ = 1 << 3,	/* hist: run-queue delay only */
	OFFCPU_KEY_CROSSING = 1 << 4,	/* one wait that began before the slice it ends in: see start_ns of its slot */
	OFFCPU_KEY_THROTTLED = 1 << 5,	/* more than half of it was a cgroup's CPU quota */
	OFFCPU_KEY_SECOND = 1 << 6,	/* summed in the second half of the slots; user space takes it off */
	/* of an open wait: filters keep it from being listed; at the end it may be one of a request all the same */
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

/* One counter of losses: how often, and how much thread time where that is known. */
struct offcpu_loss_count {
	__u64 count;
	__u64 time_ns;
};

/* The key of one aggregated wait. */
struct offcpu_wait_key {
	__u64 ustack;	/* stack id, 0: none; hist: pid << 32 | tid */
	__u64 kstack;
	__u64 waker;	/* see offcpu_rec_waker, with chains offcpu_rec_chain; 0: none is wanted, or known */
	__u64 object;	/* see abi/object_abi.h; 0: none is wanted, or known */
	__u32 tno;	/* thread number, see offcpu_rec_thread */
	__u8 flags;	/* enum offcpu_key_flag */
	__u8 state;	/* 'S','D','T','t','P','I','R' */
	/* in which the wait ends, modulo 65536: see slice_ns of the configuration; 0 once user space has seen to it */
	__u16 slice;
};

/*
 * Where waits are summed in the kernel: an array of these, in two halves that take turns.  A wait's place is found by
 * its key's hash, or is the next free one.  What nearly every wait adds to lies in two cache lines side by side: the
 * first one, and the histogram from 4 us to 268 ms.  Where sampling is on a wait may stand for several: see
 * abi/sample.h.
 */
struct offcpu_wait_slot {
	__u64 ustack, kstack;
	__u32 tno;		/* 0: free; of struct offcpu_wait_key, as are the others */
	__u8 flags;
	__u8 state;
	__u16 slice;
	__u64 count_q8;		/* in units of 1 / SAMPLE_ONE_Q8 */
	__u64 blocked_ns;
	__u64 runnable_ns;
	__u64 preempted_ns;
	__u64 max_ns;		/* of those kept, as it was */
	/* second line */
	__u32 hist_q8[OFFCPU_HIST_SLOTS];	/* see offcpu_hist_place(); each stays at its highest value */
	__u64 variance;		/* of their time, in units of 1 << SAMPLE_VARIANCE_SHIFT ns^2 */
	__u64 waker, object;	/* of the key */
	__u64 start_ns;		/* of the longest; with OFFCPU_KEY_CROSSING its own */
	/*
	 * The slots are made shorter by this where no wakers are wanted, whose waker is 0; whole pairs of lines either
	 * way.
	 */
	__u32 wake_hist_q8[OFFCPU_WAKE_SLOTS];	/* of runnable_ns of each; the same */
	__u8 unused[96];
};
#define OFFCPU_WAIT_SLOT_BYTES 512	/* with wakers */
#define OFFCPU_SHORT_SLOT_BYTES 384
#define OFFCPU_WAIT_SLOTS_MIN 16384	/* in each half; powers of two */
#define OFFCPU_WAIT_SLOTS_MAX 65536
#define OFFCPU_WAIT_GROUP_SLOTS 32	/* user space reads these together: whole pages of 4 KiB */
#define OFFCPU_WAIT_GROUPS (2 * OFFCPU_WAIT_SLOTS_MAX / OFFCPU_WAIT_GROUP_SLOTS)
#define OFFCPU_WAIT_SLOTS_NONE 32	/* where none is used: a half is whole pages all the same */
_Static_assert(sizeof(struct offcpu_wait_slot) == OFFCPU_WAIT_SLOT_BYTES &&
	       __builtin_offsetof(struct offcpu_wait_slot, hist_q8) == 64 &&
	       __builtin_offsetof(struct offcpu_wait_slot, wake_hist_q8) <= OFFCPU_SHORT_SLOT_BYTES, "see above");

/* Where the histogram's slot lies there: those of short waits behind the others. */
static inline __u32 offcpu_hist_place(__u32 slot)
{
	const __u32 first = 12;

	return slot >= first ? slot - first : slot + OFFCPU_HIST_SLOTS - first;
}

#define OFFCPU_THREAD_TABLE_BITS 3	/* see bpf/threads.bpf.h */
#define OFFCPU_THREAD_TABLES (1 << OFFCPU_THREAD_TABLE_BITS)

/* Of each CPU, since the window began; user space reads it meanwhile. */
struct offcpu_counts {
	__u64 switches;
	__u64 unfollowed;	/* processes that selected threads have begun and that are not selected */
	__u64 listed;		/* waits under stacks */
	__u64 user_walks, kernel_walks;	/* of sleepers' stacks that were not remembered */
	/* not where all are listed anyway: */
	__u64 listing_ns;	/* what listing them took */
	__u64 waits_q8[OFFCPU_HIST_SLOTS];	/* those that the listed ones stand for, by duration */
};

/* Letters of SEMANTICS, as bits of state_mask and as indices. */
enum offcpu_state {
	OFFCPU_STATE_S, OFFCPU_STATE_R, OFFCPU_STATE_D, OFFCPU_STATE_T,
	OFFCPU_STATE_t, OFFCPU_STATE_P, OFFCPU_STATE_I, OFFCPU_STATE_COUNT
};
#define OFFCPU_STATE_LETTERS "SRDTtPI"

#define OFFCPU_STACK_LOST 1	/* in the place of a stack's id: there was one, and it is counted as lost */

/* All waits of a thread in one state that the filters let through, kept by sampling or not. */
struct offcpu_state_total {
	__u64 count;
	__u64 preempted_ns;	/* a preempted thread has no other; these two are all that its account needs */
	__u64 blocked_ns;
	__u64 runnable_ns;
};

/*
 * The running account of a thread (SEMANTICS: "Time of a thread").  Its first 64 bytes hold nearly all that happens.
 */
struct offcpu_account {
	__u64 on_cpu_ns;
	__u64 switches;		/* times switched out */
	/* the off-CPU time, no sampling, no loss touches it, but for */
	struct offcpu_state_total state[OFFCPU_STATE_COUNT];
	/* what -m, -M and --state kept from being listed */
	struct offcpu_state_total filtered;
	__u64 lost_ns;		/* of the first, in waits that could not be summed under a stack */
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
	OFFCPU_WALK_UNKNOWN = 0,	/* by frame pointers: they just stop */
	OFFCPU_WALK_CUT,		/* at the depth asked for */
	OFFCPU_WALK_COMPLETE,		/* the tables say that this is the outermost frame */
	OFFCPU_WALK_BROKEN,
};

struct offcpu_rec_stack {
	__u32 type;
	__u32 depth;
	__u64 id;
	__u64 ts_ns;
	__u64 proc_start_ns;	/* start of the process, with exec_no and pid: the address space */
	__u32 pid;		/* in the tracer's pid namespace; 0 for kernel stacks */
	__u32 exec_no;
	__u16 is_user;
	__u16 is_exact;		/* of a kernel stack: ip[0] is no return address */
	__u32 end;		/* enum offcpu_walk_end */
	__u64 tables_ns;	/* of a user stack that is complete: the mappings it was walked by are of this time */
	__u64 ip[OFFCPU_MAX_DEPTH];
	/*
	 * Of user stacks of programs with an interpreter: where each frame begins, above the stack pointer.  Else the
	 * record ends before.
	 */
	__u32 sp[OFFCPU_MAX_DEPTH];
	__u32 pad;
};

/*
 * What lies on the kernel stack `id` below its first frame: the kernel's walk of another
 * thread leaves out the scheduler's own text, and with it mutexes, semaphores and
 * completions.  Words that look like return addresses, innermost first, each with the
 * function that the call before it calls (0: no direct call); the last is the stack's ip[0].
 */
#define OFFCPU_SLEEP_PATH_MAX 32
struct offcpu_rec_sleep_path {
	__u32 type;
	__u32 cnt;
	__u64 id;
	__u64 word[OFFCPU_SLEEP_PATH_MAX];
	__u64 callee[OFFCPU_SLEEP_PATH_MAX];
};

/* A program whose waits are to be walked and whose unwind tables are not there. */
struct offcpu_rec_space {
	__u32 type;
	__u32 pid;
	__u64 space;	/* the key its mappings are wanted under */
};

/* In what context a thread was made runnable. */
enum offcpu_waker_kind {
	OFFCPU_WAKER_TASK = 1,		/* a thread did it, or a soft interrupt that it raised itself */
	OFFCPU_WAKER_SOFTIRQ,
	OFFCPU_WAKER_HARDIRQ,
	OFFCPU_WAKER_NMI,
};

/* Interrupts of the CPUs among themselves and of their timers, which have no number on x86. */
enum offcpu_irq_vector {
	OFFCPU_VECTOR_NONE = 0,
	OFFCPU_VECTOR_TIMER,
	OFFCPU_VECTOR_IPI,
	OFFCPU_VECTOR_IRQ_WORK,
};

#define OFFCPU_IRQ_NAME_LEN 32

/*
 * A waker: a thread at a place, or an interrupt.  Like a stack it is interned and crosses
 * once; waits are summed under its id.  Filters are about the sleeper, so it may be any thread.
 */
struct offcpu_rec_waker {
	__u32 type;
	__u32 kind;		/* enum offcpu_waker_kind */
	__u64 id;
	__u64 ustack, kstack;
	__u64 start_ns;		/* of the thread */
	__u32 pid, tid;		/* 0: an interrupt, or the idle thread */
	__s32 nr;		/* interrupt number or vector of the soft interrupt; -1: none known */
	__u32 vector;		/* enum offcpu_irq_vector, of an interrupt without a number */
	char comm[OFFCPU_COMM_LEN];	/* of the thread; of an interrupt the disk that it speaks for, or empty */
	char irq_name[OFFCPU_IRQ_NAME_LEN];	/* of the device, by its driver; may be empty */
};

/* Why a chain of wakers goes no further (SEMANTICS, "The waker"). */
enum offcpu_chain_end {
	OFFCPU_CHAIN_AWAKE = 1,	/* the last one was awake all the time that is to be explained */
	OFFCPU_CHAIN_LOOP,	/* so it was, and who had woken it is the sleeper or in the chain */
	OFFCPU_CHAIN_INTERRUPT,
	OFFCPU_CHAIN_CUT,	/* at the depth asked for */
	OFFCPU_CHAIN_START,	/* awake all the time, and not seen to sleep since tracing began */
	OFFCPU_CHAIN_UNKNOWN,	/* who woke the last one could not be recorded */
	OFFCPU_CHAIN_END_COUNT
};

/* A chain: what woke a thread, what had woken that one for its last wait, and so on. */
struct offcpu_rec_chain {
	__u32 type;
	__u8 cnt;
	__u8 end;	/* enum offcpu_chain_end */
	__u8 loop_to;	/* 0: the sleeper; else which of the wakers */
	__u8 pad;
	__u64 id;
	__u64 waker[OFFCPU_CHAIN_MAX];	/* ids of offcpu_rec_waker, nearest first */
};

/*
 * The same time of a wait told by its chain: what each waker did from the last one's sleep up to
 * its waking.  What all of it lacks to the blocked time is the first waker's CPU time, or an
 * interrupt's where it is the first.
 */
struct offcpu_chain_sum {
	struct {
		__u64 ran_ns, runnable_ns;	/* after its own wait ended; runnable: preempted, too */
		__u64 earlier_ns;		/* before its own wait began */
	} hop[OFFCPU_CHAIN_MAX];
	__u64 rest_ns;		/* waited by the last one, for who is not in the chain; or for an interrupt */
};

/*
 * With chains, each sleep of any thread as it ends: user space keeps the last ones of each, for what wakers did before
 * their last sleep. A record of a sleep crosses before those of waits that the thread ends afterwards.
 */
struct offcpu_rec_sleep {
	__u32 type;
	__u32 tno;
	__u32 no;		/* counts the thread's sleeps: one that is missing is noticed */
	__u32 by_tno;		/* who ended it; 0: an interrupt, or not known */
	__u64 slept_ns, woken_ns;
	/* runnable or preempted, from the end of its sleep before to the beginning of this one */
	__u64 off_before_ns;
	__u64 waker;		/* id; 0: not known */
	__u64 waker_on_ns;	/* of a thread: its last switch-in before it did the waking, */
	__u64 waker_off_ns;	/* and how long it had been runnable or preempted since its own last sleep */
};

/* Of one wait that its chain explains: what that waker did before its last sleep in that time is to be told. */
struct offcpu_rec_earlier {
	__u32 type;
	__u32 tno;		/* the waker's */
	__u32 hop;		/* which one of the chain, from 0 */
	__u32 depth;		/* wakers that may be followed from there on */
	__u64 start_ns, end_ns;
	__u64 weight_q8;	/* of sampling */
	struct offcpu_wait_key key;	/* as of the sum of chains */
};

enum offcpu_thread_end {
	OFFCPU_END_WINDOW = 0,	/* still there when the window ended */
	OFFCPU_END_EXIT = 1,
	OFFCPU_END_EXEC = 2,	/* goes on under another tno: another program */
	OFFCPU_END_LEFT = 3,	/* left the cgroup that was asked for */
	/* goes on in the next window: the account is all since from_ns, but for what goes on at the cut */
	OFFCPU_END_CUT = 4,
};

enum offcpu_thread_flag {
	OFFCPU_THREAD_KERNEL = 1 << 0,
	/* was off CPU when the window began, whether or not that wait is listed */
	OFFCPU_THREAD_OPEN_AT_START = 1 << 1,
	OFFCPU_THREAD_OPEN_AT_END = 1 << 2,	/* was off CPU when it ended; the same */
};

struct offcpu_rec_thread {
	__u32 type;
	__u32 tno;
	__u32 pid;
	__u32 tid;
	__u64 start_ns;		/* of the thread, since boot, as the kernel keeps it */
	__u64 proc_start_ns;
	__u64 from_ns;
	__u64 to_ns;
	struct offcpu_account account;
	/* parts of it: the thread's cgroup had used up its CPU quota */
	__u64 throttled_runnable_ns, throttled_preempted_ns;
	__u64 cgroup_id;	/* in the version 2 hierarchy; 0: not asked for */
	char comm[OFFCPU_COMM_LEN];
	char process[OFFCPU_COMM_LEN];	/* comm of the thread group's leader */
	__u32 flags;		/* enum offcpu_thread_flag */
	__u8 end;		/* enum offcpu_thread_end */
	__u8 open_state;	/* letter of the wait still open at the end, 0: none */
	__u16 open_flags;	/* enum offcpu_key_flag of that wait: was it open at the start, too? */
	__u64 open_ustack;
	__u64 open_kstack;
	__u64 open_waker;	/* of a wait that is over but for its turn on a CPU */
	__u64 open_object;
	__u64 open_blocked_ns;
	__u64 open_runnable_ns;
	__u64 open_preempted_ns;
	/* at a cut: of a thread that was on CPU then, since it got it or since the cut before */
	__u64 open_on_cpu_ns;
};

/* At a cut: a thread that has slept on since the cut before.  All else is as it was told then. */
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
	__u64 ran_ns;		/* the stretch on CPU before the wait */
	__u64 ustack, kstack;
	__u32 by_pid, by_tid;	/* who got the CPU when this thread was preempted */
	char comm[OFFCPU_COMM_LEN];
	char by_comm[OFFCPU_COMM_LEN];
	__u64 waker, object;	/* ids, as of sums; 0: not known, or not asked for */
	__u8 state;
	__u8 is_throttled;	/* as OFFCPU_KEY_THROTTLED */
	__u8 open_at_start;
	__u8 is_kernel;		/* a kernel thread */
	__u8 open_at_end;	/* user space's: of the account of a thread that still waited as the window ended */
	__u8 pad[3];
	__u8 trace[16], span[8];	/* that it was for, as W3C writes them; 0: of none */
};

/* Set before the programs are loaded; the verifier prunes what is off. */
struct offcpu_config {
	__u64 min_ns, max_ns;		/* bounds of a wait's duration that is listed */
	__u64 request_slower_ns;	/* only waits of requests that take so long are listed; 0: those of all */
	/* sums are kept apart by slices of the window of this length; 0: they are not */
	__u64 slice_ns;
	__u32 self_tgid;		/* the tracer, left out; 0: trace it too */
	__u32 pidns_inum;		/* the tracer's pid namespace; 0: the initial one */
	__u32 max_depth;
	__u32 state_mask;		/* 1 << enum offcpu_state; 0: all */
	__u8 want_ustack, want_kstack;
	__u8 want_user, want_kernel;	/* which threads */
	__u8 by_tgid, by_tid, by_comm, by_cgroup;	/* filters in force */
	__u8 follow_exec;		/* the command: select `command_pid` at its exec */
	__u8 follow_forks;		/* by_tgid, by_tid: what selected threads fork is selected, too */
	__u8 by_ancestry;		/* by_tgid: and whatever these have forked before */
	__u8 want_events;
	__u8 want_switches;		/* tell each switch, too */
	__u8 want_waits;		/* sum waits under stacks */
	__u8 hist, hist_oncpu, hist_runq;	/* hist: no stacks, sums per thread */
	__u8 has_prev_state;		/* sched_switch passes prev_state (Linux 5.18) */
	__u8 want_tables;		/* unwind by tables where there are some */
	__u32 command_pid;
	__u32 stack_bytes;		/* of a thread's kernel stack */
	__u32 wait_slots;		/* in each half: a power of two */
	__u32 thread_bits;		/* of the number of slots in each table of threads */
	__u32 task_struct_id, timespec64_id;	/* of the kernel's types; 0: pointers cannot be cast to them */
	__u32 requests_max;		/* threads that may be in one at a time */
	__u32 memories, memories_max;	/* what threads remember walks in: how many there are, and may be taken */
	__u8 verify_walks;		/* tests: do each remembered walk in full, too, and compare */
	__u8 can_walk;			/* there is bpf_loop: user stacks are walked by our own programs */
	__u8 early_filter;		/* threads are told by selected_bits first */
	__u8 looks_at_all;		/* no thread can be told from a subject without a look at its slot */
	__u8 may_sample;		/* the scale may be above 0 */
	__u8 may_cut;			/* windows may be cut */
	__u8 lists_all;			/* no bounds and no states: while none is sampled each wait is listed */
	__u8 want_wakers;
	__u8 chain_depth;		/* 0: one waker, no chains */
	__u8 want_locks;
	__u8 want_objects;
	__u8 want_services;		/* accounts tell of which group the thread is */
	__u8 want_storms;		/* wakings of many threads at once */
	__u8 only_storms;		/* wakers of those and of no others */
	__u8 want_blame;		/* who held the CPU while a thread queued */
	__u8 want_requests;		/* only waits inside of them are listed: see features/requests/request.bpf.h */
	__u8 requests_beside;		/* windows with requests in them are cut: all other waits are listed, too */
	__u8 want_spans;		/* requests one by one: see features/requests/span.bpf.h */
	__u8 want_calls;		/* of several functions, each call is summed: see features/requests/calls.bpf.h */
	__u8 named_routes;		/* requests have names by their routes */
	__u8 by_connection;		/* they are those of sockets */
	__u8 want_routes;		/* of requests: see features/requests/route.bpf.h */
	__u8 by_goroutine;		/* requests are goroutines', not threads': see runtimes/go/request.bpf.h */
	__u8 page_shift;		/* of the kernel's pages */
	__u8 has_quota;			/* some cgroup has a CPU quota: woken threads' queues are looked at, too */
};

#endif
