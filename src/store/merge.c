/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "store/merge.h"

#include "features/requests/rows.h"
#include "profile/profile_schema.h"
#include "store/blob.h"
#include "store/merge_part.h"

static struct merger *new_into(struct profile *p)
{
	struct merger *m = g_new0(struct merger, 1);

	m->p = p;
	m->threads = g_array_new(FALSE, TRUE, sizeof(struct merge_thread));
	m->open = g_array_new(FALSE, FALSE, sizeof(struct open_wait));
	m->latest = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	m->samples = g_array_new(FALSE, FALSE, sizeof(struct on_cpu_sample));
	m->identities = id_index_new();
	m->sample_index = id_index_new();
	m->story_index = id_index_new();
	return m;
}

struct merger *merge_new(void)
{
	return new_into(profile_new());
}

struct merger *merge_new_rows(struct profile *with)
{
	struct merger *m = new_into(profile_new_rows(with));

	m->is_shared = true;
	return m;
}

void merge_free(struct merger *m)
{
	if (!m)
		return;
	if (m->is_shared)
		profile_free_rows(m->p);
	else
		profile_free(m->p);
	g_array_unref(m->threads);
	g_array_unref(m->open);
	g_array_unref(m->latest);
	g_array_unref(m->samples);
	id_index_free(m->identities);
	id_index_free(m->sample_index);
	id_index_free(m->story_index);
	g_free(m);
}

struct profile *merge_profile(struct merger *m)
{
	return m->p;
}

/* `key` has strings of the sum. */
static bool same_identity(const void *ctx, const void *key, uint32_t id)
{
	const struct merger *m = ctx;
	const struct thread *a = profile_thread(m->p, g_array_index(m->latest, uint32_t, id)), *b = key;

	return a->pid == b->pid && a->tid == b->tid && a->start_ns == b->start_ns && a->comm == b->comm &&
	       a->process == b->process && a->service == b->service && !((a->flags ^ b->flags) & THREAD_KERNEL);
}

static uint32_t append_thread(struct merger *m, const struct thread *t)
{
	const struct merge_thread none = { 0 };

	g_array_append_val(m->threads, none);
	return profile_add_thread(m->p, t);
}

static void extend_thread(struct thread *into, const struct thread *t)
{
	into->flags = (into->flags & (THREAD_KERNEL | THREAD_OPEN_AT_START)) |
		      (t->flags & ~(uint32_t)THREAD_OPEN_AT_START);
	into->to_ns += thread_observed_ns(t);
	profile_merge_row(TABLE_THREAD, into, t);
}

/* A row that stands for several threads has sums as times, so it always continues. */
static bool goes_on(const struct thread *a, const struct thread *b)
{
	return !b->tid || (a->to_ns == b->from_ns && !(a->flags & (THREAD_EXITED | THREAD_EXECED)));
}

static void add_thread(struct merge_step *s, uint32_t i)
{
	struct merger *m = s->m;
	struct thread t = *profile_thread(s->window, i);

	if (!s->map.is_same)
		profile_own_texts(m->p, TABLE_THREAD, &t);
	t.from_ns += s->shift_ns;
	t.to_ns += s->shift_ns;
	const uint64_t key[] = { (uint64_t)t.pid << 32 | t.tid, t.start_ns, (uintptr_t)t.comm, (uintptr_t)t.process,
				 (uintptr_t)t.service, t.flags & THREAD_KERNEL };
	uint64_t hash = id_index_hash(m->identities, key, sizeof(key));
	int64_t at = id_index_find(m->identities, hash, same_identity, m, &t);
	uint32_t *latest = at < 0 ? NULL : &g_array_index(m->latest, uint32_t, (guint)at);
	struct thread *before = latest ? &g_array_index(m->p->threads, struct thread, *latest) : NULL;

	if (before && goes_on(before, &t)) {
		extend_thread(before, &t);
		s->thread[i] = *latest;
		s->goes_on[i] = true;
		return;
	}
	s->thread[i] = append_thread(m, &t);
	if (latest) {
		*latest = s->thread[i];
	} else {
		id_index_add(m->identities, hash, m->latest->len);
		g_array_append_val(m->latest, s->thread[i]);
	}
}

static void add_states(struct merge_step *s)
{
	EACH_ROW(i, const struct state_total, t, s->window->states) {
		struct state_total *into = &g_array_index(s->m->threads, struct merge_thread, s->thread[t->thread])
						    .states[pack_state_at(t->state)];

		into->state = t->state;
		into->thread = s->thread[t->thread];
		profile_merge_row(TABLE_STATE_TOTAL, into, t);
	}
}

static bool same_sample(const void *ctx, const void *key, uint32_t id)
{
	const struct on_cpu_sample *a = &g_array_index((const GArray *)ctx, struct on_cpu_sample, id), *b = key;

	return a->thread == b->thread && a->user == b->user && a->kernel == b->kernel;
}

