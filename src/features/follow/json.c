/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/json/json.h"

static void put_hop(struct json *j, const struct follow_hop *h)
{
	JSON(j, "host", h->host, "process", h->process, "reason", *h->reason ? h->reason : NULL);
	JSON(j, "found_by", h->how == PEER_NONE ? NULL : peer_how_name(h->how), "time_ns", h->time_ns);
	JSON(j, "window_ns", h->window_ns, "percent", (uint64_t)(MIN(h->percent, 100) + 0.5), "percent_of", h->of);
	json_member_string(j, "sentence", h->sentence);
}

void json_follow(GString *out, const GPtrArray *chains)
{
	struct json j;

	json_begin(&j, out);
	JSON(&j, "schema", "offcpu.io/1", "type", "follow");
	JSON_ARRAY(&j, "chains")
		EACH_POINTER(i, const struct follow_chain, c, chains) {
			json_object_begin(&j);
			json_member_array(&j, "hops");
			for (guint k = 0; k < c->hops->len; k++)
				JSON_IN(&j, put_hop(&j, &g_array_index(c->hops, struct follow_hop, k)));
			json_array_end(&j);
			json_member_string(&j, "end", c->end);
			json_object_end(&j);
		}
	json_end(&j);
}
