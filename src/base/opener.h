/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_OPENER_H
#define BASE_OPENER_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

/*
 * What belongs to other users opens only to rights that a recorder needs for nothing else.  Once opener_start() was
 * called a process of its own has them, and does no more than this header says; all others can give them up.
 *
 * Where there is none, as in commands that end soon, each function makes the same calls in the process itself.  All
 * may be called from any thread.  Those that fail set errno.
 */

/* Before there are threads, since it forks.  kept: its capabilities, as privileges.h has them.  False with a sentence. */
bool opener_start(uint64_t kept, GError **error);
void opener_stop(void);
/* The rights were given up: only what is refused now is asked for. */
void opener_settle(void);
bool opener_is_apart(void);
/* It has ended, or hangs: nothing can be opened any more. */
bool opener_is_lost(void);

/* As open(2), to read; flags may be O_DIRECTORY. */
int opener_open(const char *path, int flags);
FILE *opener_file(const char *path);
#define OPENER_TEXT_MAX (32 << 10)	/* what it answers at once: more than most files of /proc have */
/* Up to max_bytes of a file, and a zero byte behind them; NULL: it cannot be read. */
char *opener_text(const char *path, size_t max_bytes, size_t *ret_bytes);
/*
 * A descriptor that tells what is there and reads nothing (O_PATH), as openat2(2) below what `root` leads to, or NULL.
 * Of what others have, only files and links.  ESRCH: there is no such root.
 */
int opener_hold(const char *root, const char *path, uint64_t flags, uint64_t resolve);
#define OPENER_SEMAPHORES "/dev/shm"	/* the one directory that may be held, for the names in there */
/* The regular file that is held so, to read. */
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

/* The directory of a control group by its id, held. */
int opener_cgroup(int mount_fd, uint64_t id);
/* While that descriptor is open the kernel counts the time of BPF programs. */
int opener_bpf_stats(void);
struct perf_event_attr;
/* Of all processes on that CPU. */
int opener_perf_event(const struct perf_event_attr *attr, int cpu);

/* ---- between the two: opener.c, opener_process.c */

enum opener_call {
	OPENER_OPEN,
	OPENER_TEXT,
	OPENER_HOLD,
	OPENER_READ_HELD,
	OPENER_LINK,
	OPENER_STAT,
	OPENER_LIST,
	OPENER_CGROUP,
	OPENER_BPF_STATS,
	OPENER_PERF_EVENT,
};
#define OPENER_PATH_MAX 4200
#define OPENER_LINK_MAX 128	/* of a list's links */

struct opener_request {
	uint32_t call, flags;
	uint64_t number;		/* how to resolve; an id; a CPU */
	/* with a zero byte at its end, and perhaps another one; or a struct perf_event_attr; what there is is sent */
	char path[OPENER_PATH_MAX];
};
#define OPENER_REQUEST_BYTES offsetof(struct opener_request, path)
struct opener_reply {
	int32_t error;			/* errno; 0: it went well */
	char text[OPENER_TEXT_MAX];	/* or a struct stat; what there is is sent */
};
#define OPENER_REPLY_BYTES offsetof(struct opener_reply, text)

_Noreturn void opener_serve(int socket, uint64_t kept);
/* What both do.  Some of the names in a directory: bytes; 0: there are no more; -errno. */
long opener_list_some(int dir, bool with_links, char text[OPENER_TEXT_MAX]);
int opener_cgroup_here(int mount_fd, uint64_t id);
int opener_hold_here(const char *root, const char *path, uint64_t flags, uint64_t resolve);
int opener_perf_event_here(const struct perf_event_attr *attr, int cpu);
int opener_bpf_stats_here(void);
int opener_reopen_here(int held_fd);

#endif
