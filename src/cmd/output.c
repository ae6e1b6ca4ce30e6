/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/opener/wire.h"

struct output {
	char *path;		/* NULL: stdout */
	char *beside;		/* temporary file; NULL: written in place */
	bool is_nameless;	/* unlinked until complete: nothing is left if we are killed */
	int fd;
	bool replaces;		/* the file exists */
};

static bool cannot_write(const char *path, int err, GError **error)
{
	return refuse(error, G_FILE_ERROR, (int)g_file_error_from_errno(err), "cannot write '%s': %s", path,
		      g_strerror(err));
}

/* Written in place.  The kernel refuses links of other users in world-writable folders (fs.protected_symlinks). */
static int open_into(const char *path)
{
	return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_CLOEXEC, 0644);
}

/* Not supported by all file systems. */
static int open_nameless(const char *path, mode_t mode)
{
	g_autofree char *dir = g_path_get_dirname(path);

	return open(dir, O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
}

/* Links it under a temporary name, from which it is renamed over the existing file. */
static bool give_name(struct output *o)
{
	g_autofree char *self = g_strdup_printf("/proc/self/fd/%d", o->fd);
	int fd = g_mkstemp_full(o->beside, O_RDONLY | O_CLOEXEC, 0600);	/* reserves a free name */

	if (fd < 0)
		return false;
	close(fd);
	o->is_nameless = g_unlink(o->beside) || linkat(AT_FDCWD, self, AT_FDCWD, o->beside, AT_SYMLINK_FOLLOW);
	return !o->is_nameless;
}

struct output *output_begin(const char *path, GError **error)
{
	struct output *o = g_new0(struct output, 1);
	struct stat st;

	o->fd = -1;
	if (!path || strcmp(path, "-") == 0)
		return o;
	o->path = g_strdup(path);
	o->replaces = lstat(path, &st) == 0;
	if (o->replaces && !S_ISREG(st.st_mode)) {
		o->fd = open_into(path);
	} else {
		o->beside = g_strconcat(path, ".XXXXXX", NULL);
		mode_t mode = o->replaces ? st.st_mode & 0777 : 0644;

		o->fd = open_nameless(path, mode);
		o->is_nameless = o->fd >= 0;
		if (!o->is_nameless)
			o->fd = g_mkstemp_full(o->beside, O_WRONLY | O_CLOEXEC, (int)mode);
	}
	if (o->fd >= 0)
		return o;
	cannot_write(path, errno, error);
	g_clear_pointer(&o->beside, g_free);
	output_drop(o);
	return NULL;
}

static bool put_stdout(const void *bytes, gsize len, GError **error)
{
	if (fwrite(bytes, 1, len, stdout) == len && fflush(stdout) == 0)
		return true;
	g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno), "standard output: %s", g_strerror(errno));
	/* already reported; main() would report it again */
	__fpurge(stdout);
	clearerr(stdout);
	return false;
}

bool output_put(struct output *o, const void *bytes, gsize len, GError **error)
{
	if (!o->path)
		return put_stdout(bytes, len, error);
	return file_write_all(o->fd, bytes, len) || cannot_write(o->path, errno, error);
}

bool output_end(struct output *o, GError **error)
{
	bool is_well = true;

	/* After a crash there must be either the old file or the new one, not an empty one. */
	if (o->beside && o->replaces && fsync(o->fd))
		is_well = cannot_write(o->path, errno, error);
	if (o->is_nameless && is_well && !give_name(o))
		is_well = cannot_write(o->path, errno, error);
	if (o->fd >= 0 && close(o->fd) && is_well)
		is_well = cannot_write(o->path, errno, error);
	o->fd = -1;
	if (o->beside && is_well && rename(o->beside, o->path))
		is_well = cannot_write(o->path, errno, error);
	if (is_well)
		g_clear_pointer(&o->beside, g_free);
	output_drop(o);
	return is_well;
}

void output_drop(struct output *o)
{
	if (!o)
		return;
	if (o->fd >= 0)
		close(o->fd);
	if (o->beside && !o->is_nameless)
		g_unlink(o->beside);
	g_free(o->beside);
	g_free(o->path);
	g_free(o);
}
