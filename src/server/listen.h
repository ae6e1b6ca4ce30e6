/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SERVER_LISTEN_H
#define SERVER_LISTEN_H

#include <glib.h>
#include <stdbool.h>
#include <sys/socket.h>

/* A listening socket; *ret_name is "127.0.0.1:4711" or "[::1]:4711", free with g_free().  -1 on error. */
int listen_on(const char *address, guint16 port, char **ret_name, GError **error);

/* "10.0.0.5", also for an IPv4-mapped IPv6 address.  "" for other families. */
void listen_peer_text(const struct sockaddr *address, char *ret, gsize size);

/* Whether only this machine can reach it. */
bool listen_is_loopback(const char *address);

/* Parses "ADDR:PORT", "[ADDR]:PORT", "ADDR" or ":PORT"; *ret_address (free with g_free()) is NULL if not given. */
bool listen_parse(const char *text, char **ret_address, guint16 *ret_port, GError **error);

#endif
