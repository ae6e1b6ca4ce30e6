/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * speedscope's format (https://www.speedscope.app/file-format-schema.json).  A sum of waits has no position in time,
 * so weights follow one another.  The first profile is of all threads, since speedscope cannot combine profiles; then
 * comes one per thread, most time first.
 */
#include "analyse/strset.h"
#include "base/order.h"
#include "base/version.h"
#include "exchange/parts.h"
#include "render/json/write.h"

struct group {
	char *name;
	uint64_t total;
	GArray *waits; /* uint32_t */
};

struct speedscope {
	const struct profile *p;
	const struct export_plan *plan;
	struct writer *writer;
	struct json json;
	struct frame_list *frames;
	GArray *path;
};

static void group_clear(gpointer data)
{
	struct group *g = data;

	g_free(g->name);
	g_array_unref(g->waits);
}

ORDER(by_time, struct group, ORDER_HIGH(total) ORDER_TEXT(name))

static GArray *make_groups(const struct profile *p, const struct export_plan *plan)
{
	GArray *groups = g_array_new(FALSE, FALSE, sizeof(struct group));
	struct strset *names = strset_new();
	g_autoptr(GString) name = g_string_new(NULL);

	g_array_set_clear_func(groups, group_clear);
	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct thread *t = profile_thread(p, w->thread);
		uint64_t weight = weight_of_wait(w, plan->folded.weight);

		if (!weight || !plan_has(plan, i))
			continue;
		g_string_truncate(name, 0);
		if (plan->by_comm || p->info.unknown & UNKNOWN_IDS)
			g_string_append(name, t->comm);
		else
			thread_text(name, t);
		uint32_t id = strset_id(names, name->str);

		if (id == groups->len) {
			struct group g = { g_strdup(name->str), 0, g_array_new(FALSE, FALSE, sizeof(uint32_t)) };
			g_array_append_val(groups, g);
		}
		struct group *g = &g_array_index(groups, struct group, id);

		g->total += weight;
		g_array_append_val(g->waits, i);
	}
	strset_free(names);
	g_array_sort(groups, by_time);
	return groups;
}

static void write_frames(struct speedscope *s)
{
	struct json *j = &s->json;

	json_member_object(j, "shared");
	JSON_ARRAY(j, "frames")
		for (guint i = 0; i < s->frames->first->len; i++) {
			const char *file = frame_list_file(s->frames, i);

			json_object_begin(j);
			json_member_string(j, "name", frame_list_label(s->frames, i));
			json_member_text(j, "file", file);
			if (frame_list_frame(s->frames, i)->line)
				json_member_uint(j, "line", frame_list_frame(s->frames, i)->line);
			json_object_end(j);
			writer_flush(s->writer);
		}
	json_object_end(j);
}

static void write_samples(struct speedscope *s, const struct group *groups, guint cnt)
{
	struct json *j = &s->json;

	JSON_ARRAY(j, "samples")
		for (guint g = 0; g < cnt; g++)
			for (guint i = 0; i < groups[g].waits->len; i++) {
				const struct wait *w = profile_wait(s->p, g_array_index(groups[g].waits, uint32_t, i));

				path_frames(s->p, w->user, w->kernel, s->path);
				json_array_begin(j);
				for (guint k = 0; k < s->path->len; k++)
					json_uint(j, s->frames->id_of[g_array_index(s->path, uint32_t, k)]);
				json_array_end(j);
				writer_flush(s->writer);
			}
	json_member_array(j, "weights");
	for (guint g = 0; g < cnt; g++)
		for (guint i = 0; i < groups[g].waits->len; i++)
			json_uint(j, weight_of_wait(profile_wait(s->p, g_array_index(groups[g].waits, uint32_t, i)),
						    s->plan->folded.weight));
	json_array_end(j);
}

static void write_profile(struct speedscope *s, const char *name, const struct group *groups, guint cnt)
{
	struct json *j = &s->json;
	uint64_t total = 0;

	for (guint g = 0; g < cnt; g++)
		total += groups[g].total;
	json_object_begin(j);
	JSON(j, "type", "sampled", "name", name);
	JSON(j, "unit", s->plan->folded.weight == WEIGHT_COUNT ? "none" : "nanoseconds", "startValue", 0);
	json_member_uint(j, "endValue", total);
	write_samples(s, groups, cnt);
	json_object_end(j);
	writer_flush(s->writer);
}

void write_speedscope(struct writer *writer, const struct profile *p, const struct export_plan *plan)
{
	struct speedscope s = {
		.p = p,
		.plan = plan,
		.writer = writer,
		.frames = frame_list_new(p),
		.path = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
	};
	g_autoptr(GArray) groups = make_groups(p, plan);
	const struct group *all = (const struct group *)(void *)groups->data;
	const char *rows_are = p->info.rows_are;
	g_autofree char *exporter = g_strconcat("offcpu@", version_text(), rows_are ? ": " : NULL, rows_are, NULL);
	struct json *j = &s.json;

	json_begin(j, writer_text(writer));
	json_member_string(j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_member_string(j, "exporter", exporter);
	json_member_string(j, "name", *p->info.command_line ? p->info.command_line : weight_name(plan->folded.weight));
	json_member_uint(j, "activeProfileIndex", 0);
	write_frames(&s);
	json_member_array(j, "profiles");
	write_profile(&s, plan->by_comm ? "all" : "all threads", all, groups->len);
	for (guint i = 0; i < groups->len; i++)
		write_profile(&s, all[i].name, &all[i], 1);
	json_array_end(j);
	json_object_end(j);
	g_string_append_c(writer_text(writer), '\n');
	frame_list_free(s.frames);
	g_array_unref(s.path);
}
