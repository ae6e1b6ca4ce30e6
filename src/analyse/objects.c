/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/objects.h"

#include <string.h>

#include "base/hash.h"

/* While it is added up. */
struct building {
	struct object_row row;
	GHashTable *threads;	/* of waiters */
	GHashTable *peers;	/* pids */
	GHashTable *by_object;	/* struct object * -> uint64_t *, blocked time: which one stands for the row */
};

/* Names are interned; of locks, as of all that has an address, that tells them apart, too. */
static guint row_hash(gconstpointer key)
{
	const struct object *o = key;

	return hash_end(hash_more(hash_more(hash_pointer(o->name), o->addr), o->kind));
}

static gboolean row_equal(gconstpointer va, gconstpointer vb)
{
	const struct object *a = va, *b = vb;

	return a->kind == b->kind && a->name == b->name && a->addr == b->addr &&
	       (!object_is_lock(a) || (a->pid == b->pid && a->place == b->place));
}

static void building_free(gpointer data)
{
	struct building *b = data;

	g_hash_table_unref(b->threads);
	g_hash_table_unref(b->peers);
	g_hash_table_unref(b->by_object);
	g_free(b);
}

static const struct object no_object;

static struct building *building_of(GHashTable *rows, const struct object *o, const char *process)
{
	const struct object *key = o ? o : &no_object;
	struct building *b = g_hash_table_lookup(rows, key);

	if (!b) {
		b = g_new0(struct building, 1);
		b->row.process = process;
		b->threads = g_hash_table_new(NULL, NULL);
		b->peers = g_hash_table_new(NULL, NULL);
		b->by_object = g_hash_table_new_full(NULL, NULL, NULL, g_free);
		g_hash_table_insert(rows, (gpointer)key, b);
	}
	if (b->row.process != process)
		b->row.process = "";
	return b;
}

static void add_object(struct building *b, const struct object *o, uint64_t blocked_ns)
{
	uint64_t *ns = g_hash_table_lookup(b->by_object, o);

	if (!ns) {
		ns = g_new0(uint64_t, 1);
		g_hash_table_insert(b->by_object, (gpointer)o, ns);
	}
	*ns += blocked_ns;
	if (!object_is_lock(o) && o->pid)
		g_hash_table_add(b->peers, GUINT_TO_POINTER(o->pid));
}

static void add_wait(const struct profile *p, GHashTable *rows, const struct wait *w)
{
	const struct object *o = profile_wait_object(p, w);
	struct building *b = building_of(rows, o, profile_thread(p, w->thread)->process);

	b->row.blocked_ns += w->blocked_ns;
	b->row.runnable_ns += w->runnable_ns;
	b->row.count += w->count;
	b->row.max_ns = MAX(b->row.max_ns, w->max_ns);
	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		b->row.hist[i] += w->hist[i];
	g_hash_table_add(b->threads, GUINT_TO_POINTER(w->thread));
	if (o)
		add_object(b, o, w->blocked_ns);
}

/* The object of the longest waits; of several the first in the profile, so that reports repeat. */
static const struct object *longest(GHashTable *by_object)
{
	const struct object *best = NULL;
	uint64_t best_ns = 0;
	GHashTableIter iter;
	gpointer key, value;

	g_hash_table_iter_init(&iter, by_object);
	while (g_hash_table_iter_next(&iter, &key, &value)) {
		const struct object *o = key;
		uint64_t ns = *(uint64_t *)value;

		if (!best || ns > best_ns || (ns == best_ns && o < best)) {
			best = o;
			best_ns = ns;
		}
	}
	return best;
}

static int compare_rows(gconstpointer va, gconstpointer vb)
{
	const struct object_row *a = va, *b = vb;

	if (a->blocked_ns != b->blocked_ns)
		return a->blocked_ns < b->blocked_ns ? 1 : -1;
	if (!a->object || !b->object)
		return (a->object == NULL) - (b->object == NULL);
	int c = strcmp(a->object->name, b->object->name);
	if (c)
		return c;
	if (a->object->kind != b->object->kind)
		return a->object->kind < b->object->kind ? -1 : 1;
	return (a->object > b->object) - (a->object < b->object);
}

struct object_table *object_table_new(const struct profile *p, const struct selection *selection)
{
	struct object_table *t = g_new0(struct object_table, 1);
	g_autoptr(GHashTable) rows = g_hash_table_new_full(row_hash, row_equal, NULL, building_free);
	GHashTableIter iter;
	gpointer data;

	for (guint i = 0; i < p->waits->len; i++) {
		const struct wait *w = profile_wait(p, i);

		if ((selection && !selection->waits[i]) || w->state == 'R')
			continue;
		t->blocked_ns += w->blocked_ns;
		add_wait(p, rows, w);
	}
	t->rows = g_array_new(FALSE, FALSE, sizeof(struct object_row));
	g_hash_table_iter_init(&iter, rows);
	while (g_hash_table_iter_next(&iter, NULL, &data)) {
		struct building *b = data;

		b->row.object = longest(b->by_object);
		b->row.threads_cnt = g_hash_table_size(b->threads);
		b->row.peers_cnt = g_hash_table_size(b->peers);
		g_array_append_val(t->rows, b->row);
	}
	g_array_sort(t->rows, compare_rows);
	return t;
}

void object_table_free(struct object_table *t)
{
	if (!t)
		return;
	g_array_unref(t->rows);
	g_free(t);
}

void object_append_label(GString *s, const struct object *o)
{
	g_string_append_printf(s, "%s %s", object_kind_text(o->kind), o->name);
}
