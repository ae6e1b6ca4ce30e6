/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/whatif/findings.h"

#include <math.h>

#include "features/whatif/analysis.h"

#define FIT_CYCLES 3000
#define ANSWER_CYCLES 20000
#define PASSES 5
#define HALVINGS 9
#define FIT_OFF_MAX 0.05	/* maximum deviation from the recorded cycle */
#define CYCLE_NS 1e6	/* arbitrary length if unknown: only ratios matter */

/* A set of assumptions. */
struct assumption {
	uint32_t phases;	/* regularity of CPU times and holds, which recordings do not have */
	/* sleepers take as long to wake as recorded, and CPUs are shared; else CPUs go in turn */
	bool is_woken_late;
	/* run-queue time beyond that of its own load is due to others' load; else it is a delay */
	bool has_less_cpu;
	bool holds_waits;	/* holds consist of possible delays first, then CPU time; else the other way round */
	bool has_even_delays;	/* delays that may all have the same length do */
	bool is_queue;		/* a server that was not recorded serves one at a time; else all at once */
};

static const struct assumption ways[] = {
	{ 1, true, true, true, false, false },
	{ 16, true, false, false, true, true },
	{ 64, false, false, true, true, true },
	{ 4, false, true, false, true, false },
};

struct fit {
	const struct work *w;
	const struct whatif_change *changes;
	guint changes_cnt;
	const struct assumption *way;
	double cycle_ns;
	double hold[WORK_LOCKS_MAX];		/* per cycle */
	double service[WHATIF_CHANGES_MAX];	/* part of the delays that queues for servers */
	double apart[WHATIF_CHANGES_MAX];	/* the other part: the way there */
	double cpus, excess;
};

struct model_parts {
	struct closed_model m;
	double cpu, delay[WHATIF_CHANGES_MAX + 1];	/* what remains to be placed */
};

static void add_step(struct closed_model *m, enum closed_kind kind, uint32_t station, uint32_t phases, double ns)
{
	if (kind <= CLOSED_DELAY && ns <= 0)
		return;
	g_assert(m->steps_cnt < CLOSED_STEPS_MAX);
	m->steps[m->steps_cnt++] = (struct closed_step){ kind, station, phases, ns };
}

/* Delays of constant length keep threads in step, so that they rarely meet at a lock. */
static uint32_t delay_phases(const struct fit *f, int change)
{
	return f->w->is_even[change] && f->way->has_even_delays ? 0 : f->w->phases[change];
}

/* How many requests what is changed serves at once; 0: unlimited. */
static uint32_t servers_of(const struct fit *f, guint change)
{
	const struct work_service *v = &f->w->service[change];
	enum whatif_kind kind = f->changes[change].kind;

	if (f->w->threads_cnt == 1 || kind == WHATIF_LOCK || kind == WHATIF_CPUS)
		return 0;
	if (v->servers)
		return v->servers < f->w->threads_cnt ? v->servers : 0;
	return f->way->is_queue && f->changes[change].factor > 0 ? 1 : 0;
}

/* The server's part of the change's delays; all if unknown. */
static double server_part(const struct fit *f, guint change)
{
	const struct work_service *v = &f->w->service[change];

	return v->servers ? fmin(v->busy, f->w->delay[change]) : f->w->delay[change];
}

static double change_factor(const struct fit *f, int change, bool is_changed)
{
	return is_changed && change >= 0 && change < (int)f->changes_cnt ? f->changes[change].factor : 1;
}

/* Adds a hold of a lock, built from the thread's CPU time and delays. */
static void add_hold(const struct fit *f, uint32_t i, bool is_changed, struct model_parts *b)
{
	const struct work_lock *l = &f->w->locks[i];
	double left = f->hold[i], times = change_factor(f, l->change, is_changed), cpu = fmin(left, b->cpu);
	double part[WHATIF_CHANGES_MAX + 1] = { 0 };

	if (!f->way->holds_waits)
		left -= cpu;
	for (int c = 0; c <= WHATIF_CHANGES_MAX; c++) {
		part[c] = fmin(fmin(l->inside[c], b->delay[c]), left);
		left -= part[c];
		b->delay[c] -= part[c];
	}
	if (f->way->holds_waits)
		cpu = fmin(left, b->cpu);
	b->cpu -= cpu;
	add_step(&b->m, CLOSED_TAKE, i, 0, 0);
	add_step(&b->m, CLOSED_CPU, 0, f->way->phases, cpu * times * f->cycle_ns);
	for (int c = 0; c <= WHATIF_CHANGES_MAX; c++)
		add_step(&b->m, CLOSED_DELAY, 0, delay_phases(f, c),
			 part[c] * times * change_factor(f, c, is_changed) * f->cycle_ns);
	add_step(&b->m, CLOSED_GIVE, i, 0, 0);
}

