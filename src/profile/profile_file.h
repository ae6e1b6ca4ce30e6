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

/* Errors of the contents. Errors of the file itself are G_FILE_ERROR. */
#define PROFILE_FILE_ERROR profile_file_error_quark()
GQuark profile_file_error_quark(void);
enum profile_file_error {
	PROFILE_FILE_ERROR_NOT_RECORDING,	/* another kind of file */
	PROFILE_FILE_ERROR_OTHER_VERSION,	/* its schema is of another version */
	PROFILE_FILE_ERROR_DAMAGED,		/* truncated, corrupt, forged, or inconsistent */
};

/*
 * Writes p to `path`. The file appears complete or not at all: it is written under a temporary name beside it, synced
 * and renamed. An existing recording is renamed to PATH.old. On failure existing files stay as they are.
 */
bool profile_file_write(const struct profile *p, const char *path, GError **error);
/* Checks in advance that a recording could be placed there, also with regard to PATH.old. */
bool profile_file_may_write(const char *path, GError **error);
/*
 * Writes a profile that is still growing, in a thread. The thread writes p's threads and their states, which must not
 * change any more. Everything else in p may change until profile_file_complete(). Always call profile_file_complete()
 * and profile_file_end(); p and `path` must stay until then.
 */
struct profile_file;
struct profile_file *profile_file_begin(const struct profile *p, const char *path);
/*
 * For a signal handler or another thread: removes the partial file and prevents a later one. profile_file_end() will
 * fail then. False: the file is already being renamed; nothing was done.
 */
bool profile_file_abandon(struct profile_file *f);
void profile_file_complete(struct profile_file *f);
/*
 * Waits for the thread and renames the file into place. at_last (may be NULL) is called just before f is freed: f
 * must not be abandoned from then on.
 */
bool profile_file_end(struct profile_file *f, void (*at_last)(void), GError **error);

/* A recording as bytes. `more` (may be NULL) adds tables, which readers ignore, and returns SQLite's result code. */
typedef int (*profile_file_more)(sqlite3 *db, void *data);
GBytes *profile_file_bytes(const struct profile *p, profile_file_more more, void *data, GError **error);

/*
 * Reads a recording. Its bytes are not trusted: the result is a valid profile (all indexes in range, tree acyclic),
 * or NULL with an error that names the file.
 */
struct profile *profile_file_read(const char *path, GError **error);

/*
 * Reads a recording in memory; `name` stands for it in messages. The bytes are not changed, but SQLite's type is not
 * const.
 */
struct profile *profile_file_read_bytes(unsigned char *bytes, size_t len_bytes, const char *name, GError **error);

#endif
