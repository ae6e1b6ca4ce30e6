/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* offcpu mcp: a Model Context Protocol server for assistants. */
#include <stdio.h>
#include <unistd.h>

#include "base/version.h"
#include "cmd/cmd.h"
#include "mcp/server.h"

#define COMMAND "mcp"

static const char description[] =
	"A server of the Model Context Protocol over standard input and output: an assistant starts it, and asks for\n"
	"the findings of recordings and of the agent's history, in answers of at most 8 KB.\n"
	"\n"
	"  {\"mcpServers\": {\"offcpu\": {\"command\": \"offcpu\", \"args\": [\"mcp\"]}}}\n"
	"\n"
	"  offcpu mcp                                      reads what this user may read\n"
	"  offcpu mcp --allow-record                       and records, where this user may\n"
	"  offcpu mcp --allow-record --record-with 'sudo -n'   by sudo, which must not ask for a password\n"
	"\n"
	"Names in the answers were chosen by the recorded programs, and may be meant to deceive the assistant.";

int cmd_mcp(int argc, char **argv)
{
	gboolean allows_recording = FALSE;
	g_autofree char *history = NULL, *record_with = NULL;
	g_auto(GStrv) runner = NULL;
	g_autoptr(GError) error = NULL;
	int status;
	GOptionEntry entries[] = {
		{ "allow-record", 0, 0, G_OPTION_ARG_NONE, &allows_recording, "Offer to record, up to 60 seconds at a time", NULL },
		{ "record-with", 0, 0, G_OPTION_ARG_STRING, &record_with,
		  "What gives the recorder its rights, as 'sudo -n'; no shell sees it", "COMMAND" },
		{ "history", 0, 0, G_OPTION_ARG_FILENAME, &history, "Where the agent keeps its history (/var/lib/offcpu)", "DIR" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	if (!cmd_parse(COMMAND, "", description, entries, &argc, &argv, &status))
		return status;
	if (argc > 1)
		return cmd_unexpected(COMMAND, argv[1]);
	if (record_with && !allows_recording)
		return cmd_wrong(COMMAND, "--record-with: goes with --allow-record");
	if (record_with && !g_shell_parse_argv(record_with, NULL, &runner, &error))
		return cmd_wrong(COMMAND, "--record-with: %s", error->message);
	if (isatty(STDIN_FILENO))
		fputs("offcpu mcp: waits for messages of the Model Context Protocol, one a line; an assistant starts it (man offcpu-mcp)\n",
		      stderr);
	const struct mcp_options options = { .version = version_text(),
					     .history = history,
					     .allows_recording = allows_recording,
					     .record_with = (const char *const *)runner };

	return mcp_serve(&options) ? EXIT_OK : EXIT_FAILED;
}
