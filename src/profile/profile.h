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

#define PROFILE_HIST_SLOTS 48	/* slot i counts durations in [2^i, 2^(i+1)) ns; the last one also longer ones */
#define PROFILE_DEPTH_MAX 4096	/* frames of a path, including inlined ones */
#define PROFILE_STRING_MAX_BYTES 16384	/* longer strings are truncated */
#define PROFILE_NODES_MAX (16 << 20)
#define PROFILE_ROWS_MAX (4 << 20)	/* limit of threads, of frames, and of waits */
#define PROFILE_MODULES_MAX 4096
#define PROFILE_BUILD_ID_MAX_DIGITS 128
#define PROFILE_NS_MAX (UINT64_C(1) << 62)	/* limit of times and durations: 146 years */

enum frame_kind { FRAME_USER = 0, FRAME_KERNEL = 1, FRAME_CONTEXT = 2 /* FRAME_CONTEXT: see context_node() */ };

/* In the profile, strings are interned. */
struct frame {
	const char *name;	/* NULL when unnamed; C++ and Rust names demangled */
	const char *module;	/* path of the ELF file, "[kernel]", "[ext4]", "[vdso]", "[anon]", NULL */
	uint64_t offset;	/* in the module (user: ELF virtual address), or the address without a module; of
				 * the function if named, else of the instruction */
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
	uint16_t depth;		/* frames on the path, including this one */
	uint8_t end;		/* enum stack_end of the stack that ends here; STACK_NONE for inner nodes */
};

enum thread_flag {
	THREAD_KERNEL = 1 << 0,
	THREAD_OPEN_AT_START = 1 << 1,	/* was off CPU when the window began, even if that wait is not listed */
	THREAD_OPEN_AT_END = 1 << 2,	/* was off CPU when the window ended */
	THREAD_EXITED = 1 << 3,
	THREAD_EXECED = 1 << 4,		/* exec: the next program is another row with the same identity */
};

/* A thread under one program. Identity is (pid, tid, start_ns); an exec starts a new row. */
struct thread {
	uint32_t pid, tid;
	uint64_t start_ns;	/* since boot */
	const char *comm;
	const char *process;	/* comm of the process's first thread */
	const char *service;	/* systemd unit, pod, or the name that the process gives itself; NULL: unknown */
	uint32_t flags;
	uint64_t from_ns, to_ns;	/* CLOCK_MONOTONIC; observed = to - from */
	uint64_t on_cpu_ns, blocked_ns, runnable_ns, preempted_ns;
	uint64_t filtered_ns;	/* off-CPU time not listed because of -m, -M, --state */
	uint64_t lost_ns;	/* off-CPU time not listed because of a loss */
	uint64_t switches;
};
static inline uint64_t thread_observed_ns(const struct thread *t) { return t->to_ns - t->from_ns; }
static inline uint64_t thread_off_cpu_ns(const struct thread *t)
{
	return t->blocked_ns + t->runnable_ns + t->preempted_ns;
}
/* observed - on_cpu - off_cpu; 0 except for counted losses. */
static inline int64_t thread_residual_ns(const struct thread *t)
{
	return (int64_t)(thread_observed_ns(t) - t->on_cpu_ns - thread_off_cpu_ns(t));
}

enum wait_flag {
	WAIT_OPEN_AT_START = 1 << 0,
	WAIT_OPEN_AT_END = 1 << 1,
	/* waited for a CPU, more than half of the time because of a cgroup's CPU quota */
	WAIT_THROTTLED = 1 << 2,
};

/* The kind of a lock, from the sleeper's frames and the way it waits. */
enum lock_kind {
	LOCK_FUTEX = 0,	/* of an unknown library */
	LOCK_MUTEX,
	LOCK_CONDITION,
	LOCK_RWLOCK,
	LOCK_SEMAPHORE,
	LOCK_BARRIER,
	LOCK_JOIN,	/* waits for a thread to end */
	LOCK_ONCE,	/* one-time initialization that another thread is running */
	LOCK_LIBC,	/* libc's internal locks: malloc, stdio streams */
	LOCK_PARK,	/* waits to be unparked by another thread */
	LOCK_KIND_COUNT
};
const char *lock_kind_text(enum lock_kind kind);	/* "mutex" */

/*
 * An interpreter's lock is a mutex with this name. Its `place` is the holder's stack at the begin of the waits,
 * innermost first: "crunch (app.py:12) < main (app.py:40)".
 */
#define GIL_NAME "GIL"

/* The `place` of a child that has ended: "status 1", "signal 9". */
#define CHILD_STATUS "status "
#define CHILD_SIGNAL "signal "

