/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/findings_part.h"

#include <inttypes.h>

#include "analyse/alone.h"
#include "explain/sentence.h"
#include "explain/text.h"

#define WALL_PART 4		/* of the command's time */
#define NOTICED_NS 500000000ULL	/* shorter ones are not worth reordering work */

struct serial {
	struct alone *alone;
	uint64_t on_cpu_ns, queue_ns;	/* of the process that is waited for */
	uint32_t does;			/* id of the finding with most of its time; 0: it computes */
	bool is_queue;			/* it waits longer for a CPU */
};

static uint32_t ids_cnt(const struct findings *f)
{
	uint32_t most = 0;

	for (guint i = 0; i < f->rows->len; i++)
		most = MAX(most, g_array_index(f->rows, struct finding, i).id);
	return most + 1;
}

/* Finds its waits for things outside of the command. */
static void find_doing(const struct findings *f, struct serial *serial)
{
	const struct profile *p = f->profile;
	const struct alone *a = serial->alone;
	const uint32_t cnt = ids_cnt(f);
	g_autofree uint64_t *sums = g_new0(uint64_t, cnt);

	EACH_ROW(i, const struct thread, t, p->threads) {
		serial->on_cpu_ns += a->threads[i] ? t->on_cpu_ns : 0;
		serial->queue_ns += a->threads[i] ? t->runnable_ns + t->preempted_ns : 0;
	}
	for (uint32_t i = 0; i < p->waits->len; i++)
		if (a->threads[profile_wait(p, i)->thread] && !a->passive[i])
			sums[f->blocked_in[i]] += profile_wait(p, i)->blocked_ns;
	for (uint32_t i = 1; i < cnt; i++)
		if (sums[i] > MAX(serial->does ? sums[serial->does] : 0, MAX(serial->on_cpu_ns, serial->queue_ns)))
			serial->does = i;
	serial->is_queue = !serial->does && serial->queue_ns > serial->on_cpu_ns;
}

/* If others of the command end most of it, the wait is a link, and what these do is reported. */
static void find_links(struct findings *f)
{
	const struct profile *p = f->profile;
	const struct alone *a = f->serial->alone;
	const uint32_t cnt = ids_cnt(f);
	g_autofree uint64_t *sums = g_new0(uint64_t, cnt);

	for (uint32_t i = 0; i < p->waits->len; i++)
		sums[f->blocked_in[i]] += a->passive[i] ? profile_wait(p, i)->blocked_ns : 0;
	EACH_ROW(i, struct finding, row, f->rows) {
		enum reason_family family = reason_family(row->reason);
		bool may_be_link = row->reason == REASON_CHILD_EXIT || row->reason == REASON_PIPE ||
				   family == FAMILY_EVENT_LOOP;
		bool is_passive = !row->busy && sums[row->id] > row->time_ns / 2;
		bool is_script = is_passive && (row->has_sleep || row->reason == REASON_SLEEP);

		row->is_link |= is_passive && may_be_link && !is_script && !row->spawned_cnt && !row->deadlock;
	}
}

static uint32_t longest_wait(const struct findings *f)
{
	const struct profile *p = f->profile;
	const struct alone *a = f->serial->alone;
	uint32_t best = 0;
	uint64_t best_ns = 0;

	EACH_ROW(i, const struct wait, w, p->waits) {
		if (a->threads[w->thread] && wait_off_cpu_ns(w) > best_ns) {
			best = i;
			best_ns = wait_off_cpu_ns(w);
		}
	}
	return best;
}