static void add_samples(struct merge_step *s)
{
	struct merger *m = s->m;

	for (guint i = 0; i < s->window->on_cpu->len; i++) {
		struct on_cpu_sample own = g_array_index(s->window->on_cpu, struct on_cpu_sample, i);

		own.thread = s->thread[own.thread];
		own.user = profile_map_node(&s->map, own.user);
		own.kernel = profile_map_node(&s->map, own.kernel);
		own.slice = 0;
		const uint64_t key[] = { own.thread, (uint64_t)own.user << 32 | own.kernel };
		uint64_t hash = id_index_hash(m->sample_index, key, sizeof(key));
		int64_t at = id_index_find(m->sample_index, hash, same_sample, m->samples, &own);

		if (at < 0) {
			id_index_add(m->sample_index, hash, m->samples->len);
			g_array_append_val(m->samples, own);
		} else {
			profile_merge_row(TABLE_ON_CPU, &g_array_index(m->samples, struct on_cpu_sample, (guint)at),
					  &own);
		}
	}
}

static void add_crowd(struct merge_step *s)
{
	const struct profile *w = s->window;

	g_autoptr(GArray) blames = s->m->coarse ? merge_coarse_blames(w) : g_array_ref(w->blames);

	for (guint i = 0; i < blames->len; i++) {
		struct blame b = g_array_index(blames, struct blame, i);

		b.thread = s->thread[b.thread];
		profile_add_blame(s->m->p, &b);
	}
	for (guint i = 0; i < w->storms->len; i++) {
		struct storm storm = *profile_storm(w, i);

		storm.waker = profile_map_waker(&s->map, storm.waker);
		profile_add_storm(s->m->p, &storm);
	}
	EACH_ROW(i, const struct profile_loss, l, w->losses)
		profile_add_loss(s->m->p, l->reason, l->help, l->count, l->time_ns);
	for (guint i = 0; i < w->build_ids->len && !s->map.is_same; i++) {
		const struct module_id *id = &g_array_index(w->build_ids, struct module_id, i);

		profile_set_build_id(s->m->p, id->module, id->hex);
	}
}

static void add_network(struct merge_step *s)
{
	const struct profile *w = s->window;

	for (guint i = 0; i < w->tcp_waits->len; i++) {
		struct tcp_wait t = *profile_tcp_wait(w, i);

		t.object = profile_map_object(&s->map, t.object + 1) - 1;
		profile_add_tcp_wait(s->m->p, &t);
	}
	for (guint i = 0; i < w->connections->len; i++)
		profile_add_connection(s->m->p, profile_connection(w, i));
}

/* Copies the window's requests.  Rows of one name stay apart by window; readers add them up. */
static void add_requests(struct merge_step *s)
{
	struct profile *p = s->m->p;
	const guint first = p->requests->len;

	for (guint i = 0; i < s->window->requests->len; i++) {
		struct request_row row = *profile_request(s->window, i);

		row.name = profile_string(p, row.name);
		row.file = profile_string(p, row.file);
		g_array_append_val(p->requests, row);
	}
	for (guint i = 0; i < s->window->request_parts->len; i++) {
		struct request_part part = *profile_request_part(s->window, i);

		part.func += first;
		part.wait.thread = s->thread[part.wait.thread];
		part.wait.user = profile_map_node(&s->map, part.wait.user);
		part.wait.kernel = profile_map_node(&s->map, part.wait.kernel);
		part.wait.object = profile_map_object(&s->map, part.wait.object);
		g_array_append_val(p->request_parts, part);
	}
}

static void begin_info(struct profile *p, const struct profile_info *info)
{
	p->info = *info;
	profile_own_texts(p, TABLE_META, &p->info);
	p->info.range = (struct profile_range){ 0 };
	p->info.history = (struct profile_history){ 0 };
}

static void add_sampling(struct profile_sampling *into, const struct profile_sampling *s, uint64_t had_ns,
			 uint64_t more_ns)
{
	double all_ns = (double)had_ns + (double)more_ns;

	profile_merge_row(TABLE_SAMPLING, into, s);
	if (all_ns > 0)
		into->used_ppm = (uint32_t)(((double)into->used_ppm * (double)had_ns +
					     (double)s->used_ppm * (double)more_ns) /
						    all_ns +
					    0.5);
	into->has_used = into->has_used || s->has_used;
}

/* The second window's cost goes to tracer_stop_cpu_ns, which becomes the total since the first window's start. */
static void add_info(struct profile *p, const struct profile_info *w)
{
	struct profile_info *i = &p->info;

	add_sampling(&i->sampling, &w->sampling, i->duration_ns, w->duration_ns);
	profile_merge_row(TABLE_META, i, w);
	profile_merge_row(TABLE_WINDOW, i, w);
	profile_own_texts(p, TABLE_META, i);
	i->tracer_stop_cpu_ns = profile_sum(i->tracer_stop_cpu_ns, profile_running_cpu_ns(w));
	i->has_bpf_ns = i->has_bpf_ns && w->has_bpf_ns;
	i->unknown |= w->unknown;
}

