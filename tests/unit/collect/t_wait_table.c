/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/wait_table.h"

#include <glib.h>
#include <string.h>

#define SLOTS 4

struct taken {
	unsigned cnt;
	struct offcpu_wait_key key[SLOTS];
	struct offcpu_wait_sum sum[SLOTS];
};

static void take(const struct offcpu_wait_key *key, const struct offcpu_wait_sum *sum, void *data)
{
	struct taken *t = data;

	g_assert_cmpuint(t->cnt, <, SLOTS);
	t->key[t->cnt] = *key;
	t->sum[t->cnt++] = *sum;
}

static struct offcpu_wait_slot *slot_at(void *slots, unsigned i, uint32_t slot_bytes)
{
	return (void *)((char *)slots + (size_t)i * slot_bytes);
}

/* Fills slots 1 and 3, the first one with a wait in each bar of its histogram, and takes them out. */
static void fill_and_take(void *slots, uint32_t slot_bytes, struct taken *t)
{
	struct offcpu_wait_slot *one = slot_at(slots, 1, slot_bytes), *other = slot_at(slots, 3, slot_bytes);

	memset(slots, 0, (size_t)SLOTS * slot_bytes);
	*t = (struct taken){ 0 };
	one->tno = 7;
	one->ustack = 1;
	one->kstack = 2;
	one->waker = 3;
	one->object = 4;
	one->state = 'D';
	one->flags = OFFCPU_OPEN_AT_START;
	one->count_q8 = 10;
	one->blocked_ns = 20;
	one->runnable_ns = 30;
	one->preempted_ns = 40;
	one->max_ns = 50;
	one->variance = 60;
	for (unsigned i = 0; i < OFFCPU_HIST_SLOTS; i++)
		one->hist_q8[offcpu_hist_place(i)] = i + 1;
	other->tno = 8;
	wait_slots_take(slots, (size_t)SLOTS * slot_bytes, slot_bytes, take, t);
	g_assert_cmpuint(t->cnt, ==, 2);
}

static void test_all_of_a_slot(void)
{
	static char slots[SLOTS * OFFCPU_SHORT_SLOT_BYTES] __attribute__((aligned(64)));
	struct taken t;

	fill_and_take(slots, OFFCPU_SHORT_SLOT_BYTES, &t);
	g_assert_cmpuint(t.key[0].tno, ==, 7);
	g_assert_cmpuint(t.key[0].ustack, ==, 1);
	g_assert_cmpuint(t.key[0].kstack, ==, 2);
	g_assert_cmpuint(t.key[0].waker, ==, 3);
	g_assert_cmpuint(t.key[0].object, ==, 4);
	g_assert_cmpuint(t.key[0].state, ==, 'D');
	g_assert_cmpuint(t.key[0].flags, ==, OFFCPU_OPEN_AT_START);
	g_assert_cmpuint(t.sum[0].count_q8, ==, 10);
	g_assert_cmpuint(t.sum[0].blocked_ns, ==, 20);
	g_assert_cmpuint(t.sum[0].runnable_ns, ==, 30);
	g_assert_cmpuint(t.sum[0].preempted_ns, ==, 40);
	g_assert_cmpuint(t.sum[0].max_ns, ==, 50);
	g_assert_cmpuint(t.sum[0].variance, ==, 60);
	for (unsigned i = 0; i < OFFCPU_HIST_SLOTS; i++)
		g_assert_cmpuint(t.sum[0].hist_q8[i], ==, i + 1);
	g_assert_cmpuint(t.key[1].tno, ==, 8);
	g_assert_cmpuint(t.sum[1].count_q8, ==, 0);
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

static void test_emptied(void)
{
	static char slots[SLOTS * OFFCPU_WAIT_SLOT_BYTES] __attribute__((aligned(64)));
	struct taken t;

	fill_and_take(slots, OFFCPU_WAIT_SLOT_BYTES, &t);
	for (size_t i = 0; i < sizeof(slots); i++)
		g_assert_cmpint(slots[i], ==, 0);
	wait_slots_take(slots, sizeof(slots), OFFCPU_WAIT_SLOT_BYTES, take, &t);
	g_assert_cmpuint(t.cnt, ==, 2);
}

/* A short slot ends before the histogram of wakers; the next slot begins there. */
static void test_wakers(void)
{
	static char slots[SLOTS * OFFCPU_WAIT_SLOT_BYTES] __attribute__((aligned(64)));
	struct offcpu_wait_slot *slot = slot_at(slots, 0, OFFCPU_WAIT_SLOT_BYTES);
	struct taken t = { 0 };

	slot->tno = 1;
	slot->wake_hist_q8[0] = 5;
	slot->wake_hist_q8[OFFCPU_WAKE_SLOTS - 1] = 6;
	wait_slots_take(slots, sizeof(slots), OFFCPU_WAIT_SLOT_BYTES, take, &t);
	g_assert_cmpuint(t.sum[0].wake_hist_q8[0], ==, 5);
	g_assert_cmpuint(t.sum[0].wake_hist_q8[OFFCPU_WAKE_SLOTS - 1], ==, 6);
	memset(slots, 0xff, sizeof(slots));
	memset(slots, 0, OFFCPU_SHORT_SLOT_BYTES);
	slot->tno = 1;
	t = (struct taken){ 0 };
	wait_slots_take(slots, OFFCPU_SHORT_SLOT_BYTES, OFFCPU_SHORT_SLOT_BYTES, take, &t);
	g_assert_cmpuint(t.cnt, ==, 1);
	for (unsigned i = 0; i < OFFCPU_WAKE_SLOTS; i++)
		g_assert_cmpuint(t.sum[0].wake_hist_q8[i], ==, 0);
	g_assert_cmpint(slots[OFFCPU_SHORT_SLOT_BYTES], ==, (char)0xff);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/wait-table/all-of-a-slot", test_all_of_a_slot);
	g_test_add_func("/wait-table/bars-lie-apart", test_bars_lie_apart);
	g_test_add_func("/wait-table/emptied", test_emptied);
	g_test_add_func("/wait-table/wakers", test_wakers);
	return g_test_run();
}
