/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_HISTORY_REQUESTS_H
#define CMD_HISTORY_REQUESTS_H

#include "cmd/range.h"

/* `report --history --requests`: latency over time.  An exit status; said why. */
int history_requests(const struct range_args *range, bool is_json);
/* How many requests of a name ended a second; NULL: of the only one that there is.  0: not known, or several. */
double history_request_rate(const struct range_args *range, const char *name);

#endif
