/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* offcpu events: every single wait, when it ends. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "cmd/cmd.h"
#include "cmd/events/events.h"
#include "exchange/sink.h"

static const char description[] =
	"Examples:\n"
	"  offcpu events -m 10ms               every wait of 10 ms and more, on the whole system\n"
	"  offcpu events -p 1234 -d 5          all waits of one process for five seconds\n"
	"  offcpu events -p 1234 --wakers --objects   and who ended them, and what they were for\n"
	"  offcpu events --runq -m 10ms        threads that were kept from a CPU for 10 ms and more\n"
	"  offcpu events --state R -m 1ms --who-preempted   who takes the CPU away\n"
	"  offcpu events -p 1234 --runq-blame  and below each wait who had the CPU meanwhile\n"
	"  offcpu events -d 5 -f perfetto -o x.pftrace     CPUs, states and waits by the clock: ui.perfetto.dev\n"
	"  offcpu events -p 1234 -d 5 -f firefox -o x.json.gz     a marker a wait: profiler.firefox.com\n"
	"\n"
	"Prints a line when a wait ends: when, where, who, how long it was blocked (WAIT), how long\n"
	"it then waited for a CPU (DELAY: run queue and preemption), how long it had run before, and why\n"
	"it waited (REASON).";

static const struct event_format *const formats[] = { &event_text, &event_json, &event_perfetto, &event_firefox };

#define TEXT_BYTES (64 * 1024)

/* Opened only after tracing has begun: if that fails, its error matters more. */
static bool open_output(struct events *ev)
{
	if (!ev->out && !ev->error)
		ev->out = output_begin(ev->path, &ev->error);
	return !ev->error;
}

void events_put(struct events *ev, const void *bytes, gsize len)
{
	if (open_output(ev))
		output_put(ev->out, bytes, len, &ev->error);
}

static bool put_output(void *ctx, const void *bytes, gsize len, GError **error)
{
	struct events *ev = ctx;

	events_put(ev, bytes, len);
	return true;
}

struct sink events_sink(struct events *ev)
{
	return (struct sink){ put_output, ev };
}

/* Drops the parts of run-queue blame that belong to an omitted wait. */
static bool is_left_out(const struct events *ev, const struct offcpu_rec_event *e)
{
	uint64_t delay_ns = e->runnable_ns + e->preempted_ns, unknown_ns;

	if (!ev->by_delay || (delay_ns >= ev->delay_min_ns && delay_ns <= ev->delay_max_ns))
		return false;
	if (ev->blame)
		g_array_unref(wait_blame_take(ev->blame, e, &unknown_ns));
	return true;
}

static void on_event(const struct offcpu_rec_event *e, void *data)
{
	struct events *ev = data;

	if (is_left_out(ev, e))
		return;
	ev->printed++;
	ev->format->wait(ev, e);
	if (ev->text->len >= TEXT_BYTES)
		ev->format->tick(ev);
}

static void on_switch(const struct offcpu_rec_switch *sw, void *data)
{
	struct events *ev = data;

	ev->format->on_switch(ev, sw);
}

static void on_blame(const struct offcpu_rec_blame *part, void *data)
{
	const struct events *ev = data;

	wait_blame_add(ev->blame, part);
}

static bool on_tick(struct run *run, uint64_t elapsed_ns)
{
	struct events *ev = run->data;

	if (open_output(ev) && ev->format->tick)
		ev->format->tick(ev);
	return !ev->error;
}

static void print_losses(const struct events *ev, const struct profile *p)
{
	fprintf(stderr, "%" G_GUINT64_FORMAT " wait%s in %.3f s", ev->printed, ev->printed == 1 ? "" : "s",
		(double)p->info.duration_ns / 1e9);
	if (ev->left_out)
		fprintf(stderr, "; of these the last %" G_GUINT64_FORMAT " are left out: -p, -m and -d make them fewer",
			ev->left_out);
	run_print_losses(p, "; lost: ", EVENTS_LEFT_OUT);
	fputc('\n', stderr);
}

