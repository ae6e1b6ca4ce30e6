/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <string.h>

#include "analyse/label.h"
#include "analyse/locks.h"
#include "analyse/plumbing.h"
#include "base/order.h"
#include "explain/sentence.h"
#include "render/answer/things.h"
#include "render/json/parts.h"

/* Frames of a shortened stack: the innermost and the outermost informative ones. */
#define INNER_FRAMES 8
#define OUTER_FRAMES 3
#define SHORT_FRAMES (INNER_FRAMES + OUTER_FRAMES + 1)
#define TELLING_LEAST 3	/* fewer do not show how the program got there */
#define THREADS_MAX 20
#define STACKS_MAX 20

enum { RANK_ALL = 1 };	/* parts of a single thing keep their order */

static const struct wait *wait_of(const struct things *t, guint group)
{
	return profile_wait(t->p, things_group(t, group)->wait);
}

static void member_share(struct json *j, const struct things *t, uint64_t ns)
{
	json_member_uint(j, "share_ppm", json_share_ppm(ns, t->e->findings->matters_ns));
}

void things_write_headline(struct answer *a, const struct things *t, const struct headline *h, unsigned rank)
{
	const struct findings *f = t->e->findings;
	const char *id = h->finding ? thing_id(t, THING_FINDING,
					       (guint)(h->finding - (const struct finding *)(void *)f->rows->data))
				    : thing_id(t, THING_TASK,
					       (guint)(h->task -
						       (const struct task_wait *)(void *)t->e->tasks->rows->data));
	struct json *j = answer_item(a, "headlines");

	json_object_begin(j);
	JSON(j, "id", id, "kind", headline_kind_name(h->kind));
	json_member_string(j, "reason", h->finding ? reason_name(h->finding->reason) : NULL);
	JSON(j, "share_ppm", json_share_ppm(h->time_ns, h->whole_ns), "time_ns", h->time_ns);
	answer_text(a, "sentence", h->sentence);
	answer_text(a, "evidence", h->evidence);
	answer_text(a, "advice", h->advice);
	if (*h->command)
		answer_text(a, "command", h->command);
	json_object_end(j);
	answer_end(a, rank);
	j = answer_in_short(a);
	json_object_begin(j);
	json_member_string(j, "id", id);
	answer_text(a, "sentence", h->sentence);
	json_object_end(j);
	answer_end(a, rank);
}

static bool is_shown(const struct frame *f)
{
	const char *shown;

	return f->kind != FRAME_KERNEL || !f->name || !plumbing_kernel_rule(f->name, &shown) || shown;
}

/* Indices of frames, innermost first, without the kernel's entry and scheduler functions. */
static GArray *frames_of(const struct things *t, uint32_t node)
{
	GArray *frames = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	for (; node; node = profile_get_node(t->p, node)->parent) {
		uint32_t frame = profile_get_node(t->p, node)->frame;

		if (is_shown(profile_get_frame(t->p, frame)))
			g_array_append_val(frames, frame);
	}
	return frames;
}

static void write_frame(struct json *j, const struct things *t, uint32_t frame)
{
	g_autoptr(GString) text = g_string_new(NULL);
	const struct frame *f = profile_get_frame(t->p, frame);

	label_append(text, f);
	label_append_line(text, f);
	json_string(j, text->str);
}

/* Informative frames: the program's own functions, what these call, and the innermost one. */
static bool is_telling(const struct things *t, const GArray *frames, guint at)
{
	struct plumbing *pl = reasons_plumbing(t->e->findings->reasons);

	return !at || !plumbing_frame_is_runtime(pl, g_array_index(frames, uint32_t, at)) ||
	       (at + 1 < frames->len && !plumbing_frame_is_runtime(pl, g_array_index(frames, uint32_t, at + 1)));
}

/* For each frame of a long stack whether it is shown; free with g_free(). */
static bool *choose_frames(const struct things *t, const GArray *frames)
{
	bool *shown = g_new0(bool, frames->len);
	guint telling = 0, seen = 0;
	bool only_telling;

	for (guint i = 0; i < frames->len; i++)
		telling += is_telling(t, frames, i);
	only_telling = frames->len > SHORT_FRAMES && telling >= TELLING_LEAST;
	telling = only_telling ? telling : frames->len;
	for (guint i = 0; i < frames->len; i++) {
		if (only_telling && !is_telling(t, frames, i))
			continue;
		shown[i] = frames->len <= SHORT_FRAMES || telling <= SHORT_FRAMES || seen < INNER_FRAMES ||
			   seen + OUTER_FRAMES >= telling;
		seen++;
	}
	return shown;
}

