/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "io/file_path.h"

#include <inttypes.h>
#include <string.h>

/* Where each name begins; the last one may lack its zero byte. */
static guint split(const char *names, gsize bytes, const char **ret, guint max)
{
	guint cnt = 0;

	for (gsize at = 0; at < bytes && cnt < max;) {
		const char *end = memchr(names + at, 0, bytes - at);

		if (!end)
			break;
		ret[cnt++] = names + at;
		at = (gsize)(end - names) + 1;
	}
	return cnt;
}

void file_path_append(GString *s, const struct file_rec_op *rec, const char *names, const char *given)
{
	const char *name[FILE_PATH_STEPS + 1];
	guint cnt = split(names, rec->path_bytes, name, G_N_ELEMENTS(name));
	gsize from = s->len;

	if (rec->flags & FILE_OP_GIVEN && !rec->given && cnt)
		given = name[--cnt];
	while (given && given[0] == '.' && given[1] == '/')
		given += 2;
	if (given && *given == '/') {
		g_string_append(s, given);
		return;
	}
	if (rec->flags & FILE_OP_CUT)
		g_string_append(s, "...");
	for (guint i = cnt; i-- > 0;) {
		if (s->len > from || rec->flags & FILE_OP_ABSOLUTE)
			g_string_append_c(s, '/');
		g_string_append(s, name[i]);
	}
	if (s->len == from && rec->flags & FILE_OP_ABSOLUTE && !(given && *given))
		g_string_append_c(s, '/');
	if (given && *given) {
		if (s->len > from || rec->flags & FILE_OP_ABSOLUTE)
			g_string_append_c(s, '/');
		g_string_append(s, given);
	} else if (rec->flags & FILE_OP_DELETED && s->len > from) {
		g_string_append(s, " (deleted)");
	}
}

#define MINOR_BITS 20	/* include/linux/kdev_t.h */
#define FIELDS 5

/* Octal, as \040. */
static void append_unescaped(GString *s, const char *text)
{
	for (; *text; text++) {
		if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] >= '0' && text[2] <= '7' &&
		    text[3] >= '0' && text[3] <= '7') {
			g_string_append_c(s, (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + text[3] - '0'));
			text += 3;
		} else {
			g_string_append_c(s, *text);
		}
	}
}

void file_path_mount(GString *path, const char *mountinfo, uint32_t dev)
{
	g_auto(GStrv) lines = g_strsplit(mountinfo ? mountinfo : "", "\n", -1);
	g_autofree char *number = g_strdup_printf("%" PRIu32 ":%" PRIu32, dev >> MINOR_BITS,
						  dev & ((1U << MINOR_BITS) - 1));

	for (char **line = lines; *line; line++) {
		g_auto(GStrv) field = g_strsplit(*line, " ", FIELDS + 1);	/* id, parent's, device, root, where */
		g_autoptr(GString) at = g_string_new(NULL);

		if (g_strv_length(field) < FIELDS || strcmp(field[2], number) != 0 || strcmp(field[3], "/") != 0)
			continue;
		append_unescaped(at, field[4]);
		if (!g_str_has_suffix(at->str, "/"))
			g_string_append_c(at, '/');
		g_string_prepend_len(path, at->str, (gssize)at->len);
		return;
	}
}
