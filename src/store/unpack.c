/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "store/pack.h"

#include "profile/profile_schema.h"
#include "store/blob.h"
#include "store/pack_part.h"

struct unpacker {
	struct dict_map *m;
	const struct dict *d;
	struct cursor c;
	struct profile *p;
	GHashTable *first;	/* identity -> its first row + 1 */
	uint32_t *thread_id;	/* for each row */
	struct pack_sums *sums;
};

/* Times may be anything below this; sums are checked once everything is read. */
static uint64_t get_ns(struct unpacker *u)
{
	return blob_get(&u->c, PROFILE_NS_MAX);
}

static uint64_t get_diff_ns(struct unpacker *u, uint64_t expected)
{
	uint64_t value = blob_get_diff(&u->c, expected);

	if (value <= PROFILE_NS_MAX)
		return value;
	u->c.bad = true;
	return 0;
}

static void unpack_info(struct unpacker *u)
{
	struct profile_info *info = &u->p->info;

	*info = (struct profile_info){ 0 };
#define X(member) info->member = (__typeof__(info->member))blob_get(&u->c, PROFILE_NS_MAX);
	PACK_INFO_NUMBERS(X)
#undef X
#define X(member) info->member = dict_map_next_string(u->m, &u->c);
	PACK_INFO_STRINGS(X)
#undef X
	const char **never_null[] = { &info->host, &info->kernel, &info->command_line, &info->filters, &info->version };

	for (gsize i = 0; i < G_N_ELEMENTS(never_null); i++)
		*never_null[i] = *never_null[i] ? *never_null[i] : "";
}

/* Ascending numbers; free with g_free().  NULL: none, or c is bad. */
static uint32_t *get_ids(struct unpacker *u, uint64_t below, uint32_t *ret_cnt)
{
	uint64_t id = 0;

	*ret_cnt = blob_get_cnt(&u->c, PACK_ROWS_MAX);
	uint32_t *ids = *ret_cnt ? g_new0(uint32_t, *ret_cnt) : NULL;

	for (uint32_t i = 0; i < *ret_cnt; i++) {
		id += cursor_uleb(&u->c);
		if (id >= below) {
			u->c.bad = true;
			id = 0;
		}
		ids[i] = (uint32_t)id;
	}
	return ids;
}

/* Reads one column of all rows. */
#define COLUMN(table, type, set)                                                       \
	for (guint i = 0; i < u->p->table->len; i++) {                                 \
		type *row = &g_array_index(u->p->table, type, i);                      \
                                                                                       \
		set;                                                                   \
	}

static void unpack_threads(struct unpacker *u)
{
	const uint64_t from_ns = u->p->info.start_ns, to_ns = from_ns + u->p->info.duration_ns;
	uint32_t cnt;

	u->thread_id = get_ids(u, dict_cnt(u->d, DICT_THREADS), &cnt);
	if (u->c.bad)
		return;
	for (uint32_t i = 0; i < cnt; i++) {
		const struct thread t = dict_map_thread(u->m, u->thread_id[i]);

		profile_add_thread(u->p, &t);
		if (!i || u->thread_id[i] != u->thread_id[i - 1])
			g_hash_table_insert(u->first, GUINT_TO_POINTER(u->thread_id[i] + 1), GUINT_TO_POINTER(i + 1));
	}
	u->sums = g_new0(struct pack_sums, cnt + 1);
	COLUMN(threads, struct thread, row->flags |= (uint32_t)blob_get(&u->c, 0xff) & ~(uint32_t)THREAD_KERNEL);
	COLUMN(threads, struct thread, row->from_ns = blob_get_diff(&u->c, from_ns));
	COLUMN(threads, struct thread, row->to_ns = blob_get_diff(&u->c, to_ns));
	COLUMN(threads, struct thread, row->on_cpu_ns = get_ns(u));
	COLUMN(threads, struct thread, row->filtered_ns = get_ns(u));
	COLUMN(threads, struct thread, row->lost_ns = get_ns(u));
	COLUMN(threads, struct thread, row->switches = get_ns(u));
	COLUMN(threads, struct thread, u->c.bad = u->c.bad || row->from_ns > row->to_ns || row->to_ns > PROFILE_NS_MAX);
}

