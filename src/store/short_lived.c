/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "store/short_lived.h"

#include <string.h>

#include "base/each.h"
#include "base/hash.h"
#include "base/order.h"
#include "features/requests/rows.h"
#include "features/wakers/history.h"

#define NOT_YET UINT32_MAX

/* What threads that share a row have in common.  Strings are interned. */
struct row_key {
	const char *comm, *process, *service;
	uint32_t pid;
	uint32_t is_kernel;
};

/* Threads with the same key: the key, their number, and their row once it exists. */
struct bunch {
	struct row_key key;
	uint32_t cnt, row;
};

struct folding {
	struct profile *old, *p;
	const struct short_lived_options *options;
	GHashTable *lasting_pids, *lasting_threads;	/* of threads that are not folded */
	GHashTable *bunches;	/* struct row_key -> struct bunch */
	struct bunch **of_thread;	/* for each old thread; NULL: it keeps its row */
	bool *is_excluded;	/* for each old thread */
	uint32_t *row;		/* for each old thread */
	uint32_t *object, *waker;	/* for each old object of a folded thread, and for each old waker; NOT_YET */
	uint32_t rows_cnt;	/* of bunches */
	struct bunch others;
};

HASH_KEY(key, struct row_key, comm, process, service, pid, is_kernel)

/*
 * The row of an exec's old program counts too: the thread continues as another program.  A thread that began before
 * the window keeps its row if one of its waits may continue one: joined waits need rows with the same name.
 */
static bool is_short_lived(const struct folding *f, const struct thread *t)
{
	if (f->options->even_gone && t->to_ns < f->old->info.start_ns + f->old->info.duration_ns)
		return true;
	if (!f->options->may_fold || !(t->flags & (THREAD_EXITED | THREAD_EXECED)))
		return false;
	if (!t->tid || t->from_ns > f->old->info.start_ns)
		return true;
	return f->options->has_boot_offset && !(t->flags & THREAD_OPEN_AT_START) &&
	       t->start_ns + f->old->info.duration_ns > t->to_ns + f->options->boot_offset_ns;
}

static gpointer id_key(uint32_t id)
{
	return GUINT_TO_POINTER(id);
}

/* Thread ids are reused, so the start time is part of the key. */
static gpointer thread_key(uint32_t tid, uint64_t start_ns)
{
	return GSIZE_TO_POINTER((gsize)hash_end(hash_more(start_ns, tid)));
}

static void note_lasting(struct folding *f)
{
	EACH_ROW(i, const struct thread, t, f->old->threads) {
		if (is_short_lived(f, t))
			continue;
		g_hash_table_add(f->lasting_pids, id_key(t->pid));
		g_hash_table_add(f->lasting_threads, thread_key(t->tid, t->start_ns));
	}
}

static struct row_key key_of(const struct folding *f, const struct thread *t)
{
	return (struct row_key){
		.comm = t->comm, .process = t->process, .service = t->service,
		.pid = g_hash_table_contains(f->lasting_pids, id_key(t->pid)) ? t->pid : 0,
		.is_kernel = t->flags & THREAD_KERNEL,
	};
}

static struct bunch *bunch_of(struct folding *f, const struct row_key *key)
{
	struct bunch *b = g_hash_table_lookup(f->bunches, key);

	if (!b) {
		b = g_new(struct bunch, 1);
		*b = (struct bunch){ .key = *key, .row = NOT_YET };
		g_hash_table_insert(f->bunches, &b->key, b);
	}
	b->cnt++;
	return b;
}

static struct row_key excluded_key(struct profile *p)
{
	const char *name = profile_string(p, "(excluded)");

	return (struct row_key){ .comm = name, .process = name };
}

/* A lone thread keeps its row.  A row for several loses its pid once its process is gone. */
static bool keeps_row(const struct folding *f, const struct thread *t, const struct bunch *b)
{
	return b->cnt == 1 && !f->options->even_one && (t->tid || t->pid == b->key.pid);
}

