/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_TEXT_HEAD_H
#define RENDER_TEXT_HEAD_H

#include "explain/findings.h"

/* What stands first of a recording, in the report and on the page.  Both append. */

/* "mariadbd (1736)", "postgres (12 processes)", "5 processes". */
void text_target(GString *s, const struct findings *f);
/* "exact, complete"; "short waits sampled, 0.3% lost". */
void text_verdict(GString *s, const struct profile *p);

#endif
