/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/slices/rows_build.h"
#include "profile/profile_insert.h"
#include "profile/profile_reader.h"
#include "profile/profile_rows.h"

/* Slices in the tables of a recording: totals are for people, only the cells are read. */

/* Our own limit of a blob; readers accept 64 KiB. */
#define CHUNK_BYTES 32768U

static char *hist_text(const uint64_t *hist)
{
	GString *text = g_string_new("[");
	unsigned first = 0, behind = PROFILE_HIST_SLOTS;

	while (first < PROFILE_HIST_SLOTS - 1 && !hist[first])
		first++;
	while (behind > first + 1 && !hist[behind - 1])
		behind--;
	g_string_append_printf(text, "%u", first);
	for (unsigned i = first; i < behind; i++)
		g_string_append_printf(text, ",%" G_GUINT64_FORMAT, hist[i]);
	g_string_append_c(text, ']');
	return g_string_free(text, FALSE);
}

int slices_write(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_into(db, "INSERT INTO slice VALUES(?, ?, ?, ?, ?, ?)");
	g_autofree struct slice_total *totals = p->slices ? profile_slice_totals(p, NULL) : NULL;
	bool ok = true;

	for (uint32_t i = 0; ok && p->slices && i < profile_slice_cnt(p); i++) {
		g_autofree char *text = totals[i].count ? hist_text(totals[i].hist) : NULL;

		insert_id(&in, i);
		insert_number(&in, MIN(totals[i].count, INT64_MAX));
		insert_number(&in, totals[i].blocked_ns);
		insert_number(&in, totals[i].runnable_ns);
		insert_number(&in, totals[i].preempted_ns);
		insert_text(&in, text);
		ok = insert_row_done(&in);
	}
	return insert_end(&in);
}

int slices_write_cells(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_into(db, "INSERT INTO slice_cells VALUES(?, ?, ?)");
	bool ok = true;
	uint64_t id = 0;

	for (guint i = 0; ok && p->slices && i < p->slices->cells->len; i++) {
		const GByteArray *bytes = p->slices->cells->pdata[i];

		for (guint at = 0; ok && bytes && at < bytes->len; at += CHUNK_BYTES) {
			insert_id(&in, id++);
			insert_number(&in, i);
			insert_blob(&in, bytes->data + at, (int)MIN(bytes->len - at, CHUNK_BYTES));
			ok = insert_row_done(&in);
		}
	}
	return insert_end(&in);
}

void row_of_slice_length(struct reader *r, int column)
{
	uint64_t length_ns = row_ns(r, column);

	if (!length_ns)
		row_wrong(r, column);
	else if (!r->p->slices)
		r->p->slices = slices_new(length_ns, 0);
}

void row_of_slice(struct reader *r)
{
	if (r->p->slices)
		g_ptr_array_add(r->p->slices->cells, NULL);
	else
		row_wrong(r, 0);
}

/* Are the ids of the file those of the profile, as in our own files? Cells refer to rows by them. */
static bool are_ids_kept(const GArray *ids, guint cnt)
{
	return ids->len == cnt;
}

void row_of_slice_cells(struct reader *r)
{
	struct slices *s = r->p->slices;
	uint64_t slice = row_number(r, 1, UINT32_MAX);
	uint32_t cnt;
	const void *bytes = row_blob(r, 2, &cnt);

	if (!s || slice >= s->cells->len || !are_ids_kept(r->ids[TABLE_WAIT], r->p->waits->len) ||
	    !are_ids_kept(r->ids[TABLE_WAKE], r->p->wakes->len)) {
		row_wrong(r, 1);
		return;
	}
	if (!s->cells->pdata[slice])
		s->cells->pdata[slice] = g_byte_array_new();
	if (bytes)
		g_byte_array_append(s->cells->pdata[slice], bytes, cnt);
}
