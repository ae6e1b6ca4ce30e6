/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* offcpu whatif: what a change would gain. */
#include <stdio.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/input.h"
#include "render/text/whatif.h"

#define COMMAND "whatif"

static const char description[] =
	"How much more work the threads of a closed cycle would do if something took less time.\n"
	"\n"
	"Examples:\n"
	"  offcpu whatif trace.offcpu 'lock=inventory_lock hold*0.5'   holds take half as long\n"
	"  offcpu whatif trace.offcpu 'peer=db1:3306 time*0.5'         so do answers from there\n"
	"  offcpu whatif trace.offcpu 'reason=disk.sync time*0'        without these waits\n"
	"  offcpu whatif trace.offcpu cpus+2                           more CPUs\n"
	"\n"
	"Several changes count together.  Where the recording does not hold enough it says why.";

/* Is it a change, and no file? */
static bool is_change(const char *text)
{
	return g_str_has_prefix(text, "lock=") || g_str_has_prefix(text, "peer=") || g_str_has_prefix(text, "reason=") ||
	       g_str_has_prefix(text, "cpus+") || g_str_has_prefix(text, "cpus-");
}

static int print(const struct profile *p, const struct whatif_change *changes, guint cnt, const char *of, bool is_json)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(GError) error = NULL;
	struct whatif w;

	if (!whatif_answer(p, changes, cnt, of, &w, &error)) {
		cmd_error(COMMAND, "%s", error->message);
		return EXIT_FAILED;
	}
	if (is_json)
		whatif_json(text, &w);
	else
		text_whatif(text, &w);
	whatif_clear(&w);
	fputs(text->str, stdout);
	return EXIT_OK;
}

int cmd_whatif(int argc, char **argv)
{
	struct whatif_change changes[WHATIF_CHANGES_MAX];
	g_autofree char *of = NULL;
	g_autoptr(GError) error = NULL;
	gboolean json = FALSE;
	GOptionEntry entries[] = {
		{ "of", 0, 0, G_OPTION_ARG_STRING, &of,
		  "Whose work: comm, comm/function, or request:NAME (who waits longest for what is changed)", "WORK" },
		{ "json", 0, 0, G_OPTION_ARG_NONE, &json, "One JSON object", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	int status = EXIT_OK, first = 1;

	if (!cmd_parse(COMMAND, "[FILE] CHANGE ...", description, entries, &argc, &argv, &status))
		return status;
	if (argc > 1 && !is_change(argv[1]))
		first = 2;
	if (argc == first || argc - first > WHATIF_CHANGES_MAX) {
		cmd_error(COMMAND, "tell one to %d changes, as 'lock=NAME hold*0.5'", WHATIF_CHANGES_MAX);
		return EXIT_USAGE;
	}
	for (int i = first; i < argc; i++)
		if (!whatif_parse(argv[i], &changes[i - first], &error)) {
			cmd_error(COMMAND, "%s", error->message);
			return EXIT_USAGE;
		}
	struct profile *p = recording_read(first == 2 ? argv[1] : RECORDING_DEFAULT_FILE, &error);
	if (!p) {
		cmd_error(COMMAND, "%s", error->message);
		return EXIT_FAILED;
	}
	status = print(p, changes, (guint)(argc - first), of, json);
	profile_free(p);
	return status;
}
