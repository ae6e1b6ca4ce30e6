/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SUPPLY_RUNTIMES_H
#define SUPPLY_RUNTIMES_H

#include "abi/language_abi.h"
#include "supply/made_code.h"

/* What runs in a program that the kernel programs have to be told of. */
struct runtimes {
	struct offcpu_language language;	/* version 0: none is known of */
	struct made_code *made;	/* NULL: no code is made at run time, or none that is known */
	uint32_t v8;		/* see struct space */
	bool met_speaker, met_maker, met_v8;	/* among the files just met */
	int64_t pause_us, due_us;	/* an interpreter that is not ready yet is looked for again then, and ever more seldom */
};

/* Its files are met anew. */
void runtimes_begin(struct runtimes *r);
void runtimes_meet(struct runtimes *r, const char *path);
/* Looks for what was not found so far. */
void runtimes_look(struct runtimes *r, uint32_t pid, struct slabs *slabs, struct retired_tables *retired);
/* When to look whether an interpreter is ready by now; INT64_MAX: there is none to be looked for. */
int64_t runtimes_due_us(const struct runtimes *r);
/* Looks if it is due; true when the interpreter is found, which has to be handed over then. */
bool runtimes_look_again(struct runtimes *r, uint32_t pid);

#endif
