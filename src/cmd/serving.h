/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_SERVING_H
#define CMD_SERVING_H

#include "render/html/html.h"

/* Serves one recording until Ctrl-C: `view`, and `flame --open`. */
struct serving {
	const char *command;	/* for messages */
	const char *name;	/* of the recording */
	guint16 port;		/* 0: any free one */
	unsigned idle_s;	/* ends after so long without requests; 0: never */
	bool open;		/* open it in the browser */
};

struct server;

/* Opens the first page by a link that works once; if that fails, prints a note. */
void serving_open_browser(const char *command, struct server *s);

#define SERVING_IDLE_S (30 * 60)

/* Prints the links and serves.  Exports have the page's waits and weight.  Returns an exit status. */
int serving_run(const struct serving *v, const struct profile *p, const struct html_options *page);

#endif
