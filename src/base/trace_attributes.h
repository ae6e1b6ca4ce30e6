/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_TRACE_ATTRIBUTES_H
#define BASE_TRACE_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Attributes of traces that rows are told apart by, by OpenTelemetry's semantic conventions and Datadog's names.  Ids of
 * requests and users never are: they have no bound.
 */

#define TRACE_METHOD "http.request.method"
#define TRACE_RPC_SERVICE "rpc.service"

/*
 * Labels of goroutines that say the trace and the span, in hexadecimal digits: Pyroscope's library for OpenTelemetry sets
 * them (grafana/otel-profiling-go).
 */
#define TRACE_LABEL_TRACE "trace_id"
#define TRACE_LABEL_SPAN "span_id"

/* Those that say the route of a request; where there are several the first one counts.  NULL ends them. */
extern const char *const trace_routes[];
bool trace_attribute_is_route(const char *name);

/* Is it one of those, or says something beside the route, or was it asked for? */
bool trace_attribute_is_wanted(const char *name);
/* Names of labels that are wanted, each once, those of trace and span, too, short ones first, as long as there is room; how many.  Of `bytes_max` at most. */
unsigned trace_attributes_wanted(size_t bytes_max, const char **ret, unsigned room);
/* Asks for these, too, in all of this process: before anything is recorded.  Borrowed; NULL ends them, or is none. */
void trace_attributes_want(char *const *names);

#endif