static void add_service(const struct fit *f, guint change, bool is_changed, struct model_parts *b)
{
	double times = change_factor(f, (int)change, is_changed), left = b->delay[change];
	uint32_t servers = servers_of(f, change), station = f->w->locks_cnt + change;

	b->delay[change] = 0;
	if (servers) {
		b->m.stations[station].servers = servers;
		add_step(&b->m, CLOSED_TAKE, station, 0, 0);
		add_step(&b->m, CLOSED_DELAY, 0, f->way->phases, f->service[change] * times * f->cycle_ns);
		add_step(&b->m, CLOSED_GIVE, station, 0, 0);
		add_step(&b->m, CLOSED_DELAY, 0, 1, f->apart[change] * f->cycle_ns);
		return;
	}
	double taken = fmin(left, server_part(f, change));
	add_step(&b->m, CLOSED_DELAY, 0, delay_phases(f, (int)change), taken * times * f->cycle_ns);
	add_step(&b->m, CLOSED_DELAY, 0, 1, (left - taken) * (times > 0 ? 1 : 0) * f->cycle_ns);
}

static double cpus_added(const struct fit *f, bool is_changed)
{
	double added = 0;

	for (guint c = 0; is_changed && c < f->changes_cnt; c++)
		added += f->changes[c].cpus;
	return added;
}

static void solve_model(const struct fit *f, bool is_changed, uint32_t cycles, struct closed_result *ret)
{
	const struct work *w = f->w;
	struct model_parts b = { .cpu = w->on_cpu };

	b.m = (struct closed_model){ .threads = MIN(w->threads_cnt, CLOSED_THREADS_MAX),
				     .is_in_turn = !f->way->is_woken_late,
				     .cpus = fmax(f->cpus + cpus_added(f, is_changed), 0.05),
				     .stations_cnt = w->locks_cnt + f->changes_cnt };
	for (int c = 0; c <= WHATIF_CHANGES_MAX; c++)
		b.delay[c] = w->delay[c];
	for (uint32_t i = 0; i < w->locks_cnt; i++) {
		b.m.stations[i] = (struct closed_station){ 1, f->way->is_woken_late ? w->locks[i].wake_ns : 0 };
		add_hold(f, i, is_changed, &b);
	}
	for (guint c = 0; c < f->changes_cnt; c++) {
		b.m.stations[w->locks_cnt + c].servers = 1;
		if (f->changes[c].kind != WHATIF_LOCK)
			add_service(f, c, is_changed, &b);
	}
	double excess = f->excess;
	for (guint c = 0; is_changed && c < f->changes_cnt; c++)
		if (f->changes[c].kind != WHATIF_LOCK && f->changes[c].kind != WHATIF_CPUS &&
		    f->changes[c].factor == 0) {
			b.cpu -= fmin(w->cpu_in_calls[c], b.cpu);
			excess -= w->queue > 0 ? f->excess * w->queue_behind[c] / w->queue : 0;
		}
	add_step(&b.m, CLOSED_CPU, 0, f->way->phases, b.cpu * f->cycle_ns);
	add_step(&b.m, CLOSED_DELAY, 0, 1, excess * f->cycle_ns);
	add_step(&b.m, CLOSED_DELAY, 0, delay_phases(f, WHATIF_CHANGES_MAX), b.delay[WHATIF_CHANGES_MAX] * f->cycle_ns);
	closed_solve(&b.m, cycles, ret);
}

