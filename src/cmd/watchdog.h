/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_WATCHDOG_H
#define CMD_WATCHDOG_H

/*
 * From the end of a window on: a process that has not ended some seconds later says on stderr where each of its threads
 * stands, once, and goes on.  Whoever waits for it, or sends a report of that, has what it takes then.
 */
void watchdog_begin(void);

#endif
