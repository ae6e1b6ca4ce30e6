/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "sample/sampler.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/proc/mount_point.h"
#include "base/clock.h"
#include "base/proc/status.h"
#include "base/refuse.h"
#include "base/version.h"
#include "sample/parts.h"

#define SECOND_NS 1000000000ULL
#define GRACE_NS (SECOND_NS / 4)	/* the budget of this much time may be used in advance */
#define PERIOD_MAX_NS (10 * SECOND_NS)
#define COST_SHARE 0.1	/* weight of a round's cost in the running mean */
#define NO_ROW UINT32_MAX

G_DEFINE_QUARK(offcpu-sampler-error, sampler_error)

FREES_DATA(sampled_free, struct sampled, t, proc_thread_close(&t->files))

struct sampler *sampler_new(const struct sampler_options *options, GError **error)
{
	struct sampler *s = g_new0(struct sampler, 1);

	s->options = *options;
	s->profile = profile_new();
	s->symbolizer = symbolizer_new();
	s->stacks = fold_stacks_new(s->profile, s->symbolizer, OFFCPU_MAX_DEPTH);
	s->spaces = spaces_read_new();
	s->looks = looks_new(s->profile);
	s->threads = g_hash_table_new_full(NULL, NULL, NULL, sampled_free);
	s->kernel_nodes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	s->self = getpid();
	s->cgroup_mount = cgroup_mount("/proc", NULL);
	s->has_counts = access("/proc/self/schedstat", R_OK) == 0;
	s->tick_ns = SECOND_NS / (uint64_t)MAX(sysconf(_SC_CLK_TCK), 1);
	s->boot_offset_ns = clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC);
	s->period_ns = (uint64_t)(1e9 / options->hz);
	proc_thread_more_files();
	if (!options->by_proc)
		s->tasks = task_source_new(s, error);
	if (options->by_proc || s->tasks)
		return s;
	sampler_free(s);
	return NULL;
}

FREES(sampler_free, struct sampler, s, task_source_free(s->tasks); g_hash_table_destroy(s->threads);
      g_hash_table_destroy(s->kernel_nodes); looks_free(s->looks); spaces_read_free(s->spaces);
      fold_stacks_free(s->stacks); symbolizer_free(s->symbolizer); profile_free(s->profile); g_free(s->cgroup_mount))

bool sampler_wants(const struct sampler *s, pid_t pid, pid_t tid, const char *comm, bool is_kernel)
{
	const struct sampler_options *o = &s->options;

	if ((o->pids || o->tids) && !process_ids_contain(o->pids, (uint32_t)pid) &&
	    !process_ids_contain(o->tids, (uint32_t)tid))
		return false;
	if ((pid == s->self && !o->include_self) || (is_kernel ? o->no_kernel_threads : o->no_user_threads))
		return false;
	return !o->comm_glob || g_pattern_match_simple(o->comm_glob, comm);
}

struct sampled *sampler_meet(struct sampler *s, pid_t pid, pid_t tid, const struct proc_stat *stat, uint64_t start_ns,
			     uint64_t now_ns)
{
	struct sampled *t = g_new0(struct sampled, 1);

	proc_thread_init(&t->files, pid, tid);
	t->no = NO_ROW;
	t->start_ns = start_ns;
	t->space = stat->code;
	t->is_kernel = stat->is_kernel;
	t->is_new = t->is_seen = true;
	t->seen_ns = now_ns;
	t->last_ticks = stat->cpu_ticks;
	g_strlcpy(t->comm, stat->comm, sizeof(t->comm));
	g_hash_table_insert(s->threads, GINT_TO_POINTER(tid), t);
	return t;
}

static const char *process_name(struct sampler *s, const struct sampled *t)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/comm", t->files.pid), *text = NULL;

	if (t->files.pid == t->files.tid || !g_file_get_contents(path, &text, NULL, NULL))
		return profile_string(s->profile, t->comm);
	return profile_string(s->profile, g_strchomp(text));
}

