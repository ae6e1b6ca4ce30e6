/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXCHANGE_FIREFOX_H
#define EXCHANGE_FIREFOX_H

#include "analyse/reason/reasons.h"
#include "analyse/strset.h"
#include "features/wakers/analysis.h"
#include "exchange/parts.h"
#include "exchange/format.h"
#include "render/json/write.h"

/* Internal to the Firefox Profiler's format: the tables of a thread. */

/* For blocked time the family of its reason (enum reason_family), else what the thread does. */
enum category {
	CATEGORY_RUN_QUEUE = FAMILY_COUNT,
	CATEGORY_PREEMPTED,
	CATEGORIES
};

struct firefox {
	const struct profile *p;
	const struct export_plan *plan;
	struct writer *writer;
	struct json json;
	struct frame_list *frames;
	struct strset *modules;
	GArray *module_names; /* const char * */
	struct wakes_by_wait *wakes;
	struct reasons *reasons;
};

/* The tables of one thread. */
struct firefox_track {
	struct strset *strings;
	GPtrArray *texts; /* const char *, of `strings` */
	GHashTable *frame_ids; /* index in frame_list -> index + 1 */
	GArray *frames; /* uint32_t: indices in frame_list */
	GHashTable *stack_ids; /* struct stack_key -> index + 1 */
	GArray *stacks; /* struct stack_key */
	GArray *samples; /* struct sample */
	GArray *waits; /* uint32_t */
	GArray *spans; /* uint32_t: requests, by the clock and without samples; NULL: the track is of waits */
};

/* The track of these waits (uint32_t), which must stay valid; path is scratch. */
void firefox_track_init(struct firefox *w, struct firefox_track *t, GArray *waits, GArray *path);
void firefox_track_clear(struct firefox_track *t);
/* Writes members of the thread's object: samples, markers, tables of code, and last the strings that they refer to. */
void firefox_write_track(struct firefox *w, struct firefox_track *t);
/* In milliseconds, exact to the nanosecond. */
void firefox_member_ms(struct json *j, const char *key, uint64_t ns);

#endif
