/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Who holds an interpreter's lock: a recording has the innermost functions of its thread as one text. */
#include "explain/findings_part.h"

#include <inttypes.h>
#include <string.h>

#include "analyse/locks.h"
#include "analyse/plumbing.h"
#include "base/module.h"
#include "explain/sentence.h"

#define NEXT ") < "

struct gil_places {
	const struct findings *f;
	GHashTable *frames;	/* "crunch (app.py:12)" -> frame + 1; NULL: not needed yet */
};

struct gil_places *gil_places_new(const struct findings *f)
{
	struct gil_places *g = g_new0(struct gil_places, 1);

	g->f = f;
	return g;
}

void gil_places_free(struct gil_places *g)
{
	g_clear_pointer(&g->frames, g_hash_table_unref);
	g_free(g);
}

static GHashTable *frames_new(const struct profile *p)
{
	GHashTable *frames = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	EACH_ROW(i, const struct frame, f, p->frames)
		if (f->name && f->file && f->line)
			g_hash_table_insert(frames, g_strdup_printf("%s (%s:%" PRIu32 ")", f->name, module_base_name(f->file), f->line),
					    GUINT_TO_POINTER(i + 1));
	return frames;
}

/* Of "crunch (app.py:12) < main (app.py:40)" the length of the first function. */
static size_t first_bytes(const char *place)
{
	const char *next = strstr(place, NEXT);

	return next ? (size_t)(next - place) + 1 : strlen(place);
}

/* The frame of its first function; -1: none. */
static int64_t frame_of(struct gil_places *g, const char *place)
{
	g_autofree char *first = g_strndup(place, first_bytes(place));

	if (!g->frames)
		g->frames = frames_new(g->f->profile);
	return (int64_t)GPOINTER_TO_UINT(g_hash_table_lookup(g->frames, first)) - 1;
}

static bool is_of_program(const struct gil_places *g, int64_t frame)
{
	return frame >= 0 && !plumbing_frame_is_runtime(reasons_plumbing(g->f->reasons), (uint32_t)frame);
}

const char *gil_place(struct gil_places *g, const char *place)
{
	for (const char *at = place, *next; at; at = next ? next + strlen(NEXT) : NULL) {
		if (is_of_program(g, frame_of(g, at)))
			return at;
		next = strstr(at, NEXT);
	}
	return place;
}

/* Ruby: "block (2 levels) in build_csv" is a part of build_csv. */
static const char *after_blocks(const char *name)
{
	while (g_str_has_prefix(name, "block ")) {
		const char *in = strstr(name, "in ");

		if (!in)
			break;
		name = in + strlen("in ");
	}
	return name;
}

/* Length of "crunch (app.py:": lines of one function are one place. */
static size_t function_bytes(const char *place)
{
	size_t first = first_bytes(place);

	while (first && place[first - 1] != ':')
		first--;
	return first;
}

bool gil_same_place(const char *a, const char *b)
{
	if (!a || !b || a == b)
		return a == b;
	a = after_blocks(a);
	b = after_blocks(b);
	return function_bytes(a) == function_bytes(b) && !strncmp(a, b, function_bytes(a));
}

static unsigned threads_at(struct gil_places *g, const struct finding *row)
{
	const struct findings *f = g->f;
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

	EACH_ROW(i, const struct wait, w, f->profile->waits) {
		const struct object *o = f->blocked_in[i] == row->id ? profile_wait_object(f->profile, w) : NULL;

		if (o && object_is_gil(o) && o->holder_tid && *o->place &&
		    gil_same_place(gil_place(g, o->place), row->by.place))
			g_hash_table_add(seen, GUINT_TO_POINTER(o->holder_tid));
	}
	return MAX(g_hash_table_size(seen), 1);
}

/* The program's function in which the others wait longest for it; -1: none is known. */
static int64_t delayed_in(const struct gil_places *g, const struct finding *row)
{
	const struct findings *f = g->f;
	g_autoptr(GHashTable) ns_of = g_hash_table_new_full(NULL, NULL, NULL, g_free);	/* by function's name: its waits */
	uint64_t most_ns = 0;
	int64_t most = -1;

	EACH_ROW(i, const struct wait, w, f->profile->waits) {
		const int64_t frame = f->blocked_in[i] == row->id && w->user ?
					      plumbing_user_parent(reasons_plumbing(f->reasons), w->user) : -1;
		const struct frame *fr =
			is_of_program(g, frame) ? profile_get_frame(f->profile, (uint32_t)frame) : NULL;

		if (!fr || !fr->name || cause_same_function(f->profile, frame, row->by.frame))
			continue;
		uint64_t *ns = g_hash_table_lookup(ns_of, fr->name);
		if (!ns)
			g_hash_table_insert(ns_of, (gpointer)(uintptr_t)fr->name, ns = g_new0(uint64_t, 1));
		*ns += w->blocked_ns;
		most = *ns > most_ns ? frame : most;
		most_ns = MAX(most_ns, *ns);
	}
	return most;
}

void gil_find(struct gil_places *g, struct finding *row)
{
	row->by.frame = frame_of(g, row->by.place);
	row->by.threads_cnt = threads_at(g, row);
	const int64_t delayed = delayed_in(g, row);

	if (delayed >= 0)
		row->frame = delayed;
}
