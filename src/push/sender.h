/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_SENDER_H
#define PUSH_SENDER_H

#include "push/spool.h"
#include "push/target.h"

/*
 * Windows on their way to an engine: sender_window() puts each into the spool, and a thread sends what is there,
 * oldest first, with a growing pause (and jitter, so that a fleet does not come back as one) while the engine is away.
 *
 * Nothing counts twice.  ClickHouse gets the same keys again, so a window is sent until it is taken.  Pyroscope has no
 * keys: what it may have taken without an answer is given up and counted, and then it must answer another question
 * before the next window goes.
 */
struct sender;

struct sender_options {
	struct target_options target;
	struct spool_options spool;	/* may_repeat is set here */
	unsigned pause_max_s;	/* between two attempts; 0: SENDER_PAUSE_MAX_S */
	/*
	 * A sentence for the journal, at most one for each change of things; from the sender's thread.  NULL: nobody
	 * listens.
	 */
	void (*say)(void *ctx, const char *sentence);
	void *ctx;
};
#define SENDER_PAUSE_MAX_S 300

/* All numbers since sender_start(), of requests to Pyroscope and of windows to ClickHouse; the last two are of now. */
struct sender_status {
	uint64_t spooled, taken, rows, bytes;	/* bytes: of bodies that were taken */
	uint64_t refused;	/* by the engine */
	uint64_t unsure;	/* given up since they might count twice */
	uint64_t old, large, damaged;	/* dropped by the spool */
	uint64_t failed;	/* attempts that came to nothing */
	uint64_t unkept;	/* windows that could not be put into the spool */
	uint64_t waiting, waiting_bytes;
	bool is_away;		/* the last attempt failed */
};

/* NULL with one sentence; that the engine is away is none. */
struct sender *sender_start(const struct sender_options *options, GError **error);
/*
 * Takes a window; the profile may go or change afterwards.  It takes as long as it takes to pack and write it.  False
 * with one sentence: it is not kept, which is counted, and the next one may be.  Of one thread at a time.
 */
bool sender_window(struct sender *s, const struct profile *window, const struct reasons *reasons, GError **error);
struct sender_status sender_status(struct sender *s);
/* Waits until the spool is empty, or until that g_get_monotonic_time(); true when it is. */
bool sender_drain(struct sender *s, gint64 until_us);
/*
 * Gives what runs a moment, ends the thread and frees; what is left in the spool is sent by the next one.  NULL is
 * fine.
 */
void sender_stop(struct sender *s);
/* "Pyroscope at http://...": as long as s. */
const char *sender_name(const struct sender *s);

#endif