/* Marks where frames are left out. */
static void write_cut_stack(struct json *j, const struct things *t, const char *key, uint32_t node)
{
	g_autoptr(GArray) frames = frames_of(t, node);
	g_autofree bool *shown = choose_frames(t, frames);
	guint cut = 0;

	if (!frames->len)
		return;
	JSON_ARRAY(j, key)
		for (guint i = 0; i < frames->len; i++) {
			cut += !shown[i];
			if (shown[i])
				write_frame(j, t, g_array_index(frames, uint32_t, i));
			if (!cut || (i + 1 < frames->len && !shown[i + 1]))
				continue;
			g_autofree char *words = g_strdup_printf("... %u frame%s ...", cut, cut == 1 ? "" : "s");
			json_string(j, words);
			cut = 0;
		}
}

static void write_whole_stack(struct answer *a, const struct things *t, const char *key, uint32_t node)
{
	g_autoptr(GArray) frames = frames_of(t, node);

	for (guint i = 0; i < frames->len; i++) {
		write_frame(answer_item(a, key), t, g_array_index(frames, uint32_t, i));
		answer_end(a, RANK_ALL);
	}
}

static void member_object(struct json *j, const struct things *t, const struct wait_group *h)
{
	const struct object *o = profile_wait_object(t->p, profile_wait(t->p, h->wait));
	g_autoptr(GString) label = g_string_new(NULL);

	if (!o)
		return;
	object_append_label(label, o);
	json_member_string(j, "object", label->str);
	if (h->has_several_objects)
		json_member_bool(j, "several_objects", true);
}

/* Members of a stack, in short and in full. */
static void write_group(struct json *j, const struct things *t, guint group)
{
	const struct wait_group *h = things_group(t, group);
	const struct thread *thread = profile_thread(t->p, profile_wait(t->p, h->wait)->thread);
	gint64 finding = things_finding_of(t, group);

	JSON(j, "thread", thread->comm, "process", thread->process, "waits_in", h->name);
	json_member_string(j, "reason", reason_name(h->reason));
	if (finding >= 0)
		json_member_string(j, "behind", thing_id(t, THING_FINDING, (guint)finding));
	member_share(j, t, h->off_cpu_ns);
	JSON(j, "off_cpu_ns", h->off_cpu_ns, "count", h->count, "threads", h->threads_cnt);
	json_percentiles(j, h->hist, h->off_cpu_ns, h->max_ns);
	member_object(j, t, h);
}

void things_write_stack(struct answer *a, const struct things *t, const char *key, guint group, unsigned rank)
{
	const struct wait_group *h = things_group(t, group);
	const char *id = thing_id(t, THING_STACK, group);
	struct json *j = answer_item(a, key);

	json_object_begin(j);
	json_member_string(j, "id", id);
	write_group(j, t, group);
	write_cut_stack(j, t, "kernel", wait_of(t, group)->kernel);
	write_cut_stack(j, t, "user", wait_of(t, group)->user);
	json_object_end(j);
	answer_end(a, rank);
	j = answer_in_short(a);
	json_object_begin(j);
	JSON(j, "id", id, "thread", profile_thread(t->p, wait_of(t, group)->thread)->comm, "waits_in", h->name);
	json_member_uint(j, "off_cpu_ns", h->off_cpu_ns);
	json_object_end(j);
	answer_end(a, rank);
}

void things_write_process(struct answer *a, const struct things *t, guint at, unsigned rank)
{
	const struct finding_class *c = &g_array_index(t->e->findings->classes, struct finding_class, at);
	struct json *j = answer_item(a, "processes");

	json_object_begin(j);
	json_member_string(j, "id", thing_id(t, THING_PROCESS, at));
	json_process_parts(j, c);
	json_object_end(j);
	answer_end(a, rank);
}

void things_write_other(struct answer *a, const struct things *t, const char *key, guint finding, unsigned rank)
{
	const struct findings *f = t->e->findings;
	const struct finding *row = &g_array_index(f->rows, struct finding, finding);
	g_autoptr(GString) sentence = g_string_new(NULL);
	struct json *j = answer_item(a, key);

	sentence_finding(sentence, f, row);
	json_object_begin(j);
	JSON(j, "id", thing_id(t, THING_FINDING, finding), "time_ns", row->time_ns);
	answer_text(a, "sentence", sentence->str);
	json_object_end(j);
	answer_end(a, rank);
}

