/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/profile.h"

#include "features/requests/rows.h"
#include "features/slices/rows_build.h"
#include "features/tasks/rows.h"
#include "profile/profile_file.h"
#include "profile/profile_rows.h"

G_DEFINE_QUARK(profile-file-error, profile_file_error)

/* Adds to a total that must fit in 63 bits, so that SQL can sum it, too. */
static bool add_to_total(uint64_t *into, uint64_t value)
{
	if (value > (uint64_t)INT64_MAX - *into)
		return false;
	*into += value;
	return true;
}

/* The exclusive upper limit of the column's numbers. */
static uint64_t limit_of(const struct profile *p, const struct column *c)
{
	return c->kind == COLUMN_ID ? (uint64_t)profile_table_rows(&profile_tables[c->of], p)->len + c->plus_1 :
				      column_max(c) + 1;
}

static bool has_limit(const struct column *c)
{
	return c->kind == COLUMN_NUMBER || c->kind == COLUMN_NS || c->kind == COLUMN_ID ||
	       (c->kind == COLUMN_ODD && c->max);
}

/* Checks one column of all rows. *sum: total so far of the columns that are summed together. */
static bool check_column(const struct profile *p, const struct profile_table *t, const struct column *c, uint64_t *sum,
			 GError **error)
{
	const bool is_of_before = c->kind == COLUMN_ID && &profile_tables[c->of] == t;
	const uint64_t limit = has_limit(c) ? limit_of(p, c) : UINT64_MAX;
	const GArray *rows = profile_table_rows(t, p);
	bool fits = true;

	for (guint i = (guint)t->first_id; i < rows->len; i++) {
		uint64_t value = column_value(c, rows->data + i * t->row_bytes);

		if (value >= (is_of_before ? i + c->plus_1 : limit) ||
		    (c->kind == COLUMN_STATE && !column_has_state(c, p, (char)value)))
			return profile_damaged(error, "row %u of table \"%s\" has an invalid %s",
					       i + 1 - (guint)t->first_id, t->name, c->name);
		if (c->merge == MERGE_SUM)
			fits = fits && add_to_total(sum, value);
	}
	return fits || profile_damaged(error, "%s of table \"%s\" adds up to more than 63 bits", c->name, t->name);
}

static bool check_table(const struct profile *p, const struct profile_table *t, GError **error)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < t->column_cnt && t->array; i++) {
		const struct column *c = &t->columns[i];

		sum = c->adds_on ? sum : 0;
		if ((has_limit(c) || c->kind == COLUMN_STATE) && !check_column(p, t, c, &sum, error))
			return false;
	}
	return true;
}

static bool check_info(const struct profile *p, const struct profile_table *t, GError **error)
{
	for (unsigned i = 0; i < t->column_cnt; i++) {
		const struct column *c = &t->columns[i];

		if (has_limit(c) && column_value(c, (const char *)&p->info + t->info_at) >= limit_of(p, c))
			return profile_damaged(error, "%s of table \"%s\" is out of range", c->name, t->name);
	}
	return true;
}

static bool check_tables(const struct profile *p, GError **error)
{
	for (int i = 0; i < TABLE_CNT; i++) {
		const struct profile_table *t = &profile_tables[i];

		if (!(t->is_of_info || i == TABLE_META ? check_info(p, t, error) : check_table(p, t, error)))
			return false;
	}
	return true;
}

static bool check_threads(const struct profile *p, GError **error)
{
	uint64_t observed_ns = 0;

	EACH_ROW(i, const struct thread, t, p->threads) {
		if (t->from_ns > t->to_ns)
			return profile_damaged(error, "thread %u ends before it begins", i);
		if (!add_to_total(&observed_ns, thread_observed_ns(t)))
			return profile_damaged(error, "the times of its threads add up to more than 292 years");
	}
	return true;
}

static bool check_stacks(const struct profile *p, GError **error)
{
	EACH_ROW(i, const struct frame, f, p->frames)
		if (!f->name != (f->why != FRAME_NAMED))
			return profile_damaged(error, "frame %u has a name and a reason for none, or neither", i);
	for (guint i = 1; i < p->nodes->len; i++) {
		const struct stack_node *n = profile_get_node(p, i);

		if (n->depth != profile_get_node(p, n->parent)->depth + 1)
			return profile_damaged(error, "stack %u has no valid depth", i);
	}
	return true;
}

static bool check_longest(const struct profile *p, GError **error)
{
	EACH_ROW(i, const struct wait, w, p->waits)
		if (w->max_waker > p->wakers->len || w->max_start_unix_ns > PROFILE_NS_MAX)
			return profile_damaged(error, "the longest wait of row %u has no valid waker or time", i);
	return true;
}

