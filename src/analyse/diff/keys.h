/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_DIFF_KEYS_H
#define ANALYSE_DIFF_KEYS_H

#include "analyse/diff/diff.h"
#include "analyse/plumbing.h"
#include "analyse/reason/reasons.h"
#include "profile/profile.h"

/*
 * What waits of two recordings have in common, as numbers that are the same on both sides: private to the diff.
 * Names are compared as diff_name_append() spells them and shown as AFTER has them.
 */

/* A part of a wait's time and what it counts for. */
struct diff_part {
	uint32_t key;
	uint64_t ns;
	bool is_main;		/* the wait counts here, with its duration */
};

/* What is known of one side. */
struct diff_side_keys {
	const struct profile *p;
	struct row_batches *batches;	/* see merge.h; NULL: none */
	struct plumbing *plumbing;	/* of the reasons */
	struct reasons *reasons;
	const char **comms, **processes;	/* by thread: as they are compared */
	/* by thread: standard error of any time of it by when it began and ended, a share of that time */
	double *lives;
	uint32_t *comm_labels;	/* by thread: label in the tree */
	uint32_t *labels;	/* by frame: label in the tree */
	uint32_t *paths;	/* by wait: node in the tree */
	uint32_t *locks;	/* lock_ids_new() */
	GHashTable *by_pointer;	/* of strings that are one pointer each: key + 1 */
};

struct diff_keys {
	struct tree *tree;
	struct diff_side_keys side[DIFF_SIDES];
	GHashTable *names;	/* as compared -> number of the name + 1 */
	GPtrArray *shown;	/* by number: as shown */
	GStringChunk *strings;
	GHashTable *frame_labels;	/* kind and name as compared -> label + 1 */
	GArray *stack_nodes;	/* by key of a stack: its node */
	GHashTable *stack_keys;	/* node, and whether it is preempted -> key + 1 */
	struct diff_moves *moves;
	bool are_whole_runs;
	uint64_t *blocked_ns, *idle_ns;	/* by node: of both sides' selected waits that end there */
	uint32_t *stamps;	/* by label: the last wait that has it, see functions of a wait */
	uint32_t stamp;
};

struct diff_keys *diff_keys_new(const struct profile *before, const struct profile *after);
void diff_keys_free(struct diff_keys *k);

/* Appends the parts (struct diff_part) of a wait. */
void diff_keys_of(struct diff_keys *k, enum diff_side side, enum diff_by by, uint32_t wait, GArray *parts);
/*
 * Adds what a side's stacks tell of idle time, once these are where they belong.  What is idle on one side alone would
 * look as if it came or went: most of both sides' time decides, for all that the diff is asked.
 */
void diff_keys_note_idle(struct diff_keys *k, enum diff_side side, const struct selection *selection);
bool diff_keys_is_idle(const struct diff_keys *k, enum diff_side side, uint32_t wait);
/* What a row of that key is called; borrowed. */
const char *diff_keys_text(const struct diff_keys *k, enum diff_by by, uint32_t key);
/* A number for a name that is compared as `name` and shown as `shown`. */
uint32_t diff_keys_name(struct diff_keys *k, const char *name, const char *shown);

/* What move.c finds: by node of the tree, where the waits that end there belong; 0: they stay. */
struct diff_moves {
	uint32_t *to[DIFF_SIDES];
	uint32_t *was;		/* by node: that of the stack of BEFORE that only moved there; 0: none */
	bool all;		/* every stack that matters was looked at */
};

/* weights: by node, time of the waits that end there, of each side. */
struct diff_moves *diff_moves_new(const struct tree *t, const uint64_t *const weights[DIFF_SIDES], bool same_kernel);
void diff_moves_free(struct diff_moves *moves);

/*
 * Names by which two recordings are compared.  Another build, another version of a library or another compiler spells
 * the name of a function differently; what is spelled here is only compared and never shown.
 */

/*
 * Appends the name without what a build adds to it: ".constprop.0", ".part.1", ".isra.0", ".cold", ".llvm.123", "
 * [clone ...]", "@@GLIBC_2.34", Rust's "::h0123456789abcdef", "[abi:cxx11]", numbers of lambdas, std's inline
 * namespaces, default allocators and the like, and blanks that compilers set differently.
 */
void diff_name_append(GString *s, const char *name);

/* The same, without template arguments and parameters: "ns::queue<int>::push(int)" is "ns::queue::push". */
void diff_name_append_loose(GString *s, const char *name);

/* The frame's name; "libfoo.so+?" for one without a name, whatever the version of the library and the address. */
void diff_name_append_frame(GString *s, const struct frame *f, bool loose);

/* "kworker/#:#": every number as one sign. */
void diff_name_append_numberless(GString *s, const char *comm);

#endif
