/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* offcpu record: traces and writes a recording. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyse/accounts.h"
#include "attach/cgroup.h"
#include "base/parse.h"
#include "base/proc/mount_point.h"
#include "cmd/cmd.h"
#include "cmd/input.h"
#include "cmd/run.h"
#include "cmd/target.h"
#include "explain/text.h"
#include "features/failing/record.h"
#include "features/slices/rows.h"
#include "features/tasks/look.h"
#include "fold/limits/limits.h"
#include "profile/profile.h"
#include "profile/profile_file.h"
#include "render/text/text.h"

/*
 * record --estimate: records for ESTIMATE_NS, discards the recording, and reports what it cost.  A program that only
 * counts switches would not do: the cost per switch varies tenfold between workloads (docs/performance.md).
 */
#define ESTIMATE_NS 2000000000ULL
#define ESTIMATE_EXACT_NS 1000000000ULL	/* the first part is exact, then the governor may sample */

/* "0.3%", "0.04%", "12%" */
static const char *percent(double share, char text[16])
{
	snprintf(text, 16, share < 0.001 ? "%.2f%%" : share < 0.1 ? "%.1f%%" : "%.0f%%", 100 * share);
	return text;
}

static void print_cost(const struct session_shares *shares, const struct profile_info *info, bool may_sample)
{
	char now[16], exact[16], own[16], budget[16];

	if (!shares->are_known) {
		printf("cost      not known: the kernel told no time of BPF programs. It cannot, or the machine is too busy: "
		       "try again\n");
		return;
	}
	printf("cost      about %s of the machine's %u CPUs, of it %s our own threads", percent(shares->now, now),
	       info->cpus, percent(shares->own, own));
	if (may_sample && info->sampling.end_ns)
		printf(": above %s short waits are sampled; %s with --exact",
		       percent(info->sampling.budget_ppm / 1e6, budget), percent(shares->exact, exact));
	printf("\n");
}

/* Prints it after the run; returns an exit status. */
static int estimate_print(struct run *run)
{
	struct session_shares shares = session_shares(run->session);
	struct profile *p = session_take_profile(run->session);
	double seconds = (double)p->info.duration_ns / 1e9;
	uint64_t recorded = 0;

	for (guint i = 0; i < p->threads->len; i++)
		recorded += profile_thread(p, i)->switches;
	session_unload(run->session);
	g_autoptr(GBytes) file = profile_file_bytes(p, NULL, NULL, NULL);
	printf("An estimate, by %.1f s that were recorded and thrown away.\n", seconds);
	printf("switches  %.0f a second, %.0f of them of the %u threads that were recorded\n",
	       (double)p->info.switches / seconds, (double)recorded / seconds, p->threads->len);
	print_cost(&shares, &p->info, run->target->collect.may_raise);
	printf("start     %.0f ms of CPU, once; memory %.0f MiB\n", (double)p->info.tracer_start_cpu_ns / 1e6,
	       (double)p->info.tracer_peak_rss_bytes / (1 << 20));
	if (file)
		printf("file      %.1f MiB for these %.1f s; more time adds what is new, not as much again\n",
		       (double)g_bytes_get_size(file) / (1 << 20), seconds);
	profile_free(p);
	return EXIT_OK;
}

/*
 * Samples tasks beside the recording, since these wait for one another without a thread: those of -p, of COMMAND, and of
 * the whole machine, of which without --tasks only those of processes that run meanwhile.
 */
struct record_tasks {
	struct task_sampler *sampler;
	GPtrArray *done;	/* struct tasks; NULL: still running */
	bool is_asked;
	const GArray *groups;	/* uint64_t; NULL: of all */
	char *cgroup_mount;
};

/* False, after printing: the targets do not say whose tasks are meant. */
static bool record_tasks_may(const struct target *target)
{
	if (!target->collect.tids)
		return true;
	return cmd_refuse("record",
		  "--tasks and -t: tasks are of whole processes, and move from thread to thread: -p is wanted");
}

static bool is_of_groups(uint32_t pid, void *data)
{
	const struct record_tasks *r = data;

	return cgroup_has_thread(r->groups, r->cgroup_mount, (pid_t)pid, (pid_t)pid);
}

