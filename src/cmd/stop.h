/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_STOP_H
#define CMD_STOP_H

/* Of commands that go on until they are told to end, and then print: a signal asks them to. */

/* From now on SIGINT, SIGTERM and SIGHUP only set what this gives. */
const volatile int *stop_catch(void);
/* They end the process again. */
void stop_release(void);

#endif
