/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "store/blob.h"
#include "store/file_sql.h"
#include "store/pack.h"

#define FILE_MODE 0640
#define PACK_LEVEL 6
#define BUSY_MS 2000

/*
 * With WAL, readers and the writer never block one another, and a killed transaction leaves no trace.  Commits are not
 * synced: a crash of the machine may lose the last windows but not the file.
 */
static const char begin_writing[] =
	"PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=256; PRAGMA journal_size_limit=2097152;"
	"PRAGMA cell_size_check=ON";

static bool run(struct store_file *f, const char *sql, GError **error)
{
	int rc = sqlite3_exec(f->db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK || store_file_fail(f, rc, "write", error);
}

static bool make_tables(struct store_file *f, GError **error)
{
	g_autoptr(GString) sql = g_string_new("BEGIN IMMEDIATE;");

	g_string_append_printf(sql, "PRAGMA application_id=%d; PRAGMA user_version=%d;", STORE_FILE_APPLICATION_ID,
			       STORE_FILE_VERSION);
	for (const struct store_table *t = store_tables; t->name; t++)
		g_string_append_printf(sql, "%s;", t->sql);
	g_string_append(sql, "COMMIT");
	return run(f, sql->str, error);
}

static gpointer name_key(const GPtrArray *names, guint i)
{
	return g_ptr_array_index(names, i);
}

static bool read_for_writing(struct store_file *f, GError **error)
{
	if (f->writer)
		return true;
	const struct dict *d = store_file_dict(f, error);
	const GPtrArray *names = d ? store_file_names(f, error) : NULL;

	if (!names)
		return false;
	f->dict = NULL;
	f->writer = dict_writer_new((struct dict *)(uintptr_t)d, error);
	f->number_of_name = g_hash_table_new(g_str_hash, g_str_equal);
	for (guint i = 0; i < names->len; i++)
		g_hash_table_insert(f->number_of_name, name_key(names, i), GUINT_TO_POINTER(i + 1));
	return f->writer != NULL;
}

struct store_file *store_file_create(const char *dir, const struct store_name *name, GError **error)
{
	struct store_file *f = g_new0(struct store_file, 1);

	f->name = *name;
	f->path = store_path(dir, name);
	f->is_writable = true;
	int fd = open(f->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, FILE_MODE);

	if (fd < 0) {
		store_fail(error, STORE_ERROR_FILE, "cannot write '%s': %s", f->path, g_strerror(errno));
		store_file_close(f);
		return NULL;
	}
	close(fd);
	int rc = sqlite3_open_v2(f->path, &f->db,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_NOMUTEX, NULL);

	if (rc == SQLITE_OK) {
		sqlite3_busy_timeout(f->db, BUSY_MS);
		sqlite3_limit(f->db, SQLITE_LIMIT_LENGTH, STORE_BLOB_MAX_BYTES);
	} else {
		store_file_fail(f, rc, "write", error);
	}
	if (rc == SQLITE_OK && run(f, begin_writing, error) && (!store_file_is_new(f) || make_tables(f, error)) &&
	    store_file_check_schema(f, error) && read_for_writing(f, error))
		return f;
	store_file_close(f);
	return NULL;
}

uint64_t store_file_dict_rows(const struct store_file *f)
{
	if (!f->writer)
		return f->rested_rows;
	uint64_t rows = 0;

	for (unsigned i = 0; i < DICT_MODULES; i++)
		rows += dict_cnt(dict_writer_dict(f->writer), (enum dict_table)i);
	return rows;
}

void store_file_rest(struct store_file *f)
{
	f->rested_rows = store_file_dict_rows(f);
	store_file_leave(f);
	g_clear_pointer(&f->number_of_name, g_hash_table_unref);
	g_clear_pointer(&f->writer, dict_writer_free);
	g_clear_pointer(&f->dict, dict_free);
	f->work_bytes = 0;
}

void store_file_close(struct store_file *f)
{
	if (!f)
		return;
	sqlite3_finalize(f->cells);
	sqlite3_finalize(f->requests);
	dict_map_free(f->map);
	if (f->is_writable && f->db)	/* a concurrent reader blocks this, and the next writer tries again */
		sqlite3_exec(f->db, "PRAGMA busy_timeout=0; PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
	sqlite3_close(f->db);
	g_free(f->path);
	dict_free(f->dict);
	dict_writer_free(f->writer);
	if (f->names)
		g_ptr_array_unref(f->names);
	if (f->number_of_name)
		g_hash_table_unref(f->number_of_name);
	g_free(f);
}

/* An INSERT that binds a few values, used once. */
struct insert_binding {
	struct store_file *f;
	sqlite3_stmt *stmt;
	int at, rc;
};

static struct insert_binding put_into(struct store_file *f, const char *sql)
{
	struct insert_binding p = { .f = f, .at = 1 };

	p.rc = sqlite3_prepare_v2(f->db, sql, -1, &p.stmt, NULL);
	return p;
}

static void put_number(struct insert_binding *p, uint64_t value)
{
	if (p->rc == SQLITE_OK)
		p->rc = sqlite3_bind_int64(p->stmt, p->at++, (sqlite3_int64)value);
}

static void put_blob(struct insert_binding *p, const void *bytes, size_t cnt)
{
	if (p->rc == SQLITE_OK)
		p->rc = sqlite3_bind_blob64(p->stmt, p->at++, bytes, cnt, SQLITE_STATIC);
}

static void put_text(struct insert_binding *p, const char *text)
{
	if (p->rc == SQLITE_OK)
		p->rc = sqlite3_bind_text(p->stmt, p->at++, text, -1, SQLITE_STATIC);
}

static bool put_end(struct insert_binding *p, GError **error)
{
	if (p->rc == SQLITE_OK)
		p->rc = sqlite3_step(p->stmt);
	bool ok = p->rc == SQLITE_DONE || store_file_fail(p->f, p->rc, "write", error);

	sqlite3_finalize(p->stmt);
	return ok;
}

static bool put_packed(struct store_file *f, const char *sql, uint64_t id, const GByteArray *plain, GError **error)
{
	size_t packed_bytes = 0;
	g_autofree void *packed = plain->len <= STORE_BLOB_MAX_BYTES ? blob_pack(plain, PACK_LEVEL, &packed_bytes)
								     : NULL;

	if (!packed)
		return store_fail(error, STORE_ERROR_TOO_MUCH, "a window is too large to be kept: %u bytes",
				  plain->len);
	struct insert_binding p = put_into(f, sql);

	if (id)
		put_number(&p, id);
	put_number(&p, plain->len);
	put_blob(&p, packed, packed_bytes);
	return put_end(&p, error);
}

struct naming {
	struct store_file *f;
	GError **error;
	bool ok;
};

static uint64_t number_of(void *ctx, const char *name)
{
	struct naming *n = ctx;
	struct store_file *f = n->f;
	uint64_t number = GPOINTER_TO_UINT(g_hash_table_lookup(f->number_of_name, name));

	if (number || !*name || !n->ok || f->names->len >= LINE_NAMES_MAX)
		return number;
	struct insert_binding p = put_into(f, "INSERT INTO name VALUES(?, ?)");

	number = f->names->len + 1;
	put_number(&p, number);
	put_text(&p, name);
	n->ok = put_end(&p, n->error);
	if (!n->ok)
		return 0;
	g_ptr_array_add(f->names, g_strdup(name));
	g_hash_table_insert(f->number_of_name, name_key(f->names, f->names->len - 1), GUINT_TO_POINTER(number));
	return number;
}

static bool put_window(struct store_file *f, const struct store_row *row, const struct line_sums *line, GError **error)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	struct naming naming = { f, error, true };

	line_sums_encode(line, number_of, &naming, bytes);
	if (!naming.ok)
		return false;
	struct insert_binding p = put_into(f, "INSERT INTO window VALUES(?, ?, ?, ?, ?, ?)");

	put_number(&p, row->seq);
	put_number(&p, row->last_seq);
	put_number(&p, row->start_unix_ns);
	put_number(&p, row->duration_ns);
	put_number(&p, row->start_ns);
	put_blob(&p, bytes->data, bytes->len);
	return put_end(&p, error);
}

/* Skipped if there are too many cells or names; readers then use the rows. */
static bool put_cells(struct store_file *f, uint64_t seq, const struct cells *cells, GError **error)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	struct naming naming = { f, error, true };
	bool is_whole = cells && cells_encode(cells, number_of, &naming, bytes);

	if (!naming.ok || !is_whole)
		return naming.ok;
	return put_packed(f, "INSERT INTO cells VALUES(?, ?, ?)", seq, bytes, error);
}

