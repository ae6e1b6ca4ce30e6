/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/profile.h"

#include "base/trace_attributes.h"

uint32_t context_node(const struct profile *p, uint32_t node)
{
	while (node && profile_get_frame(p, profile_get_node(p, node)->frame)->kind != FRAME_CONTEXT)
		node = profile_get_node(p, node)->parent;
	return node;
}

static bool is_of(const struct frame *f, const char *attribute)
{
	size_t len = strlen(attribute);

	return f->module && f->module[0] == '[' && !strncmp(f->module + 1, attribute, len) &&
	       !strcmp(f->module + 1 + len, "]");
}

static const char *value_from(const struct profile *p, uint32_t node, const char *attribute)
{
	for (; node; node = profile_get_node(p, node)->parent) {
		const struct frame *f = profile_get_frame(p, profile_get_node(p, node)->frame);

		if (f->kind == FRAME_CONTEXT && is_of(f, attribute))
			return f->name;
	}
	return NULL;
}

const char *context_value(const struct profile *p, uint32_t node, const char *attribute)
{
	return value_from(p, context_node(p, node), attribute);
}

static void for_each_from(const struct profile *p, uint32_t node, context_fn fn, void *data)
{
	const struct frame *f;

	if (!node)
		return;
	for_each_from(p, profile_get_node(p, node)->parent, fn, data);
	f = profile_get_frame(p, profile_get_node(p, node)->frame);
	if (f->kind != FRAME_CONTEXT || !f->name || !f->module || strlen(f->module) < 3)
		return;
	g_autofree char *attribute = g_strndup(f->module + 1, strlen(f->module) - 2);

	fn(attribute, f->name, data);
}

void context_for_each(const struct profile *p, uint32_t node, context_fn fn, void *data)
{
	for_each_from(p, context_node(p, node), fn, data);
}

bool context_append_route(const struct profile *p, uint32_t node, GString *s)
{
	uint32_t at = context_node(p, node);
	const char *route = NULL, *method = value_from(p, at, TRACE_METHOD);
	const char *service = value_from(p, at, TRACE_RPC_SERVICE);

	for (const char *const *name = trace_routes; at && *name && !route; name++)
		route = value_from(p, at, *name);
	if (!route)
		return false;
	/* some routes start with their method */
	if (method && !g_str_has_prefix(route, method))
		g_string_append_printf(s, "%s ", method);
	if (service && !strstr(route, service))
		g_string_append_printf(s, "%s/", service);
	g_string_append(s, route);
	return true;
}
