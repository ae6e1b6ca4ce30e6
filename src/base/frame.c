/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/frame.h"

const char *frame_why_text(enum frame_why why)
{
	switch (why) {
	case FRAME_NAMED: return "named";
	case FRAME_NO_SYMBOLS: return "no symbols in file";
	case FRAME_NOT_MAPPED: return "not mapped";
	case FRAME_PROCESS_GONE: return "process gone or hidden";
	case FRAME_NO_FILE: return "file unreadable";
	case FRAME_PENDING: return "stack lost";
	case FRAME_WHY_COUNT: break;
	}
	return "unknown";
}

const char *stack_end_text(enum stack_end end)
{
	switch (end) {
	case STACK_NONE: return "none";
	case STACK_COMPLETE: return "complete";
	case STACK_TRUNCATED: return "truncated";
	case STACK_BROKEN: return "broken";
	case STACK_PENDING: return "pending";
	case STACK_END_COUNT: break;
	}
	return "unknown";
}
