/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_PROFILE_H
#define PROFILE_PROFILE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/each.h"
#include "base/frame.h"
#include "features/blame/abi.h"

/*
 * The model of a recording: threads with their accounts, interned frames, stacks as a
 * prefix tree, waits summed under (thread, state, flags, user stack, kernel stack), and
 * every loss.  Plain data, no I/O: profile_file.h reads and writes it.
 *
 * Ids are dense indices into the arrays below and stable for the life of the profile.
 * All durations are nanoseconds.
 */

#define PROFILE_HIST_SLOTS 48	/* slot i counts durations in [2^i, 2^(i+1)) ns; the last also all above */
#define PROFILE_DEPTH_MAX 4096	/* frames of one path, inlined ones included */
#define PROFILE_STRING_MAX_BYTES 16384	/* longer strings are cut */
#define PROFILE_NODES_MAX (16 << 20)
#define PROFILE_ROWS_MAX (4 << 20)	/* threads, frames, waits: each */
#define PROFILE_MODULES_MAX 4096
#define PROFILE_BUILD_ID_MAX_DIGITS 128
#define PROFILE_NS_MAX (UINT64_C(1) << 62)	/* no time or duration is above: 146 years */

enum frame_kind { FRAME_USER = 0, FRAME_KERNEL = 1, FRAME_CONTEXT = 2 /* see below */ };

/* Strings belong to the profile (interned) once the frame is in it. */
struct frame {
	const char *name;	/* NULL when unnamed; C++ and Rust names demangled */
	const char *module;	/* path of the ELF file, "[kernel]", "[ext4]", "[vdso]", "[anon]", NULL */
	uint64_t offset;	/* in the module (user: ELF virtual address), the address itself without one;
				 * of the function for a named frame, of the instruction for an unnamed one */
	const char *file;	/* source file, or NULL */
	uint32_t line;		/* 0: unknown */
	uint8_t kind;		/* enum frame_kind */
	uint8_t why;		/* enum frame_why */
	bool is_inline;
};

/* A node of the prefix tree; a stack is a node id, its frames are the path from the root.
 * Node 0 is the empty stack.  Children come after their parent: parent < own id. */
struct stack_node {
	uint32_t parent;
	uint32_t frame;
	uint16_t depth;		/* frames on the path, this one included */
	uint8_t end;		/* enum stack_end of the stack that ends here; STACK_NONE for inner nodes */
};

enum thread_flag {
	THREAD_KERNEL = 1 << 0,
	THREAD_OPEN_AT_START = 1 << 1,	/* was off CPU when the window began, whether or not that wait is listed */
	THREAD_OPEN_AT_END = 1 << 2,	/* when it ended */
	THREAD_EXITED = 1 << 3,
	THREAD_EXECED = 1 << 4,		/* went on as another program: another row with the same identity */
};

/* One thread as one program: identity is (pid, tid, start_ns), and an exec starts a new row. */
struct thread {
	uint32_t pid, tid;
	uint64_t start_ns;	/* since boot */
	const char *comm;
	const char *process;	/* comm of the process's first thread */
	const char *service;	/* what it belongs to: a unit, a pod, what the process calls itself; NULL: not known */
	uint32_t flags;
	uint64_t from_ns, to_ns;	/* CLOCK_MONOTONIC; observed = to - from */
	uint64_t on_cpu_ns, blocked_ns, runnable_ns, preempted_ns;
	uint64_t filtered_ns;	/* part of off-CPU that no wait lists because of -m, -M, --state */
	uint64_t lost_ns;	/* part of off-CPU that no wait lists because of a loss */
	uint64_t switches;
};
static inline uint64_t thread_observed_ns(const struct thread *t) { return t->to_ns - t->from_ns; }
static inline uint64_t thread_off_cpu_ns(const struct thread *t)
{
	return t->blocked_ns + t->runnable_ns + t->preempted_ns;
}
/* observed - on_cpu - off_cpu; 0 but for counted losses. */
static inline int64_t thread_residual_ns(const struct thread *t)
{
	return (int64_t)(thread_observed_ns(t) - t->on_cpu_ns - thread_off_cpu_ns(t));
}

enum wait_flag {
	WAIT_OPEN_AT_START = 1 << 0,
	WAIT_OPEN_AT_END = 1 << 1,
	/* it waited for a CPU, more than half of the time because of a cgroup's CPU quota */
	WAIT_THROTTLED = 1 << 2,
};

/* What a lock is, as the sleeper's frames tell and how it waits. */
enum lock_kind {
	LOCK_FUTEX = 0,	/* of no library that is known */
	LOCK_MUTEX,
	LOCK_CONDITION,
	LOCK_RWLOCK,
	LOCK_SEMAPHORE,
	LOCK_BARRIER,
	LOCK_JOIN,	/* a thread that is to end */
	LOCK_ONCE,	/* something that is done once, by somebody else just now */
	LOCK_LIBC,	/* of libc's own: of malloc, of a stdio stream */
	LOCK_PARK,	/* a thread that waits to be told to go on */
	LOCK_KIND_COUNT
};
const char *lock_kind_text(enum lock_kind kind);	/* "mutex" */

