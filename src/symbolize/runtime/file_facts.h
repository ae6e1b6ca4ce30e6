/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_FILE_FACTS_H
#define SYMBOLIZE_FILE_FACTS_H

#include <stdbool.h>

#include "symbolize/elf/table.h"

#define GO_VERSION_MAX 48

/* What an ELF file offers for unwinding its code and naming its functions. */
struct file_facts {
	bool is_64_bits;	/* little-endian x86-64 or AArch64: supported by unwind tables */
	/* for most of its code: .eh_frame, .debug_frame, or Go's table, which describes frames, too */
	bool has_unwind_table;
	/* only checked without tables, on x86-64: most functions set one up */
	bool has_frame_pointers;
	bool has_code_rules;	/* the unwinder follows its instructions (recognise.h); set by the caller */
	bool has_symbols;	/* .symtab */
	bool has_exported_names;	/* .dynsym or .gnu_debugdata; also if there are symbols */
	bool has_debug_info;
	bool is_go;
	bool has_go_table;	/* in a known format */
	char go_version[GO_VERSION_MAX];	/* "go1.22.3", printable; "": unknown, or before Go 1.18 */
	char build_id[2 * ELF_BUILD_ID_MAX + 1];	/* hexadecimal, "": none */
	char *debug_file;	/* path of a separate debug file here, or NULL; free with file_facts_clear() */
};

/*
 * Reads the ELF file behind fd, which stays open. path: as its process sees it; debug_dir: "/usr/lib/debug". False:
 * not an ELF program or library, and nothing to clear. The file is not trusted.
 */
bool file_facts_read(int fd, const char *path, const char *debug_dir, struct file_facts *ret);
void file_facts_clear(struct file_facts *f);

/* "go1.22.3"; *ret stays unchanged if the file has none. */
void go_version_read(const struct elf_file *file, char *ret, size_t room);

#endif
