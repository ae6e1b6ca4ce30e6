/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_PROFILE_SCHEMA_H
#define PROFILE_PROFILE_SCHEMA_H

/*
 * The tables of a recording, as SQL; docs/file-format.md explains them.  The text of a
 * published version never changes by a single byte: the reader compares it with the file's
 * own, so that no forged column, constraint or expression is ever evaluated.  A change of a
 * table is a new version with tables of its own.
 */
struct profile_table {
	const char *name;
	const char *sql;	/* exactly as SQLite keeps it: no blank lines around, no semicolon */
};

/* Ends with a NULL name. */
extern const struct profile_table profile_schema_1[], profile_schema_2[], profile_schema_3[];
/* What the fourth has besides those of the third. */
extern const struct profile_table profile_schema_4[];
/* Of the newest, for people at the sqlite3 shell; the reader never looks at them, so they may change. */
extern const char profile_views[];

#define PROFILE_WINDOW_ID 1	/* of the one window of a recording */

#endif
