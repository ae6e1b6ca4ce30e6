/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyse/plumbing.h"
#include "base/module.h"
#include "explain/findings_part.h"
#include "explain/limits.h"
#include "explain/sentence.h"
#include "explain/text.h"
#include "features/tasks/analysis.h"

#define NAME_COLUMNS 60
#define SELDOM_TASKS 0.05	/* mean number: fewer are no 0.1 */

/*
 * "15 goroutines wait for a mutex", "1 goroutine waits"; inside a sentence "an average of 0.4 goroutines wait", "at times
 * one waits"
 */
static void append_tasks(GString *s, const struct task_wait *w, bool is_inside, double tasks)
{
	const bool is_seldom = tasks < SELDOM_TASKS;
	bool is_one = is_seldom || fabs(tasks - 1) < 0.05;
	size_t verb = strcspn(w->says, " ");

	if (is_seldom)
		g_string_append(s, "at times one ");
	else if (tasks < 10 && fabs(tasks - round(tasks)) > 0.05)
		g_string_append_printf(s, "%s%.1f", is_inside ? "an average of " : "", tasks);
	else
		text_thousands(s, (uint64_t)(tasks + 0.5));
	if (!is_seldom)
		g_string_append_printf(s, " %s%s ", task_noun(w->kind), is_one ? "" : "s");
	if (strcmp(w->state, "syscall") == 0 && *w->call) {
		g_string_append(s, is_one ? "is in " : "are in ");
		text_safe_cut(s, w->call, NAME_COLUMNS);
	} else if (is_one && g_str_has_prefix(w->says, "are "))
		g_string_append_printf(s, "is%s", w->says + verb);
	else
		g_string_append_printf(s, "%.*s%s%s", (int)verb, w->says, is_one ? "s" : "", w->says + verb);
}

/* Its place in the program, or else its creator. */
static void append_place(GString *s, const struct task_wait *w, const char *before)
{
	if (!*w->function && *w->creator) {
		g_string_append(s, ", created by ");
		text_safe_cut(s, w->creator, NAME_COLUMNS);
	}
	if (!*w->function)
		return;
	g_string_append(s, before);
	text_safe_cut(s, w->function, NAME_COLUMNS);
	if (!*w->file)
		return;
	g_string_append(s, " (");
	text_safe_cut(s, module_base_name(w->file), NAME_COLUMNS);
	if (w->line)
		g_string_append_printf(s, ":%" PRIu32, w->line);
	g_string_append_c(s, ')');
}

/* "15 goroutines wait for a mutex in main.withdraw (bank.go:4)" */
void sentence_task(GString *s, const struct task_wait *w)
{
	append_tasks(s, w, false, w->tasks);
	if (w->peer) {
		g_string_append(s, ", ");
		text_safe_cut(s, w->peer, NAME_COLUMNS);
	}
	append_place(s, w, w->peer && *w->function ? ", in " : " in ");
}

/* "shop's goroutines" */
void sentence_tasks_whole(GString *s, const struct task_wait *w)
{
	text_safe_cut(s, w->program, NAME_COLUMNS);
	g_string_append_printf(s, "'s %ss", task_noun(w->kind));
}

void sentence_tasks_there(GString *s, const struct task_findings *tasks, uint32_t pid, const char *before)
{
	const struct task_wait *most = NULL;

	EACH_ROW(i, const struct task_wait, o, tasks->rows)
		if (o->pid == pid && task_is_of_python(o->kind) && !o->rank_ns && !*o->idle && *o->function &&
		    o->tasks >= TASKS_MIN && (!most || o->task_ns > most->task_ns))
			most = o;
	if (!most)
		return;
	g_string_append(s, before);
	if (*most->call) {
		g_string_append_printf(s, "%.2g tasks await ", most->tasks);
		text_safe_cut(s, most->call, NAME_COLUMNS);
	} else {
		append_tasks(s, most, true, most->tasks);
	}
	append_place(s, most, " in ");
}

void sentence_task_evidence(GString *s, const struct findings *f, const struct task_wait *w)
{
	struct limit_connect failed;

	g_string_append_printf(s, "%s in all within %s", TEXT_NS(w->task_ns), TEXT_NS(f->profile->info.duration_ns));
	g_string_append_printf(s, ", seen in %" PRIu64 " look%s", w->looks, w->looks == 1 ? "" : "s");
	if (*w->call || *w->reason) {
		g_string_append(s, *w->call ? "; call: " : "; state: ");
		text_safe_cut(s, *w->call ? w->call : w->reason, NAME_COLUMNS);
	}
	if (w->is_sleep && connects_of_process(f->profile, w->pid, &failed)) {
		g_string_append(s, "; ");
		connects_append_failed(s, &failed);
	} else if (w->is_sleep) {
		tries_of_process(f->profile, w->pid, s);
	}
	if (w->at_once.answers_cnt) {
		g_string_append(s, "; ");
		at_once_append(s, &w->at_once);
	}
	if (w->itself) {
		g_string_append(s, "; its process asks ");
		text_safe_cut(s, w->itself, NAME_COLUMNS);
	}
	blocked_append(s, f->profile, w->peer, 0);
	if (!w->peer && !w->is_sleep)
		owed_append_queue(s, f->profile, w->pid, true);
	peer_runs_append(s, f->profile, w->peer, w->server, w->task_ns);
	if (one_command_advice(f->profile, w->peer, w->server))
		g_string_append(s, "; that server");
	one_command_append(s, f->profile, w->server);
	if (w->ended_by) {
		uint32_t user = w->ended_by->user;

		g_string_append_printf(s, "; %.0f%% of the wait for its sockets was ended by ", w->ended_percent);
		text_who(s, w->ended_by->comm, w->ended_by->pid, NAME_COLUMNS);
		sentence_function(s, f, user ? plumbing_user_parent(reasons_plumbing(f->reasons), user) : -1, " in ");
	}
	backlog_append_evidence(s, w->drops);
	if (w->under) {
		const struct finding plain = finding_plain(w->under);

		g_string_append_printf(s, "; in that %s threads wait %s for ", w->is_in_call ? "call" : "function",
				       TEXT_NS(w->under->time_ns));
		sentence_wait(s, f, &plain);
	} else if (w->meanwhile) {
		const bool is_seldom = w->meanwhile->tasks < SELDOM_TASKS;

		g_string_append(s, w->is_held_there ? "; when they wait, " : is_seldom ? "; " : "; meanwhile ");
		append_tasks(s, w->meanwhile, true, w->is_held_there ? 1 : w->meanwhile->tasks);
		append_place(s, w->meanwhile, " in ");
	}
}