/* Its row begins at its start, or at the window's. */
static void begin_row(struct sampler *s, struct sampled *t, uint64_t from_ns)
{
	const struct thread thread = {
		.pid = (uint32_t)t->files.pid, .tid = (uint32_t)t->files.tid, .start_ns = t->start_ns,
		.comm = profile_string(s->profile, t->comm), .process = process_name(s, t),
		.flags = t->is_kernel ? THREAD_KERNEL : 0, .from_ns = from_ns,
	};

	t->no = looks_thread(s->looks, &thread);
}

static void end_row(struct sampler *s, struct sampled *t, uint64_t to_ns, uint32_t flags, bool has_stood)
{
	struct looks_account a = { .to_ns = to_ns, .flags = flags, .has_exact = t->has_counts, .has_stood = has_stood };

	if (t->no == NO_ROW)
		return;
	if (t->has_counts) {
		a.on_cpu_ns = t->last.run_ns - MIN(t->first.run_ns, t->last.run_ns);
		a.queue_ns = t->last.queue_ns - MIN(t->first.queue_ns, t->last.queue_ns);
		a.switches = t->last.runs - MIN(t->first.runs, t->last.runs);
	} else {
		a.on_cpu_ns = (t->last_ticks - MIN(t->first_ticks, t->last_ticks)) * s->tick_ns;
	}
	looks_account(s->looks, t->no, &a);
	t->no = NO_ROW;
}

void sampler_note_exec(struct sampler *s, struct sampled *t, const struct proc_stat *stat, uint64_t now_ns)
{
	bool is_exec = stat->code != t->space;

	end_row(s, t, now_ns, is_exec ? THREAD_EXECED : 0, false);
	if (is_exec)
		symbolizer_note_exec(s->symbolizer, (uint32_t)t->files.pid, now_ns, NULL);
	t->space = stat->code;
	t->first = t->last;
	t->first_ticks = t->last_ticks;
	g_strlcpy(t->comm, stat->comm, sizeof(t->comm));
	if (s->start_ns)
		begin_row(s, t, now_ns);
}

void sampler_saw(struct sampler *s, struct sampled *t, uint8_t state, uint32_t user, uint32_t kernel, bool has_stood,
		 uint64_t now_ns)
{
	uint64_t began_ns = t->start_ns > s->boot_offset_ns ? t->start_ns - s->boot_offset_ns : 0;

	t->look = (struct look){
		.period = s->period, .period_ns = s->period_ns, .user = user, .kernel = kernel,
		.state = state, .has_stood = has_stood,
	};
	t->seen_ns = now_ns;
	t->is_new = false;
	s->looks_cnt++;
	if (!s->start_ns)
		return;
	if (t->no == NO_ROW)
		begin_row(s, t, MIN(MAX(began_ns, s->edge_ns), now_ns));
	looks_see(s->looks, t->no, &t->look);
}

void sampler_lacks(struct sampler *s, struct sampled *t, enum lack lack)
{
	if (t->lacks & 1u << lack || t->is_kernel)
		return;
	t->lacks |= (uint8_t)(1u << lack);
	s->lacks[lack]++;
}

uint32_t sampler_stack(struct sampler *s, pid_t pid, uint64_t space, bool is_user)
{
	return fold_stacks_take(s->stacks, &s->rec, (uint32_t)pid, space, is_user);
}

uint32_t sampler_user_stack(struct sampler *s, struct sampled *t, const struct space_regs *regs)
{
	if (!spaces_read_walk(s->spaces, t->files.pid, t->space, regs, &s->rec) && (errno == EPERM || errno == EACCES))
		sampler_lacks(s, t, LACK_MEMORY);
	return sampler_stack(s, t->files.pid, t->space, true);
}

