/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/locations.h"

#include "analyse/strset.h"

struct span {
	guint from, cnt;
};

struct locations {
	const struct profile *profile;
	GArray *spans; /* struct span, in `frames` */
	GArray *frames; /* uint32_t */
	uint32_t *alone; /* by frame that nothing is inlined into: id, 0: not yet */
	struct strset *inlined; /* "12,13,14" */
	GArray *inlined_ids; /* uint32_t: id of each of these */
	GString *key;
};

struct locations *locations_new(const struct profile *p)
{
	struct locations *l = g_new0(struct locations, 1);

	l->profile = p;
	l->spans = g_array_new(FALSE, FALSE, sizeof(struct span));
	l->frames = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	l->alone = g_new0(uint32_t, p->frames->len + 1);
	l->inlined = strset_new();
	l->inlined_ids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	l->key = g_string_new(NULL);
	return l;
}

void locations_free(struct locations *l)
{
	g_array_unref(l->spans);
	g_array_unref(l->frames);
	g_free(l->alone);
	strset_free(l->inlined);
	g_array_unref(l->inlined_ids);
	g_string_free(l->key, TRUE);
	g_free(l);
}

static uint32_t add(struct locations *l, const uint32_t *frames, guint cnt)
{
	struct span span = { l->frames->len, cnt };

	g_array_append_vals(l->frames, frames, cnt);
	g_array_append_val(l->spans, span);
	return l->spans->len;
}

static uint32_t find(struct locations *l, const uint32_t *frames, guint cnt)
{
	if (cnt == 1) {
		uint32_t *id = &l->alone[frames[0]];

		if (!*id)
			*id = add(l, frames, 1);
		return *id;
	}
	g_string_truncate(l->key, 0);
	for (guint i = 0; i < cnt; i++)
		g_string_append_printf(l->key, "%u,", frames[i]);
	uint32_t at = strset_id(l->inlined, l->key->str);

	if (at == l->inlined_ids->len) {
		uint32_t id = add(l, frames, cnt);

		g_array_append_val(l->inlined_ids, id);
	}
	return g_array_index(l->inlined_ids, uint32_t, at);
}

void locations_of_path(struct locations *l, const GArray *path, GArray *ids)
{
	const uint32_t *frames = (const uint32_t *)(const void *)path->data;

	g_array_set_size(ids, 0);
	for (guint i = 0, cnt; i < path->len; i += cnt) {
		for (cnt = 1; i + cnt < path->len && profile_get_frame(l->profile, frames[i + cnt])->is_inline; cnt++)
			;
		uint32_t id = find(l, &frames[i], cnt);

		g_array_append_val(ids, id);
	}
}

uint32_t locations_cnt(const struct locations *l)
{
	return l->spans->len;
}

const uint32_t *locations_get(const struct locations *l, uint32_t id, guint *ret_cnt)
{
	const struct span *span = &g_array_index(l->spans, struct span, id - 1);

	*ret_cnt = span->cnt;
	return &g_array_index(l->frames, uint32_t, span->from);
}
