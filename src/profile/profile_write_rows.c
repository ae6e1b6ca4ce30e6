/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/profile_rows.h"

#include <string.h>

#include "profile/profile_schema.h"

/* To step and reset a statement takes half the time of a row: these many go in one. */
#define ROWS_AT_ONCE 32

/*
 * Rows put into a table; `at` is the parameter that comes next, `rc` the first failure.  What is left over
 * of a division by ROWS_AT_ONCE goes first, row by row.
 */
struct insert {
	sqlite3_stmt *stmt, *then;	/* then: of many rows; NULL: there is none, or it is stmt */
	guint single_cnt;	/* rows to go one by one */
	guint rows;		/* bound, but not put */
	int at, rc;
};

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql, int *ret_rc)
{
	sqlite3_stmt *stmt = NULL;

	*ret_rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
	return stmt;
}

/* Any number of rows. */
static struct insert insert_into(sqlite3 *db, const char *sql)
{
	struct insert in = { .at = 1, .single_cnt = G_MAXUINT };

	in.stmt = prepare(db, sql, &in.rc);
	return in;
}

/* That number of rows, and what is bound as text must stay until the end, or that of the next ROWS_AT_ONCE. */
static struct insert insert_rows(sqlite3 *db, const char *sql, guint cnt)
{
	struct insert in = insert_into(db, sql);
	const char *row = strchr(sql, '(');

	in.single_cnt = cnt % ROWS_AT_ONCE;
	if (cnt < ROWS_AT_ONCE || in.rc != SQLITE_OK)
		return in;
	g_autoptr(GString) many = g_string_new(sql);

	for (int i = 1; i < ROWS_AT_ONCE; i++)
		g_string_append_printf(many, ", %s", row);
	in.then = prepare(db, many->str, &in.rc);
	if (!in.single_cnt) {
		sqlite3_finalize(in.stmt);
		in.stmt = g_steal_pointer(&in.then);
	}
	return in;
}

static void note(struct insert *in, int rc)
{
	if (in->rc == SQLITE_OK)
		in->rc = rc;
}

static void put(struct insert *in, uint64_t value)
{
	note(in, sqlite3_bind_int64(in->stmt, in->at++, (sqlite3_int64)value));
}

static void put_null(struct insert *in)
{
	note(in, sqlite3_bind_null(in->stmt, in->at++));
}

static void put_text(struct insert *in, const char *text)
{
	note(in, sqlite3_bind_text(in->stmt, in->at++, text, -1, SQLITE_STATIC));
}

static void put_rows(struct insert *in)
{
	if (in->rc == SQLITE_OK) {
		int rc = sqlite3_step(in->stmt);

		note(in, rc == SQLITE_DONE ? SQLITE_OK : rc);
		note(in, sqlite3_reset(in->stmt));
	}
	in->at = 1;
	in->rows = 0;
}

/* Ends a row; false after a failure. */
static bool row_done(struct insert *in)
{
	if (in->single_cnt) {
		put_rows(in);
		if (--in->single_cnt == 0 && in->then) {
			sqlite3_finalize(in->stmt);
			in->stmt = g_steal_pointer(&in->then);
		}
	} else if (++in->rows == ROWS_AT_ONCE) {
		put_rows(in);
	}
	return in->rc == SQLITE_OK;
}

static int insert_end(struct insert *in)
{
	sqlite3_finalize(in->stmt);
	sqlite3_finalize(in->then);
	return in->rc;
}

static int write_meta(sqlite3 *db, const struct profile_info *info)
{
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
		{ "has_blame", NULL, info->has_blame },
		{ "has_storms", NULL, info->has_storms },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		put_text(&in, rows[i].key);
		if (rows[i].text)
			put_text(&in, rows[i].text);
		else
			put(&in, rows[i].value);
		if (!row_done(&in))
			break;
	}
	return insert_end(&in);
}

static int write_window(sqlite3 *db, const struct profile_info *info)
{
	struct insert in = insert_into(db, "INSERT INTO window VALUES(?, ?, ?, ?, ?, ?, ?, ?)");

	put(&in, PROFILE_WINDOW_ID);
	put(&in, info->start_unix_ns);
	put(&in, info->start_ns);
	put(&in, info->duration_ns);
	put(&in, info->switches);
	put(&in, info->tracer_cpu_ns);
	put(&in, info->tracer_peak_rss_bytes);
	if (info->has_bpf_ns)
		put(&in, info->tracer_bpf_ns);
	else
		put_null(&in);
	row_done(&in);
	return insert_end(&in);
}

