/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* When tasks were seen: written to and read from a recording. */
#include "base/cursor.h"
#include "features/tasks/rows.h"
#include "profile/profile_insert.h"
#include "profile/profile_reader.h"
#include "profile/profile_rows.h"

#define BLOB_BYTES 32768U	/* with one more cell it must stay below the readers' 64 KiB */
#define MILLI 1000

/* Looks of a population are contiguous. */
bool next_look(const struct profile *p, struct table_at *at, void *ret_row)
{
	for (; at->i < p->tasks->len; at->i++, at->k = 0) {
		if (at->k >= profile_tasks(p, at->i)->when->len)
			continue;
		const struct task_look *look = task_looks_get(profile_tasks(p, at->i), at->k++);

		*(struct look_row *)ret_row = (struct look_row){
			at->i, look->start_ns, look->period_ns, look->looks, (uint64_t)(look->weight * MILLI),
			look->stale, look->unreadable, look->no_row,
		};
		return true;
	}
	return false;
}

/* Encodes cells from *at on, as many as fit into a blob. */
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

int task_look_cells_write(sqlite3 *db, const struct profile *p)
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

uint32_t add_look(struct reader *r, const void *row)
{
	const struct look_row *from = row;
	struct tasks *t = g_ptr_array_index(r->p->tasks, from->population);
	const struct reader_look at = { from->population, t->when->len };
	const struct task_look look = {
		.start_ns = from->start_ns,
		.period_ns = from->period_ns,
		.looks = from->looks,
		.weight = (double)from->weight_milli / MILLI,
		.stale = from->stale,
		.unreadable = from->unreadable,
		.no_row = from->no_row,
	};

	g_array_append_val(t->when, look);
	g_array_append_val(r->task_looks, at);
	return 0;
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

/* A look's cells begin where those of the previous one end. */
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
