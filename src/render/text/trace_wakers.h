/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_TRACE_WAKERS_H
#define RENDER_TRACE_WAKERS_H

#include "profile/profile.h"

/*
 * `offcpu trace --offwake`: per wait and waker, the waker and its stacks, outermost first; "--"; the sleeper's,
 * innermost first; the sleeper; microseconds from falling asleep to the CPU. Ascending.  Where no waker is known
 * "[unknown]" or, where nobody had come yet, "[still asleep]" stands for it.  only_waker: `--wakeup`, without the
 * sleeper's stacks.  Appends.
 */
void trace_wakers_text(GString *s, const struct profile *p, bool only_waker);

#endif
