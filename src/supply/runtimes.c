/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "supply/runtimes.h"

#include "abi/unwind_abi.h"
#include "symbolize/runtime/language.h"
#include "symbolize/runtime/runtime_files.h"
#include "symbolize/runtime/v8_layout.h"

#define FIRST_PAUSE_US 10000

void runtimes_begin(struct runtimes *r)
{
	r->met_speaker = r->met_maker = r->met_v8 = false;
}

void runtimes_meet(struct runtimes *r, const char *path)
{
	r->met_speaker |= language_is_of_file(path);
	r->met_maker |= made_code_is_by(path);
	r->met_v8 |= runtime_of_file(path) == RUNTIME_NODE;
}

/*
 * An interpreter is mapped before it is ready, and need not map anything after that: what it imports may all be built
 * in.  On a busy machine there may be a second in between.
 */
static bool look_for_speaker(struct runtimes *r, uint32_t pid)
{
	bool is_early;

	if (language_find("/proc", pid, &r->language, &is_early))
		return true;
	r->pause_us = MAX(r->pause_us, FIRST_PAUSE_US);
	r->due_us = is_early ? g_get_monotonic_time() + r->pause_us : INT64_MAX;
	return false;
}

static bool lacks_speaker(const struct runtimes *r)
{
	return r->met_speaker && !r->language.version;
}

int64_t runtimes_due_us(const struct runtimes *r)
{
	return lacks_speaker(r) ? r->due_us : INT64_MAX;
}

bool runtimes_look_again(struct runtimes *r, uint32_t pid)
{
	if (runtimes_due_us(r) > g_get_monotonic_time())
		return false;
	r->pause_us += r->pause_us / 2;
	return look_for_speaker(r, pid);
}

void runtimes_look(struct runtimes *r, uint32_t pid, struct slabs *slabs, struct retired_tables *retired)
{
	struct v8 v8;

	if (lacks_speaker(r))
		look_for_speaker(r, pid);
	if (r->met_v8 && !r->v8 && v8_open(&v8, "/proc", pid))
		r->v8 = unwind_v8_offsets(v8.function_shared, v8.shared_number, v8.has_inlined);
	if (r->met_maker && !r->made)
		r->made = made_code_new(slabs, retired, pid);
}
