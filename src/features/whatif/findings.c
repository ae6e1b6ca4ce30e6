/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/whatif/findings.h"

#include <math.h>
#include <string.h>

#include "analyse/actors.h"
#include "analyse/locks.h"
#include "base/refuse.h"
#include "explain/text.h"
#include "features/requests/rows.h"
#include "features/whatif/analysis.h"

#define LOST_MAX 0.02		/* of the time */
#define BESIDE_MAX 0.3		/* of the time: with requests, activity between these, of which no waits are listed */
#define AWAY_MAX 0.1
#define HANDED_MAX 0.05		/* more means that the threads are a stage of a pipeline */
#define OUTSIDE_MAX 0.03
#define SLEEP_MAX 0.03
#define OTHERS_MAX 0.1		/* of the waits for what is changed, or of its holders */
#define BUSY_MIN 0.85		/* of the slowest stage: less means that the pipeline is not full */
#define WAYS_MIN 2		/* minimum number of ways that must agree with the recording */
#define WIDTH_MAX 1.5
#define MARGIN 0.04		/* variation between windows of a few seconds */
#define MARGIN_GAIN 0.05
#define JOBS_MAX 64
#define STAGE_BUSY_MIN 0.001
#define PACE_STEPS 20

#define no(...) refuse(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, __VA_ARGS__)

static bool parse_factor(const char *text, const char *what, double *ret)
{
	g_autofree char *head = g_strdup_printf("%s*", what);
	char *end;

	if (!g_str_has_prefix(text, head))
		return false;
	text += strlen(head);
	*ret = g_ascii_strtod(text, &end);
	return end != text && !*end && *ret >= 0 && *ret <= 1000;
}

static bool parse_reason(struct whatif_change *c, GError **error)
{
	enum reason reason;

	if (!reason_parse(c->name, &reason))
		return no("there is no reason '%s'; reasons are %s", c->name, reason_names());
	if (g_str_has_prefix(c->name, "lock."))
		return no("of 'reason=%s' it is not known which lock: name it, as in 'lock=NAME hold*0.5'", c->name);
	if (g_str_has_prefix(c->name, "cpu."))
		return no("'reason=%s' is no time of its own: ask for 'cpus+N'", c->name);
	c->reason = (uint8_t)reason;
	return true;
}

bool whatif_parse(const char *text, struct whatif_change *ret, GError **error)
{
	static const struct {
		const char *head, *what;
	} forms[] = {
		[WHATIF_LOCK] = { "lock=", "hold" },
		[WHATIF_PEER] = { "peer=", "time" },
		[WHATIF_REASON] = { "reason=", "time" },
	};
	const char *space = strrchr(text, ' ');
	char *end;

	*ret = (struct whatif_change){ .kind = WHATIF_CPUS };
	if (g_str_has_prefix(text, "cpus") && (text[4] == '+' || text[4] == '-')) {
		gint64 n = g_ascii_strtoll(text + 4, &end, 10);
		ret->cpus = (int)n;
		if (end != text + 5 && !*end && n && ABS(n) <= 4096)
			return true;
	}
	for (guint i = 0; i < G_N_ELEMENTS(forms) && space; i++) {
		size_t head = strlen(forms[i].head), bytes = (size_t)(space - text) - head;

		if (!g_str_has_prefix(text, forms[i].head) || space <= text + head || bytes >= sizeof(ret->name) ||
		    !parse_factor(space + 1, forms[i].what, &ret->factor))
			continue;
		ret->kind = (enum whatif_kind)i;
		memcpy(ret->name, text + head, bytes);
		return i != WHATIF_REASON || parse_reason(ret, error);
	}
	return no("'%s' is no change: 'lock=NAME hold*0.5', 'peer=NAME time*0.5', 'reason=disk.sync time*0' or 'cpus+2'",
		  text);
}

/* Whether the recording has what a replay needs. */
static bool is_enough(const struct profile *p, const struct whatif_change *changes, guint cnt, GError **error)
{
	if (p->info.imported)
		return no("it is no recording of offcpu: it has no accounts of threads");
	if (profile_is_sampled(p))
		return no("short waits were sampled, so how often threads waited is an estimate: record with --exact");
	if (p->info.history.windows)
		return no("it is of a history, which does not keep single threads: record the program for some seconds");
	for (guint i = 0; i < cnt; i++)
		if ((changes[i].kind == WHATIF_LOCK && !p->info.has_locks) ||
		    (changes[i].kind == WHATIF_PEER && !p->info.has_objects))
			return no("what threads waited for was not recorded: record with --objects");
	return true;
}

