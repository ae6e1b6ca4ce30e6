/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "store/pack_part.h"

#include "profile/profile_schema.h"
#include "store/blob.h"
#include "store/pack.h"

static void put_tcp_waits(struct dict_writer *w, const struct profile *p, GByteArray *into)
{
	const struct profile_table *t = &profile_tables[TABLE_TCP_WAIT];

	blob_put(into, p->tcp_waits->len);
	EACH_ROW(i, const struct tcp_wait, row, p->tcp_waits) {
		blob_put(into, dict_writer_object(w, row->object + 1));
		for (unsigned n = 0; n < t->column_cnt; n++)
			if (t->columns[n].kind != COLUMN_ID)
				blob_put(into, column_value(&t->columns[n], row));
	}
}

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
		const char *remote = serves ? "" : c->remote;

		if (!g_hash_table_add(told, g_strdup_printf("%u %u %s %s", c->pid, c->side, local, remote)))
			continue;
		blob_put(rows, c->pid);
		blob_put(rows, c->side);
		blob_put(rows, dict_writer_string(w, local));
		blob_put(rows, dict_writer_string(w, remote));
	}
	blob_put(into, g_hash_table_size(told));
	g_byte_array_append(into, rows->data, rows->len);
}

void pack_network(struct dict_writer *w, const struct profile *p, GByteArray *into)
{
	if (!p->tcp_waits->len && !p->connections->len && !p->stories->len)
		return;
	put_tcp_waits(w, p, into);
	put_connections(w, p, into);
}

static bool get_tcp_wait(struct dict_map *m, struct cursor *c, struct tcp_wait *ret)
{
	const struct profile_table *t = &profile_tables[TABLE_TCP_WAIT];
	uint32_t object = blob_get_id(c, (uint64_t)dict_map_dict(m)->objects->len + 1);

	*ret = (struct tcp_wait){ 0 };
	for (unsigned n = 0; n < t->column_cnt; n++)
		if (t->columns[n].kind != COLUMN_ID)
			column_set(&t->columns[n], ret, blob_get(c, MIN(column_max(&t->columns[n]), PROFILE_NS_MAX)));
	c->bad = c->bad || !object;
	if (!c->bad)
		ret->object = dict_map_object(m, object) - 1;
	return !c->bad;
}

static const char *get_string(struct dict_map *m, struct cursor *c)
{
	uint32_t string = blob_get_id(c, (uint64_t)dict_map_dict(m)->strings->len + 1);

	return c->bad ? NULL : dict_map_string(m, string);
}

bool unpack_network(struct dict_map *m, struct cursor *c, struct profile *rows)
{
	struct tcp_wait t;

	if (c->at == c->end)
		return true;
	for (uint32_t cnt = blob_get_cnt(c, PACK_ROWS_MAX); cnt && get_tcp_wait(m, c, &t); cnt--)
		profile_add_tcp_wait(rows, &t);
	for (uint32_t cnt = blob_get_cnt(c, CONNECTIONS_MAX); cnt && !c->bad; cnt--) {
		struct connection row = { .pid = (uint32_t)blob_get(c, UINT32_MAX) };

		row.side = (uint8_t)blob_get(c, CONNECTION_SIDE_COUNT - 1);
		row.local = get_string(m, c);
		row.remote = get_string(m, c);
		if (!c->bad)
			profile_add_connection(rows, &row);
	}
	return !c->bad;
}
