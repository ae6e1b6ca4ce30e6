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
	bool is_early;		/* its interpreter has not begun */
	uint8_t early_cnt;	/* so often */
};

/* Its files are met anew. */
void runtimes_begin(struct runtimes *r);
void runtimes_meet(struct runtimes *r, const char *path);
/* Looks for what was not found so far. */
void runtimes_look(struct runtimes *r, uint32_t pid, struct slabs *slabs, struct retired_tables *retired);
/*
 * After how long to look again at an interpreter that has not begun, and need not map anything more; 0: there is no use
 * in it.
 */
int64_t runtimes_again_us(struct runtimes *r);

#endif
