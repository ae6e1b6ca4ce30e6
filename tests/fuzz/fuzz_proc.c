/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Texts of /proc: the kernel's, but names in them are anybody's.  The sockets of a network namespace, too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/proc/net_table.h"
#include "base/proc/status.h"
#include "sample/proc_thread.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_thread(const char *text)
{
	struct proc_stat stat;
	enum proc_call what;
	uint64_t sp, ip;

	if (proc_stat_parse(text, &stat) && !memchr(stat.comm, 0, sizeof(stat.comm)))
		abort();
	proc_call_parse(text, &what, &sp, &ip);
	proc_status_number(text, "Uid");
	proc_status_innermost_id(text);
}

static void check_sockets(const char *text, bool is_tcp)
{
	g_autoptr(GArray) sockets = g_array_new(FALSE, FALSE, sizeof(struct net_socket));
	FILE *file = fmemopen((void *)text, strlen(text), "r");

	if (!file)
		return;
	net_table_add(sockets, file, is_tcp);
	fclose(file);
	for (guint i = 0; i < sockets->len; i++) {
		const struct net_socket *s = &g_array_index(sockets, struct net_socket, i);
		g_autofree char *local = net_end_text(&s->local);

		net_table_peer(sockets, is_tcp, &s->local, &s->remote);
		if (!net_table_has_port(sockets, s->local.port) || !strchr(local, ':'))
			abort();
		net_table_listener(sockets, &s->remote);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = g_strndup((const char *)data, size);

	check_thread(text);
	check_sockets(text, size % 2);
	return 0;
}
