/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/looks.h"

#include <math.h>

#include "base/hash.h"

struct row_key {
	uint32_t thread, user, kernel;
	uint32_t state;
};

struct row {
	struct row_key key;
	uint64_t sure_ns;	/* in periods within a single wait */
	uint64_t seen_ns;	/* in other periods */
	uint64_t seen_cnt;
};

/* Each group is scaled to its known total; running is no wait. */
enum group { BLOCKED, QUEUED, GROUPS, RUNNING = GROUPS };

struct watched {
	struct thread thread;
	/* its period is not summed yet: the next look shows whether it lies within one wait */
	struct look last;
	bool has_last;
	uint64_t unsure_cnt;	/* periods that may contain several states */
	double unsure_ns2;	/* sum of squares of these */
	uint64_t sure_ns[GROUPS], seen_ns[GROUPS];
	struct looks_account account;
};

static enum group group_of(uint32_t state)
{
	return state == LOOK_STATE_RUNS ? RUNNING : state == 'R' ? QUEUED : BLOCKED;
}

struct looks {
	struct profile *profile;
	GArray *threads;	/* struct watched */
	GArray *rows;		/* struct row */
	GHashTable *index;	/* struct row_key -> row + 1 */
	/* struct on_cpu_sample; `thread` is a number of ours until looks_finish() */
	GArray *ran;
	GHashTable *ran_index;	/* struct row_key -> index in `ran` + 1 */
};

HASH_BYTES(key, struct row_key)

struct looks *looks_new(struct profile *p)
{
	struct looks *l = g_new0(struct looks, 1);

	l->profile = p;
	l->threads = g_array_new(FALSE, TRUE, sizeof(struct watched));
	l->rows = g_array_new(FALSE, TRUE, sizeof(struct row));
	l->index = g_hash_table_new_full(key_hash, key_equal, g_free, NULL);
	l->ran = g_array_new(FALSE, TRUE, sizeof(struct on_cpu_sample));
	l->ran_index = g_hash_table_new_full(key_hash, key_equal, g_free, NULL);
	return l;
}

FREES(looks_free, struct looks, l, g_array_unref(l->threads); g_array_unref(l->rows); g_hash_table_destroy(l->index);
      g_array_unref(l->ran); g_hash_table_destroy(l->ran_index))

uint32_t looks_thread(struct looks *l, const struct thread *t)
{
	struct watched w = { .thread = *t };

	g_array_append_val(l->threads, w);
	return l->threads->len - 1;
}

static struct row *row_of(struct looks *l, const struct row_key *key)
{
	guint known = GPOINTER_TO_UINT(g_hash_table_lookup(l->index, key));

	if (!known) {
		struct row row = { .key = *key };

		g_array_append_val(l->rows, row);
		known = l->rows->len;
		g_hash_table_insert(l->index, g_memdup2(key, sizeof(*key)), GUINT_TO_POINTER(known));
	}
	return &g_array_index(l->rows, struct row, known - 1);
}

/* stood_on: nor did it run until the following look. */
static void sum_last(struct looks *l, uint32_t thread, bool stood_on)
{
	struct watched *w = &g_array_index(l->threads, struct watched, thread);
	const struct look *look = &w->last;
	const struct row_key key = { thread, look->user, look->kernel, look->state };
	enum group group = group_of(look->state);

	if (group == RUNNING) {
		w->unsure_cnt++;
		w->unsure_ns2 += (double)look->period_ns * (double)look->period_ns;
		return;
	}
	struct row *row = row_of(l, &key);

	if (look->has_stood && stood_on && group == BLOCKED) {
		row->sure_ns += look->period_ns;
		w->sure_ns[group] += look->period_ns;
		return;
	}
	row->seen_ns += look->period_ns;
	row->seen_cnt++;
	w->seen_ns[group] += look->period_ns;
	w->unsure_cnt++;
	w->unsure_ns2 += (double)look->period_ns * (double)look->period_ns;
}

void looks_see(struct looks *l, uint32_t thread, const struct look *look)
{
	struct watched *w = &g_array_index(l->threads, struct watched, thread);

	if (w->has_last)
		sum_last(l, thread, look->has_stood);
	w->last = *look;
	w->has_last = true;
}

void looks_on_cpu(struct looks *l, uint32_t thread, uint32_t user, uint32_t kernel, uint64_t weight_ns)
{
	const struct row_key key = { thread, user, kernel, LOOK_STATE_RUNS };
	guint known = GPOINTER_TO_UINT(g_hash_table_lookup(l->ran_index, &key));

	if (!known) {
		const struct on_cpu_sample s = { .thread = thread, .user = user, .kernel = kernel };

		g_array_append_val(l->ran, s);
		known = l->ran->len;
		g_hash_table_insert(l->ran_index, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(known));
	}
	struct on_cpu_sample *s = &g_array_index(l->ran, struct on_cpu_sample, known - 1);

	s->samples++;
	s->weight_ns += weight_ns;
}

void looks_account(struct looks *l, uint32_t thread, const struct looks_account *a)
{
	g_array_index(l->threads, struct watched, thread).account = *a;
}