static int write_losses(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_into(db, "INSERT INTO loss VALUES(?, ?, ?, ?, ?, ?)");

	for (guint i = 0; i < p->losses->len; i++) {
		const struct profile_loss *l = &g_array_index(p->losses, struct profile_loss, i);

		put(&in, i);
		put(&in, PROFILE_WINDOW_ID);
		put_text(&in, l->reason);
		put_text(&in, l->help);
		put(&in, l->count);
		put(&in, l->time_ns);
		if (!row_done(&in))
			break;
	}
	return insert_end(&in);
}

/* The row of a string in the string table, inserted at its first use; ids count from 0. */
static void put_string(struct insert *frame, struct insert *string, GHashTable *ids, const char *text)
{
	gpointer id_plus_1;

	if (!text) {
		put_null(frame);
		return;
	}
	/* Equal strings of a profile are one pointer. */
	id_plus_1 = g_hash_table_lookup(ids, text);
	if (!id_plus_1) {
		put(string, g_hash_table_size(ids));
		put_text(string, text);
		if (!row_done(string))
			note(frame, string->rc);
		id_plus_1 = GUINT_TO_POINTER(g_hash_table_size(ids) + 1);
		g_hash_table_insert(ids, (gpointer)text, id_plus_1);
	}
	put(frame, GPOINTER_TO_UINT(id_plus_1) - 1);
}

static int write_frames(sqlite3 *db, const struct profile *p)
{
	struct insert string = insert_into(db, "INSERT INTO string VALUES(?, ?)");
	struct insert in = insert_rows(db, "INSERT INTO frame VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", p->frames->len);
	GHashTable *ids = g_hash_table_new(NULL, NULL);

	note(&in, string.rc);
	for (guint i = 0; i < p->frames->len; i++) {
		const struct frame *f = profile_get_frame(p, i);

		put(&in, i);
		put_string(&in, &string, ids, f->name);
		put_string(&in, &string, ids, f->module);
		put(&in, f->offset);
		put_string(&in, &string, ids, f->file);
		put(&in, f->line);
		put(&in, f->kind);
		put(&in, f->why);
		put(&in, f->is_inline);
		if (!row_done(&in))
			break;
	}
	g_hash_table_unref(ids);
	sqlite3_finalize(string.stmt);
	return insert_end(&in);
}

static int write_stacks(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_rows(db, "INSERT INTO stack VALUES(?, ?, ?, ?, ?)", p->nodes->len - 1);

	for (guint i = 1; i < p->nodes->len; i++) {
		const struct stack_node *n = profile_get_node(p, i);

		put(&in, i);
		if (n->parent)
			put(&in, n->parent);
		else
			put_null(&in);
		put(&in, n->frame);
		put(&in, n->depth);
		put(&in, n->end);
		if (!row_done(&in))
			break;
	}
	return insert_end(&in);
}

static int write_threads(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_rows(db, "INSERT INTO thread VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
					   "?, ?)", p->threads->len);

	for (guint i = 0; i < p->threads->len; i++) {
		const struct thread *t = profile_thread(p, i);

		put(&in, i);
		put(&in, PROFILE_WINDOW_ID);
		put(&in, t->pid);
		put(&in, t->tid);
		put(&in, t->start_ns);
		put_text(&in, t->comm);
		put_text(&in, t->process);
		put(&in, t->flags);
		put(&in, t->from_ns);
		put(&in, t->to_ns);
		put(&in, t->on_cpu_ns);
		put(&in, t->blocked_ns);
		put(&in, t->runnable_ns);
		put(&in, t->preempted_ns);
		put(&in, t->filtered_ns);
		put(&in, t->lost_ns);
		put(&in, t->switches);
		if (!row_done(&in))
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

/* [exponent,count,...] from the first slot in use to the last; by hand, for it is most of the file's text. */
#define HIST_TEXT_BYTES (PROFILE_HIST_SLOTS * 11 + 8)
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

		put(&in, i);
		put_text(&in, lock_kind_text((enum lock_kind)o->kind));
		put(&in, o->is_private);
		put_text(&in, o->operation);
		put_text(&in, o->name);
		put_text(&in, o->place);
		put(&in, o->pid);
		put(&in, o->addr);
		if (o->holder_tid)
			put(&in, o->holder_tid);
		else
			put_null(&in);
		if (!row_done(&in))
			break;
	}
	return insert_end(&in);
}

