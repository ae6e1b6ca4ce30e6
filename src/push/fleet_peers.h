/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_FLEET_PEERS_H
#define PUSH_FLEET_PEERS_H

#include "analyse/peers.h"
#include "push/fleet.h"

#define FLEET_PEERS_MAX 10000	/* rows of an answer */

/*
 * Appends a struct peer_row for each process and window, of any host, that serves that address or one of those
 * connections.  Their texts are put into `texts`.  The range of the query is that of the asker's window.
 */
bool fleet_peers(struct target *t, const struct fleet_query *q, const struct peer_ask *ask, GArray *rows, GStringChunk *texts,
		 GError **error);

#endif
