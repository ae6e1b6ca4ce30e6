/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* offcpu request: what happens inside calls of a function. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/opener/opener.h"
#include "base/parse.h"
#include "base/proc/net_table.h"
#include "cmd/answering.h"
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "features/requests/probe.h"
#include "features/requests/text.h"
#include "profile/profile_file.h"
#include "render/answer/report.h"

#define INTERVAL_NS 1000000000ULL
#define TOP_DEFAULT 3
#define LINES_MAX 10	/* lines about functions without calls, per second */

static const char description[] =
	"Examples:\n"
	"  offcpu request -p mariadbd dispatch_command       latency of queries, and what they wait for\n"
	"  offcpu request -p mariadbd --slower 100ms dispatch_command\n"
	"                                                    only waits of queries that took 100 ms or more\n"
	"  offcpu request -p 1234 --line 'libpq:PQexec*'     a function of a library, one line a second\n"
	"  offcpu request -p 1234 --every 'btr_*'            a table of all of these: calls, time, of their own and inside\n"
	"  offcpu request -p redis-server socket:6379        from receive to send on each connection of that port\n"
	"  offcpu request -p postgres usdt:postgresql:transaction-start,transaction-commit,transaction-abort\n"
	"\n"
	"FUNC is a name or a pattern, of C++ and Rust as people write it. BIN is a path, or the name of a library\n"
	"that the process has mapped; without it, it is the program. A request is the outermost call on its thread.";

struct request_options {
	char *duration, *slower, *output, *by;
	gboolean line, quiet, json, every;
	gint top;
	struct answer_args answer;
	uint64_t slower_ns;
};

/* Is standard output machine-readable? */
static bool is_json(const struct request_options *o)
{
	return o->json || answer_is_asked(&o->answer);
}

struct requesting {
	const struct request_options *options;
	const struct request_plan *plan;
	struct request_row *now, *then;	/* a row per function */
	uint64_t shown_ns;
};

static void read_rows(const struct requesting *q, const struct requests *requests)
{
	for (guint i = 0; i < q->plan->names->len; i++) {
		q->now[i].name = q->plan->names->pdata[i];
		q->now[i].file = q->plan->files->pdata[i];
		requests_read(requests, i, &q->now[i].sum);
		requests_read_calls(requests, i, &q->now[i].calls);
	}
}

static void print_interval(struct requesting *q)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(GDateTime) time = g_date_time_new_now_local();
	g_autofree char *stamp = g_date_time_format(time, "%H:%M:%S");
	guint cnt = q->plan->names->len;
	g_autofree struct request_row *rows = g_memdup2(q->now, cnt * sizeof(*rows));

	for (guint i = 0; i < cnt; i++) {
		request_since(&q->now[i].sum, &q->then[i].sum, &rows[i].sum);
		if (q->options->line && (cnt <= LINES_MAX || rows[i].sum.all.count))
			request_line_text(text, stamp, &rows[i]);
	}
	if (!q->options->line)
		request_interval_text(text, rows, cnt);
	memcpy(q->then, q->now, cnt * sizeof(*q->then));
	fwrite(text->str, 1, text->len, stdout);
	fflush(stdout);
}

/* False: all processes that were asked for have ended. */
static bool someone_lives(const GArray *pids)
{
	for (guint i = 0; pids && i < pids->len; i++) {
		g_autofree char *path = g_strdup_printf("/proc/%u", g_array_index(pids, uint32_t, i));

		if (access(path, F_OK) == 0)
			return true;
	}
	return !pids;
}

static bool on_tick(struct run *run, uint64_t elapsed_ns)
{
	struct requesting *q = run->data;
	uint64_t start_ns, stop_ns;

	if (ferror(stdout))
		return false;
	if (elapsed_ns < q->shown_ns + INTERVAL_NS)
		return true;
	q->shown_ns = elapsed_ns - elapsed_ns % INTERVAL_NS;
	if (!q->options->quiet && !is_json(q->options)) {
		read_rows(q, session_requests(run->session, &start_ns, &stop_ns));
		print_interval(q);
	}
	if (someone_lives(run->target->collect.pids))
		return true;
	return cmd_refuse("request", "the process has ended");
}

