/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_TIME_OFFSET_H
#define ATTACH_TIME_OFFSET_H

#include <glib.h>
#include <stdbool.h>

/*
 * In a time namespace with an offset our clocks are not those that BPF programs, perf events and the threads' start
 * times tell.  False with a sentence there.
 */
bool time_offset_check(GError **error);

#endif
