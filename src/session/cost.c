/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "session/parts.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

/*
 * A burst with fewer switches is not enough to estimate the cost of one; it is then extended, and earlier ones count,
 * too.
 */
#define SWITCHES_MIN 1000

struct cost {
	struct bpf_object *const *programs;
	uint32_t cpus;
	struct offcpu_counts (*count)(void *data);
	void *data;
	int stats_fd;		/* the kernel counts while it is open; -1: closed */
	bool is_refused;
	uint64_t begun_ns;	/* start of the last burst */
	uint64_t run_ns, begun_switches;	/* counts at its start */
	double bursts_ns, bursts_switches;	/* of all bursts, with weights halved at each burst */
	uint64_t read_ns, read_own_ns;		/* at the last reading */
	struct offcpu_counts read;
	double sum_bpf_ns, sum_switches;	/* sums of all readings */
};

struct cost *cost_new(struct bpf_object *const *programs, uint32_t cpus, struct offcpu_counts (*count)(void *data),
		      void *data)
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

FREES(cost_free, struct cost, c, stop_counting(c))

static void add_program(const struct bpf_program *prog, struct program_cost *sum)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	if (bpf_program__fd(prog) < 0 || bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len))
		return;
	sum->ns += info.run_time_ns;
	sum->runs += info.run_cnt;
	sum->missed += info.recursion_misses;
}

struct program_cost cost_programs(struct bpf_object *const *programs)
{
	struct program_cost sum = { 0 };
	struct bpf_program *prog;

	for (; *programs; programs++)
		bpf_object__for_each_program(prog, *programs)
			add_program(prog, &sum);
	return sum;
}

static uint64_t run_time_ns(const struct cost *c)
{
	return cost_programs(c->programs).ns;
}

/*
 * Enabling the statistics patches the kernel, which may take longer than the burst on a busy machine: this comes
 * first.
 */
static void begin_burst(struct cost *c)
{
	c->stats_fd = opener_bpf_stats();
	c->is_refused = c->stats_fd < 0;
	c->begun_switches = c->count(c->data).switches;
	c->run_ns = run_time_ns(c);
	c->begun_ns = clock_ns(CLOCK_MONOTONIC);
}

void cost_start(struct cost *c)
{
	c->read_ns = clock_ns(CLOCK_MONOTONIC);
	c->read_own_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + opener_cpu_ns();
	c->read = c->count(c->data);
	begin_burst(c);
}

/* Cost of a switch, in ns. */
static double end_burst(struct cost *c, uint64_t switches)
{
	double ns = (double)(run_time_ns(c) - c->run_ns), cnt = (double)(switches - c->begun_switches);

	stop_counting(c);
	c->bursts_ns = c->bursts_ns / 2 + ns;
	c->bursts_switches = c->bursts_switches / 2 + cnt;
	if (cnt >= SWITCHES_MIN)
		return ns / cnt;
	return c->bursts_switches > 0 ? c->bursts_ns / c->bursts_switches : 0;
}

bool cost_poll(struct cost *c, struct governor_reading *ret_reading)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), since_ns = now_ns - c->begun_ns;

	if (c->is_refused)
		return false;
	if (c->stats_fd < 0) {
		if (since_ns >= COST_PERIOD_NS)
			begin_burst(c);
		return false;
	}
	if (since_ns < COST_BURST_NS)
		return false;
	struct offcpu_counts counts = c->count(c->data);
	uint64_t own_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + opener_cpu_ns();

	if (counts.switches - c->begun_switches < SWITCHES_MIN && since_ns < COST_BURST_MAX_NS)
		return false;
	double switches = (double)(counts.switches - c->read.switches);

	*ret_reading = (struct governor_reading){
		.elapsed_ns = now_ns - c->read_ns, .cpus = c->cpus, .own_ns = (double)(own_ns - c->read_own_ns),
		.bpf_ns = end_burst(c, counts.switches) * switches, .switches = switches,
		.listed_cnt = (double)(counts.listed - c->read.listed),
		.listing_ns = (double)(counts.listing_ns - c->read.listing_ns),
	};
	for (unsigned i = 0; i < OFFCPU_HIST_SLOTS; i++)
		ret_reading->waits[i] = (double)(counts.waits_q8[i] - c->read.waits_q8[i]) / SAMPLE_ONE_Q8;
	c->sum_bpf_ns += ret_reading->bpf_ns;
	c->sum_switches += switches;
	c->read_ns = now_ns;
	c->read_own_ns = own_ns;
	c->read = counts;
	return true;
}

bool cost_estimate(const struct cost *c, uint64_t switches, uint64_t *ret_bpf_ns)
{
	if (!c || c->sum_switches <= 0)
		return false;
	*ret_bpf_ns = (uint64_t)(c->sum_bpf_ns / c->sum_switches * (double)switches);
	return true;
}

void cost_hurry(struct cost *c)
{
	if (!c->is_refused && c->stats_fd < 0)
		begin_burst(c);
}