void serial_find(struct findings *f)
{
	const struct profile *p = f->profile;
	struct alone *a = f->selection && !f->selection->whole ? NULL : alone_new(p, f->reasons);

	if (!a || a->alone_ns < NOTICED_NS || a->alone_ns < a->whole_ns / WALL_PART) {
		alone_free(a);
		return;
	}
	f->serial = g_new0(struct serial, 1);
	f->serial->alone = a;
	find_doing(f, f->serial);
	find_links(f);
	const struct finding *does = finding_of_id(f, f->serial->does);
	const struct finding row = {
		.reason = does ? does->reason : f->serial->is_queue ? REASON_CPU_QUEUE : REASON_ON_CPU,
		.busy = BUSY_ALONE,
		.wait = longest_wait(f),
		.process = f->programs[a->thread],
		.pid = profile_thread(p, a->thread)->pid,
		.time_ns = a->alone_ns,
		.observed_ns = a->whole_ns,
		.on_cpu_ns = f->serial->on_cpu_ns,
		.queue_ns = f->serial->queue_ns,
		.count = 1,
		.threads_cnt = 1,
		.frame = -1,
		FINDING_OWN_ONLY,
	};
	g_array_append_val(f->rows, row);
}

FREES(serial_free, struct serial, serial, alone_free(serial->alone))

/* ", which mostly sleeps until a timer in wait_for_port", ", whose sleep mostly sleeps until a timer" */
static void append_doing(GString *s, const struct findings *f, const struct finding *row)
{
	const struct finding *does = finding_of_id(f, f->serial->does);

	if (!does) {
		g_string_append(s, f->serial->is_queue ? ", which mostly waits for a CPU" : ", which mostly computes");
		return;
	}
	const struct finding plain = finding_plain(does);
	const char *says = sentence_says(f, &plain);

	if (does->process == row->process) {
		g_string_append(s, ", which mostly ");
	} else {
		g_string_append(s, ", whose child ");
		text_safe_cut(s, does->process, FINDING_NAME_COLUMNS);
		g_string_append(s, " mostly ");
	}
	g_string_append(s, g_str_has_prefix(says, "waits for ") ? "waits for " : "");
	sentence_wait(s, f, &plain);
}

void serial_append(GString *s, const struct findings *f, const struct finding *row)
{
	const struct alone *a = f->serial->alone;

	sentence_process(s, profile_thread(f->profile, a->parent)->process, 0);
	g_string_append_printf(s, " waits for one process alone for %s of %s%s", TEXT_NS(a->alone_ns),
			       TEXT_NS(a->whole_ns), a->siblings_cnt ? ", a straggler: " : ", a serial step: ");
	text_who(s, row->process, row->pid, FINDING_NAME_COLUMNS);
	append_doing(s, f, row);
}

void serial_append_evidence(GString *s, const struct findings *f)
{
	const struct alone *a = f->serial->alone;

	if (a->siblings_cnt == 1)
		g_string_append(s, "the other one that worked beside it");
	else if (a->siblings_cnt)
		g_string_append_printf(s, "the other %" PRIu32 " that worked beside it", a->siblings_cnt);
	if (a->siblings_cnt) {
		g_string_append(s, a->have_ended ? " had ended" : " had no work left");
	} else {
		g_string_append_printf(s, "at other times up to %" PRIu32 " children of ", a->at_once);
		text_safe_cut(s, profile_thread(f->profile, a->parent)->process, FINDING_NAME_COLUMNS);
		g_string_append(s, " work at once");
	}
	g_string_append_printf(s, "; that one ran for %s", TEXT_NS(f->serial->on_cpu_ns));
	if (f->serial->queue_ns > a->alone_ns / 10)
		g_string_append_printf(s, ", waited for a CPU for %s", TEXT_NS(f->serial->queue_ns));
}

void serial_append_command(GString *s, const struct findings *f, const struct finding *row)
{
	if (f->serial->does || f->serial->is_queue)
		g_string_append_printf(s, "`offcpu report --stacks -p %" PRIu32 "`", row->pid);
	else
		g_string_append(s, "Functions: `offcpu record --cpu`");
}

const char *serial_advice(const struct findings *f)
{
	return f->serial->alone->siblings_cnt
		? "Others have nothing to do meanwhile: give its work out in smaller pieces, or begin the longest piece first."
		: "All else waits for it: shorten that step, begin it earlier, or let only what needs its result depend on it.";
}
