/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_PACK_PART_H
#define STORE_PACK_PART_H

#include <string.h>

#include "base/cursor.h"
#include "base/each.h"
#include "profile/profile.h"
#include "store/dict.h"

/* Internal to pack: expected values, shared by encoder and decoder. */

#define PACK_STATES "SDTtPIR?"
#define PACK_STATE_CNT 8

/* Rows in output order. */
struct pack_row {
	uint32_t id;	/* thread or key in the dictionary; of a waking the position of its wait in this order */
	uint32_t at;	/* index in the profile */
};

/* Sums of a thread's waits. */
struct pack_sums {
	struct state_total states[PACK_STATE_CNT];
	uint64_t blocked_ns, runnable_ns, preempted_ns;
	uint32_t last_wait;	/* index + 1; 0: none */
};

static inline unsigned pack_state_at(uint8_t state)
{
	const char *at = state ? strchr(PACK_STATES, state) : NULL;

	return at ? (unsigned)(at - PACK_STATES) : PACK_STATE_CNT - 1;
}

static inline void pack_sums_add(struct pack_sums *s, const struct wait *w)
{
	struct state_total *t = &s->states[pack_state_at(w->state)];

	ADD_MEMBERS(t, w, count, blocked_ns, runnable_ns, preempted_ns);
	s->blocked_ns += w->blocked_ns;
	s->runnable_ns += w->runnable_ns;
	s->preempted_ns += w->preempted_ns;
}

/* A thread's last wait takes the remaining time. */
static inline uint64_t pack_expected_blocked(const struct pack_sums *s, const struct thread *t, const struct wait *w)
{
	uint64_t rest = thread_observed_ns(t) - t->on_cpu_ns - t->filtered_ns - t->lost_ns - s->blocked_ns -
			s->runnable_ns - s->preempted_ns - w->runnable_ns - w->preempted_ns;

	return rest > PROFILE_NS_MAX ? 0 : rest;
}

static inline uint64_t pack_expected_max(const struct wait *w)
{
	return w->count == 1 ? wait_off_cpu_ns(w) : 0;
}

/* What wakers have left of a wait. */
struct pack_rest {
	uint64_t count, blocked_ns, runnable_ns;
};

static inline struct pack_rest pack_rest_less(const struct pack_rest *r, const struct wake *w)
{
	return (struct pack_rest){ r->count - w->count, r->blocked_ns - w->blocked_ns,
				   r->runnable_ns - w->runnable_ns };
}

/* An error is an estimate: it keeps four bits, rounded up by at most 1/8. */
#define PACK_ERROR_BITS 4
#define PACK_HIST_BITS 4	/* of a sampled count in a histogram */
#define PACK_MAX_BITS 8			/* of the longest wait below the sampling threshold */
static inline uint64_t pack_error(uint64_t error)
{
	unsigned bits = error ? 64 - (unsigned)__builtin_clzll(error) : 0,
		 drop = bits > PACK_ERROR_BITS ? bits - PACK_ERROR_BITS : 0;
	uint64_t kept = drop ? ((error - 1) >> drop) + 1 : error;

	/* rounding up may add a bit */
	if (kept >> PACK_ERROR_BITS) {
		kept >>= 1;
		drop++;
	}
	return (uint64_t)drop << PACK_ERROR_BITS | kept;
}

static inline uint64_t pack_error_value(uint64_t coded)
{
	uint64_t drop = coded >> PACK_ERROR_BITS, kept = coded & ((1u << PACK_ERROR_BITS) - 1);

	return drop < 63 - PACK_ERROR_BITS ? kept << drop : PROFILE_NS_MAX;
}

/* Numbers are rounded to a power of two, given as a shift, between an eighth and a quarter of their error. */
#define PACK_ERROR_SHARE 4
static inline unsigned pack_shift(uint64_t error)
{
	error = MIN(error, PROFILE_NS_MAX) / PACK_ERROR_SHARE;
	return error ? 63 - (unsigned)__builtin_clzll(error) : 0;
}

static inline unsigned pack_wake_top(const struct wake *w)
{
	return profile_hist_slot(w->count ? w->runnable_ns / w->count : 0);
}

