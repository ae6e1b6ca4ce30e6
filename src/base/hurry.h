/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_HURRY_H
#define BASE_HURRY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Somebody waits for this process's end, so it ends with what it has.  A machine with many programs and no CPU to spare
 * keeps whoever looks for names busy for half a minute.  So names are looked for so long from then on, and those that
 * were not found by then are missing.
 */
#define HURRY_MS 500

/* A signal that asks for the end was taken. */
void hurry_begin(void);
/* It will be then, by itself: whoever ends a recording in time is waited for no longer than that. */
void hurry_after_ms(int64_t ms);
/* SIGHUP does not ask for the end of this process. */
void hurry_not_by_hangup(void);
/* It is asked for: by hurry_begin(), or by a signal that is held back, since recorders take those when they wait. */
bool hurry_is_asked(void);
/* It was asked for that long ago: whoever calls this leaves out what takes long, and that is counted. */
bool hurry_is_over(void);
uint64_t hurry_left_out(void);
/* This thread works for the time to come: that is over as soon as the end is asked for, and nothing is left out. */
void hurry_for_later(bool is);

#endif
