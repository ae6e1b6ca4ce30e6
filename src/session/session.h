/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include <glib.h>
#include <stdbool.h>

#include "profile/profile.h"
#include "session/options.h"

/*
 * One tracing session: open, load, attach, start, drain now and then, stop.  Its window
 * is [start, stop) of CLOCK_MONOTONIC.  Freed in any state it leaves no program loaded.
 */
struct session;

/* Opens, loads and attaches; nothing is counted yet.  The options' pointers must outlive it. */
struct session *session_new(const struct collect_options *options, GError **error);
/* Loads and attaches all programs that a session with these options uses, and lets them go. */
bool session_try(const struct collect_options *options, GError **error);
void session_free(struct session *s);

/* Looks at every thread, then lets the window begin. */
bool session_start(struct session *s, GError **error);

/* How often session_drain() wants to be called, at least. */
#define SESSION_DRAIN_MS 50
/* The same for now: sooner while the traced command starts programs. */
unsigned session_drain_ms(const struct session *s);

/* Takes what the kernel has gathered: call it as often as that, and at once when it returns true. */
bool session_drain(struct session *s);

/* False when it cannot end well: part of it is loaded while the window is open.  Call it now and then. */
bool session_check(struct session *s, GError **error);

/* No recording could hold much more than what there is by now, so the window is to end.  Ask as often as that. */
bool session_is_full(const struct session *s);

/*
 * Ends the window and begins the next one at the same instant, while everything goes on: no program is detached,
 * nothing is lost or counted twice, and what is known of stacks, wakers and objects stays, but for what nobody meets
 * any more.  A wait that goes on is split there.  Returns the profile of the window that ended, which is the
 * session's: it is valid until the next call that takes the session, but for session_progress().  With
 * options->may_cut only.
 */
const struct profile *session_cut(struct session *s, GError **error);

/* Right after that: the same profile, but kept until profile_free_rows(), which is before session_free(). */
struct profile *session_keep_window(struct session *s);

/*
 * Whether chains of wakers are told from now on, where options->chains_later asks for that.  Until then a switch costs
 * next to nothing more.
 */
void session_tell_chains(struct session *s, bool tells);

/* Ends the window, reads out everything. */
bool session_stop(struct session *s, GError **error);

/*
 * After session_stop(): the profile that session_take_profile() will finish.  Its threads and their states are what
 * they will be, nothing else is.
 */
const struct profile *session_threads(const struct session *s);
/* Finishes the profile, which is the caller's then; once, after session_stop(). */
struct profile *session_take_profile(struct session *s);
/* Takes the programs out of the kernel before session_free() does, which is all that may follow. */
void session_unload(struct session *s);

struct session_progress {
	uint64_t elapsed_ns;
	uint64_t switches;
	uint64_t stacks;
	uint64_t lost;		/* events of all reasons */
	uint64_t lost_switches;	/* of these those that on_switch was to have */
};
void session_progress(struct session *s, struct session_progress *ret_progress);

struct requests;
/* Where requests are wanted, else NULL; and the window's edges. */
const struct requests *session_requests(const struct session *s, uint64_t *ret_start_ns, uint64_t *ret_stop_ns);

/* For `hist` at intervals: hands all sums gathered so far to options->on_sum. */
void session_take_sums(struct session *s);

/* What events point to is in here, as far as it has arrived; session_take_profile() gives the same one. */
const struct profile *session_profile(const struct session *s);
/*
 * An event as a row of waits: stacks, object, parts, and when it began, but no thread, and no waker.  False: a stack of
 * its has not arrived yet, and is left out.
 */
bool session_event_wait(struct session *s, const struct offcpu_rec_event *event, struct wait *ret_wait);
/* The row of a waker + 1; 0: it is not known. */
uint32_t session_waker(struct session *s, uint64_t id);

/* What recording takes, as shares of all CPUs' time; before session_unload(). */
struct session_shares {
	bool are_known;		/* else the kernel does not let us count, or the machine was too busy for two readings */
	double exact;		/* every wait listed, as it began */
	double now;		/* since the governor last changed anything, or since the start; before that if it just did */
	double own;		/* of `now`, our own threads */
};
struct session_shares session_shares(const struct session *s);

/* How well walks were remembered, for people: "walks: ...\n". */
char *session_walks_text(struct session *s);

/*
 * Appends the ids (uint64_t) of the control groups that somebody means: by a path, or by the name of a unit, container
 * or pod.  What is called the same has another id once it was started again.
 */
bool named_groups(const char *typed, GArray *ids, GError **error);

#endif
