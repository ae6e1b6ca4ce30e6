/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef MCP_CHILD_H
#define MCP_CHILD_H

#include <glib.h>
#include <stdbool.h>

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

#endif
