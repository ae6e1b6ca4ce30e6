/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_RULES_H
#define CMD_RULES_H

#include <glib.h>
#include <stdbool.h>

/*
 * Makes the rules of a file, before the built-in ones, what all analyses of this process go by.  NULL: the built-in
 * ones alone. False with one sentence.
 */
bool cmd_rules_load(const char *path, GError **error);

/* Appends a rule by its name, or all that give a reason; false: there is none of that name. */
bool cmd_rules_explain(GString *out, const char *name);

#endif
