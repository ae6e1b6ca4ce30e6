/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_STATE_BPF_H
#define BPF_STATE_BPF_H

/* What is kept for each thread and, during an event, for each CPU: types only, the maps are in bpf/maps.bpf.h. */
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

/* What a thread is doing, as of its last event. */
enum thread_mode {
	MODE_UNKNOWN = 0,	/* no event in the window yet */
	MODE_ON_CPU,
	MODE_ASLEEP,		/* switched out in a sleeping state */
	MODE_QUEUED,		/* switched out while runnable */
	MODE_NEW,		/* forked, has not run yet */
	MODE_DEAD,
};

/* Where the user stack of a wait comes from. */
enum ustack_from {
	USTACK_NONE = 0,	/* the thread has none */
	USTACK_BEGUN,		/* walked when the wait began */
	USTACK_LATE,		/* walked when the wait ends, if the thread has user memory */
};

#define SEEN 8
#define WALK_WORDS 48
#define WORD_IS_ADDRESS 1U	/* flag of a word: it is a stack address, so its distance from sp counts */
#define WALK_WINDOW 1024	/* bytes of a user stack read at a time */
#define KERNEL_WORDS 40
#define WALKS 4
#define WAKER_WALKS 4
#define IRQ_WALKS 16
#define SHARED_WALKS 16

/* A cached walk by tables: see bpf/walk/remember.bpf.h. */
struct walk_memory {
	__u64 id;		/* of the stack; 0: empty */
	__u64 ip, sp, bp;	/* where it began */
	struct begun_registers more;	/* architecture specific, as in walk_state */
	__u64 hash;		/* of the words that the walk depends on */
	__u32 generation;	/* of the space */
	__u32 cnt;
	__u32 bytes;		/* the last word ends at sp + bytes */
	__u8 hot;
	__u8 by_bp;		/* the walk depends on the initial frame pointer, too */
	__u8 in_parents, met_gap;	/* see walk_state */
	__u32 at[WALK_WORDS];	/* offsets of the words above sp; | WORD_IS_ADDRESS */
};

/* A cached walk of the kernel stack. */
struct kernel_memory {
	__u64 id;
	__u64 hash;
	__u64 last_at;		/* address of the outermost word */
	/* hash of the words below the first sent return address; of a waker: id of the last full walk */
	__u64 inner;
	__u32 cnt;
	__u32 found, depth;	/* used while learning */
	__u8 hot;
	__u8 is_irq_stack;	/* of an interrupt: it ran on a stack of its own */
	__u16 at[KERNEL_WORDS];	/* offsets above thread.sp, in bytes */
};

/* A cached user walk that is valid for all threads of a program: see bpf/walk/remember.bpf.h. */
struct shared_walk {
	__u64 seed;
	struct walk_memory walk;
};

struct shared_pair {
	struct shared_walk one, other;
};

struct shared_kernel_walk {
	__u64 seen;		/* id of the last full walk */
	struct kernel_memory walk;
};

/* One waker of a chain and its own last wait; interrupts have none. */
struct chain_hop {
	__u64 waker;		/* id */
	__u64 slept_ns, woken_ns;
	__u64 on_ns;		/* its last switch-in before the waking */
	__u64 off_ns;		/* from woken_ns to its waking of the next: runnable or preempted */
	__u32 tno;		/* 0: an interrupt */
	__u32 by_tno;		/* tno of its own waker */
};

/* For chains: the last completed sleep of a thread, and its waker. */
struct chain_state {
	__u64 slept_ns, woken_ns, off_ns;
	__u64 seen;		/* the last id known to have crossed */
	__u64 told_since_ns;	/* value of chains_since_ns when this was written */
	__u32 by_tno;		/* tno of the waker */
	__u8 cnt, end;
	__u8 skipped;		/* its waker was skipped, as the sleep was short */
	__u8 pad;
	__u32 sleeps;		/* number of sleeps so far */
	struct chain_hop hops[OFFCPU_CHAIN_MAX];
};

