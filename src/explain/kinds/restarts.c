/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/find.h"
#include "base/hash.h"
#include "explain/findings_part.h"
#include "explain/sentence.h"
#include "explain/text.h"

#define STARTS_MIN 3	/* in the window: so each lives for at most a third of it */

/* They restart what has ended.  Shells, cron and systemd's timers have children that are supposed to end. */
static const char *const supervisors[] = {
	"runsv*", "supervise", "s6-supervise", "supervisord", "monit",	  "circusd", "god",
	"PM2*",	  "pm2*",      "foreman",      "honcho",      "nodemon", "forever",
};
/* The same for workers that they fork, which have their name.  Other children may be part of a request. */
static const char *const servers[] = { "gunicorn*", "uwsgi*", "unicorn*" };

/* A program that is started again and again. */
struct restarts {
	const char *name;
	uint32_t cnt;	/* that began in the window; 0: too few, or none was seen to end */
	bool has_ended;
};

static bool supervises(const char *process, const char *child)
{
	return process && (ANY(x, supervisors, g_pattern_match_simple(*x, process)) ||
			   ANY(x, servers, g_pattern_match_simple(*x, process) && g_pattern_match_simple(*x, child)));
}

/* Its exit wakes its parent, or the reader of its output, unless that is awake. */
static bool is_end(const struct profile *p, const struct waker *by)
{
	static const char *const ends[] = { "do_exit", "do_notify_parent", "pipe_release", NULL };

	return by->kernel && profile_stack_names(p, by->kernel, ends);
}

static struct restarts restarts_of(const struct profile *p, uint32_t thread)
{
	const uint32_t pid = profile_thread(p, thread)->pid;
	const char *process = profile_thread(p, thread)->process;
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
	g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
	struct restarts most = { 0 };

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		const struct waker *by = profile_get_waker(p, wake->waker);

		if (profile_thread(p, profile_wait(p, wake->wait)->thread)->pid != pid || by->irq || !by->comm ||
		    by->pid == pid || by->start_ns <= p->info.start_ns || !supervises(process, by->comm))
			continue;
		struct restarts *r = hash_row(names, by->comm, sizeof(*r));

		r->name = by->comm;
		r->cnt += g_hash_table_add(seen, GUINT_TO_POINTER(by->pid));
		r->has_ended = r->has_ended || is_end(p, by);
		if (r->has_ended && r->cnt >= STARTS_MIN && r->cnt > most.cnt)
			most = *r;
	}
	return most;
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
	g_string_append_printf(s, ", which it starts, began anew %" PRIu32 " times meanwhile", r.cnt);
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
