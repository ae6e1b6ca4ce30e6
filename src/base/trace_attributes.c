/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/trace_attributes.h"

#include <stddef.h>
#include <string.h>

const char *const trace_routes[] = { "http.route", "http_route", "url.template", "endpoint", "datadog.trace_endpoint",
				     "trace endpoint", "route", "rpc.method", "messaging.destination.name",
				     "db.operation.name", NULL };

bool trace_attribute_is_route(const char *name)
{
	for (const char *const *route = trace_routes; *route; route++)
		if (!strcmp(name, *route))
			return true;
	return false;
}

static char *const *asked_for;

void trace_attributes_want(char *const *names)
{
	asked_for = names;
}

bool trace_attribute_is_wanted(const char *name)
{
	for (char *const *asked = asked_for; asked && *asked; asked++)
		if (!strcmp(name, *asked))
			return true;
	return trace_attribute_is_route(name) || !strcmp(name, TRACE_METHOD) || !strcmp(name, TRACE_RPC_SERVICE);
}

struct name_list {
	const char **name;
	unsigned cnt, room;
	size_t bytes_max;
};

/* After those of equal length. */
static void put_name(struct name_list *list, const char *name)
{
	size_t bytes = strlen(name);
	unsigned at = list->cnt;

	for (unsigned i = 0; i < list->cnt; i++)
		if (!strcmp(list->name[i], name))
			return;
	if (!bytes || bytes > list->bytes_max || list->cnt >= list->room)
		return;
	for (; at && strlen(list->name[at - 1]) > bytes; at--)
		list->name[at] = list->name[at - 1];
	list->name[at] = name;
	list->cnt++;
}

unsigned trace_attributes_wanted(size_t bytes_max, const char **ret, unsigned room)
{
	struct name_list list = { ret, 0, room, bytes_max };

	for (const char *const *route = trace_routes; *route; route++)
		put_name(&list, *route);
	put_name(&list, TRACE_METHOD);
	put_name(&list, TRACE_RPC_SERVICE);
	put_name(&list, TRACE_LABEL_TRACE);
	put_name(&list, TRACE_LABEL_SPAN);
	for (char *const *asked = asked_for; asked && *asked; asked++)
		put_name(&list, *asked);
	return list.cnt;
}
