/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include "base/hash.h"
#include "store/blob.h"
#include "store/pack_part.h"

#define NS_A_MS UINT64_C(1000000)
#define WORTH_TELLING_NS NS_A_MS
#define LATEST_MS (PROFILE_NS_MAX / NS_A_MS)

/* The start of a row that is a single wait at an edge of the window; 0: it is not. */
static uint64_t start_at_edge(const struct profile *p, const struct wait *w)
{
	const struct thread *t = profile_thread(p, w->thread);
	uint64_t since_ns;

	if (w->count != 1 || !t->tid || !p->info.start_unix_ns)
		return 0;
	if (w->flags & WAIT_OPEN_AT_END)
		since_ns = t->to_ns - w->max_ns;
	else if (w->flags & WAIT_OPEN_AT_START)
		since_ns = t->from_ns;
	else
		return 0;
	since_ns = p->info.start_unix_ns + (since_ns - p->info.start_ns);
	return since_ns <= PROFILE_NS_MAX ? since_ns : 0;
}

/* ---- encoding ---- */

struct stack_key {
	uint64_t stacks;
	const char *process;	/* interned */
};

HASH_KEY(key, struct stack_key, stacks, process)

struct packing {
	const struct profile *p;
	const GArray *waits, *wakes;	/* struct pack_row */
	guint first_wake;	/* at or after the row's first waking */
};

static const struct wait *written_wait(const struct packing *k, guint row)
{
	return profile_wait(k->p, g_array_index(k->waits, struct pack_row, row).at);
}

/* Maps each stack to the index + 1 of its row with the longest wait. */
static GHashTable *longest_rows(const struct packing *k, struct stack_key *keys)
{
	GHashTable *longest = g_hash_table_new(key_hash, key_equal);

	for (guint i = 0; i < k->waits->len; i++) {
		const struct wait *w = written_wait(k, i);

		keys[i] = (struct stack_key){ (uint64_t)w->user << 32 | w->kernel,
					      profile_thread(k->p, w->thread)->process };
		guint at = GPOINTER_TO_UINT(g_hash_table_lookup(longest, &keys[i]));

		if (!at || written_wait(k, at - 1)->max_ns < w->max_ns)
			g_hash_table_insert(longest, &keys[i], GUINT_TO_POINTER(i + 1));
	}
	return longest;
}

static bool is_told(const struct profile *p, const struct wait *w)
{
	return w->max_start_unix_ns && w->max_ns >= WORTH_TELLING_NS && !start_at_edge(p, w);
}

/* Which of the row's wakings ended it, from 1 on; 0: none. */
static uint64_t waker_number(struct packing *k, guint row, const struct wait *w)
{
	const struct pack_row *wakes = (const void *)k->wakes->data;

	while (k->first_wake < k->wakes->len && wakes[k->first_wake].id < row)
		k->first_wake++;
	for (guint i = k->first_wake; w->max_waker && i < k->wakes->len && wakes[i].id == row; i++)
		if (profile_wake(k->p, wakes[i].at)->waker == w->max_waker - 1)
			return i - k->first_wake + 1;
	return 0;
}

void pack_longest(const struct profile *p, const GArray *waits, const GArray *wakes, GByteArray *into)
{
	struct packing k = { .p = p, .waits = waits, .wakes = wakes };
	g_autofree struct stack_key *keys = g_new0(struct stack_key, waits->len + 1);
	g_autoptr(GHashTable) longest = longest_rows(&k, keys);
	guint last = 0;

	for (guint i = 0; i < waits->len; i++) {
		const struct wait *w = written_wait(&k, i);

		if (!is_told(p, w) || GPOINTER_TO_UINT(g_hash_table_lookup(longest, &keys[i])) != i + 1)
			continue;
		blob_put(into, i + 1 - last);
		blob_put_diff(into, w->max_start_unix_ns / NS_A_MS, p->info.start_unix_ns / NS_A_MS);
		blob_put(into, waker_number(&k, i, w));
		last = i + 1;
	}
	blob_put(into, 0);
}

/* ---- decoding ---- */

void unpack_longest_at_edges(struct profile *p)
{
	EACH_ROW(i, struct wait, w, p->waits)
		w->max_start_unix_ns = start_at_edge(p, w);
	EACH_ROW(i, const struct wake, k, p->wakes) {
		struct wait *w = &g_array_index(p->waits, struct wait, k->wait);

		if (w->count == 1)
			w->max_waker = k->waker + 1;
	}
}

bool unpack_longest(struct profile *p, struct cursor *c)
{
	uint64_t row = 0, step;
	guint wake = 0;

	while ((step = cursor_uleb(c)) && !c->bad) {
		if (step > p->waits->len - row) {
			c->bad = true;
			break;
		}
		row += step;
		struct wait *w = &g_array_index(p->waits, struct wait, row - 1);
		uint64_t ms = blob_get_diff(c, p->info.start_unix_ns / NS_A_MS), number = cursor_uleb(c);

		c->bad = c->bad || ms > LATEST_MS;
		while (wake < p->wakes->len && profile_wake(p, wake)->wait < row - 1)
			wake++;
		if (number &&
		    (number > p->wakes->len - wake || profile_wake(p, wake + (guint)number - 1)->wait != row - 1))
			c->bad = true;
		if (c->bad)
			break;
		w->max_start_unix_ns = ms * NS_A_MS;
		w->max_waker = number ? profile_wake(p, wake + (guint)number - 1)->waker + 1 : 0;
	}
	return !c->bad;
}