/* How much of the wait's time belongs to the thing, in nanoseconds. */
static uint64_t part_of(const struct things *t, const struct thing *thing, uint32_t wait)
{
	const struct findings *f = t->e->findings;
	const struct wait *w = profile_wait(t->p, wait);
	const struct thread *thread = profile_thread(t->p, w->thread);

	if (!t->awake->waits[wait] && thing->kind != THING_FINDING)
		return 0;
	if (thing->kind == THING_PROCESS) {
		const struct finding_class *c = &g_array_index(f->classes, struct finding_class, thing->at);

		return thread->process == c->process ? wait_off_cpu_ns(w) : 0;
	}
	if (thing->kind == THING_STACK) {
		const struct wait_group *h = things_group(t, thing->at);
		bool is_of_it = thread->comm == profile_thread(t->p, profile_wait(t->p, h->wait)->thread)->comm &&
				reasons_of(f->reasons, wait) == h->reason &&
				plumbing_leaf(reasons_plumbing(f->reasons), w) == h->name;

		return is_of_it ? wait_off_cpu_ns(w) : 0;
	}
	const struct finding *row = &g_array_index(f->rows, struct finding, thing->at);
	return (row->id && f->blocked_in[wait] == row->id ? w->blocked_ns : 0) +
	       (row->id && f->queued_in[wait] == row->id ? w->runnable_ns + w->preempted_ns : 0);
}

/* Time of a thread, or of a row of waits. */
struct part {
	uint32_t at;
	uint64_t ns, count;
};

ORDER(compare_parts, struct part, ORDER_HIGH(ns) ORDER_LOW(at))

/* struct part, most time first: per thread if by_thread, else per row. */
static GArray *parts_of(const struct things *t, const struct thing *thing, bool by_thread)
{
	GArray *parts = g_array_new(FALSE, TRUE, sizeof(struct part));
	guint cnt = 0;

	g_array_set_size(parts, by_thread ? t->p->threads->len : t->p->waits->len);
	EACH_ROW(i, const struct wait, w, t->p->waits) {
		uint64_t ns = part_of(t, thing, i);
		struct part *part = &g_array_index(parts, struct part, by_thread ? w->thread : i);

		part->at = by_thread ? w->thread : i;
		part->ns += ns;
		part->count += ns ? w->count : 0;
	}
	g_array_sort(parts, compare_parts);
	while (cnt < parts->len && g_array_index(parts, struct part, cnt).ns)
		cnt++;
	g_array_set_size(parts, cnt);
	return parts;
}

static void write_threads(struct answer *a, const struct things *t, const struct thing *thing)
{
	g_autoptr(GArray) parts = parts_of(t, thing, true);

	for (guint i = 0; i < MIN(parts->len, THREADS_MAX); i++) {
		const struct part *part = &g_array_index(parts, struct part, i);
		const struct thread *thread = profile_thread(t->p, part->at);
		struct json *j = answer_item(a, "by_thread");

		json_object_begin(j);
		JSON(j, "pid", thread->pid, "tid", thread->tid, "comm", thread->comm, "off_cpu_ns", part->ns);
		json_member_uint(j, "count", part->count);
		json_object_end(j);
		answer_end(a, RANK_ALL);
	}
	if (parts->len > THREADS_MAX)
		answer_left_out(a, "by_thread", parts->len - THREADS_MAX);
}

/* Groups with any of the thing's time, heaviest first. */
static void write_stacks(struct answer *a, const struct things *t, const struct thing *thing)
{
	guint shown = 0, all = 0;

	for (guint i = 0; i < t->groups->rows->len; i++) {
		if (!part_of(t, thing, things_group(t, i)->wait))
			continue;
		if (all++ < STACKS_MAX) {
			things_write_stack(a, t, "stacks", i, RANK_ALL);
			shown++;
		}
	}
	answer_left_out(a, "stacks", all - shown);
}

static void write_sentences(struct answer *a, const char *sentence, const char *evidence, const char *command)
{
	answer_member_text(a, "sentence", sentence, RANK_ALL);
	if (*evidence)
		answer_member_text(a, "evidence", evidence, RANK_ALL);
	if (*command)
		answer_member_text(a, "command", command, RANK_ALL);
}

