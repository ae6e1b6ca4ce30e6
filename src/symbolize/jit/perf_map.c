/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/jit/perf_map.h"

#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/proc_status.h"
#include "symbolize/jit/jitdump.h"
#include "symbolize/process/fileopen.h"

#define LINES_MAX (2u << 20)
/* Neighbours looked at for one that covers the address; functions seldom overlap at all. */
#define OVERLAP_MAX 64
#define STATUS_MAX_BYTES 16384

struct line {
	uint64_t start;
	uint32_t size;
	uint32_t name;
	uint32_t number;	/* the later wins */
};

struct perf_map {
	GArray *lines;	/* struct line by start */
	char *text;	/* names end with 0 bytes in it */
	size_t text_bytes;
	size_t *account;
};

static int line_compare(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static bool parse_number(char **at, uint64_t *ret)
{
	char *p = *at;
	int digits = 0;

	*ret = 0;
	if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	for (; g_ascii_isxdigit(*p); p++, digits++)
		*ret = *ret << 4 | (unsigned)g_ascii_xdigit_value(*p);
	*at = p;
	return digits > 0 && digits <= 16;
}

static bool is_java_type(char c)
{
	return g_ascii_isalnum(c) || (c && strchr("_$.[]", c)) || (unsigned char)c >= 0x80;
}

/*
 * HotSpot writes what a method returns before its class: "void com.example.Shop.pay(long)".  That is no part of its
 * name, by which rules and people know it.  Other compilers' names have other marks there: "py::f:/a.py",
 * "LazyCompile:~f /a.js", "instance void [lib] A::b()".
 */
static char *behind_return_type(char *name, const char *end)
{
	char *at = name, *method;
	bool has_class = false;

	while (at < end && is_java_type(*at))
		at++;
	if (at == name || at >= end || *at != ' ')
		return name;
	method = ++at;
	for (; at < end && *at != '('; at++) {
		has_class |= *at == '.';
		if (!is_java_type(*at) && !strchr("<>/+-", *at))	/* <init>, the addresses of hidden classes */
			return name;
	}
	return has_class && at < end ? method : name;
}

static bool parse_line(char *text, char *p, char *end, struct line *ret)
{
	uint64_t size;

	if (!parse_number(&p, &ret->start) || *p++ != ' ' || !parse_number(&p, &size) || *p++ != ' ')
		return false;
	while (end > p && (end[-1] == '\r' || end[-1] == ' '))
		*--end = 0;
	if (p >= end || !*p || !size || size > UINT32_MAX || ret->start > UINT64_MAX - size)
		return false;
	for (char *c = p; c < end; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';	/* would break lines and terminals later */
	ret->size = (uint32_t)size;
	ret->name = (uint32_t)(behind_return_type(p, end) - text);
	return true;
}

struct perf_map *perf_map_parse(char *text, size_t len)
{
	struct perf_map *m = g_new0(struct perf_map, 1);
	char *end = text + len, *line_end;

	m->text = text;
	m->text_bytes = len + 1;
	m->lines = g_array_new(FALSE, FALSE, sizeof(struct line));
	*end = 0;
	for (char *p = text; p < end && m->lines->len < LINES_MAX; p = line_end + 1) {
		struct line line = { .number = m->lines->len };

		line_end = memchr(p, '\n', (size_t)(end - p));
		if (!line_end)
			line_end = end;
		*line_end = 0;
		if (parse_line(text, p, line_end, &line))
			g_array_append_val(m->lines, line);
	}
	if (m->lines->len)
		qsort(m->lines->data, m->lines->len, sizeof(struct line), line_compare);
	return m;
}

static size_t memory_bytes(const struct perf_map *m)
{
	return m->text_bytes + m->lines->len * sizeof(struct line);
}

void perf_map_charge(struct perf_map *m, size_t *account)
{
	m->account = account;
	*account += memory_bytes(m);
}

void perf_map_free(struct perf_map *m)
{
	if (!m)
		return;
	if (m->account)
		*m->account -= memory_bytes(m);
	g_array_unref(m->lines);
	g_free(m->text);
	g_free(m);
}

const char *perf_map_find(const struct perf_map *m, uint64_t addr, uint64_t *ret_symbol_offset)
{
	const struct line *lines = (const struct line *)(const void *)m->lines->data, *best = NULL;
	size_t low = 0, high = m->lines->len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (lines[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low, tries = OVERLAP_MAX; i > 0 && tries > 0; i--, tries--) {
		const struct line *l = &lines[i - 1];

		if (addr - l->start < l->size && (!best || l->number > best->number))
			best = l;
	}
	if (!best)
		return NULL;
	*ret_symbol_offset = addr - best->start;
	return m->text + best->name;
}

size_t perf_map_cnt(const struct perf_map *m)
{
	return m->lines->len;
}


bool perf_map_parse_status(const char *status, uint32_t *ret_pid, uid_t *ret_uid)
{
	const char *uid = proc_status_field(status, "Uid");
	unsigned long real, effective;
	uint32_t pid = proc_status_innermost_id(status);

	if (!pid || !uid || sscanf(uid, "%lu %lu", &real, &effective) != 2)
		return false;
	*ret_pid = pid;
	*ret_uid = (uid_t)effective;
	return true;
}

static bool process_identity(const char *proc_dir, uint32_t pid, uint32_t *ret_inner_pid, uid_t *ret_uid)
{
	g_autofree char *path = g_strdup_printf("%s/%" PRIu32 "/status", proc_dir, pid);
	size_t len;
	g_autofree char *status = file_read_text(path, STATUS_MAX_BYTES, &len);

	return status && perf_map_parse_status(status, ret_inner_pid, ret_uid);
}

/* Opens path as process pid sees it, if it may be trusted and is larger than known_bytes; -1 else. */
static int open_trusted(const char *proc_dir, uint32_t pid, uid_t uid, const char *path, uint64_t known_bytes,
			uint64_t *ret_bytes)
{
	struct stat st;
	int held = file_hold_in_process_nolinks(proc_dir, pid, path, &st), fd = -1;

	if (held < 0)
		return -1;
	if (st.st_uid == 0 || st.st_uid == uid) {
		*ret_bytes = (uint64_t)st.st_size;
		if (st.st_size > 0 && (uint64_t)st.st_size > known_bytes)
			fd = file_open_held(held);
	}
	close(held);
	return fd;
}

struct perf_map *perf_map_read(const char *proc_dir, uint32_t pid, uint64_t known_bytes, uint64_t *ret_bytes)
{
	g_autofree char *path = NULL;
	uint32_t inner_pid;
	size_t len;
	char *text;
	uid_t uid;
	int fd;

	*ret_bytes = 0;
	if (!process_identity(proc_dir, pid, &inner_pid, &uid))
		return NULL;
	path = g_strdup_printf("/tmp/perf-%" PRIu32 ".map", inner_pid);
	fd = open_trusted(proc_dir, pid, uid, path, known_bytes, ret_bytes);
	if (fd < 0)
		return NULL;
	text = file_read_fd(fd, PERF_MAP_MAX_BYTES, &len);
	close(fd);
	return text ? perf_map_parse(text, len) : NULL;
}

struct perf_map *perf_map_read_jitdump(const char *proc_dir, uint32_t pid, const char *path, uint64_t known_bytes,
				       uint64_t *ret_bytes)
{
	uint32_t inner_pid;
	size_t len;
	char *text;
	uid_t uid;
	int fd;

	*ret_bytes = 0;
	if (!process_identity(proc_dir, pid, &inner_pid, &uid))
		return NULL;
	fd = open_trusted(proc_dir, pid, uid, path, known_bytes, ret_bytes);
	if (fd < 0)
		return NULL;
	text = jitdump_read(fd, &len);
	close(fd);
	return text ? perf_map_parse(text, len) : NULL;
}
