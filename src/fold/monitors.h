/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_MONITORS_H
#define FOLD_MONITORS_H

#include "profile/profile.h"

/* Who has the monitors that threads of Java have waited for through much of the window, as it has just ended: LIMIT_MONITOR. */
void monitors_look(struct profile *p, const char *proc_dir);

#endif
