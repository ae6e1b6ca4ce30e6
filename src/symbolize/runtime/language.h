/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_LANGUAGE_H
#define SYMBOLIZE_LANGUAGE_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/language_abi.h"

/* An interpreter's function, in any language. */

struct language_frame {
	const char *name, *file;	/* valid as long as the cache that returned them */
	uint32_t first_line;		/* of the function */
	uint32_t line;			/* 0: unknown */
};

/* The address of a code object; `space` distinguishes programs of a pid. */
struct language_place {
	uint32_t version;	/* of struct offcpu_language */
	uint32_t pid;
	uint64_t space;
	uint64_t code, code_type, instr;
	uint32_t hashes;	/* PHP and Perl: see struct offcpu_language_frame */
	bool is_outermost;
};

/* What is known of a process with regard to a language. */
enum language_state {
	LANGUAGE_NONE,		/* no file of the interpreter, or it is gone */
	LANGUAGE_READABLE,	/* its frames can be read */
	/*
	 * the interpreter's file cannot be opened, or exports no symbol that leads to frames: threaded builds of PHP,
	 * and Perl without threads
	 */
	LANGUAGE_NO_SYMBOLS,
	LANGUAGE_OTHER_VERSION,	/* unknown frame layout; also some builds of CPython without a GIL */
	LANGUAGE_NO_LIBC,	/* unknown C library: thread-local data cannot be found */
	LANGUAGE_NOT_READY,	/* the interpreter has not started, or has ended */
};

/* Key of the caches of code. */
struct language_key {
	uint64_t space, code;
};

unsigned language_key_hash(const void *key);
int language_key_equal(const void *a, const void *b);

/* May a program with this file contain a known interpreter? */
bool language_is_of_file(const char *path);

/*
 * Which interpreter does a process run, and where are its frames? The process must be alive. False: none, an unknown
 * version, or not ready yet.
 */
struct language_early {
	bool is_early;		/* not ready yet */
	uint64_t python_key_at;	/* if it is only CPython that is not ready: for python_has_begun(), else 0 */
};
bool language_find(const char *proc_dir, uint32_t pid, struct offcpu_language *ret, struct language_early *ret_early);

/*
 * PHP: finds a process's frames and names of functions. A script is compiled anew for each request unless opcache
 * shares it, so functions are identified by hashes of their names and files, too. Memory is not trusted.
 */
struct php_code;

struct php_code *php_code_new(void);
void php_code_free(struct php_code *p);	/* NULL is fine */
/* False: the process is gone, or another function has the address. */
bool php_code_name(struct php_code *p, const struct language_place *place, struct language_frame *ret);

/* lines: its mappings from maps_parse(). NULL: it is gone. */
enum language_state php_look(const char *proc_dir, uint32_t pid, const GArray *lines, struct offcpu_language *ret);

/* Perl: finds a process's frames, and names of functions, evals and required files. Memory is not trusted. */
struct perl_code;

struct perl_code *perl_code_new(void);
void perl_code_free(struct perl_code *p);	/* NULL is fine */
/* False: the process is gone, or something else has the address. */
bool perl_code_name(struct perl_code *p, const struct language_place *place, struct language_frame *ret);
/* lines: its mappings from maps_parse(). NULL: it is gone. */
enum language_state perl_look(const char *proc_dir, uint32_t pid, const GArray *lines, struct offcpu_language *ret);

/*
 * Ruby (CRuby 3.0 to 3.4): finds a process's frames, and names of methods and blocks. Memory is not trusted: sizes
 * are bounded, and what is not an instruction sequence any more gets no name.
 */

/* The C function that executes Ruby's instructions: its bounds as file addresses. */
struct ruby_executor {
	uint64_t start, end;
};

struct ruby_code;

struct ruby_code *ruby_code_new(void);
void ruby_code_free(struct ruby_code *r);	/* NULL is fine */
/* False: the process is gone, or another object has the address. */
bool ruby_code_name(struct ruby_code *r, const struct language_place *place, struct language_frame *ret);

/* Finds the executing function without a symbol, from an instruction sequence. False: unknown. */
bool ruby_code_executor(struct ruby_code *r, const struct language_place *place, struct ruby_executor *ret);

/* Size of a frame; 0: unknown version. */
uint32_t ruby_frame_bytes(uint32_t version);
/* lines: its mappings from maps_parse(). NULL: it is gone. */
enum language_state ruby_look(const char *proc_dir, uint32_t pid, const GArray *lines, struct offcpu_language *ret);

/* By the address of one instruction's handler. The process must be alive. False: unknown. */
bool ruby_executor_find(uint32_t pid, uint64_t handler, struct ruby_executor *ret);

/* The format of a code object's line table. */
enum python_lines {
	PYTHON_LINES_PAIRS,	/* co_lnotab, up to 3.9 */
	PYTHON_LINES_RANGES,	/* co_linetable of 3.10 */
	PYTHON_LINES_LOCATIONS,	/* likewise from 3.11 on */
};

/* Object layout of a CPython version (64 bits), as compiled from python.org's sources. */
struct python_layout {
	struct offcpu_language walk;	/* without keys_at, key_at and code_type */
	uint32_t key_at;		/* in _PyRuntime: the key of thread-specific data, on x86-64 */
	uint32_t gil;			/* in _PyRuntime: the GIL; 0: one per interpreter */
	/* offsets in PyCodeObject */
	uint16_t first_line, file, name, qualname, lines, code;	/* qualname 0: none */
	uint8_t code_is_object;		/* `code` points to a bytes object; else it is the code */
	uint8_t instr_scale;		/* of an instruction index */
	uint8_t line_kind;		/* enum python_lines */
	/* PyASCIIObject, PyCompactUnicodeObject */
	uint8_t ascii_bytes, compact_bytes;
	uint8_t more_in_head;		/* additional bytes in an object's head, compared with a build with a GIL */
};

/* Flag in a version: built without a GIL. */
#define PYTHON_FREE_THREADED 0x80

/* NULL: unknown. */
const struct python_layout *python_layout_of(uint32_t version);

/* The same in all versions, plus more_in_head. */
#define PYTHON_TYPE_AT 8	/* object: its type */
#define PYTHON_SIZE_AT 16	/* bytes object: its length */
#define PYTHON_BYTES_AT 32	/* bytes object: its data */
#define PYTHON_TEXT_SIZE_AT 16	/* str: its length */
#define PYTHON_TEXT_STATE_AT 32	/* str: its state (2 bits `interned`, 3 bits bytes per character, compact, ascii) */

/*
 * Names of code objects of live CPython processes, read from their memory. Memory is not trusted: sizes are bounded,
 * and what is not a code object any more gets no name.
 */
struct python_code;

struct python_code *python_code_new(void);
void python_code_free(struct python_code *p);	/* NULL is fine */

/* False: the process is gone, or another object has the address. */
bool python_code_name(struct python_code *p, const struct language_place *place, struct language_frame *ret);

/* The line of the instruction at a byte offset, from an untrusted line table. 0: none, or damaged. */
uint32_t python_line(enum python_lines kind, const uint8_t *table, size_t bytes, uint32_t first_line, uint64_t offset);

#endif