/* A mistyped port would look like a server without requests. */
static void warn_of_unused(const struct request_port *port, const GArray *pids)
{
	struct net_tables *tables = net_tables_new("/proc");
	const GArray *sockets =
		net_tables_of(tables, pids && pids->len ? g_array_index(pids, uint32_t, 0) : (uint32_t)getpid());

	if (sockets && !net_table_has_port(sockets, port->port))
		cmd_error("request", "warning: no socket has port %u %s: is that the port it listens on?", port->port,
			  pids ? "where the process is" : "here");
	net_tables_free(tables);
}

/* Go moves goroutines between threads, but what a socket receives is followed by thread. */
static void warn_of_go(const GArray *pids)
{
	uint32_t pid = pids && pids->len ? g_array_index(pids, uint32_t, 0) : 0;
	struct request_go_names *go = pid ? request_go_names_read(pid) : NULL;

	if (go)
		cmd_error("request",
			  "warning: process %u is a program of Go: most requests of a socket end there on another thread than "
			  "they began on; name the function that serves them: offcpu request -p %u main.handle", pid, pid);
	request_go_names_free(go);
}

static int parse_own(struct request_options *o, struct run *run, const struct target *target)
{
	g_autoptr(GError) error = NULL;

	if (!run_parse_duration(run, o->duration))
		return EXIT_USAGE;
	if (o->slower && (!parse_duration(o->slower, 1000000, &o->slower_ns, &error) || !o->slower_ns))
		return cmd_wrong("request", "--slower: %s", error ? error->message : "a time above 0 is wanted");
	if (o->slower_ns && target->wakers_cnt > 1)
		return cmd_wrong("request", "--slower goes with --wakers, not with a chain of them");
	if (!answer_args_understand(&o->answer, o->json, &error))
		return cmd_wrong("request", "%s", error->message);
	if (o->by && (strcmp(o->by, "route") != 0 || is_json(o))) {
		return cmd_wrong("request", strcmp(o->by, "route") != 0 ? "--by '%s': route is the only one" :
			  "--by %s: the JSON of `offcpu report` has it, of a recording (-o FILE)", o->by);
	}
	if (o->top < 0)
		return cmd_wrong("request", "--top %d: a number of rows is wanted, 0 for all", o->top);
	if (o->output && !profile_file_may_write(o->output, &error))
		return cmd_failed("request", "%s", error->message);
	return EXIT_OK;
}

/* "in requests of f, g, from 100ms on", for the recording. */
static char *describe(const struct target *target, const struct requesting *q)
{
	g_autofree char *threads = target_describe(target);
	GString *text = g_string_new(threads);

	g_string_append_printf(text, "%swaits inside of requests: ", text->len ? ", " : "");
	for (guint i = 0; i < q->plan->names->len; i++)
		g_string_append_printf(text, "%s%s", i ? ", " : "", (const char *)q->plan->names->pdata[i]);
	if (q->options->slower)
		g_string_append_printf(text, ", of %s or more", q->options->slower);
	return g_string_free(text, FALSE);
}

/* An answer to an id comes from a recording; a live trace is gone. */
static void append_answer(GString *out, const struct profile *p, const struct request_options *o)
{
	static const char *const record[] = { "-o FILE", "all that has an id, by offcpu report FILE --id ID", NULL };
	g_autofree char *file = o->output ? g_shell_quote(o->output) : NULL;
	g_autofree char *command = file ? g_strconcat("offcpu report ", file, " --json=summary", NULL) : NULL;
	struct answer_options options = o->answer.options;
	g_autoptr(GError) error = NULL;

	options.command = command;
	options.not_recorded = command ? NULL : record;
	answer_report(out, "request", p, NULL, &options, &error);
}

