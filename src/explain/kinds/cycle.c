/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/limits.h"

#include <string.h>

#include "explain/findings_part.h"
#include "explain/sentence.h"
#include "explain/text.h"

/* Open at the recording's end, and no similar wait timed out. */
static bool is_long(const struct profile *p, const struct wait *w)
{
	return (w->flags & WAIT_OPEN_AT_END) && w->max_ns >= deadlock_long_ns(p);
}

/* The other process's wait for its request to this one, index + 1; 0: not known to wait for that. */
static uint32_t wait_of_peer(const struct findings *f, uint32_t peer, const char *port)
{
	const struct profile *p = f->profile;
	size_t len = strlen(port);

	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct object *o = profile_wait_object(p, w);
		const char *at = o && o->kind == OBJECT_SOCKET ? strstr(o->name, port) : NULL;

		if (profile_thread(p, w->thread)->pid == peer && at && at > o->name && (!at[len] || at[len] == ' ') &&
		    is_long(p, w))
			return i + 1;
	}
	return 0;
}

bool cycle_find(const struct findings *f, const struct finding *row, struct finding_limit *ret)
{
	const struct profile *p = f->profile;
	const struct wait *w = profile_wait(p, row->wait);
	const struct object *o = profile_wait_object(p, w);
	uint32_t pid = finding_pid(f, row), peer;
	const struct profile_limit *l = profile_find_limit(p, LIMIT_CYCLE, pid, 0);
	const char *where = limit_cycle_read(l, &peer);

	if (!where || row->reason != REASON_NETWORK_RECEIVE || !o || o->pid != peer || !is_long(p, w))
		return false;
	*ret = (struct finding_limit){ .limit = l, .cycle_wait = wait_of_peer(f, peer, where) };
	ret->is_cycle = ret->cycle_wait && deadlock_is_alone(p, pid) && deadlock_is_alone(p, peer);
	return true;
}

void cycle_append(GString *s, const struct finding *row)
{
	uint32_t peer;
	const char *where = limit_cycle_read(row->limit.limit, &peer);

	g_string_append(s, ", of which a connection waits to be accepted here, at ");
	text_safe_cut(s, where ? where : "", FINDING_NAME_COLUMNS);
}

void cycle_append_evidence(GString *s, const struct findings *f, const struct finding *row)
{
	if (!row->limit.cycle_wait)
		return;
	uint32_t wait = row->limit.cycle_wait - 1;
	const struct thread *t = profile_thread(f->profile, profile_wait(f->profile, wait)->thread);

	g_string_append(s, "; ");
	text_who(s, t->comm, t->tid, FINDING_NAME_COLUMNS);
	g_string_append(s, " waits for an answer from here");
	sentence_function(s, f, finding_frame(f, wait), " in ");
}

const char *cycle_advice(const struct finding *row)
{
	return row->limit.is_cycle ?
		       "Each waits for the other, so neither goes on until one gives up: do not ask back within a request, or accept in "
		       "another thread meanwhile; time limits on both sides." :
		       "It may have asked back for its answer, and nobody accepts that here meanwhile: then neither goes on. See what it "
		       "waits for (record it, too); accept in another thread, and set time limits.";
}