/* Subtracts the parts from what is left of a row. False: they exceed it. */
static bool take_parts(uint64_t *left, const uint64_t *parts, unsigned cnt)
{
	for (unsigned i = 0; i < cnt; i++) {
		if (parts[i] > left[i])
			return false;
		left[i] -= parts[i];
	}
	return true;
}

/* For each row of a table, three numbers of which rows of another table take parts. For g_free(). */
#define LEFT_OF(table, type, a, b, c)                                                                  \
	({                                                                                             \
		uint64_t(*left_)[3] = g_malloc0_n((gsize)(table)->len + 1, sizeof(*left_));            \
                                                                                                       \
		EACH_ROW(i_, const struct type, row, table)                                            \
			memcpy(left_[i_], ((const uint64_t[]){ a, b, c }), sizeof(*left_));            \
		left_;                                                                                 \
	})

/* The sleeps that wakers ended must not exceed the wait's times. */
static bool check_wakes(const struct profile *p, GError **error)
{
	g_autofree uint64_t(*left)[3] = LEFT_OF(p->waits, wait, row->count, row->blocked_ns, row->runnable_ns);

	EACH_ROW(i, const struct wake, w, p->wakes)
		if (!take_parts(left[w->wait], (const uint64_t[]){ w->count, w->blocked_ns, w->runnable_ns }, 3))
			return profile_damaged(error, "waking %u is more than its wait", i);
	return true;
}

/* A story's steps and rest must equal its time, and the stories of a wake must not exceed the wake. */
static bool check_stories(const struct profile *p, GError **error)
{
	g_autofree uint64_t(*left)[3] = LEFT_OF(p->wakes, wake, row->count, row->blocked_ns, row->runnable_ns);

	EACH_ROW(i, const struct story, s, p->stories) {
		uint64_t sum_ns = s->rest_ns;

		for (unsigned k = 0; k < PROFILE_CHAIN_MAX; k++)
			if (!add_to_total(&sum_ns, s->hop[k].ran_ns) || !add_to_total(&sum_ns, s->hop[k].runnable_ns) ||
			    !add_to_total(&sum_ns, s->hop[k].earlier_ns))
				return profile_damaged(error, "the times of story %u add up to more than 292 years", i);
		if (sum_ns != s->blocked_ns ||
		    !take_parts(left[s->wake], (const uint64_t[]){ s->count, s->blocked_ns, s->runnable_ns }, 3))
			return profile_damaged(error, "the times of story %u are not its waking's", i);
	}
	return true;
}

/* Blame must not exceed the thread's time on run queues. */
static bool check_blames(const struct profile *p, GError **error)
{
	g_autofree uint64_t(*left)[3] = LEFT_OF(p->threads, thread, row->runnable_ns, row->preempted_ns, 0);

	EACH_ROW(i, const struct blame, b, p->blames) {
		if (b->kind < BLAME_THREAD)
			return profile_damaged(error, "blame %u has no valid kind", i);
		if (!take_parts(left[b->thread], (const uint64_t[]){ b->runnable_ns, b->preempted_ns }, 2))
			return profile_damaged(error, "blame %u is for more than its thread waited for a CPU", i);
	}
	return true;
}

static bool check_storms(const struct profile *p, GError **error)
{
	EACH_ROW(i, const struct storm, s, p->storms)
		if (s->ended_cnt > s->woken_cnt || s->again_cnt > s->ended_cnt || s->most_cnt > s->woken_cnt)
			return profile_damaged(error, "storm %u is more than it woke", i);
	return true;
}

static bool check_on_cpu(const struct profile *p, GError **error)
{
	EACH_ROW(i, const struct on_cpu_sample, s, p->on_cpu)
		if (!s->samples || !s->weight_ns)
			return profile_damaged(error, "on-CPU row %u has no samples", i);
	return p->info.on_cpu_hz || !p->on_cpu->len || profile_damaged(error, "it has samples and no rate");
}

bool profile_check(const struct profile *p, GError **error)
{
	if (profile_most_rows(p) > PROFILE_ROWS_MAX)
		return profile_damaged(error, "it has too many threads, frames, stacks or waits");
	return check_tables(p, error) && check_threads(p, error) && check_stacks(p, error) && check_longest(p, error) &&
	       check_wakes(p, error) && check_stories(p, error) && check_blames(p, error) && check_storms(p, error) &&
	       check_on_cpu(p, error) && slices_check(p, error) && requests_check(p, error) && tasks_check(p, error);
}
