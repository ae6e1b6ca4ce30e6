/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/wait_table.h"

#include <glib.h>
#include <string.h>

#define SLOTS 4

struct taken {
	unsigned cnt;
	const struct offcpu_wait_slot *slot[SLOTS];
};

static void take(const struct offcpu_wait_slot *slot, void *data)
{
	struct taken *t = data;

	g_assert_cmpuint(t->cnt, <, SLOTS);
	g_assert_cmpuint(slot->tno, !=, 0);
	t->slot[t->cnt++] = slot;
}

static struct offcpu_wait_slot *slot_at(void *slots, unsigned i, uint32_t slot_bytes)
{
	return (void *)((char *)slots + (size_t)i * slot_bytes);
}

/* Takes slots 1 and 3, the only ones in use. */
static void fill_and_take(void *slots, uint32_t slot_bytes, bool is_last, struct taken *t)
{
	const size_t bytes = (size_t)SLOTS * slot_bytes;

	memset(slots, 0, bytes);
	memset(slot_at(slots, 1, slot_bytes), 0xff, slot_bytes);
	memset(slot_at(slots, 3, slot_bytes), 0xff, slot_bytes);
	*t = (struct taken){ 0 };
	wait_slots_take(slots, bytes, slot_bytes, is_last, take, t);
	g_assert_cmpuint(t->cnt, ==, 2);
	g_assert_true(t->slot[0] == slot_at(slots, 1, slot_bytes));
	g_assert_true(t->slot[1] == slot_at(slots, 3, slot_bytes));
}

static bool is_empty(const char *bytes, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (bytes[i])
			return false;
	return true;
}

/* Two bars in one place would make one of two waits. */
static void test_bars_lie_apart(void)
{
	uint64_t seen = 0;

	for (unsigned i = 0; i < OFFCPU_HIST_SLOTS; i++)
		seen |= 1ULL << offcpu_hist_place(i);
	g_assert_cmpuint(seen, ==, (1ULL << OFFCPU_HIST_SLOTS) - 1);
	/* 4 us to 268 ms lie in the second cache line */
	g_assert_cmpuint(offcpu_hist_place(12), ==, 0);
	g_assert_cmpuint(offcpu_hist_place(27), ==, 15);
}

/* Of either length, whole slots and nothing beside them; the last time they stay as they are. */
static void test_emptied(void)
{
	static char slots[SLOTS * OFFCPU_WAIT_SLOT_BYTES] __attribute__((aligned(64)));
	const uint32_t lengths[] = { OFFCPU_SHORT_SLOT_BYTES, OFFCPU_WAIT_SLOT_BYTES };
	struct taken t;

	for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
		fill_and_take(slots, lengths[i], false, &t);
		g_assert_true(is_empty(slots, SLOTS * lengths[i]));
		fill_and_take(slots, lengths[i], true, &t);
		g_assert_cmpint(slots[lengths[i] - 1], ==, 0);
		g_assert_cmpint(slots[lengths[i]], ==, -1);
		g_assert_cmpint(slots[2 * lengths[i] - 1], ==, -1);
		g_assert_cmpint(slots[2 * lengths[i]], ==, 0);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/wait-table/bars-lie-apart", test_bars_lie_apart);
	g_test_add_func("/wait-table/emptied", test_emptied);
	return g_test_run();
}