/*
 * Call it once tracing has begun.  is_asked: by --tasks.  NULL: there is nothing to sample.  Takes at most half of the
 * budget.
 */
static struct record_tasks *record_tasks_begin(const struct target *target, bool is_asked)
{
	const struct collect_options *collect = &target->collect;
	g_autoptr(GArray) command = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	struct task_sampler_options options = {
		.pids = target->collect.pids, .follow = target->collect.follow,
		.budget_ppm = task_sampler_budget(target->collect.budget_ppm),
		.only_running = !is_asked && !collect->pids && !collect->command_pid,
	};
	struct record_tasks *r;

	if (!is_asked && (collect->tids || collect->comm_glob || collect->no_user_threads))
		return NULL;
	r = g_new0(struct record_tasks, 1);
	r->is_asked = is_asked;
	if (collect->cgroup_ids) {
		r->groups = collect->cgroup_ids;
		r->cgroup_mount = cgroup_mount("/proc", NULL);
		options.wants = is_of_groups;
		options.data = r;
	}
	if (target->collect.command_pid) {
		g_array_append_val(command, target->collect.command_pid);
		options.pids = command;
		options.follow = true;
	}
	r->sampler = task_sampler_start(&options);
	return r;
}

/* Stops sampling; call it at the window's end. */
static void record_tasks_end(struct record_tasks *r)
{
	if (r->sampler)
		r->done = task_sampler_stop(r->sampler);
	r->sampler = NULL;
}

/* NULL is fine */
static FREES(record_tasks_free, struct record_tasks, r, record_tasks_end(r); g_free(r->cgroup_mount);
	     g_clear_pointer(&r->done, g_ptr_array_unref))

/* Adds the tasks of p's processes to p, largest first; frees r. */
static void record_tasks_put(struct record_tasks *r, struct profile *p)
{
	record_tasks_end(r);
	tasks_put(p, g_steal_pointer(&r->done));
	p->info.has_tasks = r->is_asked || p->tasks->len;
	record_tasks_free(r);
}

/* Chosen by measurements: docs/performance-notes.md, "Sampling and the governor". */
#define DEFAULT_SAMPLE_NS 0
#define DEFAULT_BUDGET_PPM 10000	/* 1 % of the machine */

static const char description[] =
	"Examples:\n"
	"  offcpu record -d 10                     the whole system for ten seconds\n"
	"  offcpu record -p 1234 -o db.offcpu      one process until Ctrl-C\n"
	"  offcpu record -- tar cf /dev/null /etc  a command from its first instruction\n"
	"  offcpu record --state D -m 10ms -d 60   uninterruptible waits of 10 ms and more\n"
	"  offcpu record --max-overhead 0.5        at most half a percent of the machine for tracing\n"
	"  offcpu record --estimate -p 1234        what it would cost, by 2 s of it; keeps nothing\n"
	"\n"
	"Records where threads spend the time they are not running. Then: offcpu report, offcpu flame.";

struct record_options {
	char *duration, *output, *max_loss, *slice;
	gboolean wants_tasks, until_eof, is_estimate;
	struct record_tasks *tasks;	/* NULL: not begun, or already added to the profile */
	struct cpu_users *others;	/* NULL: all are recorded */
	struct quota_users *quota;	/* NULL: nobody has a quota */
	struct datagram_drops *drops;	/* NULL before the begin */
	struct group_limits *groups;
	struct silent_peers *silent;
	struct net_looks *looks;
	struct file_looks *locks;
	struct failing_calls *failing;
	uint64_t noted_ns;	/* time of the last note, relative to the window's start */
	uint64_t slice_ns;
	double max_loss_pct;
};

static bool is_stdout(const char *path)
{
	return strcmp(path, "-") == 0;
}

static bool stdout_is_free(bool is_taken, GError **error)
{
	if (is_taken)
		return cmd_bad(error, "-o -: the command prints there, too");
	return !isatty(STDOUT_FILENO) ||
	       cmd_bad(error, "-o -: a recording is no text: send it into a file or a pipe; `offcpu trace` and `offcpu export` print");
}

