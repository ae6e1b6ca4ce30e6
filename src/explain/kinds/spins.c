/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/findings_part.h"

#include "analyse/plumbing.h"

/*
 * Who waits for a GPU, or for another rank of its job (MPI), may look at a word of memory until that changes: CPU time, and
 * no wait.  A `spin` rule knows the functions, and samples on CPU tell how much of a thread's CPU time is theirs; without
 * samples, where it was preempted.
 *
 * A program that computes meanwhile and only waits briefly for the rest has nothing to gain.
 */
#define CPU_PART 5	/* of the CPU time of spinning threads */
#define LIFE_PART 10	/* of a thread's time outside of the run queue: as for waits */
#define WINDOW_PART 50	/* however long they were in the run queue */
#define PREEMPTIONS_MIN 10	/* per thread: fewer give no share */

struct spinner {
	const struct rule *rule;	/* NULL: it does not spin */
	uint64_t looks_cnt, spins_cnt;	/* nanoseconds of samples, or number of preemptions */
};

/* A thread that yields shows where it does. */
static uint64_t looks_of(const struct findings *f, uint32_t i, bool has_samples)
{
	const struct wait *w = profile_wait(f->profile, i);
	const struct rule *rule = reasons_rule(f->reasons, i);

	if ((f->selection && !f->selection->threads[w->thread]) || (!has_samples && (!rule || rule_is_yield(rule))))
		return 0;
	return finding_looks(w, has_samples);
}

static bool has_samples(const struct profile *p)
{
	for (uint32_t i = p->waits->len; i-- > 0;)
		if (profile_wait(p, i)->state == ON_CPU_STATE)
			return true;
	return false;
}

static void count_looks(const struct findings *f, struct spinner *spinners, bool is_sampled)
{
	for (uint32_t i = 0; i < f->profile->waits->len; i++) {
		struct spinner *s = &spinners[profile_wait(f->profile, i)->thread];
		uint64_t cnt = looks_of(f, i, is_sampled);
		const struct rule *rule = cnt ? reasons_spin(f->reasons, i) : NULL;

		s->looks_cnt += cnt;
		s->spins_cnt += rule ? cnt : 0;
		s->rule = s->rule ?: rule;
	}
}

static struct finding *row_of(struct findings *f, guint first, uint32_t thread, const struct rule *rule)
{
	const struct finding new = {
		.reason = REASON_ON_CPU,
		.process = f->programs[thread],
		.pid = profile_thread(f->profile, thread)->pid,
		.frame = -1,
		FINDING_OWN_ONLY,
		.busy = BUSY_SPIN,
		.busy_rule = rule,
	};

	for (guint r = first; r < f->rows->len; r++) {
		struct finding *row = &g_array_index(f->rows, struct finding, r);

		if (row->process == new.process && row->busy_rule == rule)
			return row;
	}
	g_array_append_val(f->rows, new);
	return &g_array_index(f->rows, struct finding, f->rows->len - 1);
}

static void add_thread(struct findings *f, guint first, uint32_t thread, const struct spinner *s)
{
	const struct thread *t = profile_thread(f->profile, thread);
	struct finding *row = row_of(f, first, thread, s->rule);

	if (t->pid != row->pid)
		row->pid = 0;
	row->threads_cnt++;
	row->observed_ns += thread_observed_ns(t);
	row->on_cpu_ns += t->on_cpu_ns;
	row->queue_ns += t->runnable_ns + t->preempted_ns;
	row->time_ns += (uint64_t)((double)t->on_cpu_ns * (double)s->spins_cnt / (double)s->looks_cnt);
	row->looks_cnt += s->looks_cnt;
	row->in_frame_cnt += s->spins_cnt;
}

static bool is_little(const struct finding *row, uint64_t window_ns)
{
	uint64_t had_ns = row->observed_ns - MIN(row->queue_ns, row->observed_ns);

	return row->time_ns < row->on_cpu_ns / CPU_PART || row->time_ns < MIN(had_ns, window_ns) / LIFE_PART ||
	       row->time_ns < window_ns / WINDOW_PART;
}

/* The program's function that spins most of the time; a broken stack has none. */
static void name_function(const struct findings *f, struct finding *row)
{
	const struct profile *p = f->profile;
	g_autofree uint64_t *sums = g_new0(uint64_t, (gsize)p->frames->len + 1);
	uint64_t most = 0;

	EACH_ROW(i, const struct wait, w, p->waits) {
		uint64_t cnt = f->programs[w->thread] == row->process ? looks_of(f, i, row->has_samples) : 0;

		if (!cnt || reasons_spin(f->reasons, i) != row->busy_rule)
			continue;
		int64_t frame = finding_frame(f, i);

		row->wait = most ? row->wait : i;
		if (frame < 0 || plumbing_frame_is_runtime(reasons_plumbing(f->reasons), (uint32_t)frame))
			continue;
		sums[frame] += cnt;
		if (sums[frame] > most) {
			most = sums[frame];
			row->frame = frame;
			row->wait = i;
		}
	}
}

static void link_yields(const struct findings *f, const struct finding *spin)
{
	EACH_ROW(i, struct finding, row, f->rows)
		if (row->is_yield && row->process == spin->process &&
		    reasons_spin(f->reasons, row->wait) == spin->busy_rule)
			row->is_link = true;
}

void spins_find(struct findings *f)
{
	const struct profile *p = f->profile;
	const bool is_sampled = has_samples(p);
	const guint first = f->rows->len;
	g_autofree struct spinner *spinners = g_new0(struct spinner, (gsize)p->threads->len + 1);

	count_looks(f, spinners, is_sampled);
	for (uint32_t i = 0; i < p->threads->len; i++)
		if (spinners[i].rule && (is_sampled || spinners[i].looks_cnt >= PREEMPTIONS_MIN))
			add_thread(f, first, i, &spinners[i]);
	for (guint r = f->rows->len; r-- > first;) {
		struct finding *row = &g_array_index(f->rows, struct finding, r);

		row->has_samples = is_sampled;
		if (is_little(row, p->info.duration_ns))
			g_array_remove_index(f->rows, r);
		else
			name_function(f, row), link_yields(f, row);
	}
}