/*
 * An interpreter's lock is a mutex of that name; its `place` says where its holder stood as the waits began, innermost
 * first: "crunch (app.py:12) < main (app.py:40)".
 */
#define GIL_NAME "GIL"

/* What else a thread may wait for: goes on where the locks end. */
enum object_kind {
	OBJECT_FILE = LOCK_KIND_COUNT,
	OBJECT_DIRECTORY,
	OBJECT_SOCKET,
	OBJECT_PIPE,
	OBJECT_EVENTFD,
	OBJECT_TIMERFD,
	OBJECT_SIGNALFD,
	OBJECT_INOTIFY,
	OBJECT_EPOLL,		/* a set, and what it watches */
	OBJECT_POLL,		/* several descriptors of one poll() or select() */
	OBJECT_CHILD,		/* a process that is to end or to stop */
	OBJECT_BLOCK_DEVICE,
	OBJECT_TERMINAL,
	OBJECT_DEVICE,		/* another character device */
	OBJECT_FAULT,		/* the file behind a page fault, or memory without one */
	OBJECT_AIO,		/* io_getevents() and io_uring */
	OBJECT_DESCRIPTOR,	/* of another kind */
	OBJECT_GOROUTINE,	/* parked; what for, as Go's runtime says */
	OBJECT_KERNEL_LOCK,	/* a mutex or semaphore of the kernel's: a lock, too */
	OBJECT_JOURNAL,		/* of a file system, by its device; held by the thread that commits it */
	OBJECT_KIND_COUNT
};
const char *object_kind_text(unsigned kind);	/* "mutex", "socket"; of both enums */
bool object_kind_parse(const char *text, uint8_t *ret_kind);

/*
 * What threads waited for.  Equal ones are one row.  A lock: a futex, with the one who held it then.
 * Anything else: what a system call or a page fault waited for, with the process at its other end.
 */
struct object {
	uint8_t kind;		/* enum lock_kind or object_kind */
	bool is_private;	/* a lock, as the waiter said: of one process */
	const char *operation;	/* "FUTEX_WAIT", ..., "futex_waitv"; "connect", "send" of poll(); "uring READ"; or "" */
	const char *name;	/* of the variable, or where it lies; path, address and peer, ... */
	/* path of the file whose data it is, "[heap]", "[stack]", ...; of others a detail, or "" */
	const char *place;
	uint32_t pid;		/* of the program that addr is an address of; 0: shared, and known by its place;
				 * of others the process at the other end, or the child; 0: not known, or none */
	uint64_t addr;		/* of others 0 */
	uint32_t holder_tid;	/* who held it as the waits began; 0: not known, see the wakers */
};

/* All waits of one thread with the same state, flags, stacks and object. */
struct wait {
	uint32_t thread;	/* index */
	uint32_t user, kernel;	/* stack nodes, 0: none */
	uint32_t object;	/* index + 1; 0: none, or not asked for */
	uint8_t state;		/* 'S','D','T','t','P','I','R' */
	uint8_t flags;		/* enum wait_flag */
	uint32_t max_waker;	/* index + 1: who ended the longest; 0: not known, or there is none */
	uint64_t max_start_unix_ns;	/* when the longest began; 0: not known */
	uint64_t count;
	uint64_t blocked_ns, runnable_ns, preempted_ns;
	uint64_t on_cpu_ns;	/* of a row of state 'C' alone, which is none of a wait: see below */
	uint64_t max_ns;
	/*
	 * Where short waits were sampled, else 0: the true value is most likely within three times that
	 * (fold/sums.h).
	 */
	uint64_t off_cpu_se_ns, count_se;
	uint32_t hist[PROFILE_HIST_SLOTS];
};
static inline uint64_t wait_off_cpu_ns(const struct wait *w)
{
	return w->blocked_ns + w->runnable_ns + w->preempted_ns;
}

static inline unsigned profile_hist_slot(uint64_t ns)
{
	unsigned slot = ns ? 63 - (unsigned)__builtin_clzll(ns) : 0;

	return slot < PROFILE_HIST_SLOTS - 1 ? slot : PROFILE_HIST_SLOTS - 1;
}

/* Samples of a thread on CPU with the same stacks in the same slice: see below. */
struct on_cpu_sample {
	uint32_t thread;	/* index */
	uint32_t user, kernel;	/* stack nodes, 0: none; kernel: what it did there when it was met in the kernel */
	uint32_t slice;		/* of the window; 0 where there are none */
	uint64_t samples;
	uint64_t weight_ns;	/* the time between two samples of a CPU, of each: how much they count */
};

/*
 * All waits of a thread in one state that filters let through: exact whatever was sampled or
 * lost.  Over a thread's states their time is its off-CPU time without the filtered.
 */