/* Other objects that a thread may wait for, numbered after the lock kinds. */
enum object_kind {
	OBJECT_FILE = LOCK_KIND_COUNT,
	OBJECT_DIRECTORY,
	OBJECT_SOCKET,
	OBJECT_PIPE,
	OBJECT_EVENTFD,
	OBJECT_TIMERFD,
	OBJECT_SIGNALFD,
	OBJECT_INOTIFY,
	OBJECT_EPOLL,		/* an epoll set and what it watches */
	OBJECT_POLL,		/* several descriptors of one poll() or select() */
	OBJECT_CHILD,		/* a child process that should end or stop */
	OBJECT_BLOCK_DEVICE,
	OBJECT_TERMINAL,
	OBJECT_DEVICE,		/* a character device of no other kind */
	OBJECT_FAULT,		/* a page fault: the file, or memory without one */
	OBJECT_AIO,		/* io_getevents() and io_uring */
	OBJECT_DESCRIPTOR,	/* a descriptor of another kind */
	OBJECT_GOROUTINE,	/* parked, with the reason that Go's runtime gives */
	OBJECT_KERNEL_LOCK,	/* a kernel mutex or semaphore; counts as a lock */
	OBJECT_JOURNAL,		/* a file system's journal, by its device; held by the thread that commits it */
	OBJECT_NOTHING,		/* poll() and select() without descriptors: a sleep */
	OBJECT_KIND_COUNT
};
const char *object_kind_text(unsigned kind);	/* "mutex", "socket"; for both enums */
bool object_kind_parse(const char *text, uint8_t *ret_kind);

/*
 * What threads waited for; equal objects are one row. A lock is a futex with its holder at that time. Other objects
 * are what a system call or a page fault waited for, with the process at the other end.
 */
struct object {
	uint8_t kind;		/* enum lock_kind or object_kind */
	bool is_private;	/* a process-private futex */
	const char *operation;	/* "FUTEX_WAIT", ..., "futex_waitv"; "connect", "send" of poll(); "uring READ"; or "" */
	const char *name;	/* the lock variable, or where it lies; path; address and peer; ... */
	/* lock: path of the file whose data it is, "[heap]", "[stack]", ...; others: a detail, or "" */
	const char *place;
	uint32_t pid;		/* of a lock: the process, 0 if shared (`place` identifies it); of others: the
				 * process at the other end, or the child; 0: unknown, or none */
	uint64_t addr;		/* 0 if not a lock */
	uint32_t holder_tid;	/* holder when the waits began; 0: unknown, see the wakers */
};

