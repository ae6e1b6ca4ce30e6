/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_IO_RECORD_BLOCK_H
#define FEATURES_IO_RECORD_BLOCK_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "features/io/record_counts.h"
#include "profile/profile.h"

/*
 * Requests to block devices, by the place that issued them.  A request is no wait of a thread: many may be on their
 * way at once, and who issued it may do other things meanwhile.
 */
struct block_io;

/* One request that is done; texts are the profile's. */
struct block_op {
	uint64_t start_unix_ns;
	uint64_t held_ns;	/* before it was made; 0: not, or not known */
	uint64_t queue_ns, device_ns;	/* up to the driver, and from there */
	uint64_t bytes, sector;		/* sector: of 512 bytes, where it begins on the disk */
	uint32_t pid, tid;		/* who issued it */
	const char *comm, *disk, *op, *file, *dirtier;	/* as in struct block_row */
};

struct block_options {
	struct io_only only;	/* what these issue, and write-back of what they dirtied */
	bool no_user_stacks, no_kernel_stacks;
	/* NULL, or called by block_io_poll() and block_io_stop() for each request that took slower_ns or more */
	void (*on_op)(const struct block_op *op, void *data);
	void *data;
	uint64_t slower_ns;
};

/* NULL, with a sentence, when the kernel or our rights do not allow it. */
struct block_io *block_io_new(const struct block_options *options, GError **error);
/* Takes in what is done; about every BLOCK_POLL_MS. */
void block_io_poll(struct block_io *b);
/* The window ends: nothing more is taken in. */
void block_io_stop(struct block_io *b);
void block_io_free(struct block_io *b);	/* NULL is fine */
#define BLOCK_POLL_MS 50

/*
 * What is known of requests with one key; durations are from the making of a request to its end, and where it was held
 * before from there on.
 */
struct block_sum {
	uint64_t count, bytes, held_cnt, held_unknown_cnt;	/* held before they were made; of these, who knows how long */
	uint64_t held_ns, queue_ns, device_ns, max_ns;	/* before it was made, up to the driver, and from there */
	uint32_t hist[PROFILE_HIST_SLOTS];
};

/* Requests of one process, place, disk, operation and file. */
struct block_row {
	uint32_t thread;	/* of the profile: the process */
	uint32_t user, kernel;	/* stack nodes */
	const char *disk, *op, *file;	/* "vda", "write"; file "": none, or not known */
	/* "dd (1234)": issued by a kernel thread, who last dirtied the file; "": not known, or no kernel thread */
	const char *dirtier;
	struct block_sum sum;
};

/* One disk's requests of one operation. */
struct block_disk {
	const char *disk, *op;
	struct block_sum sum;
};

struct block_counts {
	uint64_t done, merged, open_at_start, open_at_end;
	uint64_t lost_done, lost_stack, lost_room;
	uint64_t unseen;	/* ended, and the kernel ran no program for it */
	uint64_t kernels;	/* what the disks' own counters say was done meanwhile */
};

struct block_result {
	GArray *rows;		/* struct block_row, most time first */
	GArray *disks;		/* struct block_disk */
	GArray *files;		/* struct block_row of one file each, without stacks, most time first */
	struct block_counts counts;
	uint64_t duration_ns;
	struct profile *profile;	/* threads, frames and stacks that rows name; block_io's */
};
/* After block_io_stop(); its arrays are freed by block_result_clear(). */
void block_io_result(struct block_io *b, struct block_result *ret);
void block_result_clear(struct block_result *r);
/* As a recording: rows become waits of the profile, for the caller to free.  Once, as the last thing. */
struct profile *block_io_take_profile(struct block_io *b);

static inline uint64_t block_sum_ns(const struct block_sum *s)
{
	return s->held_ns + s->queue_ns + s->device_ns;
}

#endif
