/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_TRACE_TEXT_H
#define RENDER_TRACE_TEXT_H

#include "analyse/query.h"
#include "profile/profile.h"

/*
 * The text of bcc's offcputime, for `offcpu trace`.  Waits summed per thread (comm, tid) and
 * stacks, whatever their state; per sum: kernel frames innermost first, user frames innermost
 * first, then
 *
 *     -                comm (tid)
 *         MICROSECONDS
 *
 * and an empty line.  Ascending, the largest last.  delimiter: a line "    --" between kernel
 * and user frames where both are.  Appends; selection NULL: everything.
 */
void trace_text(GString *s, const struct profile *p, const struct selection *selection, bool delimiter);

/*
 * `offcpu trace --offwake`: per wait and waker, the waker and its stacks, outermost first; "--"; the sleeper's,
 * innermost first; the sleeper; microseconds from falling asleep to the CPU. Ascending.  Where no waker is known
 * "[unknown]" or, where nobody had come yet, "[still asleep]" stands for it.  only_waker: `--wakeup`, without the
 * sleeper's stacks.  Appends.
 */
void trace_wakers_text(GString *s, const struct profile *p, bool only_waker);

#endif