/* All waits of one thread with the same state, flags, stacks and object. */
struct wait {
	uint32_t thread;	/* index */
	uint32_t user, kernel;	/* stack nodes, 0: none */
	uint32_t object;	/* index + 1; 0: none, or not recorded */
	uint8_t state;		/* 'S','D','T','t','P','I','R' */
	uint8_t flags;		/* enum wait_flag */
	uint32_t max_waker;	/* index + 1: who ended the longest wait; 0: unknown, or none */
	uint64_t max_start_unix_ns;	/* begin of the longest wait; 0: unknown */
	uint64_t count;
	uint64_t blocked_ns, runnable_ns, preempted_ns;
	uint64_t on_cpu_ns;	/* only for rows of state 'C', which are on-CPU samples: see below */
	uint64_t max_ns;
	/*
	 * Standard errors if short waits were sampled, else 0. The true value most likely lies within three of them
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

/* Samples of a thread on CPU with equal stacks in the same slice: see below. */
struct on_cpu_sample {
	uint32_t thread;	/* index */
	uint32_t user, kernel;	/* stack nodes, 0: none; kernel: only if the sample was in the kernel */
	uint32_t slice;		/* of the window; 0 without slices */
	uint64_t samples;
	uint64_t weight_ns;	/* sum of the sampling intervals that the samples stand for */
};

/*
 * All waits of a thread in one state that pass the filters. Exact even if waits were sampled or lost. A thread's
 * states add up to its off-CPU time without the filtered.
 */
struct state_total {
	uint32_t thread;	/* index */
	uint8_t state;
	uint64_t count;
	uint64_t blocked_ns, runnable_ns, preempted_ns;
};

/* The values are part of the recording format. */
enum tcp_wait_direction {
	TCP_WAIT_RECEIVE,
	TCP_WAIT_SEND,
	TCP_WAIT_CONNECT,
	TCP_WAIT_DIRECTION_COUNT
};
const char *tcp_wait_direction_text(unsigned direction);	/* "receive" */

/*
 * What the waits for an object were spent on, measured at its TCP sockets; equal ones are one row. Times are parts of
 * blocked_ns; the remainder is unknown (semantics.md, "The network or the peer").
 */
struct tcp_wait {
	uint32_t object;	/* index */
	uint8_t direction;	/* enum tcp_wait_direction */
	uint64_t count, blocked_ns;
	uint64_t peer_ns;	/* the peer had acknowledged everything, or its window was closed */
	uint64_t network_ns;	/* least round trips, and the time until lost data was sent again */
	uint64_t silent_ns;	/* nothing had been sent since data last came */
	uint64_t unclear_ns;	/* the peer or the network: the acknowledgement came late, or with the answer */
	uint64_t resent;	/* retransmitted segments */
	uint32_t srtt_us, min_rtt_us;	/* of the socket seen last; 0: unknown */
};

enum connection_side { CONNECTION_CLIENT, CONNECTION_SERVER, CONNECTION_SIDE_COUNT };

/*
 * A TCP connection of a process that threads waited for, or a port that it serves. The two ends identify the matching
 * wait in another host's recording. A client's end without a port ("10.0.0.9") stands for all its connections to that
 * peer, where these are not kept apart. A server's remote end "" stands for all its clients.
 */
struct connection {
	uint32_t pid;
	uint8_t side;		/* enum connection_side: the role of the process */
	const char *local, *remote;	/* "10.0.0.9:48120", "10.0.0.5:3306" */
};

#define CONNECTIONS_MAX 4096	/* per window; a process usually has a few */

/*
 * What made threads runnable (semantics.md, "The waker"): a thread at a place in its code, or an interrupt. Equal
 * wakers are one row.
 */
struct waker {
	uint32_t pid, tid;	/* 0 for an interrupt */
	uint64_t start_ns;	/* of the thread, since boot */
	const char *comm;	/* "" for an interrupt */
	const char *irq;	/* "irq:virtio0", "softirq:NET_RX", "timer", "ipi"; NULL for a thread */
	uint32_t user, kernel;	/* stack nodes, 0: none */
};

/* The sleeps of one row of waits that one waker ended. */
struct wake {
	uint32_t wait, waker;	/* indices */
	uint64_t count;
	uint64_t blocked_ns, runnable_ns;	/* until the waking; from the waking until on CPU */
	uint32_t hist[PROFILE_HIST_SLOTS];	/* histogram of runnable_ns */
};

#define PROFILE_CHAIN_MAX 16

/* Why a chain ends. The values are part of the recording format. */
enum chain_end {
	CHAIN_GOES_ON,
	CHAIN_AWAKE,		/* the waker was awake all the time that was left to explain */
	CHAIN_LOOP,		/* likewise, and its own waker is the sleeper or in the chain */
	CHAIN_INTERRUPT,
	CHAIN_CUT,		/* the requested depth was reached */
	CHAIN_START,		/* awake all the time, and no sleep of it was seen since tracing began */
	CHAIN_UNKNOWN,		/* the waker's own waker is unknown */
	CHAIN_END_COUNT
};

/*
 * A chain of wakers, nearest first: this waker, then the chain that ended its own last wait. Equal chains are one
 * row.
 */
struct chain_node {
	uint32_t waker;		/* index */
	uint32_t next;		/* index + 1, above 0 only with CHAIN_GOES_ON */
	uint8_t end;		/* enum chain_end */
	uint8_t loop_steps;	/* how many steps towards the sleeper the loop goes back */
};

/*
 * What the wakers of a chain did during sleeps that it ended, of one row of waits. All parts and rest_ns add up to
 * blocked_ns.
 */
struct story {
	uint32_t wake, chain;	/* indices */
	uint64_t count, blocked_ns, runnable_ns;
	uint64_t rest_ns;	/* the last waker's wait, for others than the chain; interrupt: until it came */
	struct hop {
		/* from the end of the waker's own wait to its waking; runnable includes preempted */
		uint64_t ran_ns, runnable_ns;
		uint64_t earlier_ns;		/* before the waker's own wait */
	} hop[PROFILE_CHAIN_MAX];
};

/*
 * Who held the CPU while a thread was on its run queue: parts of the thread's runnable and preempted time. The
 * remainder is unknown. BLAME_THROTTLED rows exist without has_blame, too.
 */
#define BLAME_OTHERS_NAME "[others]"	/* in the history: programs that are not kept apart */
struct blame {
	uint32_t thread;	/* index of the thread that waited */
	uint8_t kind;		/* enum blame_kind */
	uint32_t pid, tid;	/* of the thread on the CPU, 0 if none; tid 0: several of that name */
	const char *comm;	/* "" if it was no thread */
	uint64_t count;		/* stretches on CPU, or delays while throttled or with an idle CPU */
	uint64_t runnable_ns, preempted_ns;
};

/* All bursts of wakings by one waker: see features/storms/abi.h. */
struct storm {
	uint32_t waker;		/* index */
	uint64_t event_cnt, call_cnt, woken_cnt, most_cnt;
	uint64_t ended_cnt;	/* woken threads seen to sleep again or exit; at most woken_cnt */
	uint64_t again_cnt;	/* of those: slept again at once */
	uint64_t cpu_ns, again_ns, delay_ns;
};

/* The trace that a thread worked for during the longest wait of a row, from its trace context. */
struct wait_trace {
	uint32_t wait;		/* index */
	const char *trace, *span;	/* 32 and 16 hexadecimal digits */
	uint64_t start_ns;	/* since the start of the recording's window */
	uint64_t ns;		/* duration of that wait */
};

/* The build id of a module. */
struct module_id {
	const char *module;	/* the same string as in the frames */
	const char *hex;	/* the build id in lower case */
};

#define PROFILE_LOSS_SLICES "slices"
#define PROFILE_LOSS_CONNECTIONS "connections"

struct profile_loss {
	const char *reason;	/* short id, "ring_stack" */
	const char *help;	/* explanation in one sentence */
	uint64_t count;
	uint64_t time_ns;	/* affected thread time, if known */
};

/*
 * Waits shorter than the scale were kept with probability duration / scale and stand for the others. The governor
 * raises the scale to keep the tracer's cost within the budget.
 */
struct profile_sampling {
	uint64_t start_ns, end_ns, max_ns;	/* scale at the window's begin and end, and its maximum; 0: exact */
	uint32_t raised_cnt, lowered_cnt;	/* number of changes by the governor */
	uint32_t over_cnt;		/* measurements, one a second, in which BPF programs exceeded the budget */
	uint32_t budget_ppm;		/* of the time of all CPUs; 0: no governor */
	uint32_t used_ppm, peak_ppm;	/* BPF time and own CPU time: over the window, and in its worst second */
	bool has_used;			/* false: it could not be measured */
};

/* Threads were sampled instead of traced (fold/looks.h): once in each period. */
struct profile_looks {
	uint64_t asked_ns;	/* the requested period */
	uint64_t rounds;	/* number of periods; 0: traced */
	uint32_t budget_ppm;	/* of one CPU: the limit that may have lengthened periods */
};

/* The part of a recording's window that the profile was cut to by profile_cut(). */
struct profile_range {
	bool is_cut;
	uint64_t from_ns, to_ns;	/* since the start of the recording's window */
	uint64_t window_ns;		/* length of the whole window */
	bool is_estimated;		/* thread accounts are estimates: waits were sampled, filtered or lost */
};

/* The part of an agent's history that the profile sums up: see store/store.h. */
struct profile_history {
	uint64_t windows;	/* 0: not from a history */
	uint64_t to_unix_ns;	/* end of the last window */
	uint32_t gap_cnt;	/* gaps between windows */
	uint64_t gap_ns;
	const char *gap_why;	/* "" if unknown */
	bool is_gone_by_name;	/* threads that ended before its end are merged by name */
};

struct id_index;
struct slices;

struct profile_info {
	uint64_t start_unix_ns;	/* begin of the window, CLOCK_REALTIME */
	uint64_t start_ns;	/* CLOCK_MONOTONIC */
	uint64_t duration_ns;
	const char *host, *kernel;
	uint32_t cpus;
	const char *command_line;	/* of the recorder */
	const char *filters;	/* as text, "" if none */
	const char *version;	/* version of offcpu */
	uint64_t switches;	/* context switches on all CPUs, also of threads that are not recorded; 0: unknown */
	uint64_t tracer_cpu_ns, tracer_peak_rss_bytes;
	/* tracer_cpu_ns at the window's begin, and at its end; 0: unknown */
	uint64_t tracer_start_cpu_ns, tracer_stop_cpu_ns;
	uint64_t tracer_bpf_ns;	/* valid if has_bpf_ns */
	bool has_bpf_ns;
	bool has_locks;		/* locks were recorded */
	bool has_objects;	/* other objects were recorded, too */
	bool has_wakers;	/* wakers were recorded: a sleep without one has an unknown waker */
	bool has_blame, has_storms;	/* --runq-blame, --storms */
	/* samples a second on each CPU, as requested and at the end; 0: none */
	uint32_t on_cpu_hz, on_cpu_end_hz;
	bool on_cpu_as_waits;	/* profile_on_cpu_as_waits() was called */
	bool has_requests;	/* recorded by `offcpu request` */
	bool has_tasks;		/* tasks were recorded */
	/* only waits of requests that took this long are listed; 0: no such limit, or no requests */
	uint64_t request_slower_ns;
	bool self_excluded;	/* the tracer's own threads were left out */
	struct profile_sampling sampling;
	struct profile_looks looks;
	/* its source, "pprof (off_cpu in nanoseconds)"; what it holds other than waits; NULL: a recording */
	const char *imported;
	/* if imported: what its rows are instead of waits, one of ROWS_*; NULL: waits */
	const char *rows_are;
	const char *scheduler;	/* the BPF scheduler (sched_ext) in use; NULL: none */
	uint64_t unfollowed;	/* unrecorded processes that recorded threads started */
	uint32_t unknown;	/* enum profile_unknown, for imports and sampled threads */
	struct profile_range range;
	struct profile_history history;
};

/* The tracer's CPU time within the window, without starting and writing. */
static inline uint64_t profile_running_cpu_ns(const struct profile_info *info)
{
	return info->tracer_stop_cpu_ns > info->tracer_start_cpu_ns
		       ? info->tracer_stop_cpu_ns - info->tracer_start_cpu_ns
		       : 0;
}

/* Indexes that find the row with a given key. From INDEX_WAIT on they belong to one window. */
enum profile_index {
	INDEX_STRING, INDEX_FRAME, INDEX_STACK, INDEX_OBJECT, INDEX_WAKER,
	INDEX_WAIT, INDEX_WAKE, INDEX_CHAIN, INDEX_BLAME, INDEX_STORM, INDEX_TCP_WAIT, INDEX_CONNECTION,
	INDEX_CNT
};

/* "a CPU profile: pprof (cpu in nanoseconds)" for another tool's profile; NULL: a recording. Free with g_free(). */
char *profile_imported_text(const struct profile_info *info);

struct profile {
	struct profile_info info;
	GArray *threads;	/* struct thread */
	GArray *frames;		/* struct frame */
	GArray *nodes;		/* struct stack_node; [0] is the root */
	GArray *waits;		/* struct wait */
	GArray *on_cpu;		/* struct on_cpu_sample */
	GArray *states;		/* struct state_total, in order of threads */
	GArray *objects;	/* struct object */
	GArray *wakers;		/* struct waker */
	GArray *wakes;		/* struct wake */
	GArray *chains;		/* struct chain_node, each after its next */
	GArray *stories;	/* struct story */
	GArray *blames;		/* struct blame */
	GArray *storms;		/* struct storm, one a waker */
	GArray *traces;		/* struct wait_trace, in order of waits, at most one for each */
	GArray *tcp_waits;	/* struct tcp_wait */
	GArray *connections;	/* struct connection */
	GArray *losses;		/* struct profile_loss, one per reason, not all 0 */
	GArray *build_ids;	/* struct module_id, at most one per module */
	GArray *limits;		/* struct profile_limit: see limits.h */
	GArray *requests, *request_parts, *spans, *span_waits;	/* see requests.h */
	struct slices *slices;	/* see slices.h; NULL: none */
	GPtrArray *tasks;	/* struct tasks, one per process: see tasks.h */
	/* private: interning */
	GStringChunk *strings;
	GPtrArray *string_list;
	struct id_index *index[INDEX_CNT];
};

/* An empty profile: it has the root node, and "" in every string of the info. */
struct profile *profile_new(void);
void profile_free(struct profile *p);	/* NULL is fine */
/* Approximate memory use. */
gsize profile_bytes(const struct profile *p);

/*
 * The profile's own copy of s, the same pointer for equal strings. NULL for NULL. Invalid UTF-8 is replaced, and
 * PROFILE_STRING_MAX_BYTES is the limit, because a comm or a symbol may hold any bytes.
 */
const char *profile_string(struct profile *p, const char *s);
/* The id of an equal frame, which is copied in if new. A frame without a name always has a reason in `why`. */
uint32_t profile_frame(struct profile *p, const struct frame *f);
/* The child of `parent` with this frame, created if new. At PROFILE_DEPTH_MAX: `parent` itself. */
uint32_t profile_node(struct profile *p, uint32_t parent, uint32_t frame);
/*
 * Sets how the stack that ends at `node` ended. One path may be both a complete stack and a truncated one: the worse
 * end (the higher value) is kept. The root has no end; a lost stack is a path of one unnamed frame.
 */
void profile_stack_end(struct profile *p, uint32_t node, enum stack_end end);
/* Does a frame's name begin with one of these prefixes? NULL-terminated. */
bool profile_stack_names(const struct profile *p, uint32_t node, const char *const *prefixes);
/*
 * Removes the rows of the window: threads, waits, wakings, losses. Frames, stacks, objects, wakers and strings keep
 * their ids.
 */
void profile_empty_rows(struct profile *p);
/* Removes objects and wakers, which only rows refer to. No result of profile_take_rows() may be left. */
void profile_empty_objects(struct profile *p);
/* Clears the indexes of the window's tables after their rows were removed. */
void profile_empty_indexes(struct profile *p);
/*
 * Like profile_empty_rows(), but moves the rows into a profile that shares everything else with p. It is read-only
 * and must be freed by profile_free_rows() before p.
 */
struct profile *profile_take_rows(struct profile *p);
void profile_free_rows(struct profile *rows);	/* NULL is fine */
/*
 * An empty profile that shares everything but rows with p, into which it interns; freed as above. Rows may be summed
 * or appended.
 */
struct profile *profile_new_rows(struct profile *p);
/* Appends a thread. Its strings must belong to the profile; NULL becomes "". */
uint32_t profile_add_thread(struct profile *p, const struct thread *t);
/* The number of rows of the longest table. Four stack nodes count as one row, because more of them are allowed. */
guint profile_most_rows(const struct profile *p);
/* Reserves room for `cnt` waits. */
void profile_expect_waits(struct profile *p, guint cnt);
/* Adds *w to the wait with the same thread, state, flags and stacks, and returns its index. Sums saturate. */
uint32_t profile_add_wait(struct profile *p, const struct wait *w);
/* Appends a row for a single wait. Only for profiles without sums that are never recorded. */
void profile_add_single_wait(struct profile *p, const struct wait *w);
/* For a waker that becomes known late: sets who ended the longest wait, if that began at max_start. */
void profile_set_max_waker(struct profile *p, uint32_t wait, uint64_t max_start_unix_ns, uint32_t waker);
/* For reading files. max_waker: index + 1, 0: unknown. */
void profile_set_longest(struct profile *p, uint32_t wait, uint64_t max_start_unix_ns, uint32_t max_waker);
/* Corrects the wall-clock time of the window's begin, and that of single waits with it. */
void profile_set_start_unix(struct profile *p, uint64_t start_unix_ns);
/* Appends a thread's total of one state. */
void profile_add_state(struct profile *p, const struct state_total *total);
/* Adds to the thread's total of that state, which is created if new. */
void profile_add_to_state(struct profile *p, const struct state_total *total);
/* The id of an equal object, which is copied in if new. NULL strings become "". */
uint32_t profile_object(struct profile *p, const struct object *o);
/* Changes an object's name and peer process once these become known. */
void profile_name_object(struct profile *p, uint32_t object, const char *name, uint32_t pid);
/* The id of an equal waker, which is copied in if new. */
uint32_t profile_waker(struct profile *p, const struct waker *w);
/* Adds *w to the wake with the same wait and waker, and returns its id. */
uint32_t profile_add_wake(struct profile *p, const struct wake *w);
/* The id of an equal chain. */
uint32_t profile_chain(struct profile *p, const struct chain_node *c);
void profile_add_story(struct profile *p, const struct story *s);
/* Number of wakers in the chain. */
unsigned profile_chain_len(const struct profile *p, uint32_t chain);
/* Adds *b to the blame with the same thread, kind and culprit. */
void profile_add_blame(struct profile *p, const struct blame *b);
/* Adds *t to the row with the same object and direction. */
void profile_add_tcp_wait(struct profile *p, const struct tcp_wait *t);
/* Equal connections are added once. Those above CONNECTIONS_MAX count as the loss PROFILE_LOSS_CONNECTIONS. */
void profile_add_connection(struct profile *p, const struct connection *c);
/* Adds *s to the storm with the same waker. */
void profile_add_storm(struct profile *p, const struct storm *s);
/* Appends and copies the strings. Of several traces of one wait, sorting keeps the longest. */
void profile_add_trace(struct profile *p, const struct wait_trace *t);
void profile_sort_traces(struct profile *p);
/* NULL: unknown. Traces must be sorted. */
const struct wait_trace *profile_trace_of(const struct profile *p, uint32_t wait);
/* Valid until a loss is added. NULL: no loss with this reason. */
struct profile_loss *profile_find_loss(const struct profile *p, const char *reason);
/* Adds to the loss with the same reason. */
void profile_add_loss(struct profile *p, const char *reason, const char *help, uint64_t count, uint64_t time_ns);

/* Sets the build id of a module that frames refer to. Ignored if it is no hexadecimal number or too long. */
void profile_set_build_id(struct profile *p, const char *module, const char *hex);
/* module: the pointer that frames have. NULL: unknown. */
const char *profile_build_id(const struct profile *p, const char *module);

/*
 * Checks that no array is too long, all indexes are in range, parents come before children, letters and enums are
 * valid, no time exceeds PROFILE_NS_MAX, and the totals over threads and over waits fit in 63 bits, so that no sum of
 * a reader overflows.
 */
bool profile_check(const struct profile *p, GError **error);

/* Was everything recorded that ran? */
static inline bool profile_is_of_machine(const struct profile *p)
{
	return !p->info.filters || !*p->info.filters;
}
/* The same of a host with its usual company of processes: nobody chose those that are shown. */
bool profile_is_of_host(const struct profile *p);

/* Were all processes started for the recording, as one command? */
static inline bool profile_is_of_command(const struct profile *p)
{
	return p->info.filters && g_str_has_prefix(p->info.filters, "command ");
}

/* Accessors of rows: profile_thread(p, i) is row i of p->threads. */
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

/* Were short waits sampled at any time, or all waits? Then times are estimates. */
static inline bool profile_is_sampled(const struct profile *p)
{
	return p->info.sampling.max_ns != 0 || p->info.looks.rounds;
}
/* Average rate at which threads were sampled, per second. */
static inline double profile_looks_hz(const struct profile_info *info)
{
	return info->duration_ns ? (double)info->looks.rounds * 1e9 / (double)info->duration_ns : 0;
}

/* o may be NULL: the wait has no object. */
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

/* Saturating sums: numbers may be hostile, and profile_check() rejects those that are too large. */
static inline uint64_t profile_sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static inline void profile_add(uint64_t *into, uint64_t value)
{
	*into = profile_sum(*into, value);
}

/* As ADD_MEMBERS(), by profile_sum(). */
#define PROFILE_SUM_MEMBER(member) sum_into_->member = profile_sum(sum_into_->member, sum_from_->member);
#define PROFILE_SUM_MEMBERS(into, from, ...)                                    \
	do {                                                                    \
		__typeof__(into) sum_into_ = (into);                            \
		__typeof__(from) sum_from_ = (from);                            \
		EACH(PROFILE_SUM_MEMBER, __VA_ARGS__)                           \
	} while (0)

/*
 * Values of info.rows_are, which name what a profile's rows are instead of waits of threads. No rule, reason or
 * finding applies to such rows, and their time is not called off-CPU time.
 */
#define ROWS_REQUESTS "requests"	/* at block devices, of `offcpu io` */
#define ROWS_OPERATIONS "operations"	/* on files, of `offcpu io` */
#define ROWS_TASKS "tasks"
/* of profiles of other tools */
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
	/* names of the sample types with these times and counts in other formats */
	const char *time_type, *count_type;	/* time_type NULL: see profile_rows_are_counted() */
};

