/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_TRACE_ATTRIBUTES_H
#define BASE_TRACE_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Trace attributes that distinguish rows, by OpenTelemetry's semantic conventions and Datadog's names. Ids of requests
 * and users never do: their number is unbounded.
 */

#define TRACE_METHOD "http.request.method"
#define TRACE_RPC_SERVICE "rpc.service"

/*
 * Goroutine labels with the trace and the span in hexadecimal digits: Pyroscope's library for OpenTelemetry sets them
 * (grafana/otel-profiling-go).
 */
#define TRACE_LABEL_TRACE "trace_id"
#define TRACE_LABEL_SPAN "span_id"

/* Attributes with the route of a request; the first one present counts. Ends with NULL. */
extern const char *const trace_routes[];
bool trace_attribute_is_route(const char *name);

/* Is it one of those, or another standard attribute, or was it asked for? */
bool trace_attribute_is_wanted(const char *name);
/*
 * Wanted label names, each once, trace and span too, short ones first, while there is room; returns their number.
 * `bytes_max` limits a name.
 */
unsigned trace_attributes_wanted(size_t bytes_max, const char **ret, unsigned room);
/* Adds wanted ones for all of this process: call it before recording. Borrowed; ends with NULL, or is NULL. */
void trace_attributes_want(char *const *names);

#endif
