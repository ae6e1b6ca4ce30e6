/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/text/folded.h"

#include <string.h>

#include "analyse/label.h"
#include "analyse/strset.h"
#include "base/hash.h"
#include "base/module.h"
#include "base/order.h"
#include "render/json/write.h"
#include "explain/text.h"

struct folded_names {
	const struct profile *profile;
	GPtrArray *frames;	/* char *, one per frame */
	GArray *path;		/* scratch */
};

bool folded_unit_parse(const char *name, enum folded_unit *ret_unit)
{
	static const char *const names[FOLDED_UNITS] =
		{ [FOLDED_US] = "us", [FOLDED_NS] = "ns", [FOLDED_MS] = "ms", [FOLDED_S] = "s" };

	for (unsigned i = 0; i < FOLDED_UNITS; i++) {
		if (g_strcmp0(name, names[i]) == 0) {
			*ret_unit = (enum folded_unit)i;
			return true;
		}
	}
	return false;
}

/* Escapes names that look like the separators "-" and "--" or like a comment. */
void folded_append_name(GString *s, const char *name)
{
	gsize from = s->len;

	if (!name)
		return;
	if (strcmp(name, "-") == 0 || strcmp(name, "--") == 0 || *name == '#')
		g_string_append_printf(s, "\\x%02x", (unsigned)*name++);
	text_safe(s, name);
	for (char *p = s->str + from; *p; p++) {
		if (*p == ';')
			*p = ':';
	}
}

static void append_line(GString *s, const struct frame *f)
{
	if (!f->file)
		return;
	g_string_append_c(s, ':');
	folded_append_name(s, module_base_name(f->file));
	if (f->line)
		g_string_append_printf(s, ":%u", f->line);
}

static const char *annotation(const struct frame *f)
{
	if (f->kind == FRAME_KERNEL)
		return "_[k]";
	if (f->is_inline)
		return "_[i]";
	return g_strcmp0(f->module, "[jit]") == 0 ? "_[j]" : "";
}

struct folded_names *folded_names_new(const struct profile *p, const struct folded_options *options)
{
	struct folded_names *names = g_new0(struct folded_names, 1);
	g_autoptr(GPtrArray) labels = label_all(p);
	g_autoptr(GString) s = g_string_new(NULL);

	names->profile = p;
	names->path = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	names->frames = g_ptr_array_new_full(labels->len, g_free);
	for (unsigned i = 0; i < labels->len; i++) {
		g_string_truncate(s, 0);
		folded_append_name(s, g_ptr_array_index(labels, i));
		if (options && options->lines)
			append_line(s, profile_get_frame(p, i));
		if (options && options->annotate)
			g_string_append(s, annotation(profile_get_frame(p, i)));
		g_ptr_array_add(names->frames, g_strndup(s->str, s->len));
	}
	return names;
}

FREES(folded_names_free, struct folded_names, names, g_ptr_array_unref(names->frames); g_array_unref(names->path))

void folded_append_stack(GString *s, struct folded_names const *names, uint32_t node)
{
	const struct profile *p = names->profile;

	g_array_set_size(names->path, 0);
	for (uint32_t n = node; n; n = profile_get_node(p, n)->parent)
		g_array_append_val(names->path, profile_get_node(p, n)->frame);
	for (unsigned i = names->path->len; i-- > 0;) {
		g_string_append_c(s, ';');
		g_string_append(s, g_ptr_array_index(names->frames, g_array_index(names->path, uint32_t, i)));
	}
}

/* A line before rounding. */
struct line {
	char *text;
	uint64_t weight, count;
};

struct id_sum {
	uint64_t weight, count;
};

/*
 * Sums by ids first, then by text: most waits differ only by state, flags and thread, and writing their stacks
 * repeatedly would dominate.
 */
struct id_key {
	uint32_t who, user, kernel;
};

HASH_BYTES(id, struct id_key)

/* Maps each thread to an id that is equal for threads with the same first frame. */
static struct strset *who_names(const struct profile *p, const struct folded_options *options, uint32_t *who)
{
	struct strset *names = strset_new();
	g_autoptr(GString) s = g_string_new(NULL);

	EACH_ROW(i, const struct thread, t, p->threads) {
		g_string_truncate(s, 0);
		folded_append_name(s, t->comm);
		if (options->by_thread)
			g_string_append_printf(s, "-%u/%u", t->pid, t->tid);
		who[i] = strset_id(names, s->str);
	}
	return names;
}

