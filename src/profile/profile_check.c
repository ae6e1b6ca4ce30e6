/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/profile.h"

#include <string.h>

#include "profile/profile_file.h"
#include "profile/profile_rows.h"
#include "profile/requests.h"
#include "profile/slices_build.h"
#include "profile/tasks_file.h"

G_DEFINE_QUARK(profile-file-error, profile_file_error)

bool profile_damaged(GError **error, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	g_autofree char *message = g_strdup_vprintf(format, ap);
	va_end(ap);
	g_set_error_literal(error, PROFILE_FILE_ERROR, PROFILE_FILE_ERROR_DAMAGED, message);
	return false;
}

/* Adds to a total that must fit in 63 bits, so that SQL can sum it too. */
static bool total(uint64_t *into, uint64_t value)
{
	if (value > (uint64_t)INT64_MAX - *into)
		return false;
	*into += value;
	return true;
}

static bool times_fit(const uint64_t *times, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (times[i] > PROFILE_NS_MAX)
			return false;
	return true;
}

static bool check_info(const struct profile_info *info, GError **error)
{
	const uint64_t times[] = { info->start_unix_ns,         info->start_ns,
				   info->duration_ns,           info->tracer_cpu_ns,
				   info->tracer_start_cpu_ns,   info->tracer_stop_cpu_ns,
				   info->tracer_bpf_ns,         info->switches,
				   info->tracer_peak_rss_bytes, info->sampling.start_ns,
				   info->sampling.end_ns,       info->sampling.max_ns };

	if (!times_fit(times, G_N_ELEMENTS(times)))
		return profile_damaged(error, "a number of its window is out of range");
	return true;
}

static bool check_threads(const struct profile *p, GError **error)
{
	uint64_t observed_ns = 0, on_cpu_ns = 0, off_cpu_ns = 0, kept_ns = 0, switches = 0;

	for (guint i = 0; i < p->threads->len; i++) {
		const struct thread *t = profile_thread(p, i);
		const uint64_t times[] = { t->start_ns, t->from_ns, t->to_ns, t->on_cpu_ns, t->blocked_ns,
					   t->runnable_ns, t->preempted_ns, t->filtered_ns, t->lost_ns };

		if (!times_fit(times, G_N_ELEMENTS(times)))
			return profile_damaged(error, "a time of thread %u is out of range", i);
		if (t->from_ns > t->to_ns)
			return profile_damaged(error, "thread %u ends before it begins", i);
		if (!total(&observed_ns, thread_observed_ns(t)) || !total(&on_cpu_ns, t->on_cpu_ns) ||
		    !total(&off_cpu_ns, t->blocked_ns) || !total(&off_cpu_ns, t->runnable_ns) ||
		    !total(&off_cpu_ns, t->preempted_ns) || !total(&kept_ns, t->filtered_ns) ||
		    !total(&kept_ns, t->lost_ns) || !total(&switches, t->switches))
			return profile_damaged(error, "the times of its threads add up to more than 292 years");
	}
	return true;
}

static bool check_stacks(const struct profile *p, GError **error)
{
	for (guint i = 0; i < p->frames->len; i++) {
		const struct frame *f = profile_get_frame(p, i);

		if (f->kind > FRAME_KERNEL || f->why >= FRAME_WHY_COUNT || !f->name != (f->why != FRAME_NAMED))
			return profile_damaged(error, "frame %u is of no known kind", i);
	}
	for (guint i = 1; i < p->nodes->len; i++) {
		const struct stack_node *n = profile_get_node(p, i);

		if (n->parent >= i || n->frame >= p->frames->len || n->end >= STACK_END_COUNT ||
		    n->depth > PROFILE_DEPTH_MAX || n->depth != profile_get_node(p, n->parent)->depth + 1)
			return profile_damaged(error, "stack %u has no valid parent, frame, depth or end", i);
	}
	return true;
}

