/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/limits/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/opener/opener.h"

#define PREFIX "/dev/shm/sem."

/* The semaphore, if it was waited for during the whole window. */
static const char *semaphore_of(const struct profile *p, const struct wait *w)
{
	const struct object *o = profile_wait_object(p, w);

	return o && o->kind == LOCK_SEMAPHORE && wait_is_all_along(w) &&
			       g_str_has_prefix(o->place, PREFIX) ? o->place : NULL;
}

struct search {
	struct profile *p;
	const char *proc_dir, *path;
	GHashTable *waiters;	/* waiting processes */
	char *found;	/* another user, "4711 printer"; NULL: none yet */
	bool is_complete;	/* all processes could be checked */
};

/* The file keeps its name as long as it exists. */
static bool has_mapped(const struct search *s, uint32_t pid, bool *ret_is_read)
{
	g_autofree char *name = g_strdup_printf("%s/%" PRIu32 "/maps", s->proc_dir, pid);
	FILE *maps = opener_file(name);
	/* it may have ended meanwhile */
	const bool is_gone = !maps && (errno == ENOENT || errno == ESRCH);
	char *line = NULL;
	size_t room = 0;
	bool has = false;

	while (maps && !has && getline(&line, &room, maps) > 0)
		has = strchr(line, '/') && strncmp(strchr(line, '/'), s->path, strlen(s->path)) == 0 &&
		      strchr(" \n", strchr(line, '/')[strlen(s->path)]);
	*ret_is_read = maps || is_gone;
	free(line);
	if (maps)
		fclose(maps);
	return has;
}

static bool look_at(const struct opener_entry *e, void *data)
{
	struct search *s = data;
	uint32_t pid = g_ascii_isdigit(*e->name) ? (uint32_t)g_ascii_strtoull(e->name, NULL, 10) : 0;
	bool is_read;

	if (!pid || g_hash_table_contains(s->waiters, GUINT_TO_POINTER(pid)))
		return true;
	if (has_mapped(s, pid, &is_read)) {
		g_autofree char *comm = opener_process_text(s->proc_dir, pid, "comm");

		s->found = g_strdup_printf("%" PRIu32 " %s", pid, comm ? g_strchomp(comm) : "?");
	}
	s->is_complete = s->is_complete && (is_read || pid == 1);	/* inaccessible, perhaps, and shares nothing */
	return !s->found;
}

static void look_for(struct search *s)
{
	EACH_ROW(i, const struct wait, w, s->p->waits)
		if (g_strcmp0(semaphore_of(s->p, w), s->path) == 0)
			g_hash_table_add(s->waiters, GUINT_TO_POINTER(profile_thread(s->p, w->thread)->pid));
	if (!opener_list(s->proc_dir, false, look_at, s) || (!s->found && !s->is_complete))
		return;
	GHashTableIter iter;
	gpointer pid;

	g_hash_table_iter_init(&iter, s->waiters);
	while (g_hash_table_iter_next(&iter, &pid, NULL))
		profile_add_limit(s->p, LIMIT_SEMAPHORE, GPOINTER_TO_UINT(pid), 0, s->found ? s->found : "nobody");
}

void semaphores_look(struct profile *p, const char *proc_dir)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

	for (guint i = 0; i < p->waits->len && g_hash_table_size(seen) < SEMAPHORES_MAX; i++) {
		const char *path = semaphore_of(p, profile_wait(p, i));
		struct search s = { .p = p, .proc_dir = proc_dir, .path = path, .is_complete = true };

		if (!path || !g_hash_table_add(seen, (gpointer)path))
			continue;
		s.waiters = g_hash_table_new(NULL, NULL);
		look_for(&s);
		g_hash_table_unref(s.waiters);
		g_free(s.found);
	}
}
