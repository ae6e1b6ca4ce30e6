/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_FOLDED_H
#define RENDER_FOLDED_H

#include "analyse/query.h"
#include "analyse/weight.h"
#include "profile/profile.h"

/*
 * Folded stacks for flamegraph.pl, inferno and speedscope: a line per stack, "comm;user frames root first;-;kernel
 * frames outermost first VALUE", sorted bytewise.
 */

enum folded_unit { FOLDED_US = 0, FOLDED_NS, FOLDED_MS, FOLDED_S, FOLDED_UNITS };
bool folded_unit_parse(const char *name, enum folded_unit *ret_unit);

struct folded_options {
	enum weight weight;
	enum folded_unit unit;	/* ignored for WEIGHT_COUNT */
	bool by_thread;		/* "comm-pid/tid" instead of "comm" */
	bool delimiter;		/* put "-" before kernel frames */
	/* append "_[i]" to inlined functions, "_[j]" to JIT, "_[k]" to kernel, as stackcollapse-perf.pl --all */
	bool annotate;
	bool lines;		/* "name:file.c:12", as stackcollapse-perf.pl --srcline */
	bool two_columns;	/* put the number of waits before the time */
};

struct folded_result {
	uint64_t lines_cnt;
	/* Lines below half a unit are left out: their number, and their sum in ns or events. */
	uint64_t dropped_lines_cnt;
	uint64_t dropped;
};

/*
 * Appends the lines.  Equal lines are summed before rounding to the nearest unit.  selection NULL: everything.
 * ret_result may be NULL.
 */
void folded_render(GString *out, const struct profile *p, const struct selection *selection,
		   const struct folded_options *options, struct folded_result *ret_result);

/* Labels of all frames for folded text: ';' becomes ':', control characters are escaped. */
struct folded_names;
/* Of the options only `annotate` and `lines` matter; NULL: neither. */
struct folded_names *folded_names_new(const struct profile *p, const struct folded_options *options);
void folded_names_free(struct folded_names *names);
/* Appends ";frame" for each frame of the stack, root first. */
void folded_append_stack(GString *s, struct folded_names const *names, uint32_t node);
/* The label of a frame. */
const char *folded_frame_name(const struct folded_names *names, uint32_t frame);
/* A weight in the requested unit, rounded. */
uint64_t folded_value(uint64_t weight, const struct folded_options *options);
/* Appends a name, escaped in the same way. */
void folded_append_name(GString *s, const char *name);

/* Folded stacks of wakers and sleepers. */

enum folded_wakers {
	/* "comm;user;-;kernel;--;waker kernel;-;waker user;waker_comm"; the waker's frames are innermost first */
	FOLDED_OFFWAKE,
	/* "waker_comm;user;-;kernel;target": the waker's stack, root first, and the thread that it woke */
	FOLDED_WAKEUP,
};

/* Like folded_render(), but always with "-" between user and kernel frames. */
void folded_wakers_render(GString *out, const struct profile *p, const struct selection *selection,
			  const struct folded_options *options, enum folded_wakers form,
			  struct folded_result *ret_result);

#endif
