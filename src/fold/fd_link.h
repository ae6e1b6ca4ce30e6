/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_FD_LINK_H
#define FOLD_FD_LINK_H

#include <stdint.h>

#include <glib.h>

/*
 * What /proc tells of a descriptor and of a mapping.  Nothing is opened but files of /proc itself: a file system may
 * hang.
 */

#define FD_INFO_MAX 65536	/* bytes read of a /proc/PID/fdinfo/N */

/*
 * Its path, "socket:[123]", "anon_inode:[eventpoll]"; NULL: the process or the file is gone, or it is another file by
 * now.
 */
char *fd_link_text(const char *proc_dir, uint32_t pid, int fd, uint64_t ino);

/* Of a descriptor whose text is that; NULL: it says nothing.  "2 sockets, 1 eventfd", "every 20 ms", ... */
char *fd_link_detail(const char *proc_dir, uint32_t pid, int fd, const char *text);

/* The path of the mapping at this address, "[heap]" and so on; NULL: there is none.  ino 0: any. */
char *fd_link_mapping(const char *proc_dir, uint32_t pid, uint64_t addr, uint64_t ino);

#endif
