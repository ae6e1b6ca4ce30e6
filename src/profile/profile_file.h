/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_PROFILE_FILE_H
#define PROFILE_PROFILE_FILE_H

#include "profile/profile.h"

/*
 * A recording on disk: a SQLite database (docs/file-format.md is its published schema).
 */

#define PROFILE_FILE_SCHEMA 1

/*
 * Writes p to `path`.  The file appears complete or not at all: it is written beside
 * `path` under another name, synced and renamed; a recording that was there is first
 * renamed to PATH.old.  On failure every existing file is as it was.
 */
bool profile_file_write(const struct profile *p, const char *path, GError **error);

/*
 * Reads a recording of this or an older schema.  The bytes are untrusted: whatever they
 * hold, the result is a valid profile (all indices in range, tree acyclic) or NULL with one
 * sentence that names the file and the reason.
 */
struct profile *profile_file_read(const char *path, GError **error);

#endif