static bool parse_format(struct events *ev, const char *name, bool json)
{
	ev->format = json ? &event_json : &event_text;
	for (size_t i = 0; name && i < G_N_ELEMENTS(formats); i++) {
		if (strcmp(name, formats[i]->name) == 0) {
			ev->format = formats[i];
			name = NULL;
		}
	}
	if (name)
		cmd_error("events", "-f \"%s\": no such format; known are text, json, perfetto, firefox", name);
	return !name;
}

/* False, after printing, for options that exclude each other. */
static bool fit_together(const struct events *ev, const struct target *target, bool json)
{
	const char *name = ev->format->name;

	if (json && ev->format != &event_json)
		return cmd_refuse("events", "--json and -f %s exclude each other", name);
	if (ev->format->is_file && target->collect.want_blame)
		return cmd_refuse("events", "--runq-blame: not of %s", name);
	if (ev->format->is_file && !ev->path && isatty(STDOUT_FILENO))
		return cmd_refuse("events", "%s is no text: -o FILE is wanted", name);
	return true;
}

static int parse_own(struct events *ev, struct target *target, const char *duration, const char *ring_size, int argc,
		     char **argv)
{
	uint32_t ring_kib;

	if (argc > 1)
		return cmd_unexpected("events", argv[1]);
	if (!run_parse_duration(ev->run, duration))
		return EXIT_USAGE;
	if (ring_size) {
		if (!parse_u32(ring_size, &ring_kib, NULL) || ring_kib < 64 || ring_kib > 1 << 20 ||
		    (ring_kib & (ring_kib - 1)))
			return cmd_wrong("events", "'%s' is not a ring size: KiB, a power of two from 64 to 1048576",
				ring_size);
		target->collect.ring_bytes = (size_t)ring_kib << 10;
	}
	return EXIT_OK;
}

static bool wait_of(const struct offcpu_rec_event *event, struct wait *ret_wait, void *run)
{
	return session_event_wait(((struct run *)run)->session, event, ret_wait);
}

static uint32_t waker_of(uint64_t id, void *run)
{
	return session_waker(((struct run *)run)->session, id);
}

static const struct profile *profile_of(void *run)
{
	return session_profile(((struct run *)run)->session);
}

static void prepare_format(struct events *ev, struct target *target)
{
	const struct event_source source = { wait_of, waker_of, profile_of, ev->run };
	struct collect_options *o = &target->collect;

	o->mode = COLLECT_EVENTS;
	if (ev->by_delay) {
		/* a delay is part of a wait, so the kernel's filter by wait length lets all candidates through */
		ev->delay_min_ns = o->min_ns;
		ev->delay_max_ns = o->max_ns ? o->max_ns : UINT64_MAX;
		o->max_ns = 0;
	}
	o->on_event = on_event;
	o->callback_data = ev;
	ev->wakers = ev->wakers || ev->format->is_file;
	o->want_wakers = ev->wakers;
	o->want_objects = o->want_objects || ev->format->is_file;
	o->wants_open = ev->format->is_file;
	if (ev->format->has_switches)
		o->on_switch = on_switch;
	if (o->want_blame) {
		ev->blame = wait_blame_new();
		o->on_blame = on_blame;
	}
	ev->facts = event_facts_new(&source);
	ev->text = g_string_new(NULL);
}

/* A closed pipe is no error: `offcpu events | head`. */
static int finish_output(struct events *ev)
{
	g_autoptr(GError) error = g_steal_pointer(&ev->error);

	if (error)
		output_drop(g_steal_pointer(&ev->out));
	else if (ev->out)
		output_end(g_steal_pointer(&ev->out), &error);
	if (!error || g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_PIPE))
		return EXIT_OK;
	return cmd_failed("events", "%s", error->message);
}

