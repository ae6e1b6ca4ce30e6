/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_PROFILE_SCHEMA_H
#define PROFILE_PROFILE_SCHEMA_H

/*
 * The tables of a recording, as SQL; docs/file-format.md explains them.  The text of a
 * published version never changes by a single byte: the reader compares it with the file's
 * own, so that no forged column, constraint or expression is ever evaluated.  A change of a
 * table is another row, since a new version.
 */
struct profile_table {
	unsigned since, until;	/* the versions that have it; until 0: all newer ones */
	const char *name;
	const char *sql;	/* exactly as SQLite keeps it: no blank lines around, no semicolon */
};

/* The table of that version behind t, its first one for NULL; NULL: there is none. */
const struct profile_table *profile_table_next(const struct profile_table *t, unsigned version);

/* Of the newest, for people at the sqlite3 shell; the reader never looks at them, so they may change. */
extern const char profile_views[];

#define PROFILE_WINDOW_ID 1	/* of the one window of a recording */

#endif
