/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/profile_schema.h"

#include <stddef.h>

/* Tables that the fourth version has besides those of the third. */
const struct profile_table profile_schema_4[] = {
	{ "slice",
	  "CREATE TABLE slice( -- the window in pieces of meta's slice_ns, the first one being 0\n"
	  "  id INTEGER PRIMARY KEY,\n"
	  "  count INTEGER, -- of waits that ended in it\n"
	  "  blocked_ns INTEGER, -- of all waits, what lies in it\n"
	  "  runnable_ns INTEGER,\n"
	  "  preempted_ns INTEGER,\n"
	  "  log2_ns TEXT -- of the waits that ended in it, as in wait; NULL: none did\n"
	  ")" },
	{ "slice_cells",
	  "CREATE TABLE slice_cells( -- the same for each wait row\n"
	  "  id INTEGER PRIMARY KEY,\n"
	  "  slice_id INTEGER REFERENCES slice(id),\n"
	  "  cells BLOB -- see docs/file-format.md; those of one slice are one after the other\n"
	  ")" },
	{ NULL, NULL },
};
