/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/json/json.h"

#include "render/json/write.h"

#define PPM 1e6
#define PPM_MAX 1e18	/* however much a server says */

static uint64_t ppm(double threads)
{
	return (uint64_t)(MIN(threads * PPM, PPM_MAX) + 0.5);
}

static void put_node(struct json *j, const struct service_node *n)
{
	json_object_begin(j);
	json_member_string(j, "name", n->name);
	json_member_bool(j, "recorded", n->is_known);
	json_member_uint(j, "hosts", n->hosts_cnt);
	json_member_string(j, "host", *n->host ? n->host : NULL);
	json_member_uint(j, "waits_for_others_ppm", ppm(n->asks));
	json_member_uint(j, "itself_ppm", ppm(n->own));
	json_member_string(j, "reason", n->own > 0 ? reason_name(n->reason) : NULL);
	json_member_uint(j, "reason_ppm", ppm(n->of_reason));
	json_member_bool(j, "drawn", n->is_drawn);
	json_object_end(j);
}

static void put_edge(struct json *j, const struct service_edge *e)
{
	json_object_begin(j);
	json_member_uint(j, "from", e->from);
	json_member_uint(j, "to", e->to);
	json_member_uint(j, "time_ns", e->ns);
	json_member_uint(j, "threads_ppm", ppm(e->threads));
	json_member_bool(j, "at_most", e->is_loop);
	json_member_string(j, "address", e->address);
	json_member_string(j, "found_by", peer_how_name(e->how));
	json_member_bool(j, "drawn", e->is_drawn);
	json_object_end(j);
}

void json_services(GString *out, const struct service_graph *g, uint64_t from_unix_ns, uint64_t to_unix_ns)
{
	struct json j;

	json_init(&j, out);
	json_object_begin(&j);
	json_member_string(&j, "schema", "offcpu.services/1");
	json_member_uint(&j, "from_unix_ns", from_unix_ns);
	json_member_uint(&j, "to_unix_ns", to_unix_ns);
	json_member_array(&j, "services");
	for (guint i = 0; i < g->nodes->len; i++)
		put_node(&j, service_node(g, i));
	json_array_end(&j);
	json_member_array(&j, "edges");
	for (guint i = 0; i < g->edges->len; i++)
		put_edge(&j, service_edge(g, i));
	json_array_end(&j);
	json_object_end(&j);
}
