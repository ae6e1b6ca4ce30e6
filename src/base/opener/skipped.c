/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/each.h"
#include "base/opener/wire.h"
#include "base/proc/status.h"

#define SUBJECTS_MAX 256	/* each process takes a descriptor */
#define NEWS_MAX 64
#define PAUSE_US (INT64_C(60) * G_USEC_PER_SEC)
#define PAUSE_MAX_US (60 * PAUSE_US)
#define OF_PID "pid "
/* A user who starts many such processes must not leave others without openers. */
#define OF_OWNER_MAX 4
#define NAMESPACES "other user namespaces"

struct entry {
	int pidfd;		/* for a process; -1: none */
	int64_t until_us, pause_us;
	bool is_reported;
	unsigned cnt;		/* for an owner: how many of its processes did not answer */
};

struct opener_skipped {
	GHashTable *subjects;	/* char * -> struct entry; including owners */
	bool has_owners;	/* some owners are skipped as a whole */
	GQueue news;		/* char * */
	char *last;
};

static void free_one(gpointer data)
{
	struct entry *entry = data;

	if (entry->pidfd >= 0)
		close(entry->pidfd);
	g_free(entry);
}

struct opener_skipped *opener_skipped_new(void)
{
	struct opener_skipped *s = g_new0(struct opener_skipped, 1);

	s->subjects = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_one);
	g_queue_init(&s->news);
	return s;
}

FREES(opener_skipped_free, struct opener_skipped, s, g_hash_table_unref(s->subjects); g_queue_clear_full(&s->news,
      g_free); g_free(s->last))

static const char *pid_of(const char *subject)
{
	return g_str_has_prefix(subject, OF_PID) ? subject + strlen(OF_PID) : NULL;
}

/* The process id may have been reused. Its /proc may never answer, a pidfd always does. */
static bool has_ended(const struct entry *entry)
{
	struct pollfd p = { .fd = entry->pidfd, .events = POLLIN };

	return entry->pidfd >= 0 && poll(&p, 1, 0) > 0;
}

static struct entry *known_subject(const struct opener_skipped *s, const char *subject)
{
	struct entry *entry = subject ? g_hash_table_lookup(s->subjects, subject) : NULL;

	return entry && !has_ended(entry) ? entry : NULL;
}

static char *file_of(const char *pid, const char *name)
{
	g_autofree char *path = g_strdup_printf("/proc/%s/%s", pid, name);
	char *text = NULL;

	g_file_get_contents(path, &text, NULL, NULL);
	return text;
}

/*
 * "user 1000"; all other user namespaces count as one, since their users can have any number. NULL: root, or it has
 * ended. The kernel has both files at hand.
 */
static char *owner_of(const char *pid)
{
	g_autofree char *ours = file_of("self", "uid_map"), *theirs = file_of(pid, "uid_map"), *status = file_of(pid, "status");
	uint64_t uid = status ? proc_status_number(status, "Uid") : 0;

	if (ours && theirs && strcmp(ours, theirs) != 0)
		return g_strdup(NAMESPACES);
	return uid ? g_strdup_printf("user %" PRIu64, uid) : NULL;
}

static bool is_skipped(const struct entry *entry, int64_t now_us)
{
	return entry && now_us < entry->until_us;
}

bool opener_skipped_has(const struct opener_skipped *s, const char *subject, int64_t now_us)
{
	const char *pid = subject ? pid_of(subject) : NULL;

	if (is_skipped(known_subject(s, subject), now_us))
		return true;
	g_autofree char *owner = pid && s->has_owners ? owner_of(pid) : NULL;

	return is_skipped(known_subject(s, owner), now_us);
}

static struct entry *find_or_add(struct opener_skipped *s, const char *subject)
{
	struct entry *entry = known_subject(s, subject);
	const char *pid = pid_of(subject);

