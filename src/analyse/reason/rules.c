/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/reason/rules.h"

#include "analyse/reason/rules_text.h"
#include "base/each.h"

static const char *const field_names[RULE_FIELD_COUNT] = {
	[RULE_SYSCALL] = "syscall", [RULE_KERNEL] = "kernel",   [RULE_USER] = "user",
	[RULE_MODULE] = "module",   [RULE_STATE] = "state",     [RULE_OBJECT] = "object",
	[RULE_NAME] = "name",       [RULE_PATH] = "path",       [RULE_OPERATION] = "operation",
	[RULE_THREAD] = "thread",   [RULE_PROCESS] = "process", [RULE_TASK] = "task",
	[RULE_ENDED] = "ended",     [RULE_CALLER] = "caller",
};

const char *rule_field_name(enum rule_field field)
{
	return field_names[(unsigned)field < RULE_FIELD_COUNT ? field : RULE_SYSCALL];
}

const char *rule_kind_name(enum rule_kind kind)
{
	static const char *const kinds[RULE_KIND_COUNT] = { "rule", "protocol", "runtime", "loop", "pool", "spin" };

	return kinds[(unsigned)kind < RULE_KIND_COUNT ? kind : RULE_REASON];
}

static void rule_free(gpointer data)
{
	struct rule *rule = data;

	for (guint i = 0; i < rule->conditions->len; i++)
		g_array_unref(g_array_index(rule->conditions, struct rule_condition, i).patterns);
	g_array_unref(rule->conditions);
	g_free(rule);
}

struct rule_set *rule_set_new(void)
{
	struct rule_set *set = g_new0(struct rule_set, 1);

	set->rules = g_ptr_array_new_with_free_func(rule_free);
	set->patterns = g_array_new(FALSE, FALSE, sizeof(struct rule_pattern));
	set->strings = g_string_chunk_new(4096);
	set->names = g_hash_table_new(g_str_hash, g_str_equal);
	set->pattern_ids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	return set;
}

FREES(rule_set_free, struct rule_set, set, g_ptr_array_unref(set->rules); g_array_unref(set->patterns);
      g_hash_table_unref(set->names); g_hash_table_unref(set->pattern_ids); g_string_chunk_free(set->strings))

const struct rule *rule_set_find(const struct rule_set *set, const char *name)
{
	return g_hash_table_lookup(set->names, name);
}

const struct rule_set *rules_builtin(void)
{
	static struct rule_set *builtin;

	if (g_once_init_enter(&builtin)) {
		struct rule_set *set = rule_set_new();
		g_autoptr(GError) error = NULL;

		/* a unit test parses them too, so they have no errors */
		if (!rule_set_add(set, rules_text, strlen(rules_text), "built in", &error))
			g_error("%s", error->message);
		g_once_init_leave(&builtin, set);
	}
	return builtin;
}

static const struct rule_set *chosen;

const struct rule_set *rules_default(void)
{
	return chosen ? chosen : rules_builtin();
}

void rules_set_default(const struct rule_set *set)
{
	chosen = set;
}

static void append_line(GString *s, const char *key, const char *value)
{
	if (value)
		g_string_append_printf(s, "  %-9s %s\n", key, value);
}

static void append_word(GString *s, const char *word)
{
	bool quoted = strpbrk(word, " \t\r\"#") != NULL;

	g_string_append(s, quoted ? " \"" : " ");
	for (const char *c = word; *c; c++) {
		if (quoted && (*c == '"' || *c == '\\'))
			g_string_append_c(s, '\\');
		g_string_append_c(s, *c);
	}
	if (quoted)
		g_string_append_c(s, '"');
}

void rule_append_text(GString *s, const struct rule_set *set, const struct rule *rule)
{
	static const char *const levels[] = { NULL, "library", "entry", "libc" };
	static const char *const idle[] = { NULL, "yes", "no" };

	g_string_append_printf(s, "%s %s\n", rule_kind_name((enum rule_kind)rule->kind), rule->name);
	if (rule->kind == RULE_REASON)
		append_line(s, "reason", reason_name((enum reason)rule->reason));
	append_line(s, "level", rule->kind == RULE_RUNTIME ? levels[rule->level] : NULL);
	EACH_ROW(i, const struct rule_condition, c, rule->conditions) {
		bool is_more = false;

		for (guint k = 0; k < i && !c->is_not && !c->is_before; k++) {
			const struct rule_condition *before = &g_array_index(rule->conditions, struct rule_condition,
									     k);

			is_more = is_more || (!before->is_not && !before->is_before && before->field == c->field);
		}
		g_autofree char *key = g_strdup_printf("%s%s",
						       c->is_not      ? "not "
						       : c->is_before ? "before "
						       : is_more      ? "and "
								      : "",
						       rule_field_name((enum rule_field)c->field));

		g_string_append_printf(s, "  %-9s", key);
		for (guint w = 0; w < c->patterns->len; w++)
			append_word(s, g_array_index(set->patterns, struct rule_pattern,
						     g_array_index(c->patterns, uint32_t, w))
					       .text);
		g_string_append_c(s, '\n');
	}
	append_line(s, "protocol", rule->protocol);
	append_line(s, "idle", idle[rule->idle]);
	append_line(s, "objectless", rule->objectless ? "yes" : NULL);
	append_line(s, "anywhere", rule->anywhere ? "yes" : NULL);
	append_line(s, "says", rule->says);
	append_line(s, "advice", rule->advice);
	append_line(s, "source", rule->source);
}