static void step_free(struct merge_step *s)
{
	profile_map_end(&s->map);
	g_free(s->thread);
	g_free(s->goes_on);
	g_free(s->wait);
	g_free(s->open);
}

bool merge_add(struct merger *m, const struct profile *window, GError **error)
{
	const struct profile_info *info = &window->info;
	struct merge_step s = {
		.m = m,
		.window = window,
		.is_next = m->has_window && info->start_ns == m->edge_ns,
		.thread = g_new0(uint32_t, window->threads->len + 1),
		.goes_on = g_new0(bool, window->threads->len + 1),
		.wait = g_new0(uint32_t, window->waits->len + 1),
		.open = g_new0(uint32_t, window->waits->len + 1),
	};

	profile_map_begin(&s.map, window, m->p);
	if (m->has_window)
		s.shift_ns = m->p->info.start_ns + m->p->info.duration_ns - info->start_ns;
	for (guint i = 0; i < window->threads->len; i++)
		add_thread(&s, i);
	add_states(&s);
	merge_waits(&s);
	add_samples(&s);
	add_crowd(&s);
	add_network(&s);
	merge_tasks(&s);
	add_requests(&s);
	if (m->has_window)
		add_info(m->p, info);
	else
		begin_info(m->p, info);
	m->has_window = true;
	m->edge_ns = info->start_ns + info->duration_ns;
	step_free(&s);
	if (profile_most_rows(m->p) <= PROFILE_ROWS_MAX && m->samples->len <= PROFILE_ROWS_MAX)
		return true;
	return refuse(error, STORE_ERROR, STORE_ERROR_TOO_MUCH,
		      "there is too much in that time to be one profile: ask for less of it");
}

static void put_states(struct merger *m)
{
	for (guint i = 0; i < m->threads->len; i++)
		for (unsigned k = 0; k < PACK_STATE_CNT; k++) {
			const struct state_total *t = &g_array_index(m->threads, struct merge_thread, i).states[k];

			if (t->state)
				profile_add_state(m->p, t);
		}
}

struct profile *merge_end(struct merger *m)
{
	struct profile *p = NULL;

	if (m->has_window) {
		merge_flush_open(m, false);
		put_states(m);
		for (guint i = 0; i < m->samples->len; i++)
			profile_add_on_cpu(m->p, &g_array_index(m->samples, struct on_cpu_sample, i));
		merge_end_tasks(m->p);
		p = g_steal_pointer(&m->p);
	}
	merge_free(m);
	return p;
}

static struct profile *copy_window(const struct profile *window, const bool *coarse, GError **error)
{
	struct merger *m = merge_new();

	m->coarse = coarse;
	if (merge_add(m, window, error))
		return merge_end(m);
	merge_free(m);
	return NULL;
}

struct profile *merge_copy(const struct profile *window, GError **error)
{
	return copy_window(window, NULL, error);
}

/* By thread, then by time, largest first. */
static int by_thread_and_time(gconstpointer a, gconstpointer b, gpointer window)
{
	const struct wait *x = profile_wait(window, *(const uint32_t *)a),
			  *y = profile_wait(window, *(const uint32_t *)b);
	uint64_t x_ns = wait_off_cpu_ns(x), y_ns = wait_off_cpu_ns(y);

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x_ns != y_ns)
		return x_ns > y_ns ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

struct profile *merge_coarse(const struct profile *window, unsigned preempted_stacks, GError **error)
{
	g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g_autofree bool *coarse = g_new0(bool, window->waits->len + 1);
	g_autofree uint64_t *whole_ns = g_new0(uint64_t, window->threads->len + 1);
	unsigned of_thread = 0;

	for (uint32_t i = 0; i < window->waits->len; i++)
		if (profile_wait(window, i)->state == 'R' && !profile_wait(window, i)->object)
			g_array_append_val(rows, i);
	for (guint i = 0; i < rows->len; i++) {
		const struct wait *w = profile_wait(window, g_array_index(rows, uint32_t, i));

		whole_ns[w->thread] = profile_sum(whole_ns[w->thread], wait_off_cpu_ns(w));
	}
	g_array_sort_with_data(rows, by_thread_and_time, (gpointer)(uintptr_t)window);
	for (guint i = 0; i < rows->len; i++) {
		uint32_t at = g_array_index(rows, uint32_t, i), before = i ? g_array_index(rows, uint32_t, i - 1) : at;

		const struct wait *w = profile_wait(window, at);

		of_thread = w->thread == profile_wait(window, before)->thread ? of_thread + 1 : 1;
		coarse[at] = of_thread > preempted_stacks ||
			     (of_thread > 1 && wait_off_cpu_ns(w) < whole_ns[w->thread] / MERGE_TOLD_PART);
	}
	return copy_window(window, coarse, error);
}
