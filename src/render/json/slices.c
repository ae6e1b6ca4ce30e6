/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/slices.h"
#include "render/json/parts.h"

static void write_slice(struct json *j, const struct slice_total *total)
{
	json_object_begin(j);
	JSON_UINTS(j, total, from_ns, to_ns, count, blocked_ns, runnable_ns, preempted_ns);
	json_member_array(j, "log2_ns");
	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++) {
		if (!total->hist[i])
			continue;
		json_array_begin(j);
		json_uint(j, i);
		json_uint(j, total->hist[i]);
		json_array_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

void json_slices(struct json *j, const struct profile *p, const struct selection *selection)
{
	g_autofree struct slice_total *totals = NULL;

	if (!profile_has_slices(p))
		return;
	totals = profile_slice_totals(p, selection ? selection->waits : NULL);
	json_member_object(j, "slices");
	json_member_uint(j, "length_ns", profile_slice_ns(p));
	json_member_array(j, "each");
	for (uint32_t i = 0; i < profile_slice_cnt(p); i++)
		write_slice(j, &totals[i]);
	json_array_end(j);
	json_object_end(j);
}
