/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef MCP_CALL_H
#define MCP_CALL_H

#include <glib.h>
#include <stdbool.h>

#include "mcp/tools.h"

/* A call of a tool: its processes, one after the other, and what became of it. */

struct call_options {
	struct tool_options tool;
	const char *const *record_with;	/* what runs the recorder with rights; NULL: it is run as it is */
	struct recordings *recordings;
	/* The call is over and freed behind this.  result: as JSON; NULL: it was cancelled, and nobody waits for it. */
	void (*done)(const char *id, const char *result, void *data);
	/* It records, and somebody wants to know how far it is. */
	void (*progress)(const char *token, unsigned seconds, unsigned total, void *data);
	void *data;
};

struct call;

/* id, token: as JSON; token NULL: no progress is wanted.  arguments: a JSON object.  Runs by the main loop. */
struct call *call_start(const struct call_options *options, const struct tool *tool, const char *id, const char *token,
			const char *arguments);
const char *call_id(const struct call *c);
bool call_records(const struct call *c);
/* Its processes end, then it is over without a result. */
void call_cancel(struct call *c);

/* A command of ours as a process: what it prints, bounded, and its end, by the main loop. */

struct child;

struct child_result {
	int status;	/* as of waitpid() */
	bool is_late;	/* it took longer than it may, and was killed */
	bool is_long;	/* it printed more than it may, and was killed */
	const char *out, *err;
};

struct child_options {
	const char *const *runner;	/* what runs it with rights, "sudo", "-n"; NULL: it is run as it is */
	const char *const *words;	/* behind the program's name */
	unsigned seconds;		/* that it may take */
	/*
	 * It ends when its standard input does.  So it can be asked to by who may send it no signal, and does not go on when we
	 * were killed.
	 */
	bool ends_with_input;
	/* Called once, from the main loop; the child is freed behind it. */
	void (*done)(const struct child_result *result, void *data);
	void *data;
};

/* NULL with a sentence. */
struct child *child_start(const struct child_options *options, GError **error);
/* Asks it to end, and kills it when it does not; done() is called all the same. */
void child_stop(struct child *c);

/* The recordings made for a client, in a folder that only this user can enter.  Nothing else is ever written. */

#define RECORDINGS_MAX 8	/* the oldest is deleted for another one */

struct recordings;

struct recordings *recordings_new(void);
/* Deletes all of them; NULL is fine. */
void recordings_free(struct recordings *r);
/* Where the next one goes; makes the folder.  For g_free(); NULL with a sentence. */
char *recordings_next(struct recordings *r, GError **error);
/* It is there now; from then on it is the last one. */
void recordings_add(struct recordings *r, const char *path);
/* NULL: none. */
const char *recordings_last(const struct recordings *r);

#endif