static const char *change_text(const struct whatif_change *c)
{
	static const char *const texts[] = { "the lock", "the peer", "the reason", "a CPU" };

	return texts[c->kind];
}

/* The role whose threads wait longest for what is changed, or for CPUs; UINT32_MAX: none. */
static uint32_t role_by_waits(const struct work_source *s)
{
	g_autofree double *ns = g_new0(double, (gsize)s->roles->rows->len + 1);
	uint32_t most = UINT32_MAX;
	bool is_cpus = true;

	for (guint i = 0; i < s->changes_cnt; i++)
		is_cpus = is_cpus && s->changes[i].kind == WHATIF_CPUS;
	for (guint i = 0; i < s->p->threads->len && is_cpus; i++)
		ns[s->roles->of_thread[i]] += (double)profile_thread(s->p, i)->on_cpu_ns;
	EACH_ROW(i, const struct wait, w, s->p->waits) {
		uint32_t role = s->roles->of_thread[w->thread];

		ns[role] += is_cpus ? (double)(w->runnable_ns + w->preempted_ns) :
			    work_change_of(s, i) >= 0 ? (double)w->blocked_ns : 0;
	}
	for (uint32_t role = 0; role < s->roles->rows->len; role++)
		if (ns[role] > (most == UINT32_MAX ? 0 : ns[most]))
			most = role;
	return most;
}

/* For each thread whether it waits below that function. */
static bool *threads_in(const struct profile *p, const char *function)
{
	const char *const names[] = { function, NULL };
	bool *is_in = g_new0(bool, (gsize)p->threads->len + 1);

	EACH_ROW(i, const struct wait, w, p->waits)
		is_in[w->thread] = is_in[w->thread] || profile_stack_names(p, w->user, names);
	return is_in;
}

/* For "request:NAME": the threads that served it, according to its single requests. */
static bool choose_request(const struct profile *p, const char *name, bool *chosen, GError **error)
{
	bool any = false, is_known = false;

	if (!p->info.has_requests)
		return no("it holds no requests: record them with offcpu request -o FILE");
	EACH_ROW(i, const struct request_span, span, p->spans) {
		bool is_it = !strcmp(profile_request(p, span->func)->name, name);
		chosen[span->thread] |= is_it;
		any |= is_it;
	}
	for (guint i = 0; i < p->requests->len; i++)
		is_known |= !strcmp(profile_request(p, i)->name, name);
	if (!is_known)
		return no("there is no request '%s' in it", name);
	return any || no("no single request '%s' was kept", name);
}

static bool choose_asked(const struct work_source *s, const char *of, bool *chosen, GError **error)
{
	const char *slash = strchr(of, '/');
	g_autofree char *comm = slash ? g_strndup(of, (gsize)(slash - of)) : g_strdup(of);
	g_autoptr(GStringChunk) names = g_string_chunk_new(64);
	bool any = false;

	if (g_str_has_prefix(of, "request:"))
		return choose_request(s->p, of + strlen("request:"), chosen, error);
	g_autofree const char **kinds = actors_kind_names(s->p, names);
	g_autofree bool *is_in = slash ? threads_in(s->p, slash + 1) : NULL;
	EACH_ROW(i, const struct thread, t, s->p->threads) {
		chosen[i] = (!strcmp(t->comm, comm) || !strcmp(kinds[i], comm)) &&
			    (!slash || is_in[i]);
		any |= chosen[i];
	}
	return any || no("no thread in it is called '%s'%s%s", comm, slash ? " and waits in " : "", slash ? slash + 1 : "");
}

static bool choose_threads(const struct work_source *s, const char *of, bool *chosen, GError **error)
{
	uint32_t role;

	if (of)
		return choose_asked(s, of, chosen, error);
	role = role_by_waits(s);
	if (role == UINT32_MAX)
		return no("nobody waits for %s%s%s%s in this recording", change_text(&s->changes[0]),
			  *s->changes[0].name ? " '" : "", s->changes[0].name, *s->changes[0].name ? "'" : "");
	for (guint i = 0; i < s->p->threads->len; i++)
		chosen[i] = s->roles->of_thread[i] == role;
	return true;
}

