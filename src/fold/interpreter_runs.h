/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_INTERPRETER_RUNS_H
#define FOLD_INTERPRETER_RUNS_H

#include "abi/offcpu_abi.h"
#include "profile/profile.h"

/*
 * A stripped interpreter's own functions have no names, and between functions of the language their addresses tell
 * nothing: one of these functions may have many ways through C.  So each run of them is one frame, "[python3.11]".
 */

/* Spots are what the caller keeps of frames: these tell the frame of one, and make one of a frame. */
struct fold_spots {
	uint32_t (*frame_of)(const void *ctx, uint32_t spot);
	uint32_t (*spot_of)(void *ctx, uint32_t frame);
	void *ctx;
};

/* The interpreter's file, where a stack as it was walked has functions of a language; NULL: it has none. */
const char *fold_methods_module(const struct profile *p, const struct offcpu_rec_stack *rec, const uint32_t *frames,
				unsigned cnt);

/* module: the interpreter's file, or NULL.  Spots become fewer, and how many is returned. */
unsigned fold_interpreter_runs(struct profile *p, const struct fold_spots *by, const char *module, uint32_t *spots,
			       unsigned cnt);

#endif
