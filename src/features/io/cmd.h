/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_IO_CMD_H
#define FEATURES_IO_CMD_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "cmd/answering.h"
#include "features/io/record_block.h"
#include "features/io/record_counts.h"
#include "features/io/record_file.h"
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

/* What `offcpu io` prints. */

struct io_text_options {
	bool by_stack, by_count;
	bool is_of_some;		/* not of all processes: the kernel's own count is of all */
	unsigned top;
};

void io_text(GString *s, const struct block_result *r, const struct io_text_options *o);
/* A line for one request, and the names of its columns. */
void io_line(GString *s, const struct block_op *op);
void io_line_heading(GString *s);

/* A stack as `offcpu io` prints it: a frame a line, the innermost first.  Nothing of node 0. */
void stack_text(GString *s, const struct profile *p, uint32_t node, int indent);

/* What `offcpu io --json` prints, schema "offcpu.io/1" (docs: the man page of io).  Each appends one line. */

/* --slower: one operation. */
void io_json_op(GString *out, const struct file_op *op);
/* At the end.  with_places: by stack, too. */
void io_json_files(GString *out, const struct file_result *r, uint64_t slower_ns, bool with_places);
/* --block --slower: one request. */
void io_json_request(GString *out, const struct block_op *op);
void io_json_block(GString *out, const struct block_result *r, bool with_places, bool is_of_some);

/*
 * What control groups allow processes (GArray of uint32_t; NULL: none) of reads and writes: a line for each limit.  What
 * a limit holds is no request to a disk yet, so the times of requests do not show it.  proc_dir: "/proc", but for tests.
 */
void io_limits_append(GString *s, const char *proc_dir, const GArray *pids);

/* What `offcpu io --slower` and `--stacks` print. */

struct file_text_options {
	bool by_stack, by_count;
	bool with_lines;	/* lines stand above the summary */
	uint64_t slower_ns;
	unsigned top;
};

/* The heading of the lines, and one line. */
void file_line_heading(GString *s);
void file_line(GString *s, const struct file_op *op);
/* At the end. */
void file_text(GString *s, const struct file_result *r, const struct file_text_options *o);

/* Defines a callback that prints what append() makes of an operation, in the GString that is its data. */
#define IO_PRINTS(name, type, append)                                   \
	static void name(const type *op, void *data)                    \
	{                                                               \
		GString *line = data;                                   \
                                                                        \
		g_string_truncate(line, 0);                             \
		append(line, op);                                       \
		fputs(line->str, stdout);                               \
	}

#endif
