/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SPARE_STACK_H
#define SPARE_STACK_H

/*
 * A stack of its own for this thread's signal handlers, for when the thread's stack is used up.  Each thread that works
 * on what others decide calls it first; again is free.  It takes no memory: the stack lies with the thread's variables.
 */
void spare_stack_use(void);

#endif
