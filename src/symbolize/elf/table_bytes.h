/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_ELF_TABLE_BYTES_H
#define SYMBOLIZE_ELF_TABLE_BYTES_H

#include "symbolize/elf/data_file.h"
#include "symbolize/elf/table.h"

/* A table on its way from the process that parsed the file (base/parser.h). */

/* For parser_start(): what that process answers. */
bool elf_table_parse(int fd, const void *question, size_t question_bytes, GByteArray *into);
/* The table that it made; NULL with a sentence. */
struct elf_table *elf_table_ask(int fd, GError **error);

/* Without names that no function has: a string table is mostly of others. */
void elf_table_write(const struct elf_table *t, GByteArray *into);
/* The bytes are a stranger's: whatever they are, the table is safe to ask.  NULL: they are none. */
struct elf_table *elf_table_from_bytes(const void *bytes, size_t len_bytes);

/* The same of variables; false: there is nothing to clear. */
void data_file_write(const struct data_file *f, GByteArray *into);
bool data_file_from_bytes(const void *bytes, size_t len_bytes, struct data_file *ret);
/* So many segments, into *ret, which is g_free()d; false: they are none. */
struct cursor;
bool elf_segments_take(struct cursor *c, uint64_t cnt, struct elf_segment **ret);

#endif
