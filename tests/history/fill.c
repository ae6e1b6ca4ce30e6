/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * history-fill DIR WINDOWS [--start UNIX_SECONDS] [--pause EVERY] [--max MIB] [--length SECONDS] RECORDING|HISTORY...:
 * makes a history of so many windows out of recordings, or of all windows of another history, or of its ranges of so
 * many seconds, by turns, one behind the other; after each EVERY windows one is left out, as a gap.  In each turn
 * threads that began meanwhile are others than before, as they would be.  Prints what it costs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "profile/profile_file.h"
#include "store/blob.h"
#include "store/store.h"

#define PID_STEP 100003		/* a prime: numbers of two turns are unlikely to meet */

/* One window, and what is needed to tell it anew. */
struct source {
	struct profile *p;
	struct thread *threads;		/* as they were */
	struct waker *wakers;
	struct object *objects;
};

struct filling {
	const char *dir;
	uint64_t windows, start_unix_ns, pause;
	uint64_t max_bytes, length_ns;
	GArray *sources;	/* struct source */
	uint64_t begun_ns;	/* since boot: threads that started later are others in each turn */
	GHashTable *new_pids;	/* of such threads and their processes */
	uint64_t worst_ns, all_ns;
};

static gpointer pid_key(uint32_t pid)
{
	return GUINT_TO_POINTER(pid);
}

static uint32_t pid_of(const struct filling *f, uint32_t pid, uint64_t turn)
{
	return pid && g_hash_table_contains(f->new_pids, pid_key(pid)) ? (uint32_t)((pid + turn * PID_STEP) % (4 << 20)) + 2 : pid;
}

static uint64_t start_of(const struct filling *f, uint64_t start_ns, uint64_t turn_ns)
{
	return start_ns > f->begun_ns ? start_ns + turn_ns : start_ns;
}

/* The window as it is in that turn, which begins so much later than the first. */
static void tell(const struct filling *f, const struct source *s, uint64_t start_unix_ns, uint64_t start_ns, uint64_t turn, uint64_t turn_ns)
{
	struct profile *p = s->p;
	uint64_t shift_ns = start_ns - p->info.start_ns;

	for (guint i = 0; i < p->threads->len; i++) {
		struct thread *t = &g_array_index(p->threads, struct thread, i);

		t->from_ns += shift_ns;
		t->to_ns += shift_ns;
		t->start_ns = start_of(f, s->threads[i].start_ns, turn_ns);
		t->pid = pid_of(f, s->threads[i].pid, turn);
		t->tid = pid_of(f, s->threads[i].tid, turn);
	}
	for (guint i = 0; i < p->wakers->len; i++) {
		struct waker *w = &g_array_index(p->wakers, struct waker, i);

		w->start_ns = start_of(f, s->wakers[i].start_ns, turn_ns);
		w->pid = pid_of(f, s->wakers[i].pid, turn);
		w->tid = pid_of(f, s->wakers[i].tid, turn);
	}
	for (guint i = 0; i < p->objects->len; i++) {
		struct object *o = &g_array_index(p->objects, struct object, i);

		o->pid = pid_of(f, s->objects[i].pid, turn);
		o->holder_tid = pid_of(f, s->objects[i].holder_tid, turn);
	}
	p->info.start_ns = start_ns;
	p->info.start_unix_ns = start_unix_ns;
}

static bool add(struct store *s, struct filling *f, const struct profile *p, GError **error)
{
	uint64_t began_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	bool ok = store_add(s, p, NULL, error);
	uint64_t took_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began_ns;

	f->all_ns += took_ns;
	f->worst_ns = MAX(f->worst_ns, took_ns);
	return ok;
}

static bool fill(struct filling *f, GError **error)
{
	const struct store_options options = { .dir = f->dir, .max_bytes = f->max_bytes, .preempted_stacks = STORE_PREEMPTED_STACKS };
	struct store *s = store_open(&options, error);
	const uint64_t first_ns = 1000000000;
	uint64_t unix_ns = f->start_unix_ns, ns = first_ns, turn_ns = 0;
	bool ok = s != NULL;

	for (uint64_t i = 0; i < f->windows && ok; i++) {
		const struct source *source = &g_array_index(f->sources, struct source, i % f->sources->len);
		uint64_t length_ns = source->p->info.duration_ns;

		if (i % f->sources->len == 0)
			turn_ns = ns - first_ns;
		if (f->pause && i % f->pause == f->pause - 1) {
			ok = store_add_gap(s, unix_ns, unix_ns + length_ns, "the agent was started anew", error);
		} else {
			tell(f, source, unix_ns, ns, i / f->sources->len, turn_ns);
			ok = add(s, f, source->p, error);
		}
		unix_ns += length_ns;
		ns += length_ns;
	}
	store_close(s);
	return ok;
}

