/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_OPENER_OPENER_H
#define BASE_OPENER_OPENER_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * What belongs to other users opens only to rights that a recorder needs for nothing else.  And it may never answer: a
 * page of another process's memory, or a file, can lie in a file system that a user's program serves (FUSE), or whose
 * server is away (NFS).  Whoever reads it then sleeps where no signal ends it.  So a process of its own, the opener,
 * reads memory and opens files, does no more than this header says, and is left behind where it does not answer:
 * another one takes its place.  What it did not answer for is skipped for a while, and is told by name.
 *
 * Where there is none, each function makes the same calls in the process itself.  All may be called from any thread.
 * Those that fail set errno; ETIMEDOUT: it did not answer, or had not the last time, or our end is long due (hurry.h).
 */

/*
 * Before there are threads, since it forks.  kept: the opener's capabilities, as confine.h has them, which the
 * caller can give up then.  False with a sentence.
 */
bool opener_start(uint64_t kept, GError **error);
/* The same, with the caller's rights, which it keeps; where it cannot be had the caller reads by itself. */
void opener_begin(void);
void opener_stop(void);
/* The rights were given up: only what is refused now is asked for. */
void opener_settle(void);
/* It has rights that the caller has not. */
bool opener_is_apart(void);
/* There is one. */
bool opener_is_there(void);
/* Whoever begins openers has ended: nothing can be opened any more. */
bool opener_is_lost(void);
/* Of the one that is asked now; 0: none is. */
pid_t opener_pid(void);
/* CPU time of all openers so far, about. */
uint64_t opener_cpu_ns(void);

struct opener_counts {
	uint64_t replaced;	/* openers that did not answer, or ended */
	uint64_t skipped;	/* requests that were not answered, or not made since one like it was not */
};
struct opener_counts opener_counts(void);
/* A sentence on what is skipped from now on, and why, that was not given yet; NULL: none.  Free with g_free(). */
char *opener_news(void);
/* The sentence that opener_news() gave last, or would; NULL: none ever.  Free with g_free(). */
char *opener_last_news(void);

/* As open(2), to read; flags may be O_DIRECTORY. */
int opener_open(const char *path, int flags);
FILE *opener_file(const char *path);
#define OPENER_TEXT_MAX (32 << 10)	/* what it answers at once: more than most files of /proc have */
/* Up to max_bytes of a file, and a zero byte behind them; NULL: it cannot be read. */
char *opener_text(const char *path, size_t max_bytes, size_t *ret_bytes);
/* The same of a file of a process, OPENER_TEXT_MAX at most: "comm", "task/17/children" below proc_dir/PID. */
char *opener_process_text(const char *proc_dir, uint32_t pid, const char *name);
/*
 * A descriptor that tells what is there and reads nothing (O_PATH), as openat2(2) below what `root` leads to, or NULL.
 * Of what others have, only files and links.  ESRCH: there is no such root.
 */
int opener_hold(const char *root, const char *path, uint64_t flags, uint64_t resolve);
#define OPENER_SEMAPHORES "/dev/shm"	/* the one directory that may be held, for the names in there */
/* As fstat(2), of what the kernel knows: no file system is asked. */
bool opener_stat_held(int held_fd, struct stat *ret);
/*
 * The regular file that is held so, to read, or where its file system may never answer a copy of it in memory, up to
 * 256 MiB.
 */
int opener_read_held(int held_fd);
/* Where a symbolic link leads; NULL. */
char *opener_link(const char *path);
/* As stat(2), to the end of all links. */
bool opener_stat(const char *path, struct stat *ret);

/* A name in a directory; of /proc/PID/fd also where it leads, as far as it fits, and how it is open. */
struct opener_entry {
	const char *name, *link;
	uint32_t mode;
};
/* False: no more. */
typedef bool (*opener_entry_fn)(const struct opener_entry *e, void *data);
/* False: it cannot be read. */
bool opener_list(const char *dir, bool with_links, opener_entry_fn take, void *data);

struct opener_piece {
	uint64_t addr;
	void *ret;
	size_t bytes;
};
#define OPENER_PIECES_MAX 256
#define OPENER_PIECE_BYTES_MAX (OPENER_TEXT_MAX - OPENER_PIECES_MAX)
/*
 * Pieces of a process's memory, at most so many and, together, so many bytes; is_read: which were.  Pages that are not
 * in memory and lie in a file system that may never answer are not read.  Only with opener_is_there().
 */
bool opener_memory(uint32_t pid, const struct opener_piece *pieces, size_t cnt, bool *is_read);

/* The directory of a control group by its id, held. */
int opener_cgroup(int mount_fd, uint64_t id);
/* While that descriptor is open the kernel counts the time of BPF programs. */
int opener_bpf_stats(void);
struct perf_event_attr;
/* Of all processes on that CPU. */
int opener_perf_event(const struct perf_event_attr *attr, int cpu);

#endif