/* Splits the thread's time by group. Without the kernel's run-queue count, looks estimate that part. */
static void settle_thread(struct watched *w)
{
	const struct looks_account *a = &w->account;
	struct thread *t = &w->thread;
	uint64_t observed_ns, queue_ns = a->queue_ns;

	t->to_ns = MAX(a->to_ns, t->from_ns);
	observed_ns = thread_observed_ns(t);
	t->on_cpu_ns = MIN(a->on_cpu_ns, observed_ns);
	if (!a->has_exact) {
		uint64_t seen_ns = w->seen_ns[QUEUED] + w->sure_ns[QUEUED];

		queue_ns = seen_ns > t->on_cpu_ns ? seen_ns - t->on_cpu_ns : 0;
	}
	t->runnable_ns = MIN(queue_ns, observed_ns - t->on_cpu_ns);
	t->blocked_ns = observed_ns - t->on_cpu_ns - t->runnable_ns;
	t->switches = a->switches;
	t->flags |= a->flags;
}

/* The standard error of the row's part of the thread's unsure periods. Never 0, because sampling is never certain. */
static double seen_error_ns(const struct watched *w, const struct row *row)
{
	double n = (double)w->unsure_cnt, share = ((double)row->seen_cnt + 1) / (n + 2);

	return row->seen_cnt ? sqrt(w->unsure_ns2 * share * (1 - share)) : 0;
}

static uint64_t scaled(uint64_t ns, double ratio)
{
	return (uint64_t)llround((double)ns * ratio);
}

/* What the group's rows share beyond sure periods, and its ratio to what was seen in them. */
static uint64_t rest_ns(const struct watched *w, enum group group, double *ret_ratio)
{
	uint64_t all = group == QUEUED ? w->thread.runnable_ns : w->thread.blocked_ns;
	uint64_t rest = all > w->sure_ns[group] ? all - w->sure_ns[group] : 0;

	*ret_ratio = w->seen_ns[group] ? (double)rest / (double)w->seen_ns[group] : 0;
	return all;
}

static void add_wait(struct looks *l, uint32_t thread, const struct row *row, uint64_t ns, double error_ns)
{
	bool is_queued = row->key.state == 'R';
	struct wait wait = {
		.thread = thread, .user = row->key.user, .kernel = row->key.kernel, .state = (uint8_t)row->key.state,
		.off_cpu_se_ns = (uint64_t)llround(error_ns),
	};

	if (is_queued)
		wait.runnable_ns = ns;
	else
		wait.blocked_ns = ns;
	profile_add_wait(l->profile, &wait);
}

/* The part of each group that no row has yet; the last row gets the rounding remainder. */
struct left {
	uint64_t ns[GROUPS];
	uint32_t rows[GROUPS];
};

static void finish_row(struct looks *l, const struct row *row, struct left *left)
{
	const struct watched *w = &g_array_index(l->threads, struct watched, row->key.thread);
	enum group group = group_of(row->key.state);
	double ratio;
	uint64_t all = rest_ns(w, group, &ratio);
	uint64_t ns = MIN(row->sure_ns, all) + scaled(row->seen_ns, ratio);

	left->rows[group]--;
	ns = MIN(ns, left->ns[group]);
	if (!left->rows[group] && ratio > 0)
		ns = left->ns[group];
	left->ns[group] -= ns;
	if (ns)
		add_wait(l, row->key.thread, row, ns, MIN(seen_error_ns(w, row) * ratio, (double)all));
}

/* A thread that was never seen, though it existed: its total is known, its stacks are not. */
static void add_rest(struct looks *l, uint32_t thread, enum group group, uint64_t ns)
{
	const struct watched *w = &g_array_index(l->threads, struct watched, thread);
	bool is_kernel = w->thread.flags & THREAD_KERNEL;
	const struct frame frame = {
		.name = "[none sampled]", .kind = is_kernel ? FRAME_KERNEL : FRAME_USER,
		.why = FRAME_NAMED,
	};
	uint32_t node = profile_node(l->profile, 0, profile_frame(l->profile, &frame));
	struct row row = { .key = { thread, is_kernel ? 0 : node, is_kernel ? node : 0, group == QUEUED ? 'R' : 'S' } };

	add_wait(l, thread, &row, ns, (double)ns);
}

void looks_finish(struct looks *l, uint32_t last_period, uint64_t last_period_ns)
{
	g_autofree struct left *left = g_new0(struct left, (gsize)l->threads->len + 1);

	EACH_ROW(i, struct watched, w, l->threads) {
		if (w->has_last && w->last.period == last_period)
			w->last.period_ns = MIN(w->last.period_ns, last_period_ns);
		if (w->has_last)
			sum_last(l, i, w->account.has_stood);
		settle_thread(w);
		profile_add_thread(l->profile, &w->thread);
		left[i].ns[BLOCKED] = w->thread.blocked_ns;
		left[i].ns[QUEUED] = w->thread.runnable_ns;
	}
	EACH_ROW(i, const struct row, row, l->rows)
		left[row->key.thread].rows[group_of(row->key.state)]++;
	EACH_ROW(i, const struct row, row, l->rows)
		finish_row(l, row, &left[row->key.thread]);
	for (guint i = 0; i < l->ran->len; i++)
		profile_add_on_cpu(l->profile, &g_array_index(l->ran, struct on_cpu_sample, i));
	for (uint32_t i = 0; i < l->threads->len; i++)
		for (enum group group = BLOCKED; group < GROUPS; group++)
			if (left[i].ns[group])
				add_rest(l, i, group, left[i].ns[group]);
}
