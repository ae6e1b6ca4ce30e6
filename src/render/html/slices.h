/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_HTML_SLICES_H
#define RENDER_HTML_SLICES_H

#include <glib.h>
#include <stdint.h>

struct profile;

/*
 * Appends when the waits' time was, as the page's script reads it; nothing where the recording has no slices.
 * number: by wait of the profile, its number in the page + 1, 0 where it is not in it; waits_cnt: how many are.
 */
void html_slices(const struct profile *p, const uint32_t *number, uint32_t waits_cnt, GByteArray *out);

#endif
