/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_OWED_H
#define FOLD_OWED_H

#include "fold/sock_peers.h"
#include "profile/profile.h"

#define OWED_PROCESSES_MAX 4	/* whose connections are looked at */
#define OWED_AGE_NS 10000000	/* who has asked just now does not wait yet */
#define OWED_MIN 2	/* clients: a single one may have asked just now */

#define OWED_WAITS_MIN 10	/* for events, in a recording of the whole machine */

/*
 * Of processes with event loops: how many of their clients wait for an answer, and how many connections go where most do
 * that the process has made, if it has made any.  Adds LIMIT_OWED where clients wait.  Connections in our network namespace alone are known.
 */
void owed_look(struct profile *p, struct sock_peers *peers, const char *proc_dir);

#endif