/* Each change must concern something that these threads wait for, and that no others use. */
static bool changes_are_of(const struct work_source *s, const struct work *w, GError **error)
{
	for (guint i = 0; i < s->changes_cnt; i++) {
		const struct whatif_change *c = &s->changes[i];
		const struct work_lock *lock = NULL;

		for (uint32_t k = 0; k < w->locks_cnt; k++)
			lock = w->locks[k].change == (int)i ? &w->locks[k] : lock;
		if (c->kind == WHATIF_LOCK ? !lock : c->kind != WHATIF_CPUS && w->delay[i] <= 0)
			return no("the chosen threads do not wait for %s '%s'", change_text(c), c->name);
		if (w->service[i].others > OTHERS_MAX)
			return no("%.0f%% of the waits for '%s' are other threads', whose cycle is another: "
				  "choose with --of, or it cannot be told", 100 * w->service[i].others, c->name);
		if (lock && lock->held_by_others > OTHERS_MAX)
			return no("other threads than those that wait for '%s' hold it, for %.0f%% of the waits: how long is "
				  "not recorded", c->name, 100 * lock->held_by_others);
	}
	return true;
}

/* Whether it is a closed population: threads in a cycle at their own pace. */
static bool is_closed(const struct work_source *s, const struct work *w, GError **error)
{
	if (w->lost > (s->p->info.has_requests ? BESIDE_MAX : LOST_MAX))
		return no("%.0f%% of these threads' time is not known: it was lost or filtered", 100 * w->lost);
	if (w->away > AWAY_MAX)
		return no("these threads come and go: they lived for %.0f%% of the window", 100 * (1 - w->away));
	if (w->outside > OUTSIDE_MAX)
		return no("these threads wait for work from outside for %.0f%% of their time, and how much comes is not "
			  "theirs to change: an open system has no gain in throughput", 100 * w->outside);
	if (w->sleep > SLEEP_MAX && !s->has_pauses)
		return no("these threads sleep for %.0f%% of their time, and a recording does not tell a pause, which is as long "
			  "whatever they do, from sleep until a timer's next tick: if they are pauses say --pauses",
			  100 * w->sleep);
	return true;
}

/* Fits the cycle and replays it. */
static bool answer_cycle(const struct work_source *s, struct work *w, struct whatif *ret, GError **error)
{
	struct fit_result fit;
	double sum = 0, low = INFINITY, high = 0;

	w->delay[WHATIF_CHANGES_MAX] += w->handed + w->outside + w->lost;
	if (w->threads_cnt > CLOSED_THREADS_MAX)
		return no("they are %u threads, more than the %u that are replayed", w->threads_cnt, CLOSED_THREADS_MAX);
	fit_work(w, s->changes, s->changes_cnt, &fit);
	if (fit.cnt < WAYS_MIN)
		return no("no cycle of these threads waits as they did (%.0f%% off): something else holds them up",
			  100 * fit.off);
	for (unsigned i = 0; i < fit.cnt; i++) {
		sum += log(fit.rate[i]);
		low = fmin(low, fit.rate[i]);
		high = fmax(high, fit.rate[i]);
	}
	ret->rate = exp(sum / fit.cnt);
	ret->rate_low = low;
	ret->rate_high = high;
	return true;
}

/* Busy share of a stage, with or without changes.  queue: factor of its run-queue time. */
static double busy_of(const struct work_source *s, const struct work *w, bool is_changed, double queue)
{
	double busy = w->on_cpu + w->queue * queue + w->delay[WHATIF_CHANGES_MAX];

	for (uint32_t i = 0; i < w->locks_cnt; i++)
		busy += w->locks[i].wait;
	for (guint i = 0; i < s->changes_cnt; i++) {
		double served = w->service[i].servers ? fmin(w->service[i].busy, w->delay[i]) : w->delay[i];
		double times = is_changed ? s->changes[i].factor : 1;
		busy += served * times + (w->delay[i] - served) * (times > 0 ? 1 : 0);
	}
	return busy;
}