static int trace(struct events *ev)
{
	int status;

	if (ev->format->begin)
		ev->format->begin(ev);
	status = run_session(ev->run);
	if (status != EXIT_OK)
		return status;
	if (ev->format->stopped)
		ev->format->stopped(ev);
	struct profile *p = session_take_profile(ev->run->session);

	p->info.command_line = profile_string(p, ev->command_line);
	ev->format->end(ev, p);
	status = finish_output(ev);
	print_losses(ev, p);
	profile_free(p);
	return status == EXIT_OK ? run_command_status(ev->run) : status;
}

static void events_clear(struct events *ev)
{
	if (ev->format && ev->format->free)
		ev->format->free(ev);
	wait_blame_free(ev->blame);
	event_facts_free(ev->facts);
	output_drop(ev->out);
	if (ev->text)
		g_string_free(ev->text, TRUE);
	g_clear_error(&ev->error);
	g_free(ev->path);
}

int cmd_events(int argc, char **argv)
{
	g_autofree char *arguments = g_strjoinv(" ", argv), *command_line = g_strconcat("offcpu ", arguments, NULL);
	g_autofree char *duration = NULL, *ring_size = NULL, *format = NULL;
	struct target target = { 0 };
	struct run run = { .name = "events", .target = &target, .on_tick = on_tick, .drain_ms = 10 };
	struct events ev = { .run = &run, .command_line = command_line };
	gboolean json = FALSE;
	const GOptionEntry own[] = {
		{ "duration", 'd', 0, G_OPTION_ARG_STRING, &duration, "Stop after this (a bare number is s)", "TIME" },
		{ "format", 'f', 0, G_OPTION_ARG_STRING, &format, "text, json, perfetto or firefox (text)", "FORMAT" },
		{ "output", 'o', 0, G_OPTION_ARG_FILENAME, &ev.path, "Write to FILE instead of standard output", "FILE" },
		{ "runq", 0, 0, G_OPTION_ARG_NONE, &ev.by_delay, "-m and -M are of the delay: runnable, but without a CPU",
		  NULL },
		{ "who-preempted", 'P', 0, G_OPTION_ARG_NONE, &ev.who_preempted, "Show who got the CPU instead",
		  NULL },
		{ "wakers", 0, 0, G_OPTION_ARG_NONE, &ev.wakers, "Show who ended each sleep", NULL },
		{ "objects", 0, 0, G_OPTION_ARG_NONE, &target.collect.want_objects,
		  "Show what each wait is for: file, socket and peer, pipe, child, lock", NULL },
		{ "runq-blame", 0, 0, G_OPTION_ARG_NONE, &target.collect.want_blame,
		  "Show who held the CPU while the thread waited for it", NULL },
		{ "stacks", 's', 0, G_OPTION_ARG_NONE, &ev.stacks, "The stacks of each wait, too", NULL },
		{ "json", 0, 0, G_OPTION_ARG_NONE, &json, "One JSON object per line: -f json", NULL },
		{ "ring-size", 0, 0, G_OPTION_ARG_STRING, &ring_size, "Ring buffer in KiB (16384)", "KIB" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	int status = EXIT_OK;

	target_cut_command(&target, &argc, argv);
	g_autoptr(GArray) entries = target_entries(&target, TARGET_WHO | TARGET_FILTER | TARGET_CAPTURE, own);
	if (!cmd_parse("events", "[-- COMMAND ...]", description, (GOptionEntry *)entries->data, &argc, &argv,
		       &status))
		goto out;
	run.data = &ev;
	if ((status = parse_own(&ev, &target, duration, ring_size, argc, argv)) != EXIT_OK)
		goto out;
	status = parse_format(&ev, format, json) && fit_together(&ev, &target, json) ? EXIT_OK : EXIT_USAGE;
	if (status != EXIT_OK || (status = target_resolve(&target, "events")) != EXIT_OK)
		goto out;
	prepare_format(&ev, &target);
	status = trace(&ev);
out:
	run_release(&run);
	target_release(&target);
	events_clear(&ev);
	return status;
}
