/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/reason/match.h"

#include <string.h>

#include "analyse/label.h"
#include "analyse/locks.h"
#include "analyse/plumbing.h"
#include "base/module.h"

/* Backtracking to the last star suffices: everything before it was matched as early as possible. */
bool glob_match(const char *pattern, const char *text, size_t text_len)
{
	const char *end = text + text_len, *star = NULL, *retry = NULL;

	while (text < end) {
		if (*pattern == '*') {
			star = pattern++;
			retry = text;
		} else if (*pattern && (*pattern == '?' || *pattern == *text)) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

#define WHEEL_HASH_CHARS 8
#define TEXT_BYTES_MAX 1024	/* of a name: longer ones are truncated */

/* The patterns of a field, by how they are looked up. */
struct field_index {
	GHashTable *plain;	/* text -> id + 1 */
	GArray *prefix[256];	/* uint32_t, by first byte: "foo*" */
	GArray *other;		/* uint32_t: with a star or question mark elsewhere */
};

struct matcher {
	const struct rule_set *set;
	const struct profile *profile;
	struct field_index fields[RULE_FIELD_COUNT];
	GArray *hits;		/* uint32_t: ids for each frame, concatenated */
	uint32_t *first, *cnt;	/* by frame: range in hits; cnt UINT32_MAX: not computed yet */
	GArray *found;		/* uint32_t: of the last matcher_mark_text() */
	GHashTable *modules;	/* const char * -> GArray of ids */
	uint32_t *marked;	/* by pattern: the question in which it was last marked */
	uint32_t question;
};

static void index_pattern(struct field_index *f, const char *text, uint32_t id)
{
	const char *special = strpbrk(text, "*?");
	GArray **list = &f->other;

	if (!special) {
		g_hash_table_insert(f->plain, (gpointer)text, GUINT_TO_POINTER(id + 1));
		return;
	}
	if (special > text && strcmp(special, "*") == 0)
		list = &f->prefix[(unsigned char)*text];
	if (!*list)
		*list = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g_array_append_val(*list, id);
}

struct matcher *matcher_new(const struct rule_set *set, const struct profile *p)
{
	struct matcher *m = g_new0(struct matcher, 1);

	m->set = set;
	m->profile = p;
	for (unsigned i = 0; i < RULE_FIELD_COUNT; i++)
		m->fields[i].plain = g_hash_table_new(g_str_hash, g_str_equal);
	EACH_ROW(i, const struct rule_pattern, pattern, set->patterns)
		index_pattern(&m->fields[pattern->field], pattern->text, i);
	m->hits = g_array_sized_new(FALSE, FALSE, sizeof(uint32_t), 64);	/* data is never NULL */
	m->found = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	m->first = g_new0(uint32_t, (gsize)p->frames->len + 1);
	m->cnt = g_new(uint32_t, (gsize)p->frames->len + 1);
	memset(m->cnt, 0xff, ((gsize)p->frames->len + 1) * sizeof(*m->cnt));
	m->modules = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_array_unref);
	m->marked = g_new0(uint32_t, (gsize)set->patterns->len + 1);
	return m;
}

void matcher_free(struct matcher *m)
{
	if (!m)
		return;
	for (unsigned i = 0; i < RULE_FIELD_COUNT; i++) {
		g_hash_table_unref(m->fields[i].plain);
		for (unsigned b = 0; b < 256; b++)
			g_clear_pointer(&m->fields[i].prefix[b], g_array_unref);
		g_clear_pointer(&m->fields[i].other, g_array_unref);
	}
	g_array_unref(m->hits);
	g_array_unref(m->found);
	g_hash_table_unref(m->modules);
	g_free(m->first);
	g_free(m->cnt);
	g_free(m->marked);
	g_free(m);
}

static void find_in(const struct matcher *m, const GArray *list, const char *text, size_t len, GArray *ret)
{
	for (guint i = 0; list && i < list->len; i++) {
		uint32_t id = g_array_index(list, uint32_t, i);

		if (glob_match(g_array_index(m->set->patterns, struct rule_pattern, id).text, text, len))
			g_array_append_val(ret, id);
	}
}

/* Appends ids of the field's patterns that match the text. */
static void find(const struct matcher *m, enum rule_field field, const char *text, GArray *ret)
{
	const struct field_index *f = &m->fields[field];
	size_t len = strnlen(text, TEXT_BYTES_MAX);
	uint32_t plain = GPOINTER_TO_UINT(g_hash_table_lookup(f->plain, text));

	if (plain) {
		uint32_t id = plain - 1;
		g_array_append_val(ret, id);
	}
	find_in(m, f->prefix[(unsigned char)*text], text, len, ret);
	find_in(m, f->other, text, len, ret);
}

char *matcher_plain_name(const struct frame *f)
{
	if (!f->name || object_is_frame(f))
		return NULL;
	if (f->kind == FRAME_KERNEL)
		return plumbing_plain_name(f->name);
	const char *at = strchr(f->name, '@');
	g_autofree char *cut = at && at != f->name ? g_strndup(f->name, (gsize)(at - f->name)) : g_strdup(f->name);
	return function_plain_name(cut);
}

/* Python wheels bundle libraries with a hash in the name: "libpq-e8a033dd.so.5.16" is "libpq.so.5.16". */
static char *module_plain_name(const char *module)
{
	const char *base = module_base_name(module), *end = strstr(base, ".so"), *hash;

	for (hash = end; hash && hash > base && g_ascii_isxdigit(hash[-1]); hash--)
		;
	if (!end || end - hash != WHEEL_HASH_CHARS || hash - base < 2 || hash[-1] != '-')
		return g_strdup(base);
	return g_strdup_printf("%.*s%s", (int)(hash - 1 - base), base, end);
}

static const GArray *module_hits(struct matcher *m, const char *module)
{
	GArray *ids = g_hash_table_lookup(m->modules, module);

	if (!ids) {
		g_autofree char *name = module_plain_name(module);

		ids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
		find(m, RULE_MODULE, name, ids);
		g_hash_table_insert(m->modules, (gpointer)module, ids);
	}
	return ids;
}

/*
 * Rust's new mangling of a method, "<a::Mutex<T>>::lock", as spelled in rules: "a::Mutex<T>::lock". NULL: not of that
 * form.
 */
static char *method_without_brackets(const char *name)
{
	int depth = 0;

	for (const char *c = name; *name == '<' && *c; c++) {
		depth += *c == '<';
		depth -= *c == '>' && c[-1] != '-';
		if (depth == 1 && g_str_has_prefix(c, " as "))
			return NULL;	/* a trait's method */
		if (!depth)
			return g_str_has_prefix(c, ">::") ?
				       g_strdup_printf("%.*s%s", (int)(c - name - 1), name + 1, c + 1) :
				       NULL;
	}
	return NULL;
}

static void ask_frame(struct matcher *m, uint32_t frame)
{
	const struct frame *f = profile_get_frame(m->profile, frame);
	g_autofree char *name = matcher_plain_name(f), *method = name ? method_without_brackets(name) : NULL;

	m->first[frame] = m->hits->len;
	if (name)
		find(m, f->kind == FRAME_KERNEL ? RULE_KERNEL : RULE_USER, name, m->hits);
	if (method)
		find(m, RULE_USER, method, m->hits);
	if (f->kind == FRAME_USER && f->module) {
		const GArray *ids = module_hits(m, f->module);
		g_array_append_vals(m->hits, ids->data, ids->len);
	}
	m->cnt[frame] = m->hits->len - m->first[frame];
}

void matcher_begin(struct matcher *m)
{
	m->question++;
}

const uint32_t *matcher_frame(struct matcher *m, uint32_t frame, uint32_t *ret_cnt)
{
	if (m->cnt[frame] == UINT32_MAX)
		ask_frame(m, frame);
	*ret_cnt = m->cnt[frame];
	return (const uint32_t *)(void *)m->hits->data + m->first[frame];
}

/* Kernel, or user and module. */
static void mark_frame(struct matcher *m, uint32_t frame)
{
	uint32_t cnt;
	const uint32_t *ids = matcher_frame(m, frame, &cnt);

	for (uint32_t i = 0; i < cnt; i++)
		m->marked[ids[i]] = m->question;
}

void matcher_mark_path(struct matcher *m, uint32_t node)
{
	for (uint32_t n = node; n; n = profile_get_node(m->profile, n)->parent)
		mark_frame(m, profile_get_node(m->profile, n)->frame);
}

void matcher_mark_text(struct matcher *m, enum rule_field field, const char *text)
{
	if (!text)
		return;
	g_array_set_size(m->found, 0);
	find(m, field, text, m->found);
	for (guint i = 0; i < m->found->len; i++)
		m->marked[g_array_index(m->found, uint32_t, i)] = m->question;
}

bool matcher_agrees(const struct matcher *m, const struct rule *rule)
{
	EACH_ROW(i, const struct rule_condition, c, rule->conditions) {
		bool any = false;

		for (guint k = 0; k < c->patterns->len && !any; k++)
			any = m->marked[g_array_index(c->patterns, uint32_t, k)] == m->question;
		if (any == c->is_not && !c->is_before)
			return false;
	}
	return true;
}