/* Growth of a run queue with utilisation (Sakasegawa, Annals of the ISM 29, 1977). */
static double queue_of(double used, double cpus)
{
	used = fmin(used, 0.98);
	return pow(used, sqrt(2 * (cpus + 1)) - 1) / (1 - used);
}

/* The number of jobs between two stages for which the slower one is that busy. */
static double jobs_of(double busy, double ratio)
{
	double jobs = 1;

	while (jobs < JOBS_MAX && closed_cyclic_utilisation(ratio, jobs) < busy)
		jobs += 0.25;
	return jobs;
}

#define STAGES_MAX 32

struct stages {
	struct work work[STAGES_MAX];
	unsigned cnt;
	double used, cpus;	/* used: utilisation of the CPUs by everything recorded */
};

struct pace {
	double first, second;	/* busy shares of the two busiest stages, relative to the time per item now */
};

static struct pace pace_of(const struct work_source *s, const struct stages *all, bool is_changed, double rate)
{
	double queue = queue_of(all->used * rate, all->cpus) / fmax(queue_of(all->used, all->cpus), 1e-9);
	struct pace pace = { 0 };

	for (unsigned i = 0; i < all->cnt; i++) {
		double busy = busy_of(s, &all->work[i], is_changed, queue);
		pace.second = fmax(pace.second, fmin(pace.first, busy));
		pace.first = fmax(pace.first, busy);
	}
	return pace;
}

static bool find_stages(const struct work_source *s, uint32_t pid, struct stages *ret, GError **error)
{
	g_autofree bool *threads = g_new0(bool, (gsize)s->p->threads->len + 1);

	for (guint r = 0; r < s->roles->rows->len && ret->cnt < STAGES_MAX; r++) {
		struct work *w = &ret->work[ret->cnt];
		for (guint i = 0; i < s->p->threads->len; i++)
			threads[i] = s->roles->of_thread[i] == r && profile_thread(s->p, i)->pid == pid;
		work_of(s, threads, w);
		if (!w->threads_cnt || w->on_cpu + w->delay[0] < STAGE_BUSY_MIN)
			continue;
		if (!is_closed(s, w, error))
			return false;
		ret->cnt++;
		ret->cpus = w->cpus;
	}
	for (guint i = 0; i < s->p->threads->len; i++)
		ret->used += (double)profile_thread(s->p, i)->on_cpu_ns / ((double)s->p->info.duration_ns * ret->cpus);
	return true;
}

/*
 * A pipeline: the busiest stage sets the pace (Denning and Buzen, Computing Surveys 10(3), 1978).  How long the next
 * stage makes it wait depends on the buffer between them.
 */
static bool answer_pipeline(const struct work_source *s, const struct work *chosen, struct whatif *ret, GError **error)
{
	const struct thread *first = profile_thread(s->p, chosen->first_thread);
	g_autofree struct stages *stages = g_new0(struct stages, 1);

	for (guint i = 0; i < s->changes_cnt; i++)
		if (s->changes[i].kind == WHATIF_LOCK || s->changes[i].kind == WHATIF_CPUS)
			return no("these threads hand work on to others for %.0f%% of their time: what a lock or CPUs gain "
				  "cannot be told of a pipeline", 100 * chosen->handed);
	if (!find_stages(s, first->pid, stages, error))
		return false;
	if (stages->cnt < 2)
		return no("these threads wait for each other for %.0f%% of their time, and what for is not known",
			  100 * chosen->handed);
	struct pace now = pace_of(s, stages, false, 1), then = pace_of(s, stages, true, 1);
	if (now.first < BUSY_MIN)
		return no("no stage of %s is busy all the time (the busiest for %.0f%%): its work comes from elsewhere, or "
			  "its stages take turns", first->process, 100 * now.first);
	double jobs = jobs_of(now.first, now.second / now.first);
	ret->is_pipeline = true;
	ret->rate_high = 1 / then.first;
	ret->rate = 1;
	for (int i = 0; i < PACE_STEPS; i++) {	/* higher throughput means longer run queues */
		then = pace_of(s, stages, true, ret->rate);
		double next = closed_cyclic_utilisation(then.second / then.first, jobs) / then.first;
		ret->rate = (ret->rate + next) / 2;
	}
	ret->rate_low = fmin(ret->rate,
			     closed_cyclic_utilisation(then.second / then.first, fmax(1, jobs / 2)) / then.first);
	ret->rate_high = fmax(ret->rate, ret->rate_high);
	return true;
}

