/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_INPUT_H
#define CMD_INPUT_H

#include "analyse/query.h"
#include "analyse/weight.h"
#include "profile/profile.h"

/*
 * Reads what `path` holds, for every command that reads: a recording, or another tool's format, packed by gzip or zstd or not; "-" is
 * standard input.  What it is its contents tell.  perf.data is read by `perf script`.  NULL with one sentence that names the file.
 */
struct profile *recording_read(const char *path, GError **error);

/*
 * Does the profile know what is asked for?  False, with a sentence, for a weight or a choice that an imported one cannot tell.
 */
bool recording_knows(const struct profile *p, const char *path, enum weight weight, const struct query *query, GError **error);

#endif
