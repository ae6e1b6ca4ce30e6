/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_NOTIFY_H
#define AGENT_NOTIFY_H

#include <stdint.h>

/* Notifies systemd as in sd_notify(3): datagrams to $NOTIFY_SOCKET. Without that it does nothing. */
struct notify;

/*
 * From the environment: NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID; each may be NULL. pid: our own. An invalid socket
 * counts as none.
 */
struct notify *notify_new(const char *socket_path, const char *watchdog_usec, const char *watchdog_pid, int pid);
void notify_free(struct notify *n);	/* NULL is fine */

void notify_ready(struct notify *n, const char *status);
void notify_reloading(struct notify *n, uint64_t monotonic_ns);
void notify_stopping(struct notify *n, const char *status);
void notify_status(struct notify *n, const char *status);
/* Call it often: feeds systemd's watchdog as often as that needs. */
void notify_alive(struct notify *n, uint64_t monotonic_ns);
/* That interval; 0: no watchdog. */
uint64_t notify_watchdog_ns(const struct notify *n);

#endif
