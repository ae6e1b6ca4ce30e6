/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Servers in memory do one command after another. Looks found one running for long while others had sent something that
 * was not read meanwhile: all of them wait for that command, whoever sent it.
 */
#include "explain/limits.h"

#include <inttypes.h>
#include <string.h>

#include "analyse/reason/idle.h"
#include "base/find.h"
#include "explain/findings_part.h"
#include "explain/sentence.h"
#include "explain/text.h"

#define OFTEN_PER_S 1	/* answers to a process: fewer tell little of what it waits for */

#define ONE_COMMAND_SAYS "It does one command after another, so a long one keeps all others waiting: "
#define ONE_COMMAND_OF_REDIS \
	ONE_COMMAND_SAYS "SLOWLOG GET tells which. Use SCAN in place of KEYS, a count that is kept, a smaller range, or a " \
			 "shorter script; or send that one to a replica."

void one_command_append(GString *s, const struct profile *p, uint32_t server)
{
	struct server_held held;

	if (!profile_server_held(p, server, &held))
		return;
	g_string_append_printf(s, " was busy with one command at %" PRIu32 " of %" PRIu32 " looks while others waited",
			       held.seen, held.all);
	if (held.of_one * 2 < held.seen)
		return;
	g_string_append(s, ", mostly of ");
	text_who(s, held.name, held.pid, FINDING_NAME_COLUMNS);
}

const char *one_command_advice(const struct profile *p, const char *peer, uint32_t server)
{
	struct server_held held;

	if (!profile_server_held(p, server, &held))
		return NULL;
	return servers_is_redis(peer) ? ONE_COMMAND_OF_REDIS : ONE_COMMAND_SAYS "see which it is.";
}

/* 0: the row does not wait for such a server. */
static uint32_t server_of(const struct findings *f, const struct finding *row)
{
	const struct object *o = row->reason == REASON_NETWORK_RECEIVE ? finding_object(f, row) : NULL;
	struct server_held held;

	return !o					      ? 0
	       : profile_server_held(f->profile, o->pid, &held) ? o->pid
	       : profile_server_held(f->profile, row->by.pid, &held) ? row->by.pid
								     : 0;
}

bool one_command_may_be(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);
	const enum server_does does = o ? profile_server_does(f->profile, o->pid) : SERVER_UNKNOWN;

	return server_of(f, row) ||
	       (o && o->kind == OBJECT_EPOLL && row->reason == REASON_NETWORK_RECEIVE &&
		row->max_ns >= FINDING_NOTICED_NS &&
		(does == SERVER_WORKS || does == SERVER_WORKS_AT_TIMES));
}

void one_command_append_evidence(GString *s, const struct findings *f, const struct finding *row)
{
	const uint32_t server = server_of(f, row);

	if (!server)
		return;
	g_string_append(s, "; that server");
	one_command_append(s, f->profile, server);
}

const char *one_command_advice_of(const struct findings *f, const struct finding *row)
{
	const uint32_t server = server_of(f, row);
	const char *upstream = server ? profile_upstream(f->profile, profile_wait(f->profile, row->wait)) : NULL;

	return server ? one_command_advice(f->profile, upstream ?: finding_object(f, row)->name, server) : NULL;
}

bool one_command_append_most(GString *s, const struct findings *f)
{
	const struct profile *p = f->profile;
	const struct wait *most = NULL;
	struct server_held held;
	uint64_t most_cnt = p->info.duration_ns / 1000000000 * OFTEN_PER_S;

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		const struct wait *w = profile_wait(p, wake->wait);
		const struct waker *by = profile_get_waker(p, wake->waker);

		if (wake->count <= most_cnt || by->irq || !profile_server_held(p, by->pid, &held) ||
		    !idle_is_asked(p, w, by) || profile_wait_object(p, w)->pid != by->pid ||
		    (f->selection && !f->selection->waits[wake->wait]))
			continue;
		most = w;
		most_cnt = wake->count;
	}
	if (!most)
		return false;
	const char *there = profile_upstream(p, most);

	text_safe_cut(s, there, FINDING_NAME_COLUMNS);
	g_string_append(s, ", which ");
	text_safe_cut(s, profile_thread(p, most->thread)->process, FINDING_NAME_COLUMNS);
	g_string_append(s, " asks,");
	one_command_append(s, p, profile_wait_object(p, most)->pid);
	g_string_append_printf(s, ". %s", one_command_advice(p, there, profile_wait_object(p, most)->pid));
	return true;
}