/* The n-th row of that identity; n is read from the bytes. */
static uint32_t get_thread(struct unpacker *u, uint32_t thread_id)
{
	guint first = GPOINTER_TO_UINT(g_hash_table_lookup(u->first, GUINT_TO_POINTER(thread_id + 1)));
	uint64_t at = cursor_uleb(&u->c);

	at = at <= PACK_ROWS_MAX ? at + first - 1 : UINT64_MAX;
	if (first && at < u->p->threads->len && u->thread_id[at] == thread_id)
		return (uint32_t)at;
	u->c.bad = true;
	return 0;
}

static void set_wait_key(struct unpacker *u, uint32_t key, struct wait *w)
{
	const struct dict_key *k = DICT_GET(u->d, DICT_KEYS, struct dict_key, key);

	w->thread = get_thread(u, k->thread);
	w->user = dict_map_node(u->m, k->user);
	w->kernel = dict_map_node(u->m, k->kernel);
	w->object = dict_map_object(u->m, k->object);
	w->state = k->state;
	w->flags = k->flags;
	u->c.bad = u->c.bad || !k->state || !strchr(PACK_STATES, k->state);
}

static uint64_t get_rough(struct unpacker *u, uint64_t error)
{
	uint64_t value = blob_get_rough(&u->c, pack_shift(error));

	if (value <= PROFILE_NS_MAX)
		return value;
	u->c.bad = true;
	return 0;
}

static void unpack_errors(struct unpacker *u)
{
	COLUMN(waits, struct wait, row->off_cpu_se_ns = pack_error_value(get_ns(u)));
	COLUMN(waits, struct wait, row->count_se = pack_error_value(get_ns(u)));
}

static void unpack_hists(struct unpacker *u)
{
	g_autofree bool *has_counts = g_new0(bool, (gsize)u->p->waits->len + 1);

	COLUMN(waits, struct wait, {
		has_counts[i] = !u->c.bad &&
				unpack_hist_shape(&u->c, row->hist, row->count, profile_hist_slot(row->max_ns));
	});
	COLUMN(waits, struct wait, {
		if (has_counts[i])
			unpack_hist_counts(&u->c, row->hist, row->count);
	});
}

static uint64_t get_max(struct unpacker *u, const struct wait *w)
{
	if (!w->off_cpu_se_ns)
		return get_diff_ns(u, pack_expected_max(w));
	uint64_t value = blob_get_short(&u->c, PACK_MAX_BITS);

	u->c.bad = u->c.bad || value > PROFILE_NS_MAX;
	return u->c.bad ? 0 : value;
}

static void unpack_blocked(struct unpacker *u)
{
	for (guint i = 0; i < u->p->waits->len; i++)
		u->sums[profile_wait(u->p, i)->thread].last_wait = i + 1;
	EACH_ROW(i, struct wait, w, u->p->waits) {
		struct pack_sums *s = &u->sums[w->thread];

		if (s->last_wait == i + 1)
			w->blocked_ns = get_diff_ns(u, pack_expected_blocked(s, profile_thread(u->p, w->thread), w));
		else
			w->blocked_ns = get_rough(u, w->off_cpu_se_ns);
		pack_sums_add(s, w);
	}
}

static void unpack_waits(struct unpacker *u)
{
	uint32_t cnt;
	g_autofree uint32_t *ids = get_ids(u, dict_cnt(u->d, DICT_KEYS), &cnt);

	if (u->c.bad)
		return;
	g_array_set_size(u->p->waits, cnt);
	if (cnt)
		memset(u->p->waits->data, 0, (gsize)cnt * sizeof(struct wait));
	COLUMN(waits, struct wait, set_wait_key(u, ids[i], row));
	if (u->c.bad)
		return;
	unpack_errors(u);
	COLUMN(waits, struct wait, row->count = get_rough(u, row->count_se));
	COLUMN(waits, struct wait, row->runnable_ns = get_rough(u, row->off_cpu_se_ns));
	COLUMN(waits, struct wait, row->preempted_ns = get_rough(u, row->off_cpu_se_ns));
	unpack_blocked(u);
	COLUMN(waits, struct wait, row->max_ns = get_max(u, row));
	unpack_hists(u);
}

static void unpack_rest(struct unpacker *u)
{
	COLUMN(threads, struct thread, {
		row->blocked_ns = get_diff_ns(u, u->sums[i].blocked_ns);
		row->runnable_ns = get_diff_ns(u, u->sums[i].runnable_ns);
		row->preempted_ns = get_diff_ns(u, u->sums[i].preempted_ns);
	});
}

