/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/opener_skipped.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/file_text.h"
#include "base/opener_wire.h"

#define SUBJECTS_MAX 1024
#define NEWS_MAX 64
#define PAUSE_US (INT64_C(60) * G_USEC_PER_SEC)
#define PAUSE_MAX_US (60 * PAUSE_US)
#define OF_PID "pid "

/* A process's number may be another one's by now, so its start counts, too. */
struct one {
	uint64_t start;
	int64_t until_us, pause_us;
	bool is_told;
};

struct opener_skipped {
	GHashTable *subjects;	/* char * -> struct one */
	GQueue news;		/* char * */
	char *last;
};

struct opener_skipped *opener_skipped_new(void)
{
	struct opener_skipped *s = g_new0(struct opener_skipped, 1);

	s->subjects = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_queue_init(&s->news);
	return s;
}

void opener_skipped_free(struct opener_skipped *s)
{
	if (!s)
		return;
	g_hash_table_unref(s->subjects);
	g_queue_clear_full(&s->news, g_free);
	g_free(s->last);
	g_free(s);
}

static const char *pid_of(const char *subject)
{
	return g_str_has_prefix(subject, OF_PID) ? subject + strlen(OF_PID) : NULL;
}

/* Ticks since boot, field 22; 0: it is gone, or no process. */
static uint64_t start_of(const char *subject)
{
	g_autofree char *path = pid_of(subject) ? g_strdup_printf("/proc/%s/stat", pid_of(subject)) : NULL, *text = NULL;
	const char *at = path && g_file_get_contents(path, &text, NULL, NULL) ? strrchr(text, ')') : NULL;

	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? g_ascii_strtoull(at, NULL, 10) : 0;
}

/* The same process, if it is one. */
static bool is_same(const struct one *one, const char *subject)
{
	return !pid_of(subject) || one->start == start_of(subject);
}

bool opener_skipped_has(const struct opener_skipped *s, const char *subject, int64_t now_us)
{
	const struct one *one = subject ? g_hash_table_lookup(s->subjects, subject) : NULL;

	return one && now_us < one->until_us && is_same(one, subject);
}

static struct one *find(struct opener_skipped *s, const char *subject)
{
	struct one *one = g_hash_table_lookup(s->subjects, subject);

	if (one && is_same(one, subject))
		return one;
	if (g_hash_table_size(s->subjects) >= SUBJECTS_MAX)
		g_hash_table_remove_all(s->subjects);
	one = g_new0(struct one, 1);
	one->start = start_of(subject);
	g_hash_table_insert(s->subjects, g_strdup(subject), one);
	return one;
}

void opener_skipped_tell(struct opener_skipped *s, const char *subject, char *sentence)
{
	struct one *one = find(s, subject);

	if (one->is_told || g_queue_get_length(&s->news) >= NEWS_MAX) {
		g_free(sentence);
		return;
	}
	one->is_told = true;
	g_free(s->last);
	s->last = g_strdup(sentence);
	g_queue_push_tail(&s->news, sentence);
}

/* "process 12 (nginx)" */
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

void opener_skipped_add(struct opener_skipped *s, const char *subject, int64_t waited_us, int64_t now_us)
{
	struct one *one = find(s, subject);
	g_autofree char *name = name_of(subject);

	one->pause_us = one->pause_us ? MIN(2 * one->pause_us, PAUSE_MAX_US) : PAUSE_US;
	one->until_us = now_us + one->pause_us;
	opener_skipped_tell(s, subject,
			    g_strdup_printf("%s: %s did not answer within %.1f s, and %s skipped for now", name,
					    pid_of(subject) ? "its memory, or a file of its," : "that file",
					    (double)waited_us / G_USEC_PER_SEC, pid_of(subject) ? "they are" : "is"));
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

/* What a process has, by the process; other files by their path. */
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
