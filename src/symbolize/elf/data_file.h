/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_DATA_FILE_H
#define SYMBOLIZE_DATA_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/elf_file.h"
#include "symbolize/elf/symtab.h"

/* The variables of one ELF file; its contents are not trusted. */
struct data_file {
	struct symtab variables;
	struct elf_segment *segments;
	size_t segment_cnt;
	bool has_all;	/* from .symtab; else only what is exported */
};

/*
 * The file behind fd, which stays open; false: no ELF program or library.  In any case clear it.  It is parsed by a
 * process without rights where there is one (base/parser.h).
 */
bool data_file_read(int fd, struct data_file *ret);
/* For parser_start(): what that process answers. */
bool data_file_parse(int fd, const void *question, size_t question_bytes, GByteArray *into);
/* What a stripped one, which lies at path, lacks, from its debug file. */
void data_file_add_debug(struct data_file *f, int fd, const char *path, const char *debug_dir);
void data_file_clear(struct data_file *f);

#endif