/* Whether other threads of the program wait for this stage.  They may limit it once it becomes faster. */
static bool is_stage(const struct work_source *s, const struct work *chosen)
{
	uint32_t pid = profile_thread(s->p, chosen->first_thread)->pid;
	double handed = 0, busy = 0;

	for (guint i = 0; i < s->changes_cnt; i++)
		if (s->changes[i].kind == WHATIF_LOCK || s->changes[i].kind == WHATIF_CPUS)
			return false;
	EACH_ROW(i, const struct wait, w, s->p->waits) {
		if (profile_thread(s->p, w->thread)->pid != pid)
			continue;
		handed += part_is_handed(s, i) ? (double)w->blocked_ns : 0;
	}
	for (guint i = 0; i < s->p->threads->len; i++)
		busy += profile_thread(s->p, i)->pid == pid ? (double)profile_thread(s->p, i)->on_cpu_ns : 0;
	return handed > HANDED_MAX * chosen->total_ns && busy > (1 + HANDED_MAX) * chosen->on_cpu * chosen->total_ns;
}

static void describe_answer(const struct work_source *s, const struct work *w, struct whatif *ret)
{
	const struct thread *t = profile_thread(s->p, w->first_thread);
	GString *text = g_string_new(NULL);

	g_string_append_printf(text, "%u thread%s of ", w->threads_cnt, w->threads_cnt == 1 ? "" : "s");
	text_safe(text, t->comm);
	if (strcmp(t->comm, t->process) != 0) {
		g_string_append(text, " in ");
		text_safe(text, t->process);
	}
	ret->work = g_string_free(text, FALSE);
	ret->on_cpu = w->on_cpu;
	ret->queue = w->queue;
	ret->handed = w->handed;
	for (uint32_t i = 0; i < w->locks_cnt; i++)
		ret->locks += w->locks[i].wait;
	for (guint i = 0; i < s->changes_cnt; i++)
		ret->changed += w->delay[i];
	ret->rest = w->delay[WHATIF_CHANGES_MAX] + w->outside + w->lost;
}

static bool answer_change(const struct work_source *s, const char *of, struct whatif *ret, GError **error)
{
	g_autofree bool *chosen = g_new0(bool, (gsize)s->p->threads->len + 1);
	struct work w;

	if (!choose_threads(s, of, chosen, error))
		return false;
	work_of(s, chosen, &w);
	if (!w.threads_cnt || !changes_are_of(s, &w, error) || !is_closed(s, &w, error))
		return w.threads_cnt > 0 ? false : no("there are no threads in it");
	describe_answer(s, &w, ret);
	if (!(w.handed > HANDED_MAX || is_stage(s, &w) ? answer_pipeline(s, &w, ret, error)
						       : answer_cycle(s, &w, ret, error)))
		return false;
	double margin = exp(MARGIN + MARGIN_GAIN * fabs(log(ret->rate)));
	ret->rate_low /= margin;
	ret->rate_high *= margin;
	if (!(ret->rate_high / ret->rate_low <= WIDTH_MAX))
		return no("it lies between %.2f and %.2f times as many cycles a second, which is no answer: how much "
			  "times vary and whether a peer serves all at once is not known, and here it matters",
			  ret->rate_low, ret->rate_high);
	return true;
}

bool whatif_answer(const struct profile *p, const struct whatif_change *changes, guint cnt, const char *of,
		   bool has_pauses, struct whatif *ret, GError **error)
{
	struct work_source s = { .p = p, .changes = changes, .changes_cnt = cnt, .has_pauses = has_pauses };
	bool ok;

	*ret = (struct whatif){ 0 };
	if (!is_enough(p, changes, cnt, error))
		return false;
	s.reasons = reasons_new(p, NULL);
	s.roles = roles_new(p, reasons_plumbing(s.reasons));
	s.lock_ids = lock_ids_new(p);
	ok = answer_change(&s, of, ret, error);
	g_free(s.lock_ids);
	roles_free(s.roles);
	reasons_free(s.reasons);
	if (!ok)
		whatif_clear(ret);
	return ok;
}

void whatif_clear(struct whatif *w)
{
	g_clear_pointer(&w->work, g_free);
}
