/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* offcpu events: one line per wait, as it ends. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyse/blame.h"
#include "analyse/label.h"
#include "base/parse.h"
#include "cmd/cmd.h"
#include "cmd/event_names.h"
#include "cmd/run.h"
#include "fold/wait_blame.h"
#include "render/json/write.h"
#include "render/text/util.h"

static const char description[] =
	"Examples:\n"
	"  offcpu events -m 10ms               every wait of 10 ms and more, on the whole system\n"
	"  offcpu events -p 1234 -d 5          all waits of one process for five seconds\n"
	"  offcpu events --state R -m 1ms --who-preempted   who takes the CPU away\n"
	"  offcpu events -p 1234 --runq-blame  and below each wait who had the CPU meanwhile\n"
	"\n"
	"Prints a line when a wait ends: when, where, who, how long it was blocked (WAIT), how long\n"
	"it then waited for a CPU (DELAY: run queue and preemption), and how long it had run before.";

#define HELD_SHOWN 4	/* of one wait, in text */

struct events {
	struct run *run;
	gboolean who_preempted, stacks, json;
	struct wait_blame *blame;	/* NULL: not asked for */
	struct event_names *names;
	char *duration, *ring_size;
	uint64_t printed;
	bool output_failed;
};

/* Text from another process must not steer the terminal. */
static char *printable(const char *text, size_t len)
{
	g_autofree char *cut = g_strndup(text, len);
	GString *safe = g_string_new(NULL);

	text_safe(safe, cut);
	return g_string_free(safe, FALSE);
}

static char *frame_label(const struct frame *f)
{
	g_autoptr(GString) s = g_string_new(NULL);

	label_append(s, f);
	return printable(s->str, s->len);
}

static unsigned stack_of(uint64_t id, const struct frame **ret_frames, unsigned max, void *data)
{
	const struct events *ev = data;

	return session_stack(ev->run->session, id, ret_frames, max);
}

static void print_stack(struct session *session, uint64_t id)
{
	const struct frame *frames[OFFCPU_MAX_DEPTH];
	unsigned cnt = session_stack(session, id, frames, OFFCPU_MAX_DEPTH);

	for (unsigned i = 0; i < cnt; i++) {
		g_autofree char *label = frame_label(frames[i]);
		printf("                %s\n", label);
	}
}

static void append_held_json(struct json *j, const GArray *held, uint64_t unknown_ns)
{
	json_key(j, "held_by");
	json_array_begin(j);
	for (guint i = 0; i < held->len; i++) {
		const struct held *h = &g_array_index(held, struct held, i);

		json_object_begin(j);
		json_member_string(j, "kind", blame_kind_id((uint8_t)h->kind));
		if (h->kind == BLAME_THREAD) {
			json_member_string(j, "comm", h->comm);
			json_member_uint(j, "pid", h->pid);
			json_member_uint(j, "tid", h->tid);
		}
		json_member_uint(j, "time_ns", h->ns);
		json_member_uint(j, "stretches", h->stretch_cnt);
		json_object_end(j);
	}
	if (unknown_ns) {
		json_object_begin(j);
		json_member_string(j, "kind", blame_kind_id(BLAME_UNKNOWN));
		json_member_uint(j, "time_ns", unknown_ns);
		json_object_end(j);
	}
	json_array_end(j);
}

/* "hog[12/10] 3.90 ms": who and how long. */
static void append_held(GString *line, const struct held *h)
{
	g_autofree char *comm = printable(h->comm, sizeof(h->comm) - 1);

	if (h->kind != BLAME_THREAD)
		g_string_append(line, h->kind == BLAME_IDLE ? "nobody (idle)" : "nobody (throttled)");
	else if (h->tid)
		g_string_append_printf(line, "%s[%u/%u]", comm, h->tid, h->pid);
	else
		g_string_append_printf(line, "%s[*/%u]", comm, h->pid);
	g_string_append_c(line, ' ');
	text_duration(line, h->ns);
}

