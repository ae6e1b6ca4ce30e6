/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/each.h"
#include "base/find.h"
#include "symbolize/names/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/opener/opener.h"
#include "base/order.h"

/* A function extends to the next one, but before a gap (end of a module, unlisted memory) at most this far. */
#define REACH_BYTES (64 << 10)
#define READ_STEP (1 << 20)
#define FILE_MAX_BYTES (256 << 20)

static bool is_text(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W' || type == 'i';
}

static bool is_data(char type)
{
	return type == 'd' || type == 'D' || type == 'b' || type == 'B';
}

static bool ends_as(const char *name, size_t len, const char *const *ends)
{
	for (; *ends; ends++) {
		size_t n = strlen(*ends);

		if (len >= n && !memcmp(name + len - n, *ends, n))
			return true;
	}
	return false;
}

static bool ends_as_lock(const char *name, size_t len)
{
	return ends_as(name, len, (const char *const[]){ "mutex", "sem", "lock", NULL });
}

bool kallsyms_is_lock(const char *name)
{
	return ends_as_lock(name, strlen(name));
}

/* The name may be followed by that of a module. */
static bool is_lock(const char *name, const char *line_end)
{
	const char *end = line_end[-1] == ']' ? memchr(name, '\t', (size_t)(line_end - name)) : line_end;

	return end && ends_as_lock(name, (size_t)(end - name));
}

/* Symbols for sections or the padding before a function. */
static bool is_marker(const char *name, size_t len)
{
	return g_str_has_prefix(name, "__pfx_") || !strcmp(name, "_text") ||
	       ends_as(name, len, (const char *const[]){ "_start", "_end", "_begin", "_stext", "_etext", "_sinittext",
							  "_einittext", NULL });
}

/* A symbol after the last function of a section, without code. */
static bool is_end_marker(const char *name, size_t len)
{
	return !strcmp(name, "_etext") || !strcmp(name, "_einittext") ||
	       (len > 9 && name[0] == '_' && !strcmp(name + len - 9, "_text_end"));
}

static uint8_t name_rank(char type, const char *name, size_t len)
{
	unsigned rank = type == 'T' ? SYMTAB_GLOBAL : type == 'W' || type == 'w' ? SYMTAB_WEAK : SYMTAB_LOCAL;

	if (name[0] == '_' && is_end_marker(name, len))
		return SYMTAB_BOUND;
	rank += symtab_underscores(name) * 2;
	if (g_str_has_prefix(name, "__ia32_"))
		rank++;	/* the 64-bit alias is clearer */
	if (name[0] == '_' || name[len - 1] == 't' || name[len - 1] == 'd')
		rank += is_marker(name, len) ? SYMTAB_LOCAL + 16 : 0;	/* a static function there is more useful */
	return (uint8_t)rank;
}

