/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef LIVE_TRACE_WRITER_H
#define LIVE_TRACE_WRITER_H

#include <stdint.h>

#define EXPORTED __attribute__((visibility("default")))

/* Once: readers outside are told of it all.  In trace_publish.c. */
void trace_publish(void);
/* The calling thread works for that request from here on; the attributes' numbers are traces.c's. */
EXPORTED void trace_attach(uint64_t number, const char *method, const char *route);
EXPORTED void trace_detach(void);
/* What no SDK does: any address for a record. */
EXPORTED void trace_point(void *at);

#endif
