/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Whose session of a database keeps the lock that others wait for: of those that let it go one after the other, the one
 * that waits for its client most, and hardly for that lock.
 */
#include "explain/limits.h"

#include "base/find.h"
#include "explain/findings_part.h"
#include "explain/sentence.h"
#include "explain/text.h"

#define OWN_PART 10	/* 1/n of the wait for its client: who waits longer for the lock has it for a moment */
#define LEAST_PART 4	/* 1/n of the window */

struct session {
	bool lets_go;
	uint64_t own_ns, client_ns;
	uint32_t client;	/* process; 0: unknown */
};

static struct session *sessions_new(const struct findings *f, const struct finding *row)
{
	const struct profile *p = f->profile;
	struct session *s = g_new0(struct session, (gsize)p->threads->len + 1);

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		const struct waker *by = profile_get_waker(p, wake->waker);
		const bool is_its = f->blocked_in[wake->wait] == row->id;
		const uint32_t at = is_its ? cause_thread(p, by->pid, by->tid) : CAUSE_NONE;

		if (at != CAUSE_NONE)
			s[at].lets_go = true;
	}
	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct object *o = profile_wait_object(p, w);
		struct session *one = &s[w->thread];

		one->own_ns += f->blocked_in[i] == row->id ? w->blocked_ns : 0;
		if (!o || !object_is_accepted(o) || !o->pid)
			continue;
		one->client_ns += w->blocked_ns;
		one->client = o->pid;
	}
	return s;
}

/* 0: unknown. */
static uint32_t client_of(const struct findings *f, const struct finding *row)
{
	const struct session *most = NULL;

	if (!reasons_is_kept_for_client(f->reasons, row->wait) || finding_is_held(f, row))
		return 0;
	g_autofree struct session *all = sessions_new(f, row);

	for (uint32_t i = 0; i < f->profile->threads->len; i++)
		if (all[i].lets_go && all[i].own_ns <= all[i].client_ns / OWN_PART &&
		    all[i].client_ns >= f->profile->info.duration_ns / LEAST_PART &&
		    (!most || all[i].client_ns > most->client_ns))
			most = &all[i];
	return most ? most->client : 0;
}

/* ", which sleeps until a timer in <module> (sync.py:6)": its longest wait that is no rest, or a pause. */
static void append_doing(GString *s, const struct findings *f, uint32_t pid)
{
	const struct wait *longest = NULL;
	uint32_t at = 0;

	EACH_ROW(i, const struct wait, w, f->profile->waits) {
		const bool counts = f->blocked_in[i] || reasons_idle(f->reasons, i) == IDLE_TIMER;

		if (profile_thread(f->profile, w->thread)->pid != pid || !counts ||
		    (longest && w->blocked_ns <= longest->blocked_ns))
			continue;
		longest = w;
		at = i;
	}
	if (!longest)
		return;
	g_string_append_printf(s, ", which %s", reasons_says(f->reasons, at));
	sentence_function(s, f, finding_frame(f, at), " in ");
}

void session_append(GString *s, const struct findings *f, const struct finding *row)
{
	const uint32_t client = client_of(f, row);
	const char *name = client ? finding_process_name(f, client) : NULL;

	if (!name)
		return;
	g_string_append(s, ", mostly for ");
	text_who(s, name, client, FINDING_NAME_COLUMNS);
	append_doing(s, f, client);
}

const char *session_advice(const struct findings *f, const struct finding *row)
{
	return client_of(f, row) ? SESSION_ADVICE : NULL;
}
