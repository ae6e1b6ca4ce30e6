/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/answering.h"

#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "render/answer/report.h"

#define FORM "summary"
#define FORM_TOOL "tool"	/* the same for clients without a shell (mcp/): no follow-up commands */
#define JSON_WORD "--json="

/* The number of words if it is one of these options, with its value in the same or the next word. */
static int words_of(const char *word, const char *const *names)
{
	for (; *names; names++) {
		size_t len = strlen(*names);

		if (strncmp(word, *names, len) == 0 && (word[len] == '=' || !word[len]))
			return word[len] ? 1 : 2;
	}
	return 0;
}

/* The command line, quoted for a shell, without those options and their values. */
static char *command_without(int argc, char **argv, const char *const *left)
{
	g_autoptr(GString) command = g_string_new("offcpu");

	for (int i = 0; i < argc; i++) {
		int words = words_of(argv[i], left);

		if (words || (left[2] && g_str_has_prefix(argv[i], JSON_WORD))) {
			i += MAX(words, 1) - 1;
			continue;
		}
		g_autofree char *quoted = g_shell_quote(argv[i]);
		bool is_plain = argv[i][strspn(argv[i], "-./=_:,+@%0123456789"
						      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0';

		g_string_append_printf(command, " %s", is_plain && *argv[i] ? argv[i] : quoted);
	}
	return g_string_free(g_steal_pointer(&command), FALSE);
}

void answer_args_note(struct answer_args *a, int argc, char **argv)
{
	static const char *const place[] = { "--id", "--cursor", NULL };
	static const char *const all[] = { "--id", "--cursor", "--max-bytes", NULL };

	a->command = command_without(argc, argv, place);
	a->plain = command_without(argc, argv, all);
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		g_autofree char *form = g_str_has_prefix(argv[i], JSON_WORD)
						? g_strconcat("--json-as=", argv[i] + strlen(JSON_WORD), NULL)
						: NULL;

		if (form)
			argv[i] = (char *)(uintptr_t)g_intern_string(form);
	}
}

bool answer_is_asked(const struct answer_args *a)
{
	return a->form || a->max_bytes || a->id || a->cursor;
}

bool answer_args_understand(struct answer_args *a, bool is_json, GError **error)
{
	guint64 bytes = ANSWER_BYTES_DEFAULT, cursor = 0;
	const char *option = a->max_bytes ? "--max-bytes" : a->id ? "--id" : "--cursor";

	if (!answer_is_asked(a))
		return true;
	const bool is_tool = g_strcmp0(a->form, FORM_TOOL) == 0;

	if (a->form && !is_tool && strcmp(a->form, FORM) != 0)
		return cmd_bad(error, "--json=%s: no such form; --json=" FORM " and --json alone are known", a->form);
	if (is_json && a->form)
		return cmd_bad(error, "--json and --json=" FORM ": only one output at a time");
	if (is_json)
		return cmd_bad(error, "--json: %s goes with --json=" FORM, option);
	if (a->max_bytes &&
	    !g_ascii_string_to_unsigned(a->max_bytes, 10, ANSWER_BYTES_MIN, ANSWER_BYTES_MAX, &bytes, NULL))
		return cmd_bad(error, "--max-bytes \"%s\": a number from %d to %u is wanted", a->max_bytes,
			   ANSWER_BYTES_MIN, ANSWER_BYTES_MAX);
	if (a->cursor && !a->id)
		return cmd_bad(error, "--cursor: goes with --id, whose rest it tells");
	if (a->cursor && !g_ascii_string_to_unsigned(a->cursor, 10, 0, G_MAXUINT32, &cursor, NULL))
		return cmd_bad(error, "--cursor \"%s\": a number is wanted, as \"next\" of an answer to --id has it", a->cursor);
	a->options.max_bytes = bytes;
	a->options.id = a->id;
	a->options.cursor = cursor;
	a->options.command = is_tool ? NULL : a->command;
	return true;
}

void answer_args_clear(struct answer_args *a)
{
	g_free(a->form);
	g_free(a->max_bytes);
	g_free(a->id);
	g_free(a->cursor);
	g_free(a->command);
	g_free(a->plain);
}

void answer_print(const char *of, const GString *object, const struct answer_args *a)
{
	g_autoptr(GString) bounded = g_string_new(NULL);

	if (answer_is_asked(a))
		answer_object(bounded, of, object, NULL, a->options.max_bytes);
	fputs(bounded->len ? bounded->str : object->str, stdout);
}
