/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_STACK_TEXT_H
#define CMD_STACK_TEXT_H

#include <glib.h>

#include "profile/profile.h"

/* A stack as `offcpu io` prints it: a frame a line, the innermost first.  Nothing of node 0. */
void stack_text(GString *s, const struct profile *p, uint32_t node);

#endif
