/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <string.h>

#include "analyse/plumbing.h"
#include "explain/findings_part.h"
#include "explain/limits.h"
#include "explain/sentence.h"
#include "explain/text.h"

/* "irq:virtio0", "softirq:BLOCK(vda)", "softirq:NET_RX", "timer" in words. */
static bool append_interrupt(GString *s, const char *name)
{
	static const char irq[] = "irq:", block[] = "softirq:BLOCK(";

	if (strcmp(name, "timer") == 0) {
		g_string_append(s, "a timer");
	} else if (g_str_has_prefix(name, "softirq:NET_")) {
		g_string_append(s, "the network");
	} else if (g_str_has_prefix(name, block) && g_str_has_suffix(name, ")")) {
		g_autofree char *disk = g_strndup(name + strlen(block), strlen(name) - strlen(block) - 1);

		g_string_append(s, "the disk ");
		text_safe_cut(s, disk, FINDING_NAME_COLUMNS);
	} else if (g_str_has_prefix(name, irq)) {
		g_string_append(s, "the interrupt ");
		text_safe_cut(s, name + strlen(irq), FINDING_NAME_COLUMNS);
	} else {
		return false;
	}
	return true;
}

/* "cpu-worker/4711" */
void sentence_who(GString *s, const struct finding_by *by)
{
	if (!by->tid && append_interrupt(s, by->comm))
		return;
	if (by->is_kind && by->threads_cnt > 1)
		g_string_append_printf(s, "%u ", by->threads_cnt);
	if (by->is_kind)
		g_string_append(s, "threads like ");
	text_safe_cut(s, by->comm, FINDING_NAME_COLUMNS);
	if (by->is_program)
		g_string_append(s, " processes");
	else if (by->threads_cnt > 1 && !by->is_kind)
		g_string_append(s, " threads");
	else if (by->tid && !by->is_kind)
		g_string_append_printf(s, "/%u", by->tid);
}

/* ", let go by exporter/4712 in export_rates": a lock that a holder itself waits for longest. */
static void append_next(GString *s, const struct findings *f, const struct finding_by *by)
{
	const struct profile *p = f->profile;
	const struct wait *w = by->does_wait ? profile_wait(p, by->does_wait - 1) : NULL;
	const struct waker *next = w && w->max_waker ? profile_get_waker(p, w->max_waker - 1) : NULL;
	enum reason does = by->does;

	if (!next || next->irq || next->tid == by->tid || (does != REASON_LOCK_MUTEX && does != REASON_LOCK_RWLOCK))
		return;
	int64_t frame = next->user ? plumbing_user_parent(reasons_plumbing(f->reasons), next->user) : -1;

	g_string_append(s, ", let go by ");
	text_who(s, next->comm, next->tid, FINDING_NAME_COLUMNS);
	if (frame >= 0 && !plumbing_frame_is_runtime(reasons_plumbing(f->reasons), (uint32_t)frame))
		sentence_function(s, f, frame, " in ");
}

#define PART_MAX_PERCENT 102	/* a thread that does more also does it for others */

/* " (92% of that time)": of the waiting time there. */
static void append_part(GString *s, const struct finding *row)
{
	double percent = text_percent(row->by.does_ns, row->time_ns);

	if (percent <= PART_MAX_PERCENT)
		g_string_append_printf(s, " (%.0f%% of that time)", MIN(percent, 100));
}

/* ", for which worker/4712 " */
static void append_worker(GString *s, const struct findings *f, const struct finding_by *by)
{
	const struct thread *t = profile_thread(f->profile, profile_wait(f->profile, by->does_wait - 1)->thread);

	g_string_append(s, ", for which ");
	text_who(s, t->comm, t->tid, FINDING_NAME_COLUMNS);
	g_string_append_c(s, ' ');
}

/* ", which meanwhile waits for fsync in my_sync" */
static void append_doing(GString *s, const struct findings *f, const struct finding *row, bool is_held)
{
	const struct finding_by *by = &row->by;
	bool is_many = by->threads_cnt > 1 || by->is_program;

	if (by->is_passed_on)
		append_worker(s, f, by);
	else
		g_string_append(s, is_many ? ", each of which " : ", which ");
	g_string_append(s, is_held || by->is_passed_on ? "meanwhile " : is_many ? "mostly " : "itself mostly ");
	bool is_anywhere = by->does_wait && reasons_is_anywhere(f->reasons, by->does_wait - 1);
	/* the reason's words do not say what stopped a thread, which end of a pipe, or which kind of lock */
	const struct rule *rule = by->does_wait ? reasons_rule(f->reasons, by->does_wait - 1) : NULL;
	/* nor whose server or lock it is: of a FUSE file system, of a database */
	bool is_served = rule && (g_str_has_prefix(rule->name, "fuse") ||
				  (rule->says && rule->protocol && *rule->protocol && rule->reason == by->does));
	bool by_rule = is_anywhere || is_served ||
		       (by->does_wait && (by->does == REASON_STOPPED || by->does == REASON_PIPE ||
					  by->does == REASON_LOCK_KERNEL || by->does == REASON_LOCK_MUTEX));
	g_string_append(s, by_rule ? reasons_says(f->reasons, by->does_wait - 1) : reason_says(by->does));
	uint32_t object = by->does_wait ? reasons_object(f->reasons, by->does_wait - 1) : 0;
	if (object) {
		const struct finding doing = { .reason = by->does };
		const struct object *o = profile_get_object(f->profile, object - 1);

		if (*o->name)
			sentence_object(s, &doing, o);
	}
	if (by->does_frame != by->frame && !is_anywhere)
		sentence_function(s, f, by->does_frame, " in ");
	if (s->str[s->len - 1] == ',')	/* after an object */
		g_string_truncate(s, s->len - 1);
	if (by->does_wait)
		locked_append_of_wait(s, f, by->does_wait - 1);
	append_next(s, f, by);
}

