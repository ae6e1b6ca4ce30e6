/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * history-fill DIR WINDOWS [--start UNIX_SECONDS] [--pause EVERY] RECORDING...: makes a history of so many windows out of recordings, by
 * turns, one behind the other; after each EVERY windows one is left out, as a gap.  Prints how long that took.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "profile/profile_file.h"
#include "store/store.h"

static void move_to(struct profile *p, uint64_t start_unix_ns, uint64_t start_ns)
{
	uint64_t shift_ns = start_ns - p->info.start_ns;

	for (guint i = 0; i < p->threads->len; i++) {
		struct thread *t = &g_array_index(p->threads, struct thread, i);

		t->from_ns += shift_ns;
		t->to_ns += shift_ns;
	}
	p->info.start_ns = start_ns;
	p->info.start_unix_ns = start_unix_ns;
}

struct filling {
	const char *dir;
	uint64_t windows, start_unix_ns, pause;
	GPtrArray *recordings;	/* struct profile */
	uint64_t worst_ns, all_ns;
};

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
	const struct store_options options = { .dir = f->dir };
	struct store *s = store_open(&options, error);
	uint64_t unix_ns = f->start_unix_ns, ns = 1000000000;
	bool ok = s != NULL;

	for (uint64_t i = 0; i < f->windows && ok; i++) {
		struct profile *p = g_ptr_array_index(f->recordings, i % f->recordings->len);
		uint64_t end_unix_ns = unix_ns + p->info.duration_ns;

		if (f->pause && i % f->pause == f->pause - 1) {
			ok = store_add_gap(s, unix_ns, end_unix_ns, "the agent was started anew", error);
		} else {
			move_to(p, unix_ns, ns);
			ok = add(s, f, p, error);
		}
		unix_ns = end_unix_ns;
		ns += p->info.duration_ns;
	}
	store_close(s);
	return ok;
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
		} else {
			struct profile *p = profile_file_read(argv[i], error);

			if (!p)
				return false;
			g_ptr_array_add(f->recordings, p);
		}
	}
	return f->recordings->len != 0;
}

static void free_profile(gpointer p)
{
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	struct filling f = { .recordings = g_ptr_array_new_with_free_func(free_profile) };
	struct store_extent e = { 0 };
	bool ok = argc > 3 && understand(argc, argv, &f, &error) && fill(&f, &error) && store_extent(f.dir, &e, &error);

	if (ok)
		printf("%" G_GUINT64_FORMAT " windows, %.1f KB each with all sums, %.2f ms of CPU time each, at most %.1f ms\n", f.windows,
		       (double)e.bytes / 1024 / (double)f.windows, (double)f.all_ns / 1e6 / (double)f.windows, (double)f.worst_ns / 1e6);
	else
		fprintf(stderr, "history-fill: %s\n", error ? error->message : "DIR WINDOWS RECORDING... are wanted");
	g_ptr_array_unref(f.recordings);
	return !ok;
}
