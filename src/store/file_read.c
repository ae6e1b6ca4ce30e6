/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "profile/profile_rows.h"
#include "store/blob.h"
#include "store/file_sql.h"
#include "store/pack.h"

#define BUSY_MS 2000
#define WORK_MAX_BYTES (UINT64_C(4) << 30)	/* limit of uncompressed bytes per file, against bombs */
#define ROWS_MAX 200000		/* per file: a day of windows of half a second */

const struct store_table store_tables[] = {
	{.name = "dict",
	 .sql = "CREATE TABLE dict( -- what windows have in common, in pieces\n"
		"  id INTEGER PRIMARY KEY,\n"
		"  bytes INTEGER, -- unpacked\n"
		"  packed BLOB\n"
		")"},
	{.name = "window",
	 .sql = "CREATE TABLE window( -- one, or the sum of some that follow one another\n"
		"  seq INTEGER PRIMARY KEY, -- windows are numbered as they came: the first\n"
		"  last_seq INTEGER,\n"
		"  start_unix_ns INTEGER,\n"
		"  duration_ns INTEGER,\n"
		"  start_ns INTEGER, -- CLOCK_MONOTONIC\n"
		"  line BLOB -- time by class, process, service, reason\n"
		")"},
	{.name = "rows",
	 .sql = "CREATE TABLE rows(\n"
		"  seq INTEGER PRIMARY KEY,\n"
		"  bytes INTEGER, -- unpacked\n"
		"  packed BLOB\n"
		")"},
	{.name = "name",
	 .sql = "CREATE TABLE name( -- of the groups in window.line\n"
		"  id INTEGER PRIMARY KEY,\n"
		"  name TEXT\n"
		")"},
	{.name = "gap",
	 .sql = "CREATE TABLE gap( -- time that was not observed\n"
		"  from_unix_ns INTEGER,\n"
		"  to_unix_ns INTEGER,\n"
		"  why TEXT\n"
		")"},
	{.name = "cells",
	 .sql = "CREATE TABLE cells( -- of a window, time by process and service and reason\n"
		"  seq INTEGER PRIMARY KEY,\n"
		"  bytes INTEGER, -- unpacked\n"
		"  packed BLOB\n"
		")"},
	{.name = "requests",
	 .sql = "CREATE TABLE requests( -- of a window, latencies and what they were spent on\n"
		"  seq INTEGER PRIMARY KEY,\n"
		"  bytes INTEGER, -- unpacked\n"
		"  packed BLOB\n"
		")"},
	{NULL, NULL},
};

static void clear_row(gpointer row)
{
	g_free(((struct store_row *)row)->line);
}

GArray *store_rows_new(void)
{
	GArray *rows = g_array_new(FALSE, FALSE, sizeof(struct store_row));

	g_array_set_clear_func(rows, clear_row);
	return rows;
}

static void clear_gap(gpointer gap)
{
	g_free(((struct store_gap *)gap)->why);
}

GArray *store_gaps_new(void)
{
	GArray *gaps = g_array_new(FALSE, FALSE, sizeof(struct store_gap));

	g_array_set_clear_func(gaps, clear_gap);
	return gaps;
}

const struct store_name *store_file_name(const struct store_file *f)
{
	return &f->name;
}

static bool store_file_damaged(struct store_file *f, const char *what, GError **error)
{
	return store_fail(error, STORE_ERROR_DAMAGED, "'%s' is damaged: %s", f->path, what);
}

