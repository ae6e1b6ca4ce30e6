/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A line that a client of `offcpu mcp` sends, and the arguments in it, for each tool. */
#include <stdlib.h>
#include <string.h>

#include "mcp/tools.h"
#include "mcp/protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* No word that a client chose may be taken for an option. */
static void check_words(const GPtrArray *words)
{
	bool are_paths = false;

	for (guint i = 1; i < words->len; i++) {
		const char *word = g_ptr_array_index(words, i);

		if (!are_paths && !g_str_has_prefix(word, "--"))
			abort();
		are_paths = are_paths || strcmp(word, "--") == 0;
	}
}

static void ask(const char *name, const char *arguments)
{
	const struct tool_options options = { .allows_recording = true };
	const struct tool *tool = tools_find(&options, name);
	struct tool_input in = { .options = &options };
	g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GError) error = NULL;

	if (arguments_read(&in, tool, arguments, &error))
		tool->words(words, &in, TOOL_BYTES_MAX);
	else if (!error || !*error->message || !g_utf8_validate(error->message, -1, NULL))
		abort();
	check_words(words);
	arguments_clear(&in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const tools[] = { "findings", "explain", "stacks", "compare", "requests", "history", "doctor", "record" };
	g_autofree char *line = g_strndup((const char *)data, size), *arguments = NULL, *uri = NULL;
	g_autoptr(GString) out = g_string_new(NULL);
	struct message m;
	struct json j;

	message_read(&m, (const char *)data, size);
	if (m.id && (strlen(m.id) > MESSAGE_ID_MAX || !message_is_json(m.id, strlen(m.id))))
		abort();
	arguments = m.params ? message_member_raw(m.params, "arguments") : NULL;
	for (size_t i = 0; arguments && i < G_N_ELEMENTS(tools); i++)
		ask(tools[i], arguments);
	uri = m.params ? message_member_string(m.params, "uri") : NULL;
	json_init(&j, out);
	if (uri)
		resources_write_one(&j, uri);
	message_clear(&m);
	return 0;
}