/* NULL: rows are waits, or the word is unknown. */
const struct rows_kind *profile_rows_kind(const char *rows_are);

/* Durations are unknown: all times are 0, and the count is the only weight. */
bool profile_rows_are_counted(const char *rows_are);
/* The constant that equals `text`. NULL: unknown. */
const char *profile_rows_known(const char *text);
/* The word for `cnt` rows: "wait", "waits", "operations". */
const char *profile_rows_word(const char *rows_are, uint64_t cnt);

/*
 * What another tool's format, or sampled threads, cannot provide; a traced recording knows everything. Unknown values
 * are 0 and never shown. If the parts of a wait are unknown, all its time is in blocked_ns and its state is '?'.
 */
enum profile_unknown {
	UNKNOWN_STATES = 1 << 0,
	UNKNOWN_PARTS = 1 << 1,		/* parts of off-CPU time: blocked, runnable, preempted */
	UNKNOWN_COUNTS = 1 << 2,	/* number of waits */
	UNKNOWN_DURATIONS = 1 << 3,	/* durations of single waits: maximum, histogram */
	UNKNOWN_ACCOUNTS = 1 << 4,	/* thread accounts: observed, on-CPU time, switches */
	UNKNOWN_IDS = 1 << 5,		/* ids of processes and threads */
	UNKNOWN_WINDOW = 1 << 6,	/* length of the window */
	UNKNOWN_HOST = 1 << 7,		/* host, kernel, CPUs, recorder */
	UNKNOWN_STACK_ENDS = 1 << 8,	/* whether stacks are complete */
};
#define UNKNOWN_ALL ((1 << 9) - 1)
/* unknowns that our own recordings may have, as opposed to imports */
#define UNKNOWN_RECORDED (UNKNOWN_STATES | UNKNOWN_PARTS | UNKNOWN_COUNTS | UNKNOWN_DURATIONS | UNKNOWN_ACCOUNTS)
/* The unknown parts of a profile as text, "states, wakers, ...". Free with g_free(). */
char *profile_unknown_text(uint32_t unknown, bool has_wakers);

