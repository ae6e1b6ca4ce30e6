/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef IO_FILE_PATH_H
#define IO_FILE_PATH_H

#include <glib.h>
#include <stdint.h>

#include "abi/file_abi.h"

/*
 * The path that a record tells: appended.  names: rec->path_bytes bytes of it; given: the path that the program gave
 * where the record holds only its address, or NULL.
 */
void file_path_append(GString *s, const struct file_rec_op *rec, const char *names, const char *given);

#endif