bool store_file_fail(struct store_file *f, int rc, const char *what, GError **error)
{
	if ((rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB)
		return store_file_damaged(f, sqlite3_errmsg(f->db), error);
	return store_fail(error, STORE_ERROR_FILE, "cannot %s '%s': %s", what, f->path,
			  f->db ? sqlite3_errmsg(f->db) : sqlite3_errstr(rc));
}

static sqlite3_stmt *store_file_prepare(struct store_file *f, const char *sql, GError **error)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(f->db, sql, -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		return stmt;
	store_file_fail(f, rc, "read", error);
	return NULL;
}

/* Call it after the last row.  ok: no row was damaged; rc: of the last step. */
static bool end_query(struct store_file *f, sqlite3_stmt *stmt, bool ok, int rc, GError **error)
{
	if (ok && rc != SQLITE_DONE)
		ok = store_file_fail(f, rc, "read", error);
	sqlite3_finalize(stmt);
	return ok;
}

static int64_t pragma_number(struct store_file *f, const char *sql, int *ret_rc)
{
	sqlite3_stmt *stmt = NULL;
	int64_t number = -1;

	*ret_rc = sqlite3_prepare_v2(f->db, sql, -1, &stmt, NULL);
	if (*ret_rc == SQLITE_OK) {
		*ret_rc = sqlite3_step(stmt);
		if (*ret_rc == SQLITE_ROW) {
			number = sqlite3_column_int64(stmt, 0);
			*ret_rc = SQLITE_OK;
		}
	}
	sqlite3_finalize(stmt);
	return number;
}

bool store_file_is_new(struct store_file *f)
{
	sqlite3_stmt *stmt = store_file_prepare(f, "SELECT 1 FROM sqlite_master", NULL);
	bool answer = stmt && sqlite3_step(stmt) == SQLITE_DONE;

	sqlite3_finalize(stmt);
	return answer;
}

static bool check_table(struct store_file *f, sqlite3_stmt *stmt, unsigned *found, GError **error)
{
	const char *type = (const char *)sqlite3_column_text(stmt, 0),
		   *name = (const char *)sqlite3_column_text(stmt, 1);
	const char *sql = (const char *)sqlite3_column_text(stmt, 3);

	for (const struct store_table *t = store_tables; t->name; t++) {
		if (g_strcmp0(type, "table") != 0 || g_strcmp0(name, t->name) != 0)
			continue;
		if (g_strcmp0(sql, t->sql) != 0 || sqlite3_column_int(stmt, 2) <= 0)
			break;
		(*found)++;
		return true;
	}
	return store_file_damaged(f, "its tables are not those of a history", error);
}

bool store_file_check_schema(struct store_file *f, GError **error)
{
	int rc;
	int64_t id = pragma_number(f, "PRAGMA application_id", &rc),
		version = rc == SQLITE_OK ? pragma_number(f, "PRAGMA user_version", &rc) : 0;
	unsigned found = 0, want = 0;
	bool ok = true;

	if (rc != SQLITE_OK)
		return store_file_fail(f, rc, "read", error);
	if (id != STORE_FILE_APPLICATION_ID)
		return store_fail(error, STORE_ERROR_DAMAGED, "'%s' is no file of a history", f->path);
	if (version != STORE_FILE_VERSION)
		return store_fail(error, STORE_ERROR_DAMAGED,
				  "'%s' was written by another version of offcpu (history %" G_GINT64_FORMAT
				  "; this one reads %d)",
				  f->path, version, STORE_FILE_VERSION);
	sqlite3_stmt *stmt = store_file_prepare(f, "SELECT type, name, rootpage, sql FROM sqlite_master LIMIT 100",
						error);

	if (!stmt)
		return false;
	while (ok && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
		ok = check_table(f, stmt, &found, error);
	ok = end_query(f, stmt, ok, rc, error);
	for (const struct store_table *t = store_tables; t->name; t++)
		want++;
	return ok && (found == want || store_file_damaged(f, "a table is missing", error));
}

/* Whether SQLite keeps a -wal or -journal beside the file. */
static bool has_beside(const char *path, const char *suffix)
{
	g_autofree char *beside = g_strconcat(path, suffix, NULL);
	struct stat st;

	return lstat(beside, &st) == 0 && st.st_size > 0;
}

static int open_database(struct store_file *f, bool is_immutable)
{
	g_autofree char *escaped = g_uri_escape_string(f->path, "/", FALSE);
	g_autofree char *uri = g_strdup_printf("file:%s?mode=ro%s", escaped, is_immutable ? "&immutable=1" : "");
	int rc = sqlite3_open_v2(uri, &f->db,
				 SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_PRIVATECACHE |
					 SQLITE_OPEN_NOMUTEX,
				 NULL);

	sqlite3_busy_timeout(f->db, BUSY_MS);
	if (rc == SQLITE_OK)
		rc = profile_file_confine(f->db, STORE_BLOB_MAX_BYTES);
	if (rc == SQLITE_OK)
		pragma_number(f, "PRAGMA schema_version", &rc);
	return rc;
}

static bool is_plain_file(const char *path, bool *ret_is_missing, GError **error)
{
	struct stat st;

	*ret_is_missing = lstat(path, &st) != 0 && errno == ENOENT;
	if (*ret_is_missing)
		return false;
	return S_ISREG(st.st_mode) || store_fail(error, STORE_ERROR_DAMAGED, "'%s' is no regular file", path);
}

struct store_file *store_file_open(const char *dir, const struct store_name *name, bool *ret_is_missing, GError **error)
{
	g_autofree char *path = store_path(dir, name);

	if (!is_plain_file(path, ret_is_missing, error))
		return NULL;
	struct store_file *f = g_new0(struct store_file, 1);

	f->name = *name;
	f->path = g_steal_pointer(&path);
	/* A finished file is opened without locks: a busy host has hundreds, and each query opens them. */
	bool is_still = name->is_ended && !has_beside(f->path, "-wal") && !has_beside(f->path, "-journal");
	int rc = open_database(f, is_still);

	/*
	 * Without write access to the folder, SQLite cannot create the -shm that a log needs.  Without a -wal none is
	 * needed.  A writer that was killed while it switched the journal mode leaves a journal, which the next writer
	 * rolls back.  It covers only two bytes of the header, since all else is written through the log.  So the file
	 * is valid as it is.
	 */
	if (((rc & 0xff) == SQLITE_CANTOPEN || (rc & 0xff) == SQLITE_READONLY) &&
	    !has_beside(f->path, "-wal")) {
		sqlite3_close(f->db);
		rc = open_database(f, true);
	}
	*ret_is_missing = rc == SQLITE_OK && store_file_is_new(f);
	if (rc == SQLITE_OK && !*ret_is_missing && store_file_check_schema(f, error))
		return f;
	if (rc != SQLITE_OK)
		store_file_fail(f, rc, "read", error);
	store_file_close(f);
	return NULL;
}

/* NULL: damaged.  Free with g_free(). */
static uint8_t *unpack_column(struct store_file *f, sqlite3_stmt *stmt, int bytes_column, int packed_column,
			      size_t *ret_bytes)
{
	sqlite3_int64 bytes = sqlite3_column_int64(stmt, bytes_column);
	const void *packed = sqlite3_column_blob(stmt, packed_column);
	int packed_bytes = sqlite3_column_bytes(stmt, packed_column);

	if (!packed || packed_bytes <= 0 || bytes <= 0 || bytes > STORE_BLOB_MAX_BYTES)
		return NULL;
	f->work_bytes += (uint64_t)bytes;
	if (f->work_bytes > WORK_MAX_BYTES)
		return NULL;
	*ret_bytes = (size_t)bytes;
	return blob_unpack(packed, (size_t)packed_bytes, (size_t)bytes);
}

static bool read_dict(struct store_file *f, struct dict *d, GError **error)
{
	sqlite3_stmt *stmt = store_file_prepare(f, "SELECT bytes, packed FROM dict ORDER BY id", error);
	int rc = SQLITE_OK;
	bool ok = stmt != NULL;

	while (ok && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		size_t bytes = 0;
		uint8_t *plain = unpack_column(f, stmt, 0, 1, &bytes);

		if (!plain || !dict_decode(d, plain, bytes))
			ok = store_file_damaged(f, "its dictionary cannot be read", error);
	}
	return end_query(f, stmt, ok, rc, error);
}

const struct dict *store_file_dict(struct store_file *f, GError **error)
{
	if (f->writer)
		return dict_writer_dict(f->writer);
	if (!f->dict) {
		struct dict *d = dict_new();

		if (read_dict(f, d, error))
			f->dict = d;
		else
			dict_free(d);
	}
	return f->dict;
}

static bool take_row(struct store_file *f, sqlite3_stmt *stmt, bool want_lines, GArray *rows)
{
	struct store_row row = {
		.in = f->name,
		.seq = (uint64_t)sqlite3_column_int64(stmt, 0),
		.last_seq = (uint64_t)sqlite3_column_int64(stmt, 1),
		.start_unix_ns = (uint64_t)sqlite3_column_int64(stmt, 2),
		.duration_ns = (uint64_t)sqlite3_column_int64(stmt, 3),
		.start_ns = (uint64_t)sqlite3_column_int64(stmt, 4),
	};

	if (!row.seq || row.last_seq < row.seq || row.last_seq > INT64_MAX || row.start_unix_ns > PROFILE_NS_MAX ||
	    row.duration_ns > PROFILE_NS_MAX || row.start_ns > PROFILE_NS_MAX || rows->len >= ROWS_MAX * 16u)
		return false;
	if (want_lines) {
		row.line_bytes = (uint32_t)sqlite3_column_bytes(stmt, 5);
		row.line = g_memdup2(sqlite3_column_blob(stmt, 5), row.line_bytes);
	}
	g_array_append_val(rows, row);
	return true;
}

#define ROW_COLUMNS "SELECT seq, last_seq, start_unix_ns, duration_ns, start_ns"

bool store_file_rows(struct store_file *f, uint64_t from_unix_ns, uint64_t to_unix_ns, uint64_t above_seq,
		     bool want_lines, GArray *rows, GError **error)
{
	sqlite3_stmt *stmt = store_file_prepare(f,
						want_lines ? ROW_COLUMNS ", line FROM window WHERE seq > ? ORDER BY seq"
							   : ROW_COLUMNS " FROM window WHERE seq > ? ORDER BY seq",
						error);
	int rc = SQLITE_OK;
	bool ok = stmt != NULL;

	if (ok)
		rc = sqlite3_bind_int64(stmt, 1, (sqlite3_int64)above_seq);
	while (ok && (rc == SQLITE_OK || rc == SQLITE_ROW) && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		uint64_t start = (uint64_t)sqlite3_column_int64(stmt, 2),
			 end = start + (uint64_t)sqlite3_column_int64(stmt, 3);

		if (to_unix_ns && (start >= to_unix_ns || end <= from_unix_ns))
			continue;
		ok = take_row(f, stmt, want_lines, rows) || store_file_damaged(f, "a window of it cannot be", error);
	}
	return end_query(f, stmt, ok, rc, error);
}

bool store_file_gaps(struct store_file *f, uint64_t from_unix_ns, uint64_t to_unix_ns, GArray *gaps, GError **error)
{
	sqlite3_stmt *stmt = store_file_prepare(f, "SELECT from_unix_ns, to_unix_ns, why FROM gap LIMIT 10000", error);
	int rc = SQLITE_OK;
	bool ok = stmt != NULL;

	while (ok && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *why = (const char *)sqlite3_column_text(stmt, 2);
		struct store_gap gap = { (uint64_t)sqlite3_column_int64(stmt, 0),
					 (uint64_t)sqlite3_column_int64(stmt, 1), NULL };

		if (gap.from_unix_ns >= to_unix_ns || gap.to_unix_ns <= from_unix_ns || gap.to_unix_ns > PROFILE_NS_MAX)
			continue;
		gap.why = g_utf8_make_valid(why ? why : "", (gssize)MIN(strlen(why ? why : ""), 256u));
		g_array_append_val(gaps, gap);
	}
	return end_query(f, stmt, ok, rc, error);
}

/* Runs a query for one number; 0: no row. */
static bool read_seq(struct store_file *f, const char *sql, uint64_t *ret_seq, GError **error)
{
	sqlite3_stmt *stmt = store_file_prepare(f, sql, error);
	int rc = stmt ? sqlite3_step(stmt) : SQLITE_ERROR;

	*ret_seq = rc == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(stmt, 0) : 0;
	bool ok = stmt && (rc == SQLITE_ROW || rc == SQLITE_DONE || store_file_fail(f, rc, "read", error));

	sqlite3_finalize(stmt);
	return ok;
}

bool store_file_first_seq(struct store_file *f, uint64_t *ret_seq, GError **error)
{
	return read_seq(f, "SELECT seq FROM window ORDER BY seq LIMIT 1", ret_seq, error);
}

bool store_file_last_seq(struct store_file *f, uint64_t *ret_seq, GError **error)
{
	return read_seq(f, "SELECT last_seq FROM window ORDER BY seq DESC LIMIT 1", ret_seq, error);
}

const GPtrArray *store_file_names(struct store_file *f, GError **error)
{
	if (f->names)
		return f->names;
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	sqlite3_stmt *stmt = store_file_prepare(f, "SELECT id, name FROM name ORDER BY id", error);
	int rc = SQLITE_OK;
	bool ok = stmt != NULL;

	while (ok && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 1);

		if (sqlite3_column_int64(stmt, 0) != (sqlite3_int64)names->len + 1 || names->len >= LINE_NAMES_MAX ||
		    !name)
			ok = store_file_damaged(f, "its names are not numbered", error);
		else
			g_ptr_array_add(names, g_utf8_make_valid(name, (gssize)MIN(strlen(name), LINE_NAME_MAX_BYTES)));
	}
	if (end_query(f, stmt, ok, rc, error))
		f->names = g_steal_pointer(&names);
	return f->names;
}

static struct profile *load_rows(struct store_file *f, struct dict_map *map, const uint8_t *plain, size_t bytes,
				 struct profile *with, GError **error)
{
	struct profile *rows = profile_new_rows(with);

	if (unpack_rows(map, plain, bytes, rows))
		return rows;
	store_file_damaged(f, "a window cannot be read", error);
	profile_free_rows(rows);
	return NULL;
}

/* Reuses the last map, unless the dictionary may have grown. */
static struct dict_map *map_of(struct store_file *f, const struct dict *d, struct profile *to)
{
	if (f->map && f->map_to == to && !f->writer)
		return f->map;
	dict_map_free(f->map);
	f->map = dict_map_new(d, to);
	f->map_to = to;
	dict_map_modules(f->map);
	return f->map;
}

void store_file_leave(struct store_file *f)
{
	g_clear_pointer(&f->map, dict_map_free);
	f->map_to = NULL;
}

/* The uncompressed blob of a row: free with g_free().  NULL without error: there is none, and must_be is false. */
static uint8_t *read_blob(struct store_file *f, sqlite3_stmt *stmt, uint64_t seq, bool must_be, size_t *ret_bytes,
			  GError **error)
{
	uint8_t *plain = NULL;

	sqlite3_bind_int64(stmt, 1, (sqlite3_int64)seq);
	int rc = sqlite3_step(stmt);

	if (rc == SQLITE_ROW) {
		plain = unpack_column(f, stmt, 0, 1, ret_bytes);
		if (!plain)
			store_file_damaged(f, "a window cannot be unpacked", error);
	} else if (rc != SQLITE_DONE) {
		store_file_fail(f, rc, "read", error);
	} else if (must_be) {
		store_file_damaged(f, "a window has no rows", error);
	}
	return plain;
}

struct profile *store_file_read(struct store_file *f, uint64_t seq, struct profile *with, GError **error)
{
	const struct dict *d = store_file_dict(f, error);
	sqlite3_stmt *stmt = d ? store_file_prepare(f, "SELECT bytes, packed FROM rows WHERE seq = ?", error) : NULL;
	size_t bytes = 0;
	g_autofree uint8_t *plain = stmt ? read_blob(f, stmt, seq, true, &bytes, error) : NULL;

	sqlite3_finalize(stmt);
	return plain ? load_rows(f, map_of(f, d, with), plain, bytes, with, error) : NULL;
}

uint8_t *store_file_cells(struct store_file *f, uint64_t seq, size_t *ret_bytes, GError **error)
{
	if (!f->cells)
		f->cells = store_file_prepare(f, "SELECT bytes, packed FROM cells WHERE seq = ?", error);
	if (!f->cells)
		return NULL;
	uint8_t *plain = read_blob(f, f->cells, seq, false, ret_bytes, error);

	sqlite3_reset(f->cells);
	return plain;
}

uint8_t *store_file_requests(struct store_file *f, uint64_t seq, size_t *ret_bytes, GError **error)
{
	if (!f->requests)
		f->requests = store_file_prepare(f, "SELECT bytes, packed FROM requests WHERE seq = ?", error);
	if (!f->requests)
		return NULL;
	uint8_t *plain = read_blob(f, f->requests, seq, false, ret_bytes, error);

	sqlite3_reset(f->requests);
	return plain;
}

bool store_file_load(struct store_file *f, uint64_t seq, struct merger *into, GError **error)
{
	struct profile *rows = store_file_read(f, seq, merge_profile(into), error);
	bool ok = rows && merge_add(into, rows, error);

	profile_free_rows(rows);
	return ok;
}
