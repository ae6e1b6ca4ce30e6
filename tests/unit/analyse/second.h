/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_SECOND_H
#define ANALYSE_SECOND_H

/* A window of one second, filled by hand, and what is told of it. */
#include <string.h>

#include "../fixture.h"
#include "../parts.h"
#include "explain/findings.h"
#include "explain/sentence.h"
#include "profile/limits.h"

#define MS UINT64_C(1000000)
#define WINDOW_MS 1000

static inline struct profile *window_new(void)
{
	struct profile *p = profile_new();

	p->info.filters = profile_string(p, "pid 10");
	p->info.duration_ns = WINDOW_MS * MS;
	p->info.cpus = 4;
	return p;
}

/* Runs for as long as its waits leave. */
static inline uint32_t runner(struct profile *p, uint32_t tid, const char *process)
{
	uint32_t thread = fixture_thread(p, 10, tid, process, process);
	struct thread *t = &g_array_index(p->threads, struct thread, thread);

	t->to_ns = WINDOW_MS * MS;
	t->on_cpu_ns = WINDOW_MS * MS;
	return thread;
}

static inline void add_wait(struct profile *p, uint32_t thread, char state, uint64_t count, uint64_t each_ms, const char *user,
		     const char *kernel)
{
	struct thread *t = &g_array_index(p->threads, struct thread, thread);
	uint64_t ns = count * each_ms * MS;

	fixture_wait(p, thread, state, count, each_ms * MS, user, kernel);
	*(state == 'R' ? &t->preempted_ns : &t->blocked_ns) += ns;
	t->on_cpu_ns -= ns;
}

static inline void assert_told(struct profile *p, const char *where, const char *text)
{
	struct findings *f = findings_new(p, NULL);
	struct parts parts;

	parts_of(f, 0, &parts);
	g_assert_nonnull(strstr(strcmp(where, "sentence") == 0 ? parts.sentence : parts.evidence, text));
	parts_clear(&parts);
	findings_free(f);
}

static inline void assert_advice(struct profile *p, const char *text)
{
	struct findings *f = findings_new(p, NULL);

	g_assert_true(g_str_has_prefix(sentence_advice(f, &g_array_index(f->rows, struct finding, 0)), text));
	findings_free(f);
}

#endif
