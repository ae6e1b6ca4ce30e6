/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SESSION_PARTS_H
#define SESSION_PARTS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/offcpu_abi.h"
#include "base/clock.h"
#include "base/opener/opener.h"
#include "session/governor.h"
#include "session/probe.h"
#include "session/session.h"

/*
 * What the parts of a session share: session.c is its life, load.c loads the programs, records.c receives their
 * records, info.c reports on the session, probes.c has the rows of what is traced besides accounts and waits.
 */
struct offcpu_bpf;

/* Counters since the session's start, as of the previous window. */
struct session_counters {
	uint64_t losses[OFFCPU_LOSS_COUNT], losses_ns[OFFCPU_LOSS_COUNT];
	uint64_t refused, mmap_lost, replaced, replaced_ns, skipped, left_out;
	uint64_t switches, unfollowed, bpf_ns, cpu_ns;
};

struct session {
	const struct collect_options *options;
	struct offcpu_bpf *skel;
	struct ring_buffer *ring;
	struct symbolizer *symbolizer;
	struct mmap_events *mmap_events;	/* NULL: refused by the kernel */
	struct thread_table *thread_table;
	struct tables *tables;			/* NULL: frame pointers only */
	uint64_t looked_published;		/* tables_published_cnt() at the last look at the threads */
	uint64_t looked_ns, look_took_ns;
	uint64_t asked_ns;			/* when a program last asked for tables */
	uint64_t mapped_ns;		/* mapping events are known up to here */
	uint64_t mmap_lost_cnt;		/* events lost until then */
	struct pid_set *with_tables;	/* processes whose tables were asked for */
	uint32_t mmap_pid;		/* process of the last mapping event in this drain; 0: none */
	uint64_t replaced_cnt, replaced_ns;	/* times code was replaced at the same addresses, for how long
						 * unknown to us */
	GQueue to_prefetch;		/* processes whose mappings will be wanted, but are not read yet */
	GQueue young;			/* struct young_program, see records.c */
	size_t rows_max;		/* number of rows at which the recording is full */
	uint64_t records;		/* taken from the ring since the last drain began */
	uint64_t round_ns;		/* start of that drain */
	struct profile *profile;
	struct fold *fold;
	struct session_probe_set probes;
	unsigned thread_cnt;		/* threads of the machine when the programs are loaded */
	struct parallel_load *switching, *waking;	/* the programs at sched_switch and at sched_waking */
	struct parallel_load *cutting;		/* cut_thread */
	struct parallel_load *closing;		/* close_thread; NULL: loaded with the others */
	struct core_btf *core_btf;	/* NULL: CO-RE searches all types */
	struct cost *cost;		/* NULL: not measured */
	struct bpf_object *programs[6];	/* those that are loaded, then NULL */
	struct governor governor;
	uint64_t begun_ns;
	uint64_t swapped_ns;
	uint64_t polled_ns;			/* when fold_poll() was last called */
	uint64_t start_ns, stop_ns, start_unix_ns;	/* of the window */
	uint64_t schedulers_begun;	/* sched_ext_begun() as the window began */
	struct fold_windows *windows;	/* NULL: there is one window */
	struct session_counters previous;	/* counters of the previous windows */
	size_t crossed_kept;	/* rows of what crossed, after it was last forgotten */
	bool has_forgotten;	/* the programs have forgotten; the profile's rows go when the next window begins */
	bool has_window;	/* the profile is that of a window that was cut */
};

/* load.c */

bool session_wants_kernel_symbols(const struct collect_options *o);
/* Are only a few processes, or a command, traced? Waiting longer for their tables is worth it. */
bool session_is_for_few(const struct collect_options *o);
/* Can a session with these options be cut? */
bool session_may_cut(const struct collect_options *o);
/* From now on the time of these programs counts as our cost. */
void session_count_programs(struct session *s, struct bpf_object *programs);
bool session_load(struct session *s, GError **error);

/* records.c */

