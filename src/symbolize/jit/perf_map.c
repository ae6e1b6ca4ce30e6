/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/jit/perf_map.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/opener/opener.h"
#include "base/opener/parser.h"
#include "base/order.h"
#include "base/proc/status.h"
#include "symbolize/process/fileopen.h"

#define LINES_MAX (2u << 20)
/* Limit of preceding entries to check for one that contains the address; functions rarely overlap. */
#define OVERLAP_MAX 64
#define STATUS_MAX_BYTES 16384

struct line {
	uint64_t start;
	uint32_t size;
	uint32_t name;
	uint32_t number;	/* the later one wins */
};

struct perf_map {
	GArray *lines;	/* struct line, by start */
	char *text;	/* contains NUL-terminated names */
	size_t text_bytes;
	size_t *account;
};

ORDER(line_compare, struct line, ORDER_LOW(start) ORDER_LOW(number))

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
 * .NET: "instance void [library] Shop.Till::Pay(int32)[Tier1]". A method is compiled several times, so only
 * "Shop.Till::Pay" is kept. NULL: not of this form.
 */
static char *method_of_dotnet(char *name, char *end)
{
	char *method = strstr(name, "::"), *at = method, *arguments;

	while (at > name && (at[-1] != ' ' || at - name < 3 || at[-2] != ']'))
		at--;
	arguments = at > name ? strchr(method, '(') : NULL;
	if (!arguments || end[-1] != ']' || !memchr(name, '[', (size_t)(at - name)))
		return NULL;
	*arguments = '\0';
	return at;
}

/* Erlang: "$shop:pay/1". */
static char *function_of_erlang(char *name, const char *end)
{
	return name[0] == '$' && memchr(name, ':', (size_t)(end - name)) && memchr(name, '/', (size_t)(end - name))
		       ? name + 1
		       : NULL;
}

/*
 * HotSpot: "void com.example.Shop.pay(long)", with the return type in front, which rules and people do not expect in
 * a name. Other compilers' names have other characters there: "py::f:/a.py", "LazyCompile:~f /a.js".
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
		if (!is_java_type(*at) && !strchr("<>/+-", *at))	/* <init>, and addresses of hidden classes */
			return name;
	}
	return has_class && at < end ? method : name;
}

