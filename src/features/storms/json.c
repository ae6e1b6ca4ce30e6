/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/order.h"
#include "render/json/parts.h"

#include "features/blame/analysis.h"
#include "features/storms/abi.h"
#include "features/storms/analysis.h"

static void write_culprit(struct json *j, const struct blame *b)
{
	json_member_string(j, "kind", blame_kind_id(b->kind));
	if (b->kind == BLAME_THREAD) {
		json_member_uint(j, "pid", b->pid);
		json_member_known(j, "tid", b->tid, b->tid);
		json_member_string(j, "comm", b->comm);
	}
	if (b->kind != BLAME_UNKNOWN)
		json_member_uint(j, "stretches", b->count);
	JSON(j, "runnable_ns", b->runnable_ns, "preempted_ns", b->preempted_ns);
}

/* By thread, then longest first. */
#define HELD_NS(b) ((b)->runnable_ns + (b)->preempted_ns)
ORDER_POINTERS(compare, struct blame, ORDER_LOW(thread) ORDER_HIGH_OF(HELD_NS) ORDER_LOW(tid) ORDER_TEXT(comm))

/* held_by: its rows of blame, [first, end), and the time without a culprit. */
static void write_sufferer(struct json *j, const struct thread *t, const GPtrArray *blames, guint first, guint end,
			   const struct blame_rest *rest)
{
	const struct blame unknown = { .kind = BLAME_UNKNOWN, .runnable_ns = rest->runnable_ns,
				       .preempted_ns = rest->preempted_ns };

	JSON(j, "pid", t->pid, "tid", t->tid, "comm", t->comm, "runnable_ns", t->runnable_ns);
	json_member_uint(j, "preempted_ns", t->preempted_ns);
	json_member_array(j, "held_by");
	for (guint i = first; i < end; i++)
		JSON_IN(j, write_culprit(j, blames->pdata[i]));
	if (unknown.runnable_ns || unknown.preempted_ns)
		JSON_IN(j, write_culprit(j, &unknown));
	json_array_end(j);
}

void json_runq_blame(struct json *j, const struct profile *p, const struct selection *selection)
{
	g_autofree struct blame_rest *rests = NULL;
	g_autoptr(GPtrArray) blames = NULL;

	if (!p->info.has_blame)
		return;
	rests = blame_rests_new(p);
	blames = g_ptr_array_new();
	for (uint32_t i = 0; i < p->blames->len; i++)
		g_ptr_array_add(blames, (gpointer)profile_blame(p, i));
	g_ptr_array_sort(blames, compare);
	JSON_ARRAY(j, "runq_blame")
		for (uint32_t i = 0, first = 0, end = 0; i < p->threads->len; i++, first = end) {
			const struct thread *t = profile_thread(p, i);

			while (end < blames->len && ((const struct blame *)blames->pdata[end])->thread == i)
				end++;
			if ((!selection || selection->threads[i]) && (t->runnable_ns || t->preempted_ns))
				JSON_IN(j, write_sufferer(j, t, blames, first, end, &rests[i]));
		}
}

static void write_sleepers(struct json *j, const struct wait_writer *writer, const struct storm_row *r)
{
	JSON_ROWS(j, "woken_waits", const struct storm_sleepers, s, r->sleepers) {
		const struct wait *w = profile_wait(writer->p, s->wait);
		const struct thread *t = profile_thread(writer->p, w->thread);

		json_object_begin(j);
		JSON(j, "comm", t->comm, "threads", s->threads, "count", s->count);
		json_stack(j, writer, "user", w->user);
		json_stack(j, writer, "kernel", w->kernel);
		json_object_end(j);
	}
}

static void write_storm(struct json *j, const struct wait_writer *writer, const struct storm_row *r)
{
	const struct storm *s = &r->storm;
	const struct waker *waker = profile_get_waker(writer->p, s->waker);

	JSON(j, "kind", storm_kind_id(r->kind), "verdict", storm_verdict_id(r->verdict));
	JSON(j, "one_by_one", (bool)r->one_by_one, "events", s->event_cnt, "calls", s->call_cnt);
	JSON(j, "woken", s->woken_cnt, "most", s->most_cnt, "ended", s->ended_cnt, "again", s->again_cnt);
	JSON(j, "again_within_ns", STORM_AGAIN_NS, "cpu_ns", s->cpu_ns, "again_cpu_ns", s->again_ns);
	JSON(j, "delay_ns", s->delay_ns, "wakers", r->wakers);
	json_member_object(j, "waker");
	json_who(j, waker);
	json_stack(j, writer, "user", waker->user);
	json_stack(j, writer, "kernel", waker->kernel);
	json_object_end(j);
	write_sleepers(j, writer, r);
}

void json_storms(struct json *j, const struct wait_writer *w, const struct selection *selection)
{
	struct storm_table *t;

	if (!w->p->info.has_storms)
		return;
	t = storm_table_new(w->p, selection);
	JSON_ROWS(j, "storms", const struct storm_row, row, t->rows)
		JSON_IN(j, write_storm(j, w, row));
	storm_table_free(t);
}
