/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_INCIDENTS_HISTORY_H
#define FEATURES_INCIDENTS_HISTORY_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Saved windows in DIR/incidents/NAME: a history of its own, which every reader of histories can read, plus a file
 * `about`. It outlives the original windows.  It is made atomically: under a name that begins with ".", then renamed.
 * A separate lock admits one process at a time, which need not be the writer of the history.
 */

#define INCIDENT_NAME_MAX_BYTES 128
#define INCIDENTS_MAX 10000	/* further entries of a folder are ignored */

struct incident {
	char *name;
	uint64_t from_unix_ns, to_unix_ns;	/* of what was saved */
	uint64_t bytes, made_unix_ns;
	/* number of rows of each kind; minutes and hours stand for windows that had expired */
	uint64_t windows, minutes, hours;
	char *said;	/* message of the alert; "": saved manually */
	char *headline;	/* first headline of its report; "": unknown */
	bool has_recording;	/* incident_recording() exists */
	char *damage;	/* why only name and size are known; NULL: everything is known */
};

struct incident_options {
	const char *dir;	/* folder of the history; NULL: STORE_DIR_DEFAULT */
	uint64_t max_bytes;	/* of all incidents; the oldest are removed first */
	bool may_replace;	/* replace one with the same name, but keep its recording */
	const char *recording;	/* file that is moved into it; NULL, or missing: none */
};

/* Whether it is a valid name; false on error. */
bool incident_check_name(const char *name, GError **error);
/* Turns any text into a valid name; free with g_free(). */
char *incident_name_of(const char *text);
/* DIR/incidents/NAME; free with g_free(). */
char *incident_dir(const char *dir, const char *name);

/* Path of its recording; free with g_free(). */
char *incident_recording(const char *dir, const char *name);

/*
 * Copies the finest rows that overlap [from, to).  Reads name, said and headline from `about`, and sets the rest.
 * False on error: nothing has changed.
 */
bool incident_keep(const struct incident_options *options, uint64_t from_unix_ns, uint64_t to_unix_ns,
		   struct incident *about, GError **error);

/* struct incident, oldest first; may be empty.  NULL on error. */
GPtrArray *incident_list(const char *dir, GError **error);

#endif