/* Follows sockets, with the last one's share of its time. */
static void append_followed(GString *s, const struct findings *f, const struct finding *row)
{
	const struct finding *hops[FINDING_HOPS_MAX];
	unsigned cnt = finding_follow(f, row, hops);
	const struct finding *last = cnt ? hops[cnt - 1] : row;

	for (unsigned i = 0; i < cnt; i++)
		append_doing(s, f, hops[i], true);
	if (finding_ends_far(f, last))
		append_part(s, last);
}

/* ", which waits itself until it times out: 13 times, after 385 ms" */
static void append_timeouts(GString *s, const struct finding_by *by)
{
	g_string_append(s, by->threads_cnt > 1 ? ", each of which waits itself until it times out: " :
						 ", which waits itself until it times out: ");
	g_string_append_printf(s, "%s times, after %s", TEXT_COUNT(by->timeouts_cnt), TEXT_NS(by->timeout_ns));
}

/* "; held by thread 4711, which is none of its own (logger, process 4700)" */
static void append_lost_holder(GString *s, const struct finding_by *by)
{
	g_string_append_printf(s, "; held by thread %u, which is none of its own", by->tid);
	if (!by->pid)
		return;
	g_string_append(s, " (");
	text_safe_cut(s, by->comm, FINDING_NAME_COLUMNS);
	g_string_append_printf(s, " of process %u)", by->pid);
}

/* " in munmap, called by render_page"; addresses are omitted */
static void append_where(GString *s, const struct findings *f, const struct finding_by *by)
{
	bool has_function = by->frame >= 0 && profile_get_frame(f->profile, (uint32_t)by->frame)->name;

	if (by->call)
		g_string_append_printf(s, " in %s%s", strchr(by->call, ' ') ? "a " : "", by->call);
	if (has_function)
		sentence_function(s, f, by->frame, by->call ? ", called by " : " in ");
}

void sentence_by(GString *s, const struct findings *f, const struct finding *row)
{
	const struct finding_by *by = &row->by;
	bool is_held = finding_is_held(f, row);

	if (!by->comm)
		return;
	if (row->deadlock && !row->deadlock_next) {
		append_lost_holder(s, by);
		return;
	}
	if (row->reason == REASON_LOCK_GIL && is_held) {	/* the sentence names it */
		sentence_function(s, f, row->frame, "; they wait in ");
		return;
	}
	/* a waker of a hundredth of the time did not cause the waits */
	if (row->timed_out_cnt && !is_held && by->blocked_ns < row->time_ns / 100)
		return;
	bool is_still = !row->woken_cnt && !is_held && by->tid, is_pipes = row->deadlock && row->reason == REASON_PIPE;
	g_string_append(s, is_pipes || (is_still && row->reason == REASON_CHILD_EXIT) ? "; that is "
			   : is_still			      ? "; at the other end is "
			   : is_held			      ? "; held by "
			   : row->reason == REASON_LOCK_GIL ? "; let go by " : "; ended by ");
	sentence_who(s, by);
	if (row->deadlock && row->deadlock == row->deadlock_next) {
		g_string_append(s, ", the very thread that waits");
		return;
	}
	append_where(s, f, by);
	if (reasons_is_kept_for_client(f->reasons, row->wait) && !is_held) {
		g_string_append(s, ", of which one at a time has it and waits for its client meanwhile");
		session_append(s, f, row);
		return;
	}
	if (by->timeouts_cnt)
		append_timeouts(s, by);
	else if (by->does_ns) {
		append_doing(s, f, row, is_held);
		append_followed(s, f, row);
	} else if (row->reason != REASON_LOCK_GIL && by->blocked_ns < row->time_ns - row->time_ns / 100)
		/* for the GIL this is only the last piece */
		g_string_append_printf(s, " (%.0f%% of the time)", text_percent(by->blocked_ns, row->time_ns));
}
