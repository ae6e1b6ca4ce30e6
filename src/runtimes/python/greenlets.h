/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RUNTIMES_PYTHON_GREENLETS_H
#define RUNTIMES_PYTHON_GREENLETS_H

#include "runtimes/python/tasks.h"

/*
 * Greenlets (greenlet 2 and 3, also in gevent and eventlet) of a running CPython process (3.11 to 3.15). They have no
 * list of their own, but the garbage collector's lists contain them. A greenlet that switched to another one keeps
 * its innermost frame as an object, whose type identifies its offset in the greenlet. A frame and its object must
 * refer to each other, and each frame to a code object. Frames on the C stack (from 3.12 on) are read from greenlet's
 * copy.
 *
 * Lists are walked completely once, and again only as often as is cheap. In between, looks see the known live
 * greenlets, and what was added to the ends of lists. If there are many, each look reads some of them.
 */

#define PYTHON_GREENLET_FRAMES_MAX 128
#define PYTHON_GREENLETS_MAX (1u << 20)
#define PYTHON_GREENLET_LISTS 3
#define PYTHON_GREENLET_MINOR_MIN 11
#define PYTHON_GREENLET_MINOR_MAX 15

enum python_greenlets_state {
	PYTHON_GREENLETS_READABLE,
	PYTHON_GREENLETS_NONE,		/* not CPython with greenlets */
	PYTHON_GREENLETS_OTHER_VERSION,
};

struct python_greenlet {
	uint64_t address;
	bool is_parked;		/* false: it has not started */
	bool is_stale;		/* it changed while being read */
	bool is_cut;		/* there are more frames */
	const char *waits_in;	/* gevent's compiled method, without a frame: "Semaphore.acquire"; NULL: unknown */
	struct language_frame frames[PYTHON_GREENLET_FRAMES_MAX];	/* innermost first */
	unsigned frame_cnt;
};

struct python_greenlets {
	struct python_program p;
	uint64_t greenlet_type;
	uint64_t lists[PYTHON_GREENLET_LISTS];	/* of the garbage collector, youngest first; 0: not found */
	uint64_t ends[PYTHON_GREENLET_LISTS];	/* their last objects in the last look */
	uint64_t walk_ns, walked_ns;	/* cost and time of the last full walk (CLOCK_MONOTONIC) */
	uint64_t added_ns, listed_ns;	/* likewise of the last incremental walk */
	uint64_t listing_ns;	/* cost of the last look before it read a greenlet */
	unsigned top_frame_at;	/* word in a greenlet's state; 0: not known yet */
	GHashTable *types;	/* type (address) -> PYTHON_TYPE_..., since the last full walk */
	GHashTable *greenlets;	/* uint64_t addresses */
	GHashTable *waited_for;	/* likewise: objects of gevent that greenlets may wait for */
	GHashTable *waits;	/* greenlet (address) -> what it was last seen to wait for */
	GHashTable *list_words;	/* type -> bits: words of its objects that are lists of waiters */
	uint64_t note_ns, noted_ns;	/* cost and time of the last search for waiters */
};

/* lines: the process's mappings (struct maps_line). Close it in either case. */
enum python_greenlets_state python_greenlets_open(struct python_greenlets *g, const char *proc_dir, uint32_t pid,
						  const GArray *lines);
void python_greenlets_close(struct python_greenlets *g);

/*
 * Calls `fn` for every stride-th greenlet from `first` on that waits or has not started. Running ones are their
 * thread. False: the process is gone. Frames are valid until it is closed.
 */
typedef void (*python_greenlet_fn)(void *ctx, const struct python_greenlet *t);
bool python_greenlets_read(struct python_greenlets *g, uint64_t first, uint64_t stride, python_greenlet_fn fn,
			   void *ctx, struct python_tasks_census *ret);

/* Private: the lists. */

#define PYTHON_TYPE_KNOWN 1u
#define PYTHON_TYPE_GREENLET 2u
#define PYTHON_TYPE_HUB 4u	/* of gevent; not a task */
#define PYTHON_TYPE_WAIT_SHIFT 8	/* higher bits: index in python_greenlet_waits, 0: none */

/* How waiters in compiled methods of gevent are found, by type. */
enum python_greenlet_how {
	PYTHON_GREENLET_NONE,
	PYTHON_GREENLET_LINKS,	/* it has a list of the greenlets' methods "switch" */
	PYTHON_GREENLET_QUEUE,	/* it has deques of waiters: */
	PYTHON_GREENLET_WAITER,	/* it contains the greenlet */
	PYTHON_GREENLET_DEQUE,
};

struct python_greenlet_wait {
	const char *type, *method;
	enum python_greenlet_how how;
};

/* Forgets everything found so far. */
void python_greenlets_forget(struct python_greenlets *g);
/* False: not found where the interpreter must have them. */
bool python_greenlet_lists_open(struct python_greenlets *g, const GArray *lines);
/* Finds greenlets, unless it did so recently. False: the lists could not be walked completely. */
bool python_greenlet_lists_read(struct python_greenlets *g);
/* PYTHON_TYPE_... of a type, from its name and its bases. */
uint32_t python_greenlet_type(struct python_greenlets *g, uint64_t type);
const struct python_greenlet_wait *python_greenlet_wait(uint32_t type);
#define PYTHON_TYPE_WORDS_SHIFT 16	/* higher bits: size of its objects in words, at most 255 */
#define PYTHON_GREENLET_NODE_WORDS 4	/* the collector's next and previous; the object's reference count and type */

struct python_greenlet_object {
	uint64_t address, node[PYTHON_GREENLET_NODE_WORDS], back;
	uint32_t type;	/* PYTHON_TYPE_... */
};
/*
 * Appends (struct python_greenlet_object) the live ones of these objects (uint64_t addresses), which are in a list.
 * Others are gone or just being moved by the collector; addresses with another type now are forgotten.
 */
void python_greenlets_living(struct python_greenlets *g, const GArray *objects, GArray *into);

/* May something with this cost be repeated now? It should take a small part of the time. */
bool python_greenlets_may(uint64_t now_ns, uint64_t last_ns, uint64_t cost_ns);

/* Private: waiters in compiled methods. */

/* The conditions: two words with these values, and a list with more than this many elements. */
struct python_greenlet_waiting {
	const char *method;
	uint64_t at[2], is[2];
	uint64_t cnt_at, more_than;	/* 0: no list */
};

/* Searches all objects that may have waiters, unless it did so recently. */
void python_greenlets_note(struct python_greenlets *g);
/* What a greenlet still waits in. NULL: nothing, or unknown. */
const char *python_greenlets_waits_in(const struct python_greenlets *g, uint64_t greenlet);

#endif