struct state_total {
	uint32_t thread;	/* index */
	uint8_t state;
	uint64_t count;
	uint64_t blocked_ns, runnable_ns, preempted_ns;
};

/* The numbers are those of recordings. */
enum tcp_wait_direction {
	TCP_WAIT_RECEIVE,
	TCP_WAIT_SEND,
	TCP_WAIT_CONNECT,
	TCP_WAIT_DIRECTION_COUNT
};
const char *tcp_wait_direction_text(unsigned direction);	/* "receive" */

/*
 * What the waits for an object went on, as its TCP sockets say; equal ones are one row.  Times are parts of blocked_ns,
 * and what is in none of them is not known (SEMANTICS, "The network or the peer").
 */
struct tcp_wait {
	uint32_t object;	/* index */
	uint8_t direction;	/* enum tcp_wait_direction */
	uint64_t count, blocked_ns;
	uint64_t peer_ns;	/* it had acknowledged all; its window was closed */
	uint64_t network_ns;	/* the least round trips, and until what was lost was sent again */
	uint64_t silent_ns;	/* nothing had been sent since the last data came */
	uint64_t unclear_ns;	/* the peer, or the way there: its acknowledgement came late, or with the answer */
	uint64_t resent;	/* segments that were sent again */
	uint32_t srtt_us, min_rtt_us;	/* of the socket seen last; 0: not known */
};

enum connection_side { CONNECTION_CLIENT, CONNECTION_SERVER, CONNECTION_SIDE_COUNT };

/*
 * A TCP connection of a process that threads waited for, or a port that it serves.  Both ends together say which wait of
 * another host's recording is for this one.  A client's end without a port ("10.0.0.9") stands for all its connections
 * to there that are not told apart; a server's remote end "" for all of its clients.
 */
struct connection {
	uint32_t pid;
	uint8_t side;		/* enum connection_side: what the process is */
	const char *local, *remote;	/* "10.0.0.9:48120", "10.0.0.5:3306" */
};

#define CONNECTIONS_MAX 4096	/* of one window: each process has a few */

/*
 * What made threads runnable (SEMANTICS, "The waker"): a thread at a place, or an interrupt.
 * Equal ones are one row.
 */
struct waker {
	uint32_t pid, tid;	/* 0 for an interrupt */
	uint64_t start_ns;	/* of the thread, since boot */
	const char *comm;	/* "" for an interrupt */
	const char *irq;	/* "irq:virtio0", "softirq:NET_RX", "timer", "ipi"; NULL for a thread */
	uint32_t user, kernel;	/* stack nodes, 0: none */
};

/* Those sleeps of one wait row that one waker ended. */
struct wake {
	uint32_t wait, waker;	/* indices */
	uint64_t count;
	uint64_t blocked_ns, runnable_ns;	/* up to the waking; from there to the CPU */
	uint32_t hist[PROFILE_HIST_SLOTS];	/* of each one's runnable_ns */
};

#define PROFILE_CHAIN_MAX 16

/* Why a chain goes no further; the numbers are those of recordings. */
enum chain_end {
	CHAIN_GOES_ON,
	CHAIN_AWAKE,		/* the waker was awake all the time there is to explain */
	CHAIN_LOOP,		/* so it was; who had woken it is the sleeper or in the chain */
	CHAIN_INTERRUPT,
	CHAIN_CUT,		/* at the depth asked for */
	CHAIN_START,		/* awake all the time, and not seen to sleep since tracing began */
	CHAIN_UNKNOWN,		/* who woke the waker is not known */
	CHAIN_END_COUNT
};

/*
 * A chain of wakers, nearest first: this one, and the chain that had ended its own last wait.
 * Equal ones are one row.
 */
struct chain_node {
	uint32_t waker;		/* index */
	uint32_t next;		/* index + 1, above 0 only with CHAIN_GOES_ON */
	uint8_t end;		/* enum chain_end */
	uint8_t loop_steps;	/* how many steps back, towards the sleeper, it closes */
};

/*
 * What the wakers of a chain did while sleeps of one wait row that it ended went on.  All of it,
 * and rest_ns, adds up to blocked_ns.
 */
struct story {
	uint32_t wake, chain;	/* indices */
	uint64_t count, blocked_ns, runnable_ns;
	uint64_t rest_ns;	/* the last one's wait, for who is not in the chain; of an interrupt, until it came */
	struct hop {
		/* from the end of its own wait to its waking; runnable: preempted, too */
		uint64_t ran_ns, runnable_ns;
		uint64_t earlier_ns;		/* before that wait */
	} hop[PROFILE_CHAIN_MAX];
};

/*
 * Who held the CPU while a thread stood in its queue: part of the thread's runnable and preempted time.
 * What no row of the thread takes is not known.  Rows of BLAME_THROTTLED are there without has_blame, too.
 */
