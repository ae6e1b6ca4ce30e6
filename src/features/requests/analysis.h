/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_ANALYSIS_H
#define FEATURES_REQUESTS_ANALYSIS_H

#include <stdint.h>

#include "abi/offcpu_abi.h"
#include "features/requests/abi.h"
#include "features/requests/rows.h"
#include "profile/profile.h"

#define REQUEST_OCTAVES OFFCPU_HIST_SLOTS

/* The latency that `share` of the requests do not exceed, accurate to a sixteenth. 0 without requests. */
uint64_t request_percentile(const struct offcpu_request_sum *sum, double share);

/* The same counts as powers of two: slot i holds [2^i, 2^(i + 1)) ns. */
void request_octaves(const struct offcpu_request_sum *sum, uint64_t ret_counts[REQUEST_OCTAVES]);

/* Waits of requests open at the window's end, longest first: indexes, uint32_t; free with g_array_unref(). */
GArray *requests_open_waits(const struct profile *p);

#endif