/* True: there is something to fold. */
static bool gather_bunches(struct folding *f)
{
	bool is_any = false;

	EACH_ROW(i, const struct thread, t, f->old->threads) {
		struct row_key key = key_of(f, t);

		f->is_excluded[i] = f->options->is_excluded && f->options->is_excluded(t, f->options->data);
		if (f->is_excluded[i])
			key = excluded_key(f->old);
		else if (!is_short_lived(f, t))
			continue;
		f->of_thread[i] = bunch_of(f, &key);
	}
	for (guint i = 0; i < f->old->threads->len; i++) {
		if (f->of_thread[i] && !f->is_excluded[i] && keeps_row(f, profile_thread(f->old, i), f->of_thread[i]))
			f->of_thread[i] = NULL;
		is_any |= f->of_thread[i] != NULL;
	}
	return is_any;
}

/* Only the length of the row's time means anything, so its end grows with the sums. */
static void add_to_row(struct folding *f, uint32_t row, const struct thread *t)
{
	struct thread *sum = &g_array_index(f->p->threads, struct thread, row);

	sum->to_ns += thread_observed_ns(t);
	ADD_MEMBERS(sum, t, on_cpu_ns, blocked_ns, runnable_ns, preempted_ns, filtered_ns, lost_ns, switches);
}

static uint32_t row_of(struct folding *f, struct bunch *b)
{
	if (b->row != NOT_YET)
		return b->row;
	if (b != &f->others && (f->rows_cnt >= SHORT_LIVED_ROWS_MAX || b->key.comm == f->others.key.comm))
		return b->row = row_of(f, &f->others);
	const struct thread t = {
		.comm = b->key.comm, .process = b->key.process, .service = b->key.service, .pid = b->key.pid,
		.flags = THREAD_EXITED | (b->key.is_kernel ? THREAD_KERNEL : 0),
		.from_ns = f->old->info.start_ns, .to_ns = f->old->info.start_ns,
	};

	f->rows_cnt++;
	return b->row = profile_add_thread(f->p, &t);
}

static void copy_threads(struct folding *f)
{
	f->others.row = NOT_YET;
	f->others.key.comm = f->others.key.process = profile_string(f->p, "(others)");
	EACH_ROW(i, const struct thread, t, f->old->threads) {
		if (!f->of_thread[i]) {
			f->row[i] = profile_add_thread(f->p, t);
			continue;
		}
		f->row[i] = row_of(f, f->of_thread[i]);
		add_to_row(f, f->row[i], t);
	}
}

/* Drops numbers that differ in each process: "heap 0x5581", "stack of thread 17". */
static char *without_numbers(const char *name)
{
	GString *s = g_string_new(NULL);

	for (const char *c = name; *c;) {
		bool begins = c == name || !g_ascii_isalnum(c[-1]);

		if (begins && c[0] == '0' && c[1] == 'x') {
			for (c += 2; g_ascii_isxdigit(*c);)
				c++;
			g_string_append_c(s, '*');
		} else if (begins && g_ascii_isdigit(*c)) {
			while (g_ascii_isdigit(*c))
				c++;
			g_string_append_c(s, '*');
		} else {
			g_string_append_c(s, *c++);
		}
	}
	return g_string_free(s, FALSE);
}

/* Files are replaced by their folder: each compiler run has other files. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash > path ? g_strdup_printf("%.*s/*", (int)(slash - path), path) : g_strdup(path);
}

static uint32_t fold_object(struct folding *f, uint32_t object)
{
	struct object o = *profile_get_object(f->old, object);
	g_autofree char *name = NULL;

	if (o.kind == OBJECT_FILE)
		name = folder_of(o.name);
	else if (o.kind == OBJECT_SOCKET || o.kind == OBJECT_FAULT || o.kind == OBJECT_DIRECTORY)
		name = g_strdup(o.name);
	else
		name = without_numbers(o.name);
	o.name = name;
	o.holder_tid = 0;
	o.addr = 0;
	if (!g_hash_table_contains(f->lasting_pids, id_key(o.pid)))
		o.pid = 0;
	return profile_object(f->p, &o);
}

/* Object of a wait of that thread; index + 1. */
static uint32_t object_of(struct folding *f, uint32_t thread, uint32_t object)
{
	const struct object *o = object ? profile_get_object(f->old, object - 1) : NULL;

	/* A long-lived shell waits for one child after the other. */
	if (!o || (!f->of_thread[thread] &&
		   (o->kind != OBJECT_CHILD || g_hash_table_contains(f->lasting_pids, id_key(o->pid)))))
		return object;
	if (f->object[object - 1] == NOT_YET)
		f->object[object - 1] = fold_object(f, object - 1);
	return f->object[object - 1] + 1;
}