#define WAKER_SKIPPED 1	/* stands for a waker's id: the waker was skipped */

/* The futex that a thread sleeps on: see bpf/object.bpf.h. */
struct futex_wait {
	__u8 noted;		/* it was read when the thread went to sleep */
	__u8 holder_kind;	/* enum offcpu_holder */
	__u16 cnt;		/* number of addresses; 0: not a futex */
	__u32 op;
	__u32 holder;
	__u64 sp;
	__u64 addr[OFFCPU_FUTEXES_MAX];
	/* of an interpreter's lock: see bpf/walk/gil.bpf.h */
	__u64 gil;		/* id of the lock and its holder; 0: not such a lock */
	__u64 gil_before;	/* stack pointer of the previous wait, if that was for such a lock, too; else 0 */
	__u64 gil_switches;	/* how often it had changed hands as the wait began */
	__u64 gil_ns;		/* duration of the open wait's completed pieces; 0: it has just begun */
	__u64 gil_piece_ns, gil_delay_ns;	/* the last of these, and its time in a run queue */
	__u64 gil_sum_of;	/* hash of the key of the sum that this was added to, */
	__u32 gil_sum;		/* and the slot of that sum */
	__u32 pad;
};

/* The kernel lock that a thread is about to sleep for: see features/klocks/kernel_lock.bpf.h. */
struct kernel_lock_wait {
	__u64 addr;		/* 0: none */
	__u32 holder;		/* its holder; 0: not known */
	__u8 flags;		/* as in a struct offcpu_rec_kernel_lock */
	__u8 pad[3];
};

#define SEEN_TARGETS 4

/* The cached target of the thread's last wait: see bpf/target.bpf.h. */
struct seen_target {
	__u64 file, ino;
	__u64 id;
	__u64 call;		/* the parts of struct wait_target that distinguish calls on the file */
	__u64 sock;		/* the TCP socket, else 0; or WATCHES_SOCKETS */
};

#define WATCHES_SOCKETS 1	/* a set of descriptors instead of a socket: which one is ready is read each time */

/* State of a socket as the wait began, if the thread's last wait was for it: see features/network/tcp.bpf.h. */
struct tcp_begun {
	__u64 sock;		/* 0: none, nothing noted */
	__u64 since_ns;		/* of the wait */
	__u64 awake_ns;		/* when the thread's previous sleep ended */
	__u64 jiffies;
	__u32 segs_out, resent;
	__u32 closed;		/* time so far that the peer's window was closed, in jiffies */
	__u8 direction;		/* of the last wait; enum tcp_direction */
	__u8 asked;		/* enum tcp_asked */
	__u8 left;		/* how many more waits may be for something else */
	__u8 pad;
};

#define STACK_PIECE 56	/* words */
#define STACK_OVERLAP 8
#define STACK_PIECES 10

/* The target of a wait while it is looked up. */
struct wait_target {
	__u64 task;
	__u64 sock;		/* the TCP socket that the wait was for; 0: none */
	__u32 direction;	/* enum tcp_direction */
	__u32 pad;
	__u32 fd, fd_cnt;	/* fd: of a wait for a child, its number; 0: any */
	__u16 events;		/* of poll(): for the first descriptor */
	__u16 purpose;
	__u64 addr;
	__u64 stack_at;
	__u64 stack[STACK_PIECE + STACK_OVERLAP];
	struct offcpu_rec_target rec;
};

/* The last burst of wakings by one thread or interrupt: see features/storms/storm.bpf.h. */
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
 * Ordered by cache lines: a line that one CPU writes another one must fetch, and threads are woken from other CPUs
 * than they run on.
 */
