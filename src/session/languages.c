/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Interpreters' own stacks and who held their locks: bpf/language.bpf.h is the kernel's half, which supply/ tells
 * where interpreters are.
 */
#include "fold/fold.h"
#include "session/parts.h"
#include "session/probe.h"

static const struct session_record records[] = {
	{ OFFCPU_REC_LANGUAGE, .fold = fold_language },
	{ OFFCPU_REC_GIL, .fold = fold_gil },
	{ 0 },
};

const struct session_probe probe_languages = { .name = "languages", .records = records };
