/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/perfetto_packet.h"

#include "base/wire.h"

void perfetto_end_packet(struct writer *writer, GString *packet)
{
	wire_uint(packet, PACKET_SEQUENCE, SEQUENCE_ID);
	wire_message(writer_text(writer), TRACE_PACKET, packet);
	g_string_truncate(packet, 0);
	writer_flush(writer);
}

void perfetto_append_clock(GString *snapshot, GString *scratch, unsigned clock, uint64_t ns)
{
	g_string_truncate(scratch, 0);
	wire_uint(scratch, CLOCK_ID, clock);
	wire_uint_always(scratch, CLOCK_TIMESTAMP, ns);
	wire_message(snapshot, CLOCKS_CLOCK, scratch);
}
