/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_FILE_SQL_H
#define STORE_FILE_SQL_H

#include <sqlite3.h>

#include "store/dict.h"
#include "store/blob.h"
#include "store/file.h"

/* Internal to store/file: shared by reader and writer. */

struct store_file {
	sqlite3 *db;
	sqlite3_stmt *cells, *requests;	/* prepared once; NULL: not yet */
	struct store_name name;
	char *path;
	struct dict *dict;	/* NULL: not read yet; writers have theirs in `writer` */
	uint64_t rested_rows;	/* rows of a writer's dictionary that store_file_rest() has freed */
	struct dict_writer *writer;	/* NULL: read-only, or not read yet */
	struct dict_map *map;	/* of a file opened for reading: from `dict` into map_to */
	struct profile *map_to;
	GPtrArray *names;	/* NULL: not read yet */
	GHashTable *number_of_name;	/* set by writers */
	bool is_writable;
	uint64_t work_bytes;	/* uncompressed so far */
};

/* The published schema, which readers compare bytewise.  Ends with NULL. */
struct store_table {
	const char *name, *sql;
};
extern const struct store_table store_tables[];

/* Adds SQLite's message. */
bool store_file_fail(struct store_file *f, int rc, const char *what, GError **error);
/* Not written yet: its creator may have been killed first. */
bool store_file_is_new(struct store_file *f);
/* All published tables exist, and nothing that could execute (triggers, views). */
bool store_file_check_schema(struct store_file *f, GError **error);
/* The current dictionary. */
const struct dict *store_file_dict(struct store_file *f, GError **error);

#endif
