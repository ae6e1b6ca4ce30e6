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

#endif