static bool check_waits(const struct profile *p, GError **error)
{
	uint64_t off_cpu_ns = 0, count = 0;

	for (guint i = 0; i < p->waits->len; i++) {
		const struct wait *w = profile_wait(p, i);
		const uint64_t times[] = { w->blocked_ns, w->runnable_ns,   w->preempted_ns,
					   w->max_ns,     w->off_cpu_se_ns, w->max_start_unix_ns };

		if (w->thread >= p->threads->len || w->user >= p->nodes->len || w->kernel >= p->nodes->len)
			return profile_damaged(error, "wait %u has no valid thread or stack", i);
		if (w->object > p->objects->len)
			return profile_damaged(error, "wait %u has no valid object", i);
		if (w->max_waker > p->wakers->len)
			return profile_damaged(error, "wait %u has no valid waker", i);
		if (!w->state || !strchr(p->info.unknown & UNKNOWN_STATES ? "SDTtPIR?" : "SDTtPIR", w->state))
			return profile_damaged(error, "wait %u has no valid state", i);
		if (!times_fit(times, G_N_ELEMENTS(times)))
			return profile_damaged(error, "a time of wait %u is out of range", i);
		if (!total(&off_cpu_ns, w->blocked_ns) || !total(&off_cpu_ns, w->runnable_ns) ||
		    !total(&off_cpu_ns, w->preempted_ns) || !total(&count, w->count))
			return profile_damaged(error, "the times of its waits add up to more than 292 years");
	}
	return true;
}

static bool check_states(const struct profile *p, GError **error)
{
	uint64_t off_cpu_ns = 0, count = 0;

	for (guint i = 0; i < p->states->len; i++) {
		const struct state_total *t = profile_state(p, i);
		const uint64_t times[] = { t->blocked_ns, t->runnable_ns, t->preempted_ns };

		if (t->thread >= p->threads->len || !t->state || !strchr("SDTtPIR", t->state))
			return profile_damaged(error, "total %u of a state has no valid thread or state", i);
		if (!times_fit(times, G_N_ELEMENTS(times)))
			return profile_damaged(error, "a time of total %u of a state is out of range", i);
		if (!total(&off_cpu_ns, t->blocked_ns) || !total(&off_cpu_ns, t->runnable_ns) ||
		    !total(&off_cpu_ns, t->preempted_ns) || !total(&count, t->count))
			return profile_damaged(error, "the totals of its states add up to more than 292 years");
	}
	return true;
}

/* What wakers ended is part of what the wait lists, never more. */
static bool check_wakes(const struct profile *p, GError **error)
{
	g_autofree uint64_t *rest = g_new0(uint64_t, (gsize)p->waits->len * 3 + 1);

	for (guint i = 0; i < p->waits->len; i++) {
		rest[3 * (gsize)i] = profile_wait(p, i)->count;
		rest[3 * (gsize)i + 1] = profile_wait(p, i)->blocked_ns;
		rest[3 * (gsize)i + 2] = profile_wait(p, i)->runnable_ns;
	}
	for (guint i = 0; i < p->wakers->len; i++) {
		const struct waker *w = profile_get_waker(p, i);

		if (w->user >= p->nodes->len || w->kernel >= p->nodes->len || w->start_ns > PROFILE_NS_MAX)
			return profile_damaged(error, "waker %u has no valid stack or time", i);
	}
	for (guint i = 0; i < p->wakes->len; i++) {
		const struct wake *w = profile_wake(p, i);
		const uint64_t parts[] = { w->count, w->blocked_ns, w->runnable_ns };

		if (w->wait >= p->waits->len || w->waker >= p->wakers->len)
			return profile_damaged(error, "waking %u has no valid wait or waker", i);
		for (int k = 0; k < 3; k++) {
			uint64_t *left = &rest[3 * (gsize)w->wait + (gsize)k];

			if (parts[k] > *left)
				return profile_damaged(error, "waking %u is more than its wait", i);
			*left -= parts[k];
		}
	}
	return true;
}

/* The hops of a story and its rest are its time, and the stories of a wake part of the wake's. */
static bool check_stories(const struct profile *p, GError **error)
{
	g_autofree uint64_t *left = g_new0(uint64_t, (gsize)p->wakes->len * 3 + 1);

	for (guint i = 0; i < p->wakes->len; i++) {
		left[3 * (gsize)i] = profile_wake(p, i)->count;
		left[3 * (gsize)i + 1] = profile_wake(p, i)->blocked_ns;
		left[3 * (gsize)i + 2] = profile_wake(p, i)->runnable_ns;
	}
	for (guint i = 0; i < p->stories->len; i++) {
		const struct story *s = profile_story(p, i);
		uint64_t sum_ns = s->rest_ns;

		if (s->wake >= p->wakes->len || s->chain >= p->chains->len)
			return profile_damaged(error, "story %u has no valid waking or chain", i);
		for (unsigned k = 0; k < PROFILE_CHAIN_MAX; k++)
			if (!total(&sum_ns, s->hop[k].ran_ns) || !total(&sum_ns, s->hop[k].runnable_ns) ||
			    !total(&sum_ns, s->hop[k].earlier_ns))
				return profile_damaged(error, "the times of story %u add up to more than 292 years", i);
		const uint64_t parts[] = { s->count, s->blocked_ns, s->runnable_ns };

		for (int k = 0; k < 3; k++) {
			uint64_t *of_wake = &left[3 * (gsize)s->wake + (gsize)k];

			if (sum_ns != s->blocked_ns || parts[k] > *of_wake)
				return profile_damaged(error, "the times of story %u are not its waking's", i);
			*of_wake -= parts[k];
		}
	}
	return true;
}

