/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_AGENT_RULE_H
#define FEATURES_REQUESTS_AGENT_RULE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* What counts as a request: a section [request NAME] of offcpu-agent.conf(5), of one of three forms. */
struct request_rule {
	char *name;
	uint16_t port;		/* "socket = PORT"; 0: another form */
	char *pattern, *program;	/* "function = PATTERN of PROGRAM"; NULL: another form */
	char *route, *service;		/* "route = GLOB of SERVICE"; NULL: another form */
};

#define REQUEST_RULES_MAX 32
#define REQUEST_NAME_MAX_BYTES 64

struct request_rule *request_rule_new(const char *name);
void request_rule_free(struct request_rule *r);	/* NULL is fine */
/* Takes a key and its value. False with an error. */
bool request_rule_take(struct request_rule *r, const char *key, const char *value, GError **error);
/* Checks a rule, and which rules can be combined; false with an error. has_objects: objects of waits are recorded. */
bool request_rules_check(const GPtrArray *rules, bool has_objects, GError **error);
const struct request_rule *request_rules_find(const GPtrArray *rules, const char *name);
bool request_rules_same(const GPtrArray *a, const GPtrArray *b);
/* "socket 3306", "dispatch_command of mariadbd"; free with g_free(). */
char *request_rule_text(const struct request_rule *r);

#endif
