/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/profile_reader.h"

#include <string.h>

#include "profile/profile_rows.h"

void reader_wrong(struct reader *r, const char *name)
{
	if (!r->wrong)
		r->wrong = name;
}

void row_wrong(struct reader *r, int column)
{
	reader_wrong(r, sqlite3_column_name(r->stmt, column));
}

bool row_is_null(struct reader *r, int column)
{
	return sqlite3_column_type(r->stmt, column) == SQLITE_NULL;
}

uint64_t row_number(struct reader *r, int column, uint64_t max)
{
	sqlite3_int64 value = sqlite3_column_int64(r->stmt, column);

	if (sqlite3_column_type(r->stmt, column) == SQLITE_INTEGER && value >= 0 && (uint64_t)value <= max)
		return (uint64_t)value;
	row_wrong(r, column);
	return 0;
}

uint64_t row_ns(struct reader *r, int column)
{
	return row_number(r, column, PROFILE_NS_MAX);
}

uint32_t row_u32(struct reader *r, int column)
{
	return (uint32_t)row_number(r, column, UINT32_MAX);
}

const char *row_text(struct reader *r, int column)
{
	/* the type first: reading text converts the value */
	int type = sqlite3_column_type(r->stmt, column);
	const char *text = type == SQLITE_TEXT ? (const char *)sqlite3_column_text(r->stmt, column) : NULL;
	uint64_t len_bytes = text ? (uint64_t)sqlite3_column_bytes(r->stmt, column) : 0;

	if (type == SQLITE_NULL)
		return "";
	if (!text || len_bytes > PROFILE_STRING_MAX_BYTES || len_bytes > r->text_budget_bytes) {
		row_wrong(r, column);
		return "";
	}
	r->text_budget_bytes -= len_bytes;
	return text;
}

const void *row_blob(struct reader *r, int column, uint32_t *ret_bytes)
{
	int type = sqlite3_column_type(r->stmt, column);
	const void *bytes = type == SQLITE_BLOB ? sqlite3_column_blob(r->stmt, column) : NULL;

	*ret_bytes = bytes ? (uint32_t)sqlite3_column_bytes(r->stmt, column) : 0;
	if (!bytes || *ret_bytes > r->text_budget_bytes) {
		row_wrong(r, column);
		*ret_bytes = 0;
		return NULL;
	}
	r->text_budget_bytes -= *ret_bytes;
	return bytes;
}

const char *row_own_text(struct reader *r, int column)
{
	return profile_string(r->p, row_text(r, column));
}

/* The string with this id in the file. NULL for NULL. */
static const char *row_string(struct reader *r, int column)
{
	if (row_is_null(r, column))
		return NULL;
	uint64_t id = row_number(r, column, UINT32_MAX);

	if (id < r->strings->len)
		return g_ptr_array_index(r->strings, (guint)id);
	row_wrong(r, column);
	return NULL;
}

static bool row_failed(struct reader *r, int rc, GError **error)
{
	if (rc == SQLITE_INTERRUPT)
		return profile_damaged(error, "table \"%s\" takes more work than its size allows", r->table);
	return profile_damaged(error, "table \"%s\": %s", r->table, sqlite3_errmsg(r->db));
}

/* The profile's index of the row with this id in the file. */
static uint32_t index_at(struct reader *r, const struct column *c, int column)
{
	const GArray *ids = r->ids[c->of];
	uint32_t id = row_u32(r, column);

	if (id < ids->len)
		return g_array_index(ids, uint32_t, id) + c->plus_1;
	row_wrong(r, column);
	return 0;
}

static uint8_t letter_at(struct reader *r, const struct column *c, int column)
{
	const char *state = row_text(r, column);

	if (!*state || state[1] || !column_has_state(c, r->p, *state))
		row_wrong(r, column);
	return (uint8_t)*state;
}

void reader_column(struct reader *r, const struct column *c, int column, void *row)
{
	bool is_null = row_is_null(r, column);
	void *at = (char *)row + c->at;

	if (c->known)
		((bool *)row)[c->known] = !is_null;
	if (is_null && (c->known || c->is_nullable || c->plus_1))
		return;
	switch (c->kind) {
	case COLUMN_TEXT: *(const char **)at = row_own_text(r, column); break;
	case COLUMN_STRING: *(const char **)at = row_string(r, column); break;
	case COLUMN_STATE: column_set(c, row, letter_at(r, c, column)); break;
	case COLUMN_HIST: row_hist(r, column, at); break;
	case COLUMN_ID: column_set(c, row, index_at(r, c, column)); break;
	case COLUMN_ODD: c->get(r, column, row); break;
	case COLUMN_BITS:
		column_set(c, row, (uint64_t)sqlite3_column_int64(r->stmt, column));
		if (sqlite3_column_type(r->stmt, column) != SQLITE_INTEGER)
			row_wrong(r, column);
		break;
	case COLUMN_WINDOW:	/* a recording has one window */
		if (row_number(r, column, PROFILE_WINDOW_ID) != PROFILE_WINDOW_ID)
			row_wrong(r, column);
		break;
	default: column_set(c, row, row_number(r, column, column_max(c))); break;
	}
}

