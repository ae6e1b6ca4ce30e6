/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_PROFILE_ROWS_H
#define PROFILE_PROFILE_ROWS_H

#include <sqlite3.h>

#include "profile/profile.h"

/* Inside the profile layer: what the writer's and the reader's two halves share. */

/* Sets *error to PROFILE_FILE_ERROR_DAMAGED with that sentence; false. */
bool profile_damaged(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

/*
 * Insert every row of p into the empty tables: those of its threads and their states, and all
 * others.  They return SQLite's result code.
 */
int profile_write_threads(sqlite3 *db, const struct profile *p);
int profile_write_rest(sqlite3 *db, const struct profile *p);
/* Of these: who ended waits and who stood in the way; the slices. */
int profile_write_who(sqlite3 *db, const struct profile *p);
int slices_write(sqlite3 *db, const struct profile *p);
int slices_write_cells(sqlite3 *db, const struct profile *p);
/* And the requests. */
int requests_write(sqlite3 *db, const struct profile *p);
/* And the tasks. */
int tasks_write(sqlite3 *db, const struct profile *p);
int longest_write(sqlite3 *db, const struct profile *p);
int task_looks_write(sqlite3 *db, const struct profile *p);

/* One after the other, up to the first that fails. */
typedef int (*profile_write_table)(sqlite3 *db, const struct profile *p);
int profile_write_tables(sqlite3 *db, const struct profile *p, const profile_write_table *tables, size_t cnt);

/* [exponent,count,...] from the first slot in use to the last. */
#define PROFILE_HIST_TEXT_BYTES (PROFILE_HIST_SLOTS * 11 + 8)
void profile_hist_text(const uint32_t *hist, char *to);

/*
 * Reads the tables into the empty p.  `text_budget_bytes` is the size of the
 * database: more text than that means that rows share their bytes.  On failure *error says
 * what is wrong, without the file's name.
 */
bool profile_read_rows(sqlite3 *db, struct profile *p, uint64_t text_budget_bytes, GError **error);

#endif
