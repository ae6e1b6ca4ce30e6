/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "push/fleet_rows.h"

#include <string.h>

#include "base/hash.h"
#include "push/clickhouse.h"

#define THREAD_FLAGS (THREAD_KERNEL | THREAD_OPEN_AT_START | THREAD_OPEN_AT_END | THREAD_EXITED | THREAD_EXECED)

static GHashTable *index_new(void)
{
	return g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);
}

struct fleet *fleet_new(void)
{
	struct fleet *f = g_new0(struct fleet, 1);

	f->p = profile_new();
	f->hosts = g_array_new(FALSE, FALSE, sizeof(struct fleet_host));
	f->host_index = g_hash_table_new(g_str_hash, g_str_equal);
	f->frames = index_new();
	f->frame_rows = g_array_new(FALSE, FALSE, sizeof(struct fleet_frame));
	f->stacks = index_new();
	f->objects = index_new();
	f->wakers = index_new();
	f->waits = index_new();
	f->threads = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	f->populations = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	f->a = g_string_new(NULL);
	f->b = g_string_new(NULL);
	f->c = g_string_new(NULL);
	f->d = g_string_new(NULL);
	f->key = g_string_new(NULL);
	return f;
}

struct profile *fleet_steal(struct fleet *f)
{
	struct profile *p = f->p;

	f->p = NULL;
	fleet_free(f);
	return p;
}

void fleet_free(struct fleet *f)
{
	GHashTable *const tables[] = { f ? f->host_index : NULL, f ? f->stacks : NULL, f ? f->objects : NULL,
				       f ? f->wakers : NULL, f ? f->waits : NULL, f ? f->threads : NULL,
				       f ? f->populations : NULL, f ? f->frames : NULL };

	if (!f)
		return;
	for (size_t i = 0; i < G_N_ELEMENTS(tables); i++)
		g_hash_table_unref(tables[i]);
	g_string_free(f->a, TRUE);
	g_string_free(f->b, TRUE);
	g_string_free(f->c, TRUE);
	g_string_free(f->d, TRUE);
	g_string_free(f->key, TRUE);
	g_array_unref(f->hosts);
	g_array_unref(f->frame_rows);
	profile_free(f->p);
	g_free(f);
}

void fleet_text(struct cursor *c, GString *ret)
{
	uint64_t len_bytes = cursor_uleb(c);
	const uint8_t *at = cursor_take(c, len_bytes);

	g_string_truncate(ret, 0);
	if (at)
		g_string_append_len(ret, (const char *)at, (gssize)MIN(len_bytes, PROFILE_STRING_MAX_BYTES));
}

bool fleet_room(const struct fleet *f, GError **error)
{
	if (profile_most_rows(f->p) < PROFILE_ROWS_MAX)
		return true;
	return fleet_bad(error, "there is more than a recording can hold: a shorter range, or fewer hosts, are wanted");
}

void fleet_note(GHashTable *table, uint64_t id, uint32_t index)
{
	g_hash_table_insert(table, g_memdup2(&id, sizeof(id)), GUINT_TO_POINTER(index + 1));
}

static bool fleet_find(GHashTable *table, uint64_t id, const char *what, uint32_t *ret_index, GError **error)
{
	guint at = id ? GPOINTER_TO_UINT(g_hash_table_lookup(table, &id)) : 1;

	*ret_index = at ? at - 1 : 0;
	return at || fleet_bad(error, "a row names a %s that is not there", what);
}

bool fleet_content(struct fleet *f, GHashTable *table, uint64_t id, uint32_t *ret_index)
{
	guint at = id ? GPOINTER_TO_UINT(g_hash_table_lookup(table, &id)) : 0;

	f->lost_contents += id && !at;
	*ret_index = at ? at - 1 : 0;
	return at != 0;
}

void fleet_end_contents(struct fleet *f)
{
	if (f->lost_contents)
		profile_add_loss(f->p, "contents",
				 "ClickHouse has rows whose stack, object or waker is not there: it is sent once a day, and was "
				 "dropped since, or you may not read it",
				 f->lost_contents, 0);
}

/* --- windows --- */

static struct fleet_host *host_of(struct fleet *f, const char *name)
{
	guint at = GPOINTER_TO_UINT(g_hash_table_lookup(f->host_index, name));

	if (!at) {
		const struct fleet_host host = { .name = profile_string(f->p, name) };

		g_array_append_val(f->hosts, host);
		at = f->hosts->len;
		g_hash_table_insert(f->host_index, (gpointer)host.name, GUINT_TO_POINTER(at));
	}
	return &g_array_index(f->hosts, struct fleet_host, at - 1);
}

