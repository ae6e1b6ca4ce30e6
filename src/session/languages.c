/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Interpreters' own stacks and who held their locks, and threads' trace contexts: bpf/language.bpf.h and
 * bpf/context.bpf.h are the kernel's half, which supply/ tells where these are.
 */
#include "abi/context_abi.h"
#include "fold/fold.h"
#include "session/parts.h"
#include "session/probe.h"

static const struct session_record records[] = {
	{ OFFCPU_REC_LANGUAGE, .fold = fold_language },
	{ OFFCPU_REC_GIL, .fold = fold_gil },
	{ OFFCPU_REC_CONTEXT, .fold = fold_context },
	{ OFFCPU_REC_TRACE, .fold = fold_trace },
	{ 0 },
};

const struct session_probe probe_languages = { .name = "languages", .records = records };
