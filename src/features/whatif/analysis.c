/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/whatif/analysis.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#define NEVER INFINITY
#define WARM_UP 0.1	/* fraction of cycles not counted, since all threads begin at the first step */

enum doing {
	COMPUTES,
	WAITS,
	SLEEPS,		/* until a station is free */
	WAKES,		/* and will then try to take it */
	QUEUES,		/* for a CPU in turn, to compute */
	QUEUES_AWAKE,	/* for a CPU in turn, to try to take a station */
};

struct sim_thread {
	enum doing doing;
	uint32_t step;
	double left_ns;		/* for COMPUTES: remaining CPU time */
	double until_ns;	/* for WAITS, WAKES */
	double since_ns;	/* start of this step */
	double work_ns;		/* for COMPUTES: total CPU time */
	bool has_cpu;		/* with is_in_turn */
};

struct replay {
	const struct closed_model *m;
	struct sim_thread one[CLOSED_THREADS_MAX];
	uint32_t taken[CLOSED_STATIONS_MAX];
	uint32_t queue[CLOSED_STATIONS_MAX][CLOSED_THREADS_MAX], queued[CLOSED_STATIONS_MAX];
	/* with is_in_turn: free CPUs, and the threads that wait for one */
	uint32_t cpus, cpu_queue[CLOSED_THREADS_MAX], cpu_queued;
	double speed;
	uint64_t random;
	double now_ns;
	uint64_t cycles;
	struct closed_result sum;
};

/* splitmix64 (Steele, Lea, Flood 2014) in (0, 1]. */
static double uniform(struct replay *r)
{
	uint64_t z = r->random += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return ((double)((z ^ (z >> 31)) >> 11) + 1) * 0x1p-53;
}

static double length_of(struct replay *r, const struct closed_step *s)
{
	double product = 1;

	if (!s->phases)
		return s->ns;
	for (uint32_t i = 0; i < s->phases; i++)
		product *= uniform(r);
	return -log(product) * s->ns / s->phases;
}

/* A sleeper stays in the queue until it has the station.  If it wakes in vain, it is still first. */
static void give_station(struct replay *r, uint32_t station)
{
	r->taken[station]--;
	for (uint32_t i = 0; i < r->queued[station]; i++) {
		struct sim_thread *o = &r->one[r->queue[station][i]];

		if (o->doing != SLEEPS)
			continue;
		o->doing = WAKES;
		o->until_ns = r->now_ns + r->m->stations[station].wake_ns;
		return;
	}
}

static void leave_queue(struct replay *r, uint32_t station, uint32_t thread)
{
	uint32_t *queue = r->queue[station], at = 0;

	while (queue[at] != thread)
		at++;
	r->queued[station]--;
	for (; at < r->queued[station]; at++)
		queue[at] = queue[at + 1];
}

static void got_cpu(struct replay *r, uint32_t thread);

static void leave_cpu(struct replay *r, uint32_t thread)
{
	if (!r->one[thread].has_cpu)
		return;
	r->one[thread].has_cpu = false;
	r->cpus++;
	if (!r->cpu_queued)
		return;
	uint32_t next = r->cpu_queue[0];
	r->cpu_queued--;
	memmove(r->cpu_queue, r->cpu_queue + 1, r->cpu_queued * sizeof(*r->cpu_queue));
	r->cpus--;
	r->one[next].has_cpu = true;
	got_cpu(r, next);
}

/* False: it has to queue for a CPU. */
static bool want_cpu(struct replay *r, uint32_t thread, enum doing otherwise)
{
	struct sim_thread *o = &r->one[thread];

	if (!r->m->is_in_turn || o->has_cpu)
		return true;
	if (r->cpus) {
		r->cpus--;
		return o->has_cpu = true;
	}
	r->cpu_queue[r->cpu_queued++] = thread;
	o->doing = otherwise;
	return false;
}

/* False: it has to sleep. */
static bool take_station(struct replay *r, uint32_t thread, bool is_woken)
{
	struct sim_thread *o = &r->one[thread];
	uint32_t station = r->m->steps[o->step].station;

	if (r->taken[station] >= r->m->stations[station].servers) {
		if (!is_woken)
			r->queue[station][r->queued[station]++] = thread;
		o->doing = SLEEPS;
		r->sum.sleeps[station]++;
		leave_cpu(r, thread);
		return false;
	}
	if (is_woken)
		leave_queue(r, station, thread);
	r->taken[station]++;
	r->sum.wait_ns[station] += r->now_ns - o->since_ns;
	return true;
}

