/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SERVER_LISTEN_H
#define SERVER_LISTEN_H

#include <glib.h>
#include <stdbool.h>
#include <sys/socket.h>

/* A socket that listens there; *ret_name is "127.0.0.1:4711" or "[::1]:4711", for g_free().  -1 with one sentence. */
int listen_on(const char *address, guint16 port, char **ret_name, GError **error);

/* "10.0.0.5"; one of IPv4 that came by IPv6, too.  "" for other families. */
void listen_peer_text(const struct sockaddr *address, char *ret, gsize size);

/* Can only this machine reach it? */
bool listen_is_loopback(const char *address);

/* "ADDR:PORT", "[ADDR]:PORT", "ADDR" or ":PORT"; *ret_address (g_free()) is NULL where none is told. */
bool listen_parse(const char *text, char **ret_address, guint16 *ret_port, GError **error);

#endif
