/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_DATA_SYMBOLS_H
#define SYMBOLIZE_DATA_SYMBOLS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Addresses of data to what is there: a variable of a program or library, or else a place in the heap, a thread's
 * stack, shared memory. Mappings are read from /proc/PID/maps, so ask while the process lives. Files and processes
 * are not trusted.
 */
struct data_symbols;

/* proc_dir: "/proc"; debug_dir: "/usr/lib/debug". */
struct data_symbols *data_symbols_new(const char *proc_dir, const char *debug_dir);
void data_symbols_free(struct data_symbols *d);	/* NULL is fine */

enum data_kind {
	DATA_UNKNOWN,	/* nothing is mapped there, or the process is gone */
	DATA_MODULE,	/* data of a program or library */
	DATA_FILE,	/* a mapped file, including named shared memory */
	DATA_SHARED,	/* unnamed shared memory */
	DATA_HEAP,	/* brk(), or a heap of malloc for threads */
	DATA_STACK,	/* the memory of a thread's stack, including thread-local data */
	DATA_ANON,
	DATA_OTHER,	/* "[vvar]" and the like */
};

/* Strings live as long as the data_symbols, or until they are forgotten. */
struct data_place {
	enum data_kind kind;
	bool is_shared;		/* other processes may map it at other addresses */
	const char *name;	/* demangled name of the variable; NULL: unknown */
	uint64_t name_offset, name_bytes;	/* of the address in the variable; the variable's size */
	const char *module;	/* the file's path as seen by the process, "[heap]", ...; NULL: none */
	/* DATA_MODULE: the ELF virtual address; DATA_FILE, DATA_SHARED: in the file; else in the mapping */
	uint64_t offset;
	uint64_t inode;		/* identifies DATA_SHARED */
	uint32_t tid;		/* owner of DATA_STACK; 0: unknown */
};

/* space distinguishes programs of a pid. sp: a known stack pointer of thread tid, or 0. Always fills *ret. */
void data_symbols_find(struct data_symbols *d, uint32_t pid, uint64_t space, uint64_t addr, uint64_t sp,
		       uint32_t tid, struct data_place *ret);

/*
 * For use over days: forgets all strings, and files that are probably unused. Then call data_symbols_keep() for each
 * place still in use, and g_string_chunk_free() with the result.
 */
GStringChunk *data_symbols_begin_forgetting(struct data_symbols *d);
void data_symbols_keep(struct data_symbols *d, struct data_place *place);

/*
 * "queue_lock", "cache+0x40", "heap 0x55d0c0a2a0", "/dev/shm/pool+0x10", "stack of thread 12, 0x7f12a8": free with
 * g_free(). Without offset in variables of up to whole_bytes: that of a lock's word says nothing.
 */
char *data_place_text(const struct data_place *place, uint64_t addr, uint64_t whole_bytes);

#endif
