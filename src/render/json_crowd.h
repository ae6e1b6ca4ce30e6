/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_JSON_CROWD_H
#define RENDER_JSON_CROWD_H

#include "analyse/query.h"
#include "profile/profile.h"
#include "render/json_write.h"

/* Writes the frames of a stack as the member `key`. */
typedef void (*json_stack_fn)(struct json *j, const char *key, uint32_t node, void *data);

/* Members "runq_blame" and "storms" of the report; nothing where they were not recorded. */
void json_runq_blame(struct json *j, const struct profile *p, const struct selection *selection);
void json_storms(struct json *j, const struct profile *p, const struct selection *selection, json_stack_fn write_stack,
		 void *data);

#endif
