/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/elf/debuginfod.h"

#include <glib.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/late_library.h"
#include "base/quiet_thread.h"

#define ASKED_MAX 4096
#define FILE_MAX_US (120 * G_USEC_PER_SEC)	/* for a file, over all servers */

/* The parts of the library's interface that are used, so that its header is not needed to build. */
struct debuginfod_client;
typedef int debuginfod_progress_fn(struct debuginfod_client *client, long done, long size);
typedef void *debuginfod_get_user_data_fn(struct debuginfod_client *client);

struct library {
	struct debuginfod_client *(*begin)(void);
	void (*end)(struct debuginfod_client *client);
	int (*find_debuginfo)(struct debuginfod_client *client, const unsigned char *build_id, int bytes,
			      char **ret_path);
	void (*set_progressfn)(struct debuginfod_client *client, debuginfod_progress_fn *fn);
	void (*set_user_data)(struct debuginfod_client *client, void *data);
};

struct debuginfod {
	struct library library;
	GHashTable *asked;	/* GBytes */
	GAsyncQueue *questions;	/* GBytes; an empty one ends the thread */
	GAsyncQueue *answers;	/* struct elf_table */
	GThread *thread;
	gint is_ending;
	gint keeps_files;
	gint64 deadline_us;	/* used by the thread */
};

/* The library regularly asks whether to continue, and passes only the client. */
static debuginfod_get_user_data_fn *get_user_data;

static bool library_open(struct library *l)
{
	static const char *const names[] = { "libdebuginfod.so.1", NULL };
	const struct late_function functions[] = {
		{ "debuginfod_begin", &l->begin },
		{ "debuginfod_end", &l->end },
		{ "debuginfod_find_debuginfo", &l->find_debuginfo },
		{ "debuginfod_set_progressfn", &l->set_progressfn },
		{ "debuginfod_set_user_data", &l->set_user_data },
		{ "debuginfod_get_user_data", &get_user_data },
	};
	g_autofree char *lack = late_library(names, functions, G_N_ELEMENTS(functions));

	return !lack;
}

static int progress(struct debuginfod_client *client, long done, long size)
{
	const struct debuginfod *d = get_user_data(client);

	return g_atomic_int_get(&d->is_ending) || g_get_monotonic_time() > d->deadline_us;
}

static void fetch(struct debuginfod *d, struct debuginfod_client *client, GBytes *question)
{
	struct elf_table *t;
	gsize bytes;
	const unsigned char *build_id = g_bytes_get_data(question, &bytes);
	int fd;

	d->deadline_us = g_get_monotonic_time() + FILE_MAX_US;
	fd = d->library.find_debuginfo(client, build_id, (int)bytes, NULL);
	if (fd < 0)
		return;
	t = elf_table_read(fd, NULL);
	if (t && t->has_debug_info && g_atomic_int_get(&d->keeps_files))
		t->debug_fd = fd;
	else
		close(fd);
	if (t && (t->has_full_symbols || t->debug_fd >= 0))
		g_async_queue_push(d->answers, t);
	else
		elf_table_free(t);
}

static gpointer work(gpointer data)
{
	struct debuginfod *d = data;
	struct debuginfod_client *client;

	spare_stack_use();
	client = d->library.begin();

	if (client) {
		d->library.set_user_data(client, d);
		d->library.set_progressfn(client, progress);
	}
	for (;;) {
		g_autoptr(GBytes) question = g_async_queue_pop(d->questions);

		if (g_atomic_int_get(&d->is_ending))
			break;
		if (client)
			fetch(d, client, question);
	}
	if (client)
		d->library.end(client);
	return NULL;
}

struct debuginfod *debuginfod_new(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct library library = { 0 };
	struct debuginfod *d;

	if (!urls || !*urls || !library_open(&library))
		return NULL;
	d = g_new0(struct debuginfod, 1);
	d->library = library;
	d->asked = g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, NULL);
	d->questions = g_async_queue_new_full((GDestroyNotify)g_bytes_unref);
	d->answers = g_async_queue_new_full((GDestroyNotify)elf_table_free);
	d->thread = quiet_thread_new("debuginfod", work, d, NULL);
	if (!d->thread)
		g_clear_pointer(&d, debuginfod_free);
	return d;
}

void debuginfod_free(struct debuginfod *d)
{
	if (!d)
		return;
	g_atomic_int_set(&d->is_ending, 1);
	g_async_queue_push(d->questions, g_bytes_new(NULL, 0));
	if (d->thread)
		g_thread_join(d->thread);
	g_async_queue_unref(d->questions);
	g_async_queue_unref(d->answers);
	g_hash_table_unref(d->asked);
	g_free(d);
}

void debuginfod_keep_files(struct debuginfod *d)
{
	g_atomic_int_set(&d->keeps_files, 1);
}

void debuginfod_ask(struct debuginfod *d, const uint8_t *build_id, size_t bytes)
{
	g_autoptr(GBytes) question = g_bytes_new(build_id, bytes);

	if (bytes && g_hash_table_size(d->asked) < ASKED_MAX && g_hash_table_add(d->asked, g_bytes_ref(question)))
		g_async_queue_push(d->questions, g_bytes_ref(question));
}

struct elf_table *debuginfod_take(struct debuginfod *d)
{
	return g_async_queue_try_pop(d->answers);
}
