/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_LIMITS_DOES_H
#define FOLD_LIMITS_DOES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/proc/net_table.h"
#include "fold/targets/sock_peers.h"
#include "profile/limits.h"

/* What a process that is not recorded does, from outside: by /proc. All are borrowed; peers may be NULL. */
struct looker {
	struct net_tables *nets;
	struct sock_peers *peers;
	const char *proc_dir;
};

/* Its first thread, by its state and where it sleeps. status: the text of /proc/PID/status. */
enum child_does looker_does(const struct looker *l, uint32_t pid, const char *status);
/* Its only outgoing connection. NULL: none, or several. */
const struct net_socket *looker_connection(const struct looker *l, uint32_t pid);
/* What the descriptor in the call's first argument is: "0 0x0 0x7ffd.."; NULL: unknown. Free with g_free(). */
char *looker_link_of_call(const struct looker *l, uint32_t pid);

struct looked {
	enum child_does does;
	int fd;	/* at which it waits; -1: none, or unknown */
	uint64_t peer_ino;	/* the pipe, or the socket at the other end; 0: unknown */
	char there[64];	/* of a connection that it has made; "": unknown */
};
/* Of a process with one thread; CHILD_EVENTS: at several descriptors, or for its clients. False: it has more, or is gone. */
bool looker_look(const struct looker *l, uint32_t pid, struct looked *ret);

#endif
