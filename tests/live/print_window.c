/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "print_window.h"

#include <inttypes.h>
#include <stdio.h>

static void print_stack(const struct profile *p, uint32_t node)
{
	const char *comma = "";

	printf("[");
	for (; node; node = profile_get_node(p, node)->parent) {
		const struct frame *f = profile_get_frame(p, profile_get_node(p, node)->frame);
		g_autofree char *name = g_strescape(f->why == FRAME_PENDING ? "[pending]" : f->name ? f->name : "", NULL);

		printf("%s\"%s\"", comma, name);
		comma = ",";
	}
	printf("]");
}

static void print_threads(const struct profile *p)
{
	for (guint i = 0; i < p->threads->len; i++) {
		const struct thread *t = profile_thread(p, i);
		g_autofree char *comm = g_strescape(t->comm, NULL);

		printf("%s{\"pid\":%u,\"tid\":%u,\"start\":%" PRIu64 ",\"comm\":\"%s\",\"flags\":%u,\"from\":%" PRIu64 ",\"to\":%" PRIu64
		       ",\"on_cpu\":%" PRIu64 ",\"blocked\":%" PRIu64 ",\"runnable\":%" PRIu64 ",\"preempted\":%" PRIu64
		       ",\"lost\":%" PRIu64 ",\"switches\":%" PRIu64 "}",
		       i ? "," : "", t->pid, t->tid, t->start_ns, comm, t->flags, t->from_ns, t->to_ns, t->on_cpu_ns, t->blocked_ns,
		       t->runnable_ns, t->preempted_ns, t->lost_ns, t->switches);
	}
}

static void print_waits(const struct profile *p)
{
	for (guint i = 0; i < p->waits->len; i++) {
		const struct wait *w = profile_wait(p, i);

		printf("%s{\"thread\":%u,\"state\":\"%c\",\"flags\":%u,\"count\":%" PRIu64 ",\"blocked\":%" PRIu64 ",\"runnable\":%" PRIu64
		       ",\"preempted\":%" PRIu64 ",\"user\":",
		       i ? "," : "", w->thread, w->state, w->flags, w->count, w->blocked_ns, w->runnable_ns, w->preempted_ns);
		print_stack(p, w->user);
		printf(",\"kernel\":");
		print_stack(p, w->kernel);
		printf("}");
	}
}

void print_window(const struct profile *p)
{
	printf("{\"start\":%" PRIu64 ",\"stop\":%" PRIu64 ",\"switches\":%" PRIu64 ",\"cpu_ns\":%" PRIu64 ",\"threads\":[", p->info.start_ns,
	       p->info.start_ns + p->info.duration_ns, p->info.switches, profile_running_cpu_ns(&p->info));
	print_threads(p);
	printf("],\"waits\":[");
	print_waits(p);
	printf("],\"losses\":{");
	for (guint i = 0; i < p->losses->len; i++) {
		const struct profile_loss *l = &g_array_index(p->losses, struct profile_loss, i);

		printf("%s\"%s\":[%" PRIu64 ",%" PRIu64 "]", i ? "," : "", l->reason, l->count, l->time_ns);
	}
	printf("}}\n");
	fflush(stdout);
}
