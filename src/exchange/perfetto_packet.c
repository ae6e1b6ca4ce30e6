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

void perfetto_append_thread(GString *tree, GString *scratch, uint32_t pid, uint32_t tid, const char *comm)
{
	g_string_truncate(scratch, 0);
	wire_uint(scratch, TREE_THREAD_TID, tid);
	wire_string(scratch, TREE_THREAD_NAME, comm);
	wire_uint(scratch, TREE_THREAD_PID, pid);
	wire_message(tree, TREE_THREAD, scratch);
}

void perfetto_annotate(GString *event, GString *scratch, const char *name, unsigned field, uint64_t value)
{
	g_string_truncate(scratch, 0);
	wire_uint_always(scratch, field, value);
	wire_string(scratch, ANNOTATION_NAME, name);
	wire_message(event, EVENT_ANNOTATION, scratch);
}

void perfetto_annotate_text(GString *event, GString *scratch, const char *name, const char *text)
{
	if (!text || !*text)
		return;
	g_string_truncate(scratch, 0);
	wire_string(scratch, ANNOTATION_TEXT, text);
	wire_string(scratch, ANNOTATION_NAME, name);
	wire_message(event, EVENT_ANNOTATION, scratch);
}

void perfetto_intern(GString *interned, GString *scratch, unsigned field, uint64_t iid, const void *text, size_t bytes)
{
	g_string_truncate(scratch, 0);
	wire_uint(scratch, STRING_IID, iid);
	wire_bytes(scratch, STRING_TEXT, text, bytes);
	wire_message(interned, field, scratch);
}

void perfetto_intern_frame(GString *interned, GString *scratch, uint64_t iid, uint64_t mapping, uint64_t pc)
{
	g_string_truncate(scratch, 0);
	wire_uint(scratch, FRAME_IID, iid);
	wire_uint(scratch, FRAME_FUNCTION, iid);
	wire_uint(scratch, FRAME_MAPPING, mapping);
	wire_uint_always(scratch, FRAME_PC, pc);
	wire_message(interned, INTERNED_FRAME, scratch);
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