#define BLAME_OTHERS_NAME "[others]"	/* in a history: programs that are not told apart */
struct blame {
	uint32_t thread;	/* index of the sufferer */
	uint8_t kind;		/* enum blame_kind */
	uint32_t pid, tid;	/* of the culprit, 0 unless it is a thread; tid 0: several of that name */
	const char *comm;	/* "" unless it is a thread */
	uint64_t count;		/* stretches of its on the CPU, or delays throttled or beside an idle CPU */
	uint64_t runnable_ns, preempted_ns;
};

/* All bursts of wakings by one waker: see features/storms/abi.h. */
struct storm {
	uint32_t waker;		/* index */
	uint64_t event_cnt, call_cnt, woken_cnt, most_cnt;
	uint64_t ended_cnt;	/* of the woken, seen to sleep again or exit; at most woken_cnt */
	uint64_t again_cnt;	/* of those, asleep again at once */
	uint64_t cpu_ns, again_ns, delay_ns;
};

/* For which trace a thread worked in one wait of a row: the longest, as its trace context said. */
struct wait_trace {
	uint32_t wait;		/* index */
	const char *trace, *span;	/* 32 and 16 hexadecimal digits */
	uint64_t start_ns;	/* since the start of the recording's window */
	uint64_t ns;		/* how long it took */
};

/* Of a file that frames lie in. */
struct module_id {
	const char *module;	/* as the frames have it */
	const char *hex;	/* its build id, in lower case */
};

#define PROFILE_LOSS_SLICES "slices"
#define PROFILE_LOSS_CONNECTIONS "connections"

struct profile_loss {
	const char *reason;	/* short id, "ring_stack" */
	const char *help;	/* a sentence */
	uint64_t count;
	uint64_t time_ns;	/* thread time concerned, where known */
};

/*
 * Waits below the scale were kept with a probability of duration / scale, those kept stand for
 * the others.  The governor raises the scale to keep the tracer's cost within the budget.
 */
struct profile_sampling {
	uint64_t start_ns, end_ns, max_ns;	/* the scale as the window began, as it ended, the highest; 0: exact */
	uint32_t raised_cnt, lowered_cnt;	/* by the governor */
	uint32_t over_cnt;		/* readings, about one a second, above the budget by the BPF programs' time */
	uint32_t budget_ppm;		/* of all CPUs' time; 0: no governor */
	uint32_t used_ppm, peak_ppm;	/* BPF time and own CPU time: over the window, in its worst second */
	bool has_used;			/* it could be measured */
};

/* Threads were looked at instead of traced (fold/looks.h): once in each of so many periods. */
struct profile_looks {
	uint64_t asked_ns;	/* the period asked for */
	uint64_t rounds;	/* 0: it was traced */
	uint32_t budget_ppm;	/* of one CPU: what kept periods longer than asked for, if they are */
};

/* The part of a recording's window that a profile was reduced to: see profile_cut(). */
struct profile_range {
	bool is_cut;
	uint64_t from_ns, to_ns;	/* since the start of the recording's window */
	uint64_t window_ns;		/* how long that was */
	bool is_estimated;		/* accounts of threads are estimates: waits were sampled, filtered or lost */
};

/* What of a history a profile is the sum of: see store/store.h. */
struct profile_history {
	uint64_t windows;	/* 0: it is none of a history */
	uint64_t to_unix_ns;	/* end of the last one */
	uint32_t gap_cnt;	/* between windows */
	uint64_t gap_ns;
	const char *gap_why;	/* "" where nobody said it */
	bool is_gone_by_name;	/* threads that were not there at its end are told by name */
};

struct id_index;
struct slices;

struct profile_info {
	uint64_t start_unix_ns;	/* of the window, CLOCK_REALTIME */
	uint64_t start_ns;	/* CLOCK_MONOTONIC */
	uint64_t duration_ns;
	const char *host, *kernel;
	uint32_t cpus;
	const char *command_line;	/* of the recorder */
	const char *filters;	/* human text, "" when none */
	const char *version;	/* of offcpu */
	uint64_t switches;	/* on all CPUs, also of threads that no filter selects: what the cost is for; 0: not known */
	uint64_t tracer_cpu_ns, tracer_peak_rss_bytes;
	/* of tracer_cpu_ns: before the window, and up to its end; 0: unknown */
	uint64_t tracer_start_cpu_ns, tracer_stop_cpu_ns;
	uint64_t tracer_bpf_ns;	/* valid if has_bpf_ns */
	bool has_bpf_ns;
	bool has_locks;		/* they were asked for */
	bool has_objects;	/* and so was whatever else threads wait for */
	bool has_wakers;	/* they were asked for: a sleep without one has an unknown waker */
	bool has_blame, has_storms;	/* they were asked for */
	/* samples a second of each CPU, as was asked for and as it ended; 0: none */
	uint32_t on_cpu_hz, on_cpu_end_hz;
	bool on_cpu_as_waits;	/* profile_on_cpu_as_waits() is done */
	bool has_requests;	/* it is of `offcpu request` */
	bool has_tasks;		/* they were asked for */
	/* only waits of requests that took so long were listed; 0: of all, or there were no requests */
	uint64_t request_slower_ns;
	bool self_excluded;	/* the tracer's own threads were left out */
	struct profile_sampling sampling;
	struct profile_looks looks;
	/* what it was read from: "pprof (off_cpu in nanoseconds)"; what else than waits it holds; NULL: a recording */
	const char *imported;
	/* with imported: what is in place of waits, one of ROWS_*; NULL: waits */
	const char *rows_are;
	const char *scheduler;	/* the BPF scheduler (sched_ext) that had the CPUs; NULL: none */
	uint64_t unfollowed;	/* processes that recorded threads began and that are not recorded */
	uint32_t unknown;	/* enum profile_unknown, of what was imported or looked at */
	struct profile_range range;
	struct profile_history history;
};

