/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/fleet_input.h"

#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "explain/follow.h"
#include "render/json/json.h"
#include "render/text/text.h"

/* Where recordings come from, each of which is read once. */
struct sources {
	const struct follow_args *args;
	GPtrArray *profiles;	/* struct profile */
	struct target *target;	/* NULL: the profiles are all there is */
	struct fleet_query query;
	GStringChunk *texts;
};

static void sources_clear(struct sources *s)
{
	g_ptr_array_unref(s->profiles);
	target_close(s->target);
	g_string_chunk_free(s->texts);
}

static bool add_rows(void *ctx, const struct peer_ask *ask, GArray *rows, GError **error)
{
	struct sources *s = ctx;

	if (s->target)
		return fleet_peers(s->target, &s->query, ask, rows, s->texts, error);
	for (guint i = 0; i < s->profiles->len; i++)
		peers_add_rows(rows, g_ptr_array_index(s->profiles, i), ask);
	return true;
}

static struct profile *read_host(struct sources *s, const char *host, GError **error)
{
	const struct fleet_query q = { .from_unix_ns = s->query.from_unix_ns, .to_unix_ns = s->query.to_unix_ns,
				       .host_glob = host, .with_connections = true };
	struct profile *p = fleet_read(s->target, &q, error);

	if (p)
		g_ptr_array_add(s->profiles, p);
	return p;
}

static const struct profile *recording(void *ctx, const struct peer *peer, GError **error)
{
	struct sources *s = ctx;

	for (guint i = 0; i < s->profiles->len; i++) {
		const struct profile *p = g_ptr_array_index(s->profiles, i);

		if (peers_has(p, peer))
			return p;
	}
	if (s->target)
		return read_host(s, peer->host, error);
	cmd_bad(error, "there is no recording of %s", peer->host);
	return NULL;
}

/* Of all hosts that have what is asked for, the one where it waits most. */
static const struct profile *first_host(struct sources *s, GError **error)
{
	const struct query *asked = &s->args->filters->query;
	g_autofree char *services = asked->processes ? g_strjoinv(",", (char **)(uintptr_t)asked->processes) : NULL;
	const struct fleet_hosts_query q = { .range = s->query, .only = { services } };
	g_autoptr(GArray) hosts = fleet_hosts(s->target, &q, error);

	if (!hosts)
		return NULL;
	if (!hosts->len) {
		cmd_bad(error, "no host pushed anything of %s in that time", services ? services : "any service");
		return NULL;
	}
	return read_host(s, g_array_index(hosts, struct fleet_host_row, 0).host, error);
}

static bool read_files(struct sources *s, GError **error)
{
	for (const char *const *path = s->args->paths; *path; path++) {
		struct profile *p = range_read_profile(*path, s->args->range, error);

		if (!p)
			return false;
		g_ptr_array_add(s->profiles, p);
	}
	return true;
}

static const struct profile *first(struct sources *s, GError **error)
{
	if (fleet_is_asked(s->args->fleet)) {
		s->target = fleet_open(s->args->fleet, s->args->range, &s->query, error);
		return s->target ? first_host(s, error) : NULL;
	}
	return read_files(s, error) ? g_ptr_array_index(s->profiles, 0) : NULL;
}

static void say_nothing(GString *out, const struct profile *p)
{
	if (!p->connections->len)
		g_string_append(out, "Nothing to follow: no connection is known. Record with --objects.\n");
	else
		g_string_append(out, "Nothing to follow: little of the time that matters is waited for a connection. See `offcpu report`.\n");
}

static bool print(struct sources *s, const struct profile *p, GError **error)
{
	const struct follow_source source = { .add_rows = add_rows, .recording = recording, .ctx = s };
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
	struct sources s = { .args = a, .profiles = g_ptr_array_new_with_free_func((GDestroyNotify)profile_free),
			     .texts = g_string_chunk_new(4096) };
	g_autoptr(GError) error = NULL;
	const struct profile *p = first(&s, &error);
	bool ok = p && print(&s, p, &error);

	if (!ok)
		cmd_error("report", "%s", error->message);
	sources_clear(&s);
	return ok ? EXIT_OK : EXIT_FAILED;
}
