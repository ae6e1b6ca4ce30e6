/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/each.h"
#include "supply/tables_part.h"

struct extent {
	uint32_t first, cnt;
};

struct extents {
	GArray *extents;	/* struct extent, by `first`; no two are adjacent */
};

struct extents *extents_new(void)
{
	struct extents *e = g_new0(struct extents, 1);

	e->extents = g_array_new(FALSE, FALSE, sizeof(struct extent));
	return e;
}

FREES(extents_free, struct extents, e, g_array_unref(e->extents))

static struct extent *extent_at(const struct extents *e, guint i)
{
	return &g_array_index(e->extents, struct extent, i);
}

void extents_give(struct extents *e, uint32_t first, uint32_t cnt)
{
	struct extent given = { first, cnt };
	guint low = 0, high = e->extents->len;

	if (!cnt)
		return;
	while (low < high) {	/* the first extent after it */
		guint mid = low + (high - low) / 2;

		if (extent_at(e, mid)->first < first)
			low = mid + 1;
		else
			high = mid;
	}
	if (low < e->extents->len && first + cnt == extent_at(e, low)->first) {
		given.cnt += extent_at(e, low)->cnt;
		g_array_remove_index(e->extents, low);
	}
	if (low && extent_at(e, low - 1)->first + extent_at(e, low - 1)->cnt == first)
		extent_at(e, low - 1)->cnt += given.cnt;
	else
		g_array_insert_val(e->extents, low, given);
}

bool extents_take(struct extents *e, uint32_t cnt, uint32_t *ret_first)
{
	for (guint i = 0; i < e->extents->len; i++) {
		struct extent *x = extent_at(e, i);

		if (x->cnt < cnt)
			continue;
		*ret_first = x->first;
		x->first += cnt;
		x->cnt -= cnt;
		if (!x->cnt)
			g_array_remove_index(e->extents, i);
		return true;
	}
	return false;
}

uint32_t extents_tail(const struct extents *e, uint32_t end)
{
	const struct extent *last = e->extents->len ? extent_at(e, e->extents->len - 1) : NULL;

	return last && last->first + last->cnt == end ? last->cnt : 0;
}

uint64_t extents_free_cnt(const struct extents *e)
{
	uint64_t cnt = 0;

	for (guint i = 0; i < e->extents->len; i++)
		cnt += extent_at(e, i)->cnt;
	return cnt;
}
