/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "push/identity.h"

#include <string.h>

struct hasher {
	GChecksum *sum;
};

static struct hasher begin_hash(void)
{
	return (struct hasher){ g_checksum_new(G_CHECKSUM_SHA256) };
}

static void add_number(struct hasher *h, uint64_t value)
{
	uint64_t le = GUINT64_TO_LE(value);

	g_checksum_update(h->sum, (const guchar *)&le, sizeof(le));
}

/* Includes the terminator, so that "ab", "c" differs from "a", "bc".  NULL differs from "". */
static void add_text(struct hasher *h, const char *text)
{
	add_number(h, text ? strlen(text) + 1 : 0);
	if (text)
		g_checksum_update(h->sum, (const guchar *)text, (gssize)strlen(text));
}

static uint64_t end_hash(struct hasher *h)
{
	guint8 digest[32];
	gsize len = sizeof(digest);
	uint64_t id;

	g_checksum_get_digest(h->sum, digest, &len);
	g_checksum_reset(h->sum);
	memcpy(&id, digest, sizeof(id));
	id = GUINT64_FROM_LE(id);
	return id ? id : 1; /* 0 means none */
}

uint64_t identity_of_window(const struct profile *p)
{
	struct hasher h = begin_hash();

	add_text(&h, p->info.host);
	add_number(&h, p->info.start_unix_ns);
	add_number(&h, p->info.start_ns);
	add_number(&h, p->info.duration_ns);
	add_text(&h, p->info.command_line);
	add_text(&h, p->info.filters);
	uint64_t id = end_hash(&h);

	g_checksum_free(h.sum);
	return id;
}

uint64_t identity_of_text(const char *text)
{
	struct hasher h = begin_hash();

	add_text(&h, text);
	uint64_t id = end_hash(&h);

	g_checksum_free(h.sum);
	return id;
}

static uint64_t of_frame(struct hasher *h, const struct frame *f)
{
	add_text(h, f->name);
	add_text(h, f->module);
	add_number(h, f->offset);
	add_text(h, f->file);
	add_number(h, (uint64_t)f->line << 24 | (uint64_t)f->kind << 16 | (uint64_t)f->why << 8 | f->is_inline);
	return end_hash(h);
}

/* A parent precedes its children, so each node is hashed once. */
static void of_stacks(struct hasher *h, const struct profile *p, uint64_t *ret)
{
	g_autofree uint64_t *frames = g_new(uint64_t, p->frames->len + 1);
	g_autofree uint64_t *paths = g_new0(uint64_t, p->nodes->len + 1);

	for (guint i = 0; i < p->frames->len; i++)
		frames[i] = of_frame(h, profile_get_frame(p, i));
	for (guint i = 1; i < p->nodes->len; i++) {
		const struct stack_node *n = profile_get_node(p, i);

		add_number(h, paths[n->parent]);
		add_number(h, frames[n->frame]);
		paths[i] = end_hash(h);
		add_number(h, paths[i]);
		add_number(h, n->end);
		ret[i] = end_hash(h);
	}
}

static uint64_t of_object(struct hasher *h, const struct profile *p, const struct object *o)
{
	add_text(h, p->info.host);
	add_number(h, o->kind);
	add_number(h, o->is_private);
	add_text(h, o->operation);
	add_text(h, o->name);
	add_text(h, o->place);
	add_number(h, o->pid);
	add_number(h, o->addr);
	add_number(h, o->holder_tid);
	return end_hash(h);
}

static uint64_t of_waker(struct hasher *h, const struct profile *p, const struct waker *w, const uint64_t *stacks)
{
	add_text(h, p->info.host);
	add_number(h, (uint64_t)w->pid << 32 | w->tid);
	add_number(h, w->start_ns);
	add_text(h, w->comm);
	add_text(h, w->irq);
	add_number(h, stacks[w->user]);
	add_number(h, stacks[w->kernel]);
	return end_hash(h);
}

/*
 * Numbers the rows of each thread.  Rows without a tid may be in another order in each window, so their service is
 * hashed first.
 */
static uint32_t *of_programs(struct hasher *h, const struct profile *p)
{
	uint32_t *programs = g_new0(uint32_t, p->threads->len + 1);
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	EACH_ROW(i, const struct thread, t, p->threads) {
		const char *service = t->tid ? NULL : t->service;
		g_autofree char *key = g_strdup_printf("%u %u %" G_GUINT64_FORMAT " %p %p %p", t->pid, t->tid,
						       (guint64)t->start_ns, (const void *)t->process,
						       (const void *)t->comm, (const void *)service);
		guint before = GPOINTER_TO_UINT(g_hash_table_lookup(seen, key));

		programs[i] = before;
		if (service) {
			add_text(h, service);
			programs[i] += (uint32_t)end_hash(h);
		}
		g_hash_table_insert(seen, g_steal_pointer(&key), GUINT_TO_POINTER(before + 1));
	}
	return programs;
}

struct identities *identities_new(const struct profile *p)
{
	struct identities *ids = g_new0(struct identities, 1);
	struct hasher h = begin_hash();

	ids->stacks = g_new0(uint64_t, p->nodes->len + 1);
	ids->objects = g_new0(uint64_t, p->objects->len + 1);
	ids->wakers = g_new0(uint64_t, p->wakers->len + 1);
	ids->programs = of_programs(&h, p);
	of_stacks(&h, p, ids->stacks);
	for (guint i = 0; i < p->objects->len; i++)
		ids->objects[i] = of_object(&h, p, profile_get_object(p, i));
	for (guint i = 0; i < p->wakers->len; i++)
		ids->wakers[i] = of_waker(&h, p, profile_get_waker(p, i), ids->stacks);
	g_checksum_free(h.sum);
	return ids;
}

FREES(identities_free, struct identities, ids, g_free(ids->stacks); g_free(ids->objects); g_free(ids->wakers);
      g_free(ids->programs))
