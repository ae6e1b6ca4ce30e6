/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "mcp/call.h"
#include "base/each.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <unistd.h>

#define TEMPLATE "offcpu-mcp-XXXXXX"

struct recordings {
	char *folder;	/* NULL: not yet created */
	GQueue paths;	/* char *, oldest first */
	unsigned made;
};

struct recordings *recordings_new(void)
{
	struct recordings *r = g_new0(struct recordings, 1);

	g_queue_init(&r->paths);
	return r;
}

static void delete_oldest(struct recordings *r)
{
	g_autofree char *path = g_queue_pop_head(&r->paths);

	g_unlink(path);
}

/* Also deletes partial files that a killed recorder left. */
static void delete_folder(const char *folder)
{
	GDir *dir = g_dir_open(folder, 0, NULL);

	for (const char *name; dir && (name = g_dir_read_name(dir));) {
		g_autofree char *path = g_build_filename(folder, name, NULL);

		g_unlink(path);
	}
	if (dir)
		g_dir_close(dir);
	g_rmdir(folder);
}

FREES(recordings_free, struct recordings, r, if (r->folder) delete_folder(r->folder);
      g_queue_clear_full(&r->paths, g_free); g_free(r->folder))

static char *make_folder(GError **error)
{
	const char *runtime = g_getenv("XDG_RUNTIME_DIR");
	const bool is_there = runtime && g_path_is_absolute(runtime) && access(runtime, W_OK | X_OK) == 0;
	g_autofree char *folder = g_build_filename(is_there ? runtime : "/tmp", TEMPLATE, NULL);

	if (g_mkdtemp_full(folder, 0700))
		return g_steal_pointer(&folder);
	g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno), "a folder for recordings in %s: %s",
		    is_there ? runtime : "/tmp", g_strerror(errno));
	return NULL;
}

char *recordings_next(struct recordings *r, GError **error)
{
	if (!r->folder)
		r->folder = make_folder(error);
	return r->folder ? g_strdup_printf("%s/%u.offcpu", r->folder, ++r->made) : NULL;
}

void recordings_add(struct recordings *r, const char *path)
{
	g_queue_push_tail(&r->paths, g_strdup(path));
	if (r->paths.length > RECORDINGS_MAX)
		delete_oldest(r);
}

const char *recordings_last(const struct recordings *r)
{
	return r->paths.tail ? r->paths.tail->data : NULL;
}