/* A text that is the same in all windows; else a text that says that it varies. */
static void take_same(struct fleet *f, struct cursor *c, const char **into, const char *otherwise)
{
	fleet_text(c, f->a);
	if (!f->windows)
		*into = profile_string(f->p, f->a->str);
	else if (strcmp(*into, f->a->str) != 0)
		*into = profile_string(f->p, otherwise);
}

static void most_u64(uint64_t *into, uint64_t value)
{
	*into = MAX(*into, value);
}

static void most_u32(uint32_t *into, uint32_t value)
{
	*into = MAX(*into, value);
}

static void take_knows(struct profile_info *info, uint32_t bits)
{
	info->has_bpf_ns |= (bits & KNOWS_BPF) != 0;
	info->has_locks |= (bits & KNOWS_LOCKS) != 0;
	info->has_objects |= (bits & KNOWS_OBJECTS) != 0;
	info->has_wakers |= (bits & KNOWS_WAKERS) != 0;
	info->self_excluded |= (bits & KNOWS_SELF_EXCLUDED) != 0;
	info->sampling.has_used |= (bits & KNOWS_USED) != 0;
	info->has_tasks |= (bits & KNOWS_TASKS) != 0;
}

static void take_governor(struct fleet *f, struct cursor *c)
{
	struct profile_sampling *s = &f->p->info.sampling;
	struct profile_looks *looks = &f->p->info.looks;
	uint64_t start_ns = cursor_u64(c), end_ns = cursor_u64(c);

	s->start_ns = f->windows ? s->start_ns : start_ns;
	s->end_ns = end_ns;
	most_u64(&s->max_ns, cursor_u64(c));
	s->raised_cnt += cursor_u32(c);
	s->lowered_cnt += cursor_u32(c);
	s->over_cnt += cursor_u32(c);
	most_u32(&s->budget_ppm, cursor_u32(c));
	most_u32(&s->used_ppm, cursor_u32(c));
	most_u32(&s->peak_ppm, cursor_u32(c));
	profile_add(&looks->rounds, cursor_u64(c));
	most_u64(&looks->asked_ns, cursor_u64(c));
	most_u32(&looks->budget_ppm, cursor_u32(c));
}

bool fleet_window_row(struct fleet *f, struct cursor *c, GError **error)
{
	struct profile_info *info = &f->p->info;
	uint64_t start_unix_ns, start_ns, duration_ns;
	uint32_t cpus;

	fleet_text(c, f->a);
	struct fleet_host *host = host_of(f, f->a->str);

	EACH(TAKE, start_unix_ns, start_ns, duration_ns)
	cpus = cursor_u32(c);
	if (start_unix_ns > PROFILE_NS_MAX || start_ns > PROFILE_NS_MAX || duration_ns > PROFILE_NS_MAX)
		return fleet_bad(error, "a window's time is out of range");
	info->start_ns = f->windows ? info->start_ns : start_ns;
	info->start_unix_ns = f->windows ? MIN(info->start_unix_ns, start_unix_ns) : start_unix_ns;
	profile_add(&host->duration_ns, duration_ns);
	host->cpus = MAX(host->cpus, cpus);
	take_same(f, c, &info->kernel, "several");
	take_same(f, c, &info->version, "several");
	take_same(f, c, &info->command_line, "several");
	take_same(f, c, &info->filters, "several, which differ");
	profile_add(&info->switches, cursor_u64(c));
	most_u64(&info->tracer_cpu_ns, cursor_u64(c));	/* an agent reports the total since its start in each window */
	profile_add(&info->tracer_start_cpu_ns, cursor_u64(c));
	profile_add(&info->tracer_stop_cpu_ns, cursor_u64(c));
	profile_add(&info->tracer_bpf_ns, cursor_u64(c));
	most_u64(&info->tracer_peak_rss_bytes, cursor_u64(c));
	take_knows(info, cursor_u32(c));
	info->unknown |= cursor_u32(c) & UNKNOWN_RECORDED;
	most_u32(&info->on_cpu_hz, cursor_u32(c));
	most_u32(&info->on_cpu_end_hz, cursor_u32(c));
	take_governor(f, c);
	f->windows++;
	return !c->bad || fleet_bad(error, "a window is damaged");
}

/* --- threads --- */

