/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/fleet_input.h"

#include <unistd.h>

#include "cmd/cmd.h"
#include "push/fleet.h"
#include "render/json/json.h"
#include "render/text/text.h"

/* Where recordings come from. */
struct sources {
	const struct follow_args *args;
	GPtrArray *profiles;	/* struct profile; of given files and histories */
	struct target *target;	/* NULL: use `profiles` */
	struct fleet_follow *fleet;
};

static void sources_clear(struct sources *s)
{
	g_ptr_array_unref(s->profiles);
	fleet_follow_free(s->fleet);
	target_close(s->target);
}

/* Of all hosts with selected threads, the one where they wait most. */
static const struct profile *first_host(struct sources *s, GError **error)
{
	const struct query *asked = &s->args->filters->query;
	g_autofree char *services = asked->processes ? g_strjoinv(",", (char **)(uintptr_t)asked->processes) : NULL;
	struct fleet_hosts_query q = { .only = { services } };

	s->target = fleet_open(s->args->fleet, s->args->range, &q.range, error);
	if (!s->target)
		return NULL;
	s->fleet = fleet_follow_new(s->target, &q.range);
	return fleet_follow_first(s->fleet, &q, error);
}

/* A folder is a history, read for the range; a file is a recording. */
static struct profile *read_path(struct sources *s, const char *path, GError **error)
{
	const struct range_args *range = s->args->range;

	if (!history_is_asked() && g_file_test(path, G_FILE_TEST_IS_DIR))
		return history_read_of(path, range->from, range->to, error);
	return range_read_profile(path, range, error);
}

static const struct profile *first_profile(struct sources *s, GError **error)
{
	if (fleet_is_asked(s->args->fleet))
		return first_host(s, error);
	for (const char *const *path = s->args->paths; *path; path++) {
		struct profile *p = read_path(s, *path, error);

		if (!p)
			return NULL;
		g_ptr_array_add(s->profiles, p);
	}
	return g_ptr_array_index(s->profiles, 0);
}

static void say_nothing(GString *out, const struct profile *p)
{
	if (!p->connections->len)
		g_string_append(out, "Nothing to follow: no connection is known. Record with --objects.\n");
	else
		g_string_append(out, "Nothing to follow: little of the time that matters is waited for a connection. See `offcpu report`.\n");
}

static bool print_chains(struct sources *s, const struct profile *p, GError **error)
{
	const struct follow_source source = s->fleet ? fleet_follow_source(s->fleet) : follow_source_of(s->profiles);
	struct selection *selection = selection_new(p, &s->args->filters->query, error);
	g_autoptr(GPtrArray) chains = selection ? follow_new(p, selection, &source, error) : NULL;
	g_autoptr(GString) out = g_string_new(NULL);
	const struct text_options options = { .width = isatty(STDOUT_FILENO) ? cmd_stdout_width() : 0 };

	selection_free(selection);
	if (!chains)
		return false;
	if (s->args->json)
		json_follow(out, chains);
	else if (chains->len)
		text_follow(out, chains, &options);
	else
		say_nothing(out, p);
	return cmd_write_output(NULL, out->str, out->len, error);
}

int follow_report(const struct follow_args *a)
{
	struct sources s = { .args = a, .profiles = g_ptr_array_new_with_free_func((GDestroyNotify)profile_free) };
	g_autoptr(GError) error = NULL;
	const struct profile *p = first_profile(&s, &error);
	bool ok = p && print_chains(&s, p, &error);

	if (!ok)
		cmd_error("report", "%s", error->message);
	sources_clear(&s);
	return ok ? EXIT_OK : EXIT_FAILED;
}
