/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <string.h>

#include "analyse/reason/rules.h"
#include "base/each.h"
#include "base/refuse.h"

#define NAME_BYTES_MAX 64
#define TEXT_BYTES_MAX 400 /* of an advice: it must fit on a screen */
#define SHOWN_BYTES 40 /* of a wrong word in a message */

/* Reads line by line; a line is split into words on demand. */
struct parser {
	struct rule_set *set;
	const char *file;
	const char *next, *end; /* position in the text, and its end */
	const char *line, *at, *line_end;
	unsigned line_no;
	struct rule *rule; /* the open block; NULL: none */
	unsigned keys; /* its keys so far, as bits */
	bool is_left_out; /* another file has a rule of that name */
	GError **error;
};

/* Always returns false. */
G_GNUC_PRINTF(3, 4)
static bool wrong(struct parser *p, const char *where, const char *format, ...)
{
	g_autofree char *what = NULL;
	va_list ap;

	va_start(ap, format);
	what = g_strdup_vprintf(format, ap);
	va_end(ap);
	return refuse(p->error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s:%u:%u: %s", p->file, p->line_no,
		      (unsigned)(where - p->line) + 1, what);
}

/* A word for a message: printable and truncated. */
static char *shown(const char *word, gsize len)
{
	g_autofree char *cut = g_strndup(word, MIN(len, SHOWN_BYTES));
	g_autofree char *valid = g_utf8_make_valid(cut, -1);

	for (char *c = valid; *c; c++)
		*c = (unsigned char)*c < ' ' || *c == 127 ? '?' : *c;
	return g_strdup_printf("%s%s", valid, len > SHOWN_BYTES ? ".." : "");
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(struct parser *p)
{
	while (p->at < p->line_end && is_blank(*p->at))
		p->at++;
	if (p->at < p->line_end && *p->at == '#')
		p->at = p->line_end;
}

/* 1: *ret is the next word; 0: end of line; -1: an error was set. */
static int next_word(struct parser *p, GString *ret, const char **ret_where)
{
	g_string_truncate(ret, 0);
	skip_blanks(p);
	*ret_where = p->at;
	if (p->at == p->line_end)
		return 0;
	bool quoted = *p->at == '"';
	for (p->at += quoted; p->at < p->line_end; p->at++) {
		if (quoted ? *p->at == '"' : is_blank(*p->at) || *p->at == '"')
			break;
		if (quoted && *p->at == '\\' && p->at + 1 < p->line_end)
			p->at++;
		g_string_append_c(ret, *p->at);
	}
	if (quoted) {
		if (p->at == p->line_end)
			return wrong(p, *ret_where, "the quotation mark is not closed"), -1;
		p->at++;
	}
	if (p->at < p->line_end && !is_blank(*p->at))
		return wrong(p, p->at, "a blank is wanted between words"), -1;
	if (!ret->len)
		return wrong(p, *ret_where, "an empty word"), -1;
	if (ret->len > RULE_WORD_BYTES_MAX)
		return wrong(p, *ret_where, "a word of more than %d bytes", RULE_WORD_BYTES_MAX), -1;
	return 1;
}

/* The rest of the line unchanged; NULL on error. */
static const char *rest_of_line(struct parser *p)
{
	const char *stop = p->line_end;

	while (p->at < stop && is_blank(*p->at))
		p->at++;
	while (stop > p->at && is_blank(stop[-1]))
		stop--;
	if (stop == p->at) {
		wrong(p, p->at, "a text is wanted");
		return NULL;
	}
	if (stop - p->at > TEXT_BYTES_MAX) {
		wrong(p, p->at, "a text of more than %d bytes", TEXT_BYTES_MAX);
		return NULL;
	}
	g_autofree char *text = g_strndup(p->at, (gsize)(stop - p->at));
	p->at = p->line_end;
	return g_string_chunk_insert_const(p->set->strings, text);
}

static bool nothing_more(struct parser *p)
{
	g_autoptr(GString) word = g_string_new(NULL);
	const char *where;
	int got = next_word(p, word, &where);

	if (got < 0)
		return false;
	if (got > 0) {
		g_autofree char *text = shown(word->str, word->len);
		return wrong(p, where, "\"%s\": nothing more is wanted here", text);
	}
	return true;
}

/* The only word of a line. */
static bool only_word(struct parser *p, GString *word, const char **where, const char *wanted)
{
	int got = next_word(p, word, where);

	if (got < 0)
		return false;
	if (got == 0)
		return wrong(p, *where, "%s is wanted", wanted);
	return nothing_more(p);
}

static uint32_t pattern_id(struct rule_set *set, enum rule_field field, const char *text)
{
	g_autofree char *key = g_strdup_printf("%c%s", 'A' + (int)field, text);
	gpointer id;

	if (g_hash_table_lookup_extended(set->pattern_ids, key, NULL, &id))
		return GPOINTER_TO_UINT(id);
	struct rule_pattern pattern = { .text = g_string_chunk_insert_const(set->strings, text),
					.field = (uint8_t)field };
	g_hash_table_insert(set->pattern_ids, g_steal_pointer(&key), GUINT_TO_POINTER(set->patterns->len));
	g_array_append_val(set->patterns, pattern);
	return set->patterns->len - 1;
}

enum prefix { PREFIX_NONE, PREFIX_NOT, PREFIX_AND, PREFIX_BEFORE, PREFIX_COUNT };
static const char *const prefix_names[PREFIX_COUNT] = { "", "not", "and", "before" };

/* The words after a condition's key.  Another line with that key extends the condition, unless it says "and". */
static bool read_condition(struct parser *p, enum rule_field field, enum prefix prefix)
{
	g_autoptr(GString) word = g_string_new(NULL);
	struct rule_condition *c = NULL;
	bool is_not = prefix == PREFIX_NOT, is_before = prefix == PREFIX_BEFORE;
	const char *where;
	int got;

	for (guint i = 0; i < p->rule->conditions->len && prefix != PREFIX_AND; i++) {
		struct rule_condition *old = &g_array_index(p->rule->conditions, struct rule_condition, i);

		if (old->field == field && old->is_not == is_not && old->is_before == is_before)
			c = old;
	}
	if (!c) {
		struct rule_condition made = {
			.field = (uint8_t)field,
			.is_not = is_not,
			.is_before = is_before,
			.patterns = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
		};
		g_array_append_val(p->rule->conditions, made);
		c = &g_array_index(p->rule->conditions, struct rule_condition, p->rule->conditions->len - 1);
	}
	guint before = c->patterns->len;
	while ((got = next_word(p, word, &where)) > 0) {
		if (c->patterns->len >= RULE_WORDS_MAX)
			return wrong(p, where, "more than %d words in one condition", RULE_WORDS_MAX);
		if (field == RULE_STATE && (word->len != 1 || !strchr("SDTtPIR", word->str[0])))
			return wrong(p, where, "a state's letter is wanted: S, D, T, t, P, I or R");
		uint32_t id = pattern_id(p->set, field, word->str);
		g_array_append_val(c->patterns, id);
	}
	if (got < 0)
		return false;
	return c->patterns->len > before || wrong(p, where, "a word is wanted after \"%s\"", rule_field_name(field));
}

static bool read_reason(struct parser *p, GString *word)
{
	const char *where;
	enum reason reason;

	if (!only_word(p, word, &where, "a reason"))
		return false;
	if (!reason_parse(word->str, &reason)) {
		g_autofree char *text = shown(word->str, word->len);
		return wrong(p, where, "\"%s\": no such reason; known are %s", text, reason_names());
	}
	p->rule->reason = (uint8_t)reason;
	return true;
}

/* One of several words; the value is its index, from 1 on. */
static bool read_choice(struct parser *p, GString *word, const char *const *choices, const char *wanted, uint8_t *ret)
{
	const char *where;

	if (!only_word(p, word, &where, wanted))
		return false;
	for (uint8_t i = 0; choices[i]; i++) {
		if (strcmp(word->str, choices[i]) == 0) {
			*ret = i + 1;
			return true;
		}
	}
	return wrong(p, where, "%s is wanted", wanted);
}

enum key {
	KEY_REASON,
	KEY_IDLE,
	KEY_LEVEL,
	KEY_OBJECTLESS,
	KEY_ANYWHERE,
	KEY_SAYS,
	KEY_ADVICE,
	KEY_SOURCE,
	KEY_PROTOCOL,
	KEY_COUNT
};
static const char *const key_names[KEY_COUNT] = { "reason", "idle",   "level",  "objectless",
						  "anywhere", "says",   "advice", "source", "protocol" };

static bool may_stand_in(enum key key, enum rule_kind kind)
{
	switch (key) {
	case KEY_SOURCE: return true;
	case KEY_LEVEL: return kind == RULE_REASON || kind == RULE_RUNTIME;
	case KEY_ADVICE: return kind == RULE_REASON || kind >= RULE_LOOP;
	case KEY_SAYS: return kind == RULE_REASON || kind == RULE_LOOP || kind == RULE_SPIN;
	case KEY_PROTOCOL: return kind == RULE_REASON || kind == RULE_POOL;
	default: return kind == RULE_REASON;
	}
}

static bool read_key(struct parser *p, enum key key, const char *where, GString *word)
{
	static const char *const idle[] = { "yes", "no", NULL }, *const yes[] = { "yes", NULL },
				*const levels[] = { "library", "entry", "libc", NULL };
	const char **texts[KEY_COUNT] = {
		[KEY_SAYS] = &p->rule->says,
		[KEY_ADVICE] = &p->rule->advice,
		[KEY_SOURCE] = &p->rule->source,
		[KEY_PROTOCOL] = &p->rule->protocol,
	};

	if (p->keys & 1U << key)
		return wrong(p, where, "\"%s\" stands twice in one rule", key_names[key]);
	p->keys |= 1U << key;
	if (!may_stand_in(key, (enum rule_kind)p->rule->kind))
		return wrong(p, where, "\"%s\" is for other blocks than this one", key_names[key]);
	switch (key) {
	case KEY_REASON: return read_reason(p, word);
	case KEY_IDLE: return read_choice(p, word, idle, "yes or no", &p->rule->idle);
	case KEY_OBJECTLESS: return read_choice(p, word, yes, "yes", &p->rule->objectless);
	case KEY_ANYWHERE: return read_choice(p, word, yes, "yes", &p->rule->anywhere);
	case KEY_LEVEL:
		if (p->rule->kind != RULE_RUNTIME)
			return wrong(p, where, "\"level\" is for runtimes");
		return read_choice(p, word, levels, "library, entry or libc", &p->rule->level);
	default: return (*texts[key] = rest_of_line(p)) != NULL;
	}
}

static bool is_name(const GString *word)
{
	if (word->len > NAME_BYTES_MAX)
		return false;
	for (gsize i = 0; i < word->len; i++) {
		if (!g_ascii_isalnum(word->str[i]) && !strchr("._-+", word->str[i]))
			return false;
	}
	return true;
}

static bool begin_block(struct parser *p, enum rule_kind kind, GString *word)
{
	const struct rule *same;
	const char *where;

	if (!only_word(p, word, &where, "a name"))
		return false;
	if (!is_name(word))
		return wrong(p, where, "a name is of at most %d letters, digits and \"._-+\"", NAME_BYTES_MAX);
	if (p->set->rules->len >= RULES_MAX)
		return wrong(p, where, "more than %d rules", RULES_MAX);
	same = rule_set_find(p->set, word->str);
	p->is_left_out = same && same->file != p->file;
	if (same && !p->is_left_out)
		return wrong(p, where, "\"%s\" is a rule's name already, in line %u", word->str, same->line);
	p->rule = g_new0(struct rule, 1);
	p->rule->name = g_string_chunk_insert_const(p->set->strings, word->str);
	p->rule->file = p->file;
	p->rule->line = p->line_no;
	p->rule->kind = (uint8_t)kind;
	p->rule->level = RUNTIME_LIBRARY;
	p->rule->conditions = g_array_new(FALSE, FALSE, sizeof(struct rule_condition));
	p->keys = 0;
	g_ptr_array_add(p->set->rules, p->rule);
	if (!p->is_left_out)
		g_hash_table_insert(p->set->names, (gpointer)p->rule->name, p->rule);
	return true;
}

/* Ends the current block and checks that it is complete. */
static bool end_block(struct parser *p)
{
	struct rule *rule = p->rule;
	bool frames_only = true;

	p->rule = NULL;
	if (!rule)
		return true;
	p->at = p->line;
	if (rule->kind == RULE_REASON && !(p->keys & 1U << KEY_REASON))
		return wrong(p, p->line, "the rule \"%s\" above gives no reason", rule->name);
	if (rule->kind == RULE_SPIN && !rule->says)
		return wrong(p, p->line, "the spin \"%s\" above says nothing", rule->name);
	if (!rule->conditions->len)
		return wrong(p, p->line, "\"%s\" above has no condition", rule->name);
	EACH_ROW(i, const struct rule_condition, c, rule->conditions)
		if ((c->is_not && rule->kind < RULE_LOOP) ||
		    (c->field != RULE_USER && c->field != RULE_MODULE && c->field != RULE_KERNEL))
			frames_only = false;
	if (rule->kind != RULE_REASON && !frames_only)
		return wrong(p, p->line, "\"%s\" above: only user, module and kernel are known of a %s", rule->name,
			     rule_kind_name((enum rule_kind)rule->kind));
	if (p->is_left_out)
		g_ptr_array_remove_index(p->set->rules, p->set->rules->len - 1);
	return true;
}

static bool read_line(struct parser *p, GString *word)
{
	const char *where;
	int got = next_word(p, word, &where);
	bool is_begin = where == p->line;

	if (got <= 0)
		return got == 0;
	for (unsigned i = 0; is_begin && i < RULE_KIND_COUNT; i++) {
		if (strcmp(word->str, rule_kind_name((enum rule_kind)i)) == 0) {
			const char *at = p->at;

			if (!end_block(p))
				return false;
			p->at = at;
			return begin_block(p, (enum rule_kind)i, word);
		}
	}
	if (is_begin || !p->rule) {
		g_autofree char *text = shown(word->str, word->len);
		return wrong(p, where, "\"%s\": \"rule NAME\" is wanted at the beginning of a line", text);
	}
	for (unsigned i = 0; i < KEY_COUNT; i++) {
		if (strcmp(word->str, key_names[i]) == 0)
			return read_key(p, (enum key)i, where, word);
	}
	enum prefix prefix = PREFIX_COUNT - 1;
	while (prefix != PREFIX_NONE && strcmp(word->str, prefix_names[prefix]) != 0)
		prefix--;
	if (prefix == PREFIX_BEFORE && p->rule->kind != RULE_LOOP)
		return wrong(p, where, "\"before\" is for loops");
	got = prefix != PREFIX_NONE ? next_word(p, word, &where) : 1;
	if (got <= 0)
		return got < 0 ? false : wrong(p, where, "a condition is wanted after \"%s\"", prefix_names[prefix]);
	if (prefix == PREFIX_BEFORE && strcmp(word->str, rule_field_name(RULE_USER)) != 0)
		return wrong(p, where, "\"user\" is wanted after \"before\"");
	for (unsigned i = 0; i < RULE_FIELD_COUNT; i++) {
		if (strcmp(word->str, rule_field_name((enum rule_field)i)) == 0)
			return read_condition(p, (enum rule_field)i, prefix);
	}
	g_autofree char *text = shown(word->str, word->len);
	return wrong(p, where,
		     "\"%s\": no such key; known are reason, syscall, kernel, user, module, state, object, name, "
		     "path, operation, thread, process, task, not, and, before, protocol, idle, objectless, anywhere, says, advice, source",
		     text);
}

static bool next_line(struct parser *p)
{
	if (p->next >= p->end)
		return false;
	const char *newline = memchr(p->next, '\n', (gsize)(p->end - p->next));
	p->line = p->at = p->next;
	p->line_end = newline ? newline : p->end;
	p->next = newline ? newline + 1 : p->end;
	p->line_no++;
	return true;
}

/* Rejects bytes that could control a terminal: texts must be UTF-8 without control characters. */
static bool check_bytes(struct parser *p)
{
	const char *invalid;

	for (const char *c = p->line; c < p->line_end; c++) {
		if (((unsigned char)*c < ' ' && *c != '\t' && *c != '\r') || *c == 127)
			return wrong(p, c, "a control character");
	}
	if (!g_utf8_validate(p->line, p->line_end - p->line, &invalid))
		return wrong(p, invalid, "no valid UTF-8");
	return true;
}

bool rule_set_add(struct rule_set *set, const char *text, gsize len, const char *file, GError **error)
{
	g_autoptr(GError) own = NULL;
	g_autoptr(GString) word = g_string_new(NULL);
	struct parser p = {
		.set = set,
		.file = g_string_chunk_insert(set->strings, file),
		.next = text,
		.end = text + len,
		.line = text,
		.at = text,
		.line_end = text,
		.error = &own,
	};
	bool good = true;

	if (len > RULES_BYTES_MAX)
		return refuse(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s: rules of more than %d bytes", file,
			      RULES_BYTES_MAX);
	while (good && next_line(&p))
		good = check_bytes(&p) && read_line(&p, word);
	if (good)
		good = end_block(&p);
	if (!good)
		g_propagate_error(error, g_steal_pointer(&own));
	return good;
}
