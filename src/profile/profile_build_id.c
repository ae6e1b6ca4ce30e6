/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/profile.h"

#include <string.h>

/* The modules are few: strings of the profile, compared by pointer. */
void profile_set_build_id(struct profile *p, const char *module, const char *hex)
{
	struct module_id id = { .module = profile_string(p, module) };

	if (!module || !hex || !*hex || strlen(hex) > PROFILE_BUILD_ID_MAX_DIGITS ||
	    strspn(hex, "0123456789abcdef") != strlen(hex))
		return;
	if (profile_build_id(p, id.module) || p->build_ids->len >= PROFILE_MODULES_MAX)
		return;
	id.hex = profile_string(p, hex);
	g_array_append_val(p->build_ids, id);
}

const char *profile_build_id(const struct profile *p, const char *module)
{
	for (guint i = 0; i < p->build_ids->len; i++) {
		const struct module_id *id = &g_array_index(p->build_ids, struct module_id, i);

		if (id->module == module)
			return id->hex;
	}
	return NULL;
}
