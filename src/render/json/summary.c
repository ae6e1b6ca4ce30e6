/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/json/json.h"

#include <string.h>

#include "analyse/accounts.h"
#include "analyse/wait_groups.h"
#include "analyse/label.h"
#include "analyse/locks.h"
#include "render/json/parts.h"

#define PROCESSES_MAX 12
#define FRAMES_MAX 256		/* of a stack, innermost ones */

uint64_t json_share_ppm(uint64_t part, uint64_t whole)
{
	return whole ? (uint64_t)((double)part * 1e6 / (double)whole + 0.5) : 0;
}

/* Members that findings of threads and of tasks share. */
static void write_headline(struct json *j, const struct findings *f, const struct headline *h)
{
	const struct finding *row = h->finding;
	const struct frame *frame = row && row->frame >= 0 ? profile_get_frame(f->profile, (uint32_t)row->frame) : NULL;

	JSON(j, "kind", headline_kind_name(h->kind), "share_ppm", json_share_ppm(h->time_ns, h->whole_ns));
	JSON(j, "time_ns", h->time_ns, "reason", row ? reason_name(row->reason) : NULL);
	json_member_string(j, "process", row ? row->process : h->task->program);
	JSON(j, "function", frame ? frame->name : row ? NULL : h->task->function, "sentence", h->sentence);
	JSON(j, "evidence", h->evidence, "advice", h->advice, "command", h->command);
	if (row)
		json_tcp_shares(j, f, row);
}

void json_headlines(struct json *j, const char *key, const struct explanation *e)
{
	JSON_ROWS(j, key, const struct headline, row, e->headlines)
		JSON_IN(j, write_headline(j, e->findings, row));
	json_member_string(j, "little", e->little);
	json_member_text(j, "unseen", e->unseen);
}

static void member_if(struct json *j, const char *key, uint64_t ns)
{
	if (ns)
		json_member_uint(j, key, ns);
}

void json_process_parts(struct json *j, const struct finding_class *c)
{
	json_member_string(j, "process", c->process);
	json_member_known(j, "pid", c->pid, c->pid);
	JSON(j, "processes", c->processes_cnt, "threads", c->threads_cnt, "observed_ns", c->observed_ns);
	json_member_object(j, "parts_ns");
	member_if(j, "on-CPU", c->on_cpu_ns);
	member_if(j, "run queue", c->queue_ns);
	member_if(j, "throttled", c->throttled_ns);
	for (unsigned i = 0; i < FAMILY_COUNT; i++)
		member_if(j, reason_family_name((enum reason_family)i), c->family_ns[i]);
	member_if(j, "not listed", c->unlisted_ns);
	member_if(j, "idle", c->idle_ns);
	json_object_end(j);
}

static bool has_waits(const struct finding_class *c)
{
	uint64_t ns = c->queue_ns + c->throttled_ns + c->idle_ns;

	for (unsigned i = 0; i < FAMILY_COUNT; i++)
		ns += c->family_ns[i];
	return ns != 0;
}

/* With a selection of waits, only processes that have some. */
static void write_processes(struct json *j, const struct findings *f, const struct selection *selection)
{
	g_autoptr(GPtrArray) told = g_ptr_array_new();

	EACH_ROW(i, struct finding_class, c, f->classes)
		if (!selection || !selection->by_stack || has_waits(c))
			g_ptr_array_add(told, c);
	json_member_uint(j, "processes_total", told->len);
	JSON_ARRAY(j, "processes")
		for (guint i = 0; i < MIN(told->len, PROCESSES_MAX); i++) {
			json_object_begin(j);
			json_process_parts(j, g_ptr_array_index(told, i));
			json_object_end(j);
		}
}

/* Innermost first, where reading begins. */
static void write_frames(struct json *j, const struct profile *p, const char *key, uint32_t node)
{
	g_autoptr(GString) text = g_string_new(NULL);

	JSON_ARRAY(j, key)
		for (unsigned n = 0; node && n < FRAMES_MAX; n++, node = profile_get_node(p, node)->parent) {
			const struct frame *f = profile_get_frame(p, profile_get_node(p, node)->frame);

			g_string_truncate(text, 0);
			label_append(text, f);
			label_append_line(text, f);
			json_string(j, text->str);
		}
}

static void write_numbers(struct json *j, const struct top_row *r)
{
	JSON_UINTS(j, r, off_cpu_ns, blocked_ns, runnable_ns, preempted_ns, count);
	json_percentiles(j, r->hist, r->durations_ns, r->max_ns);
}

void json_longest(struct json *j, const struct profile *p, const struct wait_group *h)
{
	const struct wait *w = h->longest ? profile_wait(p, h->longest - 1) : NULL;

	if (!w || !w->max_start_unix_ns)
		return;
	json_member_object(j, "longest");
	JSON(j, "tid", profile_thread(p, w->thread)->tid, "comm", profile_thread(p, w->thread)->comm);
	JSON(j, "start_unix_ns", w->max_start_unix_ns, "began_before", (bool)(w->flags & WAIT_OPEN_AT_START));
	if (w->max_waker) {
		json_member_object(j, "waker");
		json_who(j, profile_get_waker(p, w->max_waker - 1));
		json_object_end(j);
	}
	json_object_end(j);
}

