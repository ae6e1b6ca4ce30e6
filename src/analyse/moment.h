/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_MOMENT_H
#define ANALYSE_MOMENT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

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
