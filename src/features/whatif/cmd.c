/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* offcpu whatif: what a change would gain. */
#include <stdio.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/input.h"
#include "render/text/text.h"

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

/* Whether the argument is a change and not a file. */
static bool is_change(const char *text)
{
	return g_str_has_prefix(text, "lock=") || g_str_has_prefix(text, "peer=") || g_str_has_prefix(text, "reason=") ||
	       g_str_has_prefix(text, "cpus+") || g_str_has_prefix(text, "cpus-");
}

/* Option values. */
struct whatif_args {
	char *of;
	gboolean pauses, json;
};

static int print_answer(const struct profile *p, const struct whatif_change *changes, guint cnt,
			const struct whatif_args *args)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(GError) error = NULL;
	struct whatif w;

	if (!whatif_answer(p, changes, cnt, args->of, args->pauses, &w, &error))
		return cmd_failed(COMMAND, "%s", error->message);
	if (args->json)
		whatif_json(text, &w);
	else
		text_whatif(text, &w);
	whatif_clear(&w);
	fputs(text->str, stdout);
	return EXIT_OK;
}

/* Reads the recording and answers; returns the exit status. */
static int answer_args(int argc, char **argv, const struct whatif_args *args)
{
	struct whatif_change changes[WHATIF_CHANGES_MAX];
	g_autoptr(GError) error = NULL;
	int first = argc > 1 && !is_change(argv[1]) ? 2 : 1;

	if (argc == first || argc - first > WHATIF_CHANGES_MAX)
		return cmd_wrong(COMMAND, "tell one to %d changes, as 'lock=NAME hold*0.5'", WHATIF_CHANGES_MAX);
	for (int i = first; i < argc; i++)
		if (!whatif_parse(argv[i], &changes[i - first], &error))
			return cmd_wrong(COMMAND, "%s", error->message);
	struct profile *p = recording_read(first == 2 ? argv[1] : RECORDING_DEFAULT_FILE, &error);
	if (!p)
		return cmd_failed(COMMAND, "%s", error->message);
	int status = print_answer(p, changes, (guint)(argc - first), args);
	profile_free(p);
	return status;
}

int cmd_whatif(int argc, char **argv)
{
	struct whatif_args args = { 0 };
	GOptionEntry entries[] = {
		{ "of", 0, 0, G_OPTION_ARG_STRING, &args.of,
		  "Whose work: comm, comm/function, or request:NAME (who waits longest for what is changed)", "WORK" },
		{ "pauses", 0, 0, G_OPTION_ARG_NONE, &args.pauses, "Sleeps are pauses, and no wait for a timer's next tick", NULL },
		{ "json", 0, 0, G_OPTION_ARG_NONE, &args.json, "One JSON object", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	int status = EXIT_OK;

	if (cmd_parse(COMMAND, "[FILE] CHANGE ...", description, entries, &argc, &argv, &status))
		status = answer_args(argc, argv, &args);
	g_free(args.of);
	return status;
}
