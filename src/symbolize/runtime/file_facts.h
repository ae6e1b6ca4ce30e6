/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_FILE_FACTS_H
#define SYMBOLIZE_FILE_FACTS_H

#include <stdbool.h>

#include "symbolize/elf/table.h"

#define GO_VERSION_MAX 48

/* What an ELF file has for walking stacks through it, and for naming what is found. */
struct file_facts {
	bool is_64_bits;	/* little-endian x86-64 or AArch64: unwind tables can be used */
	/* of most of its code: .eh_frame, .debug_frame, or Go's table, which tells frames, too */
	bool has_unwind_table;
	/* looked for only where there is no table, on x86-64: most functions begin by keeping one */
	bool has_frame_pointers;
	bool has_code_rules;	/* the unwinder follows its instructions (recognise.h); not read with the others */
	bool has_symbols;	/* .symtab */
	bool has_exported_names;	/* .dynsym or .gnu_debugdata; also with symbols */
	bool has_debug_info;
	bool is_go;
	bool has_go_table;	/* in a format that is known */
	char go_version[GO_VERSION_MAX];	/* "go1.22.3", printable; "": not known, or before Go 1.18 */
	char build_id[2 * ELF_BUILD_ID_MAX + 1];	/* hexadecimal, "": none */
	char *debug_file;	/* the separate debug file that is here, NULL: none; free with file_facts_clear() */
};

/*
 * Reads the ELF file behind fd, which stays open and the caller's.  path: as its process names it; debug_dir: where
 * debug files are, "/usr/lib/debug".  False for what is no ELF program or library; then there is nothing to clear.
 * The file is not trusted.
 */
bool file_facts_read(int fd, const char *path, const char *debug_dir, struct file_facts *ret);
void file_facts_clear(struct file_facts *f);

/* "go1.22.3"; *ret is left alone where the file does not tell. */
void go_version_read(const struct elf_file *file, char *ret, size_t room);

#endif
