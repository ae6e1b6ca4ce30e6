/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/findings_part.h"
#include "explain/sentence.h"
#include "explain/text.h"

#define ENDS_MIN 3	/* in the window: each lives for a third of that at most */

/* They start again what has ended; whose children end is what others are made for: shells, cron, inetd. */
static const char *const supervisors[] = { "runsv*", "supervise", "s6-supervise", "supervisord", "monit", "circusd", "god", "systemd", "PM2*",
					   "pm2*", "foreman", "honcho", "nodemon", "forever", "gunicorn*", "uwsgi*", "unicorn*" };

/* What a process starts again and again. */
struct restarts {
	const char *name;
	uint32_t cnt;	/* that began and ended in the window; 0: fewer than is told */
};

static bool is_supervisor(const char *process)
{
	for (size_t i = 0; process && i < G_N_ELEMENTS(supervisors); i++)
		if (g_pattern_match_simple(supervisors[i], process))
			return true;
	return false;
}

/* Its end wakes the process, which has it as a child or reads its output. */
static bool is_end_of_child(const struct profile *p, const struct waker *by, uint32_t pid)
{
	static const char *const exits[] = { "do_exit", "do_notify_parent", NULL };

	return !by->irq && by->comm && by->pid != pid && by->start_ns > p->info.start_ns && by->kernel &&
	       profile_stack_names(p, by->kernel, exits);
}

static struct restarts restarts_of(const struct profile *p, uint32_t thread)
{
	const uint32_t pid = profile_thread(p, thread)->pid;
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL), cnts = g_hash_table_new(g_str_hash, g_str_equal);
	struct restarts most = { 0 };

	if (!is_supervisor(profile_thread(p, thread)->process))
		return most;
	EACH_ROW(i, const struct wake, wake, p->wakes) {
		const struct waker *by = profile_get_waker(p, wake->waker);

		if (profile_thread(p, profile_wait(p, wake->wait)->thread)->pid != pid || !is_end_of_child(p, by, pid) ||
		    !g_hash_table_add(seen, GUINT_TO_POINTER(by->pid)))
			continue;
		const uint32_t cnt = GPOINTER_TO_UINT(g_hash_table_lookup(cnts, by->comm)) + 1;

		g_hash_table_insert(cnts, (gpointer)by->comm, GUINT_TO_POINTER(cnt));
		if (cnt > most.cnt)
			most = (struct restarts){ by->comm, cnt };
	}
	return most.cnt >= ENDS_MIN ? most : (struct restarts){ 0 };
}

static struct restarts restarts_of_row(const struct findings *f, const struct finding *row)
{
	switch (row->reason) {
	case REASON_SLEEP:
	case REASON_EVENT_LOOP:
	case REASON_CHILD_EXIT:
	case REASON_PIPE: return restarts_of(f->profile, profile_wait(f->profile, row->wait)->thread);
	default: return (struct restarts){ 0 };
	}
}

static void append(GString *s, struct restarts r)
{
	text_safe_cut(s, r.name, FINDING_NAME_COLUMNS);
	g_string_append_printf(s, ", which it starts, ended %" PRIu32 " times meanwhile", r.cnt);
}

void restarts_append_evidence(GString *s, const struct findings *f, const struct finding *row)
{
	const struct restarts r = restarts_of_row(f, row);

	if (!r.cnt)
		return;
	g_string_append(s, "; ");
	append(s, r);
}

#define ADVICE "It ends soon after each start: see its output, its log and its exit status, or start it by hand."

const char *restarts_advice(const struct findings *f, const struct finding *row)
{
	return restarts_of_row(f, row).cnt ? ADVICE : NULL;
}

void restarts_append_most(GString *s, const struct findings *f)
{
	struct restarts most = { 0 };
	const char *process = NULL;

	EACH_ROW(i, const struct thread, t, f->profile->threads) {
		const bool is_selected = t->pid == t->tid && (!f->selection || f->selection->threads[i]);
		const struct restarts r = is_selected ? restarts_of(f->profile, i) : (struct restarts){ 0 };

		if (r.cnt <= most.cnt)
			continue;
		most = r;
		process = t->process;
	}
	if (!most.cnt)
		return;
	g_string_append_c(s, ' ');
	text_safe_cut(s, process, FINDING_NAME_COLUMNS);
	g_string_append(s, " is a supervisor: ");
	append(s, most);
	g_string_append(s, ". " ADVICE);
}