static int write_waits(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_rows(db, "INSERT INTO wait VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", p->waits->len);
	char hist[ROWS_AT_ONCE][HIST_TEXT_BYTES];

	for (guint i = 0; i < p->waits->len; i++) {
		const struct wait *w = profile_wait(p, i);
		const uint32_t stacks[] = { w->user, w->kernel };

		put(&in, i);
		put(&in, w->thread);
		for (int s = 0; s < 2; s++) {
			if (stacks[s])
				put(&in, stacks[s]);
			else
				put_null(&in);
		}
		note(&in, sqlite3_bind_text(in.stmt, in.at++, (const char *)&w->state, 1, SQLITE_STATIC));
		put(&in, w->flags);
		put(&in, w->count);
		put(&in, w->blocked_ns);
		put(&in, w->runnable_ns);
		put(&in, w->preempted_ns);
		if (w->off_cpu_se_ns)
			put(&in, w->off_cpu_se_ns);
		else
			put_null(&in);
		if (is_plain(w)) {
			put_null(&in);
			put_null(&in);
		} else {
			put(&in, w->max_ns);
			hist_text(w->hist, hist[in.rows]);
			put_text(&in, hist[in.rows]);
		}
		if (w->object)
			put(&in, w->object - 1);
		else
			put_null(&in);
		if (!row_done(&in))
			break;
	}
	return insert_end(&in);
}

static int write_states(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_rows(db, "INSERT INTO state_total VALUES(?, ?, ?, ?, ?, ?, ?)", p->states->len);

	for (guint i = 0; i < p->states->len; i++) {
		const struct state_total *t = profile_state(p, i);

		put(&in, i);
		put(&in, t->thread);
		note(&in, sqlite3_bind_text(in.stmt, in.at++, (const char *)&t->state, 1, SQLITE_STATIC));
		put(&in, t->count);
		put(&in, t->blocked_ns);
		put(&in, t->runnable_ns);
		put(&in, t->preempted_ns);
		if (!row_done(&in))
			break;
	}
	return insert_end(&in);
}

