/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_STATE_BPF_H
#define BPF_STATE_BPF_H

/*
 * What is kept of each thread and, while an event is looked at, of each CPU: types only, the maps are
 * bpf/maps.bpf.h's.
 */
#include "bpf/ktypes.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "features/traces/abi.h"
#include "features/klocks/abi.h"
#include "abi/language_abi.h"
#include "abi/object_abi.h"
#include "abi/offcpu_abi.h"
#include "abi/sample.h"
#include "abi/sched_abi.h"
#include "abi/space_abi.h"
#include "abi/target_abi.h"
#include "features/network/tcp_abi.h"
#include "bpf/map.bpf.h"
#ifdef __TARGET_ARCH_x86
#include "bpf/x86/walk_types.h"
#else
#include "bpf/arm64/walk_types.h"
#endif

/* What a thread is doing, as of the last event we saw of it. */
enum thread_mode {
	MODE_UNKNOWN = 0,	/* no event in the window yet */
	MODE_ON_CPU,
	MODE_ASLEEP,		/* switched out in a sleeping state */
	MODE_QUEUED,		/* switched out while runnable */
	MODE_NEW,		/* forked, has not run */
	MODE_DEAD,
};

/* Where the user stack of a wait comes from. */
enum ustack_from {
	USTACK_NONE = 0,	/* the thread has none */
	USTACK_BEGUN,		/* it was walked when the wait began */
	USTACK_LATE,		/* it is walked when the wait ends, if the thread has user memory */
};

#define SEEN 8
#define WALK_WORDS 48
#define WORD_IS_ADDRESS 1U	/* of the stack itself: what counts is how far it is from sp */
#define WALK_WINDOW 1024	/* bytes of a user stack read at a time */
#define KERNEL_WORDS 40
#define WALKS 4
#define WAKER_WALKS 4
#define IRQ_WALKS 16
#define SHARED_WALKS 16

/* A walk by tables that need not be done again: see bpf/walk/remember.bpf.h. */
struct walk_memory {
	__u64 id;		/* of the stack; 0: nothing remembered */
	__u64 ip, sp, bp;	/* where it began */
	struct begun_registers more;	/* the architecture's, as in walk_state */
	__u64 hash;		/* of the words it went by */
	__u32 generation;	/* of the space */
	__u32 cnt;
	__u32 bytes;		/* the last of them ends at sp + bytes */
	__u8 hot;
	__u8 by_bp;		/* the walk went by the frame pointer's first value, too */
	__u8 in_parents, met_gap;	/* see walk_state */
	__u32 at[WALK_WORDS];	/* where they lie, above sp; | WORD_IS_ADDRESS */
};

/* The same of a walk of the kernel stack. */
struct kernel_memory {
	__u64 id;
	__u64 hash;
	__u64 last_at;		/* address of the outermost word */
	/* hash of the words below the first return address that is told; of a waker's walk: the last one done in full */
	__u64 inner;
	__u32 cnt;
	__u32 found, depth;	/* while it is learned */
	__u8 hot;
	__u8 is_irq_stack;	/* of an interrupt: it had a stack of its own */
	__u16 at[KERNEL_WORDS];	/* bytes above thread.sp */
};

/* The same of a user walk that holds for any thread of a program: see bpf/walk/remember.bpf.h. */
struct shared_walk {
	__u64 seed;
	struct walk_memory walk;
};

struct shared_pair {
	struct shared_walk one, other;
};

struct shared_kernel_walk {
	__u64 seen;		/* the last one that was done in full */
	struct kernel_memory walk;
};

/* One waker of a chain and its own last wait; an interrupt has none. */
struct chain_hop {
	__u64 waker;		/* id */
	__u64 slept_ns, woken_ns;
	__u64 on_ns;		/* its last switch-in before it did the waking */
	__u64 off_ns;		/* from woken_ns to the waking: runnable or preempted */
	__u32 tno;		/* 0: an interrupt */
	__u32 by_tno;		/* who had woken it */
};

/* Of chains: the last sleep of a thread that is over, and what ended it. */
struct chain_state {
	__u64 slept_ns, woken_ns, off_ns;
	__u64 seen;		/* the last id known to have crossed */
	__u64 told_since_ns;	/* chains_since_ns, as this was kept */
	__u32 by_tno;		/* who ended it */
	__u8 cnt, end;
	__u8 skipped;		/* its waker was not looked at, for the sleep was short */
	__u8 pad;
	__u32 sleeps;		/* so far */
	struct chain_hop hops[OFFCPU_CHAIN_MAX];
};