static int finish(struct run *run, struct requesting *q, const char *command_line)
{
	const struct request_options *o = q->options;
	struct offcpu_loss_count counts[OFFCPU_REQUEST_COUNT];
	struct request_summary summary = { .rows = q->now,
					   .rows_cnt = q->plan->names->len,
					   .has_calls = request_plan_has_calls(q->plan),
					   .by_goroutine = q->plan->has_go,
					   .slower_ns = o->slower_ns,
					   .counts = counts };
	struct text_options text = { .top = (unsigned)o->top,
				     .by = TOP_BY_STACK,
				     .weight = WEIGHT_OFF_CPU,
				     .whys = true,
				     .colour = cmd_stdout_has_colour(),
				     .width = isatty(STDOUT_FILENO) ? cmd_stdout_width() : 0 };
	g_autofree char *filters = describe(run->target, q), *why = NULL;
	g_autoptr(GString) out = g_string_new(NULL);
	g_autoptr(GError) error = NULL;
	uint64_t start_ns, stop_ns;
	const struct requests *requests = session_requests(run->session, &start_ns, &stop_ns);
	struct requests_open open;
	int status = EXIT_OK;

	read_rows(q, requests);
	struct profile *p = session_take_profile(run->session);
	requests_read_counts(requests, start_ns, stop_ns, counts, &open);
	summary.open_cnt = open.count;
	summary.open_longest_ns = open.longest_ns;
	summary.open_is_longer = open.is_longer;
	summary.open_name = open.count && open.func < q->plan->names->len ? q->plan->names->pdata[open.func] : NULL;
	summary.start_ns = start_ns;
	summary.duration_ns = stop_ns - start_ns;
	summary.site_cnt = requests_site_cnt(requests);
	summary.refused_cnt = requests_refused(requests, &summary.refused_why);
	why = g_strdup(summary.refused_why);
	summary.refused_why = why;
	session_unload(run->session);
	p->info.command_line = profile_string(p, command_line);
	p->info.filters = profile_string(p, filters);
	p->info.request_slower_ns = o->slower_ns;
	requests_add_losses(p, counts);	/* the recording has the losses of the sums, too */
	summary.p = p;
	if (o->json) {
		request_summary_json(out, &summary);
	} else if (answer_is_asked(&o->answer)) {
		append_answer(out, p, o);
	} else {
		g_string_append_c(out, '\n');
		request_summary_text(out, &summary, &text);
		for (guint i = 0; i < summary.rows_cnt; i++)
			request_tail_text(out, p, i, &text);
		request_waits_text(out, &summary, &text);
		if (o->by) {
			g_string_append_c(out, '\n');
			requests_routes_text(out, p, &text);
		}
	}
	fwrite(out->str, 1, out->len, stdout);
	if (o->output && !profile_file_write(p, o->output, &error))
		status = cmd_failed("request", "%s", error->message);
	profile_free(p);
	return status;
}

static int trace(struct run *run, struct requesting *q, const char *command_line)
{
	guint cnt = q->plan->names->len;
	int status;

	q->now = g_new0(struct request_row, cnt);
	q->then = g_new0(struct request_row, cnt);
	if (q->plan->has_go && !is_json(q->options))
		cmd_error("request",
			  "Go's scheduler is probed, too: each time that a goroutine of the program is parked costs some microseconds");
	if (q->plan->exports_only)
		cmd_error("request",
			  "warning: %s is stripped, so the pattern found only functions that it exports: its debug symbols have all",
			  q->plan->exports_only);
	for (guint i = 0; i < q->plan->ports->len; i++)
		warn_of_unused(&g_array_index(q->plan->ports, struct request_port, i), run->target->collect.pids);
	if (q->plan->ports->len)
		warn_of_go(run->target->collect.pids);
	if (isatty(STDERR_FILENO) && !run->duration_ns)
		fprintf(stderr, "Tracing requests. Ctrl-C ends it.\n");
	if (q->options->line && !q->options->quiet && !is_json(q->options)) {
		g_autoptr(GString) text = g_string_new(NULL);

		request_line_heading(text);
		fputs(text->str, stdout);
	}
	status = run_session(run);
	if (status == EXIT_OK)
		status = finish(run, q, command_line);
	g_free(q->now);
	g_free(q->then);
	return status;
}

