/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/json/json.h"

#include "features/incidents/history.h"

static void write_incident(struct json *j, const struct incident *i, const char *dir)
{
	JSON(j, "id", i->name, "bytes", i->bytes);
	if (i->damage) {
		json_member_string(j, "damage", i->damage);
	} else {
		JSON(j, "start_unix_ns", i->from_unix_ns, "duration_ns", i->to_unix_ns - i->from_unix_ns);
		JSON_UINTS(j, i, windows, minutes, hours);
		JSON(j, "said", i->said, "headline", i->headline);
		if (i->has_recording) {
			g_autofree char *path = incident_recording(dir, i->name);

			json_member_string(j, "recording", path);
		}
	}
}

void json_incidents(GString *out, const GPtrArray *all, const char *dir)
{
	struct json j;

	json_begin(&j, out);
	json_member_array(&j, "incidents");
	for (guint i = all->len; i--;)
		JSON_IN(&j, write_incident(&j, all->pdata[i], dir));
	json_array_end(&j);
	if (!all->len)
		json_member_string(&j, "none", "nothing was put aside: alerts with keep do that, and offcpu agent --keep");
	json_end(&j);
}
