/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_IO_RECORD_FILE_H
#define FEATURES_IO_RECORD_FILE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "features/io/record_counts.h"
#include "profile/profile.h"

/*
 * Slow file operations: system calls on files and page faults on mapped files, from begin to end, with what they
 * waited for.
 */
struct file_io;

/* One operation. Durations are in ns; texts are valid until the call that passes it returns. */
struct file_op {
	uint64_t start_unix_ns, latency_ns;
	uint64_t blocked_ns, runq_ns, on_cpu_ns;	/* the parts of latency_ns; 0 if is_async */
	uint64_t disk_ns;	/* with a disk request in flight that the thread made in it */
	uint64_t requests;	/* number of such requests */
	uint64_t bytes;
	int error;		/* errno; 0: none */
	uint32_t pid, tid;
	const char *process, *comm, *op;
	const char *path;	/* "": unknown, or no file */
	bool has_bytes;		/* the operation transferred bytes */
	bool is_open;		/* still in progress at the end of the window */
	bool is_async;		/* handed to io_uring: no thread executed it */
	bool is_before;		/* began before the window; latency counts from the window's begin */
};

struct file_options {
	struct io_only only;
	uint64_t slower_ns;	/* minimum duration */
	bool no_user_stacks, no_kernel_stacks;
	void (*on_op)(const struct file_op *op, void *data);	/* may be NULL */
	void *data;
};

/* NULL with an error if the kernel or our rights do not allow it. */
struct file_io *file_io_new(const struct file_options *options, GError **error);
/* Does every system call of the machine become slower, because the kernel offers only tracepoints? */
bool file_io_slows_all_calls(const struct file_io *f);
/* Reads completed operations; call it about every FILE_POLL_MS. */
void file_io_poll(struct file_io *f);
/* Ends the window. Operations in progress are reported, too. */
void file_io_stop(struct file_io *f);
void file_io_free(struct file_io *f);	/* NULL is fine */
#define FILE_POLL_MS 50

struct file_sum {
	uint64_t count, bytes, errors;
	uint64_t all_ns, blocked_ns, runq_ns, disk_ns, max_ns;
	uint64_t async_ns;	/* part of all_ns without a thread */
	uint64_t requests;
	uint32_t hist[PROFILE_HIST_SLOTS];
};

/*
 * Eight bars for each power of two from 800 ns on: percentiles are accurate to a sixteenth. They are exact for the
 * first few operations.
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

/* Operations of one kind on one file at one place, by one thread, or by a process's threads with the same name. */
struct file_row {
	uint32_t thread;	/* thread of the profile: it, or one of them */
	uint32_t user, kernel;	/* stack nodes; kernel: of its longest wait */
	const char *op, *path;
	struct file_sum sum;
};

struct file_counts {
	uint64_t done;		/* reported operations */
	uint64_t open_at_end, begun_before;	/* of `done` */
	uint64_t not_file;	/* slow calls on sockets, pipes, terminals */
	uint64_t uring;		/* io_uring requests on other things than files */
	uint64_t lost_op, lost_stack, lost_room, lost_disk;
	uint64_t unlisted;	/* of `done`: in the row of an unnamed file, because there are too many files */
};

struct file_result {
	GArray *rows;		/* struct file_row, most time first */
	GArray *files;		/* struct file_by_file, most time first */
	struct file_counts counts;
	struct file_sum all;
	uint64_t duration_ns;
	bool has_faults;	/* this kernel reports page faults */
	struct profile *profile;	/* has the threads, frames and stacks of rows; owned by file_io */
};
/* After file_io_stop(). Free its arrays with file_result_clear(). */
void file_io_result(struct file_io *f, struct file_result *ret);
void file_result_clear(struct file_result *r);
/* As a recording: rows become waits of a profile that the caller frees. Call it once, last. */
struct profile *file_io_take_profile(struct file_io *f);

#endif
