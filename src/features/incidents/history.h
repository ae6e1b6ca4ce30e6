/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_INCIDENTS_HISTORY_H
#define FEATURES_INCIDENTS_HISTORY_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Windows that were put aside, DIR/incidents/NAME: a history of its own, with a file `about`, so that whatever reads a
 * history reads it.  It survives the windows that it is a copy of.  It appears whole or not at all: it is made under a
 * name that begins with "." and renamed.  One process at a time makes them, held by a lock of their own, so it needs not
 * be the writer of the history.
 */

#define INCIDENT_NAME_MAX_BYTES 128
#define INCIDENTS_MAX 10000	/* a folder with more is read no further */
#define INCIDENT_BYTES_DEFAULT (UINT64_C(2) << 30)

struct incident {
	char *name;
	uint64_t from_unix_ns, to_unix_ns;	/* of what is kept */
	uint64_t bytes, made_unix_ns;
	uint64_t windows, minutes, hours;	/* how many rows of each: windows that were gone are told by their sums */
	char *said;	/* what the alert said; "": by hand */
	char *headline;	/* what a report of it begins with; "": not known */
	bool has_recording;	/* incident_recording() */
	char *damage;	/* why nothing but the name and size is known; NULL: all is */
};

struct incident_options {
	const char *dir;	/* of the history; NULL: STORE_DIR_DEFAULT */
	uint64_t max_bytes;	/* of all of them together: the oldest go first */
	bool may_replace;	/* one of that name, which is made anew; a recording of its stays */
	const char *recording;	/* a file that becomes a part of it; NULL, or not there: none */
};

/* Is it a name for one?  False with a sentence. */
bool incident_check_name(const char *name, GError **error);
/* Of whatever text; for g_free(). */
char *incident_name_of(const char *text);
/* DIR/incidents/NAME; for g_free(). */
char *incident_dir(const char *dir, const char *name);

/* Where the recording of one is; for g_free(). */
char *incident_recording(const char *dir, const char *name);

/*
 * Copies what overlaps [from, to), the finest that is there.  Of `about` name, said and headline are read, the rest is
 * filled in.  False with a sentence: nothing has changed.
 */
bool incident_keep(const struct incident_options *options, uint64_t from_unix_ns, uint64_t to_unix_ns,
		   struct incident *about, GError **error);

/* struct incident, oldest first; none where nothing was put aside.  NULL with a sentence. */
GPtrArray *incident_list(const char *dir, GError **error);

#endif
