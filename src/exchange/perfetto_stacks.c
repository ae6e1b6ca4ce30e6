/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/perfetto_events.h"

#include <string.h>

#include "analyse/label.h"
#include "base/hash.h"
#include "base/wire.h"
#include "exchange/perfetto.h"

#define STACKS_MAX 16384
#define FRAMES_MAX 65536

struct stack_key {
	uint64_t user, kernel;	/* numbers of the kernel's records */
};

struct perfetto_stacks {
	GHashTable *stacks;	/* struct stack_key -> iid */
	GHashTable *frames, *mappings;	/* text -> iid */
	GString *interned, *b;
};

HASH_BYTES(key, struct stack_key)

struct perfetto_stacks *perfetto_stacks_new(void)
{
	struct perfetto_stacks *s = g_new0(struct perfetto_stacks, 1);

	s->stacks = g_hash_table_new_full(key_hash, key_equal, g_free, NULL);
	s->frames = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	s->mappings = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	s->interned = g_string_new(NULL);
	s->b = g_string_new(NULL);
	return s;
}

FREES(perfetto_stacks_free, struct perfetto_stacks, s, g_hash_table_unref(s->stacks); g_hash_table_unref(s->frames);
      g_hash_table_unref(s->mappings); g_string_free(s->interned, TRUE); g_string_free(s->b, TRUE))

void perfetto_stacks_clear(struct perfetto_stacks *s)
{
	g_hash_table_remove_all(s->stacks);
	g_hash_table_remove_all(s->frames);
	g_hash_table_remove_all(s->mappings);
}

bool perfetto_stacks_are_full(const struct perfetto_stacks *s)
{
	return g_hash_table_size(s->stacks) >= STACKS_MAX || g_hash_table_size(s->frames) >= FRAMES_MAX;
}

static void intern(struct perfetto_stacks *s, unsigned field, uint64_t iid, const char *text)
{
	perfetto_intern(s->interned, s->b, field, iid, text, strlen(text));
}

static guint id_in(GHashTable *table, const char *text, bool *ret_is_new)
{
	guint iid = GPOINTER_TO_UINT(g_hash_table_lookup(table, text));

	*ret_is_new = !iid;
	if (!iid) {
		iid = g_hash_table_size(table) + 1;
		g_hash_table_insert(table, g_strdup(text), GUINT_TO_POINTER(iid));
	}
	return iid;
}

static guint mapping_iid(struct perfetto_stacks *s, const char *module)
{
	bool is_new;
	guint iid = module ? id_in(s->mappings, module, &is_new) : 0;

	if (!iid || !is_new)
		return iid;
	intern(s, INTERNED_PATH, iid, module);
	g_string_truncate(s->b, 0);
	wire_uint(s->b, MAPPING_IID, iid);
	wire_uint(s->b, MAPPING_PATH, iid);
	wire_message(s->interned, INTERNED_MAPPING, s->b);
	return iid;
}

static guint frame_iid(struct perfetto_stacks *s, const struct frame *f)
{
	g_autoptr(GString) key = g_string_new(NULL);
	bool is_new;

	label_append(key, f);
	const gsize label_len = key->len;

	g_string_append_printf(key, "\n%s", f->module ? f->module : "");
	guint iid = id_in(s->frames, key->str, &is_new);

	if (!is_new)
		return iid;
	guint mapping = mapping_iid(s, f->module);

	g_string_truncate(key, label_len);
	intern(s, INTERNED_FUNCTION_NAME, iid, key->str);
	perfetto_intern_frame(s->interned, s->b, iid, mapping, f->offset);
	return iid;
}

static void append_iids(struct perfetto_stacks *s, const struct profile *p, uint32_t node, GArray *iids)
{
	guint first = iids->len;

	g_array_set_size(iids, first + profile_get_node(p, node)->depth);
	for (guint i = iids->len; node && i-- > first; node = profile_get_node(p, node)->parent)
		g_array_index(iids, guint, i) = frame_iid(s, profile_get_frame(p, profile_get_node(p, node)->frame));
}

guint perfetto_stacks_find(struct perfetto_stacks *s, const struct wait_event *e, const GString **ret_interned)
{
	const struct stack_key key = { e->rec->ustack, e->rec->kstack };
	guint iid = e->profile ? GPOINTER_TO_UINT(g_hash_table_lookup(s->stacks, &key)) : 0;

	g_string_truncate(s->interned, 0);
	*ret_interned = s->interned;
	if (iid || !e->profile || (!e->user && !e->kernel))
		return iid;
	g_autoptr(GArray) iids = g_array_new(FALSE, FALSE, sizeof(guint));

	append_iids(s, e->profile, e->user, iids);
	append_iids(s, e->profile, e->kernel, iids);
	iid = g_hash_table_size(s->stacks) + 1;
	g_hash_table_insert(s->stacks, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(iid));
	g_string_truncate(s->b, 0);
	wire_uint(s->b, CALLSTACK_IID, iid);
	for (guint i = 0; i < iids->len; i++)
		wire_uint(s->b, CALLSTACK_FRAME, g_array_index(iids, guint, i));
	wire_message(s->interned, INTERNED_CALLSTACK, s->b);
	return iid;
}
