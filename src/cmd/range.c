/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/range.h"

#include "analyse/range.h"
#include "base/parse.h"
#include "base/quiet_thread.h"
#include "base/refuse.h"
#include "cmd/input.h"
#include "features/slices/rows.h"

void range_args_clear(struct range_args *a)
{
	g_clear_pointer(&a->from, g_free);
	g_clear_pointer(&a->to, g_free);
}

bool range_is_asked(const struct range_args *a)
{
	return a->from || a->to;
}

static bool check_time(const char *option, const char *text, GError **error)
{
	if (!text || range_check_time(text, error))
		return true;
	g_prefix_error(error, "%s: ", option);
	return false;
}

bool range_args_check(const struct range_args *a, GError **error)
{
	if (history_is_asked())
		return history_check_times(a->from, a->to, error);
	return check_time("--from", a->from, error) && check_time("--to", a->to, error);
}

bool range_source(const char *given, const char **ret_path, GError **error)
{
	*ret_path = history_is_asked() ? history_dir() : given ? given : RECORDING_DEFAULT_FILE;
	if (!given || !history_is_asked())
		return true;
	return refuse(error, PARSE_ERROR, 0, "--history and \"%s\": only one of them is read", given);
}

/* Why one of our recordings has no slices. */
static const char *why_no_slices(const struct profile *p)
{
	if (p->info.has_requests)
		return "in a recording of requests the waits are of whole requests, not of points in time: "
		       "--from and --to cannot be used; report --by request tells when the slowest were";
	if (p->info.looks.rounds)
		return "threads were looked at now and then, and how often they waited was counted, not when: --from and --to cannot be used";
	if (profile_find_loss(p, PROFILE_LOSS_SLICES))
		return "when time was spent was lost: the slices of the window did not add up: --from and --to cannot be used";
	return "an older offcpu recorded it, which did not note when time was spent: --from and --to cannot be used";
}

struct profile *range_read_profile(const char *path, const struct range_args *a, GError **error)
{
	struct profile *p = history_is_asked() ? history_read(a->from, a->to, error) : recording_read(path, error);
	uint64_t from_ns, to_ns;

	if (history_is_asked() || !p || !range_is_asked(a))
		return p;
	if (p->info.imported)
		g_set_error(error, PARSE_ERROR, 0,
			    "%s does not tell when time was spent: --from and --to cannot be used", p->info.imported);
	else if (!profile_has_slices(p))
		g_set_error_literal(error, PARSE_ERROR, 0, why_no_slices(p));
	else if (range_parse(a->from, a->to, &p->info, &from_ns, &to_ns, error) &&
		 profile_cut(p, from_ns, to_ns, error))
		return p;
	g_prefix_error(error, "%s: ", path);
	profile_free(p);
	return NULL;
}

struct range_reading {
	const char *path;
	const struct range_args *range;
	GError *error;
};

static gpointer read_in_thread(gpointer data)
{
	struct range_reading *r = data;

	spare_stack_use();
	return range_read_profile(r->path, r->range, &r->error);
}

bool range_read_two(const char *const path[2], const struct range_args range[2], bool is_one, struct profile *ret[2],
		    GError **error)
{
	struct range_reading second = { .path = path[1], .range = &range[1] };
	GThread *thread = is_one ? NULL : g_thread_new("second", read_in_thread, &second);

	ret[0] = range_read_profile(path[0], &range[0], error);
	ret[1] = thread ? g_thread_join(thread) : ret[0];
	if (ret[0] && second.error)
		g_propagate_error(error, second.error);
	else
		g_clear_error(&second.error);
	return ret[0] && ret[1];
}