/* Reads all mapping events so far; then stacks up to now can be looked up. */
void session_take_mappings(struct session *s);
/* A thread's complete account of the window; a fold_windows_fn. */
void session_fold_thread(const struct offcpu_rec_thread *rec, void *session);
/* Callback of libbpf for a record of the ring; data is the session. */
int session_take_record(void *data, void *record, size_t size);
/* Asks for the tables of programs that have recently begun and still run. */
void session_want_young(struct session *s);
/* Reads the mappings of a few processes whose stacks are likely to come, perhaps after they have ended. */
void session_prefetch_mappings(struct session *s);
/* Queues the selected processes for it. Where the programs ask for unwind tables, their processes are queued then. */
void session_queue_prefetch(struct session *s);
/* Empties the ring, even if it is filled as fast as it is read, and takes the accounts that it had no room for. */
void session_empty_ring(struct session *s);
/* Takes the accounts of ended threads that the ring had no room for. False: some are missing. */
bool session_take_deferred(struct session *s);
/*
 * Takes what is there, for a round at most: on a machine without free CPU more arrives meanwhile. True: there is more.
 */
bool session_take_round(struct session *s);

/* For a caller of the window's end: waits until the records of dying threads have arrived, see session_cut(). */
void session_await_dying(struct session *s);
/* Reads the sums in the half that no program uses any more; entries: number of chains in it. */
void session_read_waits(struct session *s, bool second, uint64_t entries, bool is_last);

/*
 * Runs an iterator to its end. It stops when the ring is full: make_room() empties that, or waits until it is emptied.
 * 0 or a negative errno.
 */
struct bpf_link;
int session_iterate(const struct bpf_link *link, void (*make_room)(struct session *s), struct session *s);

/* When the window is over, or cut, and all of it has arrived: completes its profile. */
void session_finish_profile(struct session *s);

/* cut.c */

/* Call it before anything else of the new window: the profile of the previous window is no longer needed. */
void session_begin_window(struct session *s);

/* info.c */

/* Sums over all CPUs. */
struct offcpu_counts session_counts(struct session *s);
/* At the end: the recording's description of itself, with losses. */
void session_fill_info(struct session *s);

struct bpf_object;

/*
 * Measures our cost: CPU time of this process, and time in the programs of some objects. The kernel counts the latter
 * only while asked to, which costs some 20 to 60 ns a run. So it is asked for COST_BURST_NS in each COST_PERIOD_NS,
 * and the measured cost of a switch is used for all switches of the period. On a quiet machine, or one with bursts of
 * its own, a burst lasts up to COST_BURST_MAX_NS, and earlier ones count as well.
 */
#define COST_PERIOD_NS 1000000000ULL
#define COST_BURST_NS 50000000ULL
#define COST_BURST_MAX_NS 250000000ULL

struct cost;

/*
 * programs: objects, terminated by NULL; they outlive this. cpus: those online. count: returns the current sums of all
 * CPUs' counts, from `data`.
 */
struct cost *cost_new(struct bpf_object *const *programs, uint32_t cpus, struct offcpu_counts (*count)(void *data),
		      void *data);
void cost_free(struct cost *c);	/* NULL is fine */

void cost_start(struct cost *c);

/*
 * Call it at any time and often; true, with a reading, at the end of a burst. Always false where the kernel does not
 * let us count.
 */
bool cost_poll(struct cost *c, struct governor_reading *ret_reading);

/* After a change: the next burst begins now. */
void cost_hurry(struct cost *c);

/* Estimated time in the programs for that many switches; false if there was no reading, or c is NULL. */
bool cost_estimate(const struct cost *c, uint64_t switches, uint64_t *ret_bpf_ns);

/* Of all programs of the objects, as far as the kernel has counted it. */
struct program_cost {
	uint64_t ns, runs, missed;	/* missed: runs that were skipped */
};

/* programs: as for cost_new(). */
struct program_cost cost_programs(struct bpf_object *const *programs);

/* The kernel's PID_MAX_LIMIT. */
#define PID_SET_MAX (1u << 22)

/* A set of process ids: one bit each, half a megabyte of which only the used pages take memory. */
struct pid_set {
	uint8_t bits[PID_SET_MAX / 8];
};

static inline void pid_set_add(struct pid_set *s, uint32_t pid)
{
	if (pid < PID_SET_MAX)
		s->bits[pid / 8] |= (uint8_t)(1u << pid % 8);
}

static inline bool pid_set_has(const struct pid_set *s, uint32_t pid)
{
	return pid < PID_SET_MAX && s->bits[pid / 8] >> pid % 8 & 1;
}

#endif