/* Who held the CPU meanwhile shares what the thread waited for it, and no more. */
static bool check_blames(const struct profile *p, GError **error)
{
	g_autofree uint64_t *rest = g_new0(uint64_t, (gsize)p->threads->len * 2 + 1);

	for (guint i = 0; i < p->threads->len; i++) {
		rest[2 * (gsize)i] = profile_thread(p, i)->runnable_ns;
		rest[2 * (gsize)i + 1] = profile_thread(p, i)->preempted_ns;
	}
	for (guint i = 0; i < p->blames->len; i++) {
		const struct blame *b = profile_blame(p, i);

		if (b->thread >= p->threads->len || b->kind < BLAME_THREAD || b->kind > BLAME_THROTTLED ||
		    b->count > INT64_MAX)
			return profile_damaged(error, "blame %u has no valid thread, kind or number", i);
		uint64_t *left = &rest[2 * (gsize)b->thread];

		if (b->runnable_ns > left[0] || b->preempted_ns > left[1])
			return profile_damaged(error, "blame %u is for more than its thread waited for a CPU", i);
		left[0] -= b->runnable_ns;
		left[1] -= b->preempted_ns;
	}
	return true;
}

static bool check_storms(const struct profile *p, GError **error)
{
	uint64_t all[6] = { 0 };

	for (guint i = 0; i < p->storms->len; i++) {
		const struct storm *s = profile_storm(p, i);
		const uint64_t each[] = { s->event_cnt, s->call_cnt, s->woken_cnt, s->cpu_ns, s->again_ns, s->delay_ns };

		if (s->waker >= p->wakers->len)
			return profile_damaged(error, "storm %u has no valid waker", i);
		if (s->ended_cnt > s->woken_cnt || s->again_cnt > s->ended_cnt || s->most_cnt > s->woken_cnt)
			return profile_damaged(error, "storm %u is more than it woke", i);
		for (size_t k = 0; k < G_N_ELEMENTS(each); k++)
			if (!total(&all[k], each[k]))
				return profile_damaged(error, "a number of storm %u is out of range", i);
	}
	return true;
}

static bool check_on_cpu(const struct profile *p, GError **error)
{
	uint64_t samples = 0, weight_ns = 0;

	for (guint i = 0; i < p->on_cpu->len; i++) {
		const struct on_cpu_sample *s = &g_array_index(p->on_cpu, struct on_cpu_sample, i);

		if (s->thread >= p->threads->len || s->user >= p->nodes->len || s->kernel >= p->nodes->len)
			return profile_damaged(error, "on-CPU row %u has no valid thread or stack", i);
		if (!s->samples || !s->weight_ns || !total(&samples, s->samples) || !total(&weight_ns, s->weight_ns))
			return profile_damaged(error, "a number of on-CPU row %u is out of range", i);
	}
	return p->info.on_cpu_hz || !p->on_cpu->len || profile_damaged(error, "it has samples and no rate");
}

static bool check_losses(const struct profile *p, GError **error)
{
	uint64_t time_ns = 0, count = 0;

	for (guint i = 0; i < p->losses->len; i++) {
		const struct profile_loss *l = &g_array_index(p->losses, struct profile_loss, i);

		if (!total(&time_ns, l->time_ns) || !total(&count, l->count))
			return profile_damaged(error, "a number of loss \"%s\" is out of range", l->reason);
	}
	return true;
}

bool profile_check(const struct profile *p, GError **error)
{
	if (profile_most_rows(p) > PROFILE_ROWS_MAX)
		return profile_damaged(error, "it has too many threads, frames, stacks or waits");
	return check_info(&p->info, error) && check_threads(p, error) && check_stacks(p, error) &&
	       check_waits(p, error) && check_states(p, error) && check_wakes(p, error) && check_stories(p, error) &&
	       check_blames(p, error) && check_storms(p, error) && check_on_cpu(p, error) && check_losses(p, error) &&
	       slices_check(p, error) && requests_check(p, error) && tasks_check(p, error);
}
