/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/perfetto.h"

#include "base/wire.h"

void perfetto_end_packet(struct writer *writer, GString *packet)
{
	wire_uint(packet, PACKET_SEQUENCE, SEQUENCE_ID);
	wire_message(writer_text(writer), TRACE_PACKET, packet);
	g_string_truncate(packet, 0);
	writer_flush(writer);
}

void perfetto_put_event(GString *packet, GString *event, unsigned type, uint64_t track, uint64_t ns,
			const char *category, const char *name)
{
	wire_uint(event, EVENT_TYPE, type);
	wire_uint(event, EVENT_TRACK, track);
	if (name) {
		wire_string(event, EVENT_CATEGORY, category);
		wire_string(event, EVENT_NAME, name);
	}
	wire_uint(packet, PACKET_TIMESTAMP, ns);
	wire_uint(packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	wire_message(packet, PACKET_TRACK_EVENT, event);
	g_string_truncate(event, 0);
}

void perfetto_put_sample(GString *packet, const struct perfetto_sample *s)
{
	g_autoptr(GString) task = g_string_new(NULL), sample = g_string_new(NULL);

	wire_uint(task, TASK_PID, s->pid);
	wire_uint(task, TASK_TID, s->tid);
	wire_message(sample, SAMPLE_TASK, task);
	wire_uint(sample, SAMPLE_CALLSTACK_IID, s->stack);
	wire_uint_always(sample, SAMPLE_WEIGHT, s->weight_ns);
	wire_uint(packet, PACKET_TIMESTAMP, s->ns);
	wire_uint(packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	wire_message(packet, PACKET_STACK_SAMPLE, sample);
}

void perfetto_append_clock(GString *snapshot, GString *scratch, unsigned clock, uint64_t ns)
{
	g_string_truncate(scratch, 0);
	wire_uint(scratch, CLOCK_ID, clock);
	wire_uint_always(scratch, CLOCK_TIMESTAMP, ns);
	wire_message(snapshot, CLOCKS_CLOCK, scratch);
}

void perfetto_append_defaults(GString *packet, unsigned clock, const char *rows_are)
{
	g_autoptr(GString) descriptor = g_string_new(NULL), sample = g_string_new(NULL), defaults = g_string_new(NULL);

	wire_string(descriptor, DESCRIPTOR_NAME, rows_are ? rows_are : "off-cpu");
	wire_uint(descriptor, DESCRIPTOR_UNIT, UNIT_IS_NANOSECONDS);
	wire_string(sample, SAMPLE_DEFAULTS_SOURCE, "linux.offcpu");
	wire_message(sample, SAMPLE_DEFAULTS_DESCRIPTOR, descriptor);
	wire_message(defaults, DEFAULTS_STACK_SAMPLE, sample);
	wire_uint(defaults, PACKET_CLOCK, clock);
	wire_message(packet, PACKET_DEFAULTS, defaults);
	wire_uint(packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_CLEARED);
}