/* Builds f->key of the row's thread.  f->a is the host, f->b the process, f->c the comm. */
static void take_thread(struct fleet *f, struct cursor *c, struct thread *ret)
{
	fleet_text(c, f->a);
	fleet_text(c, f->b);
	fleet_text(c, f->c);
	ret->pid = cursor_u32(c);
	ret->tid = cursor_u32(c);
	ret->start_ns = cursor_u64(c);
	uint32_t program = cursor_u32(c);

	g_string_printf(f->key, "%u %u %u %" G_GUINT64_FORMAT " %" G_GSIZE_FORMAT " %" G_GSIZE_FORMAT " %s %s %s",
			ret->pid, ret->tid, program, (guint64)ret->start_ns, f->a->len, f->b->len, f->a->str, f->b->str,
			f->c->str);
}

static bool find_thread(struct fleet *f, uint32_t *ret, GError **error)
{
	guint at = GPOINTER_TO_UINT(g_hash_table_lookup(f->threads, f->key->str));

	*ret = at ? at - 1 : 0;
	return at || fleet_bad(error, "a row names a thread that is not there");
}

bool fleet_thread_row(struct fleet *f, struct cursor *c, GError **error)
{
	struct thread t = { 0 };
	uint64_t observed_ns;

	take_thread(f, c, &t);
	if (f->hosts->len > 1)
		g_string_append_printf(f->b, "@%s", f->a->str);
	t.process = profile_string(f->p, f->b->str);
	t.comm = profile_string(f->p, f->c->str);
	t.flags = cursor_u32(c);
	fleet_text(c, f->d);
	t.service = t.flags & CLICKHOUSE_HAS_SERVICE ? profile_string(f->p, f->d->str) : NULL;
	t.flags &= THREAD_FLAGS;
	t.from_ns = cursor_u64(c);
	observed_ns = cursor_u64(c);
	EACH(TAKE, t.on_cpu_ns, t.blocked_ns, t.runnable_ns, t.preempted_ns, t.filtered_ns, t.lost_ns, t.switches)
	if (c->bad || t.from_ns > PROFILE_NS_MAX || observed_ns > PROFILE_NS_MAX - t.from_ns)
		return fleet_bad(error, "a thread is damaged");
	if (!fleet_room(f, error))
		return false;
	t.to_ns = t.from_ns + observed_ns;
	g_hash_table_insert(f->threads, g_strdup(f->key->str), GUINT_TO_POINTER(profile_add_thread(f->p, &t) + 1));
	return true;
}

static bool take_state(struct fleet *f, struct cursor *c, uint8_t *ret)
{
	fleet_text(c, f->d);
	*ret = (uint8_t)f->d->str[0];
	return f->d->len == 1;
}

bool fleet_state_row(struct fleet *f, struct cursor *c, GError **error)
{
	struct state_total s = { 0 };
	struct thread who;

	take_thread(f, c, &who);
	bool ok = take_state(f, c, &s.state);

	EACH(TAKE, s.count, s.blocked_ns, s.runnable_ns, s.preempted_ns)
	if (c->bad || !ok || f->p->states->len >= PROFILE_ROWS_MAX)
		return fleet_bad(error, "a total of a state is damaged");
	if (!find_thread(f, &s.thread, error))
		return false;
	profile_add_state(f->p, &s);
	return true;
}

/* --- waits --- */

static bool take_hist(struct cursor *c, uint32_t *hist)
{
	uint64_t cnt = cursor_uleb(c);

	for (uint64_t i = 0; i < cnt && !c->bad; i++) {
		uint64_t value = cursor_u64(c);

		if (i < PROFILE_HIST_SLOTS)
			hist[i] = (uint32_t)MIN(value, UINT32_MAX);
	}
	return cnt <= PROFILE_HIST_SLOTS && !c->bad;
}

bool fleet_wait_row(struct fleet *f, struct cursor *c, GError **error)
{
	struct wait w = { 0 };
	struct thread who;

	take_thread(f, c, &who);
	bool ok = take_state(f, c, &w.state);

	w.flags = cursor_u8(c);
	uint64_t user = cursor_u64(c), kernel = cursor_u64(c), object = cursor_u64(c), id = cursor_u64(c);
	uint64_t waker = 0;

	EACH(TAKE, w.count, w.blocked_ns, w.runnable_ns, w.preempted_ns, w.max_ns, w.max_start_unix_ns, waker)
	EACH(TAKE, w.off_cpu_se_ns, w.count_se)
	if (!take_hist(c, w.hist) || !ok)
		return fleet_bad(error, "a wait is damaged");
	if (!find_thread(f, &w.thread, error) || !fleet_room(f, error))
		return false;
	fleet_content(f, f->stacks, user, &w.user);
	fleet_content(f, f->stacks, kernel, &w.kernel);
	if (fleet_content(f, f->objects, object, &w.object))
		w.object++;	/* from 1 on */
	if (fleet_content(f, f->wakers, waker, &w.max_waker))
		w.max_waker++;
	fleet_note(f->waits, id, profile_add_wait(f->p, &w));
	return true;
}

