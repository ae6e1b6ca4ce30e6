/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/json/json.h"

#include "render/json/write.h"

#define PPM 1e6
#define PPM_MAX 1e18	/* limit for untrusted values */

static uint64_t ppm(double threads)
{
	return (uint64_t)(MIN(threads * PPM, PPM_MAX) + 0.5);
}

static void put_node(struct json *j, const struct service_node *n)
{
	JSON(j, "name", n->name, "recorded", n->is_known, "hosts", n->hosts_cnt, "host", *n->host ? n->host : NULL);
	JSON(j, "waits_for_others_ppm", ppm(n->asks), "itself_ppm", ppm(n->own));
	JSON(j, "reason", n->own > 0 ? reason_name(n->reason) : NULL, "reason_ppm", ppm(n->of_reason));
	json_member_bool(j, "drawn", n->is_drawn);
}

static void put_edge(struct json *j, const struct service_edge *e)
{
	JSON(j, "from", e->from, "to", e->to, "time_ns", e->ns, "threads_ppm", ppm(e->threads), "at_most", e->is_loop);
	JSON(j, "address", e->address, "found_by", peer_how_name(e->how), "drawn", e->is_drawn);
}

void json_services(GString *out, const struct service_graph *g, uint64_t from_unix_ns, uint64_t to_unix_ns)
{
	struct json j;

	json_begin(&j, out);
	JSON(&j, "schema", "offcpu.services/1", "from_unix_ns", from_unix_ns, "to_unix_ns", to_unix_ns);
	JSON_ARRAY(&j, "services")
		for (guint i = 0; i < g->nodes->len; i++)
			JSON_IN(&j, put_node(&j, service_node(g, i)));
	JSON_ARRAY(&j, "edges")
		for (guint i = 0; i < g->edges->len; i++)
			JSON_IN(&j, put_edge(&j, service_edge(g, i)));
	json_object_end(&j);
}