static uint32_t waker_of(struct folding *f, uint32_t waker)
{
	struct waker w = *profile_get_waker(f->old, waker);

	if (f->waker[waker] != NOT_YET)
		return f->waker[waker];
	f->waker[waker] = waker;
	if (!w.tid || !f->options->may_fold || g_hash_table_contains(f->lasting_threads, thread_key(w.tid, w.start_ns)))
		return waker;
	w.pid = w.tid = 0;
	w.start_ns = 0;
	return f->waker[waker] = profile_waker(f->p, &w);
}

static uint32_t waker_for_chain(void *folding, uint32_t waker)
{
	return waker_of(folding, waker);
}

/* wake: new index + 1 for each old one; 0: dropped. */
static void copy_stories(struct folding *f, const uint32_t *wake)
{
	g_autofree uint32_t *chains = f->old->stories->len ? chains_copy(f->old, f->p, waker_for_chain, f) : NULL;

	for (guint i = 0; i < f->old->stories->len; i++) {
		struct story s = *profile_story(f->old, i);

		if (!wake[s.wake])
			continue;
		s.wake = wake[s.wake] - 1;
		s.chain = chains[s.chain];
		profile_add_story(f->p, &s);
	}
}

static void copy_waits(struct folding *f)
{
	g_autofree uint32_t *wait = g_new(uint32_t, f->old->waits->len + 1);
	g_autofree uint32_t *wake = g_new0(uint32_t, f->old->wakes->len + 1);

	profile_expect_waits(f->p, f->old->waits->len);
	for (guint i = 0; i < f->old->waits->len; i++) {
		struct wait w = *profile_wait(f->old, i);

		w.object = object_of(f, w.thread, w.object);
		if (f->is_excluded[w.thread])
			w.user = w.kernel = w.object = w.max_waker = 0;
		w.thread = f->row[w.thread];
		w.max_waker = w.max_waker ? waker_of(f, w.max_waker - 1) + 1 : 0;
		wait[i] = profile_add_wait(f->p, &w);
	}
	for (guint i = 0; i < f->old->wakes->len; i++) {
		struct wake k = *profile_wake(f->old, i);

		if (f->is_excluded[profile_wait(f->old, k.wait)->thread])
			continue;
		k.wait = wait[k.wait];
		k.waker = waker_of(f, k.waker);
		wake[i] = profile_add_wake(f->p, &k) + 1;
	}
	copy_stories(f, wake);
}

ORDER(by_thread, struct state_total, ORDER_LOW(thread))

static void copy_states(struct folding *f)
{
	g_autoptr(GHashTable) at = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);
	g_autoptr(GArray) totals = g_array_new(FALSE, FALSE, sizeof(struct state_total));

	for (guint i = 0; i < f->old->states->len; i++) {
		struct state_total own = *profile_state(f->old, i);

		own.thread = f->row[own.thread];
		uint64_t key = (uint64_t)own.thread << 8 | own.state;
		gpointer index;

		if (!g_hash_table_lookup_extended(at, &key, NULL, &index)) {
			g_hash_table_insert(at, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(totals->len));
			g_array_append_val(totals, own);
			continue;
		}
		struct state_total *sum = &g_array_index(totals, struct state_total, GPOINTER_TO_UINT(index));

		ADD_MEMBERS(sum, &own, count, blocked_ns, runnable_ns, preempted_ns);
	}
	g_array_sort(totals, by_thread);	/* keeps the order within each thread */
	for (guint i = 0; i < totals->len; i++)
		profile_add_state(f->p, &g_array_index(totals, struct state_total, i));
}

HASH_KEY(sample, struct on_cpu_sample, thread, user, kernel, slice)

static void copy_samples(struct folding *f)
{
	g_autoptr(GHashTable) sums = g_hash_table_new_full(sample_hash, sample_equal, NULL, g_free);
	g_autoptr(GPtrArray) order = g_ptr_array_new();

	for (guint i = 0; i < f->old->on_cpu->len; i++) {
		struct on_cpu_sample own = g_array_index(f->old->on_cpu, struct on_cpu_sample, i);

		if (f->is_excluded[own.thread])
			own.user = own.kernel = 0;
		own.thread = f->row[own.thread];
		struct on_cpu_sample *sum = g_hash_table_lookup(sums, &own);

		if (sum) {
			sum->samples = profile_sum(sum->samples, own.samples);
			sum->weight_ns = profile_sum(sum->weight_ns, own.weight_ns);
			continue;
		}
		sum = g_memdup2(&own, sizeof(own));
		g_hash_table_add(sums, sum);
		g_ptr_array_add(order, sum);
	}
	for (guint i = 0; i < order->len; i++)
		profile_add_on_cpu(f->p, order->pdata[i]);
}

