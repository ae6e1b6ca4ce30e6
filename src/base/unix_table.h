/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_UNIX_TABLE_H
#define BASE_UNIX_TABLE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The Unix stream sockets of our own network namespace, as the kernel answers (sock_diag): /proc/net/unix does not tell
 * which two belong together. Inodes are unique over all namespaces, so who looks up a foreign one finds nothing.
 */

#define UNIX_TABLE_MAX 65536	/* sockets */
#define UNIX_NAME_BYTES 109

struct unix_socket {
	uint64_t inode, peer;	/* peer 0: not accepted yet, or it has none */
	uint32_t queued;	/* of one that listens: connections that nobody has accepted yet */
	bool listens;
	char name[UNIX_NAME_BYTES];	/* what it was bound to, '@' in front of an abstract name; "": nothing */
};

GArray *unix_table_new(void);	/* struct unix_socket; NULL: the kernel does not answer */
const struct unix_socket *unix_table_find(const GArray *sockets, uint64_t inode);	/* NULL: none of these */

#endif
