/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_RUN_H
#define CMD_RUN_H

#include "cmd/target.h"
#include "session/session.h"

/*
 * Running a tracing session from a command: the traced COMMAND if there is one, the
 * signals, the clock, the progress line.
 */
struct run {
	const char *name;		/* of the command, for messages */
	struct target *target;
	uint64_t duration_ns;		/* 0: until Ctrl-C or the end of COMMAND */
	bool progress;			/* a line on stderr, if that is a terminal */
	/* Called when tracing has begun, and about every SESSION_DRAIN_MS; false ends the run. */
	bool (*on_tick)(struct run *run, uint64_t elapsed_ns);
	int input_fd;			/* with on_input, which is called when it can be read; false ends the run */
	bool (*on_input)(struct run *run);
	void (*on_end)(struct run *run);	/* it ends: called before anything is printed, perhaps twice */
	void *data;
	unsigned drain_ms;		/* 0: SESSION_DRAIN_MS; fewer where each wait is a record */

	/* after run_start() */
	struct session *session;
	pid_t child;
	bool is_held;			/* the child stands before its exec, and these two are open */
	int release_fd;			/* closing it lets the child exec */
	int exec_error_fd;
	int child_status;
	bool child_ended;
};

/* The text of -d, or NULL: there was none.  False after a sentence. */
bool run_parse_duration(struct run *run, const char *text);

/* Traces from start to end, window closed and everything read out.  Prints on failure; an exit status. */
int run_session(struct run *run);

/* No signal ends us any more: for when all is done but to say so.  And they may again. */
void run_hold_signals(void);
void run_let_signals_through(void);
/* What ends a session calls this when let through. */
void run_on_signals(void (*handler)(int sig));
/*
 * The window is over, and a signal abandons what is left to do: nobody has to wait for a slow disk.  Not one that came
 * with the first: timeout(1) sends its own twice, and a key may bounce.
 */
void run_window_over(void);
void run_abandon_on_signals(void);
/* Of a handler that abandons: did this one come with the first? */
bool run_is_repeated(void);

/*
 * Waits for COMMAND if it still runs, which a signal may end again; what the shell would say of it: its status or 128
 * + signal.
 */
int run_command_status(struct run *run);

void run_release(struct run *run);

/* What did not answer while it ran, on stderr, and an end to who was asked (opener.h).  run_release() does that, too. */
void run_end_opener(const char *name);

/* On stderr "missed_switch 14, stack 5" behind that, but for losses of that name (NULL: all); nothing where there are none. */
void run_print_losses(const struct profile *p, const char *before, const char *but);

/* The exit status that tells what went wrong between us and the kernel. */
int run_status_of(const GError *error);

#endif
