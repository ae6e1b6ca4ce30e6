/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/range.h"

#include "analyse/range.h"
#include "base/parse.h"
#include "profile/profile_file.h"
#include "profile/slices.h"

void range_args_clear(struct range_args *a)
{
	g_clear_pointer(&a->from, g_free);
	g_clear_pointer(&a->to, g_free);
}

bool range_is_asked(const struct range_args *a)
{
	return a->from || a->to;
}

static bool check(const char *option, const char *text, GError **error)
{
	if (!text || range_check_time(text, error))
		return true;
	g_prefix_error(error, "%s: ", option);
	return false;
}

bool range_args_check(const struct range_args *a, GError **error)
{
	return check("--from", a->from, error) && check("--to", a->to, error);
}

struct profile *range_read_profile(const char *path, const struct range_args *a, GError **error)
{
	struct profile *p = profile_file_read(path, error);
	uint64_t from_ns, to_ns;

	if (!p || !range_is_asked(a))
		return p;
	if (!profile_has_slices(p))
		g_set_error(error, PARSE_ERROR, 0, "an older offcpu recorded it, which did not note when time was spent: "
			    "--from and --to cannot be used");
	else if (range_parse(a->from, a->to, &p->info, &from_ns, &to_ns, error) && profile_cut(p, from_ns, to_ns, error))
		return p;
	g_prefix_error(error, "%s: ", path);
	profile_free(p);
	return NULL;
}