struct thread_state {
	/*
	 * first line: each switch. Within 128 bytes an instruction addresses a member with one byte, which keeps cold
	 * code short
	 */
	__u64 since_ns;		/* when the mode began; never before the window */
	__u64 on_ns;		/* time of the last switch-in */
	__u64 csw;		/* context switches at the last switch-out, to see whether it has run since */
	__u64 exec_ns;		/* the scheduler's count of CPU time then */
	__u32 memory;		/* number of its struct memory, + 1; 0: none */
	__u32 last_sum;		/* slot that its last listed wait was added to: see sums.bpf.h */
	__u32 tables_epoch;	/* when tables_generation was looked up; 0: look it up */
	__u32 tables_generation;	/* of the program's tables; 0: none */
	__u32 draw;		/* is the wait kept by sampling?  See sample_is_kept() */
	union {
		struct {
			__u8 mode, selected;	/* enum thread_mode; is it a subject? */
			__u8 state;		/* enum offcpu_state */
			__u8 open_at_start;
		};
		__u16 subject_mode;	/* mode and selected at once: see SUBJECT() */
		__u32 phase;		/* all four: see PHASE() */
	};
	__u8 ustack_from;	/* enum ustack_from */
	__u8 by_fp;		/* the wait's user stack was walked without tables */
	__u8 has_snap, snap_mode, snap_state, snap_by_fp;
	__u8 is_cold;		/* it waited so long that its data is in no cache */
	__u8 usual_ustack;	/* enum ustack_from, while it has user memory */
	/* second line: each switch, too; and following lines */
	struct offcpu_account account;
	__u64 ustack;		/* of the open wait, if walked when it began */
	__u64 from_ns;		/* observed from */
	__u64 snap_csw;		/* csw when the snapshot looked at it */
	__u64 end_kstack, end_ustack;	/* at the window's end; the user stack if it is walked late */
	/* a line of its own, the only one that a waker writes */
	__u64 wake_ns;		/* the last sched_waking that targeted this thread */
	__u64 waker;		/* waker of the last waking, whose time is wake_ns; WAKER_SKIPPED */
	__u64 waker_place;	/* where that thread made its call: see calls_again() of waker.bpf.h; 0: no thread */
	__u64 walk_waker_ns;	/* a waking from that place before this time has the same waker */
	__u32 waker_tno;	/* with chains: tno of the last waker; 0: an interrupt */
	__u32 woken_late;	/* woken after the window */
	__u64 take_waker_ns;	/* a waking before this time ends a sleep that sampling is unlikely to keep */
	const struct cfs_rq *queue;	/* the run queue it was put on; and how long that had been throttled */
	__u64 queue_throttled_ns;
	/* a line that hardly ever changes; except `css` only listed waits need it */
	__u64 start_ns, proc_start_ns;
	__u64 forked_space;	/* of the program that forked this one; 0: none, or it has exec'd since */
	struct css_set *css;	/* the cgroup membership that `selected` was decided on */
	__u32 tno, pid, tid, exec_no;
	/* selected because it descends from the traced command, or from a process whose children are */
	__u8 by_descent;
	__u8 narrow;		/* a 32-bit program */
	__u8 end_noted;		/* end_kstack and end_ustack are final */
	__u8 began_off_cpu;
	__u32 forked_changes;	/* changes of its mappings when it was forked: see space.bpf.h */
	__u64 entry;		/* address of its system call instruction; 0: an interrupt or a fault */
	__u64 snap_ustack;
	__u64 seen_ustack;	/* the last id known to have crossed */
	char old_comm[OFFCPU_COMM_LEN];	/* name before the last rename; an exec has just renamed it */
	__u32 renames, seen_renames;	/* number of renames; and the number when `selected` was decided */
	__u64 prewake_csw;	/* context switches at the last waking before the window */
	__u64 throttled_runnable_ns, throttled_preempted_ns;	/* parts of its account: see throttle.bpf.h */
	__u64 end_csw;		/* csw when end_kstack and end_ustack were noted */
	__u64 end_object;	/* and what it waited for; only the iterators write these four */
	__u32 is_closed;	/* its account was sent, or is being sent */
	__u8 is_throttled, out_throttled;	/* the wait counts as throttled; it was so at its switch-out */
	__u8 speaks;		/* of its program: enum space_speaks */
	__u8 pad3;
	/* only for options: has_options() */
	__u64 ran_ns;		/* length of the last stretch on CPU */
	__u32 by_pid, by_tid;
	char by_comm[OFFCPU_COMM_LEN];
	__u64 seen_waker;	/* as a waker: the last id known to have crossed */
	struct tcp_begun tcp;
	struct futex_wait futex;
	__u64 seen_object;	/* the last id known to have crossed */
	__u64 moved_ns;		/* time of its last migration between run queues */
	struct burst burst;	/* its wakings of others */
	__u64 burst_id;		/* id of the burst of its last waking, with storms */
	__u64 burst_over;	/* since it was woken by this burst it has slept again, or ended */
	__u64 burst_ran_ns, burst_delay_ns;	/* since its last waking */
	__u64 target;		/* id of what the wait is for, other than a futex; 0: none, or not known */
	struct kernel_lock_wait lock;
	struct seen_target targets[SEEN_TARGETS];
	__u32 end_cpu;		/* + 1: the CPU where it queued at the window's end, if it was moved then */
	__u32 request;		/* number of its struct request_state, + 1; 0: it has none */
	__u32 wake_cpu, out_cpu;	/* CPUs of the last waking and the last switch-out: see sched.bpf.h */
	__u64 met_ns;		/* after since_ns: start of a run whose switch-in was not seen: see request_now() */
};

