/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/targets/part.h"

#include <inttypes.h>

struct connections {
	struct profile *profile;
	struct net_homes *homes;
	GHashTable *noted;	/* a set of texts: those added to this window */
	GHashTable *cnts;	/* text of process, side and served address -> number added */
};

struct connections *connections_new(struct profile *profile, struct net_homes *homes)
{
	struct connections *c = g_new0(struct connections, 1);

	c->profile = profile;
	c->homes = homes;
	c->noted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	c->cnts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	return c;
}

FREES(connections_free, struct connections, c, g_hash_table_unref(c->noted); g_hash_table_unref(c->cnts))

void connections_next_window(struct connections *c)
{
	g_hash_table_remove_all(c->noted);
	g_hash_table_remove_all(c->cnts);
}

static char *row_key(uint32_t pid, uint8_t side, const char *local, const char *remote)
{
	return g_strdup_printf("%" PRIu32 " %u %s %s", pid, side, local, remote);
}

static void put_connection(struct connections *c, uint32_t pid, uint8_t side, const char *local, const char *remote)
{
	const struct connection row = { .pid = pid, .side = side, .local = local, .remote = remote };

	if (g_hash_table_add(c->noted, row_key(pid, side, local, remote)))
		profile_add_connection(c->profile, &row);
}

/* Is there room for one more separate connection? */
static bool is_told_apart(struct connections *c, uint32_t pid, uint8_t side, const char *local, const char *remote)
{
	g_autofree char *whole = row_key(pid, side, local, remote);
	g_autofree char *key = g_strdup_printf("%" PRIu32 " %u %s", pid, side, side == CONNECTION_SERVER ? local : remote);
	guint cnt = GPOINTER_TO_UINT(g_hash_table_lookup(c->cnts, key));

	if (g_hash_table_contains(c->noted, whole))
		return true;
	g_hash_table_replace(c->cnts, g_steal_pointer(&key), GUINT_TO_POINTER(cnt + 1));
	return cnt < CONNECTIONS_APART;
}

/* "10.0.0.9:48120" -> "10.0.0.9" */
static void cut_port(char *text)
{
	char *colon = strrchr(text, ':');

	if (colon)
		*colon = '\0';
}

void connections_add(struct connections *c, uint32_t pid, uint8_t side, const struct net_end *local,
		     const struct net_end *remote)
{
	g_autofree char *here = net_end_text(local), *there = net_end_text(remote);
	bool serves = side == CONNECTION_SERVER;

	if (!pid || !local->port || !remote->port)
		return;
	if (!is_told_apart(c, pid, side, here, there)) {
		if (serves)
			*there = '\0';
		else
			cut_port(here);
	}
	put_connection(c, pid, side, here, there);
}

static bool is_ipv4(const struct net_end *e)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(e->address, mapped, sizeof(mapped));
}

void connections_add_listener(struct connections *c, uint32_t pid, const struct net_end *local)
{
	static const uint8_t loopback[] = { 127, 0, 0, 1 };
	const GArray *addresses = net_end_is_any(local) ? net_homes_addresses(c->homes, pid) : NULL;
	struct net_end end = net_end_is_any(local) ? net_end_of(loopback, sizeof(loopback), local->port) : *local;

	for (guint i = 0; pid && local->port && i <= MIN(addresses ? addresses->len : 0, CONNECTIONS_APART); i++) {
		g_autofree char *here = net_end_text(&end);

		if (!is_ipv4(local) || is_ipv4(&end))
			put_connection(c, pid, CONNECTION_SERVER, here, "");
		if (addresses && i < addresses->len) {
			end = g_array_index(addresses, struct net_end, i);
			end.port = local->port;
		}
	}
}
