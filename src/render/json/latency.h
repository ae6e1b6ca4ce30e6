/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_JSON_LATENCY_H
#define RENDER_JSON_LATENCY_H

#include "analyse/request_cells.h"

/* "offcpu.requests/1": requests of a history over time (docs/agent.md). */
void json_latency(GString *out, const struct request_line *l);

#endif
