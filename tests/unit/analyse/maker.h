/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_MAKER_H
#define ANALYSE_MAKER_H

/* A profile of ten seconds, made by hand, whose reasons are asked. */
#include "../fixture.h"

#define MS UINT64_C(1000000)

struct maker {
	struct profile *p;
};

static inline struct maker maker_new(const char *filters)
{
	struct maker m = { .p = profile_new() };

	m.p->info.filters = profile_string(m.p, filters);
	m.p->info.duration_ns = 10000 * MS;
	m.p->info.cpus = 2;
	return m;
}

static inline uint32_t thread_of(struct profile *p, uint32_t pid, uint32_t tid, const char *comm, uint32_t flags)
{
	struct thread t = {
		.pid = pid,
		.tid = tid,
		.comm = profile_string(p, comm),
		.process = profile_string(p, comm),
		.flags = flags,
		.to_ns = 10000 * MS,
	};

	return profile_add_thread(p, &t);
}

/* A wait of 10 ms each, and the thread's account with it. */
static inline uint32_t wait_of(struct profile *p, uint32_t thread, char state, const char *user, const char *kernel,
			uint64_t count)
{
	struct thread *t = &g_array_index(p->threads, struct thread, thread);

	*(state == 'R' ? &t->preempted_ns : &t->blocked_ns) += count * 10 * MS;
	return fixture_wait(p, thread, state, count, 10 * MS, user, kernel);
}

static inline void woken_by(struct profile *p, uint32_t wait, uint32_t thread, const char *user)
{
	const struct wait *w = profile_wait(p, wait);
	struct waker waker = { .comm = "", .irq = "timer" };
	struct wake wake = { .wait = wait, .count = w->count, .blocked_ns = w->blocked_ns };

	if (thread != UINT32_MAX) {
		const struct thread *t = profile_thread(p, thread);

		waker = (struct waker){ .pid = t->pid, .tid = t->tid, .comm = t->comm };
		waker.user = *user ? fixture_stack(p, FRAME_USER, STACK_COMPLETE, user) : 0;
	}
	wake.waker = profile_waker(p, &waker);
	profile_add_wake(p, &wake);
}

static inline void wait_for(struct profile *p, uint32_t wait, enum object_kind kind, const char *name, uint32_t pid)
{
	const struct object o = { .kind = kind, .pid = pid, .name = name, .place = "tcp", .operation = "" };

	g_array_index(p->waits, struct wait, wait).object = profile_object(p, &o) + 1;
}

#endif
