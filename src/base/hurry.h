/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_HURRY_H
#define BASE_HURRY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * When a user waits for this process's end it ends with what it has. On a machine with many programs and no free CPU,
 * looking up names could take half a minute. So name look-ups end this long after the request, and names not found by
 * then are missing.
 */
#define HURRY_MS 500

/* A signal that requests the end was taken. */
void hurry_begin(void);
/* Sets a limit in advance: a recording that ends in time is not waited for longer than this. */
void hurry_after_ms(int64_t ms);
/* SIGHUP does not end this process. */
void hurry_not_by_hangup(void);
/* Was the end requested? By hurry_begin(), or by a blocked signal, since recorders take those only when they wait. */
bool hurry_is_asked(void);
/* Was it requested longer ago than the limit? Then callers skip slow work, and that is counted. */
bool hurry_is_over(void);
uint64_t hurry_left_out(void);
/* This thread works ahead: its time is over as soon as the end is requested, and nothing is counted as missing. */
void hurry_for_later(bool is);

#endif
