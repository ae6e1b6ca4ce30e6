/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_CALL_PATH_H
#define BASE_CALL_PATH_H

#include <stdint.h>

/*
 * Which arguments of a system call, numbered from 1, are the path of its file, and the descriptor of the directory
 * where that begins; 0: none.  Of two paths the first; of a symbolic link its own, not its text.
 */
struct call_path {
	uint8_t directory, path;
};
struct call_path call_path_of(uint64_t nr);

#endif
