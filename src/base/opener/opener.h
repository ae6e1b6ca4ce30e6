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
 * Other users' files and memory need rights that a recorder uses for nothing else. And they may never answer: a page
 * of another process's memory, or a file, can be in a file system that a user's program serves (FUSE), or whose server
 * is unreachable (NFS). A thread that reads it sleeps where no signal ends it. So a helper process, the opener, reads
 * memory and opens files, and does no more than this header says. If it does not answer it is left behind and
 * replaced. What it did not answer for is skipped for a while, and reported by name.
 *
 * Without an opener each function makes the same calls in the process itself. All may be called from any thread. Those
 * that fail set errno; ETIMEDOUT: no answer, now or the last time, or our end is overdue (hurry.h).
 */

/*
 * Call it before creating threads, since it forks. kept: the opener's capabilities, as in confine.h, which the caller
 * can then give up. False with a sentence.
 */
bool opener_start(uint64_t kept, GError **error);
/* The same with the caller's rights, which the caller keeps; if it cannot be started the caller reads by itself. */
void opener_begin(void);
void opener_stop(void);
/* The caller's rights were given up: from now on only what is refused is requested. */
void opener_settle(void);
/* Has the opener rights that the caller lacks? */
bool opener_is_apart(void);
bool opener_is_there(void);
/* The keeper has ended: nothing can be opened any more. */
bool opener_is_lost(void);
/* The current one; 0: none. */
pid_t opener_pid(void);
/* Approximate CPU time of all openers so far. */
uint64_t opener_cpu_ns(void);
/* CPU time of this thread, with what openers took for its requests. */
uint64_t opener_thread_cpu_ns(void);

struct opener_counts {
	uint64_t replaced;	/* openers that did not answer, or ended */
	uint64_t skipped;	/* requests that were not answered, or not sent for that reason */
};
struct opener_counts opener_counts(void);
/* A sentence on what is skipped from now on, and why, if it was not returned yet; else NULL. Free with g_free(). */
char *opener_news(void);
/* Adds "process 12 (evil): WHAT" to them and to the counts, once for each kind. */
void opener_tell_of(const char *kind, uint32_t pid, const char *what);
/* The sentence that opener_news() returned last, or would return; NULL: none so far. Free with g_free(). */
char *opener_last_news(void);

/* Like open(2), for reading; flags may contain O_DIRECTORY. */
int opener_open(const char *path, int flags);
FILE *opener_file(const char *path);
#define OPENER_TEXT_MAX (32 << 10)	/* size of a text in the reply itself: more than most files of /proc have */
/* Up to max_bytes of a file, followed by a zero byte; NULL: unreadable. */
char *opener_text(const char *path, size_t max_bytes, size_t *ret_bytes);
/* The same for a file of a process, at most OPENER_TEXT_MAX: "comm", "task/17/children" below proc_dir/PID. */
char *opener_process_text(const char *proc_dir, uint32_t pid, const char *name);
/*
 * An O_PATH descriptor, which shows a file without reading it, opened as by openat2(2) below the target of `root`,
 * which may be NULL. Other users' objects only if they are files or links. ESRCH: no such root.
 */
int opener_hold(const char *root, const char *path, uint64_t flags, uint64_t resolve);
#define OPENER_SEMAPHORES "/dev/shm"	/* the only directory that may be held, to list it */
/* Like fstat(2), from what the kernel knows: no file system is asked. */
bool opener_stat_held(int held_fd, struct stat *ret);
/*
 * Opens a held regular file for reading, or if its file system may never answer, a copy of it in memory, up to 256
 * MiB.
 */
int opener_read_held(int held_fd);
/* A symbolic link's target; NULL on errors. */
char *opener_link(const char *path);
/* Like stat(2), following all links. */
bool opener_stat(const char *path, struct stat *ret);

/* A name in a directory; in /proc/PID/fd also its target, as far as it fits, and its mode. */
struct opener_entry {
	const char *name, *link;
	uint32_t mode;
};
/* False: stop. */
typedef bool (*opener_entry_fn)(const struct opener_entry *e, void *data);
/* False: unreadable. */
bool opener_list(const char *dir, bool with_links, opener_entry_fn take, void *data);

struct opener_piece {
	uint64_t addr;
	void *ret;
	size_t bytes;
};
#define OPENER_PIECES_MAX 256
#define OPENER_PIECE_BYTES_MAX (OPENER_TEXT_MAX - OPENER_PIECES_MAX)
/*
 * Reads pieces of a process's memory, up to limits of number and total size; is_read: which of them. Absent pages in a
 * file system that may never answer are not read. Requires opener_is_there().
 */
bool opener_memory(uint32_t pid, const struct opener_piece *pieces, size_t cnt, bool *is_read);

/* The directory of a control group by its id, as an O_PATH descriptor. */
int opener_cgroup(int mount_fd, uint64_t id);
/* While that descriptor is open the kernel measures the time of BPF programs. */
int opener_bpf_stats(void);
struct perf_event_attr;
/* An event of all processes on that CPU. */
int opener_perf_event(const struct perf_event_attr *attr, int cpu);

#endif