/*
 * What threads did on CPU, from samples (semantics.md, "On-CPU samples"). Samples give the proportions of a thread's
 * on-CPU time, its account the exact total.
 */

/* All samples of one thread with the same stacks, and the time that they stand for. */
struct on_cpu_row {
	uint32_t thread, user, kernel;
	uint64_t samples;	/* 0: the thread ran but was never sampled, so where it spent the time is unknown */
	uint64_t on_cpu_ns;	/* adds up to the thread's on_cpu_ns over its rows */
	uint64_t on_cpu_se_ns;	/* standard error of on_cpu_ns */
};

#define ON_CPU_STATE 'C'	/* used as the state of a wait */

/* Was the thread asleep: neither in the run queue nor on CPU? */
static inline bool wait_is_asleep(const struct wait *w)
{
	return w->state != 'R' && w->state != ON_CPU_STATE;
}

/* Was it so from before the window to beyond its end? */
static inline bool wait_is_all_along(const struct wait *w)
{
	return w->flags & WAIT_OPEN_AT_START && w->flags & WAIT_OPEN_AT_END;
}

static inline bool profile_has_on_cpu(const struct profile *p)
{
	return p->info.on_cpu_hz != 0;
}

/* struct on_cpu_sample, by thread, with all slices of equal stacks summed. */
GArray *profile_on_cpu_of_stacks(const struct profile *p);

