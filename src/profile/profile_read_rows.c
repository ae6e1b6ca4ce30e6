/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Turns rows that were read into the profile. The description of the tables checks the columns. */
#include "profile/profile_rows.h"

#include <string.h>

#include "profile/limits.h"
#include "profile/profile.h"
#include "profile/profile_reader.h"

static void build_ids_row(struct reader *r)
{
	g_auto(GStrv) lines = g_strsplit(row_text(r, 1), "\n", PROFILE_MODULES_MAX);

	for (char **line = lines; *line; line++) {
		char *blank = strchr(*line, ' ');

		if (!blank)
			continue;
		*blank = '\0';
		profile_set_build_id(r->p, blank + 1, *line);
	}
}

/* Unknown keys are ignored, so keys may be added to the schema. */
void read_meta(struct reader *r)
{
	const struct profile_table *t = &profile_tables[TABLE_META];
	g_autofree char *key = g_strdup(row_text(r, 0));
	struct profile_info *info = &r->p->info;

	for (unsigned i = 0; i < t->column_cnt; i++)
		if (strcmp(key, t->columns[i].name) == 0)
			reader_column(r, &t->columns[i], 1, info);
	info->rows_are = profile_rows_known(info->rows_are);
	info->unknown &= UNKNOWN_ALL;
	if (strcmp(key, "build_ids") == 0)
		build_ids_row(r);
	if (strcmp(key, "limits") == 0)
		profile_read_limits(r->p, row_text(r, 1));
	if (strcmp(key, "slice_ns") == 0)
		row_of_slice_length(r, 1);
}

void read_string(struct reader *r)
{
	g_ptr_array_add(r->strings, (gpointer)row_own_text(r, 1));
}

/* Rows that need no id, because no other row refers to them. */
#define ADDS(name, add) uint32_t name(struct reader *r, const void *row) { return add(r->p, row); }
#define ADDS_LEAF(name, add) uint32_t name(struct reader *r, const void *row) { return add(r->p, row), 0; }
ADDS(add_object, profile_object)
ADDS(add_wait, profile_add_wait)
ADDS(add_waker, profile_waker)
ADDS(add_wake, profile_add_wake)
ADDS_LEAF(add_storm, profile_add_storm)
ADDS_LEAF(add_tcp_wait, profile_add_tcp_wait)
ADDS_LEAF(add_connection, profile_add_connection)
ADDS_LEAF(add_on_cpu, profile_add_on_cpu)

uint32_t add_loss(struct reader *r, const void *row)
{
	const struct profile_loss *l = row;

	profile_add_loss(r->p, l->reason, l->help, l->count, l->time_ns);
	return 0;
}

uint32_t add_frame(struct reader *r, const void *row)
{
	const struct frame *f = row;

	if (!f->name != (f->why != FRAME_NAMED))
		reader_wrong(r, "why");
	return profile_frame(r->p, f);
}

/* Only earlier rows have ids, so there can be no cycle. */
uint32_t add_stack(struct reader *r, const void *row)
{
	const struct stack_node *n = row;
	uint32_t id;

	if (n->depth != profile_get_node(r->p, n->parent)->depth + 1u) {
		reader_wrong(r, "depth");
		return 0;
	}
	id = profile_node(r->p, n->parent, n->frame);
	profile_stack_end(r->p, id, n->end);
	return id;
}

uint32_t add_thread(struct reader *r, const void *row)
{
	const struct thread *t = row;

	if (t->from_ns > t->to_ns)
		reader_wrong(r, "to_ns");
	return profile_add_thread(r->p, t);
}

void get_object_kind(struct reader *r, int column, void *row)
{
	if (!object_kind_parse(row_text(r, column), &((struct object *)row)->kind))
		row_wrong(r, column);
}

/* NULL is possible only for a single wait, whose times give it. */
void get_wait_max(struct reader *r, int column, void *row)
{
	struct wait *w = row;

	if (w->count != 1 || !row_is_null(r, column))
		w->max_ns = row_ns(r, column);
	else
		w->max_ns = MIN(wait_off_cpu_ns(w), PROFILE_NS_MAX);
}

void get_wait_hist(struct reader *r, int column, void *row)
{
	struct wait *w = row;

	if (w->count == 1 && row_is_null(r, column))
		w->hist[profile_hist_slot(wait_off_cpu_ns(w))] = 1;
	else
		row_hist(r, column, w->hist);
}

/* Only earlier rows have ids, so there can be no cycle. */
uint32_t add_chain(struct reader *r, const void *row)
{
	const struct chain_node *c = row;

	if ((c->end == CHAIN_GOES_ON) != (c->next > 0))
		reader_wrong(r, "end");
	else if (c->next && profile_chain_len(r->p, c->next - 1) >= PROFILE_CHAIN_MAX)
		reader_wrong(r, "next_id");
	return r->wrong ? 0 : profile_chain(r->p, c);
}

bool next_hop(const struct profile *p, struct table_at *at, void *ret_row)
{
	for (; at->i < p->stories->len; at->i++, at->k = 0) {
		while (at->k < PROFILE_CHAIN_MAX) {
			const struct hop *hop = &profile_story(p, at->i)->hop[at->k++];

			if (!hop->ran_ns && !hop->runnable_ns && !hop->earlier_ns)
				continue;
			*(struct hop_row *)ret_row = (struct hop_row){ at->i, at->k, *hop };
			return true;
		}
	}
	return false;
}

uint32_t add_hop(struct reader *r, const void *row)
{
	const struct hop_row *h = row;

	if (!h->step || h->step > profile_chain_len(r->p, profile_story(r->p, h->story)->chain))
		reader_wrong(r, "step");
	else
		g_array_index(r->p->stories, struct story, h->story).hop[h->step - 1] = h->hop;
	return 0;
}

uint32_t add_blame(struct reader *r, const void *row)
{
	if (((const struct blame *)row)->kind < BLAME_THREAD)
		reader_wrong(r, "kind");
	else
		profile_add_blame(r->p, row);
	return 0;
}

static bool is_hex(const char *text, size_t digits)
{
	return strlen(text) == digits && strspn(text, "0123456789abcdef") == digits;
}

/* At most one per wait, in order of waits, because lookups bisect. */
uint32_t add_trace(struct reader *r, const void *row)
{
	const struct wait_trace *t = row;
	guint cnt = r->p->traces->len;

	if (cnt && g_array_index(r->p->traces, struct wait_trace, cnt - 1).wait >= t->wait)
		reader_wrong(r, "wait_id");
	else if (!is_hex(t->trace, 32) || !is_hex(t->span, 16))
		reader_wrong(r, "trace_id");
	else
		profile_add_trace(r->p, t);
	return 0;
}

bool profile_read_rows(sqlite3 *db, struct profile *p, uint64_t text_budget_bytes, GError **error)
{
	const uint32_t root = 0;
	struct reader r = {
		.db = db,
		.p = p,
		.text_budget_bytes = text_budget_bytes,
		.strings = g_ptr_array_new(),
		.task_looks = g_array_new(FALSE, FALSE, sizeof(struct reader_look)),
	};
	bool ok = true;

	for (int i = 0; i < TABLE_CNT; i++)
		r.ids[i] = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g_array_append_val(r.ids[TABLE_STACK], root);
	for (int i = 0; i < TABLE_CNT && ok; i++)
		ok = reader_table(&r, (enum table_id)i, error);
	for (int i = 0; i < TABLE_CNT; i++)
		g_array_unref(r.ids[i]);
	g_ptr_array_unref(r.strings);
	g_array_unref(r.task_looks);
	return ok;
}
