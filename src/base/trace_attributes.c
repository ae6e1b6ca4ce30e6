/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/trace_attributes.h"

#include <stddef.h>
#include <string.h>

const char *const trace_routes[] = { "http.route", "http_route", "url.template", "endpoint", "datadog.trace_endpoint", "route",
				     "rpc.method", "messaging.destination.name", "db.operation.name", NULL };

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
