/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/profile_rows.h"

#include <string.h>

#include "profile/limits.h"
#include "profile/profile_insert.h"
#include "profile/profile_schema.h"
#include "profile/slices.h"

#define BUILD_IDS_MAX_BYTES 16000	/* readers take no longer text; some 160 files */

/* "HEX PATH" a line, in the order of frames; a path with a newline is left out. */
static GString *build_ids(const struct profile *p)
{
	GString *s = g_string_new(NULL);

	for (guint i = 0; i < p->build_ids->len; i++) {
		const struct module_id *id = &g_array_index(p->build_ids, struct module_id, i);

		if (s->len + strlen(id->hex) + strlen(id->module) + 2 <= BUILD_IDS_MAX_BYTES &&
		    !strchr(id->module, '\n'))
			g_string_append_printf(s, "%s %s\n", id->hex, id->module);
	}
	return s;
}

/* What 0 says as well as nothing. */
static bool may_be_left_out(const char *key)
{
	return g_str_has_suffix(key, "_ns") || g_str_has_suffix(key, "_hz") || g_str_has_prefix(key, "looks_") ||
	       strcmp(key, "unknown") == 0 || strcmp(key, "has_tasks") == 0 || strcmp(key, "not_waits") == 0 ||
	       strcmp(key, "rows_are") == 0 || strcmp(key, "limits") == 0;
}

