/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/profile_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/refuse.h"
#include "profile/profile_rows.h"
#include "profile/profile_schema.h"

/*
 * The whole file is read into memory and opened by SQLite as a read-only database there. So no file appears beside it
 * (journal, WAL, shared memory), no such file is used, and nobody can change or truncate it meanwhile.
 */
#define FILE_MAX_BYTES (UINT64_C(1) << 30)

/* Fields of the SQLite database header, big-endian. */
#define HEADER_BYTES 100
#define HEADER_PAGE_SIZE 16
#define HEADER_WRITE_VERSION 18
#define HEADER_READ_VERSION 19
#define HEADER_PAGE_CNT 28
#define HEADER_ENCODING 56
#define HEADER_USER_VERSION 60
#define HEADER_APPLICATION_ID 68

#define fail(error, code, ...) refuse(error, PROFILE_FILE_ERROR, code, __VA_ARGS__)

static uint32_t header_u32(const unsigned char *bytes, size_t at)
{
	return (uint32_t)bytes[at] << 24 | (uint32_t)bytes[at + 1] << 16 | (uint32_t)bytes[at + 2] << 8 | bytes[at + 3];
}

/* Checks before SQLite sees the file. False with an error that says what the file is instead. */
static bool check_header(const unsigned char *bytes, size_t len_bytes, const char *name, GError **error)
{
	static const char magic[16] = "SQLite format 3";
	uint32_t version = len_bytes < HEADER_BYTES ? 0 : header_u32(bytes, HEADER_USER_VERSION);

	if (len_bytes == 0)
		return fail(error, PROFILE_FILE_ERROR_NOT_RECORDING, "'%s' is empty, not a recording", name);
	if (len_bytes < HEADER_BYTES || memcmp(bytes, magic, sizeof(magic)) != 0)
		return fail(error, PROFILE_FILE_ERROR_NOT_RECORDING, "'%s' is not an offcpu recording", name);
	if (header_u32(bytes, HEADER_APPLICATION_ID) != PROFILE_FILE_APPLICATION_ID)
		return fail(error, PROFILE_FILE_ERROR_NOT_RECORDING,
			    "'%s' is an SQLite database, but not an offcpu recording", name);
	if (version != PROFILE_FILE_SCHEMA)
		return fail(error, PROFILE_FILE_ERROR_OTHER_VERSION,
			    "'%s' was written by another version of offcpu (schema %u; this one reads %u): record anew",
			    name, version, PROFILE_FILE_SCHEMA);
	return true;
}

static bool check_layout(const unsigned char *bytes, size_t len_bytes, const char *name, GError **error)
{
	uint32_t page_bytes = (uint32_t)bytes[HEADER_PAGE_SIZE] << 8 | bytes[HEADER_PAGE_SIZE + 1];
	uint64_t want_bytes;

	if (page_bytes == 1)
		page_bytes = 65536;
	if (page_bytes < 512 || page_bytes & (page_bytes - 1))
		return fail(error, PROFILE_FILE_ERROR_DAMAGED, "'%s' is damaged: its page size is invalid", name);
	want_bytes = (uint64_t)header_u32(bytes, HEADER_PAGE_CNT) * page_bytes;
	if (len_bytes < want_bytes)
		return fail(error, PROFILE_FILE_ERROR_DAMAGED,
			    "'%s' is cut off: it has %zu of %" G_GUINT64_FORMAT " bytes", name, len_bytes, want_bytes);
	if (bytes[HEADER_WRITE_VERSION] == 2 || bytes[HEADER_READ_VERSION] == 2)
		return fail(error, PROFILE_FILE_ERROR_DAMAGED,
			    "'%s' was changed and left in WAL mode (sqlite3 FILE 'PRAGMA journal_mode=DELETE' helps)",
			    name);
	if (header_u32(bytes, HEADER_ENCODING) != 1)
		return fail(error, PROFILE_FILE_ERROR_DAMAGED, "'%s' is damaged: its text is not UTF-8", name);
	return true;
}

