/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include "analyse/locks.h"
#include "base/parse.h"
#include "cmd/cmd.h"
#include "cmd/filters.h"
#include "cmd/input.h"
#include "cmd/range.h"
#include "cmd/serving.h"

#define COMMAND "view"

static const char description[] =
	"Serves a recording on this machine: as a page, and for speedscope, the Firefox Profiler and go tool pprof.\n"
	"\n"
	"  offcpu view                        trace.offcpu; prints the links, ends with Ctrl-C\n"
	"  offcpu view db.offcpu --open       and opens the page in the browser\n"
	"  offcpu view db.offcpu --from -10s  only its last ten seconds\n"
	"\n"
	"Only who has a link's token can read, and only from this machine.  From another one: ssh -L PORT:127.0.0.1:PORT.";

struct view_args {
	struct filters filters;
	struct range_args range;
	char *idle;
	gint port;
	gboolean open;
};

static bool parse_args(struct view_args *a, int argc, char **argv, struct serving *v, GError **error)
{
	uint64_t idle_ns = (uint64_t)SERVING_IDLE_S * G_USEC_PER_SEC * 1000;

	if (argc > 2)
		return refuse(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
			"one recording at a time, and \"%s\" is a second one", argv[2]);
	if (a->port < 0 || a->port > G_MAXUINT16)
		return refuse(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
			"--port %d: 1 to 65535 are wanted, or 0 for any", a->port);
	if (a->idle && !parse_duration(a->idle, G_USEC_PER_SEC * 1000, &idle_ns, error))
		return false;
	*v = (struct serving){
		.command = COMMAND,
		.port = (guint16)a->port,
		.idle_s = (unsigned)MIN((idle_ns + 999999999) / 1000000000, G_MAXINT),
		.open = a->open,
	};
	return range_source(argc == 2 ? argv[1] : NULL, &v->name, error) && range_args_check(&a->range, error) &&
	       filters_understand(&a->filters, error);
}

static int serve(struct profile *p, const struct query *query, enum weight weight, const struct selection *selection,
		 const struct serving *v)
{
	g_autofree char *text = query_text(query);
	const struct html_options page = { .selection = selection,
					   .selection_text = text,
					   .view = { .weight = weight } };

	return serving_run(v, p, &page);
}

static int run(const struct view_args *a, const struct serving *v)
{
	g_autoptr(GError) error = NULL;
	const struct query *query = &a->filters.query;
	enum weight weight = WEIGHT_OFF_CPU;
	struct profile *p = range_read_profile(v->name, &a->range, &error);
	bool knows = p && recording_with_on_cpu(p, v->name, false, query, &weight, &error) &&
		     recording_knows(p, v->name, weight, query, &error);
	struct selection *selection = NULL;
	int status = EXIT_FAILED;

	if (knows) {
		objects_as_frames(p);
		selection = selection_new(p, query, &error);
	}
	if (selection)
		status = serve(p, query, weight, selection, v);
	else
		cmd_error(COMMAND, "%s", error->message);
	selection_free(selection);
	profile_free(p);
	return status;
}

int cmd_view(int argc, char **argv)
{
	struct view_args a = { 0 };
	struct serving v;
	g_autoptr(GError) error = NULL;
	int status;
	GOptionEntry entries[] = {
		{ "open", 0, 0, G_OPTION_ARG_NONE, &a.open, "Open the page in the browser", NULL },
		{ "port", 0, 0, G_OPTION_ARG_INT, &a.port, "Listen there (any free port)", "PORT" },
		{ "idle", 0, 0, G_OPTION_ARG_STRING, &a.idle, "End when nobody has asked for so long (30m; 0: never)",
		  "DUR" },
		FILTERS_OPTIONS(a.filters),
		RANGE_ENTRIES(a.range),
		INPUT_OPTION,
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	if (cmd_parse(COMMAND, "[FILE]", description, entries, &argc, &argv, &status)) {
		status = parse_args(&a, argc, argv, &v, &error) ? run(&a, &v)
			: cmd_wrong(COMMAND, "%s", error->message);
	}
	g_free(a.idle);
	range_args_clear(&a.range);
	filters_clear(&a.filters);
	return status;
}