/* Of the tracer's CPU time that was in the window: what runs, apart from what it takes to start and to write. */
static inline uint64_t profile_running_cpu_ns(const struct profile_info *info)
{
	return info->tracer_stop_cpu_ns > info->tracer_start_cpu_ns
		       ? info->tracer_stop_cpu_ns - info->tracer_start_cpu_ns
		       : 0;
}

/* What finds rows of which each is there once; from INDEX_WAIT on those of one window. */
enum profile_index {
	INDEX_STRING, INDEX_FRAME, INDEX_STACK, INDEX_OBJECT, INDEX_WAKER,
	INDEX_WAIT, INDEX_WAKE, INDEX_CHAIN, INDEX_BLAME, INDEX_STORM, INDEX_TCP_WAIT, INDEX_CONNECTION,
	INDEX_CNT
};

/* "a CPU profile: pprof (cpu in nanoseconds)": what another tool wrote; NULL: a recording.  Free with g_free(). */
char *profile_imported_text(const struct profile_info *info);

struct profile {
	struct profile_info info;
	GArray *threads;	/* struct thread */
	GArray *frames;		/* struct frame */
	GArray *nodes;		/* struct stack_node; [0] is the root */
	GArray *waits;		/* struct wait */
	GArray *on_cpu;		/* struct on_cpu_sample */
	GArray *states;		/* struct state_total, in the order of threads */
	GArray *objects;	/* struct object */
	GArray *wakers;		/* struct waker */
	GArray *wakes;		/* struct wake */
	GArray *chains;		/* struct chain_node, each behind its next */
	GArray *stories;	/* struct story */
	GArray *blames;		/* struct blame */
	GArray *storms;		/* struct storm, one a waker */
	GArray *traces;		/* struct wait_trace, in the order of waits, at most one of each */
	GArray *tcp_waits;	/* struct tcp_wait */
	GArray *connections;	/* struct connection */
	GArray *losses;		/* struct profile_loss, one per reason, never all 0 */
	GArray *build_ids;	/* struct module_id, one a module, of those that have one */
	GArray *limits;		/* struct profile_limit: see limits.h */
	GArray *requests, *request_parts, *spans, *span_waits;	/* see requests.h */
	struct slices *slices;	/* see slices.h; NULL: none */
	GPtrArray *tasks;	/* struct tasks, a process each: see tasks.h */
	/* private: interning */
	GStringChunk *strings;
	GPtrArray *string_list;
	struct id_index *index[INDEX_CNT];
};

/* Empty: the root node, and "" for every string of the info. */
struct profile *profile_new(void);
void profile_free(struct profile *p);	/* NULL is fine */
/* About so much memory it takes. */
gsize profile_bytes(const struct profile *p);

/*
 * The profile's own copy of s, the same pointer for equal strings; NULL for NULL.  It is valid
 * UTF-8 of at most PROFILE_STRING_MAX_BYTES: a comm or a symbol may hold any bytes.
 */
const char *profile_string(struct profile *p, const char *s);
/* The id of an equal frame, copied in when new.  A frame without a name always says why. */
uint32_t profile_frame(struct profile *p, const struct frame *f);
/* The child of `parent` with that frame, made when new; `parent` itself at PROFILE_DEPTH_MAX. */
uint32_t profile_node(struct profile *p, uint32_t parent, uint32_t frame);
/*
 * Says how the stack that ends at `node` ended.  One path may be the whole of one stack and
 * the stump of another: then the worse end (the higher value) stays.  The root has no end: a
 * stack lost altogether is a path of one unnamed frame.
 */
void profile_stack_end(struct profile *p, uint32_t node, enum stack_end end);
/* Has a frame of the stack a name that begins with one of these?  NULL ends them. */
bool profile_stack_names(const struct profile *p, uint32_t node, const char *const *prefixes);
/*
 * Takes out all that is of one window: threads, waits, wakings, losses.  Frames, stacks, objects, wakers and strings
 * keep their ids.
 */
