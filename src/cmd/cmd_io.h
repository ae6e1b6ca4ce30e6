/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_CMD_IO_H
#define CMD_CMD_IO_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "cmd/answering.h"
#include "io/only.h"
#include "profile/profile.h"

/* What the parts of `offcpu io` share. */

struct io_options {
	gboolean by_block, by_stack, by_count, folded, json, no_kernel_stacks, no_user_stacks, follow;
	struct answer_args answer;
	gint top;
	char *duration, *output, *slower;
	char **pids, **groups;	/* as typed */
	GArray *processes, *cgroup_ids;	/* what these name: of uint32_t, of uint64_t; NULL: not given */
	struct io_only only;
	uint64_t slower_ns;
};

/* Calls `poll` about every poll_ms until a signal comes, or duration_ns is over (0: never). */
void io_watch(void (*poll)(void *data), void *data, unsigned poll_ms, uint64_t duration_ns);
/* "14:32:18.123" */
void io_append_clock(GString *s, uint64_t unix_ns);
/* Is standard output for programs? */
static inline bool io_is_json(const struct io_options *o)
{
	return o->json || answer_is_asked(&o->answer);
}
/* As other programs take it: a recording, folded text.  Frees p; an exit status. */
int io_give_away(struct profile *p, const struct io_options *o, const char *command_line);

/* `offcpu io --slower` and `--stacks`; an exit status. */
int io_files(const struct io_options *o, uint64_t duration_ns, const char *command_line);

#endif
