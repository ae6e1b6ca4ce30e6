/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/cost.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <glib.h>
#include <unistd.h>

#include "base/clock.h"

struct cost {
	struct bpf_object *programs;
	uint32_t cpus;
	struct cost_counts (*count)(void *data);
	void *data;
	int stats_fd;		/* the kernel counts while it is open; -1 */
	bool is_refused;
	uint64_t begun_ns;	/* the last burst */
	uint64_t run_ns;	/* as it began */
	struct cost_counts burst;
	uint64_t read_ns, read_own_ns, read_switches;	/* as the last reading was taken */
	double told_bpf_ns, told_switches;		/* of all readings */
};

struct cost *cost_new(struct bpf_object *programs, uint32_t cpus, struct cost_counts (*count)(void *data), void *data)
{
	struct cost *c = g_new0(struct cost, 1);

	c->programs = programs;
	c->cpus = MAX(cpus, 1);
	c->count = count;
	c->data = data;
	c->stats_fd = -1;
	return c;
}

static void stop_counting(struct cost *c)
{
	if (c->stats_fd >= 0)
		close(c->stats_fd);
	c->stats_fd = -1;
}

void cost_free(struct cost *c)
{
	if (!c)
		return;
	stop_counting(c);
	g_free(c);
}

void cost_programs(struct bpf_object *programs, uint64_t *ret_ns, uint64_t *ret_runs, uint64_t *ret_missed)
{
	struct bpf_program *prog;

	*ret_ns = *ret_runs = *ret_missed = 0;
	bpf_object__for_each_program(prog, programs) {
		struct bpf_prog_info info = { 0 };
		uint32_t len = sizeof(info);

		if (bpf_program__fd(prog) < 0 || bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len))
			continue;
		*ret_ns += info.run_time_ns;
		*ret_runs += info.run_cnt;
		*ret_missed += info.recursion_misses;
	}
}

static uint64_t run_time_ns(const struct cost *c)
{
	uint64_t ns, runs, missed;

	cost_programs(c->programs, &ns, &runs, &missed);
	return ns;
}

/* To begin, the kernel patches itself, which on a busy machine can take longer than the burst: so that is done first. */
static void begin_burst(struct cost *c)
{
	c->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);	/* Linux 5.8, d46edd671a14 */
	c->is_refused = c->stats_fd < 0;
	c->burst = c->count(c->data);
	c->run_ns = run_time_ns(c);
	c->begun_ns = clock_ns(CLOCK_MONOTONIC);
}

void cost_start(struct cost *c)
{
	c->read_ns = clock_ns(CLOCK_MONOTONIC);
	c->read_own_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	c->read_switches = c->count(c->data).switches;
	begin_burst(c);
}

static bool is_due(const struct cost *c)
{
	return !c->is_refused && clock_ns(CLOCK_MONOTONIC) - c->begun_ns >= (c->stats_fd >= 0 ? COST_BURST_NS : COST_PERIOD_NS);
}

bool cost_poll(struct cost *c, struct governor_reading *ret_reading)
{
	if (!is_due(c))
		return false;
	if (c->stats_fd < 0) {
		begin_burst(c);
		return false;
	}
	struct cost_counts counts = c->count(c->data);
	uint64_t in_burst = counts.switches - c->burst.switches, own_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID), now_ns = clock_ns(CLOCK_MONOTONIC);
	double switch_ns = in_burst ? (double)(run_time_ns(c) - c->run_ns) / (double)in_burst : 0;

	stop_counting(c);
	*ret_reading = (struct governor_reading){
		.elapsed_ns = now_ns - c->read_ns, .cpus = c->cpus, .own_ns = (double)(own_ns - c->read_own_ns),
		.switch_ns = switch_ns, .bpf_ns = switch_ns * (double)(counts.switches - c->read_switches),
		.listed_each = in_burst ? (double)(counts.listed - c->burst.listed) / (double)in_burst : 0,
	};
	c->told_bpf_ns += ret_reading->bpf_ns;
	c->told_switches += (double)(counts.switches - c->read_switches);
	c->read_ns = now_ns;
	c->read_own_ns = own_ns;
	c->read_switches = counts.switches;
	return true;
}

bool cost_estimate(const struct cost *c, uint64_t switches, uint64_t *ret_bpf_ns)
{
	if (!c || c->told_switches <= 0)
		return false;
	*ret_bpf_ns = (uint64_t)(c->told_bpf_ns / c->told_switches * (double)switches);
	return true;
}

void cost_hurry(struct cost *c)
{
	if (!c->is_refused && c->stats_fd < 0)
		begin_burst(c);
}
