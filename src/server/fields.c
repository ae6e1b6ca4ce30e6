/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "server/connections.h"

#include <stdbool.h>
#include <string.h>

/* RFC 9110, 5.6.2 */
static bool is_token(const char *name)
{
	const char *c = name;

	while (g_ascii_isalnum(*c) || (*c && strchr("!#$%&'*+-.^_`|~", *c)))
		c++;
	return *name && !*c;
}

void fields_take(struct fields *f, const char *name, const char *value)
{
	if (!is_token(name))
		f->why = "a field's name has no blank behind it, and no other character that names have not";
	if (g_ascii_strcasecmp(name, "Host") == 0)
		f->hosts++;
	if (g_ascii_strcasecmp(name, "Content-Length") == 0) {
		f->lengths++;
		if (!value || !*value || strspn(value, "0123456789") != strlen(value))
			f->why = "Content-Length is no number";
	}
	if (g_ascii_strcasecmp(name, "Transfer-Encoding") == 0) {
		f->codings++;
		if (!value || g_ascii_strcasecmp(value, "chunked") != 0)
			f->why = "of Transfer-Encoding only chunked is known";
	}
}

const char *fields_refusal(const struct fields *f)
{
	if (f->why)
		return f->why;
	if (f->hosts > 1)
		return "there are two fields Host";
	return f->lengths + f->codings > 1 ? "the length of the body is told twice" : NULL;
}