static void copy_rest(struct folding *f)
{
	for (guint i = 0; i < f->old->blames->len; i++) {
		struct blame b = *profile_blame(f->old, i);

		b.thread = f->row[b.thread];
		profile_add_blame(f->p, &b);
	}
	for (guint i = 0; i < f->old->storms->len; i++) {
		struct storm s = *profile_storm(f->old, i);

		s.waker = waker_of(f, s.waker);
		profile_add_storm(f->p, &s);
	}
	g_array_append_vals(f->p->losses, f->old->losses->data, f->old->losses->len);
	g_array_append_vals(f->p->requests, f->old->requests->data, f->old->requests->len);
	for (guint i = 0; i < f->old->request_parts->len; i++) {
		struct request_part part = *profile_request_part(f->old, i);

		if (f->is_excluded[part.wait.thread])
			part.wait.user = part.wait.kernel = part.wait.object = 0;
		part.wait.thread = f->row[part.wait.thread];
		g_array_append_val(f->p->request_parts, part);
	}
}

/* Connections are dropped if all threads of their process are excluded. */
static bool is_kept(const struct folding *f, uint32_t pid)
{
	bool is_known = false;

	for (guint i = 0; i < f->old->threads->len; i++) {
		if (profile_thread(f->old, i)->pid != pid)
			continue;
		if (!f->is_excluded[i])
			return true;
		is_known = true;
	}
	return !is_known;
}

/* Copies the network rows of objects that waits refer to. */
static void copy_network(struct folding *f)
{
	g_autoptr(GHashTable) objects = g_hash_table_new(NULL, NULL);

	for (guint i = 0; i < f->p->waits->len; i++)
		g_hash_table_add(objects, GUINT_TO_POINTER(profile_wait(f->p, i)->object));
	for (guint i = 0; i < f->old->tcp_waits->len; i++) {
		struct tcp_wait t = *profile_tcp_wait(f->old, i);

		if (!g_hash_table_contains(objects, GUINT_TO_POINTER(t.object + 1)))
			t.object = f->object[t.object];
		if (t.object != NOT_YET && g_hash_table_contains(objects, GUINT_TO_POINTER(t.object + 1)))
			profile_add_tcp_wait(f->p, &t);
	}
	for (guint i = 0; i < f->old->connections->len; i++)
		if (is_kept(f, profile_connection(f->old, i)->pid))
			profile_add_connection(f->p, profile_connection(f->old, i));
}

static uint32_t *table_of(guint cnt)
{
	uint32_t *table = g_new(uint32_t, cnt + 1);

	memset(table, 0xff, (cnt + 1) * sizeof(*table));
	return table;
}

struct profile *short_lived_fold(struct profile *window, const struct short_lived_options *options)
{
	struct folding f = { .old = window, .options = options };
	const guint threads = window->threads->len;

	f.lasting_pids = g_hash_table_new(NULL, NULL);
	f.lasting_threads = g_hash_table_new(NULL, NULL);
	f.bunches = g_hash_table_new_full(key_hash, key_equal, NULL, g_free);
	f.of_thread = g_new0(struct bunch *, threads + 1);
	f.is_excluded = g_new0(bool, threads + 1);
	f.row = table_of(threads);
	f.object = table_of(window->objects->len);
	f.waker = table_of(window->wakers->len);
	note_lasting(&f);
	if (gather_bunches(&f)) {
		f.p = profile_new_rows(window);
		copy_threads(&f);
		copy_waits(&f);
		copy_states(&f);
		copy_samples(&f);
		copy_rest(&f);
		copy_network(&f);
		GPtrArray *tasks = window->tasks;

		window->tasks = f.p->tasks;
		f.p->tasks = tasks;
	}
	g_hash_table_unref(f.lasting_pids);
	g_hash_table_unref(f.lasting_threads);
	g_hash_table_unref(f.bunches);
	g_free(f.of_thread);
	g_free(f.is_excluded);
	g_free(f.row);
	g_free(f.object);
	g_free(f.waker);
	return f.p;
}
