/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_IO_RECORD_FILE_H
#define FEATURES_IO_RECORD_FILE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "features/io/record_counts.h"
#include "profile/profile.h"

/*
 * Slow file operations: system calls on files and page faults on mapped ones, from their begin to their end, with what
 * they waited for meanwhile.
 */
struct file_io;

/* One of them.  Durations are in ns, the texts valid until the call that gives it returns. */
struct file_op {
	uint64_t start_unix_ns, latency_ns;
	uint64_t blocked_ns, runq_ns, on_cpu_ns;	/* latency_ns in three parts; is_async: 0 */
	uint64_t disk_ns;	/* a request to a disk that the thread itself made in it was under way */
	uint64_t requests;	/* of those; 0: none */
	uint64_t bytes;
	int error;		/* an errno; 0: none */
	uint32_t pid, tid;
	const char *process, *comm, *op;
	const char *path;	/* "": not known, or no file's */
	bool has_bytes;		/* the operation moves bytes, and did */
	bool is_open;		/* it had not ended as the window did */
	bool is_async;		/* handed to io_uring: no thread stood in it */
	bool is_before;		/* it had begun before the window, where its latency begins here */
};

struct file_options {
	struct io_only only;
	uint64_t slower_ns;	/* only operations that take this or more */
	bool no_user_stacks, no_kernel_stacks;
	void (*on_op)(const struct file_op *op, void *data);	/* NULL: none */
	void *data;
};

/* NULL, with a sentence, when the kernel or our rights do not allow it. */
struct file_io *file_io_new(const struct file_options *options, GError **error);
/* The kernel has only tracepoints for it: while it runs, every system call of the machine takes a longer way. */
bool file_io_slows_all_calls(const struct file_io *f);
/* Takes in what is done; about every FILE_POLL_MS. */
void file_io_poll(struct file_io *f);
/* The window ends.  What goes on is told of, too. */
void file_io_stop(struct file_io *f);
void file_io_free(struct file_io *f);	/* NULL is fine */
#define FILE_POLL_MS 50

struct file_sum {
	uint64_t count, bytes, errors;
	uint64_t all_ns, blocked_ns, runq_ns, disk_ns, max_ns;
	uint64_t async_ns;	/* of all_ns: no thread stood in them */
	uint64_t requests;
	uint32_t hist[PROFILE_HIST_SLOTS];
};

/*
 * Eight bars for each doubling, from 800 ns on: percentiles are within a sixteenth.  Of the first few operations they
 * are exact.
 */
#define FILE_BARS 256
#define FILE_EXACT 32

/* Operations of one kind on one file. */
struct file_by_file {
	const char *op, *path;
	struct file_sum sum;
	uint32_t bar[FILE_BARS];
	uint64_t first_ns[FILE_EXACT];	/* of the first operations */
};
/* share: 0.5 is the median. */
uint64_t file_percentile_ns(const struct file_by_file *f, double share);

/* Operations at one place, of one kind, on one file, of one thread, or of a process's threads of one name. */
struct file_row {
	uint32_t thread;	/* of the profile: it, or one of them */
	uint32_t user, kernel;	/* stack nodes; kernel: of the longest wait in it */
	const char *op, *path;
	struct file_sum sum;
};

struct file_counts {
	uint64_t done;		/* operations told of */
	uint64_t open_at_end, begun_before;	/* of those */
	uint64_t not_file;	/* slow calls on sockets, pipes, terminals */
	uint64_t uring;		/* requests to io_uring that are none of files */
	uint64_t lost_op, lost_stack, lost_room, lost_disk;
	uint64_t unlisted;	/* of done: in the row of a file without a name, since there are too many files */
};

struct file_result {
	GArray *rows;		/* struct file_row, most time first */
	GArray *files;		/* struct file_by_file, most time first */
	struct file_counts counts;
	struct file_sum all;
	uint64_t duration_ns;
	bool has_faults;	/* page faults are seen on this kernel */
	struct profile *profile;	/* threads, frames and stacks that rows name; file_io's */
};
/* After file_io_stop(); its arrays are freed by file_result_clear(). */
void file_io_result(struct file_io *f, struct file_result *ret);
void file_result_clear(struct file_result *r);
/* As a recording: rows become waits of the profile, for the caller to free.  Once, as the last thing. */
struct profile *file_io_take_profile(struct file_io *f);

#endif
