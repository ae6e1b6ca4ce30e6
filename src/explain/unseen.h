/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_UNSEEN_H
#define EXPLAIN_UNSEEN_H

#include "analyse/query.h"
#include "profile/profile.h"

/*
 * A sentence about what waits in the profile's processes and no thread tells of: virtual threads of Java that are not
 * mounted, processes of Erlang, threads of Haskell's own.  The caller's; NULL: nothing is known to.  selection NULL: everything.
 */
char *unseen_new(const struct profile *p, const struct selection *selection);

#endif
