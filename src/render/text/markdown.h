/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_MARKDOWN_H
#define RENDER_MARKDOWN_H

#include "analyse/query.h"
#include "analyse/tree.h"

#define MARKDOWN_LINES 60

/*
 * `offcpu report --markdown`, for an issue or a chat: the findings, a table of processes, and folded away the heaviest
 * stacks; at most MARKDOWN_LINES lines.  Appends.  `query` is what `selection` came from; both NULL: everything.
 */
void markdown_report(GString *s, const struct profile *p, const struct query *query, const struct selection *selection);

/* One text that stands for itself in Markdown: no markup, no link, no mention.  is_ours: `code` in it is code. */
void markdown_escape(GString *s, const char *text, bool is_ours);

/*
 * The heaviest paths of a tree, as at most so many lines: share and functions, indented below those that they share.
 * runtime: labels of functions that are no program's own; of these only what a program calls is shown.
 */
void text_tree(GString *s, const struct tree *t, GHashTable *runtime, unsigned lines_max);

#endif