void profile_empty_rows(struct profile *p);
/* The same of objects and wakers, which only rows name.  None of profile_take_rows() may be left. */
void profile_empty_objects(struct profile *p);
/* Of what was taken out of the tables of a window nothing is found any more. */
void profile_empty_indexes(struct profile *p);
/*
 * The same, but the rows go to the caller, as a profile that has everything else in common with p: to be read only,
 * and freed by profile_free_rows() before p is.
 */
struct profile *profile_take_rows(struct profile *p);
void profile_free_rows(struct profile *rows);	/* NULL is fine */
/*
 * An empty one that has everything but rows in common with p, which gets what is interned by it; freed as the one
 * above.  Rows may be added, which are summed as ever, or appended as they are.
 */
struct profile *profile_new_rows(struct profile *p);
/* Appends; the strings in *t must be the profile's own, NULL becomes "". */
uint32_t profile_add_thread(struct profile *p, const struct thread *t);
/* Rows of the longest of its tables; four nodes of stacks are one, of which there may be so many more. */
guint profile_most_rows(const struct profile *p);
/* So many waits may be added: room for them, at once. */
void profile_expect_waits(struct profile *p, guint cnt);
/*
 * Sums *w into the wait with the same thread, state, flags and stacks; returns its index.
 * Sums stop at the highest value of their type instead of wrapping.
 */
uint32_t profile_add_wait(struct profile *p, const struct wait *w);
/* A row of its own for one wait, and for no other: of a profile that has no sums, and is no recording. */
void profile_add_single_wait(struct profile *p, const struct wait *w);
/* Who ended the row's longest wait, where that began at that time: once more is known than as it was added. */
void profile_set_max_waker(struct profile *p, uint32_t wait, uint64_t max_start_unix_ns, uint32_t waker);
/* As a file tells it; max_waker: index + 1, 0: not known. */
void profile_set_longest(struct profile *p, uint32_t wait, uint64_t max_start_unix_ns, uint32_t max_waker);
/* The window began at another time of the day than was thought: what it says of single waits follows. */
void profile_set_start_unix(struct profile *p, uint64_t start_unix_ns);
/* Appends the total of one state of a thread. */
void profile_add_state(struct profile *p, const struct state_total *total);
/* Adds to the row of that thread and state, which there may not be yet. */
void profile_add_to_state(struct profile *p, const struct state_total *total);
/* The id of an equal object, copied in when new; NULL strings become "". */
uint32_t profile_object(struct profile *p, const struct object *o);
/* It is told by another name, and another process at its other end, from now on: once more is known. */
void profile_name_object(struct profile *p, uint32_t object, const char *name, uint32_t pid);
/* The id of an equal waker, copied in when new. */
uint32_t profile_waker(struct profile *p, const struct waker *w);
/* Sums *w into the wake with the same wait and waker; its id. */
uint32_t profile_add_wake(struct profile *p, const struct wake *w);
/* The id of an equal chain. */
uint32_t profile_chain(struct profile *p, const struct chain_node *c);
void profile_add_story(struct profile *p, const struct story *s);
/* How many wakers the chain has. */
unsigned profile_chain_len(const struct profile *p, uint32_t chain);
/* Sums *b into the blame with the same thread, kind and culprit. */
void profile_add_blame(struct profile *p, const struct blame *b);
/* Sums *t into the row with the same object and direction. */
void profile_add_tcp_wait(struct profile *p, const struct tcp_wait *t);
/* Once of equal ones.  Those beyond CONNECTIONS_MAX are the loss PROFILE_LOSS_CONNECTIONS. */
void profile_add_connection(struct profile *p, const struct connection *c);
/* Sums *s into the storm with the same waker. */
void profile_add_storm(struct profile *p, const struct storm *s);
/* Appends; strings become the profile's own.  Of a wait that has one already the longer stays, once they are sorted. */
void profile_add_trace(struct profile *p, const struct wait_trace *t);
void profile_sort_traces(struct profile *p);
/* NULL: not known.  They are sorted. */
const struct wait_trace *profile_trace_of(const struct profile *p, uint32_t wait);
/* Borrowed, until one is added; NULL: none of that reason. */
struct profile_loss *profile_find_loss(const struct profile *p, const char *reason);
/* Sums into the loss with the same reason. */
void profile_add_loss(struct profile *p, const char *reason, const char *help, uint64_t count, uint64_t time_ns);

/* Notes the build id of a module that frames name; what is no hexadecimal number, or too much, is dropped. */
void profile_set_build_id(struct profile *p, const char *module, const char *hex);
/* Of a module as a frame of the profile points to it; NULL: not known. */
const char *profile_build_id(const struct profile *p, const char *module);

/*
 * True when no array is above its maximum, every index is in range, parents come before children, letters and enums
 * are known, no time is above PROFILE_NS_MAX, and the totals over all threads and over all waits fit in 63 bits, so
 * that nobody's sums wrap.  Else *error says what is wrong.
 */
bool profile_check(const struct profile *p, GError **error);

