/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/json_crowd.h"

#include <stdlib.h>
#include <string.h>

#include "abi/storm_abi.h"
#include "analyse/blame.h"
#include "analyse/storms.h"

static const char *const blame_kinds[] = { "unknown", "thread", "idle", "throttled" };

static void write_culprit(struct json *j, const struct blame *b)
{
	json_object_begin(j);
	json_member_string(j, "kind", blame_kinds[b->kind]);
	if (b->kind == BLAME_THREAD) {
		json_member_uint(j, "pid", b->pid);
		json_key(j, "tid");
		if (b->tid)
			json_uint(j, b->tid);
		else
			json_null(j);
		json_member_string(j, "comm", b->comm);
	}
	if (b->kind != BLAME_UNKNOWN)
		json_member_uint(j, "stretches", b->count);
	json_member_uint(j, "runnable_ns", b->runnable_ns);
	json_member_uint(j, "preempted_ns", b->preempted_ns);
	json_object_end(j);
}

/* By thread, then the longest first. */
static int compare(gconstpointer va, gconstpointer vb)
{
	const struct blame *a = *(const struct blame *const *)va, *b = *(const struct blame *const *)vb;
	uint64_t a_ns = a->runnable_ns + a->preempted_ns, b_ns = b->runnable_ns + b->preempted_ns;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a_ns != b_ns)
		return a_ns < b_ns ? 1 : -1;
	return a->tid != b->tid ? (a->tid < b->tid ? -1 : 1) : strcmp(a->comm, b->comm);
}

void json_runq_blame(struct json *j, const struct profile *p, const struct selection *selection)
{
	g_autofree struct blame_rest *rests = NULL;
	g_autoptr(GPtrArray) blames = NULL;
	guint at = 0;

	if (!p->info.has_blame)
		return;
	rests = blame_rests_new(p);
	blames = g_ptr_array_new();
	for (uint32_t i = 0; i < p->blames->len; i++)
		g_ptr_array_add(blames, (gpointer)profile_blame(p, i));
	qsort(blames->pdata, blames->len, sizeof(gpointer), compare);
	json_key(j, "runq_blame");
	json_array_begin(j);
	for (uint32_t i = 0; i < p->threads->len; i++) {
		const struct thread *t = profile_thread(p, i);
		const struct blame rest = { .kind = BLAME_UNKNOWN, .runnable_ns = rests[i].runnable_ns,
					    .preempted_ns = rests[i].preempted_ns };
		bool is_shown = (!selection || selection->threads[i]) && (t->runnable_ns || t->preempted_ns);

		if (is_shown) {
			json_object_begin(j);
			json_member_uint(j, "pid", t->pid);
			json_member_uint(j, "tid", t->tid);
			json_member_string(j, "comm", t->comm);
			json_member_uint(j, "runnable_ns", t->runnable_ns);
			json_member_uint(j, "preempted_ns", t->preempted_ns);
			json_key(j, "held_by");
			json_array_begin(j);
		}
		for (; at < blames->len && ((const struct blame *)blames->pdata[at])->thread == i; at++)
			if (is_shown)
				write_culprit(j, blames->pdata[at]);
		if (!is_shown)
			continue;
		if (rest.runnable_ns || rest.preempted_ns)
			write_culprit(j, &rest);
		json_array_end(j);
		json_object_end(j);
	}
	json_array_end(j);
}

static void write_sleepers(struct json *j, const struct profile *p, const struct storm_row *r,
			   json_stack_fn write_stack, void *data)
{
	json_key(j, "woken_waits");
	json_array_begin(j);
	for (guint i = 0; i < r->sleepers->len; i++) {
		const struct storm_sleepers *s = &g_array_index(r->sleepers, struct storm_sleepers, i);
		const struct wait *w = profile_wait(p, s->wait);
		const struct thread *t = profile_thread(p, w->thread);

		json_object_begin(j);
		json_member_string(j, "comm", t->comm);
		json_member_uint(j, "threads", s->rows);
		json_member_uint(j, "count", s->count);
		write_stack(j, "user", w->user, data);
		write_stack(j, "kernel", w->kernel, data);
		json_object_end(j);
	}
	json_array_end(j);
}

static void write_storm(struct json *j, const struct profile *p, const struct storm_row *r,
			json_stack_fn write_stack, void *data)
{
	const struct storm *s = &r->storm;
	const struct waker *waker = profile_get_waker(p, s->waker);

	json_object_begin(j);
	json_member_string(j, "kind", storm_kind_id(r->kind));
	json_member_string(j, "verdict", storm_verdict_id(r->verdict));
	json_member_bool(j, "one_by_one", r->one_by_one);
	json_member_uint(j, "events", s->event_cnt);
	json_member_uint(j, "calls", s->call_cnt);
	json_member_uint(j, "woken", s->woken_cnt);
	json_member_uint(j, "most", s->most_cnt);
	json_member_uint(j, "ended", s->ended_cnt);
	json_member_uint(j, "again", s->again_cnt);
	json_member_uint(j, "again_within_ns", STORM_AGAIN_NS);
	json_member_uint(j, "cpu_ns", s->cpu_ns);
	json_member_uint(j, "again_cpu_ns", s->again_ns);
	json_member_uint(j, "delay_ns", s->delay_ns);
	json_member_uint(j, "wakers", r->wakers);
	json_key(j, "waker");
	json_object_begin(j);
	json_member_string(j, "comm", waker->comm);
	json_member_uint(j, "pid", waker->pid);
	json_member_uint(j, "tid", waker->tid);
	json_member_string(j, "irq", waker->irq);
	write_stack(j, "user", waker->user, data);
	write_stack(j, "kernel", waker->kernel, data);
	json_object_end(j);
	write_sleepers(j, p, r, write_stack, data);
	json_object_end(j);
}

void json_storms(struct json *j, const struct profile *p, const struct selection *selection, json_stack_fn write_stack,
		 void *data)
{
	struct storm_table *t;

	if (!p->info.has_storms)
		return;
	t = storm_table_new(p, selection);
	json_key(j, "storms");
	json_array_begin(j);
	for (guint i = 0; i < t->rows->len; i++)
		write_storm(j, p, &g_array_index(t->rows, struct storm_row, i), write_stack, data);
	json_array_end(j);
	storm_table_free(t);
}
