/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "server/connections.h"

void connections_changed(void *peers, struct MHD_Connection *c, void **socket_context,
			 enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);

		*socket_context = info ? peer_add(peers, info->connect_fd, g_get_monotonic_time()) : NULL;
	} else if (*socket_context) {
		peer_remove(peers, *socket_context);
		*socket_context = NULL;
	}
}

void connection_does(struct peers *peers, struct MHD_Connection *c, enum peer_doing doing)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct peer *p = info ? info->socket_context : NULL;

	if (p)
		peer_does(peers, p, doing, g_get_monotonic_time());
}

static enum MHD_Result take_field(void *data, enum MHD_ValueKind kind, const char *key, const char *value)
{
	fields_take(data, key, value);
	return MHD_YES;
}

const char *connection_refusal(struct MHD_Connection *c)
{
	struct fields f = { 0 };

	MHD_get_connection_values(c, MHD_HEADER_KIND, take_field, &f);
	return fields_refusal(&f);
}