static void take_row(struct reader *r, enum table_id id, void *room)
{
	const struct profile_table *t = &profile_tables[id];
	void *row = t->is_of_info ? (char *)&r->p->info + t->info_at : room;
	uint32_t at = 0;

	if (t->read) {
		t->read(r);
		return;
	}
	memset(row, 0, t->is_of_info ? 0 : t->row_bytes);
	for (unsigned i = 0; i < t->column_cnt; i++)
		reader_column(r, &t->columns[i], (int)i + 1, row);
	if (r->wrong)
		return;
	if (t->add) {
		at = t->add(r, row);
	} else if (!t->is_of_info) {
		GArray *rows = profile_table_rows(t, r->p);

		at = rows->len;
		g_array_append_vals(rows, row, 1);
	}
	g_array_append_val(r->ids[id], at);
}

/* Reads row i of its table. */
static bool read_row(struct reader *r, enum table_id id, int64_t i, void *room, GError **error)
{
	const struct profile_table *t = &profile_tables[id];
	const int64_t max_rows = t->max_rows ? t->max_rows : PROFILE_ROWS_MAX;

	if (i >= max_rows)
		return profile_damaged(error, "table \"%s\" has more than %" G_GINT64_FORMAT " rows", t->name, max_rows);
	if (t->first_id >= 0 && sqlite3_column_int64(r->stmt, 0) != t->first_id + i)
		return profile_damaged(error, "the ids of table \"%s\" are not consecutive", t->name);
	r->wrong = NULL;
	take_row(r, id, room);
	if (r->wrong)
		return profile_damaged(error, "row %" G_GINT64_FORMAT " of table \"%s\" has an invalid %s", i + 1,
				       t->name, r->wrong);
	return true;
}

bool reader_table(struct reader *r, enum table_id id, GError **error)
{
	const struct profile_table *t = &profile_tables[id];
	g_autofree char *sql = g_strdup_printf("SELECT * FROM main.%s NOT INDEXED", t->name);
	g_autofree void *room = g_malloc(t->row_bytes + 1);
	bool ok = true;
	int64_t i = 0;
	int rc;

	r->table = t->name;
	rc = sqlite3_prepare_v2(r->db, sql, -1, &r->stmt, NULL);
	if (rc != SQLITE_OK)
		return row_failed(r, rc, error);
	for (; ok && (rc = sqlite3_step(r->stmt)) == SQLITE_ROW; i++)
		ok = read_row(r, id, i, room, error);
	if (ok && rc != SQLITE_DONE)
		ok = row_failed(r, rc, error);
	else if (ok && i < t->min_rows)
		ok = profile_damaged(error, "table \"%s\" is empty", t->name);
	sqlite3_finalize(r->stmt);
	r->stmt = NULL;
	return ok;
}

/* Parses decimal digits at *s, up to max, and advances *s. */
static bool parse_number(const char **s, uint64_t max, uint64_t *ret)
{
	const char *start = *s;

	*ret = 0;
	for (; g_ascii_isdigit(**s) && *s - start < 10; (*s)++)
		*ret = *ret * 10 + (uint64_t)(**s - '0');
	return *s > start && *ret <= max;
}

/* Parses [exponent,count,...]: the counts of this slot and the following ones. */
static bool parse_hist(const char *s, uint32_t *hist)
{
	uint64_t slot = 0;

	if (*s++ != '[' || !parse_number(&s, PROFILE_HIST_SLOTS - 1, &slot) || *s != ',')
		return false;
	while (*s == ',' && slot < PROFILE_HIST_SLOTS) {
		uint64_t count;

		s++;
		if (!parse_number(&s, UINT32_MAX, &count))
			return false;
		hist[slot++] = (uint32_t)count;
	}
	return strcmp(s, "]") == 0;
}

void row_hist(struct reader *r, int column, uint32_t *hist)
{
	if (!parse_hist(row_text(r, column), hist))
		row_wrong(r, column);
}
