/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_RANGE_H
#define ANALYSE_RANGE_H

#include "profile/profile.h"

/*
 * An instant of a recording, as people say it:
 *   12.5, 12.5s, 500ms, 2m     so long after the window's start
 *   -10s                       so long before its end
 *   14:32, 14:32:18.5          a clock time, of the day on which the window began, or of the next where only that lies in it
 *   2026-11-25T14:32[:18.5]    with its day; a space will do for the T; Z or +02:00 may follow
 * Clock times without an offset are local.
 */

/*
 * In nanoseconds since the window's start, which may be before it (negative) or after its end.  False with one
 * sentence.
 */
bool range_parse_time(const char *text, const struct profile_info *info, int64_t *ret_ns, GError **error);
/* The last kind of these alone, in nanoseconds since 1970; false: it is none, or before that. */
bool range_parse_unix(const char *text, uint64_t *ret_unix_ns);
/* Is it such a text?  Without a recording. */
bool range_check_time(const char *text, GError **error);

/*
 * The same without a recording, in nanoseconds of CLOCK_REALTIME: a clock time of today, or of yesterday where it is
 * not yet that late, one with its day, or -10m before now.
 */
bool range_parse_moment(const char *text, uint64_t now_unix_ns, uint64_t *ret_unix_ns, GError **error);

/*
 * Both of them, NULL being the window's edge: what of the window lies between.  False with one sentence: nothing
 * does.
 */
bool range_parse(const char *from, const char *to, const struct profile_info *info, uint64_t *ret_from_ns,
		 uint64_t *ret_to_ns, GError **error);

#endif
