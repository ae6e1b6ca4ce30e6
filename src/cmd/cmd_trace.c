/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* offcpu trace: traces, then prints; a drop-in replacement for bcc's offcputime. */
#include <stdio.h>
#include <unistd.h>

#include "base/parse.h"
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "render/text/folded.h"
#include "render/text/text.h"

static const char description[] =
	"Examples:\n"
	"  offcpu trace 5               off-CPU stacks of the whole system for five seconds\n"
	"  offcpu trace -p 1234 -K 5    of one process, kernel stacks only\n"
	"  offcpu trace -df -p 1234 30  folded, with a delimiter, for a flame graph\n"
	"  offcpu trace -- ls -R /usr   of a command\n"
	"\n"
	"The flags and both output forms are those of bcc's offcputime.";

struct trace_options {
	gboolean folded, delimiter, wakeup, offwake;
	gint stack_storage_size;
	uint64_t duration_ns;
};

static int parse_seconds(struct trace_options *o, int argc, char **argv)
{
	g_autoptr(GError) error = NULL;

	if (argc > 2)
		return cmd_unexpected("trace", argv[2]);
	if (argc == 2 && (!parse_duration(argv[1], 1000000000, &o->duration_ns, &error) || !o->duration_ns))
		return cmd_wrong("trace", "%s", error ? error->message : "SECS must be above 0");
	return EXIT_OK;
}

static void say_what(const struct run *run, const struct trace_options *o)
{
	const struct collect_options *c = &run->target->collect;
	g_autofree char *what = target_describe(run->target);
	const char *stacks = c->no_kernel_stacks ? "user" : c->no_user_stacks ? "kernel" : "user + kernel";

	fprintf(stderr, "Tracing off-CPU time (us) of %s by %s stack%s\n", *what ? what : "all threads", stacks,
		o->duration_ns ? "..." : "... Hit Ctrl-C to end.");
}

/* Views of run-queue blame and storms, instead of stacks. */
static void append_crowds(GString *text, const struct profile *p, bool blame, bool storms)
{
	const struct text_options options = { .colour = cmd_stdout_has_colour(),
					      .width = isatty(STDOUT_FILENO) ? cmd_stdout_width() : 0 };

	if (blame)
		blame_text(text, p, NULL, &options);
	if (storms)
		storms_text(text, p, NULL, &options);
}

static int print_profile(const struct profile *p, const struct trace_options *o, const struct target *target)
{
	g_autoptr(GString) text = g_string_new(NULL), sampling = g_string_new(NULL);
	g_autoptr(GError) error = NULL;
	const struct folded_options folded = { .delimiter = o->delimiter };

	if (target->collect.want_blame || target->collect.want_storms)
		append_crowds(text, p, target->collect.want_blame, target->collect.want_storms);
	else if (o->folded && (o->offwake || o->wakeup))
		folded_wakers_render(text, p, NULL, &folded, o->wakeup ? FOLDED_WAKEUP : FOLDED_OFFWAKE, NULL);
	else if (o->folded)
		folded_render(text, p, NULL, &folded, NULL);
	else if (o->wakeup || o->offwake) {
		struct actors *actors = actors_new(p, NULL, ACTOR_BY_ROLE);

		trace_wakers_text(text, p, o->wakeup);
		chains_text(text, p, actors, NULL, 0);
		actors_free(actors);
	}
	else
		trace_text(text, p, NULL, o->delimiter);
	text_sampling(sampling, p, "");
	fputs(sampling->str, stderr);
	EACH_ROW(i, const struct profile_loss, l, p->losses)
		fprintf(stderr, "WARNING: %" G_GUINT64_FORMAT " time%s: %s\n", l->count, l->count == 1 ? "" : "s",
			l->help);
	if (!text->len) {
		g_autofree char *what = target_describe(target);

		fprintf(stderr, "nothing to print: no wait%s%s in %.3f s\n", *what ? " of " : "", what,
			(double)p->info.duration_ns / 1e9);
	}
	if (cmd_write_output(NULL, text->str, text->len, &error))
		return EXIT_OK;
	return cmd_failed("trace", "%s", error->message);
}

int cmd_trace(int argc, char **argv)
{
	struct target target = { 0 };
	struct trace_options own = { 0 };
	struct run run = { .name = "trace", .target = &target };
	const GOptionEntry own_entries[] = {
		{ "folded", 'f', 0, G_OPTION_ARG_NONE, &own.folded, "Folded stacks", NULL },
		{ "delimited", 'd', 0, G_OPTION_ARG_NONE, &own.delimiter, "A delimiter between kernel and user stacks",
		  NULL },
		{ "offwake", 0, 0, G_OPTION_ARG_NONE, &own.offwake, "The sleeper's stacks and its waker's", NULL },
		{ "wakeup", 0, 0, G_OPTION_ARG_NONE, &own.wakeup,
		  "Wakers' stacks by how long the woken were off CPU, run queue included", NULL },
		{ "stack-storage-size", 0, 0, G_OPTION_ARG_INT, &own.stack_storage_size,
		  "Accepted for bcc's sake: stacks need no such limit here", "N" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	int status = EXIT_OK;

	target_cut_command(&target, &argc, argv);
	target_fill_in(argc, argv);
	g_autoptr(GArray) entries = target_entries(&target, TARGET_WHO | TARGET_FILTER | TARGET_CAPTURE | TARGET_WHY |
						   TARGET_SAMPLING, own_entries);
	if (!cmd_parse("trace", "[SECS] [-- COMMAND ...]", description, (GOptionEntry *)entries->data, &argc,
		       &argv, &status))
		goto out;
	if ((status = parse_seconds(&own, argc, argv)) != EXIT_OK ||
	    (status = target_resolve(&target, "trace")) != EXIT_OK)
		goto out;
	if (own.wakeup + own.offwake + (target.collect.want_blame || target.collect.want_storms) > 1) {
		cmd_error(
			"trace",
			"--wakeup, --offwake, --runq-blame and --storms: only one view at a time, the last two excepted");
		status = EXIT_USAGE;
		goto out;
	}
	own.offwake |= target.wakers_cnt && !own.wakeup;
	target.collect.want_wakers = own.wakeup || own.offwake;
	run.duration_ns = own.duration_ns;
	say_what(&run, &own);
	status = run_session(&run);
	if (status == EXIT_OK) {
		struct profile *p = session_take_profile(run.session);
		status = print_profile(p, &own, &target);
		profile_free(p);
	}
	if (status == EXIT_OK)
		status = run_command_status(&run);
out:
	run_release(&run);
	target_release(&target);
	return status;
}
