/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/requests/agent_rule.h"

#include <string.h>

#include "agent/config.h"

#define OF " of "

struct request_rule *request_rule_new(const char *name)
{
	struct request_rule *r = g_new0(struct request_rule, 1);

	r->name = g_strdup(name);
	return r;
}

FREES(request_rule_free, struct request_rule, r, g_free(r->name); g_free(r->pattern); g_free(r->program);
      g_free(r->route); g_free(r->service))

static bool take_socket(struct request_rule *r, const char *value, GError **error)
{
	guint64 port;

	if (!g_ascii_string_to_unsigned(value, 10, 1, UINT16_MAX, &port, NULL))
		return config_wrong(error, "socket: '%s' is not a port, a number from 1 to 65535", value);
	r->port = (uint16_t)port;
	return true;
}

/* C++ names may contain " of ", program names do not. */
static bool take_both(const char *value, char **ret_what, char **ret_whose)
{
	const char *of = g_strrstr(value, OF);

	if (!of || of == value || !of[strlen(OF)] || strchr(of + strlen(OF), ' '))
		return false;
	*ret_what = g_strchomp(g_strndup(value, (gsize)(of - value)));
	*ret_whose = g_strdup(of + strlen(OF));
	return true;
}

static bool take_function(struct request_rule *r, const char *value, GError **error)
{
	if (!take_both(value, &r->pattern, &r->program))
		return config_wrong(error, "function: '%s' is not PATTERN of PROGRAM, such as dispatch_command of mariadbd",
			     value);
	if (g_str_has_prefix(r->pattern, "socket:") || g_str_has_prefix(r->pattern, "usdt:"))
		return config_wrong(error, "function: '%s' is none", r->pattern);
	return true;
}

static bool take_route(struct request_rule *r, const char *value, GError **error)
{
	if (take_both(value, &r->route, &r->service))
		return true;
	return config_wrong(error, "route: '%s' is not GLOB of SERVICE, such as POST /order/* of orders", value);
}

static bool is_by_socket(const struct request_rule *r)
{
	return r->port || r->route;
}

bool request_rule_take(struct request_rule *r, const char *key, const char *value, GError **error)
{
	static const struct {
		const char *key;
		bool (*take)(struct request_rule *r, const char *value, GError **error);
	} keys[] = { { "socket", take_socket }, { "function", take_function }, { "route", take_route } };

	for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
		if (strcmp(key, keys[i].key) != 0)
			continue;
		if (is_by_socket(r) || r->pattern)
			return config_wrong(error, "[request %s] has a socket, a function or a route: one of them", r->name);
		return keys[i].take(r, value, error);
	}
	return config_wrong(error, "[request %s] has no key '%s'; there are socket, function and route", r->name, key);
}

bool request_rules_check(const GPtrArray *rules, bool has_objects, GError **error)
{
	const struct request_rule *socket = NULL, *function = NULL;

	EACH_POINTER(i, const struct request_rule, r, rules) {
		if (!is_by_socket(r) && !r->pattern)
			return config_wrong(error, "[request %s] has none of 'socket', 'function' and 'route'", r->name);
		if (r->route && !has_objects)
			return config_wrong(error,
				     "[request %s]: at which ports %s serves routes the objects of its waits tell: it needs "
				     "objects = yes in [record]",
				     r->name, r->service);
		socket = is_by_socket(r) ? r : socket;
		function = r->pattern ? r : function;
		for (guint k = 0; k < i && r->port; k++)
			if (((const struct request_rule *)rules->pdata[k])->port == r->port)
				return config_wrong(error, "[request %s] and [request %s] have the same socket",
					     ((const struct request_rule *)rules->pdata[k])->name, r->name);
	}
	if (socket && function)
		return config_wrong(error,
			     "[request %s] is a %s and [request %s] a function: an agent has requests by connection or by "
			     "functions, for a thread has one kind at a time",
			     socket->name, socket->route ? "route" : "socket", function->name);
	return true;
}

const struct request_rule *request_rules_find(const GPtrArray *rules, const char *name)
{
	for (guint i = 0; i < rules->len; i++)
		if (strcmp(((const struct request_rule *)rules->pdata[i])->name, name) == 0)
			return rules->pdata[i];
	return NULL;
}

bool request_rules_same(const GPtrArray *a, const GPtrArray *b)
{
	for (guint i = 0; i < a->len && a->len == b->len; i++) {
		const struct request_rule *x = a->pdata[i], *y = b->pdata[i];

		if (strcmp(x->name, y->name) != 0 || x->port != y->port || g_strcmp0(x->pattern, y->pattern) != 0 ||
		    g_strcmp0(x->program, y->program) != 0 || g_strcmp0(x->route, y->route) != 0 ||
		    g_strcmp0(x->service, y->service) != 0)
			return false;
	}
	return a->len == b->len;
}

char *request_rule_text(const struct request_rule *r)
{
	if (r->route)
		return g_strconcat("route ", r->route, OF, r->service, NULL);
	return r->port ? g_strdup_printf("socket %u", r->port) : g_strconcat(r->pattern, OF, r->program, NULL);
}
