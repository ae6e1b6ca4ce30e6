/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_FLEET_FOLLOW_H
#define PUSH_FLEET_FOLLOW_H

#include "explain/follow.h"
#include "push/fleet.h"

/* Recordings of hosts for follow.h, each of which is read once. */
struct fleet_follow;

/* Of the windows of that range; the target is borrowed. */
struct fleet_follow *fleet_follow_new(struct target *t, const struct fleet_query *range);
void fleet_follow_free(struct fleet_follow *f);	/* NULL is fine */

/* Of all hosts that have such services, the one where they wait most, and which the source keeps.  NULL with one sentence. */
const struct profile *fleet_follow_first(struct fleet_follow *f, const struct fleet_hosts_query *query, GError **error);
struct follow_source fleet_follow_source(struct fleet_follow *f);

#endif
