/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_NOTIFY_H
#define AGENT_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

/* What systemd is told, as sd_notify(3) has it: a datagram to $NOTIFY_SOCKET.  Without that it is nothing. */
struct notify;

/*
 * From what the environment says: NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID; each may be NULL.  pid: our own.  A
 * socket that cannot be is none.
 */
struct notify *notify_new(const char *socket_path, const char *watchdog_usec, const char *watchdog_pid, int pid);
void notify_free(struct notify *n);	/* NULL is fine */

void notify_ready(struct notify *n, const char *status);
void notify_reloading(struct notify *n, uint64_t monotonic_ns);
void notify_stopping(struct notify *n, const char *status);
void notify_status(struct notify *n, const char *status);
/* To be called often: keeps the watchdog quiet, as often as it wants to hear of us. */
void notify_alive(struct notify *n, uint64_t monotonic_ns);
/* How often that is; 0: it does not. */
uint64_t notify_watchdog_ns(const struct notify *n);

#endif
