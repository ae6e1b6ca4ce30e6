/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RUNTIMES_JAVA_OBJECTS_H
#define RUNTIMES_JAVA_OBJECTS_H

#include "runtimes/java/code.h"

/*
 * Objects on the heap of a running JVM (JDK 21 and later). A garbage collection moves them, so data is valid only if
 * java_objects_collections() shows that none has begun meanwhile. Collectors that move objects concurrently (ZGC,
 * Shenandoah) are refused. Memory is not trusted. 0 stands for null and for unreadable memory.
 */
struct java_objects {
	const struct hotspot *hotspot;
	uint64_t oop_base, class_base, gc;
	uint8_t oop_bytes, oop_shift, class_shift;
	bool is_compact;	/* the header's first word contains the class */
	GHashTable *offsets;	/* (class, field name) -> offset */
	GHashTable *ahead;	/* memory read by java_read_ahead() */
};

enum java_objects_state {
	JAVA_OBJECTS_READABLE,
	JAVA_OBJECTS_UNKNOWN,	/* the tables lack something */
	JAVA_OBJECTS_MOVE,	/* the garbage collector moves objects concurrently */
};

enum java_objects_state java_objects_open(struct java_objects *o, const struct hotspot *h);
void java_objects_close(struct java_objects *o);

/* The number of collections so far. False: one is in progress, or it cannot be read. */
bool java_objects_collections(const struct java_objects *o, uint64_t *ret);

/* Finds loaded classes by name, "java/lang/Thread"; takes milliseconds. 0: not loaded. */
void java_classes_find(const struct java_objects *o, const char *const *names, uint64_t *ret, unsigned cnt);
uint64_t java_class_of(const struct java_objects *o, uint64_t object);
/* "java/util/concurrent/locks/ReentrantLock$NonfairSync". False: no valid name. */
bool java_class_name(const struct java_objects *o, uint64_t class, char *ret, size_t room);
/* The size of an instance, without injected fields. */
uint64_t java_class_bytes(const struct java_objects *o, uint64_t class);
/* The object that holds its static fields. */
uint64_t java_class_statics(const struct java_objects *o, uint64_t class);

/* The offset of a field of the class or its superclasses; `name` must stay valid. 0: none. */
uint32_t java_field_offset(const struct java_objects *o, uint64_t class, const char *name);
/* The object that the reference at this address refers to. */
uint64_t java_object_at(const struct java_objects *o, uint64_t addr);

#define JAVA_OBJECT_BYTES_MAX 320	/* fields beyond this are not read */

/* A copy of an object at one instant, because each read costs a system call or two. */
struct java_object {
	uint64_t at, class;	/* at 0: null, or unreadable */
	uint32_t cnt;
	uint8_t bytes[JAVA_OBJECT_BYTES_MAX];
};

bool java_read(const struct java_objects *o, uint64_t object, struct java_object *ret);
/* A reference or a number in a field of the object. */
uint64_t java_get(const struct java_objects *o, const struct java_object *object, const char *name);
bool java_get_int(const struct java_objects *o, const struct java_object *object, const char *name, int32_t *ret);
bool java_get_long(const struct java_objects *o, const struct java_object *object, const char *name, uint64_t *ret);
/* java_read() and java_get() for one field. */
uint64_t java_follow(const struct java_objects *o, uint64_t object, const char *name);

/*
 * Many reads in one system call. java_read() and java_memory() then take data at these addresses from the copy, until
 * java_forget_ahead().
 */
struct java_piece {
	uint64_t at;
	uint32_t cnt;
};
void java_read_ahead(const struct java_objects *o, const struct java_piece *pieces, size_t cnt);
void java_forget_ahead(const struct java_objects *o);
bool java_memory(const struct java_objects *o, uint64_t at, void *ret, size_t cnt);

/* Calls `fn` for each non-null element of an array of references. False: unreadable, or more than max. */
bool java_each_of_array(const struct java_objects *o, uint64_t array, uint32_t max,
			void (*fn)(void *ctx, uint32_t index, uint64_t object), void *ctx);

#endif
