/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A recording with something of everything, tasks and requests too, as a valid database in which others changed
 * values: two bytes choose the column of a table, one the row, one what is put there, eight the value.  fuzz_profile
 * has any bytes.
 */
#include <glib/gstdio.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/profile/sample.h"
#include "profile/profile_file.h"
#include "render/text/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SEED 9
#define CHANGE_BYTES 12
#define CHANGES_MAX 64

static struct {
	char *bytes;
	gsize len_bytes;
	GPtrArray *change, *delete; /* char *, SQL, by column */
} whole;

static sqlite3 *open_whole(void)
{
	sqlite3 *db = NULL;
	unsigned char *copy = sqlite3_malloc64(whole.len_bytes);

	if (!copy || sqlite3_open(":memory:", &db) != SQLITE_OK)
		abort();
	memcpy(copy, whole.bytes, whole.len_bytes);
	if (sqlite3_deserialize(db, "main", copy, (sqlite3_int64)whole.len_bytes, (sqlite3_int64)whole.len_bytes,
				SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) != SQLITE_OK)
		abort();
	return db;
}

/* Where a table has no row ids the change is of all its rows. */
static void list_columns(sqlite3 *db)
{
	static const char sql[] = "SELECT t.name, c.name, t.wr FROM pragma_table_list t, pragma_table_info(t.name) c "
				  "WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%' ORDER BY t.name, c.cid";
	sqlite3_stmt *columns = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &columns, NULL) != SQLITE_OK)
		abort();
	while (sqlite3_step(columns) == SQLITE_ROW) {
		const char *table = (const char *)sqlite3_column_text(columns, 0),
			   *column = (const char *)sqlite3_column_text(columns, 1);
		g_autofree char *which =
			sqlite3_column_int(columns, 2)
				? g_strdup("?2 >= 0")
				: g_strdup_printf("rowid = (SELECT rowid FROM \"%s\" LIMIT 1 OFFSET ?2)", table);

		char *change = g_strdup_printf("UPDATE OR IGNORE \"%s\" SET \"%s\" = ?1 WHERE %s", table, column, which);

		g_ptr_array_add(whole.change, change);
		g_ptr_array_add(whole.delete, g_strdup_printf("DELETE FROM \"%s\" WHERE %s", table, which));
	}
	sqlite3_finalize(columns);
	if (!whole.change->len)
		abort();
}

static void make_whole(void)
{
	g_autofree char *dir = g_dir_make_tmp("fuzz-XXXXXX", NULL), *path = g_build_filename(dir, "x.offcpu", NULL);
	struct profile *p = sample_profile(&sample_tiny, SEED);
	sqlite3 *db;

	if (!profile_file_write(p, path, NULL) || !g_file_get_contents(path, &whole.bytes, &whole.len_bytes, NULL))
		abort();
	g_remove(path);
	g_rmdir(dir);
	profile_free(p);
	whole.change = g_ptr_array_new();
	whole.delete = g_ptr_array_new();
	db = open_whole();
	list_columns(db);
	sqlite3_close(db);
}

static void bind(sqlite3_stmt *statement, const uint8_t *data)
{
	uint64_t value;

	memcpy(&value, data + 4, sizeof(value));
	sqlite3_bind_int(statement, 2, data[2]);
	switch (data[3] % 4) {
	case 0: /* few bytes of it are a small number */
		sqlite3_bind_int64(statement, 1, (sqlite3_int64)(value >> (data[3] >> 2) % 64));
		break;
	case 1: sqlite3_bind_double(statement, 1, (double)(int64_t)value); break;
	case 2: sqlite3_bind_text(statement, 1, (const char *)data + 4, 8, SQLITE_TRANSIENT); break;
	default: sqlite3_bind_blob(statement, 1, data + 4, (data[3] >> 2) % 9, SQLITE_TRANSIENT);
	}
}

static void change(sqlite3 *db, const uint8_t *data)
{
	const GPtrArray *sql = data[3] == UINT8_MAX ? whole.delete : whole.change;
	const char *text = g_ptr_array_index(sql, (data[0] | data[1] << 8) % sql->len);
	sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v2(db, text, -1, &statement, NULL) != SQLITE_OK)
		return;
	if (sql == whole.delete)
		sqlite3_bind_int(statement, 2, data[2]);
	else
		bind(statement, data);
	sqlite3_step(statement);
	sqlite3_finalize(statement);
}

static void check(struct profile *p, GError *error)
{
	const struct text_options options = { .top = 3, .width = 80 };
	g_autoptr(GString) out = g_string_new(NULL);

	if (!p != !!error || (p && !profile_check(p, NULL)))
		abort();
	if (p)
		text_tasks_of(out, p, NULL, &options);
	g_clear_error(&error);
	profile_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char *bytes;
	sqlite3_int64 len_bytes;
	GError *error = NULL;
	sqlite3 *db;

	if (!whole.bytes)
		make_whole();
	db = open_whole();
	sqlite3_exec(db, "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; BEGIN", NULL, NULL, NULL);
	for (unsigned i = 0; i < CHANGES_MAX && size >= CHANGE_BYTES; i++, data += CHANGE_BYTES, size -= CHANGE_BYTES)
		change(db, data);
	sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	bytes = sqlite3_serialize(db, "main", &len_bytes, 0);
	if (!bytes)
		abort();
	struct profile *p = profile_file_read_bytes(bytes, (size_t)len_bytes, "input", &error);

	check(p, error);
	sqlite3_free(bytes);
	sqlite3_close(db);
	return 0;
}
