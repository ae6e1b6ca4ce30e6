/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef UNWIND_TABLE_BYTES_H
#define UNWIND_TABLE_BYTES_H

#include "unwind/table.h"

/* A table on its way from the process that compiled it (base/parser.h). */

/* For parser_start(): what that process answers. */
bool unwind_table_parse(int fd, const void *question, size_t question_bytes, GByteArray *into);
/* The table that it made; NULL with a sentence. */
struct unwind_table *unwind_table_ask(int fd, GError **error);

void unwind_table_write(const struct unwind_table *t, GByteArray *into);
/* The bytes are a stranger's: whatever they are, the table is one as unwind/table.h says.  NULL: they are none. */
struct unwind_table *unwind_table_from_bytes(const void *bytes, size_t len_bytes);
/* Its pages, of its rows. */
void unwind_table_index(struct unwind_table *t);

#endif
