/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef MCP_CALL_H
#define MCP_CALL_H

#include <glib.h>
#include <stdbool.h>

#include "mcp/tools.h"

/* A call of a tool: the processes it runs in turn, and its result. */

struct call_options {
	struct tool_options tool;
	const char *const *record_with;	/* the command that runs the recorder with rights; NULL: none */
	struct recordings *recordings;
	/* The call is over and freed after this. result: as JSON; NULL: it was cancelled and needs no answer. */
	void (*done)(const char *id, const char *result, void *data);
	/* Progress of a recording, if the client asked for it. */
	void (*progress)(const char *token, unsigned seconds, unsigned total, void *data);
	void *data;
};

struct call;

/* id, token: as JSON; token NULL: no progress is wanted. arguments: a JSON object. Runs in the main loop. */
struct call *call_start(const struct call_options *options, const struct tool *tool, const char *id, const char *token,
			const char *arguments);
const char *call_id(const struct call *c);
bool call_records(const struct call *c);
/* Ends the call's processes and the call, without a result. */
void call_cancel(struct call *c);

/* Runs a command of ours as a process in the main loop and collects its output, up to a bound. */

struct child;

struct child_result {
	int status;	/* as of waitpid() */
	bool is_late;	/* killed: it took longer than allowed */
	bool is_long;	/* killed: it printed more than allowed */
	const char *out, *err;
};

struct child_options {
	const char *const *runner;	/* the command that runs it with rights, "sudo", "-n"; NULL: none */
	const char *const *words;	/* arguments after the program's name */
	unsigned seconds;		/* time limit */
	/* End the child when its standard input closes. This works where we may not signal it, or were killed. */
	bool ends_with_input;
	/* Called once, from the main loop. The child is freed afterwards. */
	void (*done)(const struct child_result *result, void *data);
	void *data;
};

/* NULL with an error. */
struct child *child_start(const struct child_options *options, GError **error);
/* Asks it to end and kills it if it does not. done() is called in either case. */
void child_stop(struct child *c);

/* The recordings made for a client, in a folder that only this user can enter. Nothing else is ever written. */

#define RECORDINGS_MAX 8	/* a new recording replaces the oldest one */

struct recordings;

struct recordings *recordings_new(void);
/* Deletes all of them; NULL is fine. */
void recordings_free(struct recordings *r);
/* The path for the next recording; creates the folder. For g_free(); NULL with an error. */
char *recordings_next(struct recordings *r, GError **error);
/* The file is complete now and becomes the last recording. */
void recordings_add(struct recordings *r, const char *path);
/* NULL: none. */
const char *recordings_last(const struct recordings *r);

#endif
