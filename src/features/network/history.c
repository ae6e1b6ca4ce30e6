/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "store/pack_part.h"

#include "store/blob.h"
#include "store/pack.h"

/* "10.0.0.9:48120" -> "10.0.0.9" */
static char *without_port(const char *end)
{
	const char *colon = strrchr(end, ':');

	return colon && colon != end && colon[-1] != ':' ? g_strndup(end, (gsize)(colon - end)) : g_strdup(end);
}

static void put_connections(struct dict_writer *w, const struct profile *p, GByteArray *into)
{
	g_autoptr(GHashTable) told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GByteArray) rows = g_byte_array_new();

	EACH_ROW(i, const struct connection, c, p->connections) {
		const bool serves = c->side == CONNECTION_SERVER;
		g_autofree char *local = serves ? g_strdup(c->local) : without_port(c->local);
		const struct connection own = { c->pid, c->side, local, serves ? "" : c->remote };

		if (g_hash_table_add(told, g_strdup_printf("%u %u %s %s", own.pid, own.side, own.local, own.remote)))
			pack_row(w, TABLE_CONNECTION, &own, NULL, rows);
	}
	blob_put(into, g_hash_table_size(told));
	g_byte_array_append(into, rows->data, rows->len);
}

void pack_network(struct dict_writer *w, const struct profile *p, GByteArray *into)
{
	if (!p->tcp_waits->len && !p->connections->len && !p->stories->len)
		return;
	pack_table(w, p, TABLE_TCP_WAIT, NULL, into);
	put_connections(w, p, into);
}

bool unpack_network(struct dict_map *m, struct cursor *c, struct profile *rows)
{
	struct tcp_wait t;
	struct connection own;

	if (c->at == c->end)
		return true;
	EACH_UNPACKED(m, c, TABLE_TCP_WAIT, PACK_ROWS_MAX, 0, &t)
		profile_add_tcp_wait(rows, &t);
	EACH_UNPACKED(m, c, TABLE_CONNECTION, CONNECTIONS_MAX, 0, &own)
		profile_add_connection(rows, &own);
	return !c->bad;
}
