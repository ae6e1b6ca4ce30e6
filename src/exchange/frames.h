/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXCHANGE_FRAMES_H
#define EXCHANGE_FRAMES_H

#include "profile/profile.h"

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

#endif
