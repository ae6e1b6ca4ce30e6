/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_LINE_H
#define STORE_LINE_H

#include "analyse/reason/reasons.h"
#include "analyse/query.h"
#include "profile/profile.h"
#include "store/cells.h"
#include "store/store.h"

/*
 * What a time line needs of a window, so that nobody unpacks it: time by class, process, service and reason.  Idle
 * time (docs/reasons.md) is a class of its own, and in no other group.
 */

#define LINE_BY_CNT 4		/* of enum store_by: those that are kept */
#define LINE_GROUPS_MAX 24	/* of each kind and window, largest first; what is left is "" */
#define LINE_NAME_MAX_BYTES 128
#define LINE_NAMES_MAX 65536	/* of a file */

struct line_sums;

struct line_sums *line_sums_new(void);
void line_sums_free(struct line_sums *s);	/* NULL is fine */
/* is_of_waits: of single waits of threads, whose accounts tell nothing then. */
void line_sums_add_cells(struct line_sums *s, const struct cells *cells, bool is_of_waits);
/* What a part has of the names of a file, which is asked once of each. */
struct line_known;
struct line_known *line_known_new(const struct store_part *part, const GPtrArray *names);
void line_known_free(struct line_known *k);	/* NULL is fine */
/* Cells of that file, those that the part wants.  False: they are none; what was added is of no use. */
bool line_sums_add_packed_cells(struct line_sums *s, const void *bytes, size_t len_bytes, struct line_known *known);
/* Calls fn with each group that was added. */
typedef void (*line_name_fn)(void *ctx, const char *name, uint64_t ns);
void line_sums_visit(const struct line_sums *s, enum store_by by, line_name_fn fn, void *ctx);
/* name_of: the text of a number of the file, from 1 on. */
typedef const char *(*line_name_of)(void *ctx, uint64_t number);
/* False: the bytes are none; what was added is of no use. */
bool line_sums_add_bytes(struct line_sums *s, const void *bytes, size_t len_bytes, line_name_of name_of, void *ctx);
/* number_of: of a text, as the file has it; 0 for "". */
typedef uint64_t (*line_number_of)(void *ctx, const char *name);
void line_sums_encode(const struct line_sums *s, line_number_of number_of, void *ctx, GByteArray *into);

/* Calls fn with each group of that kind in the bytes; number 0 is what is left.  False: they are none. */
typedef void (*line_group_fn)(void *ctx, uint64_t number, uint64_t ns);
bool line_visit(const void *bytes, size_t len_bytes, enum store_by by, line_group_fn fn, void *ctx);

#endif
