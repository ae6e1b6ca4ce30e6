/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_WINDOW_H
#define ANALYSE_WINDOW_H

/* A window of ten seconds, filled by hand, and what is told of it. */
#include <string.h>

#include "../fixture.h"
#include "explain/explain.h"

#define MS UINT64_C(1000000)
#define WINDOW_MS 10000

static inline struct profile *window_new(void)
{
	struct profile *p = profile_new();

	p->info.duration_ns = WINDOW_MS * MS;
	p->info.cpus = 2;
	return p;
}

static inline uint32_t thread_of(struct profile *p, uint32_t tid, const char *process, uint64_t on_cpu_ms)
{
	uint32_t thread = fixture_thread(p, 10, tid, process, process);
	struct thread *t = &g_array_index(p->threads, struct thread, thread);

	t->to_ns = WINDOW_MS * MS;
	t->on_cpu_ns = on_cpu_ms * MS;
	return thread;
}

static inline uint32_t add_wait(struct profile *p, uint32_t thread, char state, uint64_t count, uint64_t each_ms,
			 const char *user, const char *kernel)
{
	return fixture_wait(p, thread, state, count, each_ms * MS, user, kernel);
}

/* So many of that wait ended by the thread, in its function. */
static inline void woken_in(struct profile *p, uint32_t wait, uint32_t thread, const char *user, uint64_t count,
			    uint64_t ms)
{
	const struct thread *t = profile_thread(p, thread);
	const struct waker waker = { .pid = t->pid, .tid = t->tid, .comm = t->comm,
				     .user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, user) };
	const struct wake wake = { .wait = wait, .waker = profile_waker(p, &waker), .count = count, .blocked_ns = ms * MS };

	profile_add_wake(p, &wake);
}

static inline const struct headline *headline_with(const struct explanation *e, const char *what)
{
	for (guint i = 0; i < e->headlines->len; i++) {
		const struct headline *h = &g_array_index(e->headlines, struct headline, i);

		if (strstr(h->sentence, what))
			return h;
	}
	g_error("no headline has: %s", what);
}

#endif
