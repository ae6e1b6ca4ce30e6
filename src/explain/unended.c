/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/findings_part.h"

/*
 * Who should end a wait that nobody ended in the window is not slow, but does not do it at all. Some of these waits are a
 * standby's: then nothing is ordered. Who waits for room, or for what it has asked for, is stuck.
 */
static const struct ending {
	const char *rules;	/* a pattern of their names */
	bool may_be_meant;
	const char *advice;
} endings[] = {
	{ "semaphore-sysv", false,
	  "Nobody raised it while this was recorded. A process that took it and ended leaves it taken, unless it used SEM_UNDO: "
	  "`ipcs -s` lists them, `ipcs -s -i ID` tells which process changed it last." },
	{ "named-semaphore", true,
	  "Nobody raised it while this was recorded. If it tells of work to come that is meant; if it counts a pool's resources a "
	  "process took the last one and keeps it, or ended: a semaphore has no owner, so raise it, or remove it and start all anew." },
	{ "*semaphore*", true,
	  "Nobody raised it while this was recorded. If it tells of work to come, as to a standby, that is meant; if it counts a pool's "
	  "resources whoever took the last one keeps it, or left without giving it back: `offcpu report --full` tells what others do." },
	{ "connections-*", false,
	  "Nobody gave one back while this was recorded: whoever has them waits itself, or left without giving them back (after an error, "
	  "too: finally, with): `offcpu report --full` tells what others do." },
	{ "*barrier*", true,
	  "Nobody else came while this was recorded. A standby that waits for its phase is meant to; if this is none, see what those "
	  "wait for that should come: `offcpu report --full`." },
	{ "*future-in-worker", false, NULL },
	{ "*future", true,
	  "No result came while this was recorded. Who waits for an event in the program's life, as a change or its end, is meant to; "
	  "else whoever should bring it waits itself, or has left without: `offcpu report --full`." },
	{ "*queue-full", false,
	  "Nobody took anything from it while this was recorded: whoever should has ended, or waits itself: `offcpu report --full`." },
	{ "memory-server*", true,
	  "Nothing came while this was recorded: a command that waits for work (BRPOP, XREAD, SUBSCRIBE, reserve) is meant to wait. "
	  "If it was another one see what that server runs: SLOWLOG GET." },
	{ "postgres-advisory-lock", true, NULL },
	{ "named-pipe", false,
	  "No program has the other end open: see whether the one that should has ended, and start it, or open the pipe without waiting "
	  "(O_NONBLOCK, timeout(1))." },
	{ "pipe-write", false,
	  "Nobody read from it while this was recorded: see what the reader waits for. If that is room in a pipe that this writer "
	  "reads, neither goes on: read and write at once (communicate(), a thread)." },
	{ "pipe-read", false,
	  "Nobody wrote into it while this was recorded: see what the writer waits for. Who reads till the end waits until all have "
	  "closed it, also a daemon that inherited it: send that one's output elsewhere (>/dev/null 2>&1)." },
	{ "message-queue", false,
	  "Nobody took from it, or sent into it, while this was recorded. One of System V may be full of messages of a type that "
	  "nobody takes: `ipcs -q` lists them, `ipcs -q -i ID` tells who sent and received last." },
	{ "file-lock", false,
	  "Nobody let go of it while this was recorded. The standby of a leader waits so, and is meant to; if this is none, see what "
	  "the lock's holder waits for, or end it." },
	{ "python-process-lock", false,
	  "Nobody let go of it while this was recorded: see what its holder waits for. If that was killed nobody can: start these "
	  "processes anew." },
};

static const struct ending *ending_of(const char *rule)
{
	for (size_t i = 0; i < G_N_ELEMENTS(endings); i++)
		if (g_pattern_match_simple(endings[i].rules, rule))
			return &endings[i];
	return NULL;
}

void unended_find(struct findings *f)
{
	const struct profile_info *info = &f->profile->info;

	for (guint i = 0; info->has_wakers && i < f->rows->len; i++) {
		struct finding *row = &g_array_index(f->rows, struct finding, i);
		const struct rule *rule = reasons_rule(f->reasons, row->wait);
		const struct ending *ending = rule && rule->reason == row->reason ? ending_of(rule->name) : NULL;

		if (!ending || row->woken_cnt || row->busy || row->max_ns < info->duration_ns / 10 * 9)
			continue;
		row->unended = ending->advice;
		row->may_be_meant = ending->may_be_meant && !row->limit.limit;
	}
}
