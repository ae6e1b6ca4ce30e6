/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/interpreter_runs.h"

#include "abi/unwind_abi.h"
#include "base/module.h"
#include "symbolize/runtime/runtime_files.h"

static uint32_t run_frame(struct profile *p, const char *module)
{
	g_autofree char *name = g_strdup_printf("[%s]", module_base_name(module));
	const struct frame f = { .name = name, .module = module, .kind = FRAME_USER };

	return profile_frame(p, &f);
}

const char *fold_methods_module(const struct profile *p, const struct offcpu_rec_stack *rec, const uint32_t *frames,
				unsigned cnt)
{
	bool has_methods = false;

	for (unsigned i = 0; rec->is_user && i < rec->depth && !has_methods; i++)
		has_methods = unwind_is_method(rec->ip[i]);
	for (unsigned i = 0; has_methods && i < cnt; i++) {
		const char *module = profile_get_frame(p, frames[i])->module;

		if (module && runtime_of_file(module) != RUNTIME_CNT)
			return module;
	}
	return NULL;
}

static bool is_bare(const struct frame *f, const char *module)
{
	return f->kind == FRAME_USER && !f->name && f->module == module;	/* which is interned */
}

unsigned fold_interpreter_runs(struct profile *p, const struct fold_spots *by, const char *module, uint32_t *spots,
			       unsigned cnt)
{
	bool is_run = false;
	unsigned kept = 0;

	for (unsigned i = 0; module && i < cnt; i++) {
		bool is_next = is_bare(profile_get_frame(p, by->frame_of(by->ctx, spots[i])), module);

		if (!is_next)
			spots[kept++] = spots[i];
		else if (!is_run)
			spots[kept++] = by->spot_of(by->ctx, run_frame(p, module));
		is_run = is_next;
	}
	return module ? kept : cnt;
}