static int write_meta(sqlite3 *db, const struct profile *p)
{
	g_autoptr(GString) ids = build_ids(p);
	g_autofree char *limits = p->limits->len ? profile_limits_text(p) : NULL;
	const struct profile_info *info = &p->info;
	struct insert in = insert_into(db, "INSERT INTO meta VALUES(?, ?)");
	const struct {
		const char *key, *text;
		uint64_t value;
	} rows[] = {
		{ "version", info->version, 0 },
		{ "host", info->host, 0 },
		{ "kernel", info->kernel, 0 },
		{ "cpus", NULL, info->cpus },
		{ "command_line", info->command_line, 0 },
		{ "filters", info->filters, 0 },
		{ "self_excluded", NULL, info->self_excluded },
		{ "has_wakers", NULL, info->has_wakers },
		{ "has_locks", NULL, info->has_locks },
		{ "has_objects", NULL, info->has_objects },
		{ "has_blame", NULL, info->has_blame },
		{ "has_storms", NULL, info->has_storms },
		{ "tracer_start_cpu_ns", NULL, info->tracer_start_cpu_ns },
		{ "tracer_stop_cpu_ns", NULL, info->tracer_stop_cpu_ns },
		{ "on_cpu_hz", NULL, info->on_cpu_hz },
		{ "on_cpu_end_hz", NULL, info->on_cpu_end_hz },
		{ "request_slower_ns", NULL, info->request_slower_ns },
		{ "has_tasks", NULL, info->has_tasks },
		{ "build_ids", ids->str, 0 },
		{ "limits", limits, 0 },
		{ "looks_asked_ns", NULL, info->looks.asked_ns },
		{ "looks_rounds", NULL, info->looks.rounds },
		{ "looks_budget_ppm", NULL, info->looks.rounds ? info->looks.budget_ppm : 0 },
		{ "unknown", NULL, info->unknown },
		{ "not_waits", info->imported, 0 },
		{ "rows_are", info->rows_are, 0 },
		{ "slice_ns", NULL, profile_has_slices(p) ? profile_slice_ns(p) : 0 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		if (may_be_left_out(rows[i].key) && !rows[i].value && !rows[i].text)
			continue;
		insert_text(&in, rows[i].key);
		if (rows[i].text)
			insert_text(&in, rows[i].text);
		else
			insert_number(&in, rows[i].value);
		if (!insert_row_done(&in))
			break;
	}
	return insert_end(&in);
}

static int write_window(sqlite3 *db, const struct profile *p)
{
	const struct profile_info *info = &p->info;
	struct insert in = insert_into(db, "INSERT INTO window VALUES(?, ?, ?, ?, ?, ?, ?, ?)");

	insert_number(&in, PROFILE_WINDOW_ID);
	insert_number(&in, info->start_unix_ns);
	insert_number(&in, info->start_ns);
	insert_number(&in, info->duration_ns);
	insert_number(&in, info->switches);
	insert_number(&in, info->tracer_cpu_ns);
	insert_number(&in, info->tracer_peak_rss_bytes);
	if (info->has_bpf_ns)
		insert_number(&in, info->tracer_bpf_ns);
	else
		insert_null(&in);
	insert_row_done(&in);
	return insert_end(&in);
}

static int write_losses(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_into(db, "INSERT INTO loss VALUES(?, ?, ?, ?, ?, ?)");

	for (guint i = 0; i < p->losses->len; i++) {
		const struct profile_loss *l = &g_array_index(p->losses, struct profile_loss, i);

		insert_id(&in, i);
		insert_number(&in, PROFILE_WINDOW_ID);
		insert_text(&in, l->reason);
		insert_text(&in, l->help);
		insert_number(&in, l->count);
		insert_number(&in, l->time_ns);
		if (!insert_row_done(&in))
			break;
	}
	return insert_end(&in);
}

/* The row of a string in the string table, inserted at its first use; ids count from 0. */
static void put_string(struct insert *frame, struct insert *string, GHashTable *ids, const char *text)
{
	gpointer id_plus_1;

	if (!text) {
		insert_null(frame);
		return;
	}
	/* Equal strings of a profile are one pointer. */
	id_plus_1 = g_hash_table_lookup(ids, text);
	if (!id_plus_1) {
		insert_id(string, g_hash_table_size(ids));
		insert_text(string, text);
		if (!insert_row_done(string))
			insert_note(frame, string->rc);
		id_plus_1 = GUINT_TO_POINTER(g_hash_table_size(ids) + 1);
		g_hash_table_insert(ids, (gpointer)text, id_plus_1);
	}
	insert_number(frame, GPOINTER_TO_UINT(id_plus_1) - 1);
}

static int write_frames(sqlite3 *db, const struct profile *p)
{
	struct insert string = insert_into(db, "INSERT INTO string VALUES(?, ?)");
	struct insert in = insert_rows(db, "INSERT INTO frame VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", p->frames->len);
	GHashTable *ids = g_hash_table_new(NULL, NULL);

	insert_note(&in, string.rc);
	for (guint i = 0; i < p->frames->len; i++) {
		const struct frame *f = profile_get_frame(p, i);

		insert_id(&in, i);
		put_string(&in, &string, ids, f->name);
		put_string(&in, &string, ids, f->module);
		insert_number(&in, f->offset);
		put_string(&in, &string, ids, f->file);
		insert_number(&in, f->line);
		insert_number(&in, f->kind);
		insert_number(&in, f->why);
		insert_number(&in, f->is_inline);
		if (!insert_row_done(&in))
			break;
	}
	g_hash_table_unref(ids);
	insert_end(&string);	/* its first failure is in's already */
	return insert_end(&in);
}

static int write_stacks(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_rows(db, "INSERT INTO stack VALUES(?, ?, ?, ?, ?)", p->nodes->len - 1);

	for (guint i = 1; i < p->nodes->len; i++) {
		const struct stack_node *n = profile_get_node(p, i);

		insert_id(&in, i);
		if (n->parent)
			insert_number(&in, n->parent);
		else
			insert_null(&in);
		insert_number(&in, n->frame);
		insert_number(&in, n->depth);
		insert_number(&in, n->end);
		if (!insert_row_done(&in))
			break;
	}
	return insert_end(&in);
}

static int write_threads(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_rows(db, "INSERT INTO thread VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
					   "?, ?, ?)", p->threads->len);

	for (guint i = 0; i < p->threads->len; i++) {
		const struct thread *t = profile_thread(p, i);

		insert_id(&in, i);
		insert_number(&in, PROFILE_WINDOW_ID);
		insert_number(&in, t->pid);
		insert_number(&in, t->tid);
		insert_number(&in, t->start_ns);
		insert_text(&in, t->comm);
		insert_text(&in, t->process);
		insert_number(&in, t->flags);
		insert_number(&in, t->from_ns);
		insert_number(&in, t->to_ns);
		insert_number(&in, t->on_cpu_ns);
		insert_number(&in, t->blocked_ns);
		insert_number(&in, t->runnable_ns);
		insert_number(&in, t->preempted_ns);
		insert_number(&in, t->filtered_ns);
		insert_number(&in, t->lost_ns);
		insert_number(&in, t->switches);
		if (t->service)
			insert_text(&in, t->service);
		else
			insert_null(&in);
		if (!insert_row_done(&in))
			break;
	}
	return insert_end(&in);
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

/* By hand, for it is most of the file's text. */
void profile_hist_text(const uint32_t *hist, char *to)
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

/* One wait whose longest and whose histogram follow from its duration: most are. */
static bool is_plain(const struct wait *w)
{
	uint64_t off_cpu_ns = wait_off_cpu_ns(w), sum = 0;

	for (int i = 0; i < PROFILE_HIST_SLOTS; i++)
		sum += w->hist[i];
	return w->count == 1 && w->max_ns == off_cpu_ns && sum == 1 && w->hist[profile_hist_slot(off_cpu_ns)] == 1;
}

static int write_objects(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_into(db, "INSERT INTO object VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)");

	for (guint i = 0; i < p->objects->len; i++) {
		const struct object *o = profile_get_object(p, i);

		insert_id(&in, i);
		insert_text(&in, object_kind_text(o->kind));
		insert_number(&in, o->is_private);
		insert_text(&in, o->operation);
		insert_text(&in, o->name);
		insert_text(&in, o->place);
		insert_number(&in, o->pid);
		insert_number(&in, o->addr);
		if (o->holder_tid)
			insert_number(&in, o->holder_tid);
		else
			insert_null(&in);
		if (!insert_row_done(&in))
			break;
	}
	return insert_end(&in);
}

static int write_waits(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_rows(db, "INSERT INTO wait VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
				       p->waits->len);
	char hist[INSERT_ROWS_AT_ONCE][PROFILE_HIST_TEXT_BYTES];

	for (guint i = 0; i < p->waits->len; i++) {
		const struct wait *w = profile_wait(p, i);
		const uint32_t stacks[] = { w->user, w->kernel };

		insert_id(&in, i);
		insert_number(&in, w->thread);
		for (int s = 0; s < 2; s++) {
			if (stacks[s])
				insert_number(&in, stacks[s]);
			else
				insert_null(&in);
		}
		insert_letter(&in, &w->state);
		insert_number(&in, w->flags);
		insert_number(&in, w->count);
		insert_number(&in, w->blocked_ns);
		insert_number(&in, w->runnable_ns);
		insert_number(&in, w->preempted_ns);
		if (w->off_cpu_se_ns)
			insert_number(&in, w->off_cpu_se_ns);
		else
			insert_null(&in);
		if (is_plain(w)) {
			insert_null(&in);
			insert_null(&in);
		} else {
			insert_number(&in, w->max_ns);
			profile_hist_text(w->hist, hist[in.rows]);
			insert_text(&in, hist[in.rows]);
		}
		if (w->object)
			insert_number(&in, w->object - 1);
		else
			insert_null(&in);
		if (w->count_se)
			insert_number(&in, w->count_se);
		else
			insert_null(&in);
		if (!insert_row_done(&in))
			break;
	}
	return insert_end(&in);
}

static int write_states(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_rows(db, "INSERT INTO state_total VALUES(?, ?, ?, ?, ?, ?, ?)", p->states->len);

	for (guint i = 0; i < p->states->len; i++) {
		const struct state_total *t = profile_state(p, i);

		insert_id(&in, i);
		insert_number(&in, t->thread);
		insert_letter(&in, &t->state);
		insert_number(&in, t->count);
		insert_number(&in, t->blocked_ns);
		insert_number(&in, t->runnable_ns);
		insert_number(&in, t->preempted_ns);
		if (!insert_row_done(&in))
			break;
	}
	return insert_end(&in);
}

static int write_sampling(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_into(db, "INSERT INTO sampling VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
	const struct profile_sampling *sampling = &p->info.sampling;

	insert_number(&in, PROFILE_WINDOW_ID);
	insert_number(&in, PROFILE_WINDOW_ID);
	insert_number(&in, sampling->start_ns);
	insert_number(&in, sampling->end_ns);
	insert_number(&in, sampling->max_ns);
	insert_number(&in, sampling->raised_cnt);
	insert_number(&in, sampling->lowered_cnt);
	insert_number(&in, sampling->over_cnt);
	insert_number(&in, sampling->budget_ppm);
	if (sampling->has_used) {
		insert_number(&in, sampling->used_ppm);
		insert_number(&in, sampling->peak_ppm);
	} else {
		insert_null(&in);
		insert_null(&in);
	}
	insert_row_done(&in);
	return insert_end(&in);
}

static int write_on_cpu(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_rows(db, "INSERT INTO on_cpu VALUES(?, ?, ?, ?, ?, ?, ?)", p->on_cpu->len);

	for (guint i = 0; i < p->on_cpu->len; i++) {
		const struct on_cpu_sample *s = &g_array_index(p->on_cpu, struct on_cpu_sample, i);
		const uint32_t stacks[] = { s->user, s->kernel };

		insert_id(&in, i);
		insert_number(&in, s->thread);
		for (size_t k = 0; k < G_N_ELEMENTS(stacks); k++) {
			if (stacks[k])
				insert_number(&in, stacks[k]);
			else
				insert_null(&in);
		}
		insert_number(&in, s->slice);
		insert_number(&in, s->samples);
		insert_number(&in, s->weight_ns);
		if (!insert_row_done(&in))
			break;
	}
	return insert_end(&in);
}

int profile_write_tables(sqlite3 *db, const struct profile *p, const profile_write_table *tables, size_t cnt)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < cnt; i++)
		rc = tables[i](db, p);
	return rc;
}

int profile_write_threads(sqlite3 *db, const struct profile *p)
{
	static const profile_write_table tables[] = { write_threads, write_states };

	return profile_write_tables(db, p, tables, G_N_ELEMENTS(tables));
}

int profile_write_rest(sqlite3 *db, const struct profile *p)
{
	static const profile_write_table tables[] = {
		write_meta,    write_window,       write_losses,   write_frames,      write_stacks,
		write_objects, write_waits,        write_sampling, profile_write_who, write_on_cpu,
		slices_write,  slices_write_cells, requests_write, tasks_write,
		task_looks_write, longest_write,
	};

	return profile_write_tables(db, p, tables, G_N_ELEMENTS(tables));
}
