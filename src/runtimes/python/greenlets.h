/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_PYTHON_GREENLETS_H
#define SYMBOLIZE_PYTHON_GREENLETS_H

#include "runtimes/python/tasks.h"

/*
 * Greenlets (greenlet 2 and 3; gevent's and eventlet's are such) of a CPython process (3.11 to 3.15) while it runs.
 * They are in no list of their own, but the garbage collector's lists have all of them.  A greenlet that has switched
 * to another one keeps its innermost frame as an object, by whose type its place in the greenlet is found.  A frame
 * and its object must lead to each other, and each frame to a code object.  What lay on the stack of C, as some frames
 * from 3.12 on do, is read where greenlet has copied it to.
 *
 * Lists are walked whole once, and again only so often that it costs little.  Between, looks see what was found before
 * and lives, and what was added to the lists' ends.  Of many greenlets each look reads some.
 */

#define PYTHON_GREENLET_FRAMES_MAX 128
#define PYTHON_GREENLETS_MAX (1u << 20)
#define PYTHON_GREENLET_LISTS 3
#define PYTHON_GREENLET_MINOR_MIN 11
#define PYTHON_GREENLET_MINOR_MAX 15

enum python_greenlets_state {
	PYTHON_GREENLETS_READABLE,
	PYTHON_GREENLETS_NONE,		/* no CPython with greenlets */
	PYTHON_GREENLETS_OTHER_VERSION,
};

struct python_greenlet {
	uint64_t address;
	bool is_parked;		/* else it has not begun */
	bool is_stale;		/* it changed while it was read */
	bool is_cut;		/* it has more frames */
	const char *waits_in;	/* a compiled method of gevent's, which has no frame: "Semaphore.acquire"; NULL: not known */
	struct language_frame frames[PYTHON_GREENLET_FRAMES_MAX];	/* innermost first */
	unsigned frame_cnt;
};

struct python_greenlets {
	struct python_program p;
	uint64_t greenlet_type;
	uint64_t lists[PYTHON_GREENLET_LISTS];	/* of the garbage collector, the youngest first; 0: they were not found */
	uint64_t ends[PYTHON_GREENLET_LISTS];	/* what was their last object in the last look */
	uint64_t walk_ns, walked_ns;	/* what the last whole walk cost, and when it was (CLOCK_MONOTONIC) */
	uint64_t added_ns, listed_ns;	/* the same of what was added */
	uint64_t listing_ns;	/* what the last look cost before it read the first greenlet */
	unsigned top_frame_at;	/* word of a greenlet's state; 0: not known yet */
	GHashTable *types;	/* of a type (address): PYTHON_TYPE_..., since the last whole walk */
	GHashTable *greenlets;	/* uint64_t, addresses */
	GHashTable *waited_for;	/* the same, of objects of gevent's that greenlets may wait for */
	GHashTable *waits;	/* of a greenlet (address): what it was last seen to wait for */
	GHashTable *list_words;	/* of a type: which words of its objects have lists of who waits, a bit each */
	uint64_t note_ns, noted_ns;	/* as of a walk, of looking who waits for what */
};

/* Close it in any case. */
enum python_greenlets_state python_greenlets_open(struct python_greenlets *g, const char *proc_dir, uint32_t pid);
void python_greenlets_close(struct python_greenlets *g);

/*
 * Tells `fn` of every stride-th greenlet from `first` on that waits or has not begun; those that run, their thread has.
 * False: the process is gone.  Frames are valid until it is closed.
 */
typedef void (*python_greenlet_fn)(void *ctx, const struct python_greenlet *t);
bool python_greenlets_read(struct python_greenlets *g, uint64_t first, uint64_t stride, python_greenlet_fn fn,
			   void *ctx, struct python_tasks_census *ret);

/* Inside: the lists. */

#define PYTHON_TYPE_KNOWN 1u
#define PYTHON_TYPE_GREENLET 2u
#define PYTHON_TYPE_HUB 4u	/* gevent's, which is no task */
#define PYTHON_TYPE_WAIT_SHIFT 8	/* above: a number in python_greenlet_waits, 0: none */

/* Types by which it is known who waits in a compiled method of gevent's. */
enum python_greenlet_how {
	PYTHON_GREENLET_NONE,
	PYTHON_GREENLET_LINKS,	/* it has a list of the greenlets' methods "switch" */
	PYTHON_GREENLET_QUEUE,	/* it has deques of such: */
	PYTHON_GREENLET_WAITER,	/* it has the greenlet */
	PYTHON_GREENLET_DEQUE,
};

struct python_greenlet_wait {
	const char *type, *method;
	enum python_greenlet_how how;
};

/* What was found so far. */
void python_greenlets_forget(struct python_greenlets *g);
/* False: there are none where the interpreter has to have them. */
bool python_greenlet_lists_open(struct python_greenlets *g, const GArray *lines);
/* Finds greenlets, unless it did so just now.  False: the lists could not be walked to their ends. */
bool python_greenlet_lists_read(struct python_greenlets *g);
/* PYTHON_TYPE_... of a type, by its name and its bases. */
uint32_t python_greenlet_type(struct python_greenlets *g, uint64_t type);
const struct python_greenlet_wait *python_greenlet_wait(uint32_t type);
#define PYTHON_TYPE_WORDS_SHIFT 16	/* above: the words of its objects, 255 at most */
#define PYTHON_GREENLET_NODE_WORDS 4	/* of the collector, next and previous; of the object, references and type */

struct python_greenlet_object {
	uint64_t address, node[PYTHON_GREENLET_NODE_WORDS], back;
	uint32_t type;	/* PYTHON_TYPE_... */
};
/*
 * Appends (struct python_greenlet_object) those of these (uint64_t, addresses) that live: they are in a list.  Others
 * are over, or are just moved by the collector; what is of another type by now is forgotten.
 */
void python_greenlets_living(struct python_greenlets *g, const GArray *objects, GArray *into);

/* Whether what cost so much may be done again: it takes a small part of the time. */
bool python_greenlets_may(uint64_t now_ns, uint64_t last_ns, uint64_t cost_ns);

/* Inside: who waits in compiled methods. */

/* How it is known: two places that hold these words, and a list that has more than so many. */
struct python_greenlet_waiting {
	const char *method;
	uint64_t at[2], is[2];
	uint64_t cnt_at, more_than;	/* 0: no list */
};

/* Looks through all objects that may be waited for, unless it did so just now. */
void python_greenlets_note(struct python_greenlets *g);
/* What a greenlet still waits in; NULL: it does not, or nothing is known. */
const char *python_greenlets_waits_in(const struct python_greenlets *g, uint64_t greenlet);

#endif
