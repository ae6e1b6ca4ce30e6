/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_RANGE_H
#define ANALYSE_RANGE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

/*
 * A point in time of a recording:
 *   12.5, 12.5s, 500ms, 2m     time since the window's start
 *   -10s                       time before its end
 *   14:32, 14:32:18.5          a clock time on the day of the window's start, or on the next if only that is within
 *   2026-11-25T14:32[:18.5]    with its day; a space may replace the T; Z or +02:00 may follow
 * Clock times without an offset are local.
 */

/* In nanoseconds since the window's start; may be negative or after its end.  False on error. */
bool range_parse_time(const char *text, const struct profile_info *info, int64_t *ret_ns, GError **error);
/* Only the last form, in nanoseconds since 1970; false: another form, or before 1970. */
bool range_parse_unix(const char *text, uint64_t *ret_unix_ns);
/* Checks the syntax without a recording. */
bool range_check_time(const char *text, GError **error);

/*
 * The same without a recording, in nanoseconds of CLOCK_REALTIME: a clock time of today, or of yesterday if it is not
 * that late yet; one with its day; or -10m before now.
 */
bool range_parse_moment(const char *text, uint64_t now_unix_ns, uint64_t *ret_unix_ns, GError **error);

/* Both ends of a range within the window, NULL: the window's edge.  False on error: the range is empty. */
bool range_parse(const char *from, const char *to, const struct profile_info *info, uint64_t *ret_from_ns,
		 uint64_t *ret_to_ns, GError **error);

/*
 * A point in time of the past; local unless it says otherwise:
 *   now, -90s, -15m, -2h, -1d, -1w         time before now
 *   14:32, 14:32:18.5                      the last time it was that late
 *   today 14:32, yesterday 14:32, tue 14:32, tuesday 14:32     on the last such day before today; alone: its beginning
 *   2026-11-25, 2026-11-25 14:32, 2026-11-25T14:32:18Z, 2026-11-25T14:32+01:00
 *   @1764081138, @1764081138.5             seconds since 1970
 */
bool moment_parse(const char *text, uint64_t now_unix_ns, uint64_t *ret_unix_ns, GError **error);

/*
 * The end of a range that begins at `from`.  A clock time without a day is the next one after `from` if that names its
 * day ("tue 14:00" to "15:00"), or if the last such time is before it: "14:00" to "15:00" at 14:40 means until now.
 */
bool moment_parse_end(const char *text, const char *from, uint64_t from_unix_ns, uint64_t now_unix_ns,
		      uint64_t *ret_unix_ns, GError **error);

#define MOMENT_RANGE_USUAL_NS (UINT64_C(3600) * 1000 * 1000 * 1000)

/*
 * A range of the past with from and to as above; to NULL: now, from NULL: usual_ns before `to`.  dashes: "--" if from
 * and to are options, for error messages.  False on error.
 */
bool moment_range(const char *from, const char *to, const char *dashes, uint64_t usual_ns, uint64_t now_unix_ns,
		  uint64_t *ret_from_unix_ns, uint64_t *ret_to_unix_ns, GError **error);

#endif
