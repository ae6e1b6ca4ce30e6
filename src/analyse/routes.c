/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/routes.h"

struct routes {
	const struct profile *p;
	const char *attribute;	/* NULL: routes */
	GHashTable *by_context;	/* innermost node of the context -> name, "" for none */
	GStringChunk *names;
};

static bool has_contexts(const struct profile *p)
{
	for (guint i = 0; i < p->frames->len; i++)
		if (profile_get_frame(p, i)->kind == FRAME_CONTEXT)
			return true;
	return false;
}

struct routes *routes_new(const struct profile *p)
{
	return routes_new_of(p, NULL);
}

struct routes *routes_new_of(const struct profile *p, const char *attribute)
{
	struct routes *r;

	if (!has_contexts(p))
		return NULL;
	r = g_new0(struct routes, 1);
	r->p = p;
	r->attribute = attribute;
	r->by_context = g_hash_table_new(NULL, NULL);
	r->names = g_string_chunk_new(1024);
	return r;
}

FREES(routes_free, struct routes, r, g_hash_table_destroy(r->by_context); g_string_chunk_free(r->names))

const char *routes_of(struct routes *r, uint32_t node)
{
	uint32_t at = r ? context_node(r->p, node) : 0;
	const char *name;

	if (!at)
		return NULL;
	name = g_hash_table_lookup(r->by_context, GUINT_TO_POINTER(at));
	if (!name) {
		g_autoptr(GString) s = g_string_new(NULL);

		if (r->attribute)
			g_string_append(s, context_value(r->p, at, r->attribute) ?: "");
		else
			context_append_route(r->p, at, s);
		name = g_string_chunk_insert_const(r->names, s->str);
		g_hash_table_insert(r->by_context, GUINT_TO_POINTER(at), (gpointer)name);
	}
	return *name ? name : NULL;
}
