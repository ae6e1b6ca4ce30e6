/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The end of a window: sums and open waits become rows of the profile. */
#include <string.h>

#include "base/each.h"
#include "base/find.h"
#include "fold/parts.h"
#include "features/requests/fold.h"
#include "fold/stacks.h"
#include "fold/sums.h"
#include "features/traces/fold.h"
#include "features/wakers/fold.h"
#include "features/slices/rows.h"

static uint8_t wait_flags(uint16_t key_flags)
{
	return (key_flags & OFFCPU_OPEN_AT_START ? WAIT_OPEN_AT_START : 0) |
	       (key_flags & OFFCPU_KEY_THROTTLED ? WAIT_THROTTLED : 0);
}

static bool is_sampled(const struct offcpu_wait_key *key)
{
	return key->flags & OFFCPU_KEY_SAMPLED;
}

static struct sums_total total_of_open(const struct open_wait *open)
{
	return (struct sums_total){
		.count = 1, .blocked_ns = open->blocked_ns, .runnable_ns = open->runnable_ns,
		.preempted_ns = open->preempted_ns,
	};
}

/* NULL: nothing was sampled. */
static struct calibration *calibrate(const struct fold *f)
{
	struct calibration *c;
	struct sums_total sum;

	if (!profile_is_sampled(f->profile))
		return NULL;
	c = calibration_new(f->profile, f->profile->info.sampling.max_ns);
	for (size_t i = 0; i < sums_cnt(f->sums); i++) {
		const struct offcpu_wait_key *key = sums_key(f->sums, i);

		sums_get(f->sums, i, &sum);
		calibration_tell(c, g_array_index(f->owners, uint32_t, i), key->state, is_sampled(key), &sum);
	}
	EACH_ROW(i, const struct open_wait, open, f->open) {
		if (open->flags & OFFCPU_OPEN_FILTERED)
			continue;
		sum = total_of_open(open);
		calibration_tell(c, open->thread, open->state, false, &sum);
	}
	calibration_settle(c, f->profile);
	return c;
}

static uint64_t unix_ns_of(const struct fold *f, uint64_t ns)
{
	const struct profile_info *info = &f->profile->info;

	return !ns || !info->start_unix_ns ? 0 : info->start_unix_ns + (ns - info->start_ns);
}

static void tell_longest(struct fold *f, const struct wait *w, uint32_t wait, uint32_t wake)
{
	if (wake)
		profile_set_max_waker(f->profile, wait, w->max_start_unix_ns,
				      profile_wake(f->profile, wake - 1)->waker);
}

static void finish_sum(struct fold *f, struct calibration *calibration, size_t i)
{
	const struct offcpu_wait_key *key = sums_key(f->sums, i);
	uint32_t owner = g_array_index(f->owners, uint32_t, i);
	struct sums_total sum;
	uint64_t said_ns;

	sums_get(f->sums, i, &sum);
	said_ns = sum.blocked_ns;
	if (calibration)
		calibration_correct(calibration, f->sums, i, owner, key->state, is_sampled(key), &sum);
	struct wait w = {
		.thread = owner, .user = fold_stacks_node(f->stacks, key->ustack, FRAME_USER),
		.kernel = fold_stacks_node(f->stacks, key->kstack, FRAME_KERNEL), .state = key->state,
		.flags = wait_flags(key->flags), .count = sum.count, .blocked_ns = sum.blocked_ns,
		.runnable_ns = sum.runnable_ns, .preempted_ns = sum.preempted_ns, .max_ns = sum.max_ns,
		.off_cpu_se_ns = sum.off_cpu_se_ns, .count_se = sum.count_se,
		.max_start_unix_ns = unix_ns_of(f, sum.max_start_ns),
	};

	memcpy(w.hist, sum.hist, sizeof(w.hist));
	w.object = fold_object_of(f, key->object, key->waker, w.user, w.kernel);
	uint32_t wait = profile_add_wait(f->profile, &w), wake = 0;
	struct wake k = {
		.wait = wait, .count = sum.count, .blocked_ns = sum.blocked_ns, .runnable_ns = sum.runnable_ns,
	};

	memcpy(k.hist, sum.wake_hist, sizeof(sum.wake_hist));
	if (key->waker)
		wake = fold_wakers_tell(f->wakers, &k, key->waker, key, said_ns);
	tell_longest(f, &w, wait, wake);
	fold_traces_tell(f->traces, f->profile, key, wait);
	if (f->slices)
		fold_slices_tell(f->slices, wait, wake);
}

static void finish_open_slices(struct fold *f, const struct open_wait *open, uint32_t wait, uint32_t wake)
{
	const struct fold_open_wait own = {
		.end_ns = profile_thread(f->profile, open->thread)->to_ns, .blocked_ns = open->blocked_ns,
		.runnable_ns = open->runnable_ns, .preempted_ns = open->preempted_ns,
	};

	fold_slices_add_open(f->slices, &own, wait, wake);
}

