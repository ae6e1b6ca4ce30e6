/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef NO_ROOM_H
#define NO_ROOM_H

/*
 * Where the system gives no memory, GLib aborts.  From here on the process says so in one sentence instead, and ends
 * with EXIT_FAILED.  Threads that call spare_stack_use() are held to it, too, however they run out.
 */
void no_room_tell(void);

#endif
