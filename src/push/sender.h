/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_SENDER_H
#define PUSH_SENDER_H

#include "push/spool.h"
#include "push/target.h"

/*
 * Sends windows to an engine.  sender_window() puts each into the spool, and a thread sends them, oldest first.  While
 * the engine is away, pauses grow, with jitter, so that a fleet does not return all at once.
 *
 * Nothing counts twice.  ClickHouse gets the same keys again, so a window is sent until it is taken.  Pyroscope has no
 * keys: a window that may have arrived, without an answer, is given up and counted.  The engine must then answer
 * another question before the next window is sent.
 */
struct sender;

struct sender_options {
	struct target_options target;
	struct spool_options spool;	/* may_repeat is set by sender_start() */
	unsigned pause_max_s;	/* between two attempts; 0: SENDER_PAUSE_MAX_S */
	/*
	 * Called from the sender's thread with a sentence for the journal, at most one per change of state.  NULL:
	 * none.
	 */
	void (*say)(void *ctx, const char *sentence);
	void *ctx;
};
#define SENDER_PAUSE_MAX_S 300

/*
 * Totals since sender_start(), in requests for Pyroscope and windows for ClickHouse.  The last two are current values.
 */
struct sender_status {
	uint64_t taken, rows, bytes;	/* bytes: of bodies that were taken */
	uint64_t refused;	/* by the engine */
	uint64_t unsure;	/* given up because they might count twice */
	uint64_t old, large, damaged;	/* dropped by the spool */
	uint64_t failed;	/* failed attempts */
	uint64_t unkept;	/* windows that could not be spooled */
	uint64_t waiting, waiting_bytes;
	bool is_away;		/* the last attempt failed */
};

/* NULL on error; an unreachable engine is not an error. */
struct sender *sender_start(const struct sender_options *options, GError **error);
/*
 * Encodes the window and writes it to the spool; the profile is not used afterwards.  False on error: the window is
 * dropped and counted, the next one may succeed.  One thread at a time.
 */
bool sender_window(struct sender *s, const struct profile *window, const struct reasons *reasons, GError **error);
struct sender_status sender_status(struct sender *s);
/* Waits until the spool is empty (true), or until that g_get_monotonic_time() (false). */
bool sender_drain(struct sender *s, gint64 until_us);
/*
 * Lets the current request finish for a moment, ends the thread and frees.  The next sender on the spool sends what is
 * left.  NULL is fine.
 */
void sender_stop(struct sender *s);
/* "Pyroscope at http://..."; valid as long as s. */
const char *sender_name(const struct sender *s);

#endif
