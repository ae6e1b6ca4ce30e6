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

/* Shared by the parts of `offcpu io`. */

struct io_options {
	gboolean by_block, by_stack, by_count, folded, json, no_kernel_stacks, no_user_stacks, follow;
	struct answer_args answer;
	gint top;
	char *duration, *output, *slower;
	char **pids, **groups;	/* as typed */
	GArray *processes, *cgroup_ids;	/* their ids, uint32_t and uint64_t; NULL: not given */
	struct io_only only;
	uint64_t slower_ns;
};

/* Calls `poll` about every poll_ms until a signal comes or duration_ns is over (0: never). */
void io_watch(void (*poll)(void *data), void *data, unsigned poll_ms, uint64_t duration_ns);
/* "14:32:18.123" */
void io_append_clock(GString *s, uint64_t unix_ns);
/* Is standard output machine-readable? */
static inline bool io_is_json(const struct io_options *o)
{
	return o->json || answer_is_asked(&o->answer);
}
/* Writes output for other programs: a recording or folded text. Frees p; returns an exit status. */
int io_give_away(struct profile *p, const struct io_options *o, const char *command_line);

/* `offcpu io --slower` and `--stacks`; returns an exit status. */
int io_files(const struct io_options *o, uint64_t duration_ns, const char *command_line);

/* What `offcpu io` prints. */

struct io_text_options {
	bool by_stack, by_count;
	bool is_of_some;		/* processes are selected, but the kernel counts all */
	unsigned top;
};

void io_text(GString *s, const struct block_result *r, const struct io_text_options *o);
/* A line for one request, and the heading of such lines. */
void io_line(GString *s, const struct block_op *op);
void io_line_heading(GString *s);

/* A stack as `offcpu io` prints it: a frame per line, innermost first. Nothing for node 0. */
void stack_text(GString *s, const struct profile *p, uint32_t node, int indent);

/* Output of `offcpu io --json`, schema "offcpu.io/1" (see its manual page). Each function appends one line. */

/* --slower: one operation. */
void io_json_op(GString *out, const struct file_op *op);
/* The summary. with_places: by stack, too. */
void io_json_files(GString *out, const struct file_result *r, uint64_t slower_ns, bool with_places);
/* --block --slower: one request. */
void io_json_request(GString *out, const struct block_op *op);
void io_json_block(GString *out, const struct block_result *r, bool with_places, bool is_of_some);

/*
 * The limits of reads and writes of the processes' control groups, a line each (GArray of uint32_t; NULL: none). A
 * request held by a limit has not been made yet, so times of requests do not include it. proc_dir: "/proc" except in
 * tests.
 */
void io_limits_append(GString *s, const char *proc_dir, const GArray *pids);

/* Output of `offcpu io --slower` and `--stacks`. */

struct file_text_options {
	bool by_stack, by_count;
	bool with_lines;	/* the summary follows lines */
	uint64_t slower_ns;
	unsigned top;
};

/* The heading of lines, and a line. */
void file_line_heading(GString *s);
void file_line(GString *s, const struct file_op *op);
/* The summary. */
void file_text(GString *s, const struct file_result *r, const struct file_text_options *o);

/* Defines a callback that appends an operation with append() to the GString in its data and prints it. */
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
