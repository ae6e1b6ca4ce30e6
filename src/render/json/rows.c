/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/json/rows.h"

#include "profile/on_cpu.h"

static gint heaviest_first(gconstpointer a, gconstpointer b, gpointer profile)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct wait *of_x = profile_wait(profile, x), *of_y = profile_wait(profile, y);
	uint64_t x_ns = wait_off_cpu_ns(of_x) + of_x->on_cpu_ns, y_ns = wait_off_cpu_ns(of_y) + of_y->on_cpu_ns;

	return x_ns != y_ns ? (x_ns > y_ns ? -1 : 1) : (x > y) - (x < y);
}

uint32_t *json_rows_order(const struct profile *p)
{
	uint32_t *order = g_new(uint32_t, (gsize)p->waits->len + 1);

	for (uint32_t i = 0; i < p->waits->len; i++)
		order[i] = i;
	g_qsort_with_data(order, (gint)p->waits->len, sizeof(*order), heaviest_first, (gpointer)(uintptr_t)p);
	return order;
}

bool json_rows_room(const struct json *j, struct json_rows *rows, const struct wait *w, unsigned quarters)
{
	if (!rows->max_bytes || j->out->len < (rows->order ? rows->max_bytes / 4 * quarters : rows->max_bytes))
		return true;
	rows->left_rows++;
	rows->left_cnt += w->state == ON_CPU_STATE ? 0 : w->count;
	rows->left_ns += wait_off_cpu_ns(w);
	rows->left_on_cpu_ns += w->on_cpu_ns;
	return false;
}

void json_rows_left_out(struct json *j, const struct json_rows *rows)
{
	if (!rows->left_rows)
		return;
	json_member_object(j, "left_out");
	json_member_uint(j, "rows", rows->left_rows);
	json_member_uint(j, "count", rows->left_cnt);
	json_member_uint(j, "off_cpu_ns", rows->left_ns);
	json_member_uint(j, "on_cpu_ns", rows->left_on_cpu_ns);
	json_object_end(j);
}
