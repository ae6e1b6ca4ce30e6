/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXCHANGE_PERFETTO_H
#define EXCHANGE_PERFETTO_H

#include <glib.h>
#include <stdint.h>

#include "exchange/sink.h"

/*
 * Field numbers of Perfetto's trace packets used by both writers: perfetto.c for recordings, perfetto_events.c for
 * single waits.  tests/exchange/proto has them with their names.
 */

enum { TRACE_PACKET = 1 };
enum {
	PACKET_FTRACE = 1,
	PACKET_PROCESS_TREE = 2,
	PACKET_CLOCKS = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_SYSTEM_INFO = 45,
	PACKET_CLOCK = 58,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK_DESCRIPTOR = 60,
	PACKET_STACK_SAMPLE = 135,
};
enum { SEQUENCE_CLEARED = 1, SEQUENCE_NEEDS_STATE = 2, SEQUENCE_ID = 1 };
enum { CLOCKS_CLOCK = 1, CLOCKS_PRIMARY, CLOCK_ID = 1, CLOCK_TIMESTAMP };
enum { CLOCK_IS_REALTIME = 1, CLOCK_IS_MONOTONIC = 3, CLOCK_IS_BOOTTIME = 6 };
enum { TREE_PROCESS = 1, TREE_THREAD, TREE_PROCESS_PID = 1, TREE_PROCESS_CMDLINE = 3 };
enum { TREE_THREAD_TID = 1, TREE_THREAD_NAME, TREE_THREAD_PID };
enum { DEFAULTS_STACK_SAMPLE = 100, SAMPLE_DEFAULTS_SOURCE = 1, SAMPLE_DEFAULTS_DESCRIPTOR };
enum { DESCRIPTOR_NAME = 2, DESCRIPTOR_UNIT, UNIT_IS_NANOSECONDS = 1 };
enum {
	INTERNED_FUNCTION_NAME = 5,
	INTERNED_FRAME,
	INTERNED_CALLSTACK,
	INTERNED_BUILD_ID = 16,
	INTERNED_PATH,
	INTERNED_MAPPING = 19
};
enum { STRING_IID = 1, STRING_TEXT };
enum { FRAME_IID = 1, FRAME_FUNCTION, FRAME_MAPPING, FRAME_PC };
enum { MAPPING_IID = 1, MAPPING_BUILD_ID, MAPPING_PATH = 7 };
enum { SAMPLE_TASK = 1, SAMPLE_CALLSTACK_IID = 6, SAMPLE_WEIGHT = 11 };
enum { TASK_PID = 2, TASK_TID, CALLSTACK_IID = 1, CALLSTACK_FRAME };

enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_THREAD = 4, TRACK_PARENT = 5 };
enum { TRACK_THREAD_PID = 1, TRACK_THREAD_TID = 2 };
enum { EVENT_ANNOTATION = 4, EVENT_TYPE = 9, EVENT_TRACK = 11, EVENT_CATEGORY = 22, EVENT_NAME = 23 };
enum { EVENT_FLOW = 47, EVENT_FLOW_END = 48, EVENT_CALLSTACK_IID = 56 };
enum { EVENT_IS_BEGIN = 1, EVENT_IS_END = 2, EVENT_IS_INSTANT = 3 };
enum { ANNOTATION_BOOL = 2, ANNOTATION_UINT = 3, ANNOTATION_TEXT = 6, ANNOTATION_NAME = 10 };

/* Kernel trace events, in one bundle per CPU. */
enum { BUNDLE_CPU = 1, BUNDLE_EVENT, BUNDLE_LOST };
enum { FTRACE_TIMESTAMP = 1, FTRACE_PID = 2, FTRACE_SWITCH = 4, FTRACE_FLAGS = 5, FTRACE_WAKING = 20 };
enum { FTRACE_IN_HARDIRQ = 8, FTRACE_IN_SOFTIRQ = 16 };
enum { SWITCH_PREV_COMM = 1, SWITCH_PREV_PID, SWITCH_PREV_PRIO, SWITCH_PREV_STATE };
enum { SWITCH_NEXT_COMM = 5, SWITCH_NEXT_PID, SWITCH_NEXT_PRIO };
enum { WAKING_COMM = 1, WAKING_PID, WAKING_PRIO, WAKING_SUCCESS, WAKING_CPU };
enum { SYSTEM_UTSNAME = 1, UTSNAME_SYSNAME = 1, UTSNAME_VERSION, UTSNAME_RELEASE, UTSNAME_MACHINE };

/* Shared by both writers: packets of one sequence. */

/* Writes the packet and empties it for the next one. */
void perfetto_end_packet(struct writer *writer, GString *packet);
/* Appends an event.  `event` holds its annotations and flows, and is emptied.  name NULL: the end of a slice. */
void perfetto_put_event(GString *packet, GString *event, unsigned type, uint64_t track, uint64_t ns,
			const char *category, const char *name);
struct perfetto_sample {
	uint32_t pid, tid;
	guint stack;
	uint64_t weight_ns, ns;
};
void perfetto_put_sample(GString *packet, const struct perfetto_sample *s);

/* Parts of messages.  scratch: the caller's, overwritten. */

/* Appends a thread of a process tree. */
void perfetto_append_thread(GString *tree, GString *scratch, uint32_t pid, uint32_t tid, const char *comm);
/* Append annotations of an event; a text that is NULL or "" is omitted. */
void perfetto_annotate(GString *event, GString *scratch, const char *name, unsigned field, uint64_t value);
void perfetto_annotate_text(GString *event, GString *scratch, const char *name, const char *text);
/* Interns a text or other bytes under a number. */
void perfetto_intern(GString *interned, GString *scratch, unsigned field, uint64_t iid, const void *text, size_t bytes);
/* The same for a frame; its function gets the same number. */
void perfetto_intern_frame(GString *interned, GString *scratch, uint64_t iid, uint64_t mapping, uint64_t pc);
/* Appends a clock and its reading to a ClockSnapshot. */
void perfetto_append_clock(GString *snapshot, GString *scratch, unsigned clock, uint64_t ns);

/*
 * Sets, from this packet of the sequence on, what samples are and which clock times refer to.  Resets the sequence's
 * interned state.  rows_are NULL: off-CPU time.
 */
void perfetto_append_defaults(GString *packet, unsigned clock, const char *rows_are);

#endif