/* The numbers of a window's info, in output order. */
#define PACK_INFO_NUMBERS(X)                                                                                           \
	X(start_unix_ns)                                                                                               \
	X(start_ns) X(duration_ns) X(cpus) X(switches) X(tracer_cpu_ns) X(tracer_peak_rss_bytes)                       \
		X(tracer_start_cpu_ns) X(tracer_stop_cpu_ns) X(tracer_bpf_ns) X(has_bpf_ns) X(has_locks)               \
			X(has_objects) X(has_wakers) X(has_blame) X(has_storms) X(on_cpu_hz) X(on_cpu_end_hz)          \
				X(self_excluded) X(sampling.start_ns) X(sampling.end_ns) X(sampling.max_ns)            \
					X(sampling.raised_cnt) X(sampling.lowered_cnt) X(sampling.over_cnt)            \
						X(sampling.budget_ppm) X(sampling.used_ppm) X(sampling.peak_ppm)       \
							X(sampling.has_used) X(looks.asked_ns) X(looks.rounds)         \
								X(looks.budget_ppm) X(unknown) X(has_tasks)
#define PACK_INFO_STRINGS(X) X(host) X(kernel) X(command_line) X(filters) X(version) X(imported)

/*
 * Writes a row by the description of its table, all columns but the window.  References become dictionary numbers.
 * thread_at: dictionary numbers of threads.
 */
void pack_row(struct dict_writer *w, enum table_id id, const void *row, const uint32_t *thread_at, GByteArray *into);
/* Writes the number of rows and each row. */
void pack_table(struct dict_writer *w, const struct profile *p, enum table_id id, const uint32_t *thread_at,
		GByteArray *into);
/* Reads the next row; references become ids of the profile.  threads: their number.  False: invalid. */
bool unpack_row(struct dict_map *m, struct cursor *c, enum table_id id, guint threads, void *ret_row);
#define EACH_UNPACKED(m, c, table, max, threads, row)   \
	for (uint32_t cnt = blob_get_cnt(c, max); cnt && unpack_row(m, c, table, threads, row); cnt--)

/* Writes task populations and their rows, sorted by number of tasks.  When tasks were seen is not stored. */
void pack_tasks(struct dict_writer *w, const struct profile *p, GByteArray *into);
/* False: invalid bytes. */
bool unpack_tasks(struct dict_map *m, struct cursor *c, struct profile *p);

/*
 * Writes TCP waits and connections behind all other rows of a window.  Writes nothing if there are neither these nor
 * chains, as in windows from before December 2026.  Omits ephemeral ports, which would fill the dictionary.
 */
void pack_network(struct dict_writer *w, const struct profile *p, GByteArray *into);
/* False: invalid bytes. */
bool unpack_network(struct dict_map *m, struct cursor *c, struct profile *rows);

/*
 * Writes chains of wakers and their stories behind that, nothing if there are none.  wakes: struct pack_row in output
 * order.
 */
void pack_chains(struct dict_writer *w, const struct profile *p, const GArray *wakes, GByteArray *into);
/* Reads to the end of the bytes.  False: invalid bytes. */
bool unpack_chains(struct dict_map *m, struct cursor *c, struct profile *rows);

/*
 * Encodes a histogram in two columns: the slots in use, from the longest down, and the count of each but the last,
 * which follows from `count`.  top: the expected slot of the longest wait.  A histogram that does not add up is
 * written to the first column alone.
 */
void pack_hist_shape(GByteArray *into, const uint32_t *hist, uint64_t count, unsigned top);
void pack_hist_counts(GByteArray *into, const uint32_t *hist, uint64_t count);

/* True: the counts follow in the other column; used slots hold 1 until then. */
bool unpack_hist_shape(struct cursor *c, uint32_t *hist, uint64_t count, unsigned top);
void unpack_hist_counts(struct cursor *c, uint32_t *hist, uint64_t count);

/*
 * When the longest waits began, and who ended them.  Written for the longest wait of each stack of a process, from 1
 * ms on, to the millisecond.  A single wait at an edge of the window needs no bytes: its time follows from the edge.
 * A single wait's waker is its only one.
 */

/* waits, wakes: struct pack_row in output order. */
void pack_longest(const struct profile *p, const GArray *waits, const GArray *wakes, GByteArray *into);
/* Rows of p are in output order.  False: invalid bytes. */
bool unpack_longest(struct profile *p, struct cursor *c);
/* Restores what needs no bytes, also for windows without the encoded part. */
void unpack_longest_at_edges(struct profile *p);

#endif
