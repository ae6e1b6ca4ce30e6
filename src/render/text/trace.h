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

#endif
