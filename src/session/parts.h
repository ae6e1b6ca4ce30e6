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
 * What the parts of a session share: session.c is its life, load.c how its programs come into the kernel, records.c
 * what arrives from there, info.c what it says of itself, probes.c the rows of what is traced beside accounts and
 * waits.
 */
struct offcpu_bpf;

/* What is counted from the session's start on, as the windows before have told it. */
struct session_told {
	uint64_t losses[OFFCPU_LOSS_COUNT], losses_ns[OFFCPU_LOSS_COUNT];
	uint64_t refused, mmap_lost, replaced, replaced_ns, skipped, left_out;
	uint64_t switches, unfollowed, bpf_ns, cpu_ns;
};

struct session {
	const struct collect_options *options;
	struct offcpu_bpf *skel;
	struct ring_buffer *ring;
	struct symbolizer *symbolizer;
	struct mmap_events *mmap_events;	/* NULL where the kernel refuses */
	struct thread_table *thread_table;
	struct tables *tables;			/* NULL: frame pointers only */
	uint64_t looked_published;		/* what was there at the last look at the threads */
	uint64_t looked_ns, look_took_ns;
	uint64_t asked_ns;			/* when a program last asked for tables */
	uint64_t mapped_ns;		/* mapping events up to here are known */
	uint64_t mmap_lost_cnt;		/* those lost until then */
	struct pid_set *with_tables;	/* processes that tables were asked for */
	uint32_t mmap_pid;		/* its mappings were told of in this drain; 0 */
	uint64_t replaced_cnt, replaced_ns;	/* other code at the same addresses, and for how long that was not known */
	GQueue foreseen;		/* processes whose mappings will be wanted, and are not read yet */
	GQueue young;			/* struct young_program, see records.c */
	size_t rows_max;		/* then the recording is full */
	uint64_t records;		/* taken from the ring since the last drain began */
	uint64_t round_ns;		/* when it did */
	struct profile *profile;
	struct fold *fold;
	struct session_probe_set probes;
	unsigned thread_cnt;		/* of the machine, as the programs are loaded */
	struct apart *switching, *waking;	/* the programs at sched_switch and at sched_waking */
	struct apart *cutting;		/* cut_thread */
	struct apart *closing;		/* close_thread; NULL: it is loaded with the others */
	struct core_btf *core_btf;	/* NULL: CO-RE looks through all types */
	struct cost *cost;		/* NULL: not measured */
	struct bpf_object *programs[6];	/* those that are loaded; then NULL */
	struct governor governor;
	uint64_t begun_ns;
	uint64_t swapped_ns;
	uint64_t start_ns, stop_ns, start_unix_ns;	/* of the window */
	uint64_t schedulers_begun;	/* sched_ext_begun() as the window began */
	struct fold_windows *windows;	/* NULL: there is one window */
	struct session_told told;	/* of the windows before */
	size_t crossed_kept;	/* rows of what crossed, when it last forgot */
	bool has_forgotten;	/* the programs have, what the profile needs goes when the next window begins */
	bool has_window;	/* the profile is that of a window that was cut off */
};

/* load.c */

bool session_wants_kernel_symbols(const struct collect_options *o);
/* Of a few processes, or a command: their tables are worth more waiting. */
bool session_is_for_few(const struct collect_options *o);
/* Can a session with these options be cut? */
bool session_may_cut(const struct collect_options *o);
/* From now on the time of these programs counts as ours. */
void session_count_programs(struct session *s, struct bpf_object *programs);
/* Opens, loads and attaches the programs. */
bool session_load(struct session *s, GError **error);

/* records.c */

