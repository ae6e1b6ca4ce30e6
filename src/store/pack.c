/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "store/pack.h"

#include "base/each.h"
#include "base/order.h"
#include "profile/profile_schema.h"
#include "store/blob.h"
#include "store/pack_part.h"

struct packer {
	struct dict_writer *w;
	const struct profile *p;
	GByteArray *into;
	GArray *threads, *waits, *samples, *wakes;	/* struct pack_row */
	uint32_t *thread_id;	/* for each thread of the profile */
	uint32_t *skip;		/* for each thread: the number of earlier rows with the same identity */
	uint32_t *wait_at;	/* for each wait of the profile: its position in the output */
	struct pack_sums *sums;	/* for each thread */
};

ORDER(by_id, struct pack_row, ORDER_LOW(id) ORDER_LOW(at))

static GArray *sorted_rows(GArray *rows)
{
	g_array_sort(rows, by_id);
	return rows;
}

static void pack_info(struct packer *k)
{
	const struct profile_info *info = &k->p->info;

#define X(member) blob_put(k->into, (uint64_t)info->member);
	PACK_INFO_NUMBERS(X)
#undef X
#define X(member) blob_put(k->into, dict_writer_string(k->w, info->member));
	PACK_INFO_STRINGS(X)
#undef X
}

static void order_threads(struct packer *k)
{
	k->threads = g_array_new(FALSE, FALSE, sizeof(struct pack_row));
	for (guint i = 0; i < k->p->threads->len; i++) {
		const struct pack_row row = { dict_writer_thread(k->w, profile_thread(k->p, i)), i };

		k->thread_id[i] = row.id;
		g_array_append_val(k->threads, row);
	}
	sorted_rows(k->threads);
	for (guint i = 1; i < k->threads->len; i++) {
		const struct pack_row *row = &g_array_index(k->threads, struct pack_row, i), *last = row - 1;

		k->skip[row->at] = row->id == last->id ? k->skip[last->at] + 1 : 0;
	}
}

static void order_waits(struct packer *k)
{
	k->waits = g_array_new(FALSE, FALSE, sizeof(struct pack_row));
	EACH_ROW(i, const struct wait, w, k->p->waits) {
		const struct pack_row row = { dict_writer_key(k->w, k->thread_id[w->thread], w->user, w->kernel,
							     w->object, w->state, w->flags),
					      i };

		if (w->state != ON_CPU_STATE)
			g_array_append_val(k->waits, row);
	}
	sorted_rows(k->waits);
	for (guint i = 0; i < k->waits->len; i++) {
		uint32_t at = g_array_index(k->waits, struct pack_row, i).at;

		k->wait_at[at] = i;
		k->sums[profile_wait(k->p, at)->thread].last_wait = i + 1;
	}
	k->samples = g_array_new(FALSE, FALSE, sizeof(struct pack_row));
	EACH_ROW(i, const struct on_cpu_sample, s, k->p->on_cpu) {
		const struct pack_row row = {
			dict_writer_key(k->w, k->thread_id[s->thread], s->user, s->kernel, 0, ON_CPU_STATE, 0), i
		};

		g_array_append_val(k->samples, row);
	}
	sorted_rows(k->samples);
}

/* Writes one column; `row` is the model's. */
#define COLUMN(rows, type, table, put)                                                                                 \
	for (guint i = 0; i < k->rows->len; i++) {                                                                     \
		const type *row = &g_array_index(k->p->table, type, g_array_index(k->rows, struct pack_row, i).at);    \
                                                                                                                       \
		put;                                                                                                   \
	}

static void pack_ids(GByteArray *into, const GArray *rows)
{
	uint32_t last = 0;

	blob_put(into, rows->len);
	for (guint i = 0; i < rows->len; i++) {
		uint32_t id = g_array_index(rows, struct pack_row, i).id;

		blob_put(into, id - last);
		last = id;
	}
}

