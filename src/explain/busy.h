/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_BUSY_H
#define EXPLAIN_BUSY_H

#include "explain/findings.h"

/*
 * What threads do that others wait for where nobody's wait shows it: an event loop that computes, a pool all of whose
 * threads are busy.  Their queues hold requests or callbacks, and no thread waits in them.  Appends findings, whose
 * `busy` says which it is; the caller sorts.  Inside analyse.
 */
void busy_find(struct findings *f);

#endif
