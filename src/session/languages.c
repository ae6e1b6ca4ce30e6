/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Interpreters' own stacks and who held their locks: bpf/language.bpf.h is the kernel's half, which supply/ tells
 * where interpreters are.
 */
#include "fold/fold.h"
#include "session/parts.h"
#include "session/probe.h"

static void take_language(struct session *s, void *state, const void *record, size_t size)
{
	(void)state;
	fold_language(s->fold, record, size);
}

static void take_gil(struct session *s, void *state, const void *record, size_t size)
{
	(void)state;
	fold_gil(s->fold, record, size);
}

static const struct session_record records[] = {
	{ OFFCPU_REC_LANGUAGE, take_language }, { OFFCPU_REC_GIL, take_gil }, { 0, NULL },
};

const struct session_probe probe_languages = { .name = "languages", .records = records };