static void pack_threads(struct packer *k)
{
	const uint64_t from_ns = k->p->info.start_ns, to_ns = from_ns + k->p->info.duration_ns;

	pack_ids(k->into, k->threads);
	COLUMN(threads, struct thread, threads, blob_put(k->into, row->flags & ~(uint32_t)THREAD_KERNEL));
	COLUMN(threads, struct thread, threads, blob_put_diff(k->into, row->from_ns, from_ns));
	COLUMN(threads, struct thread, threads, blob_put_diff(k->into, row->to_ns, to_ns));
	COLUMN(threads, struct thread, threads, blob_put(k->into, row->on_cpu_ns));
	COLUMN(threads, struct thread, threads, blob_put(k->into, row->filtered_ns));
	COLUMN(threads, struct thread, threads, blob_put(k->into, row->lost_ns));
	COLUMN(threads, struct thread, threads, blob_put(k->into, row->switches));
}

/* The decoder knows the error, so it knows the shift. */
static unsigned time_shift(const struct wait *w)
{
	return pack_shift(pack_error_value(pack_error(w->off_cpu_se_ns)));
}

static unsigned count_shift(const struct wait *w)
{
	return pack_shift(pack_error_value(pack_error(w->count_se)));
}

static void pack_max(GByteArray *into, const struct wait *w)
{
	if (w->off_cpu_se_ns)
		blob_put_short(into, w->max_ns, PACK_MAX_BITS);
	else
		blob_put_diff(into, w->max_ns, pack_expected_max(w));
}

static void pack_waits(struct packer *k)
{
	pack_ids(k->into, k->waits);
	COLUMN(waits, struct wait, waits, blob_put(k->into, k->skip[row->thread]));
	COLUMN(waits, struct wait, waits, blob_put(k->into, pack_error(row->off_cpu_se_ns)));
	COLUMN(waits, struct wait, waits, blob_put(k->into, pack_error(row->count_se)));
	COLUMN(waits, struct wait, waits, blob_put_rough(k->into, row->count, count_shift(row)));
	COLUMN(waits, struct wait, waits, blob_put_rough(k->into, row->runnable_ns, time_shift(row)));
	COLUMN(waits, struct wait, waits, blob_put_rough(k->into, row->preempted_ns, time_shift(row)));
	for (guint i = 0; i < k->waits->len; i++) {
		const struct wait *w = profile_wait(k->p, g_array_index(k->waits, struct pack_row, i).at);
		struct pack_sums *s = &k->sums[w->thread];
		bool is_last = s->last_wait == i + 1;

		if (is_last)
			blob_put_diff(k->into, w->blocked_ns,
				      pack_expected_blocked(s, profile_thread(k->p, w->thread), w));
		else
			blob_put_rough(k->into, w->blocked_ns, time_shift(w));
		pack_sums_add(s, w);
	}
	COLUMN(waits, struct wait, waits, pack_max(k->into, row));
	COLUMN(waits, struct wait, waits,
	       pack_hist_shape(k->into, row->hist, row->count, profile_hist_slot(row->max_ns)));
	COLUMN(waits, struct wait, waits, pack_hist_counts(k->into, row->hist, row->count));
}

/* Writes what of the accounts does not follow from the waits. */
static void pack_rest(struct packer *k)
{
	for (guint i = 0; i < k->threads->len; i++) {
		uint32_t at = g_array_index(k->threads, struct pack_row, i).at;
		const struct thread *t = profile_thread(k->p, at);

		blob_put_diff(k->into, t->blocked_ns, k->sums[at].blocked_ns);
		blob_put_diff(k->into, t->runnable_ns, k->sums[at].runnable_ns);
		blob_put_diff(k->into, t->preempted_ns, k->sums[at].preempted_ns);
	}
}

static bool is_total(const struct state_total *a, const struct state_total *b)
{
	return a->count == b->count && a->blocked_ns == b->blocked_ns && a->runnable_ns == b->runnable_ns &&
	       a->preempted_ns == b->preempted_ns;
}