static GHashTable *sum_by_ids(const struct profile *p, const struct selection *selection, enum weight weight,
			      const uint32_t *who)
{
	GHashTable *sums = g_hash_table_new_full(id_hash, id_equal, g_free, g_free);

	EACH_ROW(i, const struct wait, w, p->waits) {
		struct id_key key = { who[w->thread], w->user, w->kernel };
		uint64_t add = weight_of_wait(w, weight);

		if (!add || (selection && !selection->waits[i]))
			continue;
		struct id_sum *sum = g_hash_table_lookup(sums, &key);
		if (!sum) {
			struct id_key *own = g_new(struct id_key, 1);

			*own = key;
			sum = g_new0(struct id_sum, 1);
			g_hash_table_insert(sums, own, sum);
		}
		sum->weight += add;
		sum->count += w->count;
	}
	return sums;
}

ORDER(line_compare, struct line, ORDER_TEXT(text))

static GArray *lines_of(GHashTable *sums, const struct folded_names *names, const struct strset *who_texts,
			bool delimiter)
{
	GArray *lines = g_array_new(FALSE, FALSE, sizeof(struct line));
	g_autoptr(GString) s = g_string_new(NULL);
	GHashTableIter iter;
	gpointer k, sum;

	g_hash_table_iter_init(&iter, sums);
	while (g_hash_table_iter_next(&iter, &k, &sum)) {
		const struct id_key *key = k;

		g_string_assign(s, strset_get(who_texts, key->who));
		folded_append_stack(s, names, key->user);
		if (delimiter && key->kernel)
			g_string_append_len(s, ";-", 2);
		folded_append_stack(s, names, key->kernel);
		struct line line = { g_strndup(s->str, s->len), ((struct id_sum *)sum)->weight,
				     ((struct id_sum *)sum)->count };
		g_array_append_val(lines, line);
	}
	g_array_sort(lines, line_compare);
	return lines;
}

const char *folded_frame_name(const struct folded_names *names, uint32_t frame)
{
	return g_ptr_array_index(names->frames, frame);
}

uint64_t folded_value(uint64_t weight, const struct folded_options *options)
{
	static const uint64_t per_unit[FOLDED_UNITS] = {
		[FOLDED_US] = 1000, [FOLDED_NS] = 1, [FOLDED_MS] = 1000000, [FOLDED_S] = 1000000000,
	};
	uint64_t per = options->weight == WEIGHT_COUNT ? 1 : per_unit[options->unit];

	return weight / per + (per > 1 && weight % per >= per / 2);
}

/* A number as last word would be read as the first of two columns. */
static void hide_number(GString *out)
{
	gsize at = out->len;

	while (at && (g_ascii_isdigit(out->str[at - 1]) || out->str[at - 1] == '.'))
		at--;
	if (at && at < out->len && out->str[at - 1] == ' ')
		out->str[at - 1] = '_';
}

/* Different ids may give the same line: unnamed frames, or names that become equal when cut or escaped. */
static void write_lines(GString *out, GArray *lines, const struct folded_options *options,
			struct folded_result *result)
{
	for (unsigned i = 0; i < lines->len;) {
		const char *text = g_array_index(lines, struct line, i).text;
		uint64_t weight = 0, count = 0;

		for (; i < lines->len && strcmp(g_array_index(lines, struct line, i).text, text) == 0; i++) {
			weight += g_array_index(lines, struct line, i).weight;
			count += g_array_index(lines, struct line, i).count;
		}
		uint64_t value = folded_value(weight, options);
		if (!value) {
			result->dropped_lines_cnt++;
			result->dropped += weight;
			continue;
		}
		result->lines_cnt++;
		g_string_append(out, *text ? text : "[unknown]");
		if (!options->two_columns)
			hide_number(out);
		g_string_append_c(out, ' ');
		if (options->two_columns) {
			json_digits(out, count);
			g_string_append_c(out, ' ');
		}
		json_digits(out, value);
		g_string_append_c(out, '\n');
	}
}

void folded_render(GString *out, const struct profile *p, const struct selection *selection,
		   const struct folded_options *options, struct folded_result *ret_result)
{
	g_autofree uint32_t *who = g_new0(uint32_t, p->threads->len + 1);
	struct strset *who_texts = who_names(p, options, who);
	g_autoptr(GHashTable) sums = sum_by_ids(p, selection, options->weight, who);
	struct folded_names *names = folded_names_new(p, options);
	g_autoptr(GArray) lines = lines_of(sums, names, who_texts, options->delimiter);
	struct folded_result result = { 0 };

	write_lines(out, lines, options, &result);
	for (unsigned i = 0; i < lines->len; i++)
		g_free(g_array_index(lines, struct line, i).text);
	folded_names_free(names);
	strset_free(who_texts);
	if (ret_result)
		*ret_result = result;
}
