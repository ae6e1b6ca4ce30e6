/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "push/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/each.h"
#include "base/opener/wire.h"
#include "base/refuse.h"
#include "push/http.h"

#define SUFFIX ".push"
#define SENDING ".sending"	/* appended to SUFFIX while the file is being sent */
#define LOCK "lock"

/* START-KEY-PART: 20 decimal, 16 and 8 hexadecimal digits, so that names sort like windows. */
#define NAME_CHARS (20 + 1 + 16 + 1 + 8)

struct file {
	char *name;	/* without SENDING */
	uint64_t bytes;
	gint64 made_s;
	bool is_sending;	/* must not be dropped now: it may arrive, and would be counted as both */
};

struct spool {
	char *dir;
	uint64_t max_bytes, max_age_s, bytes;
	GPtrArray *files;	/* struct file, by name */
	struct spool_drops drops;
	int lock;
};

static bool fail_errno(GError **error, int err, const char *what, const char *path)
{
	return refuse(error, PUSH_ERROR, PUSH_ERROR_FAILED, "cannot %s '%s': %s", what, path, g_strerror(err));
}

FREES_DATA(file_free, struct file, f, g_free(f->name))

static char *path_of(const struct spool *s, const char *name)
{
	return g_build_filename(s->dir, name, NULL);
}

/* The index of that name, or where to insert it. */
static guint find_file(const struct spool *s, const char *name, bool *ret_is_there)
{
	guint from = 0, to = s->files->len;

	*ret_is_there = false;
	while (from < to) {
		guint at = from + (to - from) / 2;
		int order = strcmp(((const struct file *)g_ptr_array_index(s->files, at))->name, name);

		if (order == 0) {
			*ret_is_there = true;
			return at;
		}
		if (order < 0)
			from = at + 1;
		else
			to = at;
	}
	return from;
}

static void add_file(struct spool *s, const char *name, uint64_t bytes, gint64 made_s)
{
	bool is_there;
	guint at = find_file(s, name, &is_there);
	struct file *f = is_there ? g_ptr_array_index(s->files, at) : g_new0(struct file, 1);

	if (is_there) {
		s->bytes -= f->bytes;
	} else {
		f->name = g_strdup(name);
		g_ptr_array_insert(s->files, (gint)at, f);
	}
	f->bytes = bytes;
	f->made_s = made_s;
	s->bytes += bytes;
}

static void remove_file(struct spool *s, guint at)
{
	const struct file *f = g_ptr_array_index(s->files, at);
	g_autofree char *path = path_of(s, f->name);
	g_autofree char *sending = g_strconcat(path, SENDING, NULL);

	unlink(path);
	unlink(sending);
	s->bytes -= f->bytes;
	g_ptr_array_remove_index(s->files, at);
}

static bool is_unit_name(const char *name)
{
	if (strlen(name) != NAME_CHARS + strlen(SUFFIX) || !g_str_has_suffix(name, SUFFIX))
		return false;
	for (int i = 0; i < NAME_CHARS; i++)
		if (i == 20 || i == 37 ? name[i] != '-' : !g_ascii_isxdigit(name[i]))
			return false;
	return true;
}

/* Takes over a file that an earlier process left. */
static void adopt_file(struct spool *s, const char *entry, bool may_repeat)
{
	g_autofree char *path = path_of(s, entry);
	bool is_sending = g_str_has_suffix(entry, SUFFIX SENDING);
	g_autofree char *name = g_strndup(entry, strlen(entry) - (is_sending ? strlen(SENDING) : 0));
	g_autofree char *usual = path_of(s, name);
	struct stat st;

	if (g_str_has_prefix(entry, ".new-")) {
		unlink(path);	/* incomplete, so nobody was told that it was kept */
		return;
	}
	if (!is_unit_name(name) || lstat(path, &st) || !S_ISREG(st.st_mode))
		return;
	if (is_sending && !may_repeat) {
		unlink(path);
		s->drops.unsure++;
		return;
	}
	if (is_sending && rename(path, usual))
		return;
	add_file(s, name, (uint64_t)st.st_size, st.st_mtim.tv_sec);
}

static bool take_lock(struct spool *s, GError **error)
{
	g_autofree char *path = path_of(s, LOCK);

	s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock < 0)
		return fail_errno(error, errno, "open", path);
	if (flock(s->lock, LOCK_EX | LOCK_NB) == 0)
		return true;
	if (errno != EWOULDBLOCK)
		return fail_errno(error, errno, "lock", path);
	return refuse(error, PUSH_ERROR, PUSH_ERROR_FAILED, "another process uses the spool '%s'", s->dir);
}

struct spool *spool_open(const struct spool_options *o, GError **error)
{
	g_autoptr(GDir) dir = NULL;
	g_autoptr(GError) cause = NULL;
	struct spool *s = g_new0(struct spool, 1);
	const char *entry;

	s->dir = g_strdup(o->dir);
	s->max_bytes = o->max_bytes ? o->max_bytes : SPOOL_BYTES;
	s->max_age_s = o->max_age_s ? o->max_age_s : SPOOL_AGE_S;
	s->files = g_ptr_array_new_with_free_func(file_free);
	s->lock = -1;
	if (g_mkdir_with_parents(s->dir, 0700))
		fail_errno(error, errno, "make", s->dir);
	else if (take_lock(s, error) && !(dir = g_dir_open(s->dir, 0, &cause)))
		g_set_error(error, PUSH_ERROR, PUSH_ERROR_FAILED, "cannot read '%s': %s", s->dir, cause->message);
	if (!dir) {
		spool_close(s);
		return NULL;
	}
	while ((entry = g_dir_read_name(dir)))
		adopt_file(s, entry, o->may_repeat);
	spool_bound(s);
	return s;
}

