/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "supply/tables.h"
#include "supply/tables_part.h"

#include "abi/unwind_abi.h"
#include "symbolize/runtime/language.h"
#include "runtimes/python/find.h"
#include "symbolize/process/process_context.h"
#include "symbolize/runtime/variables.h"
#include "symbolize/runtime/recognise.h"
#include "runtimes/node/names.h"

#define FIRST_PAUSE_US 10000
#define CONTEXT_FIRST_US 1000000	/* after the first look at a program without a context */
#define CONTEXT_SECOND_US 10000000	/* and after the second */
#define CONTEXT_AGAIN_US 3000000	/* of a program with a context */

void runtimes_begin(struct runtimes *r)
{
	r->met_speaker = r->met_maker = r->met_v8 = r->met_context = false;
	r->python_key_at = 0;
	r->labels = NULL;
}

bool tables_are_not_all(const char *path)
{
	return language_is_of_file(path) || made_code_is_by(path) || runtime_of_file(path) == RUNTIME_NODE;
}

void runtimes_meet(struct runtimes *r, const struct maps_line *line)
{
	const char *path = line->path;

	r->met_context |= process_context_is_line(line);
	if (!line->is_exec)
		return;
	r->met_speaker |= language_is_of_file(path);
	r->met_maker |= made_code_is_by(path);
	r->met_v8 |= runtime_of_file(path) == RUNTIME_NODE;
}

/*
 * An interpreter is mapped before it is ready, and need not map anything afterwards: all that it imports may be built
 * in. On a busy machine there may be a second in between.
 */
static bool look_for_speaker(struct runtimes *r, uint32_t pid)
{
	struct language_early early;

	if (r->python_key_at && !python_has_begun(pid, r->python_key_at)) {
		r->due_us = g_get_monotonic_time() + r->pause_us;
		return false;
	}
	if (language_find("/proc", pid, &r->language, &early))
		return true;
	r->python_key_at = early.python_key_at;
	r->pause_us = MAX(r->pause_us, FIRST_PAUSE_US);
	r->due_us = early.is_early ? g_get_monotonic_time() + r->pause_us : INT64_MAX;
	return false;
}

static bool lacks_speaker(const struct runtimes *r)
{
	return r->met_speaker && !r->language.version;
}

/* A program publishes its context when its SDK starts, perhaps after the first look: so there are two more. */
static void look_for_context(struct runtimes *r, uint32_t pid)
{
	int64_t pause_us = r->context_looks == 1 ? CONTEXT_SECOND_US : INT64_MAX;

	r->has_context = thread_context_find("/proc", pid, &r->context, NULL) == THREAD_CONTEXT_READABLE;
	if (r->has_context)
		pause_us = CONTEXT_AGAIN_US;
	r->context_due_us = pause_us == INT64_MAX ? INT64_MAX : g_get_monotonic_time() + pause_us;
	r->context_looks++;
}

/* Has it changed? The variable's place is looked up again only with new mappings. */
static bool look_at_context_again(struct runtimes *r, uint32_t pid)
{
	if (!r->has_context) {
		look_for_context(r, pid);
		/* a program that has just begun may not be relocated yet */
		return r->has_context || (r->labels && r->labels->offset_at);
	}
	r->context_due_us = g_get_monotonic_time() + CONTEXT_AGAIN_US;
	return thread_context_look_at_keys("/proc", pid, &r->context);
}

int64_t runtimes_due_us(const struct runtimes *r)
{
	return MIN(lacks_speaker(r) ? r->due_us : INT64_MAX, r->context_due_us);
}

bool runtimes_look_again(struct runtimes *r, uint32_t pid)
{
	int64_t now_us = g_get_monotonic_time();
	bool has_news = r->context_due_us <= now_us && look_at_context_again(r, pid);

	if (!lacks_speaker(r) || r->due_us > now_us)
		return has_news;
	r->pause_us += r->pause_us / 2;
	return look_for_speaker(r, pid) || has_news;
}

void runtimes_meet_labels(struct runtimes *r, const struct go_labels_place *labels, uint64_t bias)
{
	if (!labels->labels_at || r->labels)
		return;
	r->labels = labels;
	r->labels_bias = bias;
}

bool runtimes_context(const struct runtimes *r, uint32_t pid, struct offcpu_context_place *ret)
{
	if (r->has_context)
		*ret = r->context;
	return r->has_context || (r->labels && thread_labels_place(pid, r->labels, r->labels_bias, ret));
}

void runtimes_look(struct runtimes *r, uint32_t pid, struct slabs *slabs, struct retired_tables *retired)
{
	struct v8 v8;

	if (lacks_speaker(r))
		look_for_speaker(r, pid);
	/* the mappings that were just read show whether there is one */
	if (r->met_context || r->has_context)
		look_for_context(r, pid);
	else if (!r->context_looks++)
		r->context_due_us = g_get_monotonic_time() + CONTEXT_FIRST_US;
	if (r->met_v8 && !r->v8 && v8_open(&v8, "/proc", pid))
		r->v8 = unwind_v8_offsets(v8.function_shared, v8.shared_number, v8.has_inlined);
	if (r->met_maker && !r->made)
		r->made = made_code_new(slabs, retired, pid);
}
