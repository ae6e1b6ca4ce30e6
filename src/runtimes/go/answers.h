/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_GO_ANSWERS_H
#define SYMBOLIZE_GO_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/elf_file.h"
#include "symbolize/runtime/file_facts.h"

/*
 * What the file of a Go program says, by its function table (base/go_table.h).  It is asked of a process without
 * rights where there is one (base/opener/parser.h), a question at a time.  Addresses are the file's, before relocation.
 */

struct go_file {
	uint16_t machine;	/* EM_X86_64 or EM_AARCH64 */
	bool has_start_line;	/* the table is of Go 1.20 or later */
	char version[GO_VERSION_MAX];	/* "go1.19.8", "": not known */
	uint64_t table, text;	/* where the table lies; runtime.text */
	uint64_t adds_start, adds_end;	/* runtime.allgadd; 0: there is none */
	uint64_t main_start;	/* runtime.main; 0: there is none */
	struct elf_segment *segments;
	size_t segment_cnt;
};
/* False: it is no Go program.  The file stays open and the caller's. */
bool go_file_read(int fd, struct go_file *ret);
void go_file_clear(struct go_file *f);

/* Where a thread of a Go program finds the labels of the goroutine that it runs: by the code that sets them. */
struct go_labels_place {
	uint32_t labels_at;	/* in a goroutine; 0: the program sets none, or it is not known of it */
	uint32_t runs_at;	/* in the thread's own structure: the goroutine that it runs; 0: not known */
	bool has_list;		/* of labels (Go 1.24), no map */
	/* the goroutine, from the thread pointer; or the address in the file of a word that says where from there */
	int64_t goroutine_at;
	uint64_t offset_at;	/* 0: the former */
};
/* False: it is no Go program of x86-64 that sets any.  The file stays open and the caller's. */
bool go_labels_place_read(int fd, struct go_labels_place *ret);

struct go_place {
	const char *name;
	const char *file;	/* NULL: not known */
	uint32_t line;		/* 0: not known */
};
#define GO_PLACES_MAX 32

/* From the stack pointer at an address to the return address, or one of these. */
#define GO_STEP_UNKNOWN (-1)
#define GO_STEP_END (-2)	/* the stack ends here */

struct go_code {
	uint64_t start;		/* of the function that covers the address */
	int64_t step;
	bool is_returned_to;	/* its first byte is a return address */
	uint32_t place_cnt;	/* 1 to GO_PLACES_MAX: all but the last are inlined in the one after */
	struct go_place places[];
};
/*
 * inline_data: where the trees of inlined functions lie; 0: not known.  NULL: no function covers the address.  Free
 * with g_free().
 */
struct go_code *go_code_read(int fd, uint64_t vaddr, uint64_t inline_data);
/* Do trees of inlined functions of this program lie there? */
bool go_is_inline_data(int fd, uint64_t vaddr);

/* The parts of it: false where these say nothing.  `at` is where the code lies. */
bool go_labels_by_version(const char *version, struct go_labels_place *ret);
bool go_labels_by_code(const uint8_t *sets, size_t bytes, struct go_labels_place *ret);
bool go_goroutine_by_code(const uint8_t *checks, size_t bytes, uint64_t at, struct go_labels_place *ret);

/* For parser_start(): what that process answers. */
bool go_answers_parse(int fd, const void *question, size_t question_bytes, GByteArray *into);
/* What it said of an address, as bytes of a stranger; NULL: it makes no sense. */
struct go_code *go_code_from_bytes(const void *bytes, size_t len_bytes);

#endif