static void write_finding(struct answer *a, const struct things *t, const struct thing *thing)
{
	const struct findings *f = t->e->findings;
	const struct finding *row = &g_array_index(f->rows, struct finding, thing->at);
	const struct headline *h = things_headline(t, thing);
	g_autoptr(GString) sentence = g_string_new(NULL), evidence = g_string_new(NULL), command = g_string_new(NULL);
	struct json *j = answer_members(a);

	sentence_finding(sentence, f, row);
	sentence_evidence(evidence, f, row);
	sentence_command(command, f, row);
	write_sentences(a, h ? h->sentence : sentence->str, h ? h->evidence : evidence->str, command->str);
	answer_member_text(a, "advice", sentence_advice(f, row), RANK_ALL);
	json_finding(j, f, row);
	answer_members_end(a, RANK_ALL);
	write_stacks(a, t, thing);
	write_threads(a, t, thing);
}

static void write_task(struct answer *a, const struct things *t, const struct thing *thing)
{
	const struct task_wait *w = &g_array_index(t->e->tasks->rows, struct task_wait, thing->at);
	const struct headline *h = things_headline(t, thing);
	g_autoptr(GString) sentence = g_string_new(NULL), evidence = g_string_new(NULL);
	struct json *j = answer_members(a);

	sentence_task(sentence, w);
	sentence_task_evidence(evidence, t->e->findings, w);
	write_sentences(a, h ? h->sentence : sentence->str, evidence->str, "`offcpu report --by task`");
	answer_member_text(a, "advice", w->advice, RANK_ALL);
	json_task_wait(j, w);
	answer_members_end(a, RANK_ALL);
	answer_member_text(a, "path", w->path, RANK_ALL);
}

static void write_rows(struct answer *a, const struct things *t, const struct thing *thing)
{
	g_autoptr(GArray) rows = parts_of(t, thing, false);

	for (guint i = 1; i < MIN(rows->len, STACKS_MAX); i++) {
		const struct part *part = &g_array_index(rows, struct part, i);
		struct json *j = answer_item(a, "other_stacks");

		json_object_begin(j);
		JSON(j, "off_cpu_ns", part->ns, "count", part->count);
		write_cut_stack(j, t, "user", profile_wait(t->p, part->at)->user);
		json_object_end(j);
		answer_end(a, RANK_ALL);
	}
	if (rows->len > STACKS_MAX)
		answer_left_out(a, "other_stacks", rows->len - STACKS_MAX);
}

static void write_stack(struct answer *a, const struct things *t, const struct thing *thing)
{
	const struct wait_group *h = things_group(t, thing->at);
	g_autoptr(GString) sentence = g_string_new(NULL);
	struct json *j = answer_members(a);

	explanation_sentence(sentence, t->e, h->wait);
	answer_member_text(a, "sentence", sentence->str, RANK_ALL);
	if (!t->e->little)
		answer_member_text(a, "advice", explanation_advice_of(t->e, h->wait), RANK_ALL);
	json_object_begin(j);
	write_group(j, t, thing->at);
	json_longest(j, t->p, h);
	json_object_end(j);
	answer_members_end(a, RANK_ALL);
	write_whole_stack(a, t, "kernel", wait_of(t, thing->at)->kernel);
	write_whole_stack(a, t, "user", wait_of(t, thing->at)->user);
	write_threads(a, t, thing);
	write_rows(a, t, thing);
}

static void write_process(struct answer *a, const struct things *t, const struct thing *thing)
{
	const struct findings *f = t->e->findings;
	const struct finding_class *c = &g_array_index(f->classes, struct finding_class, thing->at);
	struct json *j = answer_members(a);

	json_process(j, c);
	answer_members_end(a, RANK_ALL);
	for (guint i = 0; !t->e->little && i < f->rows->len; i++)
		if (strcmp(g_array_index(f->rows, struct finding, i).process, c->process) == 0)
			things_write_other(a, t, "findings", i, RANK_ALL);
	write_stacks(a, t, thing);
	write_threads(a, t, thing);
}

static void write_request(struct answer *a, const struct things *t, const struct thing *thing)
{
	things_write_request(a, t, thing->at);
}

void things_write_all(struct answer *a, const struct things *t, const struct thing *thing)
{
	static void (*const write[THING_KIND_COUNT])(struct answer *, const struct things *, const struct thing *) = {
		[THING_FINDING] = write_finding,
		[THING_TASK] = write_task,
		[THING_STACK] = write_stack,
		[THING_PROCESS] = write_process,
		[THING_REQUEST] = write_request,
	};

	write[thing->kind](a, t, thing);
}
