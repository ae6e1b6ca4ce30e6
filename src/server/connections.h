/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SERVER_CONNECTIONS_H
#define SERVER_CONNECTIONS_H

#include <microhttpd.h>

#include "server/peers.h"

/* What every server of ours asks of libmicrohttpd: who is connected, for how long, and what a header must not be. */

/* For MHD_OPTION_NOTIFY_CONNECTION, of a struct peers. */
void connections_changed(void *peers, struct MHD_Connection *c, void **socket_context,
			 enum MHD_ConnectionNotificationCode code);
/* From now on. */
void connection_does(struct peers *peers, struct MHD_Connection *c, enum peer_doing doing);
/* Why its header is refused with 400, or NULL. */
const char *connection_refusal(struct MHD_Connection *c);

#endif
