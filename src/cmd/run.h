/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_RUN_H
#define CMD_RUN_H

#include "cmd/target.h"
#include "session/session.h"

/* Runs a tracing session for a command: the traced COMMAND, signals, clock, progress line. */
struct run {
	const char *name;		/* command's name for messages */
	struct target *target;
	uint64_t duration_ns;		/* 0: until Ctrl-C or the end of COMMAND */
	bool progress;			/* print a progress line on stderr, if that is a terminal */
	/* Called when tracing has begun and then about every SESSION_DRAIN_MS; false ends the run. */
	bool (*on_tick)(struct run *run, uint64_t elapsed_ns);
	int input_fd;			/* with on_input, which is called when it is readable; false ends the run */
	bool (*on_input)(struct run *run);
	void (*on_end)(struct run *run);	/* called at the end before anything is printed, perhaps twice */
	void *data;
	unsigned drain_ms;		/* 0: SESSION_DRAIN_MS; less if each wait is a record */

	/* while the session runs */
	struct session *session;
	pid_t child;
	bool is_held;			/* the child is stopped before its exec, and these two are open */
	int release_fd;			/* closing it releases the child */
	int exec_error_fd;
	int child_status;
	bool child_ended;
};

/* Parses the text of -d, NULL if not given.  False after printing. */
bool run_parse_duration(struct run *run, const char *text);

/* Traces from start to end, until everything is read.  Prints errors; returns an exit status. */
int run_session(struct run *run);

/* Hold and release signals, so that the final steps are not interrupted. */
void run_hold_signals(void);
void run_let_signals_through(void);
/* Sets the handler of all signals that end a session, once they are released. */
void run_on_signals(void (*handler)(int sig));
/*
 * The window has ended, so from now on a signal abandons the remaining work: nobody should have to wait for a slow
 * disk.  Repetitions of the first signal are ignored: timeout(1) sends it twice, and a key may bounce.
 */
void run_window_over(void);
void run_abandon_on_signals(void);
/* For handlers that abandon: whether this signal is a repetition of the first. */
bool run_is_repeated(void);

/*
 * Waits for COMMAND if it still runs, while signals can end us again.  Returns its exit status as a shell does: its
 * status or 128 + signal.
 */
int run_command_status(struct run *run);

void run_release(struct run *run);

/*
 * Reports on stderr which files and processes never answered, and ends the opener (opener.h).  run_release() does it
 * too.
 */
void run_end_opener(const char *name);

/*
 * Prints `before` and losses like "missed_switch 14, stack 5" to stderr, without losses named `but` (NULL: all);
 * nothing if there are none.
 */
void run_print_losses(const struct profile *p, const char *before, const char *but);

/* The exit status for an error between us and the kernel. */
int run_status_of(const GError *error);

#endif
