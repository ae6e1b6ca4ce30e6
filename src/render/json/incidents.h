/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_JSON_INCIDENTS_H
#define RENDER_JSON_INCIDENTS_H

#include <glib.h>

/* Appends a line, `all` being of incident_list(dir).  The newest first: where there is no room for all, those are wanted. */
void json_incidents(GString *out, const GPtrArray *all, const char *dir);

#endif
