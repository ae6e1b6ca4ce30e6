/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/top_since.h"

#include "store/merge.h"

struct since {
	struct merger *sum;	/* NULL: all that there is, is held */
	struct profile *held;	/* rows only */
};

struct since *since_new(void)
{
	return g_new0(struct since, 1);
}

void since_free(struct since *s)
{
	if (!s)
		return;
	merge_free(s->sum);
	profile_free_rows(s->held);
	g_free(s);
}

bool since_add(struct since *s, struct profile *window, GError **error)
{
	bool is_whole = true;

	if (!s->sum) {
		s->sum = merge_new_rows(window);
		is_whole = !s->held || merge_add(s->sum, s->held, error);
	}
	if (is_whole && merge_add(s->sum, window, error))
		return true;
	merge_free(s->sum);
	s->sum = merge_new_rows(window);
	merge_add(s->sum, window, NULL);
	return false;
}

struct profile *since_hold(struct since *s)
{
	if (!s->sum)
		return s->held;
	profile_free_rows(s->held);
	s->held = merge_end(g_steal_pointer(&s->sum));
	return s->held;
}
