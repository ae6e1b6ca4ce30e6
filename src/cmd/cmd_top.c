/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* offcpu top: cuts a window per interval, and shows it. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "analyse/plumbing.h"
#include "base/parse.h"
#include "cmd/answering.h"
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "profile/profile.h"
#include "profile/profile_file.h"
#include "render/json/write.h"
#include "store/merge.h"
#include "tui/view.h"

/* All intervals since `offcpu top` began as one profile: what one long window would hold. */
struct since {
	struct merger *sum;	/* NULL: everything is in `held` */
	struct profile *held;	/* rows only */
};

static struct since *since_new(void)
{
	return g_new0(struct since, 1);
}

/* NULL is fine.  Call it before the session is freed. */
static FREES(since_free, struct since, s, merge_free(s->sum); profile_free_rows(s->held))

/*
 * Adds the next interval, from session_keep_window().  False on error: too many rows, so the sum restarts with this
 * interval.
 */
static bool since_add(struct since *s, struct profile *window, GError **error)
{
	bool is_whole = true;

	if (!s->sum) {
		s->sum = merge_new_rows(window);
		is_whole = !s->held || merge_add(s->sum, s->held, error);
	}
	if (is_whole && merge_add(s->sum, window, error))
		return true;
	merge_free(s->sum);
	s->sum = merge_new_rows(window);
	merge_add(s->sum, window, NULL);
	return false;
}

/* The sum, unchanged until the next call; NULL: nothing was added. */
static struct profile *since_hold(struct since *s)
{
	if (!s->sum)
		return s->held;
	profile_free_rows(s->held);
	s->held = merge_end(g_steal_pointer(&s->sum));
	return s->held;
}

static void write_numbers(struct json *j, const struct activity_row *r)
{
	uint64_t median_ns = activity_percentile_ns(r, 0.5);

	json_member_uint(j, "threads", r->threads_cnt);
	JSON_UINTS(j, r, observed_ns, on_cpu_ns, blocked_ns, runnable_ns, preempted_ns, idle_ns, unlisted_ns);
	json_member_int(j, "residual_ns", r->residual_ns);
	JSON(j, "switches", r->switches, "waits", r->waits);
	json_member_known(j, "median_ns", median_ns, median_ns || !r->waits);
	json_member_known(j, "p99_ns", activity_percentile_ns(r, 0.99), median_ns || !r->waits);
	json_member_known(j, "max_ns", r->max_ns, r->max_ns || !r->waits);
}

static void write_row(struct json *j, const struct view *v, const struct activity_row *r)
{
	json_object_begin(j);
	json_member_string(j, "name", r->name);
	json_member_known(j, "pid", r->pid, r->pid);
	json_member_known(j, "tid", r->tid, r->tid);
	write_numbers(j, r);
	JSON(j, "reason", r->reason_ns ? reason_name(r->reason) : NULL, "reason_ns", r->reason_ns);
	json_member_string(j, "wait",
			   !r->wait ? NULL
				    : plumbing_leaf(reasons_plumbing(v->shown->reasons),
						    profile_wait(v->shown->profile, r->wait - 1)));
	json_object_end(j);
}

static void write_losses(struct json *j, const struct profile *p)
{
	json_member_object(j, "losses");
	EACH_ROW(i, const struct profile_loss, l, p->losses)
		json_member_uint(j, l->reason, l->count);
	json_object_end(j);
}

