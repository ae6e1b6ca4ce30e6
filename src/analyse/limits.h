/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_LIMITS_H
#define ANALYSE_LIMITS_H

#include "analyse/findings.h"

/* Fills in what holds each row up from outside. */
void limits_find(struct findings *f);

#endif
