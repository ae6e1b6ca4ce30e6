/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/process/maps.h"

#include <glib.h>

/* Reads digits of base 10 or 16, at most 64 bits' worth, and the character that must follow. */
static bool number(const char **at, unsigned base, char follows, uint64_t *ret)
{
	const char *p = *at;
	uint64_t value = 0;

	for (; base == 16 ? g_ascii_isxdigit(*p) : g_ascii_isdigit(*p); p++)
		if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)g_ascii_xdigit_value(*p), &value))
			return false;
	if (p == *at || (*p != follows && !(follows == ' ' && *p == 0)))
		return false;
	*at = *p ? p + 1 : p;
	*ret = value;
	return true;
}

bool maps_parse_line(const char *line, struct maps_line *ret)
{
	const char *p = line;
	uint64_t major, minor;

	if (!number(&p, 16, '-', &ret->start) || !number(&p, 16, ' ', &ret->end) || ret->start >= ret->end)
		return false;
	for (int i = 0; i < 4; i++)
		if (!p[i])
			return false;
	ret->is_exec = p[2] == 'x';
	ret->is_shared = p[3] == 's';
	ret->is_readable = p[0] == 'r';
	if (p[4] != ' ')
		return false;
	p += 5;
	if (!number(&p, 16, ' ', &ret->pgoff) || !number(&p, 16, ':', &major) || !number(&p, 16, ' ', &minor) ||
	    !number(&p, 10, ' ', &ret->inode) || major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	while (*p == ' ')
		p++;
	ret->dev_major = (uint32_t)major;
	ret->dev_minor = (uint32_t)minor;
	ret->path = p;
	return true;
}
