/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/top_since.h"

#include "store/merge.h"

struct since {
	struct profile *sum, *held;	/* both rows only; they may be the same */
};

struct since *since_new(void)
{
	return g_new0(struct since, 1);
}

static void drop_sum(struct since *s)
{
	if (s->sum != s->held)
		profile_free_rows(s->sum);
	s->sum = NULL;
}

void since_free(struct since *s)
{
	if (!s)
		return;
	drop_sum(s);
	profile_free_rows(s->held);
	g_free(s);
}

bool since_add(struct since *s, struct profile *window, GError **error)
{
	struct merger *m = merge_new_rows(window);
	bool is_whole = (!s->sum || merge_add(m, s->sum, error)) && merge_add(m, window, error);

	if (!is_whole) {
		merge_free(m);
		m = merge_new_rows(window);
		merge_add(m, window, NULL);
	}
	drop_sum(s);
	s->sum = merge_end(m);
	return is_whole;
}

struct profile *since_hold(struct since *s)
{
	if (s->held != s->sum)
		profile_free_rows(s->held);
	return s->held = s->sum;
}
