/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_OUTPUT_H
#define CMD_OUTPUT_H

#include <glib.h>
#include <stdbool.h>

/*
 * What a command writes, part by part: to `path`, or to stdout for NULL or "-".  A file appears whole or not at all,
 * and one that was there keeps its mode; what is no plain file (a link, a device, a FIFO) is written into, as by a
 * shell.
 */
struct output;

/* NULL with a sentence. */
struct output *output_begin(const char *path, GError **error);
bool output_put(struct output *o, const void *bytes, gsize len, GError **error);
/* Frees o; from now on the file is there.  False with a sentence, and the one before is as it was. */
bool output_end(struct output *o, GError **error);
/* In place of output_end(): there is no file; NULL is fine. */
void output_drop(struct output *o);

#endif
