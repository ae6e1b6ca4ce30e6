/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "push/fleet.h"

#include "base/refuse.h"

struct fleet_follow {
	struct target *target;
	struct fleet_query range;
	GPtrArray *profiles;	/* struct profile */
	GStringChunk *texts;
};

struct fleet_follow *fleet_follow_new(struct target *t, const struct fleet_query *range)
{
	struct fleet_follow *f = g_new0(struct fleet_follow, 1);

	f->target = t;
	f->range = *range;
	f->profiles = g_ptr_array_new_with_free_func((GDestroyNotify)profile_free);
	f->texts = g_string_chunk_new(4096);
	return f;
}

FREES(fleet_follow_free, struct fleet_follow, f, g_ptr_array_unref(f->profiles); g_string_chunk_free(f->texts))

static bool add_rows(void *ctx, const struct peer_ask *ask, GArray *rows, GError **error)
{
	struct fleet_follow *f = ctx;

	return fleet_peers(f->target, &f->range, ask, rows, f->texts, error);
}

static struct profile *read_host(struct fleet_follow *f, const char *host, GError **error)
{
	const struct fleet_query q = { .from_unix_ns = f->range.from_unix_ns, .to_unix_ns = f->range.to_unix_ns,
				       .host_glob = host, .with_connections = true };
	struct profile *p = fleet_read(f->target, &q, error);

	if (p)
		g_ptr_array_add(f->profiles, p);
	return p;
}

static const struct profile *recording(void *ctx, const struct peer *peer, GError **error)
{
	struct fleet_follow *f = ctx;

	return peers_recording(f->profiles, peer) ?: read_host(f, peer->host, error);
}

const struct profile *fleet_follow_first(struct fleet_follow *f, const struct fleet_hosts_query *q, GError **error)
{
	g_autoptr(GArray) hosts = fleet_hosts(f->target, q, error);
	const char *service = q->only[0] ? q->only[0] : "any service";

	if (!hosts)
		return NULL;
	if (hosts->len)
		return read_host(f, g_array_index(hosts, struct fleet_host_row, 0).host, error);
	refuse(error, PUSH_ERROR, PUSH_ERROR_EMPTY, "no host pushed anything of %s in that time", service);
	return NULL;
}

struct follow_source fleet_follow_source(struct fleet_follow *f)
{
	return (struct follow_source){ .add_rows = add_rows, .recording = recording, .ctx = f };
}
