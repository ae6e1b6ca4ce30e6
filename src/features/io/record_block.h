/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_IO_RECORD_BLOCK_H
#define FEATURES_IO_RECORD_BLOCK_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "features/io/record_counts.h"
#include "profile/profile.h"

/*
 * Requests to block devices, by the place that issued them. A request is no wait of a thread: many may be in flight
 * at once while their issuer does other things.
 */
struct block_io;

/* A completed request; its texts belong to the profile. */
struct block_op {
	uint64_t start_unix_ns;
	uint64_t held_ns;	/* before it was made; 0: it was not, or unknown */
	uint64_t queue_ns, device_ns;	/* until the driver got it, and from then on */
	uint64_t bytes, sector;		/* sector of 512 bytes where it begins on the disk */
	uint32_t pid, tid;		/* the issuer */
	const char *comm, *disk, *op, *file, *dirtier;	/* as in struct block_row */
};

struct block_options {
	struct io_only only;	/* requests of these, and write-back of what they dirtied */
	bool no_user_stacks, no_kernel_stacks;
	/* called by block_io_poll() and block_io_stop() for each request of at least slower_ns; may be NULL */
	void (*on_op)(const struct block_op *op, void *data);
	void *data;
	uint64_t slower_ns;
};

/* NULL with an error if the kernel or our rights do not allow it. */
struct block_io *block_io_new(const struct block_options *options, GError **error);
/* Reads completed requests; call it about every BLOCK_POLL_MS. */
void block_io_poll(struct block_io *b);
/* Ends the window; later requests are ignored. */
void block_io_stop(struct block_io *b);
void block_io_free(struct block_io *b);	/* NULL is fine */
#define BLOCK_POLL_MS 50

/*
 * Sums of requests with one key. Durations last from the making of a request to its end; the time it was held before
 * is separate.
 */
struct block_sum {
	uint64_t count, bytes, held_cnt, held_unknown_cnt;	/* held_unknown_cnt: for an unknown time */
	uint64_t held_ns, queue_ns, device_ns, max_ns;	/* before it was made, until the driver, and from then on */
	uint32_t hist[PROFILE_HIST_SLOTS];
};

/* Requests of one process, place, disk, operation and file. */
struct block_row {
	uint32_t thread;	/* thread of the profile that stands for the process */
	uint32_t user, kernel;	/* stack nodes */
	const char *disk, *op, *file;	/* "vda", "write"; file "": none, or unknown */
	/* "dd (1234)": for a kernel thread's requests, who last dirtied the file; else, or if unknown, "" */
	const char *dirtier;
	struct block_sum sum;
};

/* Requests of one kind on one disk. */
struct block_disk {
	const char *disk, *op;
	struct block_sum sum;
};

struct block_counts {
	uint64_t done, merged, open_at_start, open_at_end;
	uint64_t lost_done, lost_stack, lost_room;
	uint64_t unseen;	/* requests whose end no BPF program saw */
	uint64_t kernels;	/* completed requests by the disks' own counters */
};

struct block_result {
	GArray *rows;		/* struct block_row, most time first */
	GArray *disks;		/* struct block_disk */
	GArray *files;		/* struct block_row summed by file, without stacks, most time first */
	struct block_counts counts;
	uint64_t duration_ns;
	struct profile *profile;	/* has the threads, frames and stacks of rows; owned by block_io */
};
/* After block_io_stop(). Free its arrays with block_result_clear(). */
void block_io_result(struct block_io *b, struct block_result *ret);
void block_result_clear(struct block_result *r);
/* As a recording: rows become waits of a profile that the caller frees. Call it once, last. */
struct profile *block_io_take_profile(struct block_io *b);

static inline uint64_t block_sum_ns(const struct block_sum *s)
{
	return s->held_ns + s->queue_ns + s->device_ns;
}

#endif
