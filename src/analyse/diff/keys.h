/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_DIFF_KEYS_H
#define ANALYSE_DIFF_KEYS_H

#include "analyse/diff/diff.h"
#include "analyse/plumbing.h"
#include "analyse/reason/reasons.h"
#include "profile/profile.h"

/*
 * Properties of waits of two recordings as numbers that are equal on both sides.  Private to the diff.  Names are
 * compared as spelled by diff_name_append(), and shown as in AFTER.
 */

/* A part of a wait's time and its key. */
struct diff_part {
	uint32_t key;
	uint64_t ns;
	bool is_main;		/* the wait is counted here, with its duration */
};

/* Data of one side. */
struct diff_side_keys {
	const struct profile *p;
	struct row_batches *batches;	/* see merge.h; NULL: none */
	struct plumbing *plumbing;	/* owned by the reasons */
	struct reasons *reasons;
	const char **comms, **processes;	/* by thread: spelled for comparison */
	/* by thread: relative standard error of its time due to its begin and end */
	double *lives;
	uint32_t *comm_labels;	/* by thread: label in the tree */
	uint32_t *labels;	/* by frame: label in the tree */
	uint32_t *paths;	/* by wait: node in the tree */
	uint32_t *locks;	/* lock_ids_new() */
	GHashTable *by_pointer;	/* interned string -> key + 1 */
};

struct diff_keys {
	struct tree *tree;
	struct diff_side_keys side[DIFF_SIDES];
	GHashTable *names;	/* name spelled for comparison -> its number + 1 */
	GPtrArray *shown;	/* by number: as shown */
	GStringChunk *strings;
	GHashTable *frame_labels;	/* kind and name spelled for comparison -> label + 1 */
	GArray *stack_nodes;	/* by key of a stack: its node */
	GHashTable *stack_keys;	/* node, and whether preempted -> key + 1 */
	struct diff_moves *moves;
	bool are_whole_runs;
	uint64_t *blocked_ns, *idle_ns;	/* by node: time of both sides' selected waits that end there */
	uint32_t *stamps;	/* by label: the last wait that contains it, see by_function() */
	uint32_t stamp;
};

struct diff_keys *diff_keys_new(const struct profile *before, const struct profile *after);
void diff_keys_free(struct diff_keys *k);

/* Appends the parts (struct diff_part) of a wait. */
void diff_keys_of(struct diff_keys *k, enum diff_side side, enum diff_by by, uint32_t wait, GArray *parts);
/*
 * Adds a side's idle time by stack, once stacks are at their final place.  For the diff, a stack is idle if most of
 * its time on both sides is: one that is idle on one side only would seem to appear or vanish.
 */
void diff_keys_note_idle(struct diff_keys *k, enum diff_side side, const struct selection *selection);
bool diff_keys_is_idle(const struct diff_keys *k, enum diff_side side, uint32_t wait);
/* Name of the row with that key; borrowed. */
const char *diff_keys_text(const struct diff_keys *k, enum diff_by by, uint32_t key);
/* The number of a name that is compared as `name` and shown as `shown`. */
uint32_t diff_keys_name(struct diff_keys *k, const char *name, const char *shown);

/* Results of move.c: by node of the tree, where the waits that end there belong; 0: unchanged. */
struct diff_moves {
	uint32_t *to[DIFF_SIDES];
	uint32_t *was;		/* by node: node in BEFORE of the stack that moved there; 0: none */
	bool all;		/* every relevant stack was considered */
};

/* weights: by side and node, time of the waits that end there. */
struct diff_moves *diff_moves_new(const struct tree *t, const uint64_t *const weights[DIFF_SIDES], bool same_kernel);
void diff_moves_free(struct diff_moves *moves);

/*
 * Names by which two recordings are compared.  Builds, library versions and compilers spell function names
 * differently. These spellings are only compared and never shown.
 */

/*
 * Appends the name without what depends on the build: ".constprop.0", ".part.1", ".isra.0", ".cold", ".llvm.123", "
 * [clone ...]", "@@GLIBC_2.34", Rust's "::h0123456789abcdef", "[abi:cxx11]", numbers of lambdas, std's inline
 * namespaces, default allocators and the like, and blanks.
 */
void diff_name_append(GString *s, const char *name);

/* Also without template arguments and parameters: "ns::queue<int>::push(int)" becomes "ns::queue::push". */
void diff_name_append_loose(GString *s, const char *name);

/* The frame's name; "libfoo.so+?" for one without a name, independent of the library's version and the address. */
void diff_name_append_frame(GString *s, const struct frame *f, bool loose);

/* "kworker/#:#": every number is replaced by one character. */
void diff_name_append_numberless(GString *s, const char *comm);

#endif
