/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* offcpu io: requests to block devices, and who issued them. Slow file operations are in cmd_files.c. */
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/parse.h"
#include "base/proc/status.h"
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "cmd/target.h"
#include "features/io/cmd.h"
#include "features/io/record_block.h"
#include "profile/profile_file.h"
#include "render/text/folded.h"
#include "session/session.h"

#define COMMAND "io"
#define TOP_DEFAULT 10
#define MS_NS 1000000UL
#define STACKS_SLOWER_NS MS_NS	/* with --stacks: faster operations come from a cache */

static const char description[] =
	"Examples:\n"
	"  offcpu io -d 10                         requests by disk, operation and file, with histograms\n"
	"  offcpu io --block -d 10                 by the place that issued them, with queue and device time\n"
	"  offcpu io --block --count -d 10         the same, most requests first\n"
	"  offcpu io --block --slower 10ms         a line for each request of 10 ms or more\n"
	"  offcpu io --block -f -d 10 > io.folded  folded stacks, in microseconds\n"
	"  offcpu io --slower 10ms -p 1234         a line for each file operation of 10 ms or more\n"
	"  offcpu io --stacks -d 10                file operations of 1 ms or more by the place that made them\n"
	"  offcpu io --slower 10ms -p postgres --follow  of all processes of that name and what these fork\n"
	"\n"
	"A request is no wait of a thread: many may be on their way at once.";

/* Finds the selected processes and groups. */
static bool find_only(struct io_options *o, GError **error)
{
	if (o->pids && !target_processes(o->pids, &o->processes, error))
		return false;
	for (char **group = o->groups; group && *group; group++) {
		if (!o->cgroup_ids)
			o->cgroup_ids = g_array_new(FALSE, FALSE, sizeof(uint64_t));
		if (!named_groups(*group, o->cgroup_ids, error))
			return false;
	}
	if (o->follow && o->processes)
		process_ids_add_descendants(o->processes);
	o->only = (struct io_only){ .pids = o->processes, .cgroups = o->cgroup_ids, .follow = o->follow };
	return true;
}

static int parse_own(struct io_options *o, struct run *run, int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	const char *wrong = NULL;

	if (argc > 1)
		return cmd_wrong(COMMAND, "unexpected argument '%s'", argv[1]);
	if (!run_parse_duration(run, o->duration))
		return EXIT_USAGE;
	if (o->by_block && o->by_stack)
		wrong = "--block is of requests to disks, --stacks is of file operations";
	else if (o->by_block && o->slower && (o->folded || o->by_count))
		wrong = "--block --slower is a line for each request: it goes with no --folded and no --count";
	else if (o->folded && !o->by_block && !o->by_stack)
		wrong = "--folded goes with --block and --stacks";
	else if (o->by_count && !o->by_block && !o->by_stack && !o->slower)
		wrong = "--count goes with --block, --stacks and --slower";
	else if (o->folded && io_is_json(o))
		wrong = "--folded and --json exclude each other";
	else if (o->top < 1)
		wrong = "--top takes 1 or more";
	else if (o->follow && !o->pids)
		wrong = "--follow is about the children of -p";
	else if (o->no_kernel_stacks && o->no_user_stacks)
		wrong = "-U and -K exclude each other";
	if (wrong || !answer_args_understand(&o->answer, o->json, &error))
		return cmd_wrong(COMMAND, "%s", wrong ? wrong : error->message);
	if (o->slower && !parse_duration(o->slower, MS_NS, &o->slower_ns, &error))
		return cmd_wrong(COMMAND, "--slower: %s", error->message);
	if (o->by_stack && !o->slower)
		o->slower_ns = STACKS_SLOWER_NS;
	if (!find_only(o, &error))
		return cmd_failed(COMMAND, "%s", error->message);
	if (o->output && !profile_file_may_write(o->output, &error))
		return cmd_failed(COMMAND, "%s", error->message);
	return EXIT_OK;
}

void io_append_clock(GString *s, uint64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / (1000 * MS_NS));
	struct tm tm;

	localtime_r(&seconds, &tm);
	g_string_append_printf(s, "%02d:%02d:%02d.%03u", tm.tm_hour, tm.tm_min, tm.tm_sec,
			       (unsigned)(unix_ns % (1000 * MS_NS) / MS_NS));
}

void io_watch(void (*poll)(void *data), void *data, unsigned poll_ms, uint64_t duration_ns)
{
	const volatile int *stop_asked;
	uint64_t end_ns = duration_ns ? clock_ns(CLOCK_MONOTONIC) + duration_ns : UINT64_MAX;

	stop_asked = stop_catch();
	while (!*stop_asked) {
		uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
		const struct timespec pause = { .tv_nsec = (long)MIN(poll_ms * MS_NS, end_ns - MIN(now_ns, end_ns)) };

		if (now_ns >= end_ns)
			break;
		nanosleep(&pause, NULL);
		poll(data);
	}
	stop_release();
}

static void print_folded(const struct profile *p, bool by_count)
{
	const struct folded_options options = { .weight = by_count ? WEIGHT_COUNT : WEIGHT_OFF_CPU, .delimiter = true };
	g_autoptr(GString) text = g_string_new(NULL);

	folded_render(text, p, NULL, &options, NULL);
	fputs(text->str, stdout);
}

int io_give_away(struct profile *p, const struct io_options *o, const char *command_line)
{
	g_autoptr(GError) error = NULL;
	int status = EXIT_OK;

	p->info.command_line = profile_string(p, command_line);
	if (o->folded)
		print_folded(p, o->by_count);
	if (o->output && !profile_file_write(p, o->output, &error))
		status = cmd_failed(COMMAND, "%s", error->message);
	profile_free(p);
	return status;
}