/* Reads hexadecimal digits; returns the position of the first other character. */
static char *parse_hex(char *p, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (;; p++) {
		unsigned char c = (unsigned char)*p;

		if (c >= '0' && c <= '9')
			value = value << 4 | (c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (c - 'a' + 10);
		else
			break;
	}
	*ret_value = value;
	return p;
}

/*
 * Parses a NUL-terminated line, "ffffffff81000000 t name\t[module]". Appends "name\0" and, for symbols of modules,
 * "[module]\0" at *out. That never overtakes the input, and since no name begins with '[', no pointer to the module
 * is needed.
 */
static void parse_line(char *line, char *line_end, char *names, char **out, GArray *raw, GArray *locks,
		       bool *any_address)
{
	struct symtab_raw r = { .end = UINT64_MAX };
	char *p = parse_hex(line, &r.addr), *name, *tab, *to = *out;
	size_t len;

	if (p == line || line_end - p < 4 || p[0] != ' ' || p[2] != ' ')
		return;
	if (is_data(p[1]) && is_lock(p + 3, line_end))
		raw = locks;
	else if (!is_text(p[1]))
		return;
	if (!r.addr)
		return;
	*any_address = true;
	name = p + 3;
	tab = memchr(name, '\t', (size_t)(line_end - name));
	len = (size_t)((tab ? tab : line_end) - name);
	if (!len || name[0] == '[')
		return;
	name[len] = 0;
	if (strlen(name) != len)	/* the kernel writes no NUL */
		return;
	r.rank = name_rank(p[1], name, len);
	r.name = (uint32_t)(to - names);
	memmove(to, name, len + 1);
	to += len + 1;
	if (tab && tab[1] == '[') {
		len = (size_t)(line_end - (tab + 1));
		memmove(to, tab + 1, len + 1);
		to += len + 1;
	}
	*out = to;
	g_array_append_val(raw, r);
}

static const char *entry_module(const struct kallsyms *k, const struct symtab_entry *e)
{
	const char *behind = symtab_name(&k->table, e);

	behind += strlen(behind) + 1;
	return *behind == '[' ? behind : "[kernel]";
}

/* A module's last function must not extend to the next module. */
static void limit_reach(struct kallsyms *k)
{
	EACH_IN(i, struct symtab_entry, e, k->table.entries, k->table.cnt) {
		if (e->size > REACH_BYTES &&
		    (i + 1 == k->table.cnt || strcmp(entry_module(k, e), entry_module(k, e + 1))))
			e->size = REACH_BYTES;
	}
}

/* For the line just appended. */
static void note_bound(struct kallsyms *k, const struct symtab_raw *r, const char *names)
{
	const char *name = names + r->name;

	if (name[0] != '_' || name[1] != '_' || name[2] != 's')
		return;
	if (!strcmp(name, "__sched_text_start"))
		k->sched_start = r->addr;
	else if (!strcmp(name, "__sched_text_end"))
		k->sched_end = r->addr;
}

ORDER(compare_raw, struct symtab_raw, ORDER_LOW(addr))

struct kallsyms *kallsyms_parse(char *text, size_t len)
{
	struct kallsyms *k = g_new0(struct kallsyms, 1);
	g_autoptr(GArray) raw = g_array_sized_new(FALSE, FALSE, sizeof(struct symtab_raw), (guint)(len / 48 + 16));
	char *end = text + len, *out = text, *line, *line_end;
	bool any_address = false;
	guint cnt = 0;

	k->locks = g_array_new(FALSE, FALSE, sizeof(struct symtab_raw));
	for (line = text; line < end; line = line_end + 1) {
		line_end = memchr(line, '\n', (size_t)(end - line));
		if (!line_end)
			line_end = end;
		*line_end = 0;
		parse_line(line, line_end, text, &out, raw, k->locks, &any_address);
		if (raw->len > cnt)
			note_bound(k, &g_array_index(raw, struct symtab_raw, cnt++), text);
	}
	*out++ = 0;	/* after the last name: no module */
	k->hidden = !any_address;
	text = g_realloc(text, (size_t)(out - text));
	symtab_build(&k->table, raw, text, (size_t)(out - text));
	limit_reach(k);
	g_array_sort(k->locks, compare_raw);
	return k;
}

static char *read_whole(int fd, size_t *ret_len, GError **error)
{
	size_t room = 8 << 20, len = 0;
	char *text = g_malloc(room + 2);

	for (;;) {
		const ssize_t n = TEMP_FAILURE_RETRY(read(fd, text + len, room - len));

		if (n < 0 || len > FILE_MAX_BYTES) {
			g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(n < 0 ? errno : EFBIG),
				    "the kernel's symbols cannot be read: %s", g_strerror(n < 0 ? errno : EFBIG));
			g_free(text);
			return NULL;
		}
		if (!n)
			break;
		len += (size_t)n;
		if (room - len < READ_STEP / 4) {
			room += 4 * READ_STEP;
			text = g_realloc(text, room + 2);
		}
	}
	*ret_len = len;
	return text;
}

struct kallsyms *kallsyms_read(const char *path, GError **error)
{
	int fd = opener_open(path, 0);
	size_t len;
	char *text;

	if (fd < 0) {
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
			    "%s cannot be opened: %s", path, g_strerror(errno));
		return NULL;
	}
	text = read_whole(fd, &len, error);
	close(fd);
	return text ? kallsyms_parse(text, len) : NULL;
}

FREES(kallsyms_free, struct kallsyms, k, symtab_clear(&k->table); g_array_unref(k->locks))

bool kallsyms_find(const struct kallsyms *k, uint64_t addr, const char **ret_name, const char **ret_module,
		   uint64_t *ret_symbol_offset)
{
	const struct symtab_entry *e = symtab_find(&k->table, addr);

	if (!e)
		return false;
	*ret_name = symtab_name(&k->table, e);
	*ret_module = entry_module(k, e);
	*ret_symbol_offset = addr - e->addr;
	return true;
}

const char *kallsyms_find_lock(const struct kallsyms *k, uint64_t addr)
{
	const struct symtab_raw key = { .addr = addr };
	guint at;

	return g_array_binary_search(k->locks, &key, compare_raw, &at) ?
		       k->table.names + g_array_index(k->locks, struct symtab_raw, at).name : NULL;
}