static struct wait wait_of_open(struct fold *f, const struct open_wait *open)
{
	uint64_t total = open->blocked_ns + open->runnable_ns + open->preempted_ns;
	struct wait w = {
		.thread = open->thread, .user = fold_stacks_node(f->stacks, open->ustack, FRAME_USER),
		.kernel = fold_stacks_node(f->stacks, open->kstack, FRAME_KERNEL), .state = open->state,
		.flags = WAIT_OPEN_AT_END | wait_flags(open->flags),
		.count = 1, .blocked_ns = open->blocked_ns, .runnable_ns = open->runnable_ns,
		.preempted_ns = open->preempted_ns, .max_ns = total,
		.max_start_unix_ns = unix_ns_of(f, profile_thread(f->profile, open->thread)->to_ns - total),
	};
	w.hist[profile_hist_slot(total)] = 1;
	w.object = fold_object_of(f, open->object, open->waker, w.user, w.kernel);
	return w;
}

/* A filtered wait that belongs to a request. */
static void list_filtered(struct fold *f, const struct open_wait *open)
{
	const struct state_total total = {
		.thread = open->thread, .state = open->state, .count = 1, .blocked_ns = open->blocked_ns,
		.runnable_ns = open->runnable_ns, .preempted_ns = open->preempted_ns,
	};
	struct thread *t = &g_array_index(f->profile->threads, struct thread, open->thread);

	t->filtered_ns -= MIN(t->filtered_ns, total.blocked_ns + total.runnable_ns + total.preempted_ns);
	profile_add_to_state(f->profile, &total);
}

/* Which filtered waits belong to requests is known only when all are there. */
static void look_for_requests(struct fold *f)
{
	EACH_ROW_WHILE(i, const struct open_wait, open, f->open, f->requests) {
		if (!(open->flags & OFFCPU_OPEN_FILTERED))
			continue;
		const struct wait w = wait_of_open(f, open);

		open_requests_tell(f->requests, f->profile, &w);
	}
	if (f->requests)
		open_requests_look(f->requests, f->profile);
}

static void finish_open(struct fold *f, const struct open_wait *open)
{
	struct wait w = wait_of_open(f, open);

	if (open->flags & OFFCPU_OPEN_FILTERED) {
		if (!f->requests || !open_requests_has(f->requests, f->profile, &w))
			return;
		list_filtered(f, open);
	}
	uint32_t wait = profile_add_wait(f->profile, &w), wake = 0;
	struct wake k = {
		.wait = wait, .count = 1, .blocked_ns = open->blocked_ns, .runnable_ns = open->runnable_ns,
	};

	k.hist[profile_hist_slot(open->runnable_ns)] = 1;
	if (open->waker)
		wake = fold_wakers_tell(f->wakers, &k, open->waker, NULL, 0);
	tell_longest(f, &w, wait, wake);
	if (f->slices)
		finish_open_slices(f, open, wait, wake);
}

/* Waits below the scale of which none was kept: their total is known, their place is not. */
static void add_rest(const struct calibration_rest *rest, void *data)
{
	struct fold *f = data;
	bool is_kernel = profile_thread(f->profile, rest->thread)->flags & THREAD_KERNEL;
	const struct frame frame = {
		.name = "[none sampled]", .kind = is_kernel ? FRAME_KERNEL : FRAME_USER,
		.why = FRAME_NAMED,
	};
	uint32_t node = profile_node(f->profile, 0, profile_frame(f->profile, &frame));
	uint64_t total_ns = rest->blocked_ns + rest->runnable_ns + rest->preempted_ns;
	struct wait w = {
		.thread = rest->thread, .user = is_kernel ? 0 : node, .kernel = is_kernel ? node : 0,
		.state = rest->state, .count = rest->count, .blocked_ns = rest->blocked_ns,
		.runnable_ns = rest->runnable_ns, .preempted_ns = rest->preempted_ns,
		.max_ns = (total_ns + rest->count - 1) / rest->count,
	};

	profile_stack_end(f->profile, node, STACK_PENDING);
	w.hist[profile_hist_slot(w.max_ns)] = (uint32_t)MIN(w.count, UINT32_MAX);
	uint32_t wait = profile_add_wait(f->profile, &w);

	if (f->slices)
		fold_slices_add_even(f->slices, wait);
}

/* A row of pieces only, as of a GIL wait that is counted in another row: it counts as one wait. */
static void settle_uncounted(struct profile *p)
{
	EACH_ROW(i, struct wait, w, p->waits) {
		if (w->count)
			continue;
		w->count = 1;
		w->hist[profile_hist_slot(w->max_ns)] = 1;
	}
}

void fold_finish(struct fold *f)
{
	size_t cnt = sums_cnt(f->sums);
	struct calibration *calibration;

	fold_finish_threads(f);
	fold_stacks_finish(f->stacks);
	calibration = calibrate(f);
	profile_expect_waits(f->profile, (guint)(cnt + f->open->len));
	for (size_t i = 0; i < cnt; i++)
		finish_sum(f, calibration, i);
	fold_traces_finish(f->traces, f->profile);
	if (calibration)
		calibration_for_each_rest(calibration, add_rest, f);
	calibration_free(calibration);
	sums_free(f->sums);
	f->sums = NULL;
	look_for_requests(f);
	for (guint i = 0; i < f->open->len; i++)
		finish_open(f, &g_array_index(f->open, struct open_wait, i));
	g_array_set_size(f->open, 0);
	settle_uncounted(f->profile);
	if (f->slices)
		fold_slices_finish(f->slices, f->profile);
	fold_on_cpu_finish(f->on_cpu, f->stacks, f->threads, f->profile,
			   f->profile->slices ? profile_slice_ns(f->profile) : 0,
			   f->profile->slices ? profile_slice_cnt(f->profile) : 0);
}
