/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/limits.h"
#include "base/order.h"
#include "render/json/parts.h"
#include "render/json/write.h"

static void write_shares(struct json *j, const struct tcp_shares *t)
{
	JSON(j, "direction", tcp_wait_direction_text(t->direction), "blocked_ns", t->all_ns);
	for (unsigned i = 0; i < TCP_SHARE_COUNT; i++) {
		g_autofree char *name = g_strdup_printf("%s_ns", tcp_share_name((enum tcp_share)i));

		json_member_uint(j, name, t->ns[i]);
	}
	JSON(j, "mostly", tcp_share_name(t->most), "resent", t->resent);
	json_member_known(j, "rtt_us", t->rtt_us, t->rtt_us);
	json_member_known(j, "srtt_us", t->srtt_us, t->srtt_us);
}

void json_tcp_shares(struct json *j, const struct findings *f, const struct finding *row)
{
	struct tcp_shares t;

	if (!tcp_shares_find(f, row, &t))
		return;
	json_member_object(j, "tcp");
	write_shares(j, &t);
	json_object_end(j);
}

/* For each object: does a selected wait have it? */
static bool *selected_objects(const struct profile *p, const struct selection *selection)
{
	bool *is_selected = g_new0(bool, p->objects->len + 1);

	for (uint32_t i = 0; i < p->waits->len; i++)
		is_selected[profile_wait(p, i)->object] |= !selection || selection->waits[i];
	return is_selected;
}

#define TCP_WAITS_MAX 1000	/* a server may have one for each client */

ORDER_POINTERS(compare_blocked, struct tcp_wait, ORDER_HIGH(blocked_ns))

void json_tcp_waits(struct json *j, const struct profile *p, const struct selection *selection)
{
	g_autofree bool *is_selected = selected_objects(p, selection);
	g_autoptr(GPtrArray) rows = g_ptr_array_new();

	for (guint i = 0; i < p->tcp_waits->len; i++)
		if (is_selected[profile_tcp_wait(p, i)->object + 1])
			g_ptr_array_add(rows, (gpointer)profile_tcp_wait(p, i));
	if (!p->tcp_waits->len)
		return;
	if (rows->len > TCP_WAITS_MAX)	/* otherwise in the recording's order */
		g_ptr_array_sort(rows, compare_blocked);
	JSON_ARRAY(j, "tcp_waits")
		for (guint i = 0; i < MIN(rows->len, TCP_WAITS_MAX); i++) {
			const struct tcp_wait *w = g_ptr_array_index(rows, i);
			const struct tcp_shares t = tcp_shares_of(p, w);

			json_object_begin(j);
			JSON(j, "object", profile_get_object(p, w->object)->name, "count", w->count);
			write_shares(j, &t);
			json_object_end(j);
		}
	if (rows->len > TCP_WAITS_MAX)
		json_member_uint(j, "tcp_waits_left_out", rows->len - TCP_WAITS_MAX);
}