static int write_sampling(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_into(db, "INSERT INTO sampling VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
	const struct profile_sampling *sampling = &p->info.sampling;

	put(&in, PROFILE_WINDOW_ID);
	put(&in, PROFILE_WINDOW_ID);
	put(&in, sampling->start_ns);
	put(&in, sampling->end_ns);
	put(&in, sampling->max_ns);
	put(&in, sampling->raised_cnt);
	put(&in, sampling->lowered_cnt);
	put(&in, sampling->over_cnt);
	put(&in, sampling->budget_ppm);
	if (sampling->has_used) {
		put(&in, sampling->used_ppm);
		put(&in, sampling->peak_ppm);
	} else {
		put_null(&in);
		put_null(&in);
	}
	row_done(&in);
	return insert_end(&in);
}

static void put_stack(struct insert *in, uint32_t stack)
{
	if (stack)
		put(in, stack);
	else
		put_null(in);
}

static int write_wakers(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_rows(db, "INSERT INTO waker VALUES(?, ?, ?, ?, ?, ?, ?, ?)", p->wakers->len);

	for (guint i = 0; i < p->wakers->len; i++) {
		const struct waker *w = profile_get_waker(p, i);

		put(&in, i);
		put(&in, w->pid);
		put(&in, w->tid);
		put(&in, w->start_ns);
		put_text(&in, w->comm);
		if (w->irq)
			put_text(&in, w->irq);
		else
			put_null(&in);
		put_stack(&in, w->user);
		put_stack(&in, w->kernel);
		if (!row_done(&in))
			break;
	}
	return insert_end(&in);
}

static int write_wakes(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_rows(db, "INSERT INTO wake VALUES(?, ?, ?, ?, ?, ?, ?)", p->wakes->len);
	char hist[ROWS_AT_ONCE][HIST_TEXT_BYTES];

	for (guint i = 0; i < p->wakes->len; i++) {
		const struct wake *w = profile_wake(p, i);

		put(&in, i);
		put(&in, w->wait);
		put(&in, w->waker);
		put(&in, w->count);
		put(&in, w->blocked_ns);
		put(&in, w->runnable_ns);
		hist_text(w->hist, hist[in.rows]);
		put_text(&in, hist[in.rows]);
		if (!row_done(&in))
			break;
	}
	return insert_end(&in);
}

static int write_chains(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_rows(db, "INSERT INTO chain VALUES(?, ?, ?, ?, ?)", p->chains->len);

	for (guint i = 0; i < p->chains->len; i++) {
		const struct chain_node *c = profile_get_chain(p, i);

		put(&in, i);
		put(&in, c->waker);
		if (c->next)
			put(&in, c->next - 1);
		else
			put_null(&in);
		put(&in, c->end);
		put(&in, c->loop_steps);
		if (!row_done(&in))
			break;
	}
	return insert_end(&in);
}

static int write_stories(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_rows(db, "INSERT INTO story VALUES(?, ?, ?, ?, ?, ?, ?)", p->stories->len);

	for (guint i = 0; i < p->stories->len; i++) {
		const struct story *s = profile_story(p, i);

		put(&in, i);
		put(&in, s->wake);
		put(&in, s->chain);
		put(&in, s->count);
		put(&in, s->blocked_ns);
		put(&in, s->runnable_ns);
		put(&in, s->rest_ns);
		if (!row_done(&in))
			break;
	}
	return insert_end(&in);
}

static int write_hops(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_into(db, "INSERT INTO hop VALUES(?, ?, ?, ?, ?, ?)");
	uint64_t id = 0;

	for (guint i = 0; i < p->stories->len; i++) {
		for (unsigned k = 0; k < PROFILE_CHAIN_MAX; k++) {
			const struct hop *hop = &profile_story(p, i)->hop[k];

			if (!hop->ran_ns && !hop->runnable_ns && !hop->earlier_ns)
				continue;
			put(&in, id++);
			put(&in, i);
			put(&in, k + 1);
			put(&in, hop->ran_ns);
			put(&in, hop->runnable_ns);
			put(&in, hop->earlier_ns);
			if (!row_done(&in))
				return insert_end(&in);
		}
	}
	return insert_end(&in);
}

static int write_blames(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_rows(db, "INSERT INTO blame VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", p->blames->len);

	for (guint i = 0; i < p->blames->len; i++) {
		const struct blame *b = profile_blame(p, i);

		put(&in, i);
		put(&in, b->thread);
		put(&in, b->kind);
		put(&in, b->pid);
		put(&in, b->tid);
		put_text(&in, b->comm);
		put(&in, b->count);
		put(&in, b->runnable_ns);
		put(&in, b->preempted_ns);
		if (!row_done(&in))
			break;
	}
	return insert_end(&in);
}

static int write_storms(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_into(db, "INSERT INTO storm VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");

	for (guint i = 0; i < p->storms->len; i++) {
		const struct storm *s = profile_storm(p, i);

		put(&in, i);
		put(&in, s->waker);
		put(&in, s->event_cnt);
		put(&in, s->call_cnt);
		put(&in, s->woken_cnt);
		put(&in, s->most_cnt);
		put(&in, s->ended_cnt);
		put(&in, s->again_cnt);
		put(&in, s->cpu_ns);
		put(&in, s->again_ns);
		put(&in, s->delay_ns);
		if (!row_done(&in))
			break;
	}
	return insert_end(&in);
}

int profile_write_rows(sqlite3 *db, const struct profile *p)
{
	int (*const tables[])(sqlite3 *, const struct profile *) = {
		write_losses, write_frames, write_stacks, write_threads, write_states, write_objects, write_waits, write_sampling,
		write_wakers, write_wakes, write_chains, write_stories, write_hops, write_blames, write_storms,
	};
	int rc = write_meta(db, &p->info);

	if (rc == SQLITE_OK)
		rc = write_window(db, &p->info);
	for (size_t i = 0; rc == SQLITE_OK && i < G_N_ELEMENTS(tables); i++)
		rc = tables[i](db, p);
	return rc;
}
