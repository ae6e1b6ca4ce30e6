/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXCHANGE_PERFETTO_PACKET_H
#define EXCHANGE_PERFETTO_PACKET_H

#include <glib.h>
#include <stdint.h>

#include "exchange/perfetto.h"
#include "exchange/sink.h"

/* What both writers of Perfetto's traces do alike: packets of one sequence. */

/* Writes the packet, and begins the next one in its place. */
void perfetto_end_packet(struct writer *writer, GString *packet);

/* Another clock of a ClockSnapshot, and what it showed; scratch: of the caller, its text is lost. */
void perfetto_append_clock(GString *snapshot, GString *scratch, unsigned clock, uint64_t ns);

/*
 * What samples are, and by which clock times are, from this packet of the sequence on; it begins anew there.  rows_are
 * NULL: time off CPU.
 */
void perfetto_append_defaults(GString *packet, unsigned clock, const char *rows_are);

#endif