static bool parse_line(char *text, char *p, char *end, struct line *ret)
{
	uint64_t size;
	char *method;

	if (!parse_number(&p, &ret->start) || *p++ != ' ' || !parse_number(&p, &size) || *p++ != ' ')
		return false;
	while (end > p && (end[-1] == '\r' || end[-1] == ' '))
		*--end = 0;
	if (p >= end || !*p || !size || size > UINT32_MAX || ret->start > UINT64_MAX - size)
		return false;
	for (char *c = p; c < end; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';	/* control characters would break lines and terminals */
	ret->size = (uint32_t)size;
	method = method_of_dotnet(p, end);
	if (!method)
		method = function_of_erlang(p, end);
	ret->name = (uint32_t)((method ? method : behind_return_type(p, end)) - text);
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

/* ---- transfer from the parser: both processes run the same build, so numbers are in native format */

struct head {
	uint64_t line_cnt, names_bytes;
};

void perf_map_write(const struct perf_map *m, GByteArray *into)
{
	struct head h = { .line_cnt = m->lines->len };
	guint at = into->len;

	g_byte_array_append(into, (const guint8 *)&h, sizeof(h));
	for (guint i = 0; i < m->lines->len; i++) {
		struct line line = g_array_index(m->lines, struct line, i);
		size_t bytes = strlen(m->text + line.name) + 1;

		line.name = (uint32_t)h.names_bytes;
		h.names_bytes += bytes;
		g_byte_array_append(into, (const guint8 *)&line, sizeof(line));
	}
	for (guint i = 0; i < m->lines->len; i++) {
		const char *name = m->text + g_array_index(m->lines, struct line, i).name;

		g_byte_array_append(into, (const guint8 *)name, (guint)strlen(name) + 1);
	}
	memcpy(into->data + at, &h, sizeof(h));
}

/* Checks what perf_map_find() and terminals rely on. */
static bool is_sound(const struct perf_map *m)
{
	const struct line *lines = (const struct line *)(const void *)m->lines->data;

	if (m->text_bytes && m->text[m->text_bytes - 1])
		return false;
	for (size_t i = 0; i < m->text_bytes; i++)
		if (m->text[i] && ((unsigned char)m->text[i] < ' ' || m->text[i] == 0x7f))
			return false;
	for (guint i = 0; i < m->lines->len; i++)
		if (lines[i].name >= m->text_bytes || !m->text[lines[i].name] || !lines[i].size ||
		    lines[i].start > UINT64_MAX - lines[i].size || (i && line_compare(&lines[i - 1], &lines[i]) > 0))
			return false;
	return true;
}

struct perf_map *perf_map_from_bytes(const void *bytes, size_t len)
{
	struct cursor c = { .at = bytes, .end = (const uint8_t *)bytes + len };
	const uint8_t *head = cursor_take(&c, sizeof(struct head)), *lines, *names;
	struct perf_map *m;
	struct head h;

	if (!head)
		return NULL;
	memcpy(&h, head, sizeof(h));
	lines = h.line_cnt <= LINES_MAX ? cursor_take(&c, h.line_cnt * sizeof(struct line)) : NULL;
	names = lines ? cursor_take(&c, h.names_bytes) : NULL;
	if (!names || cursor_left(&c))
		return NULL;
	m = g_new0(struct perf_map, 1);
	m->lines = g_array_sized_new(FALSE, FALSE, sizeof(struct line), (guint)h.line_cnt);
	g_array_append_vals(m->lines, lines, (guint)h.line_cnt);
	m->text = g_memdup2(names, h.names_bytes);
	m->text_bytes = h.names_bytes;
	if (is_sound(m))
		return m;
	perf_map_free(m);
	return NULL;
}

/* the format of the file, as the question to the parser */
enum kind { KIND_PERF_MAP, KIND_JITDUMP };

static struct perf_map *read_file(int fd, enum kind kind)
{
	size_t len;
	char *text = kind == KIND_JITDUMP ? jitdump_read(fd, &len) : file_read_fd(fd, PERF_MAP_MAX_BYTES, &len);

	return text ? perf_map_parse(text, len) : NULL;
}

bool perf_map_parse_file(int fd, const void *question, size_t question_bytes, GByteArray *into)
{
	uint8_t kind = question_bytes == 1 ? *(const uint8_t *)question : KIND_PERF_MAP;
	struct perf_map *m = read_file(fd, kind);

	if (!m)
		return false;
	perf_map_write(m, into);
	perf_map_free(m);
	return true;
}

/* Closes fd. */
static struct perf_map *read_and_close(int fd, uint8_t kind)
{
	struct perf_map *m;

	if (parser_is_apart()) {
		g_autoptr(GByteArray) a = parser_ask(PARSER_JIT, fd, &kind, sizeof(kind));

		m = a ? perf_map_from_bytes(a->data, a->len) : NULL;
	} else {
		m = read_file(fd, kind);
	}
	close(fd);
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

bool perf_map_renames(const struct perf_map *before, const struct perf_map *now)
{
	const struct line *lines = (const struct line *)(const void *)before->lines->data;
	uint64_t offset;

	for (guint i = 0; i < before->lines->len; i++) {
		const char *old = perf_map_find(before, lines[i].start, &offset);
		const char *name = perf_map_find(now, lines[i].start, &offset);

		if (name && strcmp(name, old) != 0)
			return true;
	}
	return false;
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
	g_autofree char *status = opener_text(path, STATUS_MAX_BYTES, &len);

	return status && perf_map_parse_status(status, ret_inner_pid, ret_uid);
}

/* Opens path as process pid sees it, if it can be trusted and is not the known version; else -1. */
static int open_trusted(const char *proc_dir, uint32_t pid, uid_t uid, const char *path,
			struct perf_map_version known, struct perf_map_version *ret)
{
	struct stat st;
	int held = file_hold_in_process_nolinks(proc_dir, pid, path, &st), fd = -1;

	if (held < 0)
		return -1;
	if (st.st_uid == 0 || st.st_uid == uid) {
		ret->bytes = (uint64_t)st.st_size;
		ret->mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
		if (ret->bytes && (ret->bytes != known.bytes || ret->mtime_ns != known.mtime_ns))
			fd = opener_read_held(held);
	}
	close(held);
	return fd;
}

struct perf_map *perf_map_read(const char *proc_dir, uint32_t pid, struct perf_map_version known,
			       struct perf_map_version *ret)
{
	g_autofree char *path = NULL;
	uint32_t inner_pid;
	uid_t uid;
	int fd;

	*ret = (struct perf_map_version){ 0 };
	if (!process_identity(proc_dir, pid, &inner_pid, &uid))
		return NULL;
	path = g_strdup_printf("/tmp/perf-%" PRIu32 ".map", inner_pid);
	fd = open_trusted(proc_dir, pid, uid, path, known, ret);
	return fd < 0 ? NULL : read_and_close(fd, KIND_PERF_MAP);
}

struct perf_map *perf_map_read_jitdump(const char *proc_dir, uint32_t pid, const char *path,
				       struct perf_map_version known, struct perf_map_version *ret)
{
	uint32_t inner_pid;
	uid_t uid;
	int fd;

	*ret = (struct perf_map_version){ 0 };
	if (!process_identity(proc_dir, pid, &inner_pid, &uid))
		return NULL;
	fd = open_trusted(proc_dir, pid, uid, path, known, ret);
	return fd < 0 ? NULL : read_and_close(fd, KIND_JITDUMP);
}
