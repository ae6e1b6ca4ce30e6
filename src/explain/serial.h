/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_SERIAL_H
#define EXPLAIN_SERIAL_H

#include "explain/findings.h"

/*
 * A command waits for one process while nothing else of it works: a straggler, or a serial step (analyse/alone.h).  Told
 * where that takes a quarter of the command's time, as what a wall clock shows; what waits for it is a link of that.
 */

/* Appends a finding, whose `busy` is BUSY_ALONE; the caller sorts. */
void serial_find(struct findings *f);
void serial_free(struct serial *serial);	/* NULL is fine */

/* Of that finding. */
void serial_append(GString *s, const struct findings *f, const struct finding *row);
void serial_append_evidence(GString *s, const struct findings *f);
void serial_append_command(GString *s, const struct findings *f, const struct finding *row);
const char *serial_advice(const struct findings *f);

#endif
