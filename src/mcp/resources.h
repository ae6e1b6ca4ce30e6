/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef MCP_RESOURCES_H
#define MCP_RESOURCES_H

#include "render/json/write.h"

/* The documents that say what answers mean, a resource for each section: whole ones are too much to read at once. */

/* The array of resources/list. */
void resources_write(struct json *j);
/* Writes the array "contents" of resources/read; false: there is no such resource, and nothing is written. */
bool resources_write_one(struct json *j, const char *uri);

#endif
