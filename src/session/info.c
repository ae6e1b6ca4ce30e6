/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What a session reports of itself: progress, losses, cost. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "abi/space_abi.h"
#include "attach/feature.h"
#include "base/each.h"
#include "base/hurry.h"
#include "base/proc/status.h"
#include "base/version.h"
#include "fold/fold.h"
#include "session/parts.h"
#include "supply/mmap_events.h"
#include "supply/tables.h"
#include "offcpu.skel.h"

static void add_counts(struct offcpu_counts *sum, const struct offcpu_counts *one)
{
	ADD_MEMBERS(sum, one, switches, unfollowed, listed, user_walks, kernel_walks, listing_ns);
	for (unsigned i = 0; i < OFFCPU_HIST_SLOTS; i++)
		sum->waits_q8[i] += one->waits_q8[i];
}

struct offcpu_counts session_counts(struct session *s)
{
	int cpus = libbpf_num_possible_cpus();
	size_t size = (bpf_map__value_size(s->skel->maps.scratches) + 7) & ~(size_t)7;
	struct offcpu_counts total = { 0 };
	uint32_t zero = 0;

	if (cpus < 1)
		return total;
	g_autofree char *values = g_malloc(size * (size_t)cpus);
	if (bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.scratches), &zero, values))
		return total;
	for (int i = 0; i < cpus; i++) {
		struct offcpu_counts one;	/* the first member */
		memcpy(&one, values + size * (size_t)i, sizeof(one));
		add_counts(&total, &one);
	}
	return total;
}

struct session_shares session_shares(const struct session *s)
{
	const struct governor *g = &s->governor;
	/* a change may have come just as the window ended */
	const struct governor_spent *exact = &g->exact, *since = g->since.machine_ns > 0 ? &g->since : &g->before;
	struct session_shares shares = { .are_known = since->machine_ns > 0 && exact->machine_ns > 0 };

	if (!shares.are_known)
		return shares;
	shares.own = since->own_ns / since->machine_ns;
	shares.now = shares.own + since->bpf_ns / since->machine_ns;
	shares.exact = shares.own + exact->bpf_ns / exact->machine_ns;
	return shares;
}

char *session_walks_text(struct session *s)
{
	struct offcpu_counts c = session_counts(s);
	/* not measured where all waits are listed */
	g_autofree char *each = c.listing_ns ? g_strdup_printf("; listing took %llu ns each",
							       c.listing_ns / MAX(c.listed, 1))
					     : NULL;

	return g_strdup_printf("walks: %llu waits listed; in full were walked %llu user stacks and %llu kernel stacks, "
			       "the others were remembered%s\n",
			       c.listed, c.user_walks, c.kernel_walks, each ? each : "");
}

static uint64_t switches_seen(struct session *s)
{
	return session_counts(s).switches;
}

static void read_loss(struct session *s, uint32_t reason, struct offcpu_loss_count *ret_sum)
{
	int cpus = libbpf_num_possible_cpus();
	g_autofree struct offcpu_loss_count *each = g_new0(struct offcpu_loss_count, (size_t)MAX(cpus, 1));

	*ret_sum = (struct offcpu_loss_count){ 0 };
	if (bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.losses), &reason, each))
		return;
	for (int i = 0; i < cpus; i++) {
		ret_sum->count += each[i].count;
		ret_sum->time_ns += each[i].time_ns;
	}
}

void session_progress(struct session *s, struct session_progress *ret_progress)
{
	*ret_progress = (struct session_progress){
		.elapsed_ns = s->start_ns ? clock_ns(CLOCK_MONOTONIC) - s->start_ns : 0,
		.switches = switches_seen(s),
		.stacks = fold_stack_cnt(s->fold),
	};
	for (uint32_t i = 0; i < OFFCPU_LOSS_COUNT; i++) {
		struct offcpu_loss_count loss;
		read_loss(s, i, &loss);
		ret_progress->lost += loss.count;
		ret_progress->lost_switches += i == OFFCPU_LOSS_RING_SWITCH ? loss.count : 0;
	}
}

#define CROWDED_NAMED 3

struct crowded {
	GString *pids;
	unsigned pid_cnt;
	uint64_t left_out;
};

static void add_crowded(uint32_t pid, uint32_t left_out, void *data)
{
	struct crowded *c = data;

	if (c->pid_cnt++ < CROWDED_NAMED)
		g_string_append_printf(c->pids, "%s%" PRIu32, c->pid_cnt > 1 ? ", " : "", pid);
	c->left_out += left_out;
}

static void record_crowded(struct session *s)
{
	g_autoptr(GString) pids = g_string_new(NULL);
	g_autofree char *help = NULL;
	struct crowded c = { .pids = pids };

	tables_for_each_crowded(s->tables, add_crowded, &c);
	if (c.pid_cnt > CROWDED_NAMED)
		g_string_append_printf(pids, " and %u more", c.pid_cnt - CROWDED_NAMED);
	help = g_strdup_printf("PID %s %s more than %u executable mappings: the others are walked by frame pointer",
			       pids->str, c.pid_cnt == 1 ? "has" : "have", SPACE_PARTED_MAX);
	profile_add_loss(s->profile, "unwind_mappings", help, c.left_out, 0);
}

static void record_hidden(struct session *s, const char *name, const char *text, uint64_t count)
{
	g_autofree char *help = g_strdup_printf("%s; the last one of PID %" PRIu32, text, s->skel->bss->hidden_pid);

	profile_add_loss(s->profile, name, help, count, 0);
}

