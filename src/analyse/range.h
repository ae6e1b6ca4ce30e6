/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_RANGE_H
#define ANALYSE_RANGE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

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

/*
 * An instant of the past, as people say it; local time unless it says otherwise:
 *   now, -90s, -15m, -2h, -1d, -1w         so long before now
 *   14:32, 14:32:18.5                      the last time it was that late
 *   today 14:32, yesterday 14:32, tue 14:32, tuesday 14:32     of that day, the last such one before today; alone: its beginning
 *   2026-11-25, 2026-11-25 14:32, 2026-11-25T14:32:18Z, 2026-11-25T14:32+01:00
 *   @1764081138, @1764081138.5             seconds since 1970
 */
bool moment_parse(const char *text, uint64_t now_unix_ns, uint64_t *ret_unix_ns, GError **error);

/*
 * The end of a range that begins at from.  A clock time alone is the next one after it where that names its day too
 * ("tue 14:00" to "15:00"), or where the last such time lies before it: "14:00" to "15:00" at 14:40 is up to now.
 */
bool moment_parse_end(const char *text, const char *from, uint64_t from_unix_ns, uint64_t now_unix_ns,
		      uint64_t *ret_unix_ns, GError **error);

#define MOMENT_RANGE_USUAL_NS (UINT64_C(3600) * 1000 * 1000 * 1000)

/*
 * A range of the past, from and to as above; to NULL: now, from NULL: usual_ns before that.  dashes: "--" where from and to
 * are options, for the sentence of a false.
 */
bool moment_range(const char *from, const char *to, const char *dashes, uint64_t usual_ns, uint64_t now_unix_ns,
		  uint64_t *ret_from_unix_ns, uint64_t *ret_to_unix_ns, GError **error);

#endif
