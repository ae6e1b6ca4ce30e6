/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RUNTIMES_GO_ANSWERS_H
#define RUNTIMES_GO_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/elf_file.h"
#include "symbolize/runtime/file_facts.h"

/*
 * Information from the file of a Go program, by its function table (base/go_table.h). A process without rights is
 * asked if there is one (base/opener/parser.h), one question at a time. Addresses are those of the file, before
 * relocation.
 */

struct go_file {
	uint16_t machine;	/* EM_X86_64 or EM_AARCH64 */
	bool has_start_line;	/* function table of Go 1.20 or later */
	char version[GO_VERSION_MAX];	/* "go1.19.8"; "": unknown */
	uint64_t table, text;	/* address of the table, and of runtime.text */
	uint64_t adds_start, adds_end;	/* runtime.allgadd; 0: none */
	uint64_t main_start;	/* runtime.main; 0: none */
	struct elf_segment *segments;
	size_t segment_cnt;
};
/* False: not a Go program. The caller keeps the file. */
bool go_file_read(int fd, struct go_file *ret);
void go_file_clear(struct go_file *f);

/* Where a thread of a Go program has the labels of its current goroutine, derived from the code that sets them. */
struct go_labels_place {
	uint32_t labels_at;	/* offset in a goroutine; 0: the program sets none, or unknown */
	uint32_t runs_at;	/* offset of the current goroutine in the thread's m; 0: unknown */
	bool has_list;		/* labels are a list (Go 1.24), not a map */
	/* the goroutine's offset from the thread pointer; or the file's address of a word with that offset */
	int64_t goroutine_at;
	uint64_t offset_at;	/* 0: use goroutine_at */
};
/* False: not an x86-64 Go program that sets labels. The caller keeps the file. */
bool go_labels_place_read(int fd, struct go_labels_place *ret);

struct go_place {
	const char *name;
	const char *file;	/* NULL: unknown */
	uint32_t line;		/* 0: unknown */
};
#define GO_PLACES_MAX 32

/* The distance from the stack pointer to the return address at this pc, or one of these. */
#define GO_STEP_UNKNOWN (-1)
#define GO_STEP_END (-2)	/* end of the stack */

struct go_code {
	uint64_t start;		/* of the function that contains the address */
	int64_t step;
	bool is_returned_to;	/* a call may return to its first byte */
	uint32_t place_cnt;	/* 1 to GO_PLACES_MAX: each but the last is inlined in the next */
	struct go_place places[];
};
/* inline_data: address of the inline trees; 0: unknown. NULL: no function contains the address. Free with g_free(). */
struct go_code *go_code_read(int fd, uint64_t vaddr, uint64_t inline_data);
/* Is this the address of the program's inline trees? */
bool go_is_inline_data(int fd, uint64_t vaddr);

/* Parts of go_labels_place_read(): false if they find nothing. `at` is the address of the code. */
bool go_labels_by_version(const char *version, struct go_labels_place *ret);
bool go_labels_by_code(const uint8_t *sets, size_t bytes, struct go_labels_place *ret);
bool go_goroutine_by_code(const uint8_t *checks, size_t bytes, uint64_t at, struct go_labels_place *ret);

/* For parser_start(): answers a question in the parser process. */
bool go_answers_parse(int fd, const void *question, size_t question_bytes, GByteArray *into);
/* Decodes its answer about an address, which is not trusted. NULL: invalid. */
struct go_code *go_code_from_bytes(const void *bytes, size_t len_bytes);

#endif
