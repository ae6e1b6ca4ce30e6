/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SUPPLY_RUNTIMES_H
#define SUPPLY_RUNTIMES_H

#include "abi/context_abi.h"
#include "abi/language_abi.h"
#include "supply/made_code.h"
#include "symbolize/process/maps.h"

/* What runs in a program that the kernel programs have to be told of. */
struct runtimes {
	struct offcpu_language language;	/* version 0: none is known of */
	struct made_code *made;	/* NULL: no code is made at run time, or none that is known */
	uint32_t v8;		/* see struct space */
	bool met_speaker, met_maker, met_v8, met_context;	/* among the mappings just met */
	int64_t pause_us, due_us;	/* an interpreter that is not ready yet is looked for again then, and ever more seldom */
	uint64_t python_key_at;	/* it is CPython: see python_has_begun(); else 0 */
	struct offcpu_context_place context;	/* of its threads' traces, if has_context */
	bool has_context;
	int64_t context_due_us;	/* it may be published late, and its attributes become more */
	unsigned context_looks;
};

/* Its files are met anew. */
void runtimes_begin(struct runtimes *r);
void runtimes_meet(struct runtimes *r, const struct maps_line *line);
/* Looks for what was not found so far. */
void runtimes_look(struct runtimes *r, uint32_t pid, struct slabs *slabs, struct retired_tables *retired);
/* When to look whether an interpreter is ready by now, or a context is there; INT64_MAX: never. */
int64_t runtimes_due_us(const struct runtimes *r);
/* Looks for what is due; true when there is news, which has to be handed over then. */
bool runtimes_look_again(struct runtimes *r, uint32_t pid);

#endif