/* Fails before tracing instead of after an hour of it, if the recording cannot be written. */
static bool output_is_writable(const char *path, GError **error)
{
	g_autofree char *folder = g_path_get_dirname(path);

	if (!profile_file_may_write(path, error))
		return false;
	if (access(folder, W_OK | X_OK))
		return refuse(error, G_FILE_ERROR, g_file_error_from_errno(errno), "%s: %s", folder,
			g_strerror(errno));
	return true;
}

#define SLICE_LONGEST_NS (UINT64_C(3600) * 1000 * 1000 * 1000)

static bool parse_slice(struct record_options *o, GError **error)
{
	o->slice_ns = SLICE_DEFAULT_NS;
	if (!o->slice)
		return true;
	if (!parse_duration(o->slice, 1000000000, &o->slice_ns, error)) {
		g_prefix_error(error, "--slice: ");
		return false;
	}
	if (o->slice_ns >= SLICE_MIN_NS && o->slice_ns <= SLICE_LONGEST_NS)
		return true;
	return refuse(error, PARSE_ERROR, 0, "--slice: '%s' is not from 10ms to an hour", o->slice);
}

static int parse_own(struct record_options *o, struct run *run, int argc, char **argv)
{
	g_autoptr(GError) error = NULL;

	if (argc > 1)
		return cmd_unexpected("record", argv[1]);
	if (!run_parse_duration(run, o->duration))
		return EXIT_USAGE;
	if (!parse_slice(o, &error))
		return cmd_wrong("record", "%s", error->message);
	if (o->max_loss) {
		char *end;
		o->max_loss_pct = g_ascii_strtod(o->max_loss, &end);
		if (end == o->max_loss || *end || !(o->max_loss_pct >= 0 && o->max_loss_pct <= 100))
			return cmd_wrong("record", "'%s' is not a percentage from 0 to 100", o->max_loss);
	}
	if (o->is_estimate && run->target->command)
		return cmd_wrong("record", "--estimate looks at what runs already, and starts no command");
	if (o->is_estimate) {
		run->duration_ns = run->duration_ns ? run->duration_ns : ESTIMATE_NS;
		run->target->collect.grace_ns = ESTIMATE_EXACT_NS;
	} else if (is_stdout(o->output) ? !stdout_is_free(run->target->command, &error)
					: !output_is_writable(o->output, &error)) {
		cmd_error("record", "%s", error->message);
		return is_stdout(o->output) ? EXIT_USAGE : EXIT_FAILED;
	}
	return EXIT_OK;
}

/* Share of the observed time that no wait and no class accounts for. */
static double lost_share_pct(const struct profile *p)
{
	uint64_t observed = 0, lost = 0;

	EACH_ROW(i, const struct thread, t, p->threads) {
		int64_t residual = thread_residual_ns(t);

		observed += thread_observed_ns(t);
		lost += t->lost_ns + (uint64_t)(residual < 0 ? -residual : residual);
	}
	return observed ? 100.0 * (double)lost / (double)observed : 0;
}

/* What sampling and the governor did, worded as in reports. */
static void print_sampling(const struct profile *p)
{
	g_autoptr(GString) text = g_string_new(NULL);

	text_sampling(text, p, "");
	fputs(text->str, stderr);
}

/* "; details lost of 0.02% of it (which: offcpu report --accounts)" */
static void print_losses(const struct profile *p, uint64_t observed_ns)
{
	uint64_t time_ns = 0;

	for (guint i = 0; i < p->losses->len; i++)
		time_ns += g_array_index(p->losses, struct profile_loss, i).time_ns;
	if (p->losses->len)
		fprintf(stderr, "; details lost of %.2f%% of it (which: offcpu report --accounts)",
			observed_ns ? 100.0 * (double)time_ns / (double)observed_ns : 0);
}

