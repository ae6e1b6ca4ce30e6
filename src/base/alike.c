/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/text.h"

#include <string.h>

#define WORD_MAX 128
#define WORD_LEAST 4	/* shorter words are similar by chance */

struct ranked {
	const char *name;
	unsigned rank;
};

/* The last word, without template arguments and parameters: "A::f<int>(int)" has "f". False: too long to compare. */
static bool last_word(const char *name, char word[WORD_MAX])
{
	const char *end = strchr(name, '(');
	size_t len = end && end != name ? (size_t)(end - name) : strlen(name), from;
	int depth = 0;

	if (len && name[len - 1] == '>') {
		while (len-- > 0) {
			depth += (name[len] == '>') - (name[len] == '<');
			if (!depth)
				break;
		}
		len = depth ? 0 : len;
	}
	for (from = len; from && (g_ascii_isalnum(name[from - 1]) || name[from - 1] == '_'); from--)
		;
	if (len - from >= WORD_MAX)
		return false;
	memcpy(word, name + from, len - from);
	word[len - from] = 0;
	return len > from;
}

/* Edit distance: insertions, deletions and changes; a transposition counts as two. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[WORD_MAX];
	size_t a_len = strlen(a), b_len = strlen(b);

	for (size_t j = 0; j <= b_len; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; i <= a_len; i++) {
		unsigned corner = row[0];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_len; j++) {
			unsigned changed = corner + (a[i - 1] != b[j - 1]);

			corner = row[j];
			row[j] = MIN(changed, MIN(row[j], row[j - 1]) + 1);
		}
	}
	return row[b_len];
}

unsigned alike_rank(const char *typed, const char *name)
{
	char a[WORD_MAX], b[WORD_MAX];
	size_t a_len, b_len, most;
	unsigned apart;

	if (!last_word(typed, a) || !last_word(name, b))
		return ALIKE_NOT;
	if (strcmp(a, b) == 0)
		return ALIKE_SAME_WORD;
	if (g_ascii_strcasecmp(a, b) == 0)
		return ALIKE_SAME_WORD + 1;
	a_len = strlen(a);
	b_len = strlen(b);
	most = MAX(a_len / 4, 2);
	if (a_len < WORD_LEAST)
		return ALIKE_NOT;
	if (strstr(b, a))
		return ALIKE_SAME_WORD + 2;
	if (a_len > b_len + most || b_len > a_len + most)
		return ALIKE_NOT;
	apart = distance(a, b);
	return apart <= most ? ALIKE_SAME_WORD + 2 + apart : ALIKE_NOT;
}

static gint most_alike_first(gconstpointer a, gconstpointer b)
{
	const struct ranked *x = a, *y = b;
	size_t x_len = strlen(x->name), y_len = strlen(y->name);

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x_len != y_len)
		return x_len < y_len ? -1 : 1;
	return strcmp(x->name, y->name);
}

char *alike_list(const GPtrArray *names, const char *typed, unsigned worst_rank, unsigned most)
{
	g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(struct ranked));
	const char *last = NULL;
	GString *text;
	unsigned cnt = 0;

	for (guint i = 0; i < names->len; i++) {
		struct ranked one = { names->pdata[i], alike_rank(typed, names->pdata[i]) };

		if (one.rank != ALIKE_NOT && one.rank <= worst_rank)
			g_array_append_val(found, one);
	}
	if (!found->len)
		return NULL;
	g_array_sort(found, most_alike_first);
	text = g_string_new(NULL);
	for (guint i = 0; i < found->len && cnt < most; i++) {
		const char *name = g_array_index(found, struct ranked, i).name;

		if (last && strcmp(last, name) == 0)
			continue;
		g_string_append_printf(text, "%s%s", cnt++ ? ", " : "", name);
		last = name;
	}
	return g_string_free(text, FALSE);
}
