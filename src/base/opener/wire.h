/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_OPENER_WIRE_H
#define BASE_OPENER_WIRE_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/opener/opener.h"

/* Messages between clients (opener.c, channel.c), the keeper (keep.c) and openers. */

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
	OPENER_MEMORY,
};
#define OPENER_PATH_MAX 4200
#define OPENER_LINK_MAX 128	/* of link targets in a list */

struct opener_request {
	uint32_t call, flags;
	uint64_t number;		/* resolve flags; an id; a CPU; maximal size of a text; a process */
	/*
	 * ends with a zero byte, perhaps followed by another string; or a struct perf_event_attr; or addresses; only
	 * the used part is sent
	 */
	char path[OPENER_PATH_MAX];
};
#define OPENER_REQUEST_BYTES offsetof(struct opener_request, path)
struct opener_reply {
	int32_t error;			/* errno; 0: success; EINPROGRESS: still working, another reply follows */
	char text[OPENER_TEXT_MAX];	/* or a struct stat; only the used part is sent */
};
#define OPENER_REPLY_BYTES offsetof(struct opener_reply, text)

/* For OPENER_MEMORY: a request is an array of these; a reply has one of the bytes below for each, then contents. */
struct opener_address {
	uint64_t addr, bytes;
};
enum opener_piece_state { OPENER_PIECE_NONE, OPENER_PIECE_READ, OPENER_PIECE_STRANGE };

/* A client's request. */
struct opener_asked {
	enum opener_call call;
	uint32_t flags;
	uint64_t number;
	const void *path;
	size_t path_bytes;
	int fd;			/* descriptor to send; -1: none */
	const char *subject;	/* what to skip if there is no answer, as named by opener_subject_*(); NULL: nothing */
};
/* Size of text in the reply, which has room for `bytes`; -1 with errno. ret_fd: descriptor received, or -1. */
long opener_ask(const struct opener_asked *a, void *reply, size_t bytes, int *ret_fd);
/*
 * Is the subject a process that has ended? The kernel answers that at once. During a build half of the requests come
 * after the compiler's end. False where /proc hides other users' processes.
 */
bool opener_has_ended(const char *subject);
/* "pid 12", "file 0:45 77", "path /x": free with g_free(). */
char *opener_subject_of_path(const char *path);
char *opener_subject_of_fd(int fd);

/* kept NULL: with the current rights. */
bool opener_channel_open(const uint64_t *kept);
void opener_channel_close(void);

struct opener_begun {
	int32_t pid;	/* 0: too many earlier ones are in an endless sleep */
};
_Noreturn void opener_keep(int control, const uint64_t *kept);
_Noreturn void opener_serve(int socket, const uint64_t *kept);

/* Used by both sides. Some of the names in a directory: size; 0: no more; -errno. */
long opener_list_some(int dir, bool with_links, char text[OPENER_TEXT_MAX]);
int opener_cgroup_here(int mount_fd, uint64_t id);
int opener_hold_here(const char *root, const char *path, uint64_t flags, uint64_t resolve);
struct perf_event_attr;
int opener_perf_event_here(const struct perf_event_attr *attr, int cpu);
int opener_bpf_stats_here(void);
int opener_reopen_here(int held_fd);
/* Like fstat(2), from what the kernel knows: no file system is asked. */
bool opener_stat_here(int at, const char *path, struct stat *ret);

/* Parts of an opener. */
long opener_read_memory(uint32_t pid, const struct opener_address *pieces, size_t cnt, char text[OPENER_TEXT_MAX]);
/* The process may have executed another program: reopen its memory. */
void opener_forget_memory(void);
/* Is the memory behind /proc/PID/cmdline or environ readable at once? */
bool opener_may_read_arguments(uint32_t pid, uint64_t max_bytes);
bool opener_is_local(int fd);
/* Is the device that a mapping of the file shows local? For overlayfs: its own, before Linux 6.8 the layer's. */
bool opener_maps_local(int fd);
/* A memory file with the same bytes; -1 with errno. go_on: called periodically. */
int opener_copy(int fd, void (*go_on)(void));
/* The same for a text whose first bytes were read already, up to max_bytes. */
int opener_copy_text(int fd, const char *first, long first_bytes, uint64_t max_bytes);

/*
 * What an opener did not answer for, by subjects as named by opener_subject_of_path(). Each is skipped for a minute,
 * and twice as long after each failed attempt, up to an hour. After some processes of one user all of that user's are
 * skipped, so that others keep their openers. Not thread-safe: the channel's lock is held.
 */
struct opener_skipped;

struct opener_skipped *opener_skipped_new(void);
void opener_skipped_free(struct opener_skipped *s);
/* now_us: g_get_monotonic_time(), as below. */
bool opener_skipped_has(const struct opener_skipped *s, const char *subject, int64_t now_us);
void opener_skipped_add(struct opener_skipped *s, const char *subject, int64_t waited_us, int64_t now_us);
/* Reports a sentence about a subject, once. */
void opener_skipped_tell(struct opener_skipped *s, const char *subject, char *sentence);
/* For opener_news() and opener_last_news(). */
char *opener_skipped_news(struct opener_skipped *s);
char *opener_skipped_last_news(const struct opener_skipped *s);

/* The rest of a file, up to max_bytes, followed by a zero byte. NULL with errno; free with g_free(). */
char *file_read_fd(int fd, size_t max_bytes, size_t *ret_len);
/* Reads len bytes at an offset. False: not all there, or unreadable. */
bool file_read_at(int fd, uint64_t off, void *buffer, size_t len);
/* False with errno. */
bool file_write_all(int fd, const void *bytes, size_t len);

#endif