#define WAKER_SKIPPED 1	/* no id of a waker: it was not looked at */

/* The futex that a thread sleeps on: see bpf/object.bpf.h. */
struct futex_wait {
	__u8 noted;		/* it was looked at when the thread went to sleep */
	__u8 holder_kind;	/* enum offcpu_holder */
	__u16 cnt;		/* 0: it sleeps on none */
	__u32 op;
	__u32 holder;
	__u64 sp;
	__u64 addr[OFFCPU_FUTEXES_MAX];
	/* of an interpreter's lock: see bpf/walk/gil.bpf.h */
	__u64 gil;		/* id of it and who held it; 0: it is none */
	__u64 gil_before;	/* stack pointer of the wait before, if that was for one, too; else 0 */
	__u64 gil_switches;	/* how often it had changed hands as the wait began */
	__u64 gil_ns;		/* of the wait that goes on: its pieces that are over; 0: it has just begun */
	__u64 gil_piece_ns, gil_delay_ns;	/* the last of them, and its time in a run queue */
	__u64 gil_sum_of;	/* hash of the key of the sum that it was added to, */
	__u32 gil_sum;		/* and the slot of that */
	__u32 pad;
};

/* The lock of the kernel's that a thread is about to sleep for: see features/klocks/kernel_lock.bpf.h. */
struct kernel_lock_wait {
	__u64 addr;		/* 0: none */
	__u32 holder;		/* who has it; 0: not known */
	__u8 flags;		/* as in a struct offcpu_rec_kernel_lock */
	__u8 pad[3];
};

#define SEEN_TARGETS 4

/* What the thread waited for lately: see bpf/target.bpf.h. */
struct seen_target {
	__u64 file, ino;
	__u64 id;
	__u64 call;		/* what of a struct wait_target tells one call on the file from another */
	__u64 sock;		/* of TCP, else 0; or WATCHES_SOCKETS */
};

#define WATCHES_SOCKETS 1	/* no socket but a set of descriptors: who is ready is asked each time */

/* What a socket said as the wait began, if it is the one that the thread's last wait was for: see features/network/tcp.bpf.h. */
struct tcp_begun {
	__u64 sock;		/* 0: none, nothing is noted */
	__u64 since_ns;		/* of the wait */
	__u64 awake_ns;		/* when the thread's last sleep before that ended */
	__u64 jiffies;
	__u32 segs_out, resent;
	__u32 closed;		/* so far, by the peer's window, in jiffies */
	__u8 direction;		/* of the last wait; enum tcp_direction */
	__u8 asked;		/* enum tcp_asked */
	__u8 left;		/* so many waits may be for something else */
	__u8 pad;
};

#define STACK_PIECE 56	/* words */
#define STACK_OVERLAP 8
#define STACK_PIECES 10

/* While it is looked for. */
struct wait_target {
	__u64 task;
	__u64 sock;		/* of TCP that the wait was for; 0: none */
	__u32 direction;	/* enum tcp_direction */
	__u32 pad;
	__u32 fd, fd_cnt;	/* fd: of a child, which; 0: any */
	__u16 events;		/* of poll(), for the first descriptor */
	__u16 purpose;
	__u64 addr;
	__u64 stack_at;
	__u64 stack[STACK_PIECE + STACK_OVERLAP];
	struct offcpu_rec_target rec;
};

/* The last row of wakings by one thread or interrupt: see features/storms/storm.bpf.h. */
struct burst {
	__u64 id;
	__u64 who, place;
	__u64 call;
	__u64 preempted_cnt;
	__u64 last_ns;
	__u64 waker;
	__u32 cnt, call_cnt;
	__u32 is_new_call;
	__u32 is_irq;
};

/*
 * By cache lines: what one CPU writes another one waits for, and threads are woken from other
 * CPUs than they run on.
 */
