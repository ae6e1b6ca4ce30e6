/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_SERVING_H
#define CMD_SERVING_H

#include "render/html/html.h"

/* Serving one recording until Ctrl-C: `view`, and `flame --open`. */
struct serving {
	const char *command;	/* in messages */
	const char *name;	/* of the recording */
	guint16 port;		/* 0: one that is free */
	unsigned idle_s;	/* ends when nobody has asked for so long; 0: never */
	bool open;		/* in the browser */
};

struct server;

/* The first page, by a link that works once; where it cannot be opened, a note says why. */
void serving_open_browser(const char *command, struct server *s);

#define SERVING_IDLE_S (30 * 60)

/* Prints the links.  The exports have the waits that the page has, by its weight.  An exit status. */
int serving_run(const struct serving *v, const struct profile *p, const struct html_options *page);

#endif
