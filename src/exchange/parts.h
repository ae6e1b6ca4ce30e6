/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXCHANGE_PARTS_H
#define EXCHANGE_PARTS_H

#include <glib.h>
#include <stdbool.h>

#include "exchange/format.h"
#include "profile/profile.h"

/*
 * Locations as in pprof and OTLP: a frame together with the frames inlined into it.  Ids are dense from 1 on, in order
 * of first use.
 */
struct locations;

struct locations *locations_new(const struct profile *p);
void locations_free(struct locations *l);
/* Sets `ids` (uint32_t) to the locations of a path of frames (uint32_t), outermost first. */
void locations_of_path(struct locations *l, const GArray *path, GArray *ids);
uint32_t locations_cnt(const struct locations *l);
/* The frames of a location, outermost first. */
const uint32_t *locations_get(const struct locations *l, uint32_t id, guint *ret_cnt);

/* Whether it is a scheduler function, as stands innermost in kernel stacks of waits. */
bool kernel_part_is_scheduler(const char *name);

/* Whether the thread waits there: that kernel stack ends in the scheduler. */
bool kernel_part_stops(const struct profile *p, uint32_t kernel);

/*
 * bcc's tools do not separate user and kernel frames by default.  Returns the index of the first kernel frame of
 * `names`, which are outermost first; or the number of names.  A sleeper's stack ends in the scheduler, a waker's need
 * not.
 */
guint kernel_part_begins(const GPtrArray *names, bool is_waker);

/* The frames of a profile for formats without addresses: frames with equal label, file and line are one. */
struct frame_list {
	const struct profile *profile;
	GPtrArray *labels; /* char *, by frame of the profile */
	GArray *first; /* uint32_t: one of the profile's frames for each of these */
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
/* The source file, or else the module; NULL: neither is known. */
static inline const char *frame_list_file(const struct frame_list *l, guint i)
{
	const struct frame *f = frame_list_frame(l, i);

	return f->file ? f->file : f->module;
}

/* Helpers for all writers. */

/* Sets `frames` (uint32_t) to the frames of a wait, outermost first, user before kernel. */
void path_frames(const struct profile *p, uint32_t user, uint32_t kernel, GArray *frames);

/* The same without trace contexts, for formats that store these elsewhere: see profile/profile.h. */
void path_own_frames(const struct profile *p, uint32_t user, uint32_t kernel, GArray *frames);

/* Whether to write the wait. */
static inline bool plan_has(const struct export_plan *plan, uint32_t wait)
{
	return !plan->selection || plan->selection->waits[wait];
}

/* Appends "mutex LOCK_log (mariadbd)". */
void object_text(GString *s, const struct object *o);

/* "at the start", "at the end", "all the time": at which edges of the window the wait was open; NULL: none. */
const char *open_text(uint8_t wait_flags);

/* Appends a thread, "tokio-worker-1234/1240"; control characters are not escaped. */
void thread_text(GString *s, const struct thread *t);

/* Sentences on the profile: command line, filters, selection, losses.  Free with g_ptr_array_unref(). */
GPtrArray *profile_notes(const struct profile *p, const struct export_plan *plan);

#endif