/* Writes the totals that differ from the sums of waits, by position. */
static void pack_states(struct packer *k)
{
	g_autofree struct state_total *all = g_new0(struct state_total, (gsize)k->p->threads->len * PACK_STATE_CNT + 1);
	uint64_t last = 0;

	blob_put(k->into, k->p->states->len != 0);
	EACH_ROW(i, const struct state_total, t, k->p->states) {
		struct state_total *into = &all[(gsize)t->thread * PACK_STATE_CNT + pack_state_at(t->state)];

		ADD_MEMBERS(into, t, count, blocked_ns, runnable_ns, preempted_ns);
	}
	for (guint i = 0; i < k->threads->len && k->p->states->len; i++) {
		uint32_t at = g_array_index(k->threads, struct pack_row, i).at;

		for (unsigned n = 0; n < PACK_STATE_CNT; n++) {
			const struct state_total *t = &all[(gsize)at * PACK_STATE_CNT + n],
						 *expected = &k->sums[at].states[n];
			uint64_t place = (uint64_t)i * PACK_STATE_CNT + n + 1;

			if (is_total(t, expected))
				continue;
			blob_put(k->into, place - last);
			blob_put_diff(k->into, t->count, expected->count);
			blob_put_diff(k->into, t->blocked_ns, expected->blocked_ns);
			blob_put_diff(k->into, t->runnable_ns, expected->runnable_ns);
			blob_put_diff(k->into, t->preempted_ns, expected->preempted_ns);
			last = place;
		}
	}
	blob_put(k->into, 0);
}

static void pack_samples(struct packer *k)
{
	uint64_t last_ns = 0;

	pack_ids(k->into, k->samples);
	COLUMN(samples, struct on_cpu_sample, on_cpu, blob_put(k->into, k->skip[row->thread]));
	COLUMN(samples, struct on_cpu_sample, on_cpu, blob_put(k->into, row->samples));
	COLUMN(samples, struct on_cpu_sample, on_cpu,
	       (blob_put_diff(k->into, row->weight_ns, last_ns), last_ns = row->weight_ns));
}

/* What the wakers so far have left of the wait; the last waker takes it. */
static struct pack_rest *rests_of(const struct packer *k, const GArray *rows)
{
	struct pack_rest *rests = g_new0(struct pack_rest, rows->len + 1);

	EACH_ROW(i, const struct pack_row, row, rows) {
		const struct wake *w = profile_wake(k->p, row->at), *before = i ? profile_wake(k->p, row[-1].at) : NULL;
		const struct wait *of = profile_wait(k->p, w->wait);

		if (i && row[-1].id == row->id)
			rests[i] = pack_rest_less(&rests[i - 1], before);
		else
			rests[i] = (struct pack_rest){ of->count, of->blocked_ns, of->runnable_ns };
	}
	return rests;
}

#define WAKES(put)                                                                                                     \
	for (guint i = 0; i < rows->len; i++) {                                                                        \
		const struct pack_row *row = &g_array_index(rows, struct pack_row, i);                                 \
		const struct wake *w = profile_wake(k->p, row->at);                                                    \
		const struct wait *of = profile_wait(k->p, w->wait);                                                   \
		bool is_last = i + 1 == rows->len || row[1].id != row->id;                                             \
                                                                                                                       \
		put;                                                                                                   \
	}

/* Writes 0 for a last waker that takes the remainder; other values are never a byte of 0. */
static void pack_wake_number(GByteArray *into, uint64_t value, unsigned shift, bool is_last, uint64_t rest)
{
	if (is_last && value == rest)
		blob_put(into, 0);
	else if (is_last && !shift)
		blob_put(into, value + 1);
	else if (is_last && !value)
		blob_put(into, BLOB_ROUGH_ESCAPE), blob_put(into, 0);
	else
		blob_put_rough(into, value, shift);
}

static void pack_wakes(struct packer *k)
{
	GArray *rows = k->wakes = g_array_new(FALSE, FALSE, sizeof(struct pack_row));

	for (guint i = 0; i < k->p->wakes->len; i++) {
		const struct pack_row row = { k->wait_at[profile_wake(k->p, i)->wait], i };

		g_array_append_val(rows, row);
	}
	pack_ids(k->into, sorted_rows(rows));
	g_autofree struct pack_rest *rests = rests_of(k, rows);

	COLUMN(wakes, struct wake, wakes, blob_put(k->into, dict_writer_waker(k->w, row->waker)));
	WAKES(pack_wake_number(k->into, w->count, count_shift(of), is_last, rests[i].count));
	WAKES(pack_wake_number(k->into, w->blocked_ns, time_shift(of), is_last, rests[i].blocked_ns));
	WAKES(pack_wake_number(k->into, w->runnable_ns, time_shift(of), is_last, rests[i].runnable_ns));
	COLUMN(wakes, struct wake, wakes, pack_hist_shape(k->into, row->hist, row->count, pack_wake_top(row)));
	COLUMN(wakes, struct wake, wakes, pack_hist_counts(k->into, row->hist, row->count));
}