/* All processes are of one command that was started for the recording. */
static inline bool profile_is_of_command(const struct profile *p)
{
	return p->info.filters && g_str_has_prefix(p->info.filters, "command ");
}

/* The rows of each table: profile_thread(p, i) is that of p->threads at i. */
#define PROFILE_ROW(name, type, table)                                                        \
	static inline const struct type *name(const struct profile *p, uint32_t i)            \
	{                                                                                     \
		return &g_array_index(p->table, struct type, i);                              \
	}
PROFILE_ROW(profile_thread, thread, threads)
PROFILE_ROW(profile_get_frame, frame, frames)
PROFILE_ROW(profile_get_node, stack_node, nodes)
PROFILE_ROW(profile_state, state_total, states)
PROFILE_ROW(profile_wait, wait, waits)
PROFILE_ROW(profile_tcp_wait, tcp_wait, tcp_waits)
PROFILE_ROW(profile_connection, connection, connections)
PROFILE_ROW(profile_get_object, object, objects)
PROFILE_ROW(profile_get_waker, waker, wakers)
PROFILE_ROW(profile_get_chain, chain_node, chains)
PROFILE_ROW(profile_story, story, stories)
PROFILE_ROW(profile_wake, wake, wakes)
PROFILE_ROW(profile_blame, blame, blames)
PROFILE_ROW(profile_storm, storm, storms)

/* Were short waits sampled at any time, or all?  Then times are estimates. */
static inline bool profile_is_sampled(const struct profile *p)
{
	return p->info.sampling.max_ns != 0 || p->info.looks.rounds;
}
/* How often a second threads were looked at, on the average. */
static inline double profile_looks_hz(const struct profile_info *info)
{
	return info->duration_ns ? (double)info->looks.rounds * 1e9 / (double)info->duration_ns : 0;
}

/* NULL: the wait has none. */
static inline bool object_is_lock(const struct object *o)
{
	return o->kind < LOCK_KIND_COUNT || o->kind == OBJECT_KERNEL_LOCK;
}

static inline bool object_is_gil(const struct object *o)
{
	return o->kind == LOCK_MUTEX && !strcmp(o->name, GIL_NAME);
}

static inline const struct object *profile_wait_object(const struct profile *p, const struct wait *w)
{
	return w->object ? profile_get_object(p, w->object - 1) : NULL;
}

/* Inside the profile layer: a sum that stops at the highest value instead of wrapping. */
static inline uint64_t profile_sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/*
 * What stands in a profile's rows in place of waits of threads: info.rows_are is its plural, one of these.  No rule,
 * reason or finding is about such rows, and nobody calls their time off CPU.
 */
#define ROWS_REQUESTS "requests"	/* at block devices, of `offcpu io` */
#define ROWS_OPERATIONS "operations"	/* on files, of `offcpu io` */
#define ROWS_TASKS "tasks"
/* of other tools' profiles */
#define ROWS_CPU "CPU samples"
#define ROWS_WALL "wall-clock samples"
#define ROWS_CONTENTIONS "contentions"
#define ROWS_GOROUTINES "waits of goroutines"
#define ROWS_SAMPLES "samples"
#define ROWS_LOOKS "looks at threads"

struct rows_kind {
	const char *many, *one;
	const char *what;	/* "a CPU profile"; NULL: a recording of ours */
	const char *title;	/* "CPU time by stack" */
	/* as formats call a type of sample that is such time, and the type that counts them */
	const char *time_type, *count_type;	/* time_type NULL: see profile_rows_are_counted() */
};

/* NULL: rows are waits, or it is no plural that is known. */
const struct rows_kind *profile_rows_kind(const char *rows_are);

/* For how long is not known: all times are 0, and the number of rows is the only weight. */
bool profile_rows_are_counted(const char *rows_are);
/* The same plural as a constant of ours; NULL: not one that is known. */
const char *profile_rows_known(const char *text);
/* What so many rows are: "wait", "waits", "operations". */
const char *profile_rows_word(const char *rows_are, uint64_t cnt);

/*
 * What another tool's format does not tell, or looks do not.  Of a traced recording nothing is unknown in this sense.
 * What is unknown is 0, and nobody shows it: where the parts of a wait are unknown all of its time is in blocked_ns,
 * and its state is '?'.
 */
enum profile_unknown {
	UNKNOWN_STATES = 1 << 0,
	UNKNOWN_PARTS = 1 << 1,		/* of off-CPU time: blocked, runnable, preempted */
	UNKNOWN_COUNTS = 1 << 2,	/* of waits */
	UNKNOWN_DURATIONS = 1 << 3,	/* of single waits: maximum, histogram */
	UNKNOWN_ACCOUNTS = 1 << 4,	/* of threads: observed, on-CPU time, switches */
	UNKNOWN_IDS = 1 << 5,		/* of processes and threads */
	UNKNOWN_WINDOW = 1 << 6,	/* how long was observed */
	UNKNOWN_HOST = 1 << 7,		/* where: host, kernel, CPUs, the recorder */
	UNKNOWN_STACK_ENDS = 1 << 8,	/* whether stacks are complete */
};
#define UNKNOWN_ALL ((1 << 9) - 1)
/* what recordings of our own may lack, not those made of other tools' profiles */
#define UNKNOWN_RECORDED (UNKNOWN_STATES | UNKNOWN_PARTS | UNKNOWN_COUNTS | UNKNOWN_DURATIONS | UNKNOWN_ACCOUNTS)
/* "states, wakers, ..." for people: what of a profile is unknown; free with g_free(). */
char *profile_unknown_text(uint32_t unknown, bool has_wakers);

