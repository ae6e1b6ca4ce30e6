/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_LANGUAGE_H
#define SYMBOLIZE_LANGUAGE_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/language_abi.h"

/* What is known of an interpreter's functions, whichever it is. */

struct language_frame {
	const char *name, *file;	/* for as long as lives what gave them */
	uint32_t first_line;		/* of the function */
	uint32_t line;			/* 0: it has none there */
};

/* Where the code object lies; `space` tells one program that had this pid from another. */
struct language_place {
	uint32_t version;	/* of struct offcpu_language */
	uint32_t pid;
	uint64_t space;
	uint64_t code, code_type, instr;
	uint32_t hashes;	/* PHP and Perl: see struct offcpu_language_frame */
	bool is_outermost;
};

/* What is known of a process as a program of a language. */
enum language_state {
	LANGUAGE_NONE,		/* it has no file of the interpreter, or is gone */
	LANGUAGE_READABLE,	/* its frames can be read */
	/*
	 * the interpreter's file cannot be opened, or does not export where frames are found: threaded builds of PHP,
	 * and those of Perl without threads
	 */
	LANGUAGE_NO_SYMBOLS,
	LANGUAGE_OTHER_VERSION,	/* not one whose frames we know; some builds of CPython without a GIL are others, too */
	LANGUAGE_NO_LIBC,	/* no C library that tells where threads keep what is their own */
	LANGUAGE_NOT_READY,	/* the interpreter has not begun, or has ended */
};

/* What tables of code are kept by. */
struct language_key {
	uint64_t space, code;
};

unsigned language_key_hash(const void *key);
int language_key_equal(const void *a, const void *b);

/* Is the file one whose program may have an interpreter that is known of? */
bool language_is_of_file(const char *path);

/*
 * Which interpreter runs in a process, and where does it keep its frames?  The process must live.  False: none, an
 * unknown version, or it is not ready yet.
 */
struct language_early {
	bool is_early;		/* it is not ready yet */
	uint64_t python_key_at;	/* and that is CPython, alone: for python_has_begun(), else 0 */
};
bool language_find(const char *proc_dir, uint32_t pid, struct offcpu_language *ret, struct language_early *ret_early);

/*
 * PHP's functions: how a process's frames are found, and what they are called.  A script is compiled anew for each
 * request unless its compiled form is shared, so functions are told by hashes of their names and files too.  What is
 * read is not trusted.
 */
struct php_code;

struct php_code *php_code_new(void);
void php_code_free(struct php_code *p);	/* NULL is fine */
/* False: the process is gone, or another function lies there by now. */
bool php_code_name(struct php_code *p, const struct language_place *place, struct language_frame *ret);

/* lines: of its mappings, as maps_parse() gives them; NULL: it is gone. */
enum language_state php_look(const char *proc_dir, uint32_t pid, const GArray *lines, struct offcpu_language *ret);

/*
 * Perl's functions, evals and required files: how a process's frames are found, and what they are called.  What is read
 * is not trusted.
 */
struct perl_code;

struct perl_code *perl_code_new(void);
void perl_code_free(struct perl_code *p);	/* NULL is fine */
/* False: the process is gone, or something else lies there by now. */
bool perl_code_name(struct perl_code *p, const struct language_place *place, struct language_frame *ret);
/* lines: of its mappings, as maps_parse() gives them; NULL: it is gone. */
enum language_state perl_look(const char *proc_dir, uint32_t pid, const GArray *lines, struct offcpu_language *ret);

/*
 * Ruby's methods and blocks (CRuby 3.0 to 3.4): how a process's frames are found, and what they are called.  What is
 * read is not trusted: sizes are bounded, and what is no instruction sequence any more is not named.
 */

/* The function of C that executes Ruby's instructions: its bounds, as addresses in its file. */
struct ruby_executor {
	uint64_t start, end;
};

struct ruby_code;

struct ruby_code *ruby_code_new(void);
void ruby_code_free(struct ruby_code *r);	/* NULL is fine */
/* False: the process is gone, or another object lies there by now. */
bool ruby_code_name(struct ruby_code *r, const struct language_place *place, struct language_frame *ret);

/* What executes an instruction sequence, where that has no symbol.  False: not known. */
bool ruby_code_executor(struct ruby_code *r, const struct language_place *place, struct ruby_executor *ret);

/* Of a frame; 0: the version is not known. */
uint32_t ruby_frame_bytes(uint32_t version);
/* lines: of its mappings, as maps_parse() gives them; NULL: it is gone. */
enum language_state ruby_look(const char *proc_dir, uint32_t pid, const GArray *lines, struct offcpu_language *ret);

/* By the address of what executes one instruction.  The process must live.  False: not known. */
bool ruby_executor_find(uint32_t pid, uint64_t handler, struct ruby_executor *ret);

/* How a code object tells which lines its instructions are of. */
enum python_lines {
	PYTHON_LINES_PAIRS,	/* co_lnotab, to 3.9 */
	PYTHON_LINES_RANGES,	/* co_linetable of 3.10 */
	PYTHON_LINES_LOCATIONS,	/* the same from 3.11 on */
};

/*
 * Where one version of CPython keeps what (64 bits).  Offsets as the compiler of python.org's sources lays them out.
 */
struct python_layout {
	struct offcpu_language walk;	/* without keys_at, key_at and code_type */
	uint32_t key_at;		/* _PyRuntime: the key of thread-specific data, on x86-64 */
	uint32_t gil;			/* _PyRuntime: the lock of all interpreters; 0: each has its own */
	/* PyCodeObject */
	uint16_t first_line, file, name, qualname, lines, code;	/* qualname 0: there is none */
	uint8_t code_is_object;		/* `code` points to a bytes object; else the code itself lies there */
	uint8_t instr_scale;		/* of an index */
	uint8_t line_kind;		/* enum python_lines */
	/* PyASCIIObject, PyCompactUnicodeObject */
	uint8_t ascii_bytes, compact_bytes;
	uint8_t more_in_head;		/* bytes that each object begins with, beyond those of a build with a GIL */
};

/* In a version: a build without a GIL. */
#define PYTHON_FREE_THREADED 0x80

/* NULL: not known. */
const struct python_layout *python_layout_of(uint32_t version);

/* In any version, but for more_in_head. */
#define PYTHON_TYPE_AT 8	/* object: its type */
#define PYTHON_SIZE_AT 16	/* bytes object: its length, and */
#define PYTHON_BYTES_AT 32	/* its bytes */
#define PYTHON_TEXT_SIZE_AT 16	/* str: its length, and */
#define PYTHON_TEXT_STATE_AT 32	/* its kind: 2 bits of `interned`, 3 of the bytes a character, compact, ascii */

/*
 * Names of the code objects of CPython programs, read from their memory while they live.  What is read is not trusted:
 * sizes are bounded, and an object that is no code object any more is not named.
 */
struct python_code;

struct python_code *python_code_new(void);
void python_code_free(struct python_code *p);	/* NULL is fine */

/* False: the process is gone, or another object lies there by now. */
bool python_code_name(struct python_code *p, const struct language_place *place, struct language_frame *ret);

/*
 * The line of the instruction at an offset, in bytes, of a code object whose table these untrusted bytes are; 0: it
 * has none, or the table is damaged.
 */
uint32_t python_line(enum python_lines kind, const uint8_t *table, size_t bytes, uint32_t first_line, uint64_t offset);

#endif