static void write_wait_group(struct json *j, const struct profile *p, const struct wait_group *h)
{
	const struct wait *w = profile_wait(p, h->wait);
	const struct thread *t = profile_thread(p, w->thread);
	const struct object *o = profile_wait_object(p, w);
	struct top_row numbers = { .off_cpu_ns = h->off_cpu_ns,
				   .blocked_ns = h->blocked_ns,
				   .runnable_ns = h->runnable_ns,
				   .preempted_ns = h->preempted_ns,
				   .count = h->count,
				   .hist = h->hist,
				   .durations_ns = h->off_cpu_ns,
				   .max_ns = h->max_ns };
	g_autoptr(GString) object = g_string_new(NULL);

	if (o)
		object_append_label(object, o);
	json_member_string(j, "name", h->name);
	write_numbers(j, &numbers);
	JSON(j, "comm", t->comm, "process", t->process, "service", t->service, "reason", reason_name(h->reason));
	JSON(j, "idle", (bool)h->is_idle, "threads", h->threads_cnt, "stacks", h->stacks_cnt);
	JSON(j, "object", o ? object->str : NULL, "several_objects", h->has_several_objects);
	write_frames(j, p, "user", w->user);
	write_frames(j, p, "kernel", w->kernel);
	json_longest(j, p, h);
}

static void write_wait_groups(struct json *j, const struct findings *f, const struct selection *s, unsigned most)
{
	struct wait_groups *h = wait_groups_new(f->profile, f->reasons, s);
	guint cnt = most ? MIN(most, h->rows->len) : h->rows->len;

	JSON(j, "by", "wait", "rows_total", h->rows->len, "sum_ns", h->sum_ns);
	JSON_ARRAY(j, "rows")
		for (guint i = 0; i < cnt; i++)
			JSON_IN(j, write_wait_group(j, f->profile, &g_array_index(h->rows, struct wait_group, i)));
	wait_groups_free(h);
}

static void write_groups(struct json *j, const struct findings *f, const struct selection *s,
			 const struct summary_options *o)
{
	struct top *top = o->attribute ? top_new_of(f->profile, s, o->attribute, WEIGHT_OFF_CPU)
				       : top_new(f->profile, s, o->by, WEIGHT_OFF_CPU);
	guint cnt = o->top ? MIN(o->top, top->rows->len) : top->rows->len;

	JSON(j, "by", top_title(top), "rows_total", top->rows->len, "sum_ns", top->sum);
	JSON_ARRAY(j, "rows")
		for (guint i = 0; i < cnt; i++) {
			const struct top_row *r = &g_array_index(top->rows, struct top_row, i);

			json_object_begin(j);
			json_member_string(j, "name", r->name);
			write_numbers(j, r);
			json_object_end(j);
		}
	top_free(top);
}

struct selection *json_without_idle(const struct findings *f)
{
	const struct profile *p = f->profile;
	const struct query all = { 0 };
	struct selection *s = selection_new(p, &all, NULL);

	for (uint32_t i = 0; i < p->threads->len; i++)
		s->threads[i] = !f->selection || f->selection->threads[i];
	for (uint32_t i = 0; i < p->waits->len; i++)
		s->waits[i] = (!f->selection || f->selection->waits[i]) && !reasons_is_idle(f->reasons, i) &&
			      profile_wait(p, i)->state != ON_CPU_STATE;
	s->whole = false;
	s->by_stack = true;
	return s;
}

static void write_top(struct json *j, const struct findings *f, const struct summary_options *o)
{
	struct selection *narrow = o->with_idle ? NULL : json_without_idle(f);
	const struct selection *s = narrow ? narrow : f->selection;

	json_member_object(j, "top");
	if (o->by_wait)
		write_wait_groups(j, f, s, o->top);
	else
		write_groups(j, f, s, o);
	json_object_end(j);
	selection_free(narrow);
}

static void write_losses(struct json *j, const struct profile *p)
{
	JSON_ROWS(j, "losses", const struct profile_loss, l, p->losses)
		JSON_OBJECT(j, "reason", l->reason, "help", l->help, "count", l->count, "time_ns", l->time_ns);
}

static void write_about(struct json *j, const struct profile *p, const struct selection *selection)
{
	struct accounts *a = accounts_new(p, selection);

	JSON_MEMBER(j, "window", "start_unix_ns", p->info.start_unix_ns, "duration_ns", p->info.duration_ns);
	JSON(j, "host", p->info.host, "cpus", p->info.cpus, "exact", (bool)(!profile_is_sampled(p)));
	JSON(j, "threads", a->total.threads_cnt, "gone_by_name", p->info.history.is_gone_by_name);
	JSON_UINTS(j, &a->total, observed_ns, on_cpu_ns, off_cpu_ns, lost_ns);
	accounts_free(a);
}

void json_summary(GString *out, const struct profile *p, const struct selection *selection,
		  const struct summary_options *options)
{
	struct explanation *e = explanation_new(p, selection);
	const struct findings *f = e->findings;
	struct json j;

	json_begin(&j, out);
	json_member_string(&j, "schema", "offcpu.summary/1");
	write_about(&j, p, selection);
	JSON(&j, "matters_ns", f->matters_ns, "idle_ns", f->idle_sum_ns);
	json_headlines(&j, "findings", e);
	write_processes(&j, f, selection);
	write_top(&j, f, options);
	write_losses(&j, p);
	json_end(&j);
	explanation_free(e);
}
