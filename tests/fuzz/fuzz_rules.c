/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Rules of a user's own: any text is refused with a sentence, or is rules that can be written and read once more. */
#include <stdlib.h>

#include "analyse/reason/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_again(const struct rule_set *set)
{
	struct rule_set *again = rule_set_new();
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; i < set->rules->len; i++) {
		const struct rule *rule = g_ptr_array_index(set->rules, i);

		if (rule_set_find(set, rule->name) != rule)
			abort();
		rule_append_text(text, set, rule);
	}
	if (text->len <= RULES_BYTES_MAX &&
	    (!rule_set_add(again, text->str, text->len, "again", NULL) || again->rules->len != set->rules->len ||
	     again->patterns->len != set->patterns->len))
		abort();
	rule_set_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rule_set *set = rule_set_new();
	GError *error = NULL;
	bool is_good = rule_set_add(set, (const char *)data, size, "fuzz", &error);

	if (is_good != !error)
		abort();
	if (is_good)
		write_again(set);
	g_clear_error(&error);
	rule_set_free(set);
	return 0;
}
