/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_TREE_H
#define ANALYSE_TREE_H

#include "analyse/weight.h"
#include "profile/profile.h"

/*
 * The flame tree of a profile: waits merged by equal paths of labels.  A label is a function, so frames that differ
 * only by line share a node.
 *
 * Node 0 is the root ("all").  A parent's id is smaller than its children's.  For every node: total = self + the sum
 * of its children's totals = the sum of its states[]. The tree borrows strings of the profile, which must outlive it.
 */

#define TREE_NONE UINT32_MAX

/* Limits for hostile recordings: weight below these limits stays on the last node of its path that exists. */
/* a sleeper and a whole chain */
#define TREE_MAX_DEPTH ((PROFILE_CHAIN_MAX + 1) * (2 * PROFILE_DEPTH_MAX + 3) + 2)
#define TREE_MAX_NODES 2000000

/* Contents of a path. */
enum tree_view {
	TREE_SLEEPERS,		/* comm, stacks */
	/* above them the waker's stacks, after "--", innermost first; with chains further wakers */
	TREE_OFFWAKE,
	TREE_WAKERS,		/* the waker's comm and stacks, the sleeper's comm on top */
};

enum tree_kind { TREE_ROOT, TREE_COMM, TREE_USER, TREE_KERNEL, TREE_DELIMITER, TREE_KIND_COUNT };

/* What the thread was doing: blocked time by state letter, then the rest. */
enum tree_state {
	TREE_STATE_SLEEPING,	/* S */
	TREE_STATE_DISK,	/* D */
	TREE_STATE_STOPPED,	/* T, t */
	TREE_STATE_IDLE,	/* I, P, and unknown letters */
	TREE_STATE_RUNNABLE,
	TREE_STATE_PREEMPTED,
	TREE_STATE_ON_CPU,	/* not a wait */
	TREE_STATE_COUNT
};

/* What a node is; equal labels below one parent are one node. */
struct tree_label {
	const char *text;	/* never NULL, not escaped, arbitrary bytes */
	const char *module;	/* path of the file, "[kernel]", or NULL */
	uint8_t kind;		/* enum tree_kind */
	bool waker;		/* belongs to the waker's stack, above the sleeper's */
	uint8_t why;		/* enum frame_why: FRAME_NAMED, or why there is no name */
};

struct tree_node {
	uint32_t label;
	uint32_t parent;	/* TREE_NONE for the root */
	uint32_t first_child, next_sibling;	/* children sorted by label text, ended by TREE_NONE */
	uint32_t depth;		/* root 0 */
	uint64_t self, total;	/* in the unit of the weight */
	uint64_t count;		/* waits */
	uint64_t max_ns;	/* longest wait, off CPU */
	uint64_t states[TREE_STATE_COUNT];	/* total by state */
	/* Source location of all frames of this node, whatever their lines. */
	const char *file;	/* NULL: unknown */
	uint32_t line_first, line_last;	/* 0: unknown */
	bool has_other_files;	/* some frames are in other files than `file`, to which the lines refer */
	bool has_inlined, has_called;	/* some frames were inlined, some called */
};

struct tree {
	GArray *labels;		/* struct tree_label */
	GArray *nodes;		/* struct tree_node */
	enum weight weight;
	enum tree_view view;
	bool has_chains;	/* paths of TREE_OFFWAKE continue beyond the first waker */
	bool reverse;
	const char *rows_are;	/* see struct profile_info */
	/* enum profile_unknown of the profile: counts, states and durations not to be shown */
	uint32_t unknown;
	/* private */
	GStringChunk *strings;
	GHashTable *label_index;
	struct tree_table *table;
};

struct tree_options {
	enum weight weight;
	enum tree_view view;
	bool reverse;		/* leaf first: merge from the leaves, with comm at the far end */
	bool by_thread;		/* "comm-pid/tid" instead of "comm" */
	bool delimiters;	/* add a frame "-" between user and kernel frames */
	const bool *keep;	/* by wait; NULL: all */
	const bool *idle;	/* by wait: of these only the run-queue time; NULL: none */
};

/* An event to add manually: its weight is the sum of states[]. */
struct tree_event {
	uint64_t states[TREE_STATE_COUNT];
	uint64_t count;
	uint64_t max_ns;
};

struct tree *tree_from_profile(const struct profile *p, const struct tree_options *options);

/* Builds a tree manually: labels, then paths of label ids, root first, then tree_finish() once. */
struct tree *tree_new(enum weight weight, bool reverse);
uint32_t tree_label(struct tree *t, const struct tree_label *label);	/* text and module are copied */
/* The label of a frame; `text` is scratch. */
uint32_t tree_label_of_frame(struct tree *t, const struct frame *f, bool waker, GString *text);
/* Finds or adds the child with that label; TREE_NONE: the tree is full. */
uint32_t tree_child(struct tree *t, uint32_t parent, uint32_t label);
/* frames: by position in the path, NULL for elements that are not frames; NULL: no frames. */
/* Returns the last node of the path. */
uint32_t tree_add(struct tree *t, const uint32_t *path, const struct frame *const *frames, size_t path_cnt,
	      const struct tree_event *event);
void tree_finish(struct tree *t);
void tree_free(struct tree *t);	/* NULL is fine */

static inline const struct tree_node *tree_node(const struct tree *t, uint32_t i)
{
	return &g_array_index(t->nodes, struct tree_node, i);
}
static inline const struct tree_label *tree_node_label(const struct tree *t, uint32_t i)
{
	return &g_array_index(t->labels, struct tree_label, tree_node(t, i)->label);
}
/* The next node in depth-first order, parents first; TREE_NONE at the end.  skip: skip i's subtree. */
uint32_t tree_next(const struct tree *t, uint32_t i, bool skip);
/* The state with most of the node's weight. */
enum tree_state tree_dominant_state(const struct tree_node *n);

#endif