/* Finds what counts as a request. NULL with an exit status: the error was printed. */
static struct request_plan *make_plan(char **specs, struct target *target, const struct request_options *o,
				      int *ret_status)
{
	g_autoptr(GError) error = NULL;
	struct request_plan *plan;

	plan = request_plan_new(specs, target->collect.pids, target->command ? target->command[0] : NULL, o->every,
				&error);
	if (!plan) {
		cmd_error("request", "%s", error->message);
		*ret_status = run_status_of(error);
		return NULL;
	}
	target->collect.requests = plan;
	target->collect.request_slower_ns = o->slower_ns;
	target->collect.request_spans = o->output || o->by;
	target->collect.may_raise = false;
	return plan;
}

/* Runs after the command line is parsed. */
static int request(struct run *run, struct requesting *q, struct request_options *o, struct target *target, int argc,
		   char **argv, const char *command_line)
{
	struct request_plan *plan;
	int status;

	if (argc < 2)
		return cmd_wrong("request", "which function is a request? [BIN:]FUNC or socket:PORT is wanted");
	target->takes_children = true;
	if ((status = target_resolve(target, "request")) != EXIT_OK ||
	    (status = parse_own(o, run, target)) != EXIT_OK)
		return status;
	opener_begin();	/* functions are looked up in the files of the processes */
	plan = make_plan(&argv[1], target, o, &status);
	if (!plan) {
		run_end_opener(run->name);
		return status;
	}
	q->plan = plan;
	status = trace(run, q, command_line);
	if (status == EXIT_OK)
		status = run_command_status(run);
	run_release(run);
	request_plan_free(plan);
	return status;
}

int cmd_request(int argc, char **argv)
{
	struct target target = { 0 };
	struct request_options o = { .top = TOP_DEFAULT };
	struct requesting q = { .options = &o };
	struct run run = { .name = "request", .target = &target, .on_tick = on_tick, .data = &q };
	const GOptionEntry own[] = {
		{ "duration", 'd', 0, G_OPTION_ARG_STRING, &o.duration, "Stop after this (a bare number is s)", "TIME" },
		{ "slower", 0, 0, G_OPTION_ARG_STRING, &o.slower,
		  "Only waits of requests that take this or more (a bare number is ms)", "TIME" },
		{ "line", 0, 0, G_OPTION_ARG_NONE, &o.line, "One line a second in place of the distribution", NULL },
		{ "by", 0, 0, G_OPTION_ARG_STRING, &o.by,
		  "At the end requests of each route, too, of programs with trace contexts", "route" },
		{ "quiet", 'q', 0, G_OPTION_ARG_NONE, &o.quiet, "Nothing until the end", NULL },
		{ "every", 0, 0, G_OPTION_ARG_NONE, &o.every, "Every function that a name or pattern matches", NULL },
		{ "top", 0, 0, G_OPTION_ARG_INT, &o.top, "Stacks at the end, 0 for all (3)", "N" },
		{ "output", 'o', 0, G_OPTION_ARG_FILENAME, &o.output,
		  "Write a recording of the waits inside of requests", "FILE" },
		{ "json", 0, 0, G_OPTION_ARG_NONE, &o.json, "The sums at the end, as JSON in integer nanoseconds", NULL },
		ANSWER_SIZE_ENTRIES(o.answer),
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	g_autofree char *arguments = g_strjoinv(" ", argv);
	g_autofree char *command_line = g_strconcat("offcpu ", arguments, NULL);
	int status = EXIT_OK;

	target_cut_command(&target, &argc, argv);
	answer_args_note(&o.answer, argc, argv);
	target_fill_in(argc, argv);
	g_autoptr(GArray)
		entries = target_entries(&target,
					 TARGET_WHO | TARGET_FILTER | TARGET_CAPTURE | TARGET_WHY | TARGET_NAMED, own);
	if (cmd_parse("request", "-p PID [BIN:]FUNC|socket:PORT ... [-- COMMAND ...]", description,
		      (GOptionEntry *)entries->data, &argc, &argv, &status))
		status = request(&run, &q, &o, &target, argc, argv, command_line);
	target_release(&target);
	g_free(o.duration);
	g_free(o.slower);
	g_free(o.output);
	g_free(o.by);
	answer_args_clear(&o.answer);
	return status;
}
