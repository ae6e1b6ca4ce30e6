/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SESSION_OPTIONS_H
#define SESSION_OPTIONS_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/offcpu_abi.h"
#include "abi/sched_abi.h"
#include "features/blame/abi.h"

/* What is summed. */
enum collect_mode {
	COLLECT_WAITS,		/* waits under their stacks */
	COLLECT_HIST_OFF,	/* histograms only: without stacks */
	COLLECT_HIST_ON,
	COLLECT_HIST_RUNQ,
	COLLECT_EVENTS,		/* one record per listed wait */
};

struct request_plan;

typedef void (*collect_event_fn)(const struct offcpu_rec_event *event, void *data);
/* A part of a wait whose event will follow. */
typedef void (*collect_blame_fn)(const struct offcpu_rec_blame *part, void *data);
/* A context switch; its waker's record was sent before. */
typedef void (*collect_switch_fn)(const struct offcpu_rec_switch *sw, void *data);
typedef void (*collect_sum_fn)(const struct offcpu_wait_slot *sum, void *data);

#define ON_CPU_HZ_DEFAULT 49	/* not a divisor of common timer rates */
#define ON_CPU_HZ_MAX 10000

struct collect_options {
	enum collect_mode mode;
	GArray *pids, *tids;	/* uint32_t, in our pid namespace; NULL: no such filter */
	GArray *cgroup_ids;	/* uint64_t */
	const char *comm_glob;
	uint32_t state_mask;	/* 1 << enum offcpu_state; 0: all */
	uint64_t min_ns, max_ns;	/* listed waits; max 0: no bound */
	unsigned max_depth;	/* 0: OFFCPU_MAX_DEPTH */
	unsigned chain_depth;	/* length of chains of wakers; 0: one waker */
	uint32_t command_pid;	/* a child of ours: trace it from its exec on, with its children */
	const char *command_name;	/* the program that it will execute, in execvp()'s form; or NULL */
	uint64_t sample_ns;	/* COLLECT_WAITS: initial sampling scale (abi/sample.h), 0: exact */
	uint32_t on_cpu_hz;	/* COLLECT_WAITS: on-CPU samples a second on each CPU; 0: none */
	uint32_t budget_ppm;	/* our budget of all CPUs' time; 0: cost is not measured */
	/* COLLECT_WAITS: only waits inside requests are listed; NULL: no requests */
	const struct request_plan *requests;
	bool requests_beside;	/* with may_cut: all other waits are listed, too; requests belong to the window of
				 * their end */
	bool request_spans;	/* single requests are sent, for a recording */
	uint64_t request_slower_ns;	/* but only those that take this long; 0: all */
	/* COLLECT_WAITS: length of the window's slices that have separate sums; 0: none */
	uint64_t slice_ns;
	size_t ring_bytes;	/* 0: the default */
	size_t rows_max;	/* tests: a recording with this many rows is full; 0: the default */
	collect_event_fn on_event;
	collect_blame_fn on_blame;	/* COLLECT_EVENTS, with want_blame */
	collect_switch_fn on_switch;	/* COLLECT_EVENTS: for each switch of a traced thread; or NULL */
	collect_sum_fn on_sum;	/* receives the sums instead of the profile */
	/* called between the parts of a long cut, for a caller with a keyboard. It must not call the session. */
	void (*on_pause)(void *data);
	void *callback_data;
	/* command-line switches: see struct session_option */
	gboolean want_locks;	/* targets of futex waits */
	gboolean want_objects;	/* targets of all other waits */
	gboolean want_blame;	/* which thread held the CPU while others queued */
	gboolean want_storms;	/* bursts of wakings, with their wakers */
	/* flags, together to save room */
	bool no_user_threads, no_kernel_threads;
	bool no_user_stacks, no_kernel_stacks;
	bool follow;		/* with pids, tids: also their future children */
	bool with_forked;	/* with pids: also their existing descendants */
	bool frame_pointers_only;	/* no unwind tables */
	bool lines;		/* inlined functions, files and lines in user stacks */
	bool want_wakers;	/* the waker of each sleep */
	bool may_thin_wakers;	/* wakers of short sleeps only while the budget allows: they are no user's choice */
	bool want_services;	/* the services of processes */
	bool include_self;
	bool verify_walks;	/* tests: repeat each cached walk in full and count differences */
	bool may_raise;		/* the governor may change the scale */
	bool chains_later;	/* not before session_tell_chains() enables them */
	/* COLLECT_WAITS: session_cut() will be called; excludes lines, bounds of durations, slices */
	bool may_cut;
	/* a window's profile is freed before the next cut: names that only it needs go, too */
	bool frees_windows;
	bool forgets_always;	/* tests: each cut forgets what crossed before */
	bool wants_open;	/* COLLECT_EVENTS: as the window ends, waits that are still open are sent, too */
	bool is_short;		/* the window may end soon: programs for its end are loaded before it opens */
	uint64_t grace_ns;	/* time before the governor samples; 0: the default */
};

#endif
