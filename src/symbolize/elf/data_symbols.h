/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_DATA_SYMBOLS_H
#define SYMBOLIZE_DATA_SYMBOLS_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Addresses of data to what lies there: a variable of a program or library, or else a place in
 * the heap, a thread's stack, shared memory.  Mappings are read from /proc/PID/maps, so ask
 * while the process lives.  Files and processes are not trusted, as everywhere in this layer.
 */
struct data_symbols;

/* proc_dir: "/proc"; debug_dir: "/usr/lib/debug". */
struct data_symbols *data_symbols_new(const char *proc_dir, const char *debug_dir);
void data_symbols_free(struct data_symbols *d);	/* NULL is fine */

enum data_kind {
	DATA_UNKNOWN,	/* nothing is mapped there, or the process is gone */
	DATA_MODULE,	/* data of a program or library */
	DATA_FILE,	/* a file that is mapped, shared memory with a name too */
	DATA_SHARED,	/* shared memory without a name */
	DATA_HEAP,	/* by brk(), or one of malloc's heaps for threads */
	DATA_STACK,	/* what a thread has its stack in, its thread-local data too */
	DATA_ANON,
	DATA_OTHER,	/* "[vvar]" and the like */
};

/* Strings live as long as the data_symbols, or until they are forgotten. */
struct data_place {
	enum data_kind kind;
	bool is_shared;		/* other processes may see it too, at addresses of their own */
	const char *name;	/* of the variable, demangled; NULL: none is known */
	uint64_t name_offset, name_bytes;	/* of the address in it; its size */
	const char *module;	/* the file's path as the process saw it, "[heap]", ...; NULL: none */
	/* DATA_MODULE: the ELF virtual address; DATA_FILE, DATA_SHARED: in the file; else in the mapping */
	uint64_t offset;
	uint64_t inode;		/* DATA_SHARED: what tells it from others */
	uint32_t tid;		/* DATA_STACK: whose; 0: not known */
};

/*
 * space tells one program that had this pid from another.  sp: a stack pointer known of thread tid,
 * or 0.  Always fills *ret.
 */
void data_symbols_find(struct data_symbols *d, uint32_t pid, uint64_t space, uint64_t addr, uint64_t sp,
		       uint32_t tid, struct data_place *ret);

/*
 * Of who asks for days: all strings are forgotten, and files that nobody may have any more.  data_symbols_keep() of
 * each place that is still in use, then what begin returned is for end.
 */
GStringChunk *data_symbols_begin_forgetting(struct data_symbols *d);
void data_symbols_keep(struct data_symbols *d, struct data_place *place);
void data_symbols_end_forgetting(GStringChunk *forgotten);

/*
 * "queue_lock", "cache+0x40", "heap 0x55d0c0a2a0", "/dev/shm/pool+0x10", "stack of thread 12, 0x7f12a8": free
 * with g_free.  A variable of up to whole_bytes is meant as a whole: its lock word's offset says nothing.
 */
char *data_place_text(const struct data_place *place, uint64_t addr, uint64_t whole_bytes);

#endif
