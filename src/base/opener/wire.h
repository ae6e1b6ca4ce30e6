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

/* Between those who ask (opener.c, opener_channel.c), who begins openers (opener_keep.c) and openers themselves. */

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
#define OPENER_LINK_MAX 128	/* of a list's links */

struct opener_request {
	uint32_t call, flags;
	uint64_t number;		/* how to resolve; an id; a CPU; bytes wanted of a text; a process */
	/*
	 * with a zero byte at its end, and perhaps another one; or a struct perf_event_attr; or addresses; what there is
	 * is sent
	 */
	char path[OPENER_PATH_MAX];
};
#define OPENER_REQUEST_BYTES offsetof(struct opener_request, path)
struct opener_reply {
	int32_t error;			/* errno; 0: it went well; EINPROGRESS: it goes on, and another one follows */
	char text[OPENER_TEXT_MAX];	/* or a struct stat; what there is is sent */
};
#define OPENER_REPLY_BYTES offsetof(struct opener_reply, text)

/* Of OPENER_MEMORY: the request has these, the reply a byte for each, one of those below, then what was read. */
struct opener_address {
	uint64_t addr, bytes;
};
enum opener_piece_state { OPENER_PIECE_NONE, OPENER_PIECE_READ, OPENER_PIECE_STRANGE };

/* What a client asks. */
struct opener_asked {
	enum opener_call call;
	uint32_t flags;
	uint64_t number;
	const void *path;
	size_t path_bytes;
	int fd;			/* that goes along; -1: none */
	const char *subject;	/* what is skipped if it is not answered, as opener_subject_*() name it; NULL: nothing */
};
/* Bytes of text in the reply, whose room is `bytes`; -1 with errno.  ret_fd: what came along, or -1. */
long opener_ask(const struct opener_asked *a, void *reply, size_t bytes, int *ret_fd);
/*
 * Whether a subject is a process that is no more there: the kernel tells that at once.  Beside a build half of what is
 * asked comes when the compiler has ended.  False where /proc hides other users' processes.
 */
bool opener_has_ended(const char *subject);
/* Told once, as something that is skipped. */
void opener_tell_strange(uint32_t pid);
/* "pid 12", "file 0:45 77", "path /x": free with g_free(). */
char *opener_subject_of_path(const char *path);
char *opener_subject_of_fd(int fd);

/* kept NULL: with the rights that there are. */
bool opener_channel_open(const uint64_t *kept);
void opener_channel_close(void);

struct opener_begun {
	int32_t pid;	/* 0: too many of those before sleep where nothing ends them */
};
_Noreturn void opener_keep(int control, const uint64_t *kept);
_Noreturn void opener_serve(int socket, const uint64_t *kept);

/* What both do.  Some of the names in a directory: bytes; 0: there are no more; -errno. */
long opener_list_some(int dir, bool with_links, char text[OPENER_TEXT_MAX]);
int opener_cgroup_here(int mount_fd, uint64_t id);
int opener_hold_here(const char *root, const char *path, uint64_t flags, uint64_t resolve);
struct perf_event_attr;
int opener_perf_event_here(const struct perf_event_attr *attr, int cpu);
int opener_bpf_stats_here(void);
int opener_reopen_here(int held_fd);
/* As fstat(2), of what the kernel knows: no file system is asked. */
bool opener_stat_here(int at, const char *path, struct stat *ret);

/* An opener's parts. */
long opener_read_memory(uint32_t pid, const struct opener_address *pieces, size_t cnt, char text[OPENER_TEXT_MAX]);
/* A process may have executed another program: what is read from here on is that one's. */
void opener_forget_memory(void);
/* Whether what /proc/PID/cmdline or environ would read may be read at once. */
bool opener_may_read_arguments(uint32_t pid, uint64_t max_bytes);
bool opener_is_local(int fd);
/* Whether the device that a mapping of the file shows is local: of overlayfs itself, before Linux 6.8 of the layer. */
bool opener_maps_local(int fd);
/* A file in memory with the same bytes; -1 with errno.  go_on: called now and then. */
int opener_copy(int fd, void (*go_on)(void));
/* The same of a text whose first bytes were read already, as far as max_bytes. */
int opener_copy_text(int fd, const char *first, long first_bytes, uint64_t max_bytes);

/*
 * What an opener did not answer for, by subjects as opener_subject_of_path() names them.  It is skipped for a minute,
 * and each time it is tried in vain twice as long, up to an hour.  After some processes of one user all of his are, so
 * that others keep their openers.  Not thread-safe: the channel's lock is held.
 */
struct opener_skipped;

struct opener_skipped *opener_skipped_new(void);
void opener_skipped_free(struct opener_skipped *s);
/* now_us: g_get_monotonic_time(), as below. */
bool opener_skipped_has(const struct opener_skipped *s, const char *subject, int64_t now_us);
void opener_skipped_add(struct opener_skipped *s, const char *subject, int64_t waited_us, int64_t now_us);
/* A sentence about a subject, once. */
void opener_skipped_tell(struct opener_skipped *s, const char *subject, char *sentence);
/* opener_news(), opener_last_news(). */
char *opener_skipped_news(struct opener_skipped *s);
char *opener_skipped_last_news(const struct opener_skipped *s);

/* What is left of a file, up to max_bytes, and a zero byte behind it.  NULL with errno; free with g_free(). */
char *file_read_fd(int fd, size_t max_bytes, size_t *ret_len);

#endif
