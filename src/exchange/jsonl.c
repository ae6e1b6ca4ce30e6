/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A JSON object per line, each with its "type": for programs that read line by line.  Durations are integer
 * nanoseconds.
 */
#include "exchange/parts.h"
#include "analyse/label.h"
#include "render/json/write.h"

struct jsonl {
	const struct profile *p;
	struct writer *writer;
	struct json json;
	GPtrArray *labels;
	GArray *path;
};

static struct json *begin_object(struct jsonl *s, const char *type)
{
	json_begin(&s->json, writer_text(s->writer));
	json_member_string(&s->json, "type", type);
	return &s->json;
}

static void end_object(struct jsonl *s)
{
	json_object_end(&s->json);
	g_string_append_c(writer_text(s->writer), '\n');
	writer_flush(s->writer);
}

/* Unknown values are null: 0 would be a claim. */
static void known_number(struct json *j, const char *key, uint64_t n, bool is_unknown)
{
	json_key(j, key);
	if (is_unknown)
		json_null(j);
	else
		json_uint(j, n);
}

static void write_recording(struct jsonl *s, const struct export_plan *plan)
{
	const struct profile_info *info = &s->p->info;
	struct json *j = begin_object(s, "recording");

	json_member_uint(j, "schema", 1);
	known_number(j, "start_unix_ns", info->start_unix_ns, !info->start_unix_ns);
	known_number(j, "duration_ns", info->duration_ns, info->unknown & UNKNOWN_WINDOW);
	JSON(j, "host", info->host, "kernel", info->kernel, "command_line", info->command_line);
	JSON(j, "filters", info->filters, "selection", plan->selection_text);
	JSON(j, "sampled", (bool)profile_is_sampled(s->p), "imported", info->imported);
	if (info->imported) {
		g_autofree char *unknown = profile_unknown_text(info->unknown, info->has_wakers);

		const struct rows_kind *kind = profile_rows_kind(info->rows_are);

		JSON(j, "what", kind ? kind->what : NULL, "unknown", unknown);
	}
	end_object(s);
}

static void write_thread(struct jsonl *s, guint i)
{
	const struct thread *t = profile_thread(s->p, i);
	bool account = s->p->info.unknown & UNKNOWN_ACCOUNTS, parts = s->p->info.unknown & UNKNOWN_PARTS;
	bool ids = s->p->info.unknown & UNKNOWN_IDS;
	struct json *j = begin_object(s, "thread");

	json_member_uint(j, "thread", i);
	known_number(j, "pid", t->pid, ids);
	known_number(j, "tid", t->tid, ids);
	JSON(j, "comm", t->comm, "process", t->process);
	json_member_text(j, "service", t->service);
	known_number(j, "observed_ns", thread_observed_ns(t), account);
	known_number(j, "on_cpu_ns", t->on_cpu_ns, account);
	known_number(j, "off_cpu_ns", thread_off_cpu_ns(t), profile_rows_are_counted(s->p->info.rows_are));
	known_number(j, "blocked_ns", t->blocked_ns, parts);
	known_number(j, "runnable_ns", t->runnable_ns, parts);
	known_number(j, "preempted_ns", t->preempted_ns, parts);
	known_number(j, "filtered_ns", t->filtered_ns, account);
	known_number(j, "lost_ns", t->lost_ns, account);
	end_object(s);
}

static void write_stack(struct jsonl *s, const char *key, uint32_t user, uint32_t kernel)
{
	path_frames(s->p, user, kernel, s->path);
	JSON_ARRAY(&s->json, key)
		for (guint i = 0; i < s->path->len; i++)
			json_string(&s->json, g_ptr_array_index(s->labels, g_array_index(s->path, uint32_t, i)));
}

static void write_on_cpu(struct jsonl *s, const struct wait *w)
{
	struct json *j = begin_object(s, "on_cpu");

	JSON(j, "thread", w->thread, "samples", w->count, "on_cpu_ns", w->on_cpu_ns, "on_cpu_se_ns", w->off_cpu_se_ns);
	write_stack(s, "user", w->user, 0);
	write_stack(s, "kernel", 0, w->kernel);
	end_object(s);
}

static void write_wait(struct jsonl *s, guint i)
{
	const struct wait *w = profile_wait(s->p, i);
	const struct object *o = profile_wait_object(s->p, w);
	uint32_t unknown = s->p->info.unknown;
	char state[2] = { (char)w->state, '\0' };
	struct json *j = begin_object(s, "wait");

	JSON(j, "thread", w->thread, "state", w->state == '?' ? NULL : state);
	known_number(j, "count", w->count, unknown & UNKNOWN_COUNTS);
	known_number(j, "off_cpu_ns", wait_off_cpu_ns(w), profile_rows_are_counted(s->p->info.rows_are));
	known_number(j, "blocked_ns", w->blocked_ns, unknown & UNKNOWN_PARTS);
	known_number(j, "runnable_ns", w->runnable_ns, unknown & UNKNOWN_PARTS);
	known_number(j, "preempted_ns", w->preempted_ns, unknown & UNKNOWN_PARTS);
	known_number(j, "max_ns", w->max_ns, unknown & UNKNOWN_DURATIONS);
	json_member_bool(j, "open_at_start", w->flags & WAIT_OPEN_AT_START);
	json_member_bool(j, "open_at_end", w->flags & WAIT_OPEN_AT_END);
	if (o) {
		g_autoptr(GString) text = g_string_new(NULL);

		object_text(text, o);
		json_member_string(j, "object", text->str);
	}
	write_stack(s, "user", w->user, 0);
	write_stack(s, "kernel", 0, w->kernel);
	end_object(s);
}

static void write_losses(struct jsonl *s)
{
	EACH_ROW(i, const struct profile_loss, l, s->p->losses) {
		struct json *j = begin_object(s, "loss");

		JSON(j, "reason", l->reason, "help", l->help, "count", l->count, "time_ns", l->time_ns);
		end_object(s);
	}
}

void write_jsonl(struct writer *writer, const struct profile *p, const struct export_plan *plan)
{
	struct jsonl s = { .p = p,
			  .writer = writer,
			  .labels = label_all(p),
			  .path = g_array_new(FALSE, FALSE, sizeof(uint32_t)) };

	write_recording(&s, plan);
	for (guint i = 0; i < p->threads->len; i++)
		if (!plan->selection || plan->selection->threads[i])
			write_thread(&s, i);
	for (guint i = 0; i < p->waits->len; i++)
		if (plan_has(plan, i) && profile_wait(p, i)->state == ON_CPU_STATE)
			write_on_cpu(&s, profile_wait(p, i));
		else if (plan_has(plan, i))
			write_wait(&s, i);
	write_losses(&s);
	g_ptr_array_unref(s.labels);
	g_array_unref(s.path);
}