static void add_states(struct unpacker *u, uint32_t thread)
{
	for (unsigned n = 0; n < PACK_STATE_CNT; n++) {
		struct state_total t = u->sums[thread].states[n];

		t.thread = thread;
		t.state = (uint8_t)PACK_STATES[n];
		if (t.count || t.blocked_ns || t.runnable_ns || t.preempted_ns)
			profile_add_state(u->p, &t);
	}
}

static void unpack_states(struct unpacker *u)
{
	bool has_states = blob_get_id(&u->c, 2);
	uint64_t place = 0, step;

	while ((step = cursor_uleb(&u->c)) && !u->c.bad) {
		place += step;
		if (step > PACK_ROWS_MAX * (uint64_t)PACK_STATE_CNT ||
		    place > (uint64_t)u->p->threads->len * PACK_STATE_CNT) {
			u->c.bad = true;
			return;
		}
		struct state_total *t = &u->sums[(place - 1) / PACK_STATE_CNT].states[(place - 1) % PACK_STATE_CNT];

		t->count = get_diff_ns(u, t->count);
		t->blocked_ns = get_diff_ns(u, t->blocked_ns);
		t->runnable_ns = get_diff_ns(u, t->runnable_ns);
		t->preempted_ns = get_diff_ns(u, t->preempted_ns);
	}
	for (guint i = 0; i < u->p->threads->len && has_states; i++)
		add_states(u, i);
}

static void set_sample_key(struct unpacker *u, uint32_t key, struct on_cpu_sample *s)
{
	const struct dict_key *k = DICT_GET(u->d, DICT_KEYS, struct dict_key, key);

	s->thread = get_thread(u, k->thread);
	s->user = dict_map_node(u->m, k->user);
	s->kernel = dict_map_node(u->m, k->kernel);
	u->c.bad = u->c.bad || k->state != ON_CPU_STATE;
}

static void unpack_samples(struct unpacker *u)
{
	uint32_t cnt;
	uint64_t last_ns = 0;
	g_autofree uint32_t *ids = get_ids(u, dict_cnt(u->d, DICT_KEYS), &cnt);

	if (u->c.bad)
		return;
	g_array_set_size(u->p->on_cpu, cnt);
	if (cnt)
		memset(u->p->on_cpu->data, 0, (gsize)cnt * sizeof(struct on_cpu_sample));
	COLUMN(on_cpu, struct on_cpu_sample, set_sample_key(u, ids[i], row));
	COLUMN(on_cpu, struct on_cpu_sample, row->samples = get_ns(u));
	COLUMN(on_cpu, struct on_cpu_sample, row->weight_ns = last_ns = get_diff_ns(u, last_ns));
}

static void unpack_wakers(struct unpacker *u)
{
	COLUMN(wakes, struct wake, row->waker = blob_get_id(&u->c, dict_cnt(u->d, DICT_WAKERS)));
	if (!u->c.bad)
		COLUMN(wakes, struct wake, row->waker = dict_map_waker(u->m, row->waker));
}

static struct pack_rest rest_of(const struct profile *p, guint i)
{
	const struct wake *w = profile_wake(p, i);
	const struct wait *of = profile_wait(p, w->wait);

	return (struct pack_rest){ of->count, of->blocked_ns, of->runnable_ns };
}

static uint64_t get_wake_number(struct unpacker *u, uint64_t error, bool is_last, uint64_t rest)
{
	const uint8_t *at = u->c.at;

	if (!is_last)
		return get_rough(u, error);
	if (cursor_left(&u->c) && !*at) {
		u->c.at++;
		u->c.bad = u->c.bad || rest > PROFILE_NS_MAX;
		return u->c.bad ? 0 : rest;
	}
	uint64_t value = get_rough(u, error);

	return pack_shift(error) || !value ? value : value - 1;
}

#define WAKES(member, error)                                                                                           \
	for (guint i = 0; i < u->p->wakes->len; i++) {                                                                 \
		struct wake *w = &g_array_index(u->p->wakes, struct wake, i);                                          \
		bool is_last = i + 1 == u->p->wakes->len || w[1].wait != w->wait;                                      \
                                                                                                                       \
		rest = i && w[-1].wait == w->wait ? rest - w[-1].member : rest_of(u->p, i).member;                     \
		w->member = get_wake_number(u, profile_wait(u->p, w->wait)->error, is_last, rest);                     \
	}

static void unpack_wake_hists(struct unpacker *u)
{
	g_autofree bool *has_counts = g_new0(bool, (gsize)u->p->wakes->len + 1);

	COLUMN(wakes, struct wake, {
		has_counts[i] = !u->c.bad && unpack_hist_shape(&u->c, row->hist, row->count, pack_wake_top(row));
	});
	COLUMN(wakes, struct wake, {
		if (has_counts[i])
			unpack_hist_counts(&u->c, row->hist, row->count);
	});
}