/* Little-endian, like all supported targets. */
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

/* Used instead where chains of wakers are wanted. */
struct chained_thread {
	struct thread_state st;
	struct chain_state chain;
};

/* A thread's cached walks: see bpf/walk/remember.bpf.h. */
struct memory {
	__u32 is_taken;
	__u32 pad;
	__u64 seen_kstack[SEEN];	/* a few ids of kernel stacks known to have crossed, indexed by id */
	struct walk_memory walks[WALKS];
	struct kernel_memory kernel_walks[WALKS];
};

/* Its cached walks as a waker. */
struct waker_memory {
	struct kernel_memory walks[WAKER_WALKS];
};

#define BP_FROM_REGISTER 0
#define BP_NOTED 1	/* marks a noted frame pointer: saved ones are addresses at multiples of 8 */

/* The page through which another thread's memory is read: see bpf/walk/page_view.bpf.h. */
struct page_view {
	__u64 pgd;		/* its program's top page table; 0: none, the memory is read directly */
	__u64 user, page;	/* user address and kernel address of the page; 0: none yet */
	__u64 leaf_at, leaf;	/* address and value of its page table entry */
	__u64 above_at, above;	/* the same for the next higher level */
	__u64 moved;		/* a second look-up found another page there */
};

/* State of a walk by tables, from step to step. */
struct walk_state {
	struct page_view view;
	__u64 ip, sp, bp;
	struct walk_registers more;	/* architecture specific: bpf/x86/walk_types.h, bpf/arm64/walk_types.h */
	__u64 bp_from;		/* the address that bp was read from, or BP_NOTED */
	__u64 begin_sp;		/* the initial stack pointer */
	__u64 entry;		/* thread_state.entry */
	__u32 depth;
	__u32 end;		/* enum offcpu_walk_end */
	__u32 mapping;		/* of the last frame: first guess for the next */
	__u8 exact;		/* ip is not a return address */
	__u8 bp_lost;
	__u8 unread;		/* memory could not be read, but may be readable next time */
	__u8 in_parents;	/* the process has mapped nothing since it was forked */
	__u8 met_gap;		/* a frame lies where no table is */
	__u8 no_file;		/* the last such frame: in no file, so it may be compiled at run time */
	__u64 thread_pointer;	/* of a thread whose interpreter's frames are read */
	__u64 seed;		/* of the stack's id, unless it met a gap; set once the cache had no such walk */
	__u64 task;		/* the thread; this and the next two are for bpf/walk/uretprobe.bpf.h */
	__u64 returns, instance;
	__u64 method, bytecode;	/* of a frame of HotSpot's interpreter, or of V8 */
	__u64 words[2];		/* stack words as read: see read_words() */
};

