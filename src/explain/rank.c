/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/findings_part.h"

/* In which order findings are told: by their time, except for what stands here. */

/* Waits for a CPU may be due to others' load: they rank first only if that many times as long as the next finding. */
#define QUEUE_WEIGHT 4
/* Bringing back, freeing and copying memory is CPU time that none of these waits includes. */
#define MEMORY_WEIGHT 2
#define CLOCK_WEIGHT 16	/* for threads that only sleep: waits with a waiter rank before them, unless much shorter */
/* Sleeping is a thread's choice: its waits for others rank first, unless the sleep is that many times as long. */
#define SLEEP_WEIGHT 4
#define TOLD_WEIGHT 4	/* mentioned in a loop's finding: probably behind that */
#define TOLD_ELSEWHERE_WEIGHT 16	/* after the other finding, which may be a queue */
#define HOG_WEIGHT 64	/* who has the CPUs is told with those that wait for them */
#define DOUBT_WEIGHT 1000	/* ranks last */

/*
 * Somebody waits for a lock all the time, or a whole pool for itself: as if many threads did, since other short waits
 * only show that work continues.
 */
#define STUCK_WEIGHT 12

#define RANK(ns, why) ((struct finding_rank){ (ns), (why) })

static struct finding_rank rank_of_busy(const struct finding *f)
{
	switch (f->busy) {
	case BUSY_REFUSES: return RANK(UINT64_MAX / 8, NULL);
	case BUSY_ALONE: return RANK(UINT64_MAX / 8 + f->time_ns / 8, NULL);	/* by wall-clock time */
	case BUSY_SPIN: return RANK(f->time_ns, NULL);
	default:
		return RANK(f->time_ns - f->queue_ns + f->queue_ns / QUEUE_WEIGHT + f->leads_ns,
			    f->leads_ns ? "first, as others queue behind it" : NULL);
	}
}

static const char *why_sleep(const struct finding *f)
{
	return f->waited_ns ? "behind others, as it is told with what waits for it" :
	       f->clock_ns  ? "behind others, as nobody waits for it" :
			      "behind others, as it pauses by its own choice";
}

static bool is_told_elsewhere(const struct finding *f)
{
	return f->is_told_elsewhere && !f->is_for_one_job;
}

#define WHY_TOLD_ELSEWHERE "behind others, as what it waits for is in the recording, too"

static const char *why_told_with(const struct finding *f)
{
	return is_told_elsewhere(f)		? WHY_TOLD_ELSEWHERE :
	       f->is_behind			? "behind others, as it only queues behind them" :
	       f->waits_for_asker		? "behind others, as the thread that it waits for waits itself" :
	       f->reason == REASON_CHILD_EXIT	? "behind others, as it is told with the fork" :
	       f->reason == REASON_PIPE		? "behind others, as the process that it waits for waits itself" :
						  "behind others, as it is told with the loop that waits for it";
}

/* What never ends, or holds up all else. */
static bool rank_first(const struct finding *f, struct finding_rank *ret)
{
	if (f->deadlock)
		*ret = RANK(UINT64_MAX / 2 + f->time_ns / 2, "first, as it never ends");
	else if (f->limit.is_cycle)	/* also endless, unless somebody has a time limit */
		*ret = RANK(UINT64_MAX / 4 + f->time_ns / 4, "first, as neither side goes on");
	else if (finding_is_for_stopped(f))
		*ret = RANK(f->time_ns * STUCK_WEIGHT, "first, as nobody ends it while that process is stopped");
	else if (f->is_doubtful)
		*ret = RANK(f->time_ns / DOUBT_WEIGHT, "behind others, as its error is as large as itself");
	else if (f->leads_others)
		*ret = RANK(UINT64_MAX / 16 + f->time_ns / 16, "first, as fewer wait there");
	else if (f->is_stuck || f->nobody_works == NOBODY_OF_POOL)
		*ret = RANK(f->time_ns * STUCK_WEIGHT, "first, as it holds up what else its process does");
	else
		return false;
	return true;
}

struct finding_rank finding_rank(const struct finding *f)
{
	const bool is_sleep = f->reason == REASON_SLEEP && !f->leads_ns;
	struct finding_rank first;

	if (rank_first(f, &first))
		return first;
	if (f->is_cost)
		return RANK(f->time_ns / CLOCK_WEIGHT, "behind others, as page faults take that time");
	if (f->reason == REASON_MEMORY_SWAP || f->reason == REASON_MEMORY_RECLAIM || f->limit.refaults || f->is_fork)
		return RANK(f->time_ns * MEMORY_WEIGHT, "first, as it takes CPU time, too");
	if (f->busy)
		return rank_of_busy(f);
	if (f->is_shells_sleep)
		return RANK(f->time_ns / CLOCK_WEIGHT, "behind others, as it is told with the script that waits for it");
	if (f->is_beside_cause)
		return RANK(f->time_ns / CLOCK_WEIGHT, why_sleep(f));
	if (is_sleep && f->waited_ns)	/* after the waits for it, which say more */
		return RANK(MIN(f->time_ns / SLEEP_WEIGHT, f->waited_ns - f->waited_ns / 8), why_sleep(f));
	if (is_sleep && !f->loop && !f->limit.limit && !f->backlog)
		return RANK((f->time_ns - f->clock_ns) / SLEEP_WEIGHT + f->clock_ns / CLOCK_WEIGHT, why_sleep(f));
	if (f->keeps_pace)
		return RANK(f->time_ns / CLOCK_WEIGHT, NULL);
	if (f->is_own_limit || f->may_be_meant)
		return RANK(f->time_ns / SLEEP_WEIGHT, f->is_own_limit ? "behind others, as its own time limit ends it" : NULL);
	if (f->is_told_with)
		return RANK((f->time_ns + f->leads_ns) / TOLD_WEIGHT, why_told_with(f));
	if (f->is_spin)
		return RANK(f->time_ns / CLOCK_WEIGHT, "behind others, as nobody waits for it");
	if (is_told_elsewhere(f))
		return RANK(f->time_ns / TOLD_ELSEWHERE_WEIGHT, WHY_TOLD_ELSEWHERE);
	if (f->is_hogs)
		return RANK(f->time_ns / HOG_WEIGHT, "behind others, as it has the CPUs itself");
	if (f->reason == REASON_CPU_QUEUE && !f->is_yield && !f->is_kept_off && !f->bursts.cnt)
		return RANK(f->time_ns / (f->is_others_load ? OTHERS_QUEUE_WEIGHT : QUEUE_WEIGHT) + f->leads_ns,
			    f->leads_ns ? "first, as others queue behind it" :
					  "behind others, as the load of others causes it");
	return RANK(f->time_ns - (f->has_led_peer ? f->time_ns / PEER_PART : 0) + f->leads_ns,
		    !f->leads_ns	       ? (f->has_led_peer ? WHY_TOLD_ELSEWHERE : NULL) :
		    f->reason == REASON_SLEEP ? "first, as others wait until it ends" :
						"first, as others queue behind it");
}