static void take(struct filling *f, struct profile *p)
{
	const struct source s = {
		.p = p, .threads = g_memdup2(p->threads->data, p->threads->len * sizeof(struct thread)),
		.wakers = g_memdup2(p->wakers->data, p->wakers->len * sizeof(struct waker)),
		.objects = g_memdup2(p->objects->data, p->objects->len * sizeof(struct object)),
	};

	g_array_append_val(f->sources, s);
}

static bool take_history(struct filling *f, const char *dir, GError **error)
{
	struct store_extent e;
	bool ok = store_extent(dir, &e, error);

	for (uint64_t at = e.from_unix_ns; ok && at < e.to_unix_ns;) {
		struct profile *p = store_read(dir, at, at + MAX(f->length_ns, 1), error);

		if (!p && !g_error_matches(*error, STORE_ERROR, STORE_ERROR_EMPTY))
			return false;
		g_clear_error(error);
		at = p ? p->info.history.to_unix_ns : at + 1000000;
		if (p)
			take(f, p);
	}
	return ok;
}

/* What began after the first window is of one turn. */
static void find_new(struct filling *f)
{
	for (guint i = 0; i < f->sources->len; i++) {
		const struct profile *p = g_array_index(f->sources, struct source, i).p;

		for (guint k = 0; k < p->threads->len; k++) {
			const struct thread *t = profile_thread(p, k);

			if (i == 0 && !(t->flags & (THREAD_EXITED | THREAD_EXECED)))
				f->begun_ns = MAX(f->begun_ns, t->start_ns);
			if (t->start_ns <= f->begun_ns)
				continue;
			g_hash_table_add(f->new_pids, pid_key(t->tid));
		}
	}
}

/* What is of one turn ends with it. */
static void end_new(struct filling *f)
{
	struct profile *p = g_array_index(f->sources, struct source, f->sources->len - 1).p;

	for (guint i = 0; i < p->threads->len; i++) {
		struct thread *t = &g_array_index(p->threads, struct thread, i);

		if (t->start_ns > f->begun_ns && t->flags & THREAD_OPEN_AT_END)
			t->flags = (t->flags & ~(uint32_t)THREAD_OPEN_AT_END) | THREAD_EXITED;
	}
	for (guint i = 0; i < p->waits->len; i++) {
		struct wait *w = &g_array_index(p->waits, struct wait, i);

		if (profile_thread(p, w->thread)->start_ns > f->begun_ns)
			w->flags &= (uint8_t)~WAIT_OPEN_AT_END;
	}
}

static bool understand(int argc, char **argv, struct filling *f, GError **error)
{
	f->dir = argv[1];
	f->windows = strtoull(argv[2], NULL, 10);
	f->start_unix_ns = UINT64_C(1764079200) * 1000000000;
	for (int i = 3; i < argc; i++) {
		if (strcmp(argv[i], "--start") == 0 && i + 1 < argc) {
			f->start_unix_ns = (uint64_t)(strtod(argv[++i], NULL) * 1e9);
		} else if (strcmp(argv[i], "--pause") == 0 && i + 1 < argc) {
			f->pause = strtoull(argv[++i], NULL, 10);
		} else if (strcmp(argv[i], "--max") == 0 && i + 1 < argc) {
			f->max_bytes = strtoull(argv[++i], NULL, 10) << 20;
		} else if (strcmp(argv[i], "--length") == 0 && i + 1 < argc) {
			f->length_ns = (uint64_t)(strtod(argv[++i], NULL) * 1e9);
		} else if (g_file_test(argv[i], G_FILE_TEST_IS_DIR)) {
			if (!take_history(f, argv[i], error))
				return false;
		} else {
			struct profile *p = profile_file_read(argv[i], error);

			if (!p)
				return false;
			take(f, p);
		}
	}
	find_new(f);
	if (f->sources->len > 1)
		end_new(f);
	return f->sources->len != 0;
}

static void free_source(gpointer p)
{
	struct source *s = p;

	profile_free(s->p);
	g_free(s->threads);
	g_free(s->wakers);
	g_free(s->objects);
}

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	struct filling f = { .sources = g_array_new(FALSE, FALSE, sizeof(struct source)), .new_pids = g_hash_table_new(NULL, NULL) };
	struct store_extent e = { 0 };

	g_array_set_clear_func(f.sources, free_source);
	bool ok = argc > 3 && understand(argc, argv, &f, &error) && fill(&f, &error) && store_extent(f.dir, &e, &error);

	if (ok)
		printf("%" G_GUINT64_FORMAT " windows, %.1f KB each with all sums, %.2f ms of CPU time each, at most %.1f ms\n", f.windows,
		       (double)e.bytes / 1024 / (double)f.windows, (double)f.all_ns / 1e6 / (double)f.windows, (double)f.worst_ns / 1e6);
	else
		fprintf(stderr, "history-fill: %s\n", error ? error->message : "DIR WINDOWS RECORDING... are wanted");
	g_array_unref(f.sources);
	g_hash_table_unref(f.new_pids);
	return !ok;
}