/* An interpreter's frames, and the state of their walk. */
struct language_scratch {
	struct offcpu_rec_language rec;
	__u64 frame, hash;
	__u64 end;		/* where frames are adjacent: end of the stack; Perl: where frames begin */
	__u64 outer, instr;	/* Perl: the next outer stack; the statement of the next frame */
	__u64 state;		/* Perl: the interpreter */
	bool may_go;		/* some of the statements may be freed soon */
};

#define CONTEXT_BUFFER 512	/* a power of two larger than a record */

/* Position in a goroutine's labels. */
struct label_place {
	__u64 pairs;		/* the list, or the map's buckets */
	__u64 bucket, used;	/* the current bucket, and which of its slots are used */
	__u32 left;		/* labels left */
	__u32 bucket_no, bucket_cnt;
	__u64 seed;		/* seed of the labels' hashes */
};

/* The last trace context record that was read: see features/traces/context.bpf.h. */
struct context_scratch {
	__u64 word[CONTEXT_BUFFER / 8 + 1];
	__u64 keys[4];		/* as in struct offcpu_context_place */
	__u64 hash, from;	/* hash of the wanted keys; address of the first word */
	__u64 route;		/* that hash in the last record; 0: it has none of the keys */
	__u32 shift;		/* offset of the record's first byte */
	__u32 words;		/* number of words read */
	__u32 attribute_at, end;	/* from the first word, in bytes: the next attribute, the end of all */
	__u32 tno;		/* of the thread; 0: none read */
	bool is_bad, is_cut;	/* it is not valid; it is longer than what is read of it */
	bool is_longest;	/* the wait listed last is the longest of its row so far: `trace` has its key */
	bool is_labels;		/* it is made of labels: see runtimes/go/labels.bpf.h */
	struct label_place labels;
	struct offcpu_rec_context rec;
	struct offcpu_rec_trace trace;
};

/* Per CPU: the stack being walked (switches do not nest), records being filled, counters. */
struct scratch {
	struct offcpu_counts counts;	/* first, as user space reads them */
	__u64 last_ns;		/* time of the last switch on this CPU */
	__u64 has_cut;		/* `cut_rec` is to be sent: see cut.bpf.h */
	__u64 slice_ns, slice_end_ns;	/* edges of the slice in which this CPU's last wait ended, */
	__u32 slice;		/* and its number */
	__u64 random;		/* state of the random generator; 0: to be seeded */
	struct kept_wait kept;
	__u64 ustack, kstack;	/* stacks of that wait */
	/* of the kernel stack just walked: user space knows it; the thread had it before */
	__u8 has_crossed, was_seen;
	struct walk_state walk;
	struct offcpu_rec_stack stack;
	struct offcpu_rec_sleep_path path;
	struct offcpu_rec_thread thread;
	struct language_scratch language;
	struct context_scratch context;
	struct offcpu_rec_waker waker;
	__u64 waker_before;	/* stack to compare with: see compare_callers(); 0: none */
	struct offcpu_rec_chain chain;
	struct offcpu_chain_sum chain_sum, no_chain_sum;	/* the second is never written: all zero */
	struct offcpu_rec_object object;
	__u64 listed_object;	/* id of the object of the last listed wait */
	struct tcp_sum tcp;	/* of that wait, if it was for a TCP socket */
	struct wait_target target;
	struct offcpu_rec_kernel_lock lock;
	struct offcpu_rec_event event;
	struct offcpu_rec_switch sched;
	struct offcpu_rec_thread cut_rec;
	struct thread_state cut;	/* state at a cut */
	struct kernel_memory irq_walks[IRQ_WALKS];	/* cached walks of interrupts that woke a thread */
	struct shared_kernel_walk shared_kernel_walks[SHARED_WALKS + 1];	/* see bpf/walk/remember.bpf.h */
	struct kernel_memory shared_waker_walks[SHARED_WALKS];
	struct shared_pair shared_walks[SHARED_WALKS];
	__u64 ctx_addr;
	__u64 window[WALK_WINDOW / 8];	/* part of a user stack: its distance from sp, and how much was read */
	__u32 window_at, window_bytes;
};

#endif