struct thread_state {
	/*
	 * first line: each switch.  Within 128 bytes an instruction names a member by one byte, and code that is run
	 * cold is short
	 */
	__u64 since_ns;		/* when the mode began; never before the window */
	__u64 on_ns;		/* the last switch-in */
	__u64 csw;		/* context switches at the last switch-out: has it run since? */
	__u64 exec_ns;		/* the scheduler's own count of CPU time then */
	__u32 memory;		/* number of its struct memory, + 1; 0: it has none */
	__u32 last_sum;		/* the slot that its last listed wait was added to: see sums.bpf.h */
	__u32 tables_epoch;	/* when tables_generation was looked up; 0: it is to be */
	__u32 tables_generation;	/* of the program's tables; 0: there are none */
	__u32 draw;		/* is the wait kept by sampling?  See sample_is_kept() */
	union {
		struct {
			__u8 mode, selected;	/* enum thread_mode; is it a subject? */
			__u8 state;		/* enum offcpu_state */
			__u8 open_at_start;
		};
		__u16 subject_mode;	/* both at once: see SUBJECT() */
		__u32 phase;		/* and all four: see PHASE() */
	};
	__u8 ustack_from;	/* enum ustack_from */
	__u8 by_fp;		/* the wait's user stack was walked without tables */
	__u8 has_snap, snap_mode, snap_state, snap_by_fp;
	__u8 is_cold;		/* it waited so long that nothing of its own is in a cache */
	__u8 usual_ustack;	/* enum ustack_from, as long as it has user memory */
	/* second line: each switch, too; and on */
	struct offcpu_account account;
	__u64 ustack;		/* of the wait that goes on, if it was walked when that began */
	__u64 from_ns;		/* observed from */
	__u64 snap_csw;		/* csw when the snapshot looked at it */
	__u64 end_kstack, end_ustack;	/* when the window ended; the user stack if it is walked late */
	/* a line of its own, the only one that a waker touches */
	__u64 wake_ns;		/* the last sched_waking that targeted this thread */
	__u64 waker;		/* who did the last waking, as wake_ns is its time; WAKER_SKIPPED */
	__u64 waker_place;	/* from where that thread had called: see calls_again() of waker.bpf.h; 0: no thread */
	__u64 walk_waker_ns;	/* a waking from there before this has the same waker */
	__u32 waker_tno;	/* with chains: of who did the last waking; 0: an interrupt */
	__u32 woken_late;	/* after the window */
	__u64 take_waker_ns;	/* a waking before this is of a sleep that sampling will hardly keep */
	const struct cfs_rq *queue;	/* the run queue it was put on; and its throttling then */
	__u64 queue_throttled_ns;
	/* a line that hardly ever changes; but for `css` no switch needs it that lists no wait */
	__u64 start_ns, proc_start_ns;
	__u64 forked_space;	/* of the program that forked this one; 0: none, or it has exec'd since */
	struct css_set *css;	/* the cgroup membership that `selected` was decided on */
	__u32 tno, pid, tid, exec_no;
	/* selected because it descends from the traced command, or from a process whose children are */
	__u8 by_descent;
	__u8 narrow;		/* a program of 32-bit addresses */
	__u8 end_noted;		/* end_kstack and end_ustack are what they will be */
	__u8 began_off_cpu;	/* was off CPU when the window began */
	__u32 forked_changes;	/* of its mappings, when it was forked: see unwind.bpf.h */
	__u64 entry;		/* where it called the kernel; 0: an interrupt or a fault */
	__u64 snap_ustack;
	__u64 seen_ustack;	/* the last id known to have crossed */
	char old_comm[OFFCPU_COMM_LEN];	/* before the last rename; an exec has just renamed */
	__u32 renames, seen_renames;	/* so far; and when `selected` was decided on */
	__u64 prewake_csw;	/* context switches at the last waking before the window */
	__u64 throttled_runnable_ns, throttled_preempted_ns;	/* parts of its account: see throttle.bpf.h */
	__u64 end_csw;		/* csw when end_kstack and end_ustack were noted */
	__u64 end_object;	/* and what it waited for; these four the iterators write and nobody else */
	__u32 is_closed;	/* its account is sent, or just being */
	__u8 is_throttled, out_throttled;	/* the wait is called so; it was as it went off CPU */
	__u8 speaks;		/* of its program: enum space_speaks */
	__u8 pad3;
	/* what only options need: has_options() */
	__u64 ran_ns;		/* length of the last stretch on CPU */
	__u32 by_pid, by_tid;
	char by_comm[OFFCPU_COMM_LEN];
	__u64 seen_waker;	/* as a waker: the last id known to have crossed */
	struct tcp_begun tcp;
	struct futex_wait futex;
	__u64 seen_object;	/* the last id known to have crossed */
	__u64 moved_ns;		/* last put from one CPU's queue into another's */
	struct burst burst;	/* as a waker */
	__u64 burst_id;		/* of the last waking, with storms */
	__u64 burst_over;	/* it has slept again, or ended, since it was woken by this one */
	__u64 burst_ran_ns, burst_delay_ns;	/* since its last waking */
	__u64 target;		/* what the wait is for, but a futex: the id; 0: none, or not known */
	struct kernel_lock_wait lock;
	struct seen_target targets[SEEN_TARGETS];
	__u32 end_cpu;		/* + 1: where it queued as the window ended, if it went elsewhere then */
	__u32 request;		/* number of its struct request_state, + 1; 0: it has none */
	__u32 wake_cpu, out_cpu;	/* where the last waking and the last switch-out happened: see sched.bpf.h */
	__u64 met_ns;		/* behind since_ns: since when it runs that was not seen to: see request_now() */
};

