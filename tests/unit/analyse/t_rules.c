/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/reason/rules.h"

#include <string.h>

#include "analyse/reason/match.h"
#include "../fixture.h"

static void test_glob(void)
{
	static const struct {
		const char *pattern, *text;
		bool agrees;
	} cases[] = {
		{ "", "", true },
		{ "", "a", false },
		{ "*", "", true },
		{ "a*", "abc", true },
		{ "a*", "ba", false },
		{ "*c", "abc", true },
		{ "*b*", "abc", true },
		{ "a?c", "abc", true },
		{ "a?c", "ac", false },
		{ "a*b*c", "aXbXXc", true },
		{ "a*b*c", "aXcXXb", false },
		{ "tcp_recvmsg", "tcp_recvmsg_locked", false },
		{ "**", "x", true },
		{ "?", "", false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpint(glob_match(cases[i].pattern, cases[i].text, strlen(cases[i].text)), ==,
				cases[i].agrees);
	/* what would take an exponential time with naive backtracking ends at once */
	g_autofree char *text = g_strnfill(100000, 'a');
	g_assert_false(glob_match("*a*a*a*a*a*a*a*a*b", text, strlen(text)));
}

static void test_builtin(void)
{
	const struct rule_set *set = rules_builtin();
	bool seen[REASON_COUNT] = { false };

	g_assert_cmpuint(set->rules->len, >, 100);
	for (guint i = 0; i < set->rules->len; i++) {
		const struct rule *rule = g_ptr_array_index(set->rules, i);

		g_assert_cmpstr(rule->file, ==, "built in");
		if (rule->kind != RULE_REASON)
			continue;
		seen[rule->reason] = true;
		if (!rule->source)
			g_error("the rule %s names no source", rule->name);
	}
	for (unsigned r = 1; r < REASON_COUNT; r++) {
		if (!seen[r] && r != REASON_ON_CPU)	/* which is of no wait */
			g_error("no rule gives %s", reason_name((enum reason)r));
	}
}

/* What a rule looks like when it is shown can be read again, and is the same then. */
static void test_round(void)
{
	const struct rule_set *set = rules_builtin();
	g_autoptr(GString) text = g_string_new(NULL), again = g_string_new(NULL);
	g_autoptr(GError) error = NULL;
	struct rule_set *copy = rule_set_new();

	for (guint i = 0; i < set->rules->len; i++)
		rule_append_text(text, set, g_ptr_array_index(set->rules, i));
	g_assert_true(rule_set_add(copy, text->str, text->len, "copy", &error));
	g_assert_no_error(error);
	for (guint i = 0; i < copy->rules->len; i++)
		rule_append_text(again, copy, g_ptr_array_index(copy->rules, i));
	g_assert_cmpstr(again->str, ==, text->str);
	rule_set_free(copy);
}

static void test_override(void)
{
	static const char text[] =
		"rule fsync\n  reason other\n  syscall fsync\n\nrule mine\n  reason sleep\n  user \"a b\" c*\n";
	g_autoptr(GError) error = NULL;
	struct rule_set *set = rule_set_new();

	g_assert_true(rule_set_add(set, text, strlen(text), "my.rules", &error));
	g_autoptr(GString) all = g_string_new(NULL);
	for (guint i = 0; i < rules_builtin()->rules->len; i++)
		rule_append_text(all, rules_builtin(), g_ptr_array_index(rules_builtin()->rules, i));
	g_assert_true(rule_set_add(set, all->str, all->len, "built in", &error));
	g_assert_cmpuint(set->rules->len, ==, rules_builtin()->rules->len + 1);
	g_assert_cmpstr(rule_set_find(set, "fsync")->file, ==, "my.rules");
	g_assert_cmpint(rule_set_find(set, "fsync")->reason, ==, REASON_OTHER);
	g_assert_cmpuint(rule_set_find(set, "mine")->line, ==, 5);
	rule_set_free(set);
}

static void test_errors(void)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "rule\n", "r:1:5: a name is wanted" },
		{ "rule a b\n", "r:1:8: \"b\": nothing more is wanted here" },
		{ "rule a/b\n", "r:1:6: a name is of at most 64 letters, digits and \"._-+\"" },
		{ "reason sleep\n", "r:1:1: \"reason\": \"rule NAME\" is wanted at the beginning of a line" },
		{ "rule a\n  reason lunch\n", "r:2:10: \"lunch\": no such reason; known are" },
		{ "rule a\n  reason sleep\n", "r:2:1: \"a\" above has no condition" },
		{ "rule a\n  user x\n", "r:2:1: the rule \"a\" above gives no reason" },
		{ "spin a\n  user x\n", "r:2:1: the spin \"a\" above says nothing" },
		{ "rule a\n  reason sleep\n  reason sleep\n", "r:3:3: \"reason\" stands twice in one rule" },
		{ "rule a\n  reason sleep\n  user \"x\n", "r:3:8: the quotation mark is not closed" },
		{ "rule a\n  reason sleep\n  user x\"y\"\n", "r:3:9: a blank is wanted between words" },
		{ "rule a\n  reason sleep\n  user \"\"\n", "r:3:8: an empty word" },
		{ "rule a\n  reason sleep\n  user\n", "r:3:7: a word is wanted after \"user\"" },
		{ "rule a\n  reason sleep\n  not\n", "r:3:6: a condition is wanted after \"not\"" },
		{ "rule a\n  reason sleep\n  state X\n", "r:3:9: a state's letter is wanted: S, D, T, t, P, I or R" },
		{ "rule a\n  reason sleep\n  idle maybe\n", "r:3:8: yes or no is wanted" },
		{ "rule a\n  lunch noon\n", "r:2:3: \"lunch\": no such key; known are" },
		{ "rule a\n  advice   \n", "r:2:12: a text is wanted" },
		{ "rule a\n  advice a\033[2Jb\n", "r:2:11: a control character" },
		{ "rule a\n  advice \xff\n", "r:2:10: no valid UTF-8" },
		{ "protocol a\n  syscall read\n",
		  "r:2:1: \"a\" above: only user, module and kernel are known of a protocol" },
		{ "runtime a\n  reason sleep\n", "r:2:3: \"reason\" is for other blocks than this one" },
		{ "rule a\n  reason sleep\n  user x\nrule a\n  reason sleep\n",
		  "r:4:6: \"a\" is a rule's name already, in line 1" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		struct rule_set *set = rule_set_new();

		g_assert_false(rule_set_add(set, cases[i].text, strlen(cases[i].text), "r", &error));
		if (!g_str_has_prefix(error->message, cases[i].message))
			g_error("%s\nis not: %s", error->message, cases[i].message);
		rule_set_free(set);
	}
}

