/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* offcpu sample: samples threads at a rate and writes a recording. */
#include <stdio.h>

#include "base/opener/opener.h"
#include "base/parse.h"
#include "cmd/cmd.h"
#include "cmd/input.h"
#include "cmd/run.h"
#include "profile/profile.h"
#include "profile/profile_file.h"
#include "sample/sampler.h"

#define COMMAND "sample"
#define DEFAULT_HZ "49"	/* not in phase with what runs every 10 ms */
#define HZ_MIN 0.01
#define HZ_MAX 10000
#define BUDGET_PPM 10000	/* of one CPU */

static const char description[] =
	"Examples:\n"
	"  offcpu sample -p 1234 -F 99 -d 10       one process, 99 times a second\n"
	"  offcpu sample -d 30 -o all.offcpu       all threads\n"
	"  offcpu sample --cgroup web -d 10        a container, a unit or a control group\n"
	"  offcpu sample --proc -p 1234 -d 10      without BPF and root, in a container\n"
	"\n"
	"Looks at threads now and then instead of tracing them. Then: offcpu report, offcpu flame.";

struct sample_options {
	char *hz, *duration, *output;
	gboolean by_proc;
};

static int parse_own(const struct sample_options *o, struct run *run, int argc, char **argv, double *ret_hz)
{
	g_autoptr(GError) error = NULL;

	if (argc > 1)
		return cmd_wrong(COMMAND, "unexpected argument '%s'", argv[1]);
	if (!parse_rate(o->hz ? o->hz : DEFAULT_HZ, HZ_MIN, HZ_MAX, ret_hz, &error))
		return cmd_wrong(COMMAND, "-F: %s", error->message);
	if (run->target->follow || run->target->command) {
		return cmd_wrong(COMMAND, "--follow and a command after -- are of record: "
				   "sample takes -p, -t, --cgroup, --comm, -u and -k");
	}
	if (!run_parse_duration(run, o->duration))
		return EXIT_USAGE;
	if (!profile_file_may_write(o->output, &error))
		return cmd_failed(COMMAND, "%s", error->message);
	return EXIT_OK;
}

static void print_losses(const struct profile *p)
{
	EACH_ROW(i, const struct profile_loss, l, p->losses)
		fprintf(stderr, "lacks: %s (%" G_GUINT64_FORMAT "): %s\n", l->reason, l->count, l->help);
}

static void print_summary(const struct profile *p, const char *path)
{
	const struct profile_info *info = &p->info;
	double hz = profile_looks_hz(info), asked = 1e9 / (double)info->looks.asked_ns;

	fprintf(stderr, "%s: %.3f s, %u thread%s, sampled at %.*f Hz", path, (double)info->duration_ns / 1e9,
		p->threads->len, p->threads->len == 1 ? "" : "s", hz < 10 ? 2 : 0, hz);
	if (hz < asked * 0.95)
		fprintf(stderr, " in place of %g, to keep to %g%% of a CPU", asked, info->looks.budget_ppm / 1e4);
	fprintf(stderr, "; cost: %.2f%% of a CPU running, %.0f ms to start, %.1f MiB\n",
		info->duration_ns ? 100.0 * (double)profile_running_cpu_ns(info) / (double)info->duration_ns : 0,
		(double)info->tracer_start_cpu_ns / 1e6, (double)info->tracer_peak_rss_bytes / (1 << 20));
	if (!profile_has_on_cpu(p))
		fprintf(stderr, "threads that ran have no stacks: /proc does not tell where a running thread is\n");
	print_losses(p);
}

static int write_recording(struct sampler *sampler, const struct target *target, const char *path,
			   const char *command_line)
{
	struct profile *p = sampler_take_profile(sampler);
	g_autofree char *filters = target_describe(target);
	g_autoptr(GError) error = NULL;
	int status = EXIT_OK;

	p->info.command_line = profile_string(p, command_line);
	p->info.filters = profile_string(p, filters);
	if (!profile_file_write(p, path, &error)) {
		cmd_error(COMMAND, "%s", error->message);
		status = EXIT_FAILED;
	} else {
		print_summary(p, path);
	}
	profile_free(p);
	return status;
}

static int sample(const struct target *target, const struct sample_options *own, double hz, uint64_t duration_ns,
		  const char *command_line)
{
	const struct collect_options *c = &target->collect;
	const struct sampler_options options = {
		.hz = hz, .budget_ppm = BUDGET_PPM, .duration_ns = duration_ns, .pids = c->pids,
		.tids = c->tids, .cgroup_ids = c->cgroup_ids, .comm_glob = c->comm_glob,
		.no_user_threads = c->no_user_threads, .no_kernel_threads = c->no_kernel_threads,
		.no_user_stacks = c->no_user_stacks, .no_kernel_stacks = c->no_kernel_stacks,
		.include_self = c->include_self, .by_proc = own->by_proc, .stop = stop_catch(),
	};
	g_autoptr(GError) error = NULL;
	struct sampler *sampler;
	int status;

	opener_begin();
	sampler = sampler_new(&options, &error);
	if (sampler && sampler_run(sampler, &error)) {
		stop_release();
		status = write_recording(sampler, target, own->output, command_line);
	} else {
		cmd_error(COMMAND, "%s", error->message);
		status = run_status_of(error);
	}
	sampler_free(sampler);
	run_end_opener(COMMAND);
	return status;
}

int cmd_sample(int argc, char **argv)
{
	struct target target = { 0 };
	struct sample_options own = { 0 };
	struct run run = { .name = COMMAND, .target = &target };
	const GOptionEntry entries[] = {
		{ "frequency", 'F', 0, G_OPTION_ARG_STRING, &own.hz, "Looks a second (" DEFAULT_HZ ")", "HZ" },
		{ "proc", 0, 0, G_OPTION_ARG_NONE, &own.by_proc,
		  "By /proc alone: without BPF, and without root for one's own processes", NULL },
		{ "user-stacks-only", 'U', 0, G_OPTION_ARG_NONE, &target.user_stacks_only, "No kernel stacks", NULL },
		{ "kernel-stacks-only", 'K', 0, G_OPTION_ARG_NONE, &target.kernel_stacks_only, "No user stacks", NULL },
		{ "duration", 'd', 0, G_OPTION_ARG_STRING, &own.duration, "Stop after this (a bare number is s)",
		  "TIME" },
		{ "output", 'o', 0, G_OPTION_ARG_FILENAME, &own.output, "The recording (trace.offcpu)", "FILE" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	g_autofree char *arguments = g_strjoinv(" ", argv);
	g_autofree char *command_line = g_strconcat("offcpu ", arguments, NULL);
	int status = EXIT_OK;
	double hz;

	target_cut_command(&target, &argc, argv);
	g_autoptr(GArray) all = target_entries(&target, TARGET_WHO, entries);
	if (!cmd_parse(COMMAND, "", description, (GOptionEntry *)all->data, &argc, &argv, &status))
		goto out;
	if (!own.output)
		own.output = g_strdup(RECORDING_DEFAULT_FILE);
	if ((status = parse_own(&own, &run, argc, argv, &hz)) == EXIT_OK &&
	    (status = target_resolve(&target, COMMAND)) == EXIT_OK)
		status = sample(&target, &own, hz, run.duration_ns, command_line);
out:
	target_release(&target);
	g_free(own.hz);
	g_free(own.duration);
	g_free(own.output);
	return status;
}