static void unpack_wakes(struct unpacker *u)
{
	uint32_t cnt;
	uint64_t rest = 0;
	g_autofree uint32_t *ids = get_ids(u, u->p->waits->len, &cnt);

	if (u->c.bad)
		return;
	for (uint32_t i = 0; i < cnt; i++) {
		const struct wake w = { .wait = ids[i] };

		g_array_append_val(u->p->wakes, w);
	}
	unpack_wakers(u);
	WAKES(count, count_se);
	WAKES(blocked_ns, off_cpu_se_ns);
	WAKES(runnable_ns, off_cpu_se_ns);
	unpack_wake_hists(u);
}

/* Reads a column's reference; it becomes an id of the profile. */
static uint64_t get_id(struct dict_map *m, struct cursor *c, enum table_id of, guint threads)
{
	if (of == TABLE_THREAD)
		return blob_get_id(c, threads);
	const bool is_object = of == TABLE_OBJECT;	/* from 1 on */
	const uint64_t cnt = dict_cnt(dict_map_dict(m), is_object ? DICT_OBJECTS : DICT_WAKERS);
	uint32_t id = blob_get_id(c, cnt + is_object);

	c->bad = c->bad || (is_object && !id);
	if (c->bad)
		return 0;
	return is_object ? dict_map_object(m, id) - 1 : dict_map_waker(m, id);
}

bool unpack_row(struct dict_map *m, struct cursor *c, enum table_id id, guint threads, void *ret_row)
{
	const struct profile_table *t = &profile_tables[id];

	memset(ret_row, 0, t->row_bytes);
	for (unsigned i = 0; i < t->column_cnt; i++) {
		const struct column *col = &t->columns[i];

		if (col->kind == COLUMN_TEXT)
			*(const char **)((char *)ret_row + col->at) = dict_map_next_string(m, c);
		else if (col->kind == COLUMN_ID)
			column_set(col, ret_row, get_id(m, c, col->of, threads));
		else if (col->kind != COLUMN_WINDOW)
			column_set(col, ret_row, blob_get(c, MIN(column_max(col), PROFILE_NS_MAX)));
	}
	return !c->bad;
}

static void unpack_crowd(struct unpacker *u)
{
	struct blame b;
	struct storm s;
	struct profile_loss l;

	EACH_UNPACKED(u->m, &u->c, TABLE_BLAME, PACK_ROWS_MAX, u->p->threads->len, &b) {
		u->c.bad = b.kind < BLAME_THREAD;
		g_array_append_val(u->p->blames, b);
	}
	EACH_UNPACKED(u->m, &u->c, TABLE_STORM, PACK_ROWS_MAX, 0, &s)
		g_array_append_val(u->p->storms, s);
	EACH_UNPACKED(u->m, &u->c, TABLE_LOSS, PROFILE_MODULES_MAX, 0, &l)
		profile_add_loss(u->p, l.reason, l.help, l.count, l.time_ns);
}

bool unpack_rows(struct dict_map *m, const uint8_t *bytes, size_t len_bytes, struct profile *rows)
{
	static void (*const parts[])(struct unpacker *) = {
		unpack_info,   unpack_threads, unpack_waits, unpack_rest,
		unpack_states, unpack_samples, unpack_wakes, unpack_crowd,
	};
	struct unpacker u = {
		.m = m, .d = dict_map_dict(m), .p = rows, .c = cursor_of(bytes, len_bytes),
		.first = g_hash_table_new(NULL, NULL),
	};

	u.c.bad = cursor_uleb(&u.c) != PACK_VERSION;
	for (gsize i = 0; i < G_N_ELEMENTS(parts) && !u.c.bad; i++)
		parts[i](&u);
	if (!u.c.bad)
		unpack_longest_at_edges(rows);
	if (!u.c.bad)
		unpack_longest(rows, &u.c);
	if (!u.c.bad && rows->info.has_tasks)
		unpack_tasks(m, &u.c, rows);
	if (!u.c.bad)
		unpack_network(m, &u.c, rows);
	if (!u.c.bad)
		unpack_chains(m, &u.c, rows);
	g_hash_table_unref(u.first);
	g_free(u.thread_id);
	g_free(u.sums);
	return !u.c.bad && u.c.at == u.c.end;
}
