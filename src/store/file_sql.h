/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_FILE_SQL_H
#define STORE_FILE_SQL_H

#include <sqlite3.h>

#include "store/dict.h"
#include "store/blob.h"
#include "store/file.h"

/* Inside of file: what who reads and who writes have in common. */

struct store_file {
	sqlite3 *db;
	sqlite3_stmt *cells, *requests;	/* asked for many times; NULL: not yet */
	struct store_name name;
	char *path;
	struct dict *dict;	/* NULL: not read yet; a writer's is in `writer` */
	uint64_t rested_rows;	/* of a writer's dictionary that is not in memory now */
	struct dict_writer *writer;	/* NULL: it is read only, or not read yet */
	struct dict_map *map;	/* of one that is only read, into map_to */
	struct profile *map_to;
	GPtrArray *names;	/* NULL: not read yet */
	GHashTable *number_of_name;	/* a writer's */
	bool is_writable;
	uint64_t work_bytes;	/* what was unpacked so far */
};

/* Byte by byte: readers look at nothing else.  Ended by NULL. */
struct store_table {
	const char *name, *sql;
};
extern const struct store_table store_tables[];

/* With what SQLite says of it. */
bool store_file_fail(struct store_file *f, int rc, const char *what, GError **error);
/* Nobody has written to it yet: who was to may have been killed before. */
bool store_file_is_new(struct store_file *f);
/* Every table is there, as it is published, and nothing that could run. */
bool store_file_check_schema(struct store_file *f, GError **error);
/* The dictionary as it is now. */
const struct dict *store_file_dict(struct store_file *f, GError **error);

#endif
