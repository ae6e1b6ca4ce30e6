/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_PROFILE_SCHEMA_H
#define PROFILE_PROFILE_SCHEMA_H

/*
 * The tables of a recording, as SQL; docs/file-format.md explains them.  The reader compares the text with the file's
 * own, byte by byte, so that no forged column, constraint or expression is ever evaluated.
 */
struct profile_table {
	const char *name;	/* NULL ends them */
	const char *sql;	/* exactly as SQLite keeps it: no blank lines around, no semicolon */
};

extern const struct profile_table profile_tables[];

/* For people at the sqlite3 shell; the reader never looks at them, so they may change. */
extern const char profile_views[];

#define PROFILE_WINDOW_ID 1	/* of the one window of a recording */

#endif
