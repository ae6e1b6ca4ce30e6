/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/filters.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyse/reason/rules.h"
#include "analyse/reason/rules_text.h"

/* Reads at most RULES_BYTES_MAX + 1 bytes; never blocks, whatever kind of file it is. */
static GString *read_some(const char *path, GError **error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t got = 0;

	if (fd < 0 || fstat(fd, &st) < 0 || S_ISDIR(st.st_mode)) {
		int why = fd < 0 ? errno : EISDIR;

		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(why), "%s: %s", path, g_strerror(why));
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	GString *text = g_string_sized_new(4096);
	char part[65536];
	while (text->len <= RULES_BYTES_MAX && (got = read(fd, part, sizeof(part))) > 0)
		g_string_append_len(text, part, got);
	close(fd);
	return text;
}

bool cmd_rules_load(const char *path, GError **error)
{
	static struct rule_set *loaded;

	if (!path)
		return true;
	g_autoptr(GString) text = read_some(path, error);
	if (!text)
		return false;
	rule_set_free(loaded);
	loaded = rule_set_new();
	if (!rule_set_add(loaded, text->str, text->len, path, error) ||
	    !rule_set_add(loaded, rules_text, strlen(rules_text), "built in", error))
		return false;
	rules_set_default(loaded);
	return true;
}

bool cmd_rules_explain(GString *out, const char *name)
{
	const struct rule_set *set = rules_default();
	bool any = false;

	EACH_POINTER(i, const struct rule, rule, set->rules) {
		if (strcmp(rule->name, name) != 0 &&
		    !(rule->kind == RULE_REASON && reason_is_named((enum reason)rule->reason, name)))
			continue;
		if (any)
			g_string_append_c(out, '\n');
		any = true;
		g_string_append_printf(out, "# %s, line %u; number %u of %u\n", rule->file, rule->line, i + 1,
				       set->rules->len);
		rule_append_text(out, set, rule);
	}
	return any;
}
