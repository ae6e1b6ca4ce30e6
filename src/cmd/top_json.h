/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_TOP_JSON_H
#define CMD_TOP_JSON_H

#include "tui/view.h"

/*
 * The interval that the view shows, and at most so many of its rows in their order (0: all), as one line of JSON;
 * appends.
 */
void top_json(GString *s, const struct view *v, guint rows_max);

#endif
