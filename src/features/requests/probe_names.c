/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/requests/probe_names.h"

#include <bpf/bpf.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "features/requests/abi.h"
#include "features/traces/abi.h"

struct request_names {
	const struct request_plan *plan;
	struct spans *spans;
	int ports_fd, routes_fd;
};

struct request_names *request_names_new(const struct request_plan *plan, struct spans *spans, int ports_fd,
					int routes_fd)
{
	struct request_names *n = g_new0(struct request_names, 1);

	*n = (struct request_names){ .plan = plan, .spans = spans, .ports_fd = ports_fd, .routes_fd = routes_fd };
	return n;
}

void request_names_free(struct request_names *n)
{
	g_free(n);
}

/* Also matches the route without its method, which the pattern may omit. */
static bool is_route(const char *glob, const char *route)
{
	const char *blank = strchr(route, ' ');

	return fnmatch(glob, route, 0) == 0 || (blank && fnmatch(glob, blank + 1, 0) == 0);
}

static bool is_called(const char *glob, const char *name)
{
	return name && fnmatch(glob, name, 0) == 0;
}

/* The first match. */
static uint32_t func_of(const struct request_plan *plan, const struct fold_route *route)
{
	for (guint i = 0; i < plan->routes->len && route->text->len; i++) {
		const struct request_route_name *r = plan->routes->pdata[i];

		if ((is_called(r->service, route->service) || is_called(r->service, route->process) ||
		     is_called(r->service, route->calls_itself)) &&
		    is_route(r->glob, route->text->str))
			return r->func;
	}
	return OFFCPU_REQUEST_NO_FUNC;
}

void request_names_take(struct request_names *n, struct fold *fold, const void *record, size_t size)
{
	const struct offcpu_rec_context *rec = record;
	struct fold_route route;

	if (fold_route(fold, record, size, &route)) {
		const struct offcpu_request_route known = { .from_ns = spans_route_from_ns(n->spans, rec->id),
							    .func = func_of(n->plan, &route) };

		bpf_map_update_elem(n->routes_fd, &rec->id, &known, BPF_ANY);
	}
	g_string_free(route.text, TRUE);
}

void request_names_span(struct request_names *n, const void *record, size_t size)
{
	const struct offcpu_rec_request_span *span = record;
	uint64_t route = size >= offsetof(struct offcpu_rec_request_span, note) ? span->route : 0;
	uint64_t before_ns = spans_route_from_ns(n->spans, route), from_ns;
	struct offcpu_request_route known;

	spans_add(n->spans, record, size);
	from_ns = spans_route_from_ns(n->spans, route);
	if (from_ns == before_ns || bpf_map_lookup_elem(n->routes_fd, &route, &known))
		return;
	known.from_ns = from_ns;
	bpf_map_update_elem(n->routes_fd, &route, &known, BPF_EXIST);
}

static bool is_named(const struct request_plan *plan, const struct profile *window, uint32_t pid)
{
	EACH_ROW(i, const struct thread, t, window->threads) {
		for (guint k = 0; t->pid == pid && k < plan->routes->len; k++) {
			const char *glob = ((const struct request_route_name *)plan->routes->pdata[k])->service;

			if (is_called(glob, t->service) || is_called(glob, t->process))
				return true;
		}
	}
	return false;
}

void request_names_look(struct request_names *n, const struct profile *window)
{
	EACH_ROW(i, const struct connection, c, window->connections) {
		const char *colon = strrchr(c->local, ':');
		uint32_t port = colon ? (uint32_t)strtoul(colon + 1, NULL, 10) : 0, none = OFFCPU_REQUEST_NO_FUNC;

		if (c->side == CONNECTION_SERVER && port && port <= UINT16_MAX && is_named(n->plan, window, c->pid))
			bpf_map_update_elem(n->ports_fd, &port, &none, BPF_NOEXIST);
	}
}