/* Growth of a counter since the previous window. */
static uint64_t growth_of(uint64_t *previous, uint64_t now)
{
	uint64_t more = now > *previous ? now - *previous : 0;

	*previous = MAX(*previous, now);
	return more;
}

/* The time is not lost, but may be attributed to names of earlier code at the same addresses. */
static void record_replaced(struct session *s)
{
	double ms = (double)growth_of(&s->previous.replaced_ns, s->replaced_ns) / 1e6;
	g_autofree char *help = g_strdup_printf("other code was loaded where some lay: for %.0f ms, until that was known, a stack "
						"that both have alike kept the old names", ms);

	profile_add_loss(s->profile, "replaced_code", help, growth_of(&s->previous.replaced, s->replaced_cnt), 0);
}

/* Processes without names for that reason: only the last one, since an attacker can have many. */
static void record_skipped(struct session *s)
{
	g_autofree char *last = opener_last_news();
	g_autofree char *help = g_strdup_printf("reads of a process's memory or of a file that were not answered, so names are "
						"missing; the last: %s", last ? last : "?");

	profile_add_loss(s->profile, "not_answered", help,
			 growth_of(&s->previous.skipped, opener_counts().skipped), 0);
}

static void record_left_out(struct session *s)
{
	profile_add_loss(s->profile, "ended_early",
			 "the end was asked for while the machine left no CPU for names: those still missing half a second later "
			 "were not looked for",
			 growth_of(&s->previous.left_out, hurry_left_out()), 0);
}

#define NO_TABLE_EVER \
	"a user stack was walked by frame pointers: /proc is of another pid namespace, so the program's files are not known"

static void record_losses(struct session *s, uint64_t recursion)
{
	static const struct { const char *name, *help; } words[OFFCPU_LOSS_COUNT] = {
#define X(id, text, long_text) [OFFCPU_LOSS_##id] = { text, long_text },
		OFFCPU_LOSSES(X)
#undef X
	};

	for (uint32_t i = 0; i < OFFCPU_LOSS_COUNT; i++) {
		struct offcpu_loss_count loss;
		read_loss(s, i, &loss);
		if (i == OFFCPU_LOSS_RECURSION)
			loss.count += recursion;
		loss.count = growth_of(&s->previous.losses[i], loss.count);
		loss.time_ns = growth_of(&s->previous.losses_ns[i], loss.time_ns);
		if (i == OFFCPU_LOSS_NO_TABLE && loss.count && !proc_is_ours("/proc"))
			profile_add_loss(s->profile, words[i].name, NO_TABLE_EVER, loss.count, loss.time_ns);
		else if (i == OFFCPU_LOSS_HIDDEN)
			record_hidden(s, words[i].name, words[i].help, loss.count);
		else if (loss.count)
			profile_add_loss(s->profile, words[i].name, words[i].help, loss.count, loss.time_ns);
	}
	record_replaced(s);
	record_skipped(s);
	record_left_out(s);
	if (s->tables)
		profile_add_loss(s->profile, "unwind_room",
				 "no room was left for a file's unwind table or a program's mappings",
				 growth_of(&s->previous.refused, tables_refused_cnt(s->tables)), 0);
	if (s->tables)
		record_crowded(s);
	if (s->mmap_events)
		profile_add_loss(s->profile, "mmap_events", "mapping events were lost: frames may lack names",
				 growth_of(&s->previous.mmap_lost, mmap_events_lost_cnt(s->mmap_events)), 0);
}

static void fill_sampling(const struct session *s, struct profile_sampling *ret_sampling)
{
	const struct governor *g = &s->governor;

	ret_sampling->end_ns = s->skel->data->scale_ns;
	ret_sampling->raised_cnt = g->raised_cnt;
	ret_sampling->lowered_cnt = g->lowered_cnt;
	ret_sampling->over_cnt = g->over_cnt;
	ret_sampling->budget_ppm = g->budget_ppm;
	ret_sampling->has_used = g->seen_ns != 0;
	ret_sampling->used_ppm = governor_used_ppm(g, (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
	ret_sampling->peak_ppm = g->peak_ppm;
}

void session_fill_info(struct session *s)
{
	struct profile_info *info = &s->profile->info;
	struct program_cost all = cost_programs(s->programs);
	const struct offcpu_counts counts = session_counts(s);
	struct utsname host;
	struct rusage usage;

	record_losses(s, all.missed);
	uname(&host);
	getrusage(RUSAGE_SELF, &usage);
	info->duration_ns = s->stop_ns - s->start_ns;
	info->host = profile_string(s->profile, host.nodename);
	info->kernel = profile_string(s->profile, host.release);
	info->cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	info->version = profile_string(s->profile, version_text());
	info->switches = growth_of(&s->previous.switches, counts.switches);
	info->unfollowed = growth_of(&s->previous.unfollowed, counts.unfollowed);
	if (feature_supported(FEATURE_BPF_STATS) && all.runs) {
		info->has_bpf_ns = true;
		info->tracer_bpf_ns = growth_of(&s->previous.bpf_ns, all.ns);
	} else {
		info->has_bpf_ns = cost_estimate(s->cost, info->switches, &info->tracer_bpf_ns);
	}
	info->tracer_cpu_ns = opener_cpu_ns() +
		((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * 1000000000ULL +
		((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * 1000ULL;
	info->tracer_peak_rss_bytes = proc_own_peak_rss_bytes();
	info->self_excluded = !s->options->include_self;
	fill_sampling(s, &info->sampling);
}