/* Appends the shown interval and at most rows_max of its rows in order (0: all) as one line of JSON. */
static void top_json(GString *s, const struct view *v, guint rows_max)
{
	const struct profile_info *info = &v->shown->profile->info;
	struct json j;

	json_begin(&j, s);
	JSON(&j, "format", "offcpu-top", "version", 1);
	JSON_UINTS(&j, info, start_unix_ns, start_ns, duration_ns, cpus, switches);
	json_member_bool(&j, "sampled", profile_is_sampled(v->shown->profile));
	json_member_uint(&j, "tracer_cpu_ns", profile_running_cpu_ns(info));
	json_member_known(&j, "tracer_bpf_ns", info->tracer_bpf_ns, info->has_bpf_ns);
	write_losses(&j, v->shown->profile);
	json_member_object(&j, "total");
	write_numbers(&j, &v->activity->total);
	json_object_end(&j);
	JSON(&j, "by", activity_by_name(v->by), "rows_cnt", v->order->len);
	json_member_array(&j, "rows");
	for (guint i = 0; i < v->order->len && (!rows_max || i < rows_max); i++)
		write_row(&j, v, view_row_at(v, i));
	json_array_end(&j);
	json_object_end(&j);
	g_string_append_c(s, '\n');
}

#define DEFAULT_BUDGET_PPM 10000	/* 1% of the machine, as for record */
#define SECOND_NS UINT64_C(1000000000)
#define INTERVAL_MIN_NS (SECOND_NS / 10)
#define INTERVAL_MAX_NS (SECOND_NS * 3600)
#define BATCH_ROWS 20
#define SHORT_DRAIN_MS 20	/* an interval ends when the ring buffer is drained */

static const char description[] =
	"Examples:\n"
	"  offcpu top                        the whole system, once a second\n"
	"  offcpu top -p mariadbd --by thread  the threads of one program\n"
	"  offcpu top --batch -n 3           three intervals as text\n"
	"  offcpu top --batch --json -i 10   an object a line, each ten seconds\n"
	"\n"
	"Shows where threads spend the time they are not running, while it happens. ? shows the keys.";

struct top_options {
	char *interval, *by;
	gint count, rows;
	struct answer_args answer;
	gboolean batch, json, no_objects, wakers, since_start;
	uint64_t interval_ns;
};

struct top {
	const struct top_options *options;
	struct view *view;
	struct interval interval;	/* the one shown; profile NULL: none yet */
	struct profile *rows;		/* the last interval's profile, owned */
	struct since *since;		/* all intervals; NULL: cannot be selected */
	uint64_t next_ns;		/* time of the next cut, relative to the start */
	gint shown_cnt;
	const char *command_line, *filters;
	bool has_screen;
	bool is_cutting;	/* a cut is in progress: only keys that need no other interval are handled */
	bool is_left, is_switched;	/* set by a key during a cut */
	int status;
};

static void hide_interval(struct top *top)
{
	view_show(top->view, NULL);
	explanation_free(top->interval.explanation);
	top->interval = (struct interval){ 0 };
}

/* Shows the last interval, or all since the start. */
static void show_interval(struct top *top)
{
	hide_interval(top);
	top->interval.profile = top->view->is_since_start ? since_hold(top->since) : top->rows;
	top->interval.explanation = explanation_new(top->interval.profile, NULL);
	top->interval.reasons = top->interval.explanation->findings->reasons;
	view_show(top->view, &top->interval);
}

static void free_intervals(struct top *top)
{
	hide_interval(top);
	profile_free_rows(top->rows);
	since_free(top->since);
	top->rows = NULL;
	top->since = NULL;
}

static void draw_screen(struct top *top, bool anew)
{
	g_autoptr(GPtrArray) lines = NULL;

	screen_size(&top->view->rows, &top->view->columns);
	lines = view_paint(top->view);
	screen_draw(lines, anew);
}

static void print_text(struct top *top)
{
	g_autoptr(GPtrArray) lines = view_paint(top->view);

	for (guint i = 0; i < lines->len; i++)
		puts(lines->pdata[i]);
	putchar('\n');
}

/* False: output failed. */
static bool print_interval(struct top *top)
{
	if (top->options->json || answer_is_asked(&top->options->answer)) {
		g_autoptr(GString) line = g_string_new(NULL);

		top_json(line, top->view, (guint)top->options->rows);
		answer_print("top", line, &top->options->answer);
	} else {
		print_text(top);
	}
	return fflush(stdout) == 0;
}

