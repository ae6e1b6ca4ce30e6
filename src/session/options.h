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
	COLLECT_HIST_OFF,	/* histograms only: no stacks are walked */
	COLLECT_HIST_ON,
	COLLECT_HIST_RUNQ,
	COLLECT_EVENTS,		/* one record per listed wait */
};

struct request_plan;

typedef void (*collect_event_fn)(const struct offcpu_rec_event *event, void *data);
/* A part of a wait whose event is still to come. */
typedef void (*collect_blame_fn)(const struct offcpu_rec_blame *part, void *data);
/* A context switch; its waker's record came before. */
typedef void (*collect_switch_fn)(const struct offcpu_rec_switch *sw, void *data);
typedef void (*collect_sum_fn)(const struct offcpu_wait_slot *sum, void *data);

#define ON_CPU_HZ_DEFAULT 49	/* no divisor of what programs do by the clock */
#define ON_CPU_HZ_MAX 10000

struct collect_options {
	enum collect_mode mode;
	GArray *pids, *tids;	/* uint32_t, in our pid namespace; NULL: no such filter */
	GArray *cgroup_ids;	/* uint64_t */
	const char *comm_glob;
	uint32_t state_mask;	/* 1 << enum offcpu_state; 0: all */
	uint64_t min_ns, max_ns;	/* listed waits; max 0: no bound */
	unsigned max_depth;	/* 0: OFFCPU_MAX_DEPTH */
	unsigned chain_depth;	/* and who had woken the waker, and so on: so many in all; 0: one waker */
	uint32_t command_pid;	/* trace this child of ours from its exec on, and its children */
	const char *command_name;	/* what it will execute, as execvp() takes it; or NULL */
	uint64_t sample_ns;	/* COLLECT_WAITS: the scale to begin with (abi/sample.h), 0: exact */
	uint32_t on_cpu_hz;	/* COLLECT_WAITS: samples of what runs, a second on each CPU; 0: none */
	uint32_t budget_ppm;	/* of all CPUs' time, for our own cost; 0: it is not measured */
	/* COLLECT_WAITS: only waits inside of these are listed; NULL: there are none */
	const struct request_plan *requests;
	bool requests_beside;	/* with may_cut: all other waits are listed, too; requests are of the window they end in */
	bool request_spans;	/* and single requests are told, for a recording */
	uint64_t request_slower_ns;	/* and only those of requests that take so long; 0: of all */
	/* COLLECT_WAITS: sums are kept apart by slices of the window of this length; 0: they are not */
	uint64_t slice_ns;
	size_t ring_bytes;	/* 0: the default */
	size_t rows_max;	/* tests: a recording of so many rows is full; 0: the default */
	collect_event_fn on_event;
	collect_blame_fn on_blame;	/* COLLECT_EVENTS, with want_blame */
	collect_switch_fn on_switch;	/* COLLECT_EVENTS: each switch of a traced thread is told, too; or NULL */
	collect_sum_fn on_sum;	/* takes the sums instead of the profile */
	/* between the parts of a cut, which takes a while: for who has keys to answer.  It calls no session. */
	void (*on_pause)(void *data);
	void *callback_data;
	/* switches of the command line: see struct session_option */
	gboolean want_locks;	/* what futex waits are for */
	gboolean want_objects;	/* and whatever else a wait is for */
	gboolean want_blame;	/* who held the CPU while threads queued */
	gboolean want_storms;	/* wakings of many threads at once, with their wakers */
	/* flags, which take little room side by side */
	bool no_user_threads, no_kernel_threads;
	bool no_user_stacks, no_kernel_stacks;
	bool follow;		/* of pids and tids: what they fork, too */
	bool with_forked;	/* of pids: what they have forked so far, too */
	bool frame_pointers_only;	/* no unwind tables */
	bool lines;		/* inlined functions, files and lines in user stacks */
	bool want_wakers;	/* who ended each sleep */
	bool may_thin_wakers;	/* but of short sleeps only while the budget allows: nobody asked for them */
	bool want_services;	/* what processes belong to */
	bool include_self;
	bool verify_walks;	/* tests: do each remembered walk in full, too, and count differences */
	bool may_raise;		/* the governor may change the scale */
	bool chains_later;	/* not before session_tell_chains() says so */
	/* COLLECT_WAITS: session_cut() will be called; without lines, bounds of durations, slices */
	bool may_cut;
	/* the profile of a window is freed before the next cut: nobody needs what that named */
	bool frees_windows;
	bool forgets_always;	/* tests: at each cut what crossed before is forgotten */
	bool wants_open;	/* COLLECT_EVENTS: waits that the window's end cuts off are told, too, as it ends */
	bool is_short;		/* the window may end soon: what ends it is loaded before it opens */
	uint64_t grace_ns;	/* the governor waits so long before it samples; 0: as it does */
};

#endif
