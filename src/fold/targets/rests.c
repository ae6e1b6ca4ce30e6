/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/targets/part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/find.h"
#include "base/opener/opener.h"
#include "base/proc/status.h"
#include "profile/limits.h"

#define SERVERS_MAX 8

struct looked_at {
	uint32_t pid, looks, rests;
};

struct server_rests {
	char *proc_dir;
	GArray *servers;	/* struct looked_at */
	bool has_sought;
};

struct server_rests *server_rests_new(const char *proc_dir)
{
	struct server_rests *r = g_new0(struct server_rests, 1);

	r->proc_dir = g_strdup(proc_dir);
	r->servers = g_array_new(FALSE, FALSE, sizeof(struct looked_at));
	return r;
}

FREES(server_rests_free, struct server_rests, r, g_free(r->proc_dir); g_array_unref(r->servers))

/* By their names: who is at the other end of a connection may be known only at the window's end. */
static void seek(struct server_rests *r)
{
	g_autoptr(GArray) pids = process_ids();

	EACH_ROW_WHILE(i, const uint32_t, pid, pids, r->servers->len < SERVERS_MAX) {
		g_autofree char *name = opener_process_text(r->proc_dir, *pid, "comm");
		const struct looked_at fresh = { .pid = *pid };

		if (name && peer_is_memory_server(g_strchomp(name)))
			g_array_append_val(r->servers, fresh);
	}
	r->has_sought = true;
}

/* Its first thread does all commands, but of gearmand, where others carry what comes. Stopped, throttled, computing or in an fsync() it does not rest. */
static bool rests(const struct server_rests *r, uint32_t pid)
{
	static const long waits[] = {
#ifdef SYS_epoll_wait	/* x86 */
		SYS_epoll_wait,
#endif
		SYS_epoll_pwait,
	};
	g_autofree char *call = opener_process_text(r->proc_dir, pid, "syscall");	/* "running", or "232 0x5 .." */
	g_autofree char *stat = opener_process_text(r->proc_dir, pid, "stat");
	const char *end = stat ? strrchr(stat, ')') : NULL;
	const long nr = call && g_ascii_isdigit(*call) ? strtol(call, NULL, 10) : -1;

	return end && g_str_has_prefix(end, ") S") && ANY(x, waits, *x == nr);
}

void server_rests_look(struct server_rests *r)
{
	if (!r->has_sought)
		seek(r);
	EACH_ROW(i, struct looked_at, s, r->servers) {
		s->looks++;
		s->rests += rests(r, s->pid);
	}
}

void server_rests_put(struct server_rests *r, struct profile *p)
{
	EACH_ROW(i, struct looked_at, s, r->servers) {
		g_autofree char *text = g_strdup_printf(LIMIT_RESTS_FORMAT, s->rests, s->looks);

		if (s->looks)
			profile_add_limit(p, LIMIT_RESTS, s->pid, 0, text);
	}
	g_array_set_size(r->servers, 0);
	r->has_sought = false;
}