/* Skipped if there are too many names. */
static bool put_requests(struct store_file *f, uint64_t seq, struct request_cells *requests, GError **error)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	struct naming naming = { f, error, true };
	bool is_whole = requests && request_cells_encode(requests, number_of, &naming, bytes);

	if (!naming.ok || !is_whole)
		return naming.ok;
	return put_packed(f, "INSERT INTO requests VALUES(?, ?, ?)", seq, bytes, error);
}

static bool put_rows(struct store_file *f, const struct store_row *row, const struct profile *window, GError **error)
{
	g_autoptr(GByteArray) plain = g_byte_array_new();

	dict_writer_begin(f->writer, window);
	bool ok = pack_rows(f->writer, window, plain, error);
	GByteArray *piece = dict_writer_end(f->writer);

	ok = ok && (!piece || put_packed(f, "INSERT INTO dict(bytes, packed) VALUES(?, ?)", 0, piece, error)) &&
	     put_packed(f, "INSERT INTO rows VALUES(?, ?, ?)", row->seq, plain, error);
	if (piece)
		g_byte_array_unref(piece);
	return ok;
}

bool store_file_add(struct store_file *f, const struct store_row *row, const struct profile *window,
		    const struct line_sums *line, const struct cells *cells, struct request_cells *requests,
		    GError **error)
{
	if (!read_for_writing(f, error) || !run(f, "BEGIN IMMEDIATE", error))
		return false;
	if (put_rows(f, row, window, error) && put_window(f, row, line, error) &&
	    put_cells(f, row->seq, cells, error) && put_requests(f, row->seq, requests, error) && run(f, "COMMIT", error))
		return true;
	sqlite3_exec(f->db, "ROLLBACK", NULL, NULL, NULL);
	return false;
}

bool store_file_add_gap(struct store_file *f, const struct store_gap *gap, GError **error)
{
	struct insert_binding p = put_into(f, "INSERT INTO gap VALUES(?, ?, ?)");

	put_number(&p, gap->from_unix_ns);
	put_number(&p, gap->to_unix_ns);
	put_text(&p, gap->why);
	return put_end(&p, error);
}