FREES(spool_close, struct spool, s, if (s->lock >= 0) close(s->lock); g_ptr_array_unref(s->files); g_free(s->dir))

void spool_bound(struct spool *s)
{
	gint64 now_s = g_get_real_time() / G_USEC_PER_SEC;

	for (guint i = 0; i < s->files->len;) {
		const struct file *f = g_ptr_array_index(s->files, i);

		if (!f->is_sending && now_s - f->made_s > (gint64)s->max_age_s) {
			s->drops.old++;
			remove_file(s, i);
		} else {
			i++;
		}
	}
	for (guint at = 0; at < s->files->len && (s->bytes > s->max_bytes || s->files->len > SPOOL_FILES_MAX);) {
		const struct file *f = g_ptr_array_index(s->files, at);

		if (f->is_sending) {
			at++;
			continue;
		}
		s->drops.large++;
		remove_file(s, at);
	}
}

/* Atomic, even after a crash. */
static bool write_file(const struct spool *s, const char *name, GBytes *bytes, GError **error)
{
	g_autofree char *path = path_of(s, name), *new_name = g_strconcat(".new-", name, NULL),
			*new_path = path_of(s, new_name);
	gsize len_bytes;
	const void *data = g_bytes_get_data(bytes, &len_bytes);
	int fd = open(new_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600), err;

	if (fd < 0)
		return fail_errno(error, errno, "write", new_path);
	err = file_write_all(fd, data, len_bytes) && fdatasync(fd) == 0 ? 0 : errno;
	if (close(fd) && !err)
		err = errno;
	if (!err && rename(new_path, path))
		err = errno;
	if (!err)
		return true;
	unlink(new_path);
	return fail_errno(error, err, "write", path);
}

bool spool_add(struct spool *s, const struct push_unit *u, GError **error)
{
	g_autofree char *name = g_strdup_printf("%020" G_GUINT64_FORMAT "-%016" G_GINT64_MODIFIER "x-%08x" SUFFIX,
						(guint64)u->start_unix_ns, (guint64)u->key, u->part);
	g_autoptr(GBytes) bytes = unit_write(u);

	if (g_bytes_get_size(bytes) > MIN(s->max_bytes, UNIT_MAX_BYTES))
		return refuse(error, PUSH_ERROR, PUSH_ERROR_FAILED,
			      "a window of %" G_GSIZE_FORMAT " KiB is above the bound of the spool '%s'",
			      g_bytes_get_size(bytes) >> 10, s->dir);
	if (!write_file(s, name, bytes, error))
		return false;
	add_file(s, name, g_bytes_get_size(bytes), g_get_real_time() / G_USEC_PER_SEC);
	spool_bound(s);
	return true;
}

static struct push_unit *read_unit(struct spool *s, const char *name)
{
	g_autofree char *path = path_of(s, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	struct push_unit *u = NULL;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && (uint64_t)st.st_size <= UNIT_MAX_BYTES) {
		g_autofree char *bytes = g_try_malloc((gsize)st.st_size);
		gsize done = 0;

		while (bytes && done < (gsize)st.st_size) {
			ssize_t n = read(fd, bytes + done, (gsize)st.st_size - done);

			if (n <= 0)
				break;
			done += (gsize)n;
		}
		if (bytes && done == (gsize)st.st_size)
			u = unit_read(bytes, done, NULL);
	}
	close(fd);
	return u;
}

struct push_unit *spool_next(struct spool *s, const char *after, char **ret_name)
{
	bool is_there = false;
	guint at = after ? find_file(s, after, &is_there) + is_there : 0;

	while (s->files->len) {
		at = at < s->files->len ? at : 0;
		const struct file *f = g_ptr_array_index(s->files, at);
		struct push_unit *u = read_unit(s, f->name);

		if (u) {
			*ret_name = g_strdup(f->name);
			return u;
		}
		s->drops.damaged++;
		remove_file(s, at);
	}
	return NULL;
}

static bool rename_file(struct spool *s, const char *name, bool is_sending, GError **error)
{
	g_autofree char *path = path_of(s, name), *sending = g_strconcat(path, SENDING, NULL);

	if (rename(is_sending ? path : sending, is_sending ? sending : path) == 0) {
		bool is_there;
		guint at = find_file(s, name, &is_there);

		if (is_there)
			((struct file *)g_ptr_array_index(s->files, at))->is_sending = is_sending;
		return true;
	}
	return fail_errno(error, errno, "rename", path);
}

bool spool_begin(struct spool *s, const char *name, GError **error)
{
	return rename_file(s, name, true, error);
}

void spool_keep(struct spool *s, const char *name)
{
	rename_file(s, name, false, NULL);
}

void spool_remove(struct spool *s, const char *name)
{
	bool is_there;
	guint at = find_file(s, name, &is_there);

	if (is_there)
		remove_file(s, at);
}

guint spool_cnt(const struct spool *s)
{
	return s->files->len;
}

uint64_t spool_bytes(const struct spool *s)
{
	return s->bytes;
}

struct spool_drops spool_drops(const struct spool *s)
{
	return s->drops;
}
