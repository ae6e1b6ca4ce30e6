/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_HOTSPOT_OBJECTS_H
#define SYMBOLIZE_HOTSPOT_OBJECTS_H

#include "runtimes/java/code.h"

/*
 * Objects on a JVM's heap while it runs (JDK 21 and later).  A garbage collection moves them: what was read holds only
 * if none began until the end, which java_objects_collections() tells.  So collectors that move objects while the
 * program runs (ZGC, Shenandoah) are refused.  Memory is not trusted; 0 is a null, and what cannot be read.
 */
struct java_objects {
	const struct hotspot *hotspot;
	uint64_t oop_base, class_base, gc;
	uint8_t oop_bytes, oop_shift, class_shift;
	bool is_compact;	/* the class is in the header's first word */
	GHashTable *offsets;	/* of a class and a field's name */
	GHashTable *ahead;	/* what java_read_ahead() has read */
};

enum java_objects_state {
	JAVA_OBJECTS_READABLE,
	JAVA_OBJECTS_UNKNOWN,	/* its tables lack something */
	JAVA_OBJECTS_MOVE,	/* its garbage collector moves them at any time */
};

enum java_objects_state java_objects_open(struct java_objects *o, const struct hotspot *h);
void java_objects_close(struct java_objects *o);

/* How many collections there were; false: one goes on, or it cannot be read. */
bool java_objects_collections(const struct java_objects *o, uint64_t *ret);

/* Classes by their names, "java/lang/Thread", among those that are loaded: takes milliseconds.  0: there is none. */
void java_classes_find(const struct java_objects *o, const char *const *names, uint64_t *ret, unsigned cnt);
uint64_t java_class_of(const struct java_objects *o, uint64_t object);
/* "java/util/concurrent/locks/ReentrantLock$NonfairSync"; false: it has none. */
bool java_class_name(const struct java_objects *o, uint64_t class, char *ret, size_t room);
/* Of an object of it, in bytes, without what the JVM puts behind. */
uint64_t java_class_bytes(const struct java_objects *o, uint64_t class);
/* The object that has its static fields. */
uint64_t java_class_statics(const struct java_objects *o, uint64_t class);

/* Where a field is, of the class or one that it extends; `name` has to stay.  0: it has none. */
uint32_t java_field_offset(const struct java_objects *o, uint64_t class, const char *name);
/* The object that is meant by what lies at an address: a reference as objects have it. */
uint64_t java_object_at(const struct java_objects *o, uint64_t addr);

#define JAVA_OBJECT_BYTES_MAX 320	/* fields beyond are not read */

/* An object as it was in one instant, since each question costs a system call or two. */
struct java_object {
	uint64_t at, class;	/* at 0: a null, or it could not be read */
	uint32_t cnt;
	uint8_t bytes[JAVA_OBJECT_BYTES_MAX];
};

bool java_read(const struct java_objects *o, uint64_t object, struct java_object *ret);
/* The object that a field has, and numbers. */
uint64_t java_get(const struct java_objects *o, const struct java_object *object, const char *name);
bool java_get_int(const struct java_objects *o, const struct java_object *object, const char *name, int32_t *ret);
bool java_get_long(const struct java_objects *o, const struct java_object *object, const char *name, uint64_t *ret);
/* java_read() and java_get(): for one field. */
uint64_t java_follow(const struct java_objects *o, uint64_t object, const char *name);

/*
 * Many pieces at once, since each question costs two switches: java_read() and java_memory() take what begins at such an
 * address from there, until java_forget_ahead().
 */
struct java_piece {
	uint64_t at;
	uint32_t cnt;
};
void java_read_ahead(const struct java_objects *o, const struct java_piece *pieces, size_t cnt);
void java_forget_ahead(const struct java_objects *o);
bool java_memory(const struct java_objects *o, uint64_t at, void *ret, size_t cnt);

/* An array of references: tells `fn` of each that is no null.  False: it cannot be read, or there are more than max. */
bool java_each_of_array(const struct java_objects *o, uint64_t array, uint32_t max,
			void (*fn)(void *ctx, uint32_t index, uint64_t object), void *ctx);

#endif