static uint64_t number_in(struct dict_writer *w, const struct column *c, const void *row, const uint32_t *thread_at)
{
	const uint64_t value = column_value(c, row);

	if (c->kind == COLUMN_TEXT)
		return dict_writer_string(w, *(const char *const *)((const char *)row + c->at));
	if (c->kind != COLUMN_ID)
		return value;
	if (c->of == TABLE_OBJECT)
		return dict_writer_object(w, (uint32_t)value + 1);
	return c->of == TABLE_THREAD ? thread_at[value] : dict_writer_waker(w, (uint32_t)value);
}

void pack_row(struct dict_writer *w, enum table_id id, const void *row, const uint32_t *thread_at, GByteArray *into)
{
	const struct profile_table *t = &profile_tables[id];

	for (unsigned n = 0; n < t->column_cnt; n++)
		if (t->columns[n].kind != COLUMN_WINDOW)
			blob_put(into, number_in(w, &t->columns[n], row, thread_at));
}

void pack_table(struct dict_writer *w, const struct profile *p, enum table_id id, const uint32_t *thread_at,
		GByteArray *into)
{
	const GArray *rows = profile_table_rows(&profile_tables[id], p);

	blob_put(into, rows->len);
	for (guint i = 0; i < rows->len; i++)
		pack_row(w, id, rows->data + i * profile_tables[id].row_bytes, thread_at, into);
}

static void pack_crowd(struct packer *k)
{
	g_autofree uint32_t *thread_at = g_new0(uint32_t, k->p->threads->len + 1);

	for (guint i = 0; i < k->threads->len; i++)
		thread_at[g_array_index(k->threads, struct pack_row, i).at] = i;
	pack_table(k->w, k->p, TABLE_BLAME, thread_at, k->into);
	pack_table(k->w, k->p, TABLE_STORM, thread_at, k->into);
	pack_table(k->w, k->p, TABLE_LOSS, thread_at, k->into);
}

bool pack_rows(struct dict_writer *w, const struct profile *p, GByteArray *into, GError **error)
{
	struct packer k = { .w = w, .p = p, .into = into };
	const guint rows[] = { p->threads->len, p->waits->len,	p->on_cpu->len, p->wakes->len,
			       p->blames->len,	p->storms->len, p->losses->len, p->tcp_waits->len,
			       p->chains->len,	p->stories->len };

	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
		if (rows[i] > PACK_ROWS_MAX)
			return store_fail(error, STORE_ERROR_TOO_MUCH, "a window has %u rows, above %u", rows[i],
					  PACK_ROWS_MAX);
	k.thread_id = g_new0(uint32_t, p->threads->len + 1);
	k.skip = g_new0(uint32_t, p->threads->len + 1);
	k.sums = g_new0(struct pack_sums, p->threads->len + 1);
	k.wait_at = g_new0(uint32_t, p->waits->len + 1);
	order_threads(&k);
	order_waits(&k);
	blob_put(into, PACK_VERSION);
	pack_info(&k);
	pack_threads(&k);
	pack_waits(&k);
	pack_rest(&k);
	pack_states(&k);
	pack_samples(&k);
	pack_wakes(&k);
	pack_crowd(&k);
	pack_longest(p, k.waits, k.wakes, into);
	if (p->info.has_tasks)
		pack_tasks(w, p, into);
	pack_network(w, p, into);
	pack_chains(w, p, k.wakes, into);
	g_array_unref(k.wakes);
	g_array_unref(k.threads);
	g_array_unref(k.waits);
	g_array_unref(k.samples);
	g_free(k.thread_id);
	g_free(k.skip);
	g_free(k.sums);
	g_free(k.wait_at);
	return true;
}