/* Little-endian, as all that we are built for. */
#define SUBJECT(mode) (1U << 8 | (mode))
#define PHASE(mode, state) ((state) << 16 | SUBJECT(mode))
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "see above");

#define LINE_OF(member) (__builtin_offsetof(struct thread_state, member) / 64)
_Static_assert(LINE_OF(usual_ustack) == 0 && LINE_OF(account) == 1 &&
		       LINE_OF(account.state[OFFCPU_STATE_R].preempted_ns) == 1 &&
		       LINE_OF(wake_ns) == LINE_OF(queue_throttled_ns) &&
		       LINE_OF(start_ns) == LINE_OF(queue_throttled_ns) + 1 &&
		       LINE_OF(entry) == LINE_OF(start_ns),
	       "see above");

#define OPTIONS_OFFSET __builtin_offsetof(struct thread_state, ran_ns)

/* In its place where chains of wakers are wanted. */
struct chained_thread {
	struct thread_state st;
	struct chain_state chain;
};

/* What a thread remembers of its walks: see bpf/walk/remember.bpf.h. */
struct memory {
	__u32 is_taken;
	__u32 pad;
	__u64 seen_kstack[SEEN];	/* ids of kernel stacks known to have crossed, a few, placed by the id */
	struct walk_memory walks[WALKS];
	struct kernel_memory kernel_walks[WALKS];
};

/* The same of its walks as a waker. */
struct waker_memory {
	struct kernel_memory walks[WAKER_WALKS];
};

#define BP_FROM_REGISTER 0
#define BP_NOTED 1	/* no address of a saved frame pointer: those are multiples of 8 */

/* The page that another thread's memory is being read from: see bpf/walk/page_view.bpf.h. */
struct page_view {
	__u64 pgd;		/* its program's top page table; 0: no view, the memory is read otherwise */
	__u64 user, page;	/* where the program sees the page, and where the kernel does; 0: none yet */
	__u64 leaf_at, leaf;	/* the entry that names it, and what that said */
	__u64 above_at, above;	/* the same of the one above */
	__u64 moved;		/* another page lay there when it was looked up again */
};

/* Of a walk by tables, from step to step. */
struct walk_state {
	struct page_view view;
	__u64 ip, sp, bp;
	struct walk_registers more;	/* the architecture's: bpf/x86/ktypes.h, bpf/arm64/ktypes.h */
	__u64 bp_from;		/* the address bp was read from, or one of the above */
	__u64 begin_sp;		/* the stack pointer it began with */
	__u64 entry;		/* thread_state.entry */
	__u32 depth;
	__u32 end;		/* enum offcpu_walk_end */
	__u32 mapping;		/* of the last frame: a guess for the next */
	__u8 exact;		/* ip is no return address */
	__u8 bp_lost;
	__u8 unread;		/* memory could not be read, and may be readable the next time */
	__u8 in_parents;	/* of a process that has mapped nothing since it was forked */
	__u8 met_gap;		/* a frame lies where there is no table */
	__u8 no_file;		/* the last such: in no file, so a compiler may have made it */
	__u64 thread_pointer;	/* of a thread whose interpreter is looked at */
	__u64 seed;		/* of the stack's id, unless it met a gap; known once a walk was not remembered */
	__u64 task;		/* whose stack it is; the next two are bpf/walk/uretprobe.bpf.h's */
	__u64 returns, instance;
	__u64 method, bytecode;	/* of a frame of HotSpot's interpreter, or of V8 */
	__u64 words[2];		/* of the stack, as they were read: see read_words() */
};