/* What programs have mapped so far becomes known; stacks up to now can be looked up. */
void session_take_mappings(struct session *s);
/* A thread's account of the window, whole; as fold_windows_fn. */
void session_fold_thread(const struct offcpu_rec_thread *rec, void *session);
/* A record of the ring, for libbpf; data is the session. */
int session_take_record(void *data, void *record, size_t size);
/* Notes those processes; where the programs ask for unwind tables, those that they ask for are noted by the way. */
void session_foresee(struct session *s);
/* Asks for the tables of programs that began a moment ago and are still there. */
void session_want_young(struct session *s);
/* Reads the mappings of a few processes whose stacks are likely to come, perhaps when they are gone. */
void session_foresee_mappings(struct session *s);
/* Empties the ring, even if it is filled as fast as it is read, and takes the accounts that it had no room for. */
void session_empty_ring(struct session *s);
/* Takes the accounts of threads that the ring had no room for as they ended.  False: some of them were not given. */
bool session_take_parked(struct session *s);
/* What there is, but no longer than a round: on a machine without CPU as much comes in meanwhile.  True: there is more. */
bool session_take_round(struct session *s);

/* Ends the window for who waits until the records of its threads have come: see session_cut(). */
void session_await_dying(struct session *s);
/* Those of the half that no program uses any more, with so many entries. */
void session_read_waits(struct session *s, bool second, uint64_t entries, bool is_last);

/*
 * Runs an iterator to its end.  It stops when the ring is full: make_room() empties that, or waits until it is
 * emptied.  0 or a negative errno.
 */
struct bpf_link;
int session_iterate(const struct bpf_link *link, void (*make_room)(struct session *s), struct session *s);

/* The window is over, or cut, and all of it has arrived: its profile is whole then. */
void session_finish_profile(struct session *s);

/* cut.c */

/* Before anything more is taken in: the window that was cut off is over and done with. */
void session_begin_window(struct session *s);

/* info.c */

/* Sums of what each CPU counts. */
struct offcpu_counts session_counts(struct session *s);
/* At the end: what the recording says of itself, with what was lost. */
void session_fill_info(struct session *s);

struct bpf_object;

/*
 * Measures what we cost: CPU time of this process, and time in the programs of some objects.  The kernel counts that
 * only while asked to, and counting costs some 20 to 60 ns a run; so it is asked for COST_BURST_NS in each
 * COST_PERIOD_NS, and the cost of a switch found there is taken for all the switches of the period.  Where a machine
 * is quiet or works in bursts of its own, a burst lasts up to COST_BURST_MAX_NS, and what those before it found counts
 * with it.
 */
#define COST_PERIOD_NS 1000000000ULL
#define COST_BURST_NS 50000000ULL
#define COST_BURST_MAX_NS 250000000ULL

struct cost;

/*
 * programs: objects, behind the last one NULL; they outlive this.  cpus: those online.  count: gives the sums of all
 * CPUs' counts as they are, from `data`.
 */
struct cost *cost_new(struct bpf_object *const *programs, uint32_t cpus, struct offcpu_counts (*count)(void *data),
		      void *data);
void cost_free(struct cost *c);	/* NULL is fine */

/* Begins. */
void cost_start(struct cost *c);

/*
 * To be called at any time and often; true, with a reading, at the end of a burst.  Never where
 * the kernel does not let us count.
 */
bool cost_poll(struct cost *c, struct governor_reading *ret_reading);

/* Something has changed: the next burst begins now. */
void cost_hurry(struct cost *c);

/*
 * Time in the programs over that many switches, by the readings so far; false where there is none,
 * as where c is NULL.
 */
bool cost_estimate(const struct cost *c, uint64_t switches, uint64_t *ret_bpf_ns);

/* Of all the objects' programs, as far as the kernel has counted it. */
struct program_cost {
	uint64_t ns, runs, missed;	/* missed: runs that were skipped */
};

/* programs: as for cost_new(). */
struct program_cost cost_programs(struct bpf_object *const *programs);

/* The kernel's PID_MAX_LIMIT. */
#define PID_SET_MAX (1u << 22)

/* Process ids that were met: a bit each, half a megabyte of which only the pages in use are memory. */
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