/* struct on_cpu_row, by thread. Adds one-frame stacks to the profile. */
GArray *profile_on_cpu_rows(struct profile *p);

/*
 * Appends the same as rows of waits: with state ON_CPU_STATE, on_cpu_ns, and the number of samples as count. They add
 * nothing to off-CPU time. Does nothing without samples, or the second time.
 */
void profile_on_cpu_as_waits(struct profile *p);

/* Appends a sample. Its thread and stacks are ids of the profile. */
void profile_add_on_cpu(struct profile *p, const struct on_cpu_sample *s);
/* The standard error of a thread's time `part` of all_ns, from `all` samples. */
double on_cpu_error(uint64_t all_ns, uint64_t part, uint64_t all);

#define OBJECT_SENDS "send"	/* operation of poll(), and of an epoll set whose upstream does not read what was sent */
#define OBJECT_UPSTREAM " -> "	/* separates the name of an epoll set from the upstream that its loop has asked */

/* "127.0.0.1:8081 (python3)". NULL: not an epoll set, or no upstream. */
static inline const char *object_upstream(const struct object *o)
{
	const char *at = o && o->kind == OBJECT_EPOLL && o->name ? strstr(o->name, OBJECT_UPSTREAM) : NULL;

	return at ? at + strlen(OBJECT_UPSTREAM) : NULL;
}

