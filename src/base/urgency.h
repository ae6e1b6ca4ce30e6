/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef URGENCY_H
#define URGENCY_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A machine can have so many runnable threads that a recorder gets no CPU for seconds: ten thousand on two CPUs left
 * it 2 to 12 % of one where half was its fair share, whatever its nice value (Linux 6.18, autogroups). Then the ring
 * overflows while nobody reads it, and a Ctrl-C takes minutes.  So where the main thread or a helper has had to wait
 * for a CPU for long, or the recording begins or ends in such a crowd, they get the lowest real-time priority for a
 * while, where they may; what they have to do is little.  A thread that has that priority all the time watches over
 * them, twice a second: who starves cannot, nor who waits for one that does.  More often from a SIGINT, SIGTERM or
 * SIGHUP on that the process blocks, until it ends. Of the process, not of a session: all functions but the last two
 * are about one state.
 */

/*
 * By and for a session's main thread, any number of times; with the last end all is as it was, unless it was to be
 * kept.  A thread that a raised one makes is raised too.
 */
void urgency_begin(void);
void urgency_end(void);

/* A helper thread, which takes no signals: what the main thread gets, it gets, too, even before its first turn. */
GThread *urgency_thread_new(const char *name, GThreadFunc func, gpointer data);
/* By a thread with long work that can wait: it does without what it has from who made it. */
void urgency_decline(void);

/*
 * The end has come: from now on it is not taken back, and all threads of the process get it, for it ends
 * when each of them has had its turn to end, and its memory was given back.
 */
void urgency_keep(void);

/* What is decided on, and the decision. */
#define URGENCY_WAIT_NS 100000000ULL	/* so long waited for a CPU between two looks */
#define URGENCY_LAST_WAIT_NS 20000000ULL	/* the same when somebody waits for our end */
#define URGENCY_HOLD_NS 1000000000ULL	/* the first time so long, twice as long each time, at most: */
#define URGENCY_HOLD_MAX_NS 64000000000ULL
#define URGENCY_CROWD 16		/* with so many runnable threads for each CPU it goes on */

struct urgency_state {
	bool has_looked;	/* whether there is a crowd, since it began or was about to end */
	bool is_raised;
	bool is_kept;
	bool is_awaited;	/* somebody waits for our end, since the last look or longer */
	uint64_t until_ns, hold_ns;
};

enum urgency_step { URGENCY_STAY, URGENCY_RAISE, URGENCY_LOWER };
/*
 * waited_ns: the longest that one of the threads waited for a CPU since the last look.  runnable_cnt: threads, for
 * each CPU; who is raised cannot tell by waiting, and who begins or ends in a crowd will starve.
 */
enum urgency_step urgency_judge(struct urgency_state *state, uint64_t now_ns, uint64_t waited_ns,
				unsigned runnable_cnt);
/* Time to look whether there is a crowd: only then the last one is asked for. */
bool urgency_asks_for_crowd(const struct urgency_state *state, uint64_t now_ns);

/*
 * Says where each thread of this process stands, once nobody has fed it for so long, and goes on: whoever waits for the
 * process, or sends a report of that, has what it takes then.  Once until it is fed again.
 */
struct watchdog_options {
	unsigned after_ms;
	const char *why;	/* the first line */
	void (*say)(const char *line, void *data);	/* from a thread of its own */
	void *data;
};

#define WATCHDOG_AFTER_MS 10000

/* One at a time; until the end of the process, or watchdog_end(). */
void watchdog_begin(const struct watchdog_options *options);
void watchdog_feed(void);	/* nothing where there is none */
void watchdog_end(void);

#endif
