/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <inttypes.h>

#include "explain/findings_part.h"
#include "explain/limits.h"
#include "explain/sentence.h"
#include "explain/text.h"

/* Average turn of a loop between two waits for events; 0: it never waited. */
static uint64_t turn_ns(const struct finding *row)
{
	return row->count ? row->time_ns / row->count : 0;
}

/*
 * ", and mostly wait for the process that serves a FUSE file system, /mnt/u4, for serveUpload": if that is most of
 * what the pool's threads do, and the function is unknown.
 */
static void append_waits(GString *s, const struct findings *f, const struct finding *pool)
{
	EACH_ROW(i, const struct finding, row, f->rows) {
		if (pool->frame >= 0 || row->busy || row->process != pool->process || row->reason == REASON_SLEEP ||
		    sentence_is_for_cpu(row) || row->time_ns <= pool->time_ns / 2 ||
		    reasons_pool(f->reasons, row->wait) != pool->busy_rule)
			continue;
		const struct finding plain = finding_plain(row);

		g_string_append(s, ", and mostly wait for ");
		sentence_wait(s, f, &plain);
		return;
	}
}

/* "redis-server's event loop (Redis): it runs, for 352 ms at a time, mostly in evalCommand" */
void sentence_busy(GString *s, const struct findings *f, const struct finding *row)
{
	sentence_process(s, row->process, 0);
	if (row->busy == BUSY_SPIN) {
		g_string_append_printf(s, " %s", row->busy_rule->says);
		sentence_function(s, f, row->frame, " in ");
		return;
	}
	g_string_append(s, row->busy == BUSY_POOL ? "'s thread pool" : "'s event loop");
	g_string_append(s, row->busy == BUSY_LOOP && row->threads_cnt > 1 ? "s" : "");
	if (row->busy_rule) {
		g_string_append(s, " (");
		text_safe(s, row->busy_rule->protocol ? row->busy_rule->protocol : row->busy_rule->name);
		g_string_append_c(s, ')');
	}
	if (row->busy == BUSY_POOL) {
		g_string_append_printf(s, ": all %" PRIu32 " threads are busy", row->threads_cnt);
		append_waits(s, f, row);
	} else if (turn_ns(row)) {
		g_string_append_printf(s, ": each turn takes %s", TEXT_NS(turn_ns(row)));
	} else {
		g_string_append(s, row->threads_cnt > 1 ? ": they never rest" : ": it never rests");
	}
	sentence_function(s, f, row->frame, ", mostly in ");
}

/* "1 thread, on CPU for 4.87 s; in evalCommand at 41 of 44 looks" */
void sentence_busy_evidence(GString *s, const struct findings *f, const struct finding *row)
{
	text_thousands(s, row->threads_cnt);
	g_string_append(s, row->threads_cnt == 1 ? " thread, on CPU for " : " threads, on CPU for ");
	text_duration(s, row->on_cpu_ns);
	if (row->queue_ns > row->time_ns / 100)
		g_string_append_printf(s, ", waited for a CPU for %s", TEXT_NS(row->queue_ns));
	if (row->busy == BUSY_POOL && row->time_ns > row->on_cpu_ns + row->queue_ns + row->time_ns / 100) {
		g_string_append(s, ", for other things for ");
		text_duration(s, row->time_ns - row->on_cpu_ns - row->queue_ns);
	}
	if (row->busy == BUSY_LOOP)
		g_string_append_printf(s, ", waited for events %s%s", TEXT_COUNT(row->count),
				       row->count == 1 ? " time" : " times");
	ran_append_others(s, f, row);
	if ((row->frame < 0 && row->busy != BUSY_SPIN) || !row->looks_cnt)
		return;
	g_string_append_printf(s, "; %.0f%% of ", text_percent(row->in_frame_cnt, row->looks_cnt));
	if (row->has_samples) {
		g_string_append(s, row->busy == BUSY_SPIN ? "its samples were there" : "its samples pass that function");
		return;
	}
	text_thousands(s, row->looks_cnt);
	g_string_append(s, row->looks_cnt == 1 ? " preemption was there" : " preemptions were there");
}

/* Nobody ends what most of the pool's time is waited for: more threads would wait, too.  NULL: somebody does. */
static const char *unended_of(const struct findings *f, const struct finding *row)
{
	EACH_ROW(i, const struct finding, other, f->rows)
		if (row->busy == BUSY_POOL && !other->busy && other->process == row->process && other->unended &&
		    other->time_ns > row->time_ns / 2)
			return other->unended;
	return NULL;
}

const char *sentence_busy_advice(const struct findings *f, const struct finding *row)
{
	if (unended_of(f, row))
		return unended_of(f, row);
	/* each turn would be far shorter, and may then hold nobody up */
	if (row->is_for_hog)
		return "Another program has the CPUs for much of that time: let it run later or elsewhere, or give it less (nice, cpu.weight). "
		       "Else do less in a turn.";
	if (finding_is_loop_for_cpu(row))
		return "It waits for a CPU for much of that time: see who has them (record --runq-blame), have that run later or elsewhere, or "
		       "give it less (nice, cpu.weight). Else do less in a turn.";
	if (row->busy_rule && row->busy_rule->advice)
		return row->busy_rule->advice;
	return "What comes meanwhile waits: do less at a time, give it to a thread, or have more loops.";
}
