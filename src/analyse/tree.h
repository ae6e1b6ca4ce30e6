/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_TREE_H
#define ANALYSE_TREE_H

#include "analyse/weight.h"
#include "profile/profile.h"

/*
 * The flame tree of a profile: waits merged by equal paths of labels.  A label is a function, so
 * frames that differ by their line only are one node.
 *
 * Node 0 is the root ("all").  A parent's id is smaller than its children's.  For every
 * node: total = self + the sum of its children's totals = the sum of its states[].
 * The tree borrows strings of the profile, which must outlive it.
 */

#define TREE_NONE UINT32_MAX

/* Bounds on what a hostile recording can make us build: weight that would lie deeper
 * stays, summed, on the last node of its path that was made. */
/* a sleeper and a whole chain */
#define TREE_MAX_DEPTH ((PROFILE_CHAIN_MAX + 1) * (2 * PROFILE_DEPTH_MAX + 3) + 2)
#define TREE_MAX_NODES 2000000

/* What a path is made of. */
enum tree_view {
	TREE_SLEEPERS,		/* comm, stacks */
	/* above them the waker's stacks, behind "--", innermost first; with chains further ones */
	TREE_OFFWAKE,
	TREE_WAKERS,		/* the waker's comm and stacks, the sleeper's comm on top */
};

enum tree_kind { TREE_ROOT, TREE_COMM, TREE_USER, TREE_KERNEL, TREE_DELIMITER, TREE_KIND_COUNT };

/* What the thread was doing with the time: blocked time by state letter, then the rest. */
enum tree_state {
	TREE_STATE_SLEEPING,	/* S */
	TREE_STATE_DISK,	/* D */
	TREE_STATE_STOPPED,	/* T, t */
	TREE_STATE_IDLE,	/* I, P, and letters nobody knows */
	TREE_STATE_RUNNABLE,
	TREE_STATE_PREEMPTED,
	TREE_STATE_ON_CPU,	/* no wait at all */
	TREE_STATE_COUNT
};

/* What a node is; equal labels under one parent are one node. */
struct tree_label {
	const char *text;	/* never NULL, not escaped, any bytes */
	const char *module;	/* path of the file, "[kernel]", or NULL */
	uint8_t kind;		/* enum tree_kind */
	bool waker;		/* belongs to the waker's stack, above the sleeper's */
	uint8_t why;		/* enum frame_why: FRAME_NAMED, or why text is no name */
};

struct tree_node {
	uint32_t label;
	uint32_t parent;	/* of the root: TREE_NONE */
	uint32_t first_child, next_sibling;	/* children sorted by label text; TREE_NONE ends */
	uint32_t depth;		/* root 0 */
	uint64_t self, total;	/* in the unit of the weight */
	uint64_t count;		/* waits */
	uint64_t max_ns;	/* the longest wait, off CPU */
	uint64_t states[TREE_STATE_COUNT];	/* total, split */
	/* Where in the source, of all frames that are this node; they are one whatever their lines. */
	const char *file;	/* NULL: not known */
	uint32_t line_first, line_last;	/* 0: not known */
	bool has_other_files;	/* than `file`, to which the lines belong */
	bool has_inlined, has_called;	/* how the function got there */
};

struct tree {
	GArray *labels;		/* struct tree_label */
	GArray *nodes;		/* struct tree_node */
	enum weight weight;
	enum tree_view view;
	bool has_chains;	/* TREE_OFFWAKE goes on beyond the first waker */
	bool reverse;
	const char *rows_are;	/* see struct profile_info */
	/* enum profile_unknown of the profile: counts, states and durations that are not to be shown */
	uint32_t unknown;
	/* private */
	GStringChunk *strings;
	GHashTable *label_index;
	struct tree_table *table;
};

struct tree_options {
	enum weight weight;
	enum tree_view view;
	bool reverse;		/* leaf first: merge from the leaves; comm at the far end */
	bool by_thread;		/* "comm-pid/tid" in place of "comm" */
	bool delimiters;	/* a frame "-" between user and kernel frames */
	const bool *keep;	/* by index of wait; NULL: all */
	const bool *idle;	/* by index of wait: of these only what they waited for a CPU; NULL: all of each */
};

/* One summed event to add by hand: its weight is the sum of states[]. */
struct tree_event {
	uint64_t states[TREE_STATE_COUNT];
	uint64_t count;
	uint64_t max_ns;
};

struct tree *tree_from_profile(const struct profile *p, const struct tree_options *options);

/* The same by hand: labels, then paths of label ids root first, then finish once. */
struct tree *tree_new(enum weight weight, bool reverse);
uint32_t tree_label(struct tree *t, const struct tree_label *label);	/* text and module are copied */
/* That of a frame; `text` is used meanwhile. */
uint32_t tree_label_of_frame(struct tree *t, const struct frame *f, bool waker, GString *text);
/* The child of parent with that label, made when new; TREE_NONE when the tree is full. */
uint32_t tree_child(struct tree *t, uint32_t parent, uint32_t label);
/* frames: by place in the path, NULL where that is no frame; NULL: no frames are known. */
/* The last node of the path. */
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
/* The node after i in depth-first order, parents first; TREE_NONE at the end.  skip: without i's subtree. */
uint32_t tree_next(const struct tree *t, uint32_t i, bool skip);
/* The state that holds most of the node's weight. */
enum tree_state tree_dominant_state(const struct tree_node *n);

#endif