/* name: of the recording's file. */
static void print_summary(const struct profile *p, const char *name, gsize bytes)
{
	struct coverage c;
	uint64_t observed = 0, switches = 0;
	int64_t residual = 0;
	g_autoptr(GString) time = g_string_new(NULL);

	for (guint i = 0; i < p->threads->len; i++) {
		observed += thread_observed_ns(profile_thread(p, i));
		residual += thread_residual_ns(profile_thread(p, i));
		switches += profile_thread(p, i)->switches;
	}
	coverage_of(p, NULL, &c);
	fprintf(stderr,
		"%s: %.1f KiB, %.3f s, %u thread%s, %" G_GUINT64_FORMAT " wait%s listed, %" G_GUINT64_FORMAT
		" switch%s\n",
		name, (double)bytes / 1024, (double)p->info.duration_ns / 1e9,
		p->threads->len, p->threads->len == 1 ? "" : "s", c.waits_cnt, c.waits_cnt == 1 ? "" : "s", switches,
		switches == 1 ? "" : "es");
	if (!p->threads->len)
		cmd_error("record", "warning: no thread was seen of what was to be recorded (%s): there was none, or the "
			  "kernel hides it from tracing programs", p->info.filters);
	text_duration(time, observed);
	fprintf(stderr, "coverage  residual %.4f%% of %s of threads' time",
		observed ? 100.0 * (double)residual / (double)observed : 0, time->str);
	print_losses(p, observed);
	fprintf(stderr, "\ncost      %.0f ms CPU, %.1f MiB", (double)p->info.tracer_cpu_ns / 1e6,
		(double)p->info.tracer_peak_rss_bytes / (1 << 20));
	if (p->info.tracer_stop_cpu_ns && p->info.cpus && p->info.duration_ns)
		fprintf(stderr, ", start: %.0f ms CPU, running: %.2f%% of all CPUs",
			(double)p->info.tracer_start_cpu_ns / 1e6,
			100.0 *
				(double)(profile_running_cpu_ns(&p->info) +
					 (p->info.has_bpf_ns ? p->info.tracer_bpf_ns : 0)) /
				(double)p->info.duration_ns / p->info.cpus);
	if (p->info.has_bpf_ns && p->info.switches)
		fprintf(stderr, ", %.0f ms BPF (%.0f ns a switch)", (double)p->info.tracer_bpf_ns / 1e6,
			(double)p->info.tracer_bpf_ns / (double)p->info.switches);
	fputc('\n', stderr);
	print_sampling(p);
}

#define NOTES_NS 1000000000ULL
#define COMMAND_PROCESSES_MAX 32

/* Chosen processes may end before the window does, and so may COMMAND and its children. */
static void note_groups(const struct run *run, struct record_options *o, uint64_t elapsed_ns)
{
	const GArray *chosen = run->target->collect.pids;

	if (elapsed_ns && (!run->target->command || elapsed_ns < o->noted_ns + NOTES_NS))
		return;
	o->noted_ns = elapsed_ns;
	for (guint i = 0; chosen && i < chosen->len; i++)
		group_limits_note(o->groups, g_array_index(chosen, uint32_t, i));
	if (run->target->command)
		group_limits_note_tree(o->groups, (uint32_t)run->child);
}

/* Only of few processes: of a whole machine some thread always pauses. */
static void look_at_failing(const struct run *run, struct record_options *o, uint64_t elapsed_ns)
{
	const struct collect_options *c = &run->target->collect;
	g_autoptr(GArray) below = NULL;

	if ((!c->pids && !run->target->command) || !failing_calls_is_due(o->failing, elapsed_ns))
		return;
	if (run->target->command)
		below = processes_below("/proc", (uint32_t)run->child, COMMAND_PROCESSES_MAX);
	failing_calls_look(o->failing, below ? below : c->pids, elapsed_ns);
}

/* Of a command that is recorded its processes may be servers, too. */
static void look_at_clients(const struct run *run, struct record_options *o, uint64_t elapsed_ns)
{
	g_autoptr(GArray) below = NULL;

	if (!net_looks_is_due(o->looks, elapsed_ns))
		return;
	if (run->target->command)
		below = processes_below("/proc", (uint32_t)run->child, COMMAND_PROCESSES_MAX);
	net_looks_look(o->looks, below ? below : run->target->collect.pids, elapsed_ns);
}

static bool has_others(const struct collect_options *c)
{
	return c->pids || c->tids || c->cgroup_ids || c->comm_glob || c->command_pid;
}

