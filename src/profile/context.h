/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_CONTEXT_H
#define PROFILE_CONTEXT_H

#include "profile/profile.h"

/*
 * What a thread worked for as it waited: attributes of its trace context are the outermost frames of its user stack,
 * of kind FRAME_CONTEXT.  Such a frame has the attribute's value as its name, and "[http.route]" as its module.
 */

/* The node of the innermost frame of the stack's context, which is a stack that says all of it; 0: it has none. */
uint32_t context_node(const struct profile *p, uint32_t node);

/* The value of an attribute of a stack; NULL: it has none of that name. */
const char *context_value(const struct profile *p, uint32_t node, const char *attribute);

/* Calls for each attribute, from the outermost frame on. */
typedef void (*context_fn)(const char *attribute, const char *value, void *data);
void context_for_each(const struct profile *p, uint32_t node, context_fn fn, void *data);

/* What the request is called, as people say it: "POST /order/create".  Appends; false where nothing is known of it. */
bool context_append_route(const struct profile *p, uint32_t node, GString *s);

#endif
