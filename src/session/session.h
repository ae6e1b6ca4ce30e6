/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include <glib.h>
#include <stdbool.h>

#include "profile/profile.h"
#include "session/options.h"

/*
 * One tracing session: open, load, attach, start, drain at intervals, stop. Its window is [start, stop) of
 * CLOCK_MONOTONIC. Freed in any state it leaves no program loaded.
 */
struct session;

/* Opens, loads and attaches; nothing is counted yet. The options' pointers must outlive it. */
struct session *session_new(const struct collect_options *options, GError **error);
/* Loads and attaches all programs that a session with these options uses, and removes them again. */
bool session_try(const struct collect_options *options, GError **error);
void session_free(struct session *s);

/* Looks at every thread, then opens the window. */
bool session_start(struct session *s, GError **error);

/* Maximal interval between calls of session_drain(). */
#define SESSION_DRAIN_MS 50
/* The current maximum: shorter while the traced command starts programs. */
unsigned session_drain_ms(const struct session *s);

/* Takes what the kernel has gathered: call it at that interval, and again at once when it returns true. */
bool session_drain(struct session *s);

/* False when it cannot end properly: a part of it is loaded while the window is open. Call it at intervals. */
bool session_check(struct session *s, GError **error);

/* The recording can hold little more, so the window should end. Call it at the same interval. */
bool session_is_full(const struct session *s);

/*
 * Ends the window and begins the next one at the same instant, without a pause: no program is detached, nothing is
 * lost or counted twice, and known stacks, wakers and objects are kept as long as they are in use. An open wait is
 * split there. Returns the profile of the window that ended, which the session owns: it is valid until the next call
 * that takes the session, except session_progress(). Requires options->may_cut.
 */
const struct profile *session_cut(struct session *s, GError **error);

/* Right after that: the same profile, but kept until profile_free_rows(), which must come before session_free(). */
struct profile *session_keep_window(struct session *s);

/*
 * Enables or disables chains of wakers, where options->chains_later asks for that. While disabled they cost next to
 * nothing.
 */
void session_tell_chains(struct session *s, bool tells);

/* Ends the window, reads everything. */
bool session_stop(struct session *s, GError **error);

/*
 * After session_stop(): the profile that session_take_profile() will finish. Only its threads and their states are
 * final.
 */
const struct profile *session_threads(const struct session *s);
/* Finishes the profile, which the caller then owns; once, after session_stop(). */
struct profile *session_take_profile(struct session *s);
/* Removes the programs from the kernel early; only session_free() may follow. */
void session_unload(struct session *s);

struct session_progress {
	uint64_t elapsed_ns;
	uint64_t switches;
	uint64_t stacks;
	uint64_t lost;		/* for all reasons */
	uint64_t lost_switches;	/* those of them that were meant for on_switch */
};
void session_progress(struct session *s, struct session_progress *ret_progress);

struct requests;
/* Where requests are wanted, else NULL; with the window's edges. */
const struct requests *session_requests(const struct session *s, uint64_t *ret_start_ns, uint64_t *ret_stop_ns);

/* For `hist` with intervals: passes all sums gathered so far to options->on_sum. */
void session_take_sums(struct session *s);

/* The rows that events refer to, as far as they have arrived; session_take_profile() returns the same profile. */
const struct profile *session_profile(const struct session *s);
/*
 * An event as a row of waits: stacks, object, parts, and start, but no thread and no waker. False: one of its stacks
 * has not arrived yet, and is left out.
 */
bool session_event_wait(struct session *s, const struct offcpu_rec_event *event, struct wait *ret_wait);
/* The row of a waker + 1; 0: not known. */
uint32_t session_waker(struct session *s, uint64_t id);

/* Cost of recording, as shares of all CPUs' time; call it before session_unload(). */
struct session_shares {
	bool are_known;		/* else the kernel does not let us count, or there were no two readings */
	double exact;		/* with every wait listed, as at the start */
	double now;		/* since the governor's last or, if that is recent, last but one change */
	double own;		/* part of `now`: our own threads */
};
struct session_shares session_shares(const struct session *s);

/* Hit rates of cached walks, for people: "walks: ...\n". */
char *session_walks_text(struct session *s);

/*
 * Appends the ids (uint64_t) of control groups: given by a path, or by the name of a unit, container or pod. After a
 * restart the same name has another id.
 */
bool named_groups(const char *typed, GArray *ids, GError **error);

#endif
