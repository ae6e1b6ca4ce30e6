/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_PUSHER_H
#define AGENT_PUSHER_H

#include "agent/config.h"
#include "agent/keeper.h"

/*
 * Pushes windows to engines for many hosts, with a spool and a thread for each: push/sender.h. Failures there stop
 * nothing here.
 */
struct pusher;

/*
 * The configured engines, perhaps none; config must outlive the pusher. A failed start is reported in the journal and
 * repeated each minute.
 */
struct pusher *pusher_new(const struct agent_config *config, log_fn log);
/* Does `one-host-in` select this host for pushing? By its name, so always the same. */
bool pusher_takes_host(const struct agent_config *config);
void pusher_free(struct pusher *p);	/* NULL is fine; unsent windows stay in the spool */
/* is_alarming: an alert fires in that window. */
void pusher_add(struct pusher *p, const struct profile *window, const struct reasons *reasons, bool is_alarming);
/* ", 12 pushed to ClickHouse at http://..., 3 waiting, 1 dropped" for each; appended. */
void pusher_text(struct pusher *p, GString *s);

/* The same as metrics; appended. */
void pusher_metrics(struct pusher *p, GString *s);

#endif
