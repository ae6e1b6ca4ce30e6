/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/profile_rows.h"

#include <inttypes.h>
#include <string.h>

#include "features/slices/rows.h"
#include "profile/limits.h"
#include "profile/profile_insert.h"

#define BUILD_IDS_MAX_BYTES 16000	/* readers accept no longer text; about 160 files */

/* "HEX PATH" lines in order of frames. Paths with a newline are omitted. */
static GString *build_ids(const struct profile *p)
{
	GString *s = g_string_new(NULL);

	EACH_ROW(i, const struct module_id, id, p->build_ids)
		if (s->len + strlen(id->hex) + strlen(id->module) + 2 <= BUILD_IDS_MAX_BYTES &&
		    !strchr(id->module, '\n'))
			g_string_append_printf(s, "%s %s\n", id->hex, id->module);
	return s;
}

static char *put_decimal(char *to, uint32_t value)
{
	char digits[10];
	int cnt = 0;

	do
		digits[cnt++] = (char)('0' + value % 10);
	while (value /= 10);
	while (cnt)
		*to++ = digits[--cnt];
	return to;
}

/* Formatted by hand, because histograms are most of the file's text. */
#define HIST_TEXT_BYTES (PROFILE_HIST_SLOTS * 11 + 8)

/* [exponent,count,...] from the first to the last used slot. */
static void hist_text(const uint32_t *hist, char *to)
{
	uint32_t first = 0, behind = PROFILE_HIST_SLOTS;

	while (first < PROFILE_HIST_SLOTS - 1 && !hist[first])
		first++;
	while (behind > first + 1 && !hist[behind - 1])
		behind--;
	*to++ = '[';
	to = put_decimal(to, first);
	for (uint32_t i = first; i < behind; i++) {
		*to++ = ',';
		to = put_decimal(to, hist[i]);
	}
	*to++ = ']';
	*to = '\0';
}

struct table_writer {
	struct insert in;
	struct insert string;	/* the table of strings: rows are written at first use, ids count from 0 */
	GHashTable *string_ids;
	GStringChunk *texts;	/* texts that are bound but not inserted yet */
};

/* A single wait, whose maximum and histogram follow from its duration, as for most rows. */
static bool is_plain(const struct wait *w)
{
	uint64_t off_cpu_ns = wait_off_cpu_ns(w), sum = 0;

	for (int i = 0; i < PROFILE_HIST_SLOTS; i++)
		sum += w->hist[i];
	return w->count == 1 && w->max_ns == off_cpu_ns && sum == 1 && w->hist[profile_hist_slot(off_cpu_ns)] == 1;
}

static void put_hist(struct table_writer *w, const uint32_t *hist)
{
	char text[HIST_TEXT_BYTES];

	hist_text(hist, text);
	insert_text(&w->in, g_string_chunk_insert(w->texts, text));
}

void put_wait_max(struct table_writer *w, const void *row)
{
	const struct wait *wait = row;

	if (is_plain(wait))
		insert_null(&w->in);
	else
		insert_number(&w->in, wait->max_ns);
}

void put_wait_hist(struct table_writer *w, const void *row)
{
	if (is_plain(row))
		insert_null(&w->in);
	else
		put_hist(w, ((const struct wait *)row)->hist);
}

void put_object_kind(struct table_writer *w, const void *row)
{
	insert_text(&w->in, object_kind_text(((const struct object *)row)->kind));
}

/* [slot,count,slot,count,...] */
void put_latencies(struct table_writer *w, const void *row)
{
	const struct offcpu_request_sum *sum = &((const struct request_row *)row)->sum;
	g_autoptr(GString) s = g_string_new("[");

	for (unsigned i = 0; i < OFFCPU_REQUEST_SLOTS; i++)
		if (sum->hist[i])
			g_string_append_printf(s, "%s%u,%" PRIu64, s->len > 1 ? "," : "", i, (uint64_t)sum->hist[i]);
	g_string_append_c(s, ']');
	insert_text(&w->in, g_string_chunk_insert(w->texts, s->str));
}

/* Equal strings of a profile have the same pointer. */
static void put_string(struct table_writer *w, const char *text)
{
	gpointer id_plus_1 = text ? g_hash_table_lookup(w->string_ids, text) : NULL;

	if (!text) {
		insert_null(&w->in);
		return;
	}
	if (!id_plus_1) {
		insert_id(&w->string, g_hash_table_size(w->string_ids));
		insert_text(&w->string, text);
		if (!insert_row_done(&w->string))
			insert_note(&w->in, w->string.rc);
		id_plus_1 = GUINT_TO_POINTER(g_hash_table_size(w->string_ids) + 1);
		g_hash_table_insert(w->string_ids, (gpointer)text, id_plus_1);
	}
	insert_number(&w->in, GPOINTER_TO_UINT(id_plus_1) - 1);
}

static void put_number(struct table_writer *w, const struct column *c, const void *row)
{
	uint64_t value = column_value(c, row);

	if (c->known ? !((const bool *)row)[c->known] : (c->is_nullable || c->plus_1) && !value)
		insert_null(&w->in);
	else
		insert_number(&w->in, c->kind == COLUMN_BITS ? value : MIN(value - c->plus_1, column_max(c)));
}