#define OBJECT_BOUND " bound"	/* follows the local port in the name of a datagram socket without a peer */
#define PORT_OF_NOBODY 32768	/* begin of Linux's ephemeral ports */

/* Was the port of this datagram socket chosen, so that clients can send to it? Then it is a server. */
static inline bool object_serves_datagrams(const struct object *o)
{
	const char *end = o->kind == OBJECT_SOCKET ? strstr(o->name, OBJECT_BOUND) : NULL;
	unsigned port = 0, unit = 1;

	for (; end && end > o->name && g_ascii_isdigit(end[-1]) && port < PORT_OF_NOBODY; end--, unit *= 10)
		port += unit * (unsigned)(end[-1] - '0');
	return port && port < PORT_OF_NOBODY;
}

/* A connection accepted by this side, so the other one asks: ":8080 from 10.0.0.7", "/run/app.sock from". */
static inline bool object_is_accepted(const struct object *o)
{
	return o->kind == OBJECT_SOCKET && strstr(o->name, " from");
}

/* Is it a connection accepted at `there` (see LIMIT_BACKLOG)? ":8080 from 10.0.0.7", "/run/app.sock from". */
static inline bool object_is_accepted_at(const struct object *o, const char *there)
{
	static const char from[] = " from";
	size_t len = strlen(there);

	return o->kind == OBJECT_SOCKET && len && strncmp(o->name, there, len) == 0 &&
	       strncmp(o->name + len, from, strlen(from)) == 0;
}

/*
 * What a thread worked for when it waited: the attributes of its trace context are the outermost frames of its user
 * stack, of kind FRAME_CONTEXT. The frame's name is the attribute's value, its module is "[http.route]".
 */

/* The node of the innermost context frame, which is a stack of the whole context. 0: none. */
uint32_t context_node(const struct profile *p, uint32_t node);

/* The value of an attribute in a stack. NULL: none. */
const char *context_value(const struct profile *p, uint32_t node, const char *attribute);

/* Called for each attribute, outermost first. */
typedef void (*context_fn)(const char *attribute, const char *value, void *data);
void context_for_each(const struct profile *p, uint32_t node, context_fn fn, void *data);

/* Appends the request's usual name: "POST /order/create". False: it is unknown. */
bool context_append_route(const struct profile *p, uint32_t node, GString *s);

#endif