/* A file name that is not taken. */
static char *free_path(const struct profile *p)
{
	g_autoptr(GDateTime) time = g_date_time_new_from_unix_local((gint64)(p->info.start_unix_ns / SECOND_NS));
	g_autofree char *clock = time ? g_date_time_format(time, "%Y%m%d-%H%M%S") : g_strdup("interval");

	for (unsigned i = 0;; i++) {
		char *path = i ? g_strdup_printf("top-%s-%u.offcpu", clock, i)
			       : g_strdup_printf("top-%s.offcpu", clock);

		if (access(path, F_OK) && errno == ENOENT)
			return path;
		g_free(path);
	}
}

static void write_interval(struct top *top)
{
	g_autofree char *path = free_path(top->interval.profile), *said = NULL;
	g_autoptr(GError) error = NULL;

	if (profile_file_write(top->interval.profile, path, &error))
		said = g_strdup_printf("wrote %s: offcpu report %s", path, path);
	else
		said = g_strdup(error->message);
	view_say(top->view, said);
}

/* False: the user quits. */
static bool take_keys(struct top *top)
{
	bool is_resized = false, is_anew = false;
	uint32_t key;

	for (;;) {
		bool is_new;

		key = screen_key(&is_new);
		is_resized |= is_new;
		if (!key && !is_new)
			break;
		if (!key)
			continue;
		switch (view_key(top->view, key)) {
		case VIEW_QUIT: return false;
		case VIEW_WRITE: write_interval(top); break;
		case VIEW_SWITCH: top->is_switched = true; break;
		case VIEW_REDRAW: is_anew = true; break;
		default: break;
		}
	}
	if (top->is_switched && top->is_cutting)
		return true;	/* the next interval comes soon */
	if (top->is_switched)
		show_interval(top);
	top->is_switched = false;
	draw_screen(top, is_resized || is_anew);
	return true;
}

static bool on_input(struct run *run)
{
	return take_keys(run->data);
}

/* Handles keys during a cut: the previous interval is still on the screen. */
static void take_keys_in_cut(void *data)
{
	struct top *top = data;
	struct pollfd keys = { .fd = STDIN_FILENO, .events = POLLIN };

	if (top->has_screen && !top->is_left && poll(&keys, 1, 0) > 0)
		top->is_left = !take_keys(top);
}

static void name_window(struct top *top, struct profile *window)
{
	g_autoptr(GError) error = NULL;

	window->info.command_line = top->command_line;
	window->info.filters = top->filters;
	if (top->since && !since_add(top->since, window, &error) && top->view->is_since_start)
		view_say(top->view, "more since the start than can be kept: it begins anew");
}

/* Makes the window that was just cut the interval on the screen, unless that is frozen. */
static void take_interval(struct top *top, struct session *session)
{
	struct profile *window = session_keep_window(session);

	name_window(top, window);
	take_keys_in_cut(top);
	if (top->view->is_frozen) {
		profile_free_rows(window);
		if (top->is_switched)
			show_interval(top);
		return;
	}
	hide_interval(top);
	profile_free_rows(top->rows);
	top->rows = window;
	show_interval(top);
}

static bool end_with(struct top *top, int status)
{
	top->status = status;
	return false;
}

static bool on_tick(struct run *run, uint64_t elapsed_ns)
{
	struct top *top = run->data;
	g_autoptr(GError) error = NULL;

	if (top->has_screen && screen_stop_if_asked())
		draw_screen(top, true);
	if (elapsed_ns < top->next_ns)
		return true;
	top->next_ns += top->options->interval_ns * (1 + (elapsed_ns - top->next_ns) / top->options->interval_ns);
	top->is_cutting = true;
	if (!session_cut(run->session, &error)) {
		run->on_end(run);
		cmd_error("top", "%s", error->message);
		return end_with(top, run_status_of(error));
	}
	take_interval(top, run->session);
	top->is_cutting = top->is_switched = false;
	if (top->is_left)
		return false;
	if (top->has_screen)
		draw_screen(top, false);
	else if (!print_interval(top))
		return end_with(top, EXIT_FAILED);
	return !top->options->count || ++top->shown_cnt < top->options->count;
}

