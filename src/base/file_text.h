/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_FILE_TEXT_H
#define BASE_FILE_TEXT_H

#include <stddef.h>

/* What is left of a file, up to max_bytes, and a zero byte behind it.  NULL with errno; free with g_free(). */
char *file_read_fd(int fd, size_t max_bytes, size_t *ret_len);

#endif