/* Limit of SQLite's virtual machine instructions for one reading. */
struct budget {
	uint64_t left;
};
#define BUDGET_STEP 1000
#define BUDGET_SCHEMA (200 * 1000)

static int spend(void *ctx)
{
	struct budget *budget = ctx;

	if (budget->left < BUDGET_STEP)
		return 1;
	budget->left -= BUDGET_STEP;
	return 0;
}

int profile_file_confine(sqlite3 *db, int max_bytes)
{
	const struct {
		int id, value;
	} limits[] = {
		{ SQLITE_LIMIT_LENGTH, max_bytes }, { SQLITE_LIMIT_SQL_LENGTH, 65536 }, { SQLITE_LIMIT_COLUMN, 100 },
		{ SQLITE_LIMIT_EXPR_DEPTH, 50 }, { SQLITE_LIMIT_COMPOUND_SELECT, 5 }, { SQLITE_LIMIT_VDBE_OP, 25000 },
		{ SQLITE_LIMIT_FUNCTION_ARG, 8 }, { SQLITE_LIMIT_ATTACHED, 0 }, { SQLITE_LIMIT_TRIGGER_DEPTH, 1 },
		{ SQLITE_LIMIT_WORKER_THREADS, 0 }, { SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(limits); i++)
		sqlite3_limit(db, limits[i].id, limits[i].value);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	return sqlite3_exec(db, "PRAGMA cell_size_check=ON; PRAGMA query_only=ON", NULL, NULL, NULL);
}

/* Marks the table of a row of sqlite_master as found. False: the row is not allowed. */
static bool check_schema_row(sqlite3_stmt *stmt, bool *is_found, GError **error)
{
	const char *type = (const char *)sqlite3_column_text(stmt, 0);
	const char *name = (const char *)sqlite3_column_text(stmt, 1);
	const char *sql = (const char *)sqlite3_column_text(stmt, 3);
	bool is_table = g_strcmp0(type, "table") == 0;

	if (g_strcmp0(type, "trigger") == 0 || (is_table && sqlite3_column_int(stmt, 2) <= 0))
		return fail(error, PROFILE_FILE_ERROR_DAMAGED, "it holds a trigger or a virtual table");
	for (const struct profile_table *t = profile_tables; t < profile_tables + TABLE_CNT; t++) {
		if (!name || g_ascii_strcasecmp(t->name, name) != 0)
			continue;
		g_autofree char *want = profile_table_sql(t);

		if (!is_table || g_strcmp0(sql, want) != 0)
			return fail(error, PROFILE_FILE_ERROR_DAMAGED, "\"%s\" is not the table of its schema",
				    t->name);
		is_found[t - profile_tables] = true;
	}
	return true;
}

static bool has_all_tables(const bool *is_found)
{
	for (unsigned i = 0; i < TABLE_CNT; i++)
		if (!is_found[i])
			return false;
	return true;
}

/* Every table that is read must have exactly the published schema: no views, no expressions. */
static bool check_schema(sqlite3 *db, GError **error)
{
	sqlite3_stmt *stmt = NULL;
	bool ok = true, is_found[TABLE_CNT] = { false };
	int rc = sqlite3_prepare_v2(db, "SELECT type, name, rootpage, sql FROM sqlite_master", -1, &stmt, NULL);

	while (ok && rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		ok = check_schema_row(stmt, is_found, error);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	if (!ok)
		return false;
	if (rc == SQLITE_INTERRUPT)
		return fail(error, PROFILE_FILE_ERROR_DAMAGED, "it holds too many tables");
	if (rc != SQLITE_DONE)
		return fail(error, PROFILE_FILE_ERROR_DAMAGED, "%s", sqlite3_errmsg(db));
	if (!has_all_tables(is_found))
		return fail(error, PROFILE_FILE_ERROR_DAMAGED, "a table is missing");
	return true;
}

static bool read_database(sqlite3 *db, unsigned char *bytes, size_t len_bytes, struct profile *p, GError **error)
{
	struct budget budget = { BUDGET_SCHEMA };
	int rc = sqlite3_deserialize(db, "main", bytes, (sqlite3_int64)len_bytes, (sqlite3_int64)len_bytes,
				     SQLITE_DESERIALIZE_READONLY);

	if (rc == SQLITE_OK) {
		sqlite3_progress_handler(db, BUDGET_STEP, spend, &budget);
		rc = profile_file_confine(db, 65536);
	}
	if (rc != SQLITE_OK)
		return fail(error, PROFILE_FILE_ERROR_DAMAGED, "%s", sqlite3_errmsg(db));
	if (!check_schema(db, error))
		return false;
	/* A row costs about one instruction per column plus three, and has at least a byte per column. */
	budget.left = BUDGET_SCHEMA + 4 * (uint64_t)len_bytes;
	bool ok = profile_read_rows(db, p, len_bytes, error) && profile_check(p, error);

	sqlite3_progress_handler(db, 0, NULL, NULL);
	return ok;
}

struct profile *profile_file_read_bytes(unsigned char *bytes, size_t len_bytes, const char *name, GError **error)
{
	GError *why = NULL;
	struct profile *p = NULL;
	sqlite3 *db = NULL;

	if (!check_header(bytes, len_bytes, name, &why) || !check_layout(bytes, len_bytes, name, &why)) {
		g_propagate_error(error, why);
		return NULL;
	}
	p = profile_new();
	if (sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK)
		fail(&why, PROFILE_FILE_ERROR_DAMAGED, "%s", db ? sqlite3_errmsg(db) : "out of memory");
	else
		read_database(db, bytes, len_bytes, p, &why);
	sqlite3_close(db);
	if (why) {
		g_prefix_error(&why, "'%s' is damaged: ", name);
		g_propagate_error(error, why);
		profile_free(p);
		return NULL;
	}
	return p;
}

static bool fail_errno(GError **error, const char *path, int errnum)
{
	return refuse(error, G_FILE_ERROR, (int)g_file_error_from_errno(errnum), "cannot read '%s': %s", path,
		      g_strerror(errnum));
}

static bool read_all(int fd, const char *path, unsigned char **ret_bytes, size_t *ret_len_bytes, GError **error)
{
	g_autofree unsigned char *bytes = NULL;
	struct stat st;
	size_t have = 0;

	if (fstat(fd, &st) != 0)
		return fail_errno(error, path, errno);
	if (!S_ISREG(st.st_mode))
		return fail(error, PROFILE_FILE_ERROR_NOT_RECORDING, "'%s' is %s, not a recording", path,
			    S_ISDIR(st.st_mode) ? "a directory" : "no regular file");
	if ((uint64_t)st.st_size > FILE_MAX_BYTES)
		return fail(error, PROFILE_FILE_ERROR_NOT_RECORDING, "'%s' is above 1 GiB, too large for a recording",
			    path);
	bytes = g_try_malloc((size_t)st.st_size + 1);
	if (!bytes)
		return fail_errno(error, path, ENOMEM);
	while (have < (size_t)st.st_size) {
		const ssize_t got = TEMP_FAILURE_RETRY(read(fd, bytes + have, (size_t)st.st_size - have));

		if (got < 0)
			return fail_errno(error, path, errno);
		if (got == 0)
			break;
		have += (size_t)got;
	}
	*ret_bytes = g_steal_pointer(&bytes);
	*ret_len_bytes = have;
	return true;
}

struct profile *profile_file_read(const char *path, GError **error)
{
	g_autofree unsigned char *bytes = NULL;
	struct profile *p = NULL;
	size_t len_bytes = 0;
	/* O_NONBLOCK: opening a FIFO must not block */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0) {
		fail_errno(error, path, errno);
		return NULL;
	}
	bool ok = read_all(fd, path, &bytes, &len_bytes, error);

	close(fd);
	if (ok)
		p = profile_file_read_bytes(bytes, len_bytes, path, error);
	return p;
}
