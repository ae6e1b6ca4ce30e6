/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/process/maps.h"

#include <string.h>

#include "base/hash.h"

/* Reads digits in base 10 or 16, at most 64 bits, and the character that must follow. */
static bool take_number(const char **at, unsigned base, char follows, uint64_t *ret)
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

struct maps_file maps_file_of(const struct maps_line *line)
{
	return (struct maps_file){ (uint64_t)line->dev_major << 32 | line->dev_minor, line->inode };
}

guint maps_file_hash(gconstpointer p)
{
	const struct maps_file *file = p;

	return hash_end(hash_more(file->device, file->inode));
}

gboolean maps_file_equal(gconstpointer a, gconstpointer b)
{
	return memcmp(a, b, sizeof(struct maps_file)) == 0;
}

bool maps_parse_line(const char *line, struct maps_line *ret)
{
	const char *p = line;
	uint64_t major, minor;

	if (!take_number(&p, 16, '-', &ret->start) || !take_number(&p, 16, ' ', &ret->end) || ret->start >= ret->end)
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
	if (!take_number(&p, 16, ' ', &ret->pgoff) || !take_number(&p, 16, ':', &major) || !take_number(&p, 16, ' ', &minor) ||
	    !take_number(&p, 10, ' ', &ret->inode) || major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	while (*p == ' ')
		p++;
	ret->dev_major = (uint32_t)major;
	ret->dev_minor = (uint32_t)minor;
	ret->path = p;
	return true;
}

static struct maps_line *line_at(GArray *lines, guint i)
{
	return &g_array_index(lines, struct maps_line, i);
}

static bool is_code_without_file(const struct maps_line *m)
{
	return m->is_exec && !m->inode && !m->path[0];
}

/* Is the gap between the two exactly the missing part of their file? */
static bool is_hole_in_file(const struct maps_line *before, const struct maps_line *after)
{
	return before->inode && before->inode == after->inode && before->dev_major == after->dev_major &&
	       before->dev_minor == after->dev_minor && after->pgoff > before->pgoff &&
	       after->pgoff - before->pgoff == after->start - before->start;
}

/* The number of lines from i on that are adjacent code without a file. */
static guint hole_length(GArray *lines, guint i)
{
	guint cnt = 0;

	while (i + cnt < lines->len && is_code_without_file(line_at(lines, i + cnt)) &&
	       line_at(lines, i + cnt - 1)->end == line_at(lines, i + cnt)->start)
		cnt++;
	return cnt;
}

static void fill_hole(GArray *lines, guint i, guint cnt)
{
	const struct maps_line *before = line_at(lines, i - 1), *after = line_at(lines, i + cnt);

	if (line_at(lines, i + cnt - 1)->end != after->start || !is_hole_in_file(before, after))
		return;
	for (struct maps_line *m = line_at(lines, i); m < after; m++) {
		m->pgoff = before->pgoff + (m->start - before->start);
		m->dev_major = before->dev_major;
		m->dev_minor = before->dev_minor;
		m->inode = before->inode;
		m->path = before->path;
	}
}

GArray *maps_lines(char *text)
{
	GArray *lines = g_array_new(FALSE, FALSE, sizeof(struct maps_line));

	for (char *line = text, *next; line && *line; line = next) {
		struct maps_line m;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (maps_parse_line(line, &m))
			g_array_append_val(lines, m);
	}
	return lines;
}

GArray *maps_parse(char *text)
{
	GArray *lines = maps_lines(text);

	for (guint i = 1, cnt; i < lines->len; i += cnt + 1) {
		cnt = hole_length(lines, i);
		if (cnt && i + cnt < lines->len)
			fill_hole(lines, i, cnt);
	}
	return lines;
}
