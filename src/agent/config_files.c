/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "agent/config.h"

#define FILE_MAX_BYTES (1 << 20)
#define FILES_MAX 256

static bool fail(GError **error, const char *path, const char *why)
{
	g_set_error(error, AGENT_CONFIG_ERROR, 0, "%s: %s", path, why);
	return false;
}

/* The contents of a file up to the maximal size; an endless pipe is an error. */
static char *read_limited(int fd, gsize *ret_len)
{
	char *text = g_malloc(FILE_MAX_BYTES + 1);
	gsize len = 0;
	ssize_t n;

	while (len <= FILE_MAX_BYTES && (n = read(fd, text + len, FILE_MAX_BYTES + 1 - len)) > 0)
		len += (gsize)n;
	*ret_len = len;
	return text;
}

/* /dev/null selects the defaults. */
static bool is_file(const struct stat *st)
{
	return S_ISREG(st->st_mode) || (S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3));
}

/* Hash over this text and all earlier ones. */
static void add_to_hash(struct agent_config *c, const char *text, gsize len)
{
	GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);

	g_checksum_update(sum, (const guchar *)c->hash, (gssize)strlen(c->hash));
	g_checksum_update(sum, (const guchar *)text, (gssize)len);
	g_strlcpy(c->hash, g_checksum_get_string(sum), sizeof(c->hash));
	g_checksum_free(sum);
}

static bool take_file(struct agent_config *c, const char *path, bool may_lack, GError **error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is_well = false;
	struct stat st;

	if (fd < 0)
		return (errno == ENOENT && may_lack) || fail(error, path, g_strerror(errno));
	if (fstat(fd, &st) || !is_file(&st)) {
		fail(error, path, "it is not a file");
	} else {
		gsize len;
		g_autofree char *text = read_limited(fd, &len);

		is_well = len > FILE_MAX_BYTES ? fail(error, path, "it is larger than 1 MiB")
					       : agent_config_take(c, text, len, path, error);
		if (is_well)
			add_to_hash(c, text, len);
	}
	close(fd);
	return is_well;
}

static int by_name(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Files that end in ".conf": backups of editors and package managers do not. */
static GPtrArray *drop_ins(const char *folder, GError **error)
{
	GPtrArray *paths = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GError) why = NULL;
	GDir *dir = g_dir_open(folder, 0, &why);
	const char *name;

	while (dir && paths->len <= FILES_MAX && (name = g_dir_read_name(dir)))
		if (g_str_has_suffix(name, ".conf") && name[0] != '.')
			g_ptr_array_add(paths, g_build_filename(folder, name, NULL));
	g_clear_pointer(&dir, g_dir_close);
	bool is_well = true;

	if (why && !g_error_matches(why, G_FILE_ERROR, G_FILE_ERROR_NOENT) &&
	    !g_error_matches(why, G_FILE_ERROR, G_FILE_ERROR_NOTDIR))
		is_well = fail(error, folder, why->message);
	if (paths->len > FILES_MAX)
		is_well = fail(error, folder, "it has more than " G_STRINGIFY(FILES_MAX) " files");
	if (!is_well)
		g_clear_pointer(&paths, g_ptr_array_unref);
	else
		g_ptr_array_sort(paths, by_name);
	return paths;
}

struct agent_config *agent_config_read(const char *path, bool may_lack, GError **error)
{
	g_autofree char *folder = g_strconcat(path, ".d", NULL);
	struct agent_config *c = agent_config_new();
	bool is_well = take_file(c, path, may_lack, error);
	g_autoptr(GPtrArray) paths = is_well ? drop_ins(folder, error) : NULL;

	is_well = paths != NULL;
	for (guint i = 0; is_well && i < paths->len; i++)
		is_well = take_file(c, g_ptr_array_index(paths, i), false, error);
	if (is_well)
		return c;
	agent_config_free(c);
	return NULL;
}
