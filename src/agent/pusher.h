/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_PUSHER_H
#define AGENT_PUSHER_H

#include "agent/config.h"
#include "agent/keeper.h"

/*
 * Windows on their way to engines for many hosts, by a spool and a thread for each: push/sender.h.  What fails there
 * stops nothing here.
 */
struct pusher;

/*
 * Those that the configuration names, perhaps none; it must outlive the pusher.  What cannot be begun is told to the
 * journal and tried again each minute.
 */
struct pusher *pusher_new(const struct agent_config *config, log_fn log);
/* Is this host the one of `one-host-in` that pushes?  By its name, so always the same. */
bool pusher_takes_host(const struct agent_config *config);
void pusher_free(struct pusher *p);	/* NULL is fine; what is left stays in the spool */
/* is_alarming: an alert holds in that window. */
void pusher_add(struct pusher *p, const struct profile *window, const struct reasons *reasons, bool is_alarming);
/* ", 12 pushed to ClickHouse at http://..., 3 waiting, 1 dropped" for each; appended. */
void pusher_text(struct pusher *p, GString *s);

/* The same as metrics; appended. */
void pusher_metrics(struct pusher *p, GString *s);

#endif