/* Who had the CPU while the thread waited for it; all of it adds up to DELAY. */
static void print_held(const GArray *held, uint64_t unknown_ns)
{
	g_autoptr(GString) line = g_string_new("                CPU held by ");
	const gsize nothing = line->len;
	uint64_t rest_ns = 0;

	for (guint i = 0; i < held->len; i++) {
		const struct held *h = &g_array_index(held, struct held, i);

		if (i >= HELD_SHOWN && held->len > HELD_SHOWN + 1) {
			rest_ns += h->ns;
			continue;
		}
		g_string_append(line, line->len > nothing ? ", " : "");
		append_held(line, h);
	}
	if (rest_ns) {
		g_string_append_printf(line, ", %u others ", held->len - HELD_SHOWN);
		text_duration(line, rest_ns);
	}
	if (unknown_ns) {
		g_string_append(line, line->len > nothing ? ", unknown " : "unknown ");
		text_duration(line, unknown_ns);
	}
	if (line->len > nothing)
		puts(line->str);
}

static void print_json(const struct offcpu_rec_event *e, const char *at, const GArray *held, uint64_t unknown_ns)
{
	g_autoptr(GString) line = g_string_new(NULL);
	g_autofree char *comm = g_strndup(e->comm, sizeof(e->comm));
	g_autofree char *by = g_strndup(e->by_comm, sizeof(e->by_comm));
	const char state[2] = { (char)e->state, 0 };
	struct json j;

	json_init(&j, line);
	json_object_begin(&j);
	json_member_uint(&j, "end_ns", e->end_ns);
	json_member_uint(&j, "cpu", e->cpu);
	json_member_uint(&j, "pid", e->pid);
	json_member_uint(&j, "tid", e->tid);
	json_member_string(&j, "comm", comm);
	json_member_string(&j, "state", state);
	json_member_uint(&j, "blocked_ns", e->blocked_ns);
	json_member_uint(&j, "runnable_ns", e->runnable_ns);
	json_member_uint(&j, "preempted_ns", e->preempted_ns);
	json_member_uint(&j, "ran_ns", e->ran_ns);
	json_member_uint(&j, "by_pid", e->by_pid);
	json_member_uint(&j, "by_tid", e->by_tid);
	json_member_string(&j, "by_comm", e->by_comm[0] ? by : NULL);
	json_member_string(&j, "where", at);
	if (held)
		append_held_json(&j, held, unknown_ns);
	json_object_end(&j);
	puts(line->str);
}

static void print_header(const struct events *ev)
{
	printf("%-14s %3s %-24s %2s %12s %12s %12s  ", "TIME(s)", "CPU", "COMM[TID/PID]", "ST", "WAIT(ms)",
	       "DELAY(ms)", "RUN(ms)");
	if (ev->who_preempted)
		printf("%-24s ", "PREEMPTED BY");
	puts("WHERE");
}

static void on_event(const struct offcpu_rec_event *e, void *data)
{
	struct events *ev = data;
	const char *name = event_name(ev->names, e);
	g_autofree char *at = printable(name, strlen(name));
	uint64_t unknown_ns = 0;
	g_autoptr(GArray) held = ev->blame ? wait_blame_take(ev->blame, e, &unknown_ns) : NULL;

	ev->printed++;
	if (ev->json) {
		print_json(e, at, held, unknown_ns);
		return;
	}
	g_autofree char *comm = printable(e->comm, sizeof(e->comm));
	g_autofree char *who = g_strdup_printf("%s[%u/%u]", comm, e->tid, e->pid);
	printf("%7llu.%06llu %3u %-24s %2c %12.3f %12.3f %12.3f  ", (unsigned long long)(e->end_ns / 1000000000),
	       (unsigned long long)(e->end_ns / 1000 % 1000000), e->cpu, who, e->state,
	       (double)e->blocked_ns / 1e6, (double)(e->runnable_ns + e->preempted_ns) / 1e6,
	       (double)e->ran_ns / 1e6);
	if (ev->who_preempted) {
		g_autofree char *by_comm = printable(e->by_comm, sizeof(e->by_comm));
		g_autofree char *by = e->by_comm[0] ? g_strdup_printf("%s[%u/%u]", by_comm, e->by_tid, e->by_pid) :
						     g_strdup("-");
		printf("%-24s ", by);
	}
	puts(at);
	if (held)
		print_held(held, unknown_ns);
	if (ev->stacks) {
		print_stack(ev->run->session, e->kstack);
		print_stack(ev->run->session, e->ustack);
	}
}

static void on_blame(const struct offcpu_rec_blame *part, void *data)
{
	const struct events *ev = data;

	wait_blame_add(ev->blame, part);
}