	if (entry)
		return entry;
	if (g_hash_table_size(s->subjects) >= SUBJECTS_MAX)
		g_hash_table_remove_all(s->subjects);	/* owners are recognised again at once */
	entry = g_new0(struct entry, 1);
	entry->pidfd = pid ? (int)syscall(SYS_pidfd_open, atoi(pid), 0) : -1;	/* closes on exec */
	g_hash_table_insert(s->subjects, g_strdup(subject), entry);
	return entry;
}

void opener_skipped_tell(struct opener_skipped *s, const char *subject, char *sentence)
{
	struct entry *entry = find_or_add(s, subject);

	if (entry->is_reported || g_queue_get_length(&s->news) >= NEWS_MAX) {
		g_free(sentence);
		return;
	}
	entry->is_reported = true;
	g_free(s->last);
	s->last = g_strdup(sentence);
	g_queue_push_tail(&s->news, sentence);
}

/* For people: "process 12 (nginx)". */
static char *name_of(const char *subject)
{
	const char *pid = pid_of(subject);
	g_autofree char *path = pid ? g_strdup_printf("/proc/%s/comm", pid) : NULL, *comm = NULL;

	if (!pid)
		return g_strdup(strchr(subject, ' ') ? strchr(subject, ' ') + 1 : subject);
	if (!g_file_get_contents(path, &comm, NULL, NULL))
		return g_strdup_printf("process %s", pid);
	g_strdelimit(g_strchomp(comm), "\n\r\t\033", '?');
	return g_strdup_printf("process %s (%s)", pid, comm);
}

static void pause_entry(struct entry *entry, int64_t now_us)
{
	entry->pause_us = entry->pause_us ? MIN(2 * entry->pause_us, PAUSE_MAX_US) : PAUSE_US;
	entry->until_us = now_us + entry->pause_us;
}

static void add_owner(struct opener_skipped *s, const char *subject, int64_t now_us)
{
	g_autofree char *owner = pid_of(subject) ? owner_of(pid_of(subject)) : NULL;
	struct entry *entry = owner ? find_or_add(s, owner) : NULL;

	if (!entry || ++entry->cnt < OF_OWNER_MAX)
		return;
	s->has_owners = true;
	pause_entry(entry, now_us);
	opener_skipped_tell(s, owner,
			    g_strdup_printf("processes of %s did not answer %u times, and all of them are skipped for now: "
					    "names will be missing", owner, entry->cnt));
}

void opener_skipped_add(struct opener_skipped *s, const char *subject, int64_t waited_us, int64_t now_us)
{
	struct entry *entry = find_or_add(s, subject);
	g_autofree char *name = name_of(subject);

	pause_entry(entry, now_us);
	opener_skipped_tell(s, subject,
			    g_strdup_printf("%s: %s did not answer within %.1f s, and %s skipped for now", name,
					    pid_of(subject) ? "its memory, or a file of its," : "that file",
					    (double)waited_us / G_USEC_PER_SEC, pid_of(subject) ? "they are" : "is"));
	add_owner(s, subject, now_us);
}

char *opener_skipped_news(struct opener_skipped *s)
{
	return g_queue_pop_head(&s->news);
}

char *opener_skipped_last_news(const struct opener_skipped *s)
{
	return g_strdup(s->last);
}

/* ---- subjects */

/* A process's files count as the process; other files as their path. */
char *opener_subject_of_path(const char *path)
{
	size_t digits = g_str_has_prefix(path, "/proc/") ? strspn(path + 6, "0123456789") : 0;

	return digits ? g_strdup_printf(OF_PID "%.*s", (int)digits, path + 6) : g_strdup_printf("path %s", path);
}

char *opener_subject_of_fd(int fd)
{
	g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd), *path = g_file_read_link(link, NULL);
	struct stat st = { 0 };

	opener_stat_here(fd, "", &st);
	return g_strdup_printf("file %s (device %u:%u, inode %" PRIu64 ")", path ? path : "?", major(st.st_dev),
			       minor(st.st_dev), (uint64_t)st.st_ino);
}
