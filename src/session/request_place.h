/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SESSION_REQUEST_PLACE_H
#define SESSION_REQUEST_PLACE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "session/request_plan.h"
#include "symbolize/elf/functions.h"

/* Files in which a plan's probes lie, and the probes themselves: what request_plan.c and request_runtime.c share. */

/* A file that a request's functions may be in. */
struct request_place {
	int fd;
	uint64_t dev, ino;
	char *path;
	char *name;		/* as people know it */
};

/* Says so in *error. */
void request_fail(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* struct maps_line of a process, and the text that they are of; NULL: it is gone, or not ours to read. */
GArray *request_mapped_files(uint32_t pid, char **ret_text);
/* Where `bin` is, struct request_place; NULL with a sentence when it is nowhere. */
GArray *request_places_find(struct request_plan *plan, const char *bin, const GArray *pids, const char *program,
			    GError **error);
/* The text becomes the plan's. */
const char *request_plan_keep(struct request_plan *plan, char *text);
/* A probe at the function's entry, of that kind and number. */
void request_add_entry(struct request_plan *plan, const struct request_place *place, const struct elf_function *f,
		       const struct request_probe *like, uint16_t machine);

/* Exceptions end requests: where the runtime of C++ catches one, or goes on to unwind. */
void request_add_catches(struct request_plan *plan, const GArray *pids);
/* Go's scheduler in that file, once.  False, with a sentence: it is not found. */
bool request_add_go(struct request_plan *plan, const struct request_place *place, GError **error);

/* What goroutines of a program are parked for, by the numbers of its runtime. */
struct request_go_names {
	const char *name[256];	/* "chan receive" */
	unsigned cnt;
	char *text;
};

/* NULL: not found. */
struct request_go_names *request_go_names_read(uint32_t pid);
void request_go_names_free(struct request_go_names *n);	/* NULL is fine */

#endif