/* An interpreter's frames, and where their walk has come to. */
struct language_scratch {
	struct offcpu_rec_language rec;
	__u64 frame, hash;
	__u64 end;		/* where frames lie one behind the other: of the stack; Perl: where these begin */
	__u64 outer, instr;	/* Perl: the stack further out; the statement that the frame to come stands at */
	__u64 state;		/* Perl: the interpreter */
	bool may_go;		/* some of the statements will be gone soon */
};

#define CONTEXT_BUFFER 512	/* a power of two above a record's bytes */

/* Which of a goroutine's labels is looked at. */
struct label_place {
	__u64 pairs;		/* the list, or the map's buckets */
	__u64 bucket, used;	/* the one looked at, and what its slots hold */
	__u32 left;		/* labels not seen yet */
	__u32 bucket_no, bucket_cnt;
	__u64 seed;		/* of each label's hash */
};

/* The record of a trace context that was read last: see features/traces/context.bpf.h. */
struct context_scratch {
	__u64 word[CONTEXT_BUFFER / 8 + 1];
	__u64 keys[4];		/* as in struct offcpu_context_place */
	__u64 hash, from;	/* of what is asked for; where the first word was read */
	__u64 route;		/* that hash of the last one that was read; 0: it has none of that */
	__u32 shift;		/* of the record's first byte */
	__u32 words;		/* how many are read */
	__u32 attribute_at, end;	/* the next attribute and the end of them all, in bytes from the first word */
	__u32 tno;		/* of the thread; 0: none was read */
	bool is_bad, is_cut;	/* it cannot be believed; it is longer than what is read of it */
	bool is_longest;	/* the wait listed last, of its row so far: `trace` has its key */
	bool is_labels;		/* it is made of labels: see runtimes/go/labels.bpf.h */
	struct label_place labels;
	struct offcpu_rec_context rec;
	struct offcpu_rec_trace trace;
};

/* Per CPU: the stack being walked (switches do not nest), what is being told, counters. */
struct scratch {
	struct offcpu_counts counts;	/* first, user space reads them */
	__u64 last_ns;		/* the last switch seen on this CPU */
	__u64 has_cut;		/* `cut_rec` is to be sent: see cut.bpf.h */
	__u64 slice_ns, slice_end_ns;	/* the slice that this CPU's last wait ended in: its edges, */
	__u32 slice;		/* and its number */
	__u64 random;		/* state of the generator; 0: to be seeded */
	struct kept_wait kept;
	__u64 ustack, kstack;	/* of that wait */
	/* the kernel stack just walked: user space knows it; the thread had it before */
	__u8 has_crossed, was_seen;
	struct walk_state walk;
	struct offcpu_rec_stack stack;
	struct offcpu_rec_sleep_path path;
	struct offcpu_rec_thread thread;
	struct language_scratch language;
	struct context_scratch context;
	struct offcpu_rec_waker waker;
	__u64 waker_before;	/* what that is compared with: see compare_callers(); 0: nothing */
	struct offcpu_rec_chain chain;
	struct offcpu_chain_sum chain_sum, no_chain_sum;	/* the second is never written: zeroes */
	struct offcpu_rec_object object;
	__u64 listed_object;	/* its id, of the wait that was listed last */
	struct tcp_sum tcp;	/* of that wait, if it was for a TCP socket */
	struct wait_target target;
	struct offcpu_rec_kernel_lock lock;
	struct offcpu_rec_event event;
	struct offcpu_rec_switch sched;
	struct offcpu_rec_thread cut_rec;
	struct thread_state cut;	/* as it was at a cut */
	struct kernel_memory irq_walks[IRQ_WALKS];	/* where interrupts woke someone */
	struct shared_kernel_walk shared_kernel_walks[SHARED_WALKS + 1];	/* see bpf/walk/remember.bpf.h */
	struct kernel_memory shared_waker_walks[SHARED_WALKS];
	struct shared_pair shared_walks[SHARED_WALKS];
	__u64 ctx_addr;
	__u64 window[WALK_WINDOW / 8];	/* a piece of a user stack, so far above sp; and how much of it was read */
	__u32 window_at, window_bytes;
};

#endif
