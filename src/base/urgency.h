/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef URGENCY_H
#define URGENCY_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A machine can have so many runnable threads that a recorder gets no CPU for seconds: ten thousand on two CPUs left
 * it 2 to 12 % of one where half was its fair share, whatever its nice value (Linux 6.18, autogroups). Then the ring
 * overflows unread, and a Ctrl-C takes minutes. So if the main thread or a helper has waited long for a CPU, or the
 * recording begins or ends with a very long run queue, they get the lowest real-time priority for a while, if
 * permitted. A thread that has this priority all the time checks the others twice a second: a starved thread cannot
 * check itself. After a SIGINT, SIGTERM or SIGHUP that the process blocks it checks more often.
 *
 * The state is per process, not per session, for all functions but the last two.
 */

/*
 * Called by a session's main thread, any number of times; the last end restores everything, unless it is to be kept.
 * Threads created by a raised one are raised, too.
 */
void urgency_begin(void);
void urgency_end(void);

/* A helper thread, which takes no signals: it is raised with the main thread, even before its first turn. */
GThread *urgency_thread_new(const char *name, GThreadFunc func, gpointer data);
/* Called by a thread with long work that can wait: it gives up the priority inherited from its creator. */
void urgency_decline(void);

/*
 * From now on priorities are not lowered, and all threads of the process are raised: the process ends only when each
 * of them has had its turn to end, and its memory was freed.
 */
void urgency_keep(void);

/* The decision and its inputs. */
#define URGENCY_WAIT_NS 100000000ULL	/* limit of waiting for a CPU between two looks */
#define URGENCY_LAST_WAIT_NS 20000000ULL	/* the same while a user waits for our end */
#define URGENCY_HOLD_NS 1000000000ULL	/* raised for this long at first, then twice as long each time, at most: */
#define URGENCY_HOLD_MAX_NS 64000000000ULL
#define URGENCY_CROWD 16		/* it stays raised with this many runnable threads for each CPU */

struct urgency_state {
	bool has_looked;	/* the run queues' length was checked since it began, or was about to end */
	bool is_raised;
	bool is_kept;
	bool is_awaited;	/* a user waits for our end, since the last look or longer */
	uint64_t until_ns, hold_ns;
};

enum urgency_step { URGENCY_STAY, URGENCY_RAISE, URGENCY_LOWER };
/*
 * waited_ns: the longest wait of a thread for a CPU since the last look. runnable_cnt: threads for each CPU; a raised
 * thread's own waits show nothing, and one that begins or ends with long run queues will starve.
 */
enum urgency_step urgency_judge(struct urgency_state *state, uint64_t now_ns, uint64_t waited_ns,
				unsigned runnable_cnt);
/* Is runnable_cnt needed now? Otherwise it is ignored. */
bool urgency_asks_for_crowd(const struct urgency_state *state, uint64_t now_ns);

/*
 * Reports where each thread of this process is, if it was not fed for the given time, and continues: users who wait
 * for the process, or report the hang, then have the details. Once, until it is fed again.
 */
struct watchdog_options {
	unsigned after_ms;
	const char *why;	/* the first line */
	void (*say)(const char *line, void *data);	/* called in a thread of its own */
	void *data;
};

#define WATCHDOG_AFTER_MS 10000

/* One at a time, until watchdog_end() or the end of the process. */
void watchdog_begin(const struct watchdog_options *options);
void watchdog_feed(void);	/* no effect without one */
void watchdog_end(void);

#endif
