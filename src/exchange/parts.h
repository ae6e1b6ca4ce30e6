/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXCHANGE_PARTS_H
#define EXCHANGE_PARTS_H

#include <glib.h>
#include <stdbool.h>

#include "exchange/format.h"
#include "profile/profile.h"

/*
 * Places in programs as pprof and OTLP know them: a frame together with those that are inlined into it.  Ids are
 * dense, from 1, in the order in which paths brought them.
 */
struct locations;

struct locations *locations_new(const struct profile *p);
void locations_free(struct locations *l);
/* The locations of a path of frames (uint32_t), outermost first: replaces what `ids` (uint32_t) holds. */
void locations_of_path(struct locations *l, const GArray *path, GArray *ids);
uint32_t locations_cnt(const struct locations *l);
/* The frames of one, outermost first. */
const uint32_t *locations_get(const struct locations *l, uint32_t id, guint *ret_cnt);

/* Only the kernel's scheduler stands innermost like that. */
bool kernel_part_is_scheduler(const char *name);

/* Does the thread stop there: is the scheduler innermost in that stack of the kernel's? */
bool kernel_part_stops(const struct profile *p, uint32_t kernel);

/*
 * bcc's tools draw no line between user and kernel frames unless they are asked to.  `names` are a stack's, outermost
 * first.  The index of the first one that is the kernel's, where that was entered; or the number of them.  A sleeper's
 * stack ends in the scheduler, a waker's need not.
 */
guint kernel_part_begins(const GPtrArray *names, bool is_waker);

/* The frames of a profile as formats know them that have no addresses: equal label, file and line are one. */
struct frame_list {
	const struct profile *profile;
	GPtrArray *labels; /* char *, by frame of the profile */
	GArray *first; /* uint32_t: a frame of the profile for each of these */
	uint32_t *id_of; /* by frame of the profile: index into `first` */
};

struct frame_list *frame_list_new(const struct profile *p);
void frame_list_free(struct frame_list *l);

static inline const char *frame_list_label(const struct frame_list *l, guint i)
{
	return g_ptr_array_index(l->labels, g_array_index(l->first, uint32_t, i));
}
static inline const struct frame *frame_list_frame(const struct frame_list *l, guint i)
{
	return profile_get_frame(l->profile, g_array_index(l->first, uint32_t, i));
}
/* The source file, or what the frame lies in where that is not known; NULL: neither. */
static inline const char *frame_list_file(const struct frame_list *l, guint i)
{
	const struct frame *f = frame_list_frame(l, i);

	return f->file ? f->file : f->module;
}

/* What every writer needs of a profile. */

/* The frames of a wait, outermost first, user before kernel: replaces what `frames` (of uint32_t) holds. */
void path_frames(const struct profile *p, uint32_t user, uint32_t kernel, GArray *frames);

/* The same without attributes of trace contexts, which the format has another place for: see profile/profile.h. */
void path_own_frames(const struct profile *p, uint32_t user, uint32_t kernel, GArray *frames);

/* Is the wait to be written? */
static inline bool plan_has(const struct export_plan *plan, uint32_t wait)
{
	return !plan->selection || plan->selection->waits[wait];
}

/* "mutex LOCK_log (mariadbd)"; appended. */
void object_text(GString *s, const struct object *o);

/* "at the start", "at the end", "all the time": how a wait was open at the window's edges; NULL: it was not. */
const char *open_text(uint8_t wait_flags);

/* "tokio-worker-1234/1240": of a thread, appended; control characters as they are. */
void thread_text(GString *s, const struct thread *t);

/* Sentences about the profile: command line, filters, selection, losses; free with g_ptr_array_unref(). */
GPtrArray *profile_notes(const struct profile *p, const struct export_plan *plan);

#endif