static void on_end(struct run *run)
{
	struct top *top = run->data;

	if (top->has_screen)
		screen_end();
	top->has_screen = false;
}

static int parse_numbers(struct top_options *o, GError **error)
{
	const char *wrong = NULL;

	o->interval_ns = SECOND_NS;
	if (o->interval && !parse_duration(o->interval, SECOND_NS, &o->interval_ns, error))
		return EXIT_USAGE;
	if (o->interval_ns < INTERVAL_MIN_NS || o->interval_ns > INTERVAL_MAX_NS)
		wrong = "-i takes from 0.1 s to an hour";
	else if (o->count < 0 || o->rows < 0)
		wrong = "-n and --rows take a number from 1 on";
	else if (!answer_args_understand(&o->answer, o->json, error))
		return EXIT_USAGE;
	else if (!o->batch && (o->json || o->count || answer_is_asked(&o->answer)))
		wrong = "--json and -n are for --batch";
	if (!wrong)
		return EXIT_OK;
	g_set_error_literal(error, PARSE_ERROR, 0, wrong);
	return EXIT_USAGE;
}

/* Options that do not work with cut windows. */
static const char *why_not(const struct target *t, const struct top_options *o)
{
	if (t->collect.min_ns || t->collect.max_ns)
		return "-m and -M: waits are cut at each interval, so their length is not known; use `offcpu record`";
	if (t->command && !o->batch)
		return "a command needs the terminal for itself: use --batch";
	return NULL;
}

static int parse_own(struct top_options *o, struct top *top, const struct target *target, int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	const char *wrong;

	if (argc > 1)
		return cmd_unexpected("top", argv[1]);
	if (o->by && !activity_by_parse(o->by, &top->view->by))
		return cmd_wrong("top", "--by %s: process, thread, reason, object, stack or route", o->by);
	if (parse_numbers(o, &error) != EXIT_OK)
		return cmd_wrong("top", "%s", error->message);
	wrong = why_not(target, o);
	if (!wrong)
		return EXIT_OK;
	return cmd_wrong("top", "%s", wrong);
}

static bool begin_view(struct top *top, struct run *run)
{
	g_autoptr(GError) error = NULL;

	top->view->has_utf8 = screen_has_utf8();
	top->view->target = top->filters;
	if (top->options->batch) {
		top->view->is_plain = true;
		top->view->columns = 0;
		top->view->rows = top->options->rows ? (unsigned)top->options->rows + 5 : 0;
		return true;
	}
	if (!screen_begin(&error))
		return cmd_refuse("top", "%s", error->message);
	top->has_screen = true;
	run->input_fd = STDIN_FILENO;
	run->on_input = on_input;
	draw_screen(top, true);
	return true;
}

static void set_capture(struct target *target, const struct top_options *o)
{
	target->collect.may_cut = true;
	target->collect.want_locks = target->collect.want_objects = !o->no_objects;
	target->collect.want_wakers = o->wakers;
}

/*
 * Prints the last, shorter interval.  The result has the texts of all intervals: free it when none is shown any more.
 */
static struct profile *print_rest(struct top *top, struct session *session)
{
	struct profile *rest = session_take_profile(session);

	name_window(top, rest);
	hide_interval(top);
	profile_free_rows(top->rows);
	top->rows = NULL;
	top->interval.profile = top->view->is_since_start ? since_hold(top->since) : rest;
	top->interval.explanation = explanation_new(top->interval.profile, NULL);
	top->interval.reasons = top->interval.explanation->findings->reasons;
	view_show(top->view, &top->interval);
	if (!print_interval(top))
		top->status = EXIT_FAILED;
	return rest;
}