/*
 * What threads did on CPU, made of samples (SEMANTICS, "On-CPU samples").  A thread's samples say in what proportion
 * its time went where; how long that was its account says, which is exact.
 */

/* All samples of one thread with the same stacks, and what they stand for. */
struct on_cpu_row {
	uint32_t thread, user, kernel;
	uint64_t samples;	/* 0: the thread ran, and no sample met it: its time is known, not where it went */
	uint64_t on_cpu_ns;	/* over the rows of a thread: its on_cpu_ns */
	uint64_t on_cpu_se_ns;	/* standard error of that */
};

#define ON_CPU_STATE 'C'	/* in the place of a wait's state */

static inline bool profile_has_on_cpu(const struct profile *p)
{
	return p->info.on_cpu_hz != 0;
}

/* struct on_cpu_sample, by thread: those with the same stacks become one, whatever their slice. */
GArray *profile_on_cpu_of_stacks(const struct profile *p);

/* struct on_cpu_row, by thread.  It adds stacks of one frame to the profile. */
GArray *profile_on_cpu_rows(struct profile *p);

/*
 * The same as rows of waits, behind all others: of state ON_CPU_STATE, with on_cpu_ns, and samples in the place of a
 * count.  Whatever sums off-CPU time finds none in them.  Nothing where nothing was sampled, or where it is done.
 */
void profile_on_cpu_as_waits(struct profile *p);

/* Appends; the thread and the stacks are the profile's. */
void profile_add_on_cpu(struct profile *p, const struct on_cpu_sample *s);
/* The standard error of `part` of all_ns of a thread of which so many of all samples are. */
double on_cpu_error(uint64_t all_ns, uint64_t part, uint64_t all);

#define OBJECT_UPSTREAM " -> "	/* in the name of an epoll set, before whom its loop has asked */

/* "127.0.0.1:8081 (python3)"; NULL: it is no epoll set, or has asked nobody. */
static inline const char *object_upstream(const struct object *o)
{
	const char *at = o && o->kind == OBJECT_EPOLL && o->name ? strstr(o->name, OBJECT_UPSTREAM) : NULL;

	return at ? at + strlen(OBJECT_UPSTREAM) : NULL;
}

#define OBJECT_BOUND " bound"	/* in the name of a socket for datagrams without a peer, behind its own port */
#define PORT_OF_NOBODY 32768	/* from here on Linux gives ports to those that do not ask for one */

/* Its port was chosen, so that others send there: a server. */
static inline bool object_serves_datagrams(const struct object *o)
{
	const char *end = o->kind == OBJECT_SOCKET ? strstr(o->name, OBJECT_BOUND) : NULL;
	unsigned port = 0, unit = 1;

	for (; end && end > o->name && g_ascii_isdigit(end[-1]) && port < PORT_OF_NOBODY; end--, unit *= 10)
		port += unit * (unsigned)(end[-1] - '0');
	return port && port < PORT_OF_NOBODY;
}

/* A connection that this side has accepted at there, as LIMIT_BACKLOG has it: ":8080 from 10.0.0.7", "/run/app.sock from". */
static inline bool object_is_accepted_at(const struct object *o, const char *there)
{
	static const char from[] = " from";
	size_t len = strlen(there);

	return o->kind == OBJECT_SOCKET && len && strncmp(o->name, there, len) == 0 &&
	       strncmp(o->name + len, from, strlen(from)) == 0;
}

/*
 * What a thread worked for as it waited: attributes of its trace context are the outermost frames of its user stack,
 * of kind FRAME_CONTEXT.  Such a frame has the attribute's value as its name, and "[http.route]" as its module.
 */

/* The node of the innermost frame of the stack's context, which is a stack that says all of it; 0: it has none. */
uint32_t context_node(const struct profile *p, uint32_t node);

/* The value of an attribute of a stack; NULL: it has none of that name. */
const char *context_value(const struct profile *p, uint32_t node, const char *attribute);

/* Calls for each attribute, from the outermost frame on. */
typedef void (*context_fn)(const char *attribute, const char *value, void *data);
void context_for_each(const struct profile *p, uint32_t node, context_fn fn, void *data);

/* What the request is called, as people say it: "POST /order/create".  Appends; false where nothing is known of it. */
bool context_append_route(const struct profile *p, uint32_t node, GString *s);

#endif
