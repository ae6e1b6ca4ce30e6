/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "supply/runtimes.h"

#include "abi/unwind_abi.h"
#include "symbolize/runtime/language.h"
#include "symbolize/runtime/runtime_files.h"
#include "symbolize/runtime/v8_layout.h"

#define EARLY_US 100000
#define EARLY_MAX 6

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

void runtimes_look(struct runtimes *r, uint32_t pid, struct slabs *slabs, struct retired_tables *retired)
{
	struct v8 v8;

	r->is_early = false;
	if (r->met_speaker && !r->language.version)
		language_find("/proc", pid, &r->language, &r->is_early);
	if (r->met_v8 && !r->v8 && v8_open(&v8, "/proc", pid))
		r->v8 = unwind_v8_offsets(v8.function_shared, v8.shared_number);
	if (r->met_maker && !r->made)
		r->made = made_code_new(slabs, retired, pid);
}

/* A program that has an interpreter inside need not ever begin it. */
int64_t runtimes_again_us(struct runtimes *r)
{
	return r->is_early && r->early_cnt < EARLY_MAX ? EARLY_US << r->early_cnt++ : 0;
}