static int run_top(struct top *top, struct run *run, struct target *target, struct top_options *own, int argc,
		   char **argv)
{
	struct profile *rest = NULL;
	int status;

	if ((status = target_resolve(target, "top")) != EXIT_OK ||
	    (status = parse_own(own, top, target, argc, argv)) != EXIT_OK)
		return status;
	if (own->batch && !own->json && !answer_is_asked(&own->answer) && !own->rows)
		own->rows = BATCH_ROWS;
	g_autofree char *filters = target_describe(target);

	top->filters = filters;
	top->since = own->batch && !own->since_start ? NULL : since_new();
	top->view->is_since_start = own->since_start;
	top->next_ns = own->interval_ns;
	run->drain_ms = own->interval_ns < SECOND_NS ? SHORT_DRAIN_MS : 0;
	set_capture(target, own);
	target->collect.on_pause = take_keys_in_cut;
	target->collect.callback_data = top;
	run_hold_signals();
	if (!begin_view(top, run)) {
		free_intervals(top);
		return EXIT_FAILED;
	}
	status = run_session(run);
	if (status == EXIT_OK && own->batch && top->status == EXIT_OK && (!own->count || top->shown_cnt < own->count))
		rest = print_rest(top, run->session);
	on_end(run);
	free_intervals(top);
	profile_free(rest);
	if (status == EXIT_OK)
		status = top->status;
	return status == EXIT_OK ? run_command_status(run) : status;
}

int cmd_top(int argc, char **argv)
{
	struct target target = { .default_budget_ppm = DEFAULT_BUDGET_PPM };
	struct top_options own = { 0 };
	struct top top = { .options = &own, .view = view_new() };
	struct run run = { .name = "top", .target = &target, .on_tick = on_tick, .on_end = on_end, .data = &top };
	const GOptionEntry own_entries[] = {
		{ "interval", 'i', 0, G_OPTION_ARG_STRING, &own.interval, "Cut and show each (a bare number is s; 1)",
		  "TIME" },
		{ "by", 0, 0, G_OPTION_ARG_STRING, &own.by,
		  "Rows by process (the default), thread, reason, object, stack or route", "WHAT" },
		{ "batch", 0, 0, G_OPTION_ARG_NONE, &own.batch, "Print each interval as text, without a terminal", NULL },
		{ "json", 0, 0, G_OPTION_ARG_NONE, &own.json, "With --batch: each interval as a line of JSON", NULL },
		ANSWER_SIZE_ENTRIES(own.answer),
		{ "count", 'n', 0, G_OPTION_ARG_INT, &own.count, "With --batch: end after so many intervals", "N" },
		{ "rows", 0, 0, G_OPTION_ARG_INT, &own.rows, "With --batch: so many rows an interval (20; JSON: all)",
		  "N" },
		{ "no-objects", 0, 0, G_OPTION_ARG_NONE, &own.no_objects,
		  "Not what waits are for: files, sockets, locks", NULL },
		{ "wakers", 0, 0, G_OPTION_ARG_NONE, &own.wakers, "Who ended each sleep, for the details of stacks",
		  NULL },
		{ "since-start", 0, 0, G_OPTION_ARG_NONE, &own.since_start,
		  "All since the start at each interval, not the last one alone", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	g_autofree char *arguments = g_strjoinv(" ", argv);
	g_autofree char *command_line = g_strconcat("offcpu ", arguments, NULL);
	int status = EXIT_OK;

	top.command_line = command_line;
	target_cut_command(&target, &argc, argv);
	answer_args_note(&own.answer, argc, argv);
	g_autoptr(GArray)
		entries = target_entries(&target, TARGET_WHO | TARGET_FILTER | TARGET_CAPTURE | TARGET_SAMPLING,
					 own_entries);

	if (cmd_parse("top", "[-- COMMAND ...]", description, (GOptionEntry *)entries->data, &argc, &argv, &status))
		status = run_top(&top, &run, &target, &own, argc, argv);
	run_release(&run);
	target_release(&target);
	view_free(top.view);
	g_free(own.interval);
	g_free(own.by);
	answer_args_clear(&own.answer);
	return status;
}
