/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* When tasks were seen, in a recording: written and read. */
#include "base/cursor.h"
#include "base/uleb.h"
#include "profile/profile_insert.h"
#include "profile/profile_reader.h"
#include "profile/profile_rows.h"
#include "profile/task_looks.h"
#include "profile/tasks_file.h"

#define BLOB_BYTES 32768U	/* and a cell: readers take none above 64 KiB */
#define MILLI 1000
#define WEIGHT_MAX_MILLI (UINT64_C(1) << 48)

static int write_looks(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_into(db, "INSERT INTO task_look VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)");
	uint64_t id = 0;

	for (guint i = 0; i < p->tasks->len; i++) {
		for (guint k = 0; k < profile_tasks(p, i)->when->len; k++) {
			const struct task_look *look = task_looks_get(profile_tasks(p, i), k);

			insert_id(&in, id++);
			insert_number(&in, i);
			insert_number(&in, look->start_ns);
			insert_number(&in, look->period_ns);
			insert_number(&in, look->looks);
			insert_number(&in, (uint64_t)(look->weight * MILLI));
			insert_number(&in, look->stale);
			insert_number(&in, look->unreadable);
			insert_number(&in, look->no_row);
			if (!insert_row_done(&in))
				return insert_end(&in);
		}
	}
	return insert_end(&in);
}

/* The cells from *at on, as many as a blob takes. */
static void encode(const struct tasks *t, const struct task_look *look, guint *at, GByteArray *into)
{
	uint32_t last = 0;

	g_byte_array_set_size(into, 0);
	for (; *at < look->cell_cnt && into->len < BLOB_BYTES; (*at)++) {
		const struct task_cell *cell = task_looks_cell(t, look->first_cell + *at);

		uleb_put(into, cell->row - last);
		uleb_put(into, cell->seen);
		uleb_put(into, cell->task_ns);
		last = cell->row;
	}
}

static int write_cells(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_into(db, "INSERT INTO task_look_cells VALUES(?, ?, ?)");
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	uint64_t id = 0, number = 0;

	for (guint i = 0; i < p->tasks->len; i++) {
		for (guint k = 0; k < profile_tasks(p, i)->when->len; k++, number++) {
			const struct task_look *look = task_looks_get(profile_tasks(p, i), k);

			for (guint at = 0; at < look->cell_cnt;) {
				encode(profile_tasks(p, i), look, &at, bytes);
				insert_id(&in, id++);
				insert_number(&in, number);
				insert_blob(&in, bytes->data, (int)bytes->len);
				if (!insert_row_done(&in))
					return insert_end(&in);
			}
		}
	}
	return insert_end(&in);
}

int task_looks_write(sqlite3 *db, const struct profile *p)
{
	int rc = write_looks(db, p);

	return rc == SQLITE_OK ? write_cells(db, p) : rc;
}

/* Those of one population follow one another. */
void row_of_task_look(struct reader *r)
{
	const uint32_t population = row_u32(r, 1);
	const struct task_look look = {
		.start_ns = row_ns(r, 2),
		.period_ns = row_ns(r, 3),
		.looks = row_number(r, 4, UINT32_MAX),
		.weight = (double)row_number(r, 5, WEIGHT_MAX_MILLI) / MILLI,
		.stale = row_number(r, 6, UINT32_MAX),
		.unreadable = row_number(r, 7, UINT32_MAX),
		.no_row = row_number(r, 8, UINT32_MAX),
	};

	if (population >= r->p->tasks->len)
		row_wrong(r, 1);
	if (r->wrong)
		return;
	struct tasks *t = g_ptr_array_index(r->p->tasks, population);
	const struct reader_look at = { population, t->when->len };

	g_array_append_val(t->when, look);
	g_array_append_val(r->task_looks, at);
}

static void decode(struct tasks *t, struct task_look *look, struct cursor *c)
{
	uint64_t row = 0;

	while (cursor_left(c) && !c->bad) {
		struct task_cell cell;

		row += cursor_uleb(c);
		cell.row = (uint32_t)row;
		cell.seen = cursor_uleb(c);
		cell.task_ns = cursor_uleb(c);
		if (row >= t->rows->len || cell.seen > UINT32_MAX || t->cells->len >= 2 * TASK_CELLS_MAX)
			c->bad = true;
		if (c->bad)
			return;
		look->cell_cnt++;
		g_array_append_val(t->cells, cell);
	}
}

/* Cells of a look are where the last one's end. */
void row_of_task_look_cells(struct reader *r)
{
	const uint32_t number = row_u32(r, 1);
	uint32_t len_bytes;
	const uint8_t *bytes = row_blob(r, 2, &len_bytes);

	if (number >= r->task_looks->len || number < r->task_look)
		row_wrong(r, 1);
	if (r->wrong || !bytes)
		return;
	r->task_look = number;
	const struct reader_look *at = &g_array_index(r->task_looks, struct reader_look, number);
	struct tasks *t = g_ptr_array_index(r->p->tasks, at->population);
	struct task_look *look = &g_array_index(t->when, struct task_look, at->look);
	struct cursor c = cursor_of(bytes, len_bytes);

	if (!look->cell_cnt)
		look->first_cell = t->cells->len;
	decode(t, look, &c);
	if (c.bad || look->first_cell + look->cell_cnt != t->cells->len)
		row_wrong(r, 2);
}