static bool on_tick(struct run *run, uint64_t elapsed_ns)
{
	struct events *ev = run->data;

	(void)elapsed_ns;
	/* A closed pipe ends the run: `offcpu events | head`. */
	if (fflush(stdout) != 0)
		ev->output_failed = true;
	return !ev->output_failed;
}

static void print_losses(const struct profile *p, uint64_t printed)
{
	fprintf(stderr, "%" G_GUINT64_FORMAT " wait%s in %.3f s", printed, printed == 1 ? "" : "s",
		(double)p->info.duration_ns / 1e9);
	for (guint i = 0; i < p->losses->len; i++) {
		const struct profile_loss *l = &g_array_index(p->losses, struct profile_loss, i);
		fprintf(stderr, "; lost: %s %" G_GUINT64_FORMAT, l->reason, l->count);
	}
	fputc('\n', stderr);
}

static int parse_own(struct events *ev, struct target *target, int argc, char **argv)
{
	uint32_t ring_kib;

	if (argc > 1) {
		cmd_error("events", "unexpected argument '%s' (a command goes behind --)", argv[1]);
		return EXIT_USAGE;
	}
	if (!run_parse_duration(ev->run, ev->duration))
		return EXIT_USAGE;
	if (ev->ring_size) {
		if (!parse_u32(ev->ring_size, &ring_kib, NULL) || ring_kib < 64 || ring_kib > 1 << 20 ||
		    (ring_kib & (ring_kib - 1))) {
			cmd_error("events", "'%s' is not a ring size: KiB, a power of two from 64 to 1048576",
				  ev->ring_size);
			return EXIT_USAGE;
		}
		target->collect.ring_bytes = (size_t)ring_kib << 10;
	}
	return EXIT_OK;
}

int cmd_events(int argc, char **argv)
{
	struct target target = { 0 };
	struct run run = { .name = "events", .target = &target, .on_tick = on_tick, .drain_ms = 10 };
	struct events ev = { .run = &run };
	const GOptionEntry own[] = {
		{ "duration", 'd', 0, G_OPTION_ARG_STRING, &ev.duration, "Stop after this (a bare number is s)",
		  "TIME" },
		{ "who-preempted", 'P', 0, G_OPTION_ARG_NONE, &ev.who_preempted, "Show who got the CPU instead",
		  NULL },
		{ "runq-blame", 0, 0, G_OPTION_ARG_NONE, &target.collect.want_blame,
		  "Show who held the CPU while the thread waited for it", NULL },
		{ "stacks", 's', 0, G_OPTION_ARG_NONE, &ev.stacks, "Print the stacks below each line", NULL },
		{ "json", 0, 0, G_OPTION_ARG_NONE, &ev.json, "One JSON object per line", NULL },
		{ "ring-size", 0, 0, G_OPTION_ARG_STRING, &ev.ring_size, "Ring buffer in KiB (16384)", "KIB" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	int status = EXIT_OK;

	target_cut_command(&target, &argc, argv);
	g_autoptr(GArray) entries = target_entries(&target, TARGET_WHO | TARGET_FILTER | TARGET_CAPTURE, own);
	if (!cmd_parse("events", "[-- COMMAND ...]", description, (GOptionEntry *)entries->data, &argc, &argv,
		       &status))
		goto out;
	run.data = &ev;
	if ((status = parse_own(&ev, &target, argc, argv)) != EXIT_OK ||
	    (status = target_resolve(&target, "events")) != EXIT_OK)
		goto out;
	target.collect.mode = COLLECT_EVENTS;
	target.collect.on_event = on_event;
	if (target.collect.want_blame) {
		ev.blame = wait_blame_new();
		target.collect.on_blame = on_blame;
	}
	ev.names = event_names_new(stack_of, &ev);
	target.collect.callback_data = &ev;
	if (!ev.json)
		print_header(&ev);
	status = run_session(&run);
	if (status == EXIT_OK) {
		struct profile *p = session_take_profile(run.session);
		fflush(stdout);
		print_losses(p, ev.printed);
		profile_free(p);
		status = run_command_status(&run);
	}
out:
	run_release(&run);
	target_release(&target);
	wait_blame_free(ev.blame);
	event_names_free(ev.names);
	g_free(ev.duration);
	g_free(ev.ring_size);
	return status;
}