static void poll_block(void *data)
{
	block_io_poll(data);
	fflush(stdout);
}

IO_PRINTS(print_request, struct block_op, io_line)
IO_PRINTS(print_json_request, struct block_op, io_json_request)

static void print_result(struct block_io *b, const struct io_options *o)
{
	const struct io_text_options text_options = {
		.by_stack = o->by_block && !o->slower, .by_count = o->by_count, .top = (unsigned)o->top,
		.is_of_some = only_some(&o->only),
	};
	g_autoptr(GString) text = g_string_new(NULL);
	struct block_result r;

	block_io_result(b, &r);
	if (io_is_json(o)) {
		io_json_block(text, &r, text_options.by_stack, text_options.is_of_some);
		answer_print(COMMAND, text, &o->answer);
	} else {
		if (o->slower)
			g_string_append_c(text, '\n');
		io_text(text, &r, &text_options);
		io_limits_append(text, "/proc", o->processes);
		fputs(text->str, stdout);
	}
	block_result_clear(&r);
}

static int io_block(const struct io_options *o, uint64_t duration_ns, const char *command_line)
{
	bool with_stacks = (o->by_block && !o->slower) || o->output;
	g_autoptr(GString) line = g_string_new(NULL);
	const struct block_options options = {
		.only = o->only, .no_user_stacks = o->no_user_stacks || !with_stacks,
		.no_kernel_stacks = o->no_kernel_stacks || !with_stacks,
		.on_op = !o->slower || answer_is_asked(&o->answer) ? NULL
			 : o->json                                 ? print_json_request
								   : print_request,
		.data = line,
		.slower_ns = o->slower_ns,
	};
	g_autoptr(GError) error = NULL;
	struct block_io *b = block_io_new(&options, &error);
	int status = EXIT_OK;

	if (!b) {
		cmd_error(COMMAND, "%s", error->message);
		return run_status_of(error);
	}
	if (o->slower && !io_is_json(o)) {
		io_line_heading(line);
		fputs(line->str, stdout);
		fflush(stdout);
	}
	io_watch(poll_block, b, BLOCK_POLL_MS, duration_ns);
	block_io_stop(b);
	if (!o->folded)
		print_result(b, o);
	if (o->folded || o->output)
		status = io_give_away(block_io_take_profile(b), o, command_line);
	block_io_free(b);
	return status;
}

int cmd_io(int argc, char **argv)
{
	struct target target = { 0 };
	struct io_options own = { .top = TOP_DEFAULT };
	struct run run = { .name = COMMAND, .target = &target };
	GOptionEntry entries[] = {
		{ "block", 0, 0, G_OPTION_ARG_NONE, &own.by_block, "Requests to disks by the stacks that issued them",
		  NULL },
		{ "slower", 0, 0, G_OPTION_ARG_STRING, &own.slower,
		  "A line for each file operation, or with --block request, that takes this or more (a bare number is ms)",
		  "TIME" },
		{ "stacks", 0, 0, G_OPTION_ARG_NONE, &own.by_stack,
		  "Slow file operations by stack (of 1 ms or more, or see --slower)", NULL },
		{ "count", 0, 0, G_OPTION_ARG_NONE, &own.by_count,
		  "Most requests or operations first, rather than most time", NULL },
		{ "pid", 'p', 0, G_OPTION_ARG_STRING_ARRAY, &own.pids,
		  "Only what this process does, by number or name; may be repeated", "PID" },
		{ "cgroup", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &own.groups,
		  "Only what this cgroup (version 2), unit or container does; may be repeated", "PATH|NAME" },
		{ "follow", 0, 0, G_OPTION_ARG_NONE, &own.follow, "With -p: their children, too", NULL },
		{ "user-stacks-only", 'U', 0, G_OPTION_ARG_NONE, &own.no_kernel_stacks, "No kernel stacks", NULL },
		{ "kernel-stacks-only", 'K', 0, G_OPTION_ARG_NONE, &own.no_user_stacks, "No user stacks", NULL },
		{ "duration", 'd', 0, G_OPTION_ARG_STRING, &own.duration, "Stop after this (a bare number is s)",
		  "TIME" },
		{ "top", 0, 0, G_OPTION_ARG_INT, &own.top, "Rows of a table (10)", "N" },
		{ "folded", 'f', 0, G_OPTION_ARG_NONE, &own.folded, "With --block, --stacks: folded stacks", NULL },
		{ "json", 0, 0, G_OPTION_ARG_NONE, &own.json, "JSON in integer nanoseconds; with --slower a line each",
		  NULL },
		ANSWER_SIZE_ENTRIES(own.answer),
		{ "output", 'o', 0, G_OPTION_ARG_FILENAME, &own.output, "Write a recording, too", "FILE" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	g_autofree char *arguments = g_strjoinv(" ", argv);
	g_autofree char *command_line = g_strconcat("offcpu ", arguments, NULL);
	int status = EXIT_OK;

	answer_args_note(&own.answer, argc, argv);
	if (cmd_parse(COMMAND, "", description, entries, &argc, &argv, &status) &&
	    (status = parse_own(&own, &run, argc, argv)) == EXIT_OK)
		status = !own.by_block && (own.slower || own.by_stack) ? io_files(&own, run.duration_ns, command_line)
						    : io_block(&own, run.duration_ns, command_line);
	g_free(own.duration);
	g_free(own.output);
	g_strfreev(own.pids);
	g_strfreev(own.groups);
	g_clear_pointer(&own.processes, g_array_unref);
	g_clear_pointer(&own.cgroup_ids, g_array_unref);
	g_free(own.slower);
	answer_args_clear(&own.answer);
	return status;
}
