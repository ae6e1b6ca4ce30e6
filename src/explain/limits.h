/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_LIMITS_H
#define EXPLAIN_LIMITS_H

#include "explain/findings.h"

/* Fills in what holds each row up from outside. */
void limits_find(struct findings *f);

#endif
