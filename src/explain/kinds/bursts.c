/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/limits.h"

#include "base/order.h"
#include "explain/findings_part.h"
#include "explain/text.h"
#include "features/slices/rows.h"

#define MOST 0.8	/* of the run-queue time is in bursts */
#define PART 0.35	/* of the window: maximum length of all bursts */
#define BURSTS_MIN 3
#define SLICES_MIN 20
#define CROWD 2		/* average ratio of waiting threads to CPUs */
#define OWN_CPU 0.25	/* of all CPUs' time in the bursts: if less, others use the CPUs */

struct slot {
	uint32_t slice;
	uint64_t queue_ns, length_ns;
};

ORDER(compare_slots, struct slot, ORDER_HIGH(queue_ns) ORDER_LOW(slice))

static GArray *slots_new(const struct findings *f, const struct finding *row, uint64_t *ret_all_ns)
{
	const struct profile *p = f->profile;
	g_autofree bool *waits = g_new0(bool, (gsize)p->waits->len + 1);
	GArray *slots = g_array_new(FALSE, FALSE, sizeof(struct slot));

	for (uint32_t i = 0; i < p->waits->len; i++)
		waits[i] = f->queued_in[i] == row->id;
	g_autofree struct slice_total *totals = profile_slice_totals(p, waits);

	*ret_all_ns = 0;
	for (uint32_t i = 0; i < profile_slice_cnt(p); i++) {
		const struct slot one = { i, totals[i].runnable_ns + totals[i].preempted_ns,
					  totals[i].to_ns - totals[i].from_ns };

		*ret_all_ns += one.queue_ns;
		g_array_append_val(slots, one);
	}
	g_array_sort(slots, compare_slots);
	return slots;
}

/* Number of bursts: adjacent slices are one. */
static uint32_t pieces(const GArray *slots, uint32_t taken, uint32_t slices)
{
	g_autofree bool *is_taken = g_new0(bool, (gsize)slices + 1);
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < taken; i++)
		is_taken[g_array_index(slots, struct slot, i).slice] = true;
	for (uint32_t i = 0; i < slices; i++)
		cnt += is_taken[i] && !is_taken[i + 1];
	return cnt;
}

static uint64_t own_cpu_ns(const struct findings *f, const struct finding *row)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < f->profile->threads->len; i++)
		ns += f->programs[i] == row->process ? profile_thread(f->profile, i)->on_cpu_ns : 0;
	return ns;
}

static void find_in(const struct findings *f, struct finding *row)
{
	const struct profile_info *info = &f->profile->info;
	uint32_t taken = 0, slices = profile_slice_cnt(f->profile);
	uint64_t all_ns, queue_ns = 0, length_ns = 0;
	g_autoptr(GArray) slots = slots_new(f, row, &all_ns);

	for (; taken < slots->len && (double)queue_ns < MOST * (double)all_ns; taken++) {
		queue_ns += g_array_index(slots, struct slot, taken).queue_ns;
		length_ns += g_array_index(slots, struct slot, taken).length_ns;
	}
	bool is_short = length_ns && (double)length_ns < PART * (double)info->duration_ns;
	bool is_crowd = (double)queue_ns > (double)length_ns * CROWD * info->cpus;
	bool is_own = (double)own_cpu_ns(f, row) > OWN_CPU * (double)length_ns * info->cpus;
	/* slices have what a quota throttled, too, which is another row, and comes in pieces by itself */
	bool is_all_of_row = all_ns <= row->time_ns + row->time_ns / 10;
	uint32_t cnt = is_short && is_crowd && is_own && is_all_of_row ? pieces(slots, taken, slices) : 0;

	if (cnt >= BURSTS_MIN)
		row->bursts = (struct finding_bursts){ cnt, queue_ns, length_ns };
}

void bursts_find(struct findings *f)
{
	const struct profile_info *info = &f->profile->info;

	if (info->imported || info->looks.rounds || !info->cpus || !profile_has_slices(f->profile) ||
	    profile_slice_cnt(f->profile) < SLICES_MIN)
		return;
	EACH_FIRST(i, row, f, FINDINGS_TOLD_MAX) {
		if (row->reason == REASON_CPU_QUEUE && !row->is_yield && !row->busy && !row->limit.limit)
			find_in(f, row);
	}
}

void bursts_append_evidence(GString *s, const struct findings *f, const struct finding *row)
{
	const struct finding_bursts *b = &row->bursts;

	if (!b->cnt)
		return;
	g_string_append_printf(s, "; %.0f%% of it in %" PRIu32 " bursts, which take %.0f%% of the window, ",
			       text_percent(b->queue_ns, row->time_ns), b->cnt,
			       text_percent(b->length_ns, f->profile->info.duration_ns));
	g_string_append_printf(s, "with %.0f threads at a time", (double)b->queue_ns / (double)b->length_ns);
}
