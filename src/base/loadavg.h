/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef LOADAVG_H
#define LOADAVG_H

#include <stdbool.h>

/* How many threads of the machine run or could, and how many there are, as /proc/loadavg says; false: it does not. */
bool loadavg_threads(unsigned *ret_runnable, unsigned *ret_all);

#endif
