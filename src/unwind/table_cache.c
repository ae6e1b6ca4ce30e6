/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/find.h"
#include "base/hash.h"
#include "base/order.h"
#include "base/version.h"
#include "unwind/table.h"

#define OF_ROOT "/var/cache/offcpu"
#define ENTRY_SUFFIX ".table"
#define ENTRY_BYTES_MAX (64U << 20)

struct table_cache {
	int folder_fd;
	uint64_t ns_min;
	char key[16];	/* of this program: another version may compile a file differently */
};

/* Precedes the bytes of table_bytes.c. A power failure may leave an entry incomplete. */
struct entry_head {
	char key[16];
	uint64_t len_bytes, sum;
};

static uint64_t sum_of(const uint8_t *bytes, size_t len)
{
	uint64_t sum = len, word;
	size_t i = 0;

	for (; i + sizeof(word) <= len; i += sizeof(word)) {
		memcpy(&word, bytes + i, sizeof(word));
		sum = hash_more(sum, word);
	}
	for (; i < len; i++)
		sum = hash_more(sum, bytes[i]);
	return hash_more(sum, 1);
}

struct table_cache *table_cache_open_in(const char *folder, uint64_t ns_min)
{
	struct table_cache *c;
	struct stat st;
	int fd;

	if (g_mkdir_with_parents(folder, 0700))
		return NULL;
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) || st.st_uid != geteuid() || st.st_mode & (S_IRWXG | S_IRWXO)) {
		close(fd);
		return NULL;
	}
	c = g_new0(struct table_cache, 1);
	c->folder_fd = fd;
	c->ns_min = ns_min;
	snprintf(c->key, sizeof(c->key), "%015" PRIx64, sum_of((const uint8_t *)version_text(), strlen(version_text())) >> 4);
	return c;
}

struct table_cache *table_cache_open(void)
{
	const char *wish = g_getenv("OFFCPU_CACHE");
	g_autofree char *own = geteuid() ? g_build_filename(g_get_user_cache_dir(), "offcpu", NULL) : NULL;

	return g_strcmp0(wish, "off") == 0 ? NULL : table_cache_open_in(own ? own : OF_ROOT, TABLE_CACHE_NS_MIN);
}

FREES(table_cache_close, struct table_cache, c, close(c->folder_fd))

static bool name_of(int fd, char name[128])
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return false;
	snprintf(name, 128, "%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%" PRIx64 ".%" PRIx64 ENTRY_SUFFIX, (uint64_t)st.st_dev,
		 (uint64_t)st.st_ino, (uint64_t)st.st_size, (uint64_t)st.st_ctim.tv_sec, (uint64_t)st.st_ctim.tv_nsec);
	return true;
}

static bool read_all(int fd, void *into, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = read(fd, (char *)into + done, bytes - done);

		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

static struct unwind_table *take_entry(const struct table_cache *c, int fd)
{
	g_autofree uint8_t *bytes = NULL;
	struct entry_head head;

	if (!read_all(fd, &head, sizeof(head)) || memcmp(head.key, c->key, sizeof(head.key)) != 0 ||
	    head.len_bytes > ENTRY_BYTES_MAX)
		return NULL;
	bytes = g_malloc(head.len_bytes);
	if (!read_all(fd, bytes, head.len_bytes) || sum_of(bytes, head.len_bytes) != head.sum)
		return NULL;
	return unwind_table_from_bytes(bytes, head.len_bytes);
}

static struct unwind_table *find_entry(const struct table_cache *c, const char *name)
{
	int fd = openat(c->folder_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct unwind_table *t = fd < 0 ? NULL : take_entry(c, fd);

	if (t)
		futimens(fd, NULL);	/* marks it as used */
	if (fd >= 0)
		close(fd);
	return t;
}

struct entry {
	char *name;
	uint64_t bytes;
	struct timespec used;
};

static void entry_clear(void *data)
{
	g_free(((struct entry *)data)->name);
}

ORDER(compare_used, struct entry, ORDER_LOW(used.tv_sec) ORDER_LOW(used.tv_nsec))

/* All files in the folder, including incomplete entries of killed recorders. */
static GArray *entries_new(const struct table_cache *c, uint64_t *ret_bytes)
{
	GArray *entries = g_array_new(FALSE, FALSE, sizeof(struct entry));
	int fd = openat(c->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *d;
	struct stat st;

	*ret_bytes = 0;
	g_array_set_clear_func(entries, entry_clear);
	while (dir && (d = readdir(dir))) {
		if (!strstr(d->d_name, ENTRY_SUFFIX) || fstatat(c->folder_fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		struct entry e = { g_strdup(d->d_name), (uint64_t)st.st_size, st.st_mtim };

		*ret_bytes += e.bytes;
		g_array_append_val(entries, e);
	}
	if (dir)
		closedir(dir);
	g_array_sort(entries, compare_used);
	return entries;
}

static void make_room(const struct table_cache *c, uint64_t bytes)
{
	uint64_t all;
	g_autoptr(GArray) entries = entries_new(c, &all);

	EACH_ROW_WHILE(i, const struct entry, e, entries, all + bytes > TABLE_CACHE_BYTES_MAX) {
		unlinkat(c->folder_fd, e->name, 0);
		all -= e->bytes;
	}
}

static void write_entry(const struct table_cache *c, const char *name, const struct unwind_table *t)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	g_autofree char *half = g_strdup_printf("%s.%d-%d", name, getpid(), gettid());
	struct entry_head head = { 0 };
	int fd;

	g_byte_array_append(bytes, (const guint8 *)&head, sizeof(head));
	unwind_table_write(t, bytes);
	memcpy(head.key, c->key, sizeof(head.key));
	head.len_bytes = bytes->len - sizeof(head);
	head.sum = sum_of(bytes->data + sizeof(head), head.len_bytes);
	memcpy(bytes->data, &head, sizeof(head));
	if (head.len_bytes > ENTRY_BYTES_MAX)
		return;
	make_room(c, bytes->len);
	fd = openat(c->folder_fd, half, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	bool is_whole = write(fd, bytes->data, bytes->len) == (ssize_t)bytes->len;

	if (close(fd) || !is_whole || renameat(c->folder_fd, half, c->folder_fd, name))
		unlinkat(c->folder_fd, half, 0);
}

struct unwind_table *table_cache_build(struct table_cache *c, int fd, GError **error)
{
	char name[128];
	bool has_name = c && name_of(fd, name);
	struct unwind_table *t = has_name ? find_entry(c, name) : NULL;

	if (t)
		return t;
	uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC);
	t = unwind_table_build(fd, error);
	if (t && has_name && clock_ns(CLOCK_MONOTONIC) - begun_ns >= c->ns_min)
		write_entry(c, name, t);
	return t;
}