static void put_letter(struct table_writer *w, char letter)
{
	static const char letters[][2] = { "S", "D", "T", "t", "P", "I", "R", "?" };

	for (size_t i = 0; i < G_N_ELEMENTS(letters); i++)
		if (letters[i][0] == letter) {
			insert_text(&w->in, letters[i]);
			return;
		}
	insert_null(&w->in);
}

static void put_column(struct table_writer *w, const struct column *c, const void *row)
{
	const void *at = (const char *)row + c->at;

	switch (c->kind) {
	case COLUMN_TEXT: insert_text(&w->in, *(const char *const *)at); break;
	case COLUMN_STRING: put_string(w, *(const char *const *)at); break;
	case COLUMN_STATE: put_letter(w, *(const char *)at); break;
	case COLUMN_HIST: put_hist(w, at); break;
	case COLUMN_WINDOW: insert_number(&w->in, PROFILE_WINDOW_ID); break;
	case COLUMN_ODD: c->put(w, row); break;
	default: put_number(w, c, row); break;
	}
}

static bool is_absent(const struct column *c, const void *row)
{
	return c->is_nullable && !(c->kind == COLUMN_TEXT ? *(const char *const *)((const char *)row + c->at) != NULL
							  : column_value(c, row) != 0);
}

int write_meta(sqlite3 *db, const struct profile *p)
{
	g_autoptr(GString) ids = build_ids(p);
	g_autofree char *limits = p->limits->len ? profile_limits_text(p) : NULL;
	struct table_writer w = { .in = insert_into(db, "INSERT INTO meta VALUES(?, ?)") };

	for (unsigned i = 0; i < profile_tables[TABLE_META].column_cnt; i++) {
		const struct column *c = &profile_tables[TABLE_META].columns[i];

		if (is_absent(c, &p->info))
			continue;
		insert_text(&w.in, c->name);
		put_column(&w, c, &p->info);
		insert_row_done(&w.in);
	}
	insert_text(&w.in, "build_ids");
	insert_text(&w.in, ids->str);
	insert_row_done(&w.in);
	if (limits) {
		insert_text(&w.in, "limits");
		insert_text(&w.in, limits);
		insert_row_done(&w.in);
	}
	if (profile_has_slices(p)) {
		insert_text(&w.in, "slice_ns");
		insert_number(&w.in, profile_slice_ns(p));
		insert_row_done(&w.in);
	}
	return insert_end(&w.in);
}

/* Strings are written while the frames are. */
int write_no_strings(sqlite3 *db, const struct profile *p)
{
	return SQLITE_OK;
}

/* The next row, or NULL at the end. room: a buffer for one row. */
static const void *next_row(const struct profile *p, const struct profile_table *t, struct table_at *at, void *room)
{
	if (t->next)
		return t->next(p, at, room) ? room : NULL;
	if (t->is_of_info)
		return at->i++ ? NULL : (const char *)&p->info + t->info_at;
	const GArray *rows = profile_table_rows(t, p);
	guint i = at->i++ + (guint)t->first_id;

	return i < rows->len ? rows->data + i * t->row_bytes : NULL;
}

static int write_rows(struct table_writer *w, const struct profile *p, const struct profile_table *t)
{
	g_autofree void *room = g_malloc(t->row_bytes);
	struct table_at at = { 0 };
	const void *row;

	for (int64_t id = t->first_id; (row = next_row(p, t, &at, room)); id++) {
		insert_id(&w->in, (uint64_t)id);
		for (unsigned i = 0; i < t->column_cnt; i++)
			put_column(w, &t->columns[i], row);
		if (!insert_row_done(&w->in))
			break;
		if (!w->in.rows)
			g_string_chunk_clear(w->texts);
	}
	return insert_end(&w->in);
}

static int write_table(sqlite3 *db, const struct profile *p, const struct profile_table *t)
{
	g_autoptr(GString) sql = g_string_new(NULL);
	g_autofree void *room = g_malloc(t->row_bytes);
	struct table_at at = { 0 };
	guint cnt = 0;

	if (t->write)
		return t->write(db, p);
	while (next_row(p, t, &at, room))
		cnt++;
	g_string_printf(sql, "INSERT INTO %s VALUES(?", t->name);
	for (unsigned i = 0; i < t->column_cnt; i++)
		g_string_append(sql, ", ?");
	g_string_append_c(sql, ')');
	struct table_writer w = { .in = insert_rows(db, sql->str, cnt),
				  .string = insert_into(db, "INSERT INTO string VALUES(?, ?)"),
				  .string_ids = g_hash_table_new(NULL, NULL),
				  .texts = g_string_chunk_new(4096) };

	insert_note(&w.in, w.string.rc);
	int rc = write_rows(&w, p, t);

	insert_end(&w.string);	/* w.in already has its first error */
	g_hash_table_unref(w.string_ids);
	g_string_chunk_free(w.texts);
	return rc;
}

static bool is_of_threads(int table)
{
	return table == TABLE_THREAD || table == TABLE_STATE_TOTAL;
}

static int write_tables(sqlite3 *db, const struct profile *p, bool of_threads)
{
	int rc = SQLITE_OK;

	for (int i = 0; i < TABLE_CNT && rc == SQLITE_OK; i++)
		if (is_of_threads(i) == of_threads)
			rc = write_table(db, p, &profile_tables[i]);
	return rc;
}

int profile_write_threads(sqlite3 *db, const struct profile *p)
{
	return write_tables(db, p, true);
}

int profile_write_rest(sqlite3 *db, const struct profile *p)
{
	return write_tables(db, p, false);
}
