/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_JITDUMP_H
#define SYMBOLIZE_JITDUMP_H

#include <stddef.h>

/*
 * The functions in a "jit-PID.dump", which a just-in-time compiler writes with their code,
 * as the text of a perf map ("START SIZE NAME" lines, in order of time).  The file is the
 * traced user's: what makes no sense ends the list, records and text are bounded, code is
 * not read.  NULL: it is no such file.  There is room for a byte at text[*ret_len];
 * free with g_free.
 */
char *jitdump_read(int fd, size_t *ret_len);

#endif