static void end_thread(struct sampler *s, struct sampled *t)
{
	end_row(s, t, t->seen_ns, THREAD_EXITED, false);
	if (t->files.pid == t->files.tid)
		spaces_read_forget(s->spaces, t->files.pid);
}

void sampler_forget(struct sampler *s, struct sampled *t)
{
	end_thread(s, t);
	g_hash_table_remove(s->threads, GINT_TO_POINTER(t->files.tid));
}

/* Drops threads that this round did not find. */
static void drop_gone(struct sampler *s)
{
	GHashTableIter iter;
	gpointer value;

	g_hash_table_iter_init(&iter, s->threads);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		struct sampled *t = value;

		if (t->is_seen)
			continue;
		end_thread(s, t);
		g_hash_table_iter_remove(&iter);
	}
}

static void look_at_all(struct sampler *s)
{
	if (s->tasks)
		by_task_round(s);
	else
		by_proc_round(s);
	drop_gone(s);
}

static void read_counts(struct sampler *s, bool is_start)
{
	EACH_VALUE(struct sampled, t, s->threads) {
		struct proc_sched now = t->last;
		bool has_stood = t->has_counts && proc_thread_sched(&t->files, &now) && now.runs == t->last.runs &&
				 t->look.state != 'R';

		if (s->tasks)
			proc_thread_close(&t->files);
		if (is_start) {
			/* one that ran since then has another stack now: its next look differs from this count */
			t->is_new = !has_stood;
			t->first = t->last = now;
			t->first_ticks = t->last_ticks;
			begin_row(s, t, s->start_ns);
		} else {
			t->last = now;
			end_row(s, t, s->profile->info.start_ns + s->profile->info.duration_ns, 0, has_stood);
		}
	}
}

static bool should_stop(const struct sampler *s)
{
	return s->options.stop && *s->options.stop;
}