/* Too much of everything ends with a sentence; what is cut off anywhere does too, or is read. */
static void test_hostile(void)
{
	struct rule_set *set = rule_set_new();
	g_autoptr(GError) error = NULL;
	g_autofree char *big = g_strnfill(RULES_BYTES_MAX + 1, 'x');

	g_assert_false(rule_set_add(set, big, RULES_BYTES_MAX + 1, "r", &error));
	g_clear_error(&error);
	g_assert_false(rule_set_add(set, big, RULES_BYTES_MAX, "r", &error));
	g_clear_error(&error);
	g_assert_false(rule_set_add(set, "rule a\0b", 8, "r", &error));
	rule_set_free(set);

	g_autoptr(GString) text = g_string_new(NULL);
	for (guint i = 0; i < 12; i++)
		rule_append_text(text, rules_builtin(), g_ptr_array_index(rules_builtin()->rules, i));
	for (gsize len = 0; len < text->len; len++) {
		g_autoptr(GError) ignored = NULL;

		set = rule_set_new();
		if (!rule_set_add(set, text->str, len, "r", &ignored))
			g_assert_nonnull(ignored);
		rule_set_free(set);
	}
	g_autoptr(GString) many = g_string_new(NULL);
	for (unsigned i = 0; i <= RULES_MAX; i++)
		g_string_append_printf(many, "rule r%u\n reason sleep\n user x\n", i);
	g_autoptr(GError) too_many = NULL;
	set = rule_set_new();
	g_assert_false(rule_set_add(set, many->str, many->len, "r", &too_many));
	g_assert_cmpstr(too_many->message, ==, "r:12289:6: more than 4096 rules");
	rule_set_free(set);
}

/* Conditions: any word of a line, all lines, "and", "not". */
static void test_agrees(void)
{
	static const char text[] =
		"rule r\n  reason sleep\n  user f g*\n  user h\n  and user k\n  not module bad.so\n"
		"  kernel sys_*\n  state S\n";
	static const struct {
		const char *user, *kernel, *state;
		bool agrees;
	} cases[] = {
		{ "k@a h@a", "sys_x@[kernel]", "S", true },
		{ "k@a goo@a", "sys_x@[kernel]", "S", true },
		{ "k@a", "sys_x@[kernel]", "S", false },
		{ "f@a", "sys_x@[kernel]", "S", false },
		{ "k@a f@/lib/bad.so", "sys_x@[kernel]", "S", false },
		{ "k@a f@a", "read@[kernel]", "S", false },
		{ "k@a f@a", "sys_x@[kernel]", "D", false },
		{ "k(int)@a f@@VERS_1@a", "sys_x.isra.0@[kernel]", "S", true },
	};
	struct rule_set *set = rule_set_new();
	struct profile *p = profile_new();

	g_assert_true(rule_set_add(set, text, strlen(text), "r", NULL));
	uint32_t users[G_N_ELEMENTS(cases)], kernels[G_N_ELEMENTS(cases)];
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		users[i] = fixture_stack(p, FRAME_USER, STACK_COMPLETE, i == 7 ? "k(int)@a f@a" : cases[i].user);
		kernels[i] = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, cases[i].kernel);
	}
	struct matcher *m = matcher_new(set, p);
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		matcher_begin(m);
		matcher_mark_path(m, users[i]);
		matcher_mark_path(m, kernels[i]);
		matcher_mark_text(m, RULE_STATE, cases[i].state);
		g_assert_cmpint(matcher_agrees(m, rule_set_find(set, "r")), ==, cases[i].agrees);
	}
	matcher_free(m);
	profile_free(p);
	rule_set_free(set);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/rules/glob", test_glob);
	g_test_add_func("/rules/builtin", test_builtin);
	g_test_add_func("/rules/round", test_round);
	g_test_add_func("/rules/override", test_override);
	g_test_add_func("/rules/errors", test_errors);
	g_test_add_func("/rules/hostile", test_hostile);
	g_test_add_func("/rules/agrees", test_agrees);
	return g_test_run();
}
