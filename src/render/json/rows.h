/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_JSON_ROWS_H
#define RENDER_JSON_ROWS_H

#include "profile/profile.h"
#include "render/drain.h"
#include "render/json/write.h"

/* Rows as they come, or heaviest first, up to some size. */
struct json_rows {
	const struct drain *drain;
	uint32_t *order;	/* NULL: as they come */
	size_t max_bytes;	/* of the whole text; 0: no bound */
	uint64_t left_rows, left_cnt, left_ns, left_on_cpu_ns;
};

/* Waits, those of most time first.  For g_free(). */
uint32_t *json_rows_order(const struct profile *p);
/* Is there room for it, of heaviest ones within so many quarters of max_bytes?  Else it is counted. */
bool json_rows_room(const struct json *j, struct json_rows *rows, const struct wait *w, unsigned quarters);
/* What was counted, if anything. */
void json_rows_left_out(struct json *j, const struct json_rows *rows);

#endif