/* False: the end came earlier. */
static bool sleep_until(const struct sampler *s, uint64_t at_ns)
{
	const struct timespec at = { (time_t)(at_ns / SECOND_NS), (long)(at_ns % SECOND_NS) };

	while (!should_stop(s) && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
	return !should_stop(s);
}

/* Length of the next period: as requested, or as the mean cost of a round allows; longer if more was used so far. */
static uint64_t next_period_ns(const struct sampler *s, double cost_ns, uint64_t asked_ns)
{
	double used_ns = (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - s->profile->info.tracer_start_cpu_ns);
	uint64_t passed_ns = s->edge_ns - s->start_ns + GRACE_NS;
	double budget_ns = (double)passed_ns * s->options.budget_ppm / 1e6;
	double allowed_ns = cost_ns * 1e6 / s->options.budget_ppm * MAX(used_ns / budget_ns, 1);

	return (uint64_t)CLAMP(allowed_ns, (double)asked_ns, (double)MAX(PERIOD_MAX_NS, asked_ns));
}

static void fill_info(struct sampler *s, uint64_t start_unix_ns, uint64_t end_ns, uint64_t asked_ns)
{
	struct profile_info *info = &s->profile->info;
	struct utsname host;

	uname(&host);
	info->start_unix_ns = start_unix_ns;
	info->start_ns = s->start_ns;
	info->duration_ns = end_ns - s->start_ns;
	info->host = profile_string(s->profile, host.nodename);
	info->kernel = profile_string(s->profile, host.release);
	info->cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	info->version = profile_string(s->profile, version_text());
	info->tracer_stop_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	info->tracer_peak_rss_bytes = proc_own_peak_rss_bytes();
	info->self_excluded = !s->options.include_self;
	info->unknown = UNKNOWN_COUNTS | UNKNOWN_DURATIONS;
	info->looks = (struct profile_looks){ .asked_ns = asked_ns,
					      .rounds = s->period,
					      .budget_ppm = s->options.budget_ppm };
}

static const struct { const char *reason, *help;
} lack_texts[LACKS] = {
	[LACK_PLACE] =
		{ "not_permitted_user",
		  "threads of other users or protected: where they stand in their programs may not be read" },
	[LACK_MEMORY] = { "not_permitted_memory",
			  "the memory of these threads may not be read: only their innermost frame is known" },
	[LACK_KERNEL_STACK] = { "not_permitted_kernel",
				"kernel stacks may not be read (only root may): the function waited in stands for them" },
	[LACK_COUNTS] = { "no_schedstat",
			  "the kernel does not count run-queue time of these threads: their accounts are estimates" },
};

static void add_losses(struct sampler *s)
{
	for (unsigned i = 0; i < LACKS; i++)
		if (s->lacks[i])
			profile_add_loss(s->profile, lack_texts[i].reason, lack_texts[i].help, s->lacks[i], 0);
	if (s->moved_cnt)
		profile_add_loss(s->profile, "moved",
				 "a thread ran on whenever it was looked at: its stack may be of two waits",
				 s->moved_cnt, 0);
}

/* Runs periods one after the other; returns the end of the last one. */
static uint64_t run_periods(struct sampler *s, uint64_t asked_ns)
{
	uint64_t end_ns = s->options.duration_ns ? s->start_ns + s->options.duration_ns : UINT64_MAX, stopped_ns;
	double cost_ns = s->first_cost_ns;

	for (s->edge_ns = s->start_ns; s->edge_ns < end_ns && g_hash_table_size(s->threads);
	     s->edge_ns += s->period_ns) {
		uint64_t left_ns = end_ns - s->edge_ns;

		s->period_ns = next_period_ns(s, cost_ns, asked_ns);
		/* no tiny period at the end */
		if (left_ns < s->period_ns + s->period_ns / 2)
			s->period_ns = left_ns;
		bool goes_on = sleep_until(s, s->edge_ns + (uint64_t)(g_random_double() * (double)s->period_ns));
		uint64_t before_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

		/* if it took longer than the next period, that is extended */
		stopped_ns = clock_ns(CLOCK_MONOTONIC);
		if (goes_on && stopped_ns > s->edge_ns + s->period_ns && stopped_ns < end_ns)
			s->period_ns = stopped_ns - s->edge_ns;
		s->period++;
		look_at_all(s);
		cost_ns += COST_SHARE * ((double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before_ns) - cost_ns);
		if (!goes_on || !sleep_until(s, MIN(s->edge_ns + s->period_ns, end_ns)))
			return MIN(clock_ns(CLOCK_MONOTONIC), s->edge_ns + s->period_ns);
	}
	return MIN(s->edge_ns, end_ns);
}

bool sampler_run(struct sampler *s, GError **error)
{
	uint64_t asked_ns = s->period_ns, start_unix_ns, end_ns, last_ns;

	/*
	 * before the window, this opens files, builds tables and names stacks; the second round shows the usual cost
	 */
	look_at_all(s);
	s->first_cost_ns = (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	look_at_all(s);
	s->first_cost_ns = (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) - s->first_cost_ns;
	if (!g_hash_table_size(s->threads))
		return refuse(error, SAMPLER_ERROR, SAMPLER_ERROR_FAILED, "there is no such thread to look at");
	s->looks_cnt = 0;
	s->profile->info.tracer_start_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	s->start_ns = clock_ns(CLOCK_MONOTONIC);
	start_unix_ns = clock_ns(CLOCK_REALTIME);
	read_counts(s, true);
	end_ns = run_periods(s, asked_ns);
	last_ns = end_ns > s->edge_ns ? end_ns - s->edge_ns : s->period_ns;
	fill_info(s, start_unix_ns, end_ns, asked_ns);
	if (s->tasks)
		by_task_finish(s);
	read_counts(s, false);
	add_losses(s);
	looks_finish(s->looks, s->period, last_ns);
	fold_stacks_finish(s->stacks);
	s->profile->info.tracer_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	return true;
}

struct profile *sampler_take_profile(struct sampler *s)
{
	return g_steal_pointer(&s->profile);
}
