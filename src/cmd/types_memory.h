/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TYPES_MEMORY_H
#define TYPES_MEMORY_H

/*
 * Memory for what libbpf reads anew for each of a session's objects: the kernel's types, 5 MB and as much for a copy.
 * In new memory that is a page fault every 4 KiB, which costs more than to read them, most of all in a virtual
 * machine.  So the process keeps what it has freed, for all threads, and begins with huge pages where there are some.
 */

/* Before a session is made. */
void types_memory_take(void);
/* When its programs are loaded, of a session that goes on: what is free goes back to the system, from now on, too. */
void types_memory_give_back(void);

#endif
