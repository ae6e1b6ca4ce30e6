/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_CSV_H
#define RENDER_CSV_H

#include "analyse/query.h"
#include "profile/profile.h"
#include "render/drain.h"
#include "render/text/folded.h"

/*
 * `offcpu report --csv`: a header, then one row per wait, fields quoted as RFC 4180 says, lines
 * ended by LF.  Stacks are one field, frames joined by ';', root first, ';' in names as ':'.
 * Control characters are escaped as in the text report.  Appends; selection NULL: everything.
 * options: how frames are spelled, see folded_names_new().
 */
void csv_waits(GString *out, const struct profile *p, const struct selection *selection,
	       const struct folded_options *options, const struct drain *drain);

/*
 * Appends s as one field, in quotes when it needs them.  NULL is empty.  One that begins with = + - @ or a tab begins with
 * an apostrophe, so that no spreadsheet takes a name for a formula.
 */
void csv_field(GString *out, const char *s);

#endif
