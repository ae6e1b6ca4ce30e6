/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RUNTIMES_JAVA_VTHREADS_H
#define RUNTIMES_JAVA_VTHREADS_H

#include "runtimes/java/frames.h"
#include "runtimes/java/objects.h"

/*
 * The virtual threads of a running JVM (JDK 21 and later), from the sets that the JDK keeps for thread dumps
 * (jdk.internal.vm.ThreadContainers): those of executors, and threads started directly unless
 * -Djdk.trackAllThreads=false. All data is read a second time at the end: a thread that changed has no stack; after a
 * garbage collection none has.
 */

#define JAVA_VTHREADS_MAX (1u << 20)

enum java_vthreads_state {
	JAVA_VTHREADS_READABLE,
	JAVA_VTHREADS_NO_JVM,	/* or it is too old for virtual threads */
	JAVA_VTHREADS_NONE,	/* none so far */
	JAVA_VTHREADS_UNLISTED,	/* there may be some: -Djdk.trackAllThreads=false */
	JAVA_VTHREADS_UNKNOWN,	/* the tables lack something, or it has just begun */
	JAVA_VTHREADS_MOVE,	/* ZGC or Shenandoah */
};

enum java_vthread_does {
	JAVA_RUNS,	/* on a carrier */
	JAVA_RUNNABLE,	/* waits for a carrier */
	JAVA_PARKED,	/* LockSupport.park() and what uses it */
	JAVA_PARKED_FOR_A_TIME,	/* likewise with a timeout, or a sleep */
	JAVA_BLOCKED,	/* a monitor (synchronized) */
	JAVA_WAITS,	/* Object.wait() */
};

/* Why it is pinned to its carrier while it waits. */
enum java_pin { JAVA_PIN_NONE, JAVA_PIN_MONITOR, JAVA_PIN_NATIVE, JAVA_PIN_CLASS, JAVA_PIN_UNKNOWN };

struct java_vthread {
	uint64_t object, number;	/* Thread.threadId() */
	enum java_vthread_does does;
	bool is_stale;		/* it changed while being read: no stack */
	enum java_pin pin;
	const char *pinned_by;	/* the frame that pins it; NULL: unknown */
	uint64_t blocker;	/* object that it is parked for, mostly a lock; 0: unknown */
	const char *blocker_class;	/* "java/util/concurrent/locks/ReentrantLock$NonfairSync"; NULL: unknown */
	uint64_t holder;	/* id of the thread that holds it; 0: unknown */
	const char *const *names;	/* of its frames, innermost first */
	unsigned frame_cnt;
	enum stack_end end;
};

struct java_vthreads {
	struct hotspot hotspot;
	struct java_objects objects;
	struct java_code *code;
	uint64_t containers, threads;	/* classes jdk.internal.vm.ThreadContainers and java.lang.VirtualThread */
	GHashTable *states;	/* VirtualThread.state -> its meaning */
	GStringChunk *strings;	/* of the current look */
	uint64_t listed;	/* in the last look */
};

/* What was found, and what is missing. */
struct java_vthreads_census {
	uint64_t listed;	/* approximate number of threads */
	uint64_t unreadable;
	bool is_cut;		/* some lists could not be read completely */
	bool is_partial;	/* threads started directly are not listed: -Djdk.trackAllThreads=false */
};

typedef void (*java_vthread_fn)(void *ctx, const struct java_vthread *t);

/*
 * lines: the process's mappings (struct maps_line). JAVA_VTHREADS_READABLE: java_vthreads_are_there() tells whether it
 * has any. Close it in either case.
 */
enum java_vthreads_state java_vthreads_open(struct java_vthreads *v, const char *proc_dir, uint32_t pid,
					    const GArray *lines);
enum java_vthreads_state java_vthreads_are_there(struct java_vthreads *v);
void java_vthreads_close(struct java_vthreads *v);

/*
 * Calls `fn` for about every stride-th virtual thread: those in every stride-th chain of the JDK's tables, from
 * `first` on. False: the process is gone.
 */
bool java_vthreads_read(struct java_vthreads *v, uint64_t first, uint64_t stride, java_vthread_fn fn, void *ctx,
			struct java_vthreads_census *ret);

#endif