static bool on_tick(struct run *run, uint64_t elapsed_ns)
{
	struct record_options *o = run->data;

	if (!o->tasks && !elapsed_ns)
		o->tasks = record_tasks_begin(run->target, o->wants_tasks);
	if (!o->others && !elapsed_ns && has_others(&run->target->collect))
		o->others = cpu_users_begin("/proc");
	if (!o->quota && !elapsed_ns)
		o->quota = quota_users_begin("/proc", run->target->collect.pids);
	if (!o->drops)
		o->drops = datagram_drops_begin("/proc", run->target->collect.pids);
	note_groups(run, o, elapsed_ns);
	if (run->target->command)
		silent_peers_look(o->silent, (uint32_t)run->child, elapsed_ns);
	look_at_failing(run, o, elapsed_ns);
	look_at_clients(run, o, elapsed_ns);
	file_looks_look(o->locks, elapsed_ns);
	return true;
}

/* Input is ignored, except its end: whoever started us is gone. */
static bool on_input(struct run *run)
{
	char bytes[256];
	ssize_t n = read(run->input_fd, bytes, sizeof(bytes));

	return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

static void on_end(struct run *run)
{
	const struct record_options *o = run->data;

	if (o->tasks)
		record_tasks_end(o->tasks);
}

static struct profile_file *unfinished;

/* A second Ctrl-C removes the unfinished file. */
static void on_abandon(int sig)
{
	if (run_is_repeated() || !profile_file_abandon(unfinished))
		return;
	signal(sig, SIG_DFL);
	raise(sig);
}

/* Signals are held until their handler knows the file. */
static struct profile_file *begin_file(const struct profile *p, const char *path)
{
	run_hold_signals();
	unfinished = profile_file_begin(p, path);
	run_on_signals(on_abandon);
	run_let_signals_through();
	return unfinished;
}

static bool end_file(struct profile_file *file, GError **error)
{
	bool ok = profile_file_end(file, run_hold_signals, error);

	run_abandon_on_signals();
	unfinished = NULL;
	return ok;
}

static bool print_file(const struct profile *p, gsize *ret_bytes, GError **error)
{
	g_autoptr(GBytes) bytes = profile_file_bytes(p, NULL, NULL, error);
	const void *text = bytes ? g_bytes_get_data(bytes, ret_bytes) : NULL;

	return text && cmd_write_output(NULL, text, *ret_bytes, error);
}

static gsize size_of_file(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (gsize)st.st_size;
}

/*
 * Writes the file while waits are added up and BPF programs are unloaded.  Not during the window's end: threads'
 * states must be read as fast as possible.
 */
static int write_recording(struct run *run, struct record_options *o, const char *command_line)
{
	const bool is_file = !is_stdout(o->output);
	struct profile_file *file = is_file ? begin_file(session_threads(run->session), o->output) : NULL;
	struct profile *p = session_take_profile(run->session);
	g_autofree char *filters = target_describe(run->target);
	g_autofree char *walks = run->target->verbose ? session_walks_text(run->session) : NULL;
	g_autoptr(GError) error = NULL;
	int status = EXIT_OK;
	gsize bytes = 0;

	p->info.command_line = profile_string(p, command_line);
	p->info.filters = profile_string(p, filters);
	limits_look(p, o->groups, o->looks, "/proc");
	file_looks_put(o->locks, p);
	silent_peers_put(o->silent, p);
	failing_calls_put(o->failing, p);
	cpu_users_end(g_steal_pointer(&o->others), p);
	quota_users_end(g_steal_pointer(&o->quota), p);
	datagram_drops_end(g_steal_pointer(&o->drops), p);
	if (o->tasks)
		record_tasks_put(g_steal_pointer(&o->tasks), p);
	if (is_file)
		profile_file_complete(file);
	session_unload(run->session);
	if (is_file ? !end_file(file, &error) : !print_file(p, &bytes, &error)) {
		cmd_error("record", "%s", error->message);
		status = EXIT_FAILED;
	} else {
		print_summary(p, is_file ? o->output : "standard output", is_file ? size_of_file(o->output) : bytes);
		if (walks)
			fputs(walks, stderr);
		if (o->max_loss && lost_share_pct(p) > o->max_loss_pct) {
			cmd_error("record", "%.3f%% of the time was lost, above --max-loss", lost_share_pct(p));
			status = EXIT_LOSSES;
		}
	}
	profile_free(p);
	return status;
}

int cmd_record(int argc, char **argv)
{
	struct target target = { .default_sample_ns = DEFAULT_SAMPLE_NS,
				 .default_budget_ppm = DEFAULT_BUDGET_PPM,
				 .wants_wakers = true };
	struct record_options own = { .groups = group_limits_new("/proc"), .silent = silent_peers_new("/proc"),
				   .looks = net_looks_new("/proc"), .locks = file_looks_new("/proc"),
				   .failing = failing_calls_new() };
	struct run run = { .name = "record",
			   .target = &target,
			   .progress = true,
			   .on_tick = on_tick,
			   .on_end = on_end,
			   .data = &own };
	const GOptionEntry own_entries[] = {
		{ "duration", 'd', 0, G_OPTION_ARG_STRING, &own.duration, "Stop after this (a bare number is s)",
		  "TIME" },
		{ "output", 'o', 0, G_OPTION_ARG_FILENAME, &own.output, "The recording (trace.offcpu); - is standard output", "FILE" },
		{ "slice", 0, 0, G_OPTION_ARG_STRING, &own.slice,
		  "How finely time is told apart for --from and --to, 10ms or more (100ms)", "TIME" },
		{ "tasks", 0, 0, G_OPTION_ARG_NONE, &own.wants_tasks,
		  "Tasks that hold no thread (goroutines, asyncio's, Tokio's, greenlets, virtual threads) also of processes that do not run meanwhile, and with --comm",
		  NULL },
		{ "estimate", 0, 0, G_OPTION_ARG_NONE, &own.is_estimate,
		  "Record for 2 s, keep nothing, and say what recording would cost", NULL },
		{ "until-eof", 0, 0, G_OPTION_ARG_NONE, &own.until_eof,
		  "Stop when standard input ends, too: for programs that start this one", NULL },
		{ "no-wakers", 0, 0, G_OPTION_ARG_NONE, &target.no_wakers, "Not who ended each sleep", NULL },
		{ "max-loss", 0, 0, G_OPTION_ARG_STRING, &own.max_loss,
		  "Exit with 4 when more of the time than this was lost", "PCT" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	g_autofree char *arguments = g_strjoinv(" ", argv);
	g_autofree char *command_line = g_strconcat("offcpu ", arguments, NULL);
	int status = EXIT_OK;

	target_cut_command(&target, &argc, argv);
	target_fill_in(argc, argv);
	g_autoptr(GArray) entries = target_entries(&target, TARGET_WHO | TARGET_FILTER | TARGET_CAPTURE | TARGET_WHY |
						   TARGET_SAMPLING | TARGET_ON_CPU | TARGET_NAMED, own_entries);
	if (!cmd_parse("record", "[-- COMMAND ...]", description, (GOptionEntry *)entries->data, &argc, &argv,
		       &status))
		goto out;
	if (!own.output)
		own.output = g_strdup(RECORDING_DEFAULT_FILE);
	run.progress = true;
	run.input_fd = STDIN_FILENO;
	run.on_input = own.until_eof ? on_input : NULL;
	if ((status = parse_own(&own, &run, argc, argv)) != EXIT_OK ||
	    (status = target_resolve(&target, "record")) != EXIT_OK)
		goto out;
	if (own.wants_tasks && !record_tasks_may(&target)) {
		status = EXIT_USAGE;
		goto out;
	}
	target.collect.slice_ns = own.slice_ns;
	target.collect.want_services = true;
	status = run_session(&run);
	if (status == EXIT_OK)
		status = own.is_estimate ? estimate_print(&run) : write_recording(&run, &own, command_line);
	if (status == EXIT_OK)
		status = run_command_status(&run);
out:
	record_tasks_free(own.tasks);
	cpu_users_free(own.others);
	quota_users_free(own.quota);
	datagram_drops_free(own.drops);
	group_limits_free(own.groups);
	silent_peers_free(own.silent);
	net_looks_free(own.looks);
	file_looks_free(own.locks);
	failing_calls_free(own.failing);
	run_release(&run);
	target_release(&target);
	g_free(own.duration);
	g_free(own.output);
	g_free(own.max_loss);
	g_free(own.slice);
	return status;
}
