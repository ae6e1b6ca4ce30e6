/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_PROFILE_FILE_H
#define PROFILE_PROFILE_FILE_H

#include <sqlite3.h>

#include "profile/profile.h"

/*
 * A recording on disk: a SQLite database (docs/file-format.md is its published schema).
 */

#define PROFILE_FILE_SCHEMA 1
#define PROFILE_FILE_APPLICATION_ID 0x6f666370	/* "ofcp" */

/* What is wrong with the contents; trouble with the file itself is a G_FILE_ERROR. */
#define PROFILE_FILE_ERROR profile_file_error_quark()
GQuark profile_file_error_quark(void);
enum profile_file_error {
	PROFILE_FILE_ERROR_NOT_RECORDING,	/* another kind of file */
	PROFILE_FILE_ERROR_OTHER_VERSION,	/* of another schema than this program's */
	PROFILE_FILE_ERROR_DAMAGED,		/* cut off, corrupted, forged, or a model that breaks its own rules */
};

/*
 * Writes p to `path`.  The file appears complete or not at all: it is written beside
 * `path` under another name, synced and renamed; a recording that was there is first
 * renamed to PATH.old.  On failure every existing file is as it was.
 */
bool profile_file_write(const struct profile *p, const char *path, GError **error);
/* Says already now that it could not put a recording there, for what stands there or in the place of PATH.old. */
bool profile_file_may_write(const char *path, GError **error);
/*
 * The same of a profile that is still being made: a thread writes meanwhile.  It begins with the threads of p and
 * their states, which must stay as they are from now on; what else there is of p may change until
 * profile_file_complete().  That and profile_file_end() are called in any case; p and `path` must stay until then.
 */
struct profile_file;
struct profile_file *profile_file_begin(const struct profile *p, const char *path);
/*
 * By a signal handler, or another thread: the half-done file goes, and none comes any more; profile_file_end() will
 * fail.  False, and all is as it was, when the file is already being put in its place.
 */
bool profile_file_abandon(struct profile_file *f);
void profile_file_complete(struct profile_file *f);
/*
 * Waits for the thread, and puts the file in its place.  at_last, unless it is NULL, is called when all that takes
 * long is done, and f is about to be freed: from then on nobody may abandon it.
 */
bool profile_file_end(struct profile_file *f, void (*at_last)(void), GError **error);

/*
 * A recording as bytes, with more tables that `more` makes, unless it is NULL: readers ignore them.  `more` gives
 * SQLite's result code.
 */
typedef int (*profile_file_more)(sqlite3 *db, void *data);
GBytes *profile_file_bytes(const struct profile *p, profile_file_more more, void *data, GError **error);

/*
 * Reads a recording.  The bytes are untrusted: whatever they hold, the result is a valid profile (all indices in range, tree acyclic) or NULL with one
 * sentence that names the file and the reason.
 */
struct profile *profile_file_read(const char *path, GError **error);

/*
 * The same for a recording already in memory; `name` stands for it in messages.  The bytes
 * are only read, but SQLite wants them writable by type.
 */
struct profile *profile_file_read_bytes(unsigned char *bytes, size_t len_bytes, const char *name, GError **error);

#endif
