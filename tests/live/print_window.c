/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "print_window.h"

#include <stdio.h>

#include "render/json/write.h"

static void put_stack(struct json *j, const char *key, const struct profile *p, uint32_t node)
{
	json_key(j, key);
	json_array_begin(j);
	for (; node; node = profile_get_node(p, node)->parent) {
		const struct frame *f = profile_get_frame(p, profile_get_node(p, node)->frame);

		json_string(j, f->why == FRAME_PENDING ? "[pending]" : f->name ? f->name : "");
	}
	json_array_end(j);
}

static void put_thread(struct json *j, const struct thread *t)
{
	json_object_begin(j);
	json_member_uint(j, "pid", t->pid);
	json_member_uint(j, "tid", t->tid);
	json_member_uint(j, "start", t->start_ns);
	json_member_string(j, "comm", t->comm);
	json_member_uint(j, "flags", t->flags);
	json_member_uint(j, "from", t->from_ns);
	json_member_uint(j, "to", t->to_ns);
	json_member_uint(j, "on_cpu", t->on_cpu_ns);
	json_member_uint(j, "blocked", t->blocked_ns);
	json_member_uint(j, "runnable", t->runnable_ns);
	json_member_uint(j, "preempted", t->preempted_ns);
	json_member_uint(j, "lost", t->lost_ns);
	json_member_uint(j, "switches", t->switches);
	json_object_end(j);
}

static void put_wait(struct json *j, const struct profile *p, const struct wait *w)
{
	const char state[] = { w->state, '\0' };

	json_object_begin(j);
	json_member_uint(j, "thread", w->thread);
	json_member_string(j, "state", state);
	json_member_uint(j, "flags", w->flags);
	json_member_uint(j, "count", w->count);
	json_member_uint(j, "blocked", w->blocked_ns);
	json_member_uint(j, "runnable", w->runnable_ns);
	json_member_uint(j, "preempted", w->preempted_ns);
	put_stack(j, "user", p, w->user);
	put_stack(j, "kernel", p, w->kernel);
	json_object_end(j);
}

void print_window(const struct profile *p)
{
	g_autoptr(GString) out = g_string_new(NULL);
	struct json j;

	json_init(&j, out);
	json_object_begin(&j);
	json_member_uint(&j, "start", p->info.start_ns);
	json_member_uint(&j, "stop", p->info.start_ns + p->info.duration_ns);
	json_member_uint(&j, "switches", p->info.switches);
	json_member_uint(&j, "cpu_ns", profile_running_cpu_ns(&p->info));
	json_key(&j, "threads");
	json_array_begin(&j);
	for (guint i = 0; i < p->threads->len; i++)
		put_thread(&j, profile_thread(p, i));
	json_array_end(&j);
	json_key(&j, "waits");
	json_array_begin(&j);
	for (guint i = 0; i < p->waits->len; i++)
		put_wait(&j, p, profile_wait(p, i));
	json_array_end(&j);
	json_key(&j, "losses");
	json_object_begin(&j);
	for (guint i = 0; i < p->losses->len; i++) {
		const struct profile_loss *l = &g_array_index(p->losses, struct profile_loss, i);

		json_key(&j, l->reason);
		json_array_begin(&j);
		json_uint(&j, l->count);
		json_uint(&j, l->time_ns);
		json_array_end(&j);
	}
	json_object_end(&j);
	json_object_end(&j);
	puts(out->str);
	fflush(stdout);
}