/* Continues at the thread's step until it must wait or compute. */
static void run_thread(struct replay *r, uint32_t thread)
{
	struct sim_thread *o = &r->one[thread];

	for (;; o->step++) {
		if (o->step == r->m->steps_cnt) {
			o->step = 0;
			r->cycles++;
		}
		const struct closed_step *s = &r->m->steps[o->step];
		o->since_ns = r->now_ns;
		if (s->kind == CLOSED_GIVE) {
			give_station(r, s->station);
		} else if (s->kind == CLOSED_TAKE) {
			if (!take_station(r, thread, false))
				return;
		} else if (s->ns > 0) {
			o->left_ns = o->work_ns = length_of(r, s);
			o->until_ns = r->now_ns + o->work_ns;
			if (s->kind == CLOSED_DELAY) {
				o->doing = WAITS;
				leave_cpu(r, thread);
			} else if (want_cpu(r, thread, QUEUES)) {
				o->doing = COMPUTES;
			}
			return;
		}
	}
}

static void try_again(struct replay *r, uint32_t thread)
{
	if (!take_station(r, thread, true))
		return;
	r->one[thread].step++;
	run_thread(r, thread);
}

static void got_cpu(struct replay *r, uint32_t thread)
{
	if (r->one[thread].doing == QUEUES)
		r->one[thread].doing = COMPUTES;
	else
		try_again(r, thread);
}

/* Advances to the next event; returns its thread. */
static uint32_t advance(struct replay *r)
{
	uint32_t computing = 0, next = 0;
	double at_ns = NEVER;

	for (uint32_t i = 0; i < r->m->threads; i++)
		computing += r->one[i].doing == COMPUTES;
	double rate = r->m->is_in_turn ? r->speed : computing > r->m->cpus ? r->m->cpus / computing : 1;
	for (uint32_t i = 0; i < r->m->threads; i++) {
		const struct sim_thread *o = &r->one[i];
		double end_ns = o->doing == COMPUTES ? r->now_ns + o->left_ns / rate :
				o->doing == WAITS || o->doing == WAKES ? o->until_ns : NEVER;
		if (end_ns < at_ns) {
			at_ns = end_ns;
			next = i;
		}
	}
	for (uint32_t i = 0; i < r->m->threads; i++)
		if (r->one[i].doing == COMPUTES)
			r->one[i].left_ns -= (at_ns - r->now_ns) * rate;
	r->now_ns = at_ns;
	return next;
}

static void end_step(struct replay *r, uint32_t thread)
{
	struct sim_thread *o = &r->one[thread];

	if (o->doing == COMPUTES)
		r->sum.queue_ns += r->now_ns - o->since_ns - o->work_ns;
	if (o->doing == WAKES) {
		if (want_cpu(r, thread, QUEUES_AWAKE))
			try_again(r, thread);
		return;
	}
	o->step++;
	run_thread(r, thread);
}

/* Without any step that takes time the replay would not end. */
static bool takes_time(const struct closed_model *m)
{
	for (uint32_t i = 0; i < m->steps_cnt; i++)
		if (m->steps[i].kind <= CLOSED_DELAY && m->steps[i].ns > 0)
			return true;
	return false;
}

void closed_solve(const struct closed_model *m, uint32_t cycles, struct closed_result *ret)
{
	g_autofree struct replay *r = g_new0(struct replay, 1);
	double start_ns = 0, warm_up = cycles * WARM_UP;
	uint64_t counted_from = 0;

	*ret = (struct closed_result){ 0 };
	g_assert(m->threads && m->threads <= CLOSED_THREADS_MAX && m->cpus > 0);
	if (!takes_time(m))
		return;
	r->m = m;
	r->cpus = (uint32_t)fmax(1, ceil(m->cpus - 1e-6));
	r->speed = m->cpus / r->cpus;
	for (uint32_t i = 0; i < m->threads; i++)
		run_thread(r, i);
	while (r->cycles < cycles + warm_up) {
		end_step(r, advance(r));
		if (!counted_from && r->cycles >= warm_up) {
			counted_from = r->cycles;
			start_ns = r->now_ns;
			r->sum = (struct closed_result){ 0 };
		}
	}
	double cnt = (double)(r->cycles - counted_from);
	ret->cycle_ns = (r->now_ns - start_ns) * m->threads / cnt;
	ret->queue_ns = r->sum.queue_ns / cnt;
	for (uint32_t i = 0; i < m->stations_cnt; i++) {
		ret->wait_ns[i] = r->sum.wait_ns[i] / cnt;
		ret->sleeps[i] = r->sum.sleeps[i] / cnt;
	}
}

double closed_cyclic_utilisation(double ratio, double jobs)
{
	if (ratio > 0.999)
		return jobs / (jobs + 1);
	return (1 - pow(ratio, jobs)) / (1 - pow(ratio, jobs + 1));
}
