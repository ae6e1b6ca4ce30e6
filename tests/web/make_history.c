/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* make_history DIR START_UNIX_S FILE|gap=SECONDS[*N] ...: a history of recordings, one window behind the other, each N times. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile_file.h"
#include "store/store.h"

#define SECOND UINT64_C(1000000000)

static uint64_t now_ns, monotonic_ns = 1000 * SECOND;

/* An agent's windows know when each row's longest wait began, and who ended it: here in the middle of the window. */
static void tell_longest(struct profile *p)
{
	for (guint i = 0; i < p->waits->len; i++) {
		struct wait *w = &g_array_index(p->waits, struct wait, i);

		if (w->max_ns < p->info.duration_ns && w->state != 'R')
			w->max_start_unix_ns = now_ns + (p->info.duration_ns - w->max_ns) / 2;
	}
	for (guint i = 0; i < p->wakes->len; i++) {
		const struct wake *k = profile_wake(p, i);

		profile_set_max_waker(p, k->wait, profile_wait(p, k->wait)->max_start_unix_ns, k->waker);
	}
}

/* As the next window: what the recorder's clocks would have said. */
static bool add_window(struct store *s, const char *file, GError **error)
{
	struct profile *p = profile_file_read(file, error);
	bool ok;

	if (!p)
		return false;
	for (uint32_t i = 0; i < p->threads->len; i++) {
		struct thread *t = &g_array_index(p->threads, struct thread, i);

		t->from_ns += monotonic_ns - p->info.start_ns;
		t->to_ns += monotonic_ns - p->info.start_ns;
	}
	p->info.start_unix_ns = now_ns;
	p->info.start_ns = monotonic_ns;
	tell_longest(p);
	now_ns += p->info.duration_ns;
	monotonic_ns += p->info.duration_ns;
	ok = store_add(s, p, NULL, error);
	profile_free(p);
	return ok;
}

static bool add(struct store *s, const char *what, GError **error)
{
	g_auto(GStrv) parts = g_strsplit(what, "*", 2);
	unsigned times = parts[1] ? (unsigned)atoi(parts[1]) : 1;

	if (g_str_has_prefix(parts[0], "gap=")) {
		uint64_t from_ns = now_ns;

		now_ns += (uint64_t)atoi(parts[0] + 4) * SECOND;
		monotonic_ns += (uint64_t)atoi(parts[0] + 4) * SECOND;
		return store_add_gap(s, from_ns, now_ns, "the agent was not there", error);
	}
	for (unsigned i = 0; i < times; i++)
		if (!add_window(s, parts[0], error))
			return false;
	return true;
}

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	struct store *s;
	bool ok;

	if (argc < 4)
		return 2;
	s = store_open(&(struct store_options){ .dir = argv[1] }, &error);
	now_ns = strtoull(argv[2], NULL, 10) * SECOND;
	ok = s != NULL;
	for (int i = 3; ok && i < argc; i++)
		ok = add(s, argv[i], &error);
	store_close(s);
	if (!ok)
		fprintf(stderr, "make_history: %s\n", error->message);
	return ok ? 0 : 1;
}
