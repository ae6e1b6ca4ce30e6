/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/io/record_part.h"

#include <string.h>

/* Finds the begin of each name. The last one may lack its NUL. */
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