bool fleet_wake_row(struct fleet *f, struct cursor *c, GError **error)
{
	struct wake w = { 0 };
	uint64_t wait = cursor_u64(c), waker = cursor_u64(c);

	EACH(TAKE, w.count, w.blocked_ns, w.runnable_ns)
	if (!take_hist(c, w.hist) || !wait || !waker)
		return fleet_bad(error, "a waking is damaged");
	if (!fleet_find(f->waits, wait, "wait", &w.wait, error) || !fleet_room(f, error))
		return false;
	if (fleet_content(f, f->wakers, waker, &w.waker))
		profile_add_wake(f->p, &w);
	return true;
}

bool fleet_on_cpu_row(struct fleet *f, struct cursor *c, GError **error)
{
	struct on_cpu_sample s = { 0 };
	struct thread who;

	take_thread(f, c, &who);
	uint64_t user = cursor_u64(c), kernel = cursor_u64(c);

	s.samples = cursor_u64(c);
	s.weight_ns = cursor_u64(c);
	if (c->bad || f->p->on_cpu->len >= PROFILE_ROWS_MAX)
		return fleet_bad(error, "a row of samples is damaged");
	if (!find_thread(f, &s.thread, error))
		return false;
	fleet_content(f, f->stacks, user, &s.user);
	fleet_content(f, f->stacks, kernel, &s.kernel);
	g_array_append_val(f->p->on_cpu, s);
	return true;
}

static bool take_direction(struct fleet *f, struct cursor *c, uint8_t *ret)
{
	fleet_text(c, f->a);
	for (*ret = 0; *ret < TCP_WAIT_DIRECTION_COUNT; ++*ret)
		if (!strcmp(tcp_wait_direction_text(*ret), f->a->str))
			return true;
	return false;
}

static bool is_in_range(const struct tcp_wait *t)
{
	const uint64_t parts[] = { t->count,     t->blocked_ns, t->peer_ns, t->network_ns,
				   t->silent_ns, t->unclear_ns, t->resent };

	for (size_t i = 0; i < G_N_ELEMENTS(parts); i++)
		if (parts[i] > PROFILE_NS_MAX)
			return false;
	return true;
}

bool fleet_tcp_row(struct fleet *f, struct cursor *c, GError **error)
{
	struct tcp_wait t = { 0 };
	uint64_t object = cursor_u64(c);
	bool ok = take_direction(f, c, &t.direction);

	EACH(TAKE, t.count, t.blocked_ns, t.peer_ns, t.network_ns, t.silent_ns, t.unclear_ns, t.resent)
	t.srtt_us = cursor_u32(c);
	t.min_rtt_us = cursor_u32(c);
	if (c->bad || !ok || !is_in_range(&t))
		return fleet_bad(error, "a row of TCP's waits is damaged");
	if (!fleet_room(f, error))
		return false;
	if (fleet_content(f, f->objects, object, &t.object))
		profile_add_tcp_wait(f->p, &t);
	return true;
}

bool fleet_connection_row(struct fleet *f, struct cursor *c, GError **error)
{
	struct connection row = { .pid = cursor_u32(c) };

	row.side = cursor_u8(c) ? CONNECTION_SERVER : CONNECTION_CLIENT;
	fleet_text(c, f->a);
	fleet_text(c, f->b);
	row.local = f->a->str;
	row.remote = f->b->str;
	if (c->bad)
		return fleet_bad(error, "a connection is damaged");
	profile_add_connection(f->p, &row);
	return true;
}

bool fleet_loss_row(struct fleet *f, struct cursor *c, GError **error)
{
	fleet_text(c, f->a);
	fleet_text(c, f->b);
	uint64_t count = cursor_u64(c), time_ns = cursor_u64(c);

	if (c->bad || f->p->losses->len >= PROFILE_MODULES_MAX)
		return fleet_bad(error, "a loss is damaged");
	profile_add_loss(f->p, f->a->str, f->b->str, count, time_ns);
	return true;
}