/* Bisects *value until what `is_less` compares is as recorded. */
static void fit_value(struct fit *f, double *value, double low, double high,
		      bool (*is_less)(const struct fit *f, uint32_t i, const struct closed_result *r), uint32_t i)
{
	struct closed_result r;

	for (int n = 0; n < HALVINGS; n++) {
		*value = (low + high) / 2;
		solve_model(f, false, FIT_CYCLES, &r);
		if (is_less(f, i, &r))
			low = *value;
		else
			high = *value;
	}
}

static bool waits_less(const struct fit *f, uint32_t i, const struct closed_result *r)
{
	return r->wait_ns[i] / f->cycle_ns < f->w->locks[i].wait;
}

static bool is_served_sooner(const struct fit *f, uint32_t change, const struct closed_result *r)
{
	return r->wait_ns[f->w->locks_cnt + change] / f->cycle_ns + f->service[change] < f->w->delay[change];
}

static bool queues_more(const struct fit *f, uint32_t i, const struct closed_result *r)
{
	return r->queue_ns / f->cycle_ns > f->w->queue;
}

/* Determines the cycle's length from the lock with most sleeps. */
static void fit_cycle(struct fit *f)
{
	const struct work_lock *most = NULL;
	struct closed_result r;

	for (uint32_t i = 0; i < f->w->locks_cnt; i++)
		if (!most || f->w->locks[i].sleeps_a_ns > most->sleeps_a_ns)
			most = &f->w->locks[i];
	if (!most || !f->way->is_woken_late)
		return;
	solve_model(f, false, FIT_CYCLES, &r);
	double sleeps = r.sleeps[most - f->w->locks];
	if (sleeps > 0)
		f->cycle_ns = CLAMP(sleeps / most->sleeps_a_ns, f->cycle_ns / 4, f->cycle_ns * 4);
}

static void fit_pass(struct fit *f)
{
	const struct work *w = f->w;
	struct closed_result r;

	for (uint32_t i = 0; i < w->locks_cnt; i++) {
		double most = w->on_cpu;
		for (int c = 0; c <= WHATIF_CHANGES_MAX; c++)
			most += w->locks[i].inside[c];
		fit_value(f, &f->hold[i], 0, most, waits_less, i);
	}
	for (guint c = 0; c < f->changes_cnt; c++) {
		if (!servers_of(f, c))
			continue;
		fit_value(f, &f->service[c], 0, server_part(f, c), is_served_sooner, c);
		solve_model(f, false, FIT_CYCLES, &r);
		f->apart[c] = fmax(0, w->delay[c] - f->service[c] - r.wait_ns[w->locks_cnt + c] / f->cycle_ns);
	}
	if (f->way->has_less_cpu || cpus_added(f, true) != 0) {
		double before = f->cpus;
		fit_value(f, &f->cpus, 0.05, w->cpus, queues_more, 0);
		f->cpus = (f->cpus + before) / 2;	/* depends on the holds, so change it slowly */
	}
	solve_model(f, false, FIT_CYCLES, &r);
	f->excess = fmax(0, w->queue - r.queue_ns / f->cycle_ns);
	fit_cycle(f);
}

void fit_work(const struct work *w, const struct whatif_change *changes, guint cnt, struct fit_result *ret)
{
	*ret = (struct fit_result){ .off = INFINITY };
	for (guint i = 0; i < G_N_ELEMENTS(ways); i++) {
		struct fit f = { .w = w, .changes = changes, .changes_cnt = cnt, .way = &ways[i], .cpus = w->cpus,
				 .cycle_ns = CYCLE_NS };
		struct closed_result now, then;

		for (int n = 0; n < PASSES; n++)
			fit_pass(&f);
		solve_model(&f, false, ANSWER_CYCLES, &now);
		solve_model(&f, true, ANSWER_CYCLES, &then);
		ret->off = fmin(ret->off, fabs(now.cycle_ns / f.cycle_ns - 1));
		if (fabs(now.cycle_ns / f.cycle_ns - 1) > FIT_OFF_MAX)
			continue;
		ret->rate[ret->cnt++] = then.cycle_ns > 0 ? now.cycle_ns / then.cycle_ns : INFINITY;
	}
}
