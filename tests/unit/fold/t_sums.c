/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/sums.h"

#include <glib.h>
#include <string.h>

#include "abi/sample.h"

/* A wait of that length with a waker, as the kernel sums it. */
static struct offcpu_wait_slot one_wait(uint32_t bar)
{
	struct offcpu_wait_slot slot = {
		.ustack = 1, .kstack = 2, .tno = 7, .flags = OFFCPU_OPEN_AT_START, .state = 'D', .waker = 3, .object = 4,
		.count_q8 = SAMPLE_ONE_Q8, .blocked_ns = UINT64_C(1) << bar, .max_ns = UINT64_C(1) << bar,
	};

	slot.hist_q8[offcpu_hist_place(bar)] = SAMPLE_ONE_Q8;
	slot.wake_hist_q8[bar % OFFCPU_WAKE_SLOTS] = SAMPLE_ONE_Q8;
	return slot;
}

/* A wait in each bar of its histograms, and every other number another one. */
static void test_all_of_a_slot(void)
{
	struct offcpu_wait_slot slot = one_wait(0);
	struct sums *sums = sums_new();
	struct sums_total total;

	slot.count_q8 = 0;
	slot.blocked_ns = 20;
	slot.runnable_ns = 30;
	slot.preempted_ns = 40;
	slot.max_ns = 50;
	slot.variance = 1;
	for (uint32_t i = 0; i < OFFCPU_HIST_SLOTS; i++) {
		slot.hist_q8[offcpu_hist_place(i)] = (i + 1) * SAMPLE_ONE_Q8;
		slot.count_q8 += (i + 1) * SAMPLE_ONE_Q8;
	}
	for (uint32_t i = 0; i < OFFCPU_WAKE_SLOTS; i++)
		slot.wake_hist_q8[i] = (i + 2) * SAMPLE_ONE_Q8;
	sums_add(sums, slot.ustack, &slot);
	sums_get(sums, 0, &total);
	const struct offcpu_wait_key *key = sums_key(sums, 0);

	g_assert_cmpuint(sums_cnt(sums), ==, 1);
	g_assert_cmpuint(key->ustack, ==, 1);
	g_assert_cmpuint(key->kstack, ==, 2);
	g_assert_cmpuint(key->waker, ==, 3);
	g_assert_cmpuint(key->object, ==, 4);
	g_assert_cmpuint(key->tno, ==, 7);
	g_assert_cmpuint(key->flags, ==, OFFCPU_OPEN_AT_START);
	g_assert_cmpuint(key->state, ==, 'D');
	g_assert_cmpuint(total.count, ==, OFFCPU_HIST_SLOTS * (OFFCPU_HIST_SLOTS + 1) / 2);
	g_assert_cmpuint(total.blocked_ns, ==, 20);
	g_assert_cmpuint(total.runnable_ns, ==, 30);
	g_assert_cmpuint(total.preempted_ns, ==, 40);
	g_assert_cmpuint(total.max_ns, ==, 50);
	g_assert_cmpuint(total.off_cpu_se_ns, ==, 1 << SAMPLE_VARIANCE_SHIFT / 2);
	for (uint32_t i = 0; i < OFFCPU_HIST_SLOTS; i++)
		g_assert_cmpuint(total.hist[i], ==, i + 1);
	for (uint32_t i = 0; i < OFFCPU_WAKE_SLOTS; i++)
		g_assert_cmpuint(total.wake_hist[i], ==, i + 2);
	sums_free(sums);
}

/* A piece of a wait that counts elsewhere has time and no count; one whose bar is in another sum counts as often as it says. */
static void test_pieces(void)
{
	struct offcpu_wait_slot piece = one_wait(10), rest = one_wait(12);
	struct sums *sums = sums_new();
	struct sums_total total;

	piece.count_q8 = 0;
	memset(piece.hist_q8, 0, sizeof(piece.hist_q8));
	memset(piece.wake_hist_q8, 0, sizeof(piece.wake_hist_q8));
	sums_add(sums, piece.ustack, &piece);
	sums_get(sums, 0, &total);
	g_assert_cmpuint(total.count, ==, 0);
	g_assert_cmpuint(total.blocked_ns, ==, 1 << 10);
	for (uint32_t i = 0; i < OFFCPU_HIST_SLOTS; i++)
		g_assert_cmpuint(total.hist[i], ==, 0);
	sums_add(sums, rest.ustack, &rest);
	rest.count_q8 = 0;
	sums_add(sums, rest.ustack, &rest);
	sums_get(sums, 0, &total);
	g_assert_cmpuint(total.count, ==, 1);
	g_assert_cmpuint(total.hist[12], ==, 1);
	g_assert_cmpuint(total.blocked_ns, ==, (1 << 10) + (2 << 12));
	sums_free(sums);
}

/* One wait keeps no histogram of its own: it shows when another one joins it, and must not be told from one that did. */
static void test_one_and_one(void)
{
	const struct offcpu_wait_slot shorter = one_wait(10), longer = one_wait(20);
	struct sums *sums = sums_new();
	struct sums_total total;

	sums_add(sums, longer.ustack, &longer);
	sums_get(sums, 0, &total);
	g_assert_cmpuint(total.count, ==, 1);
	g_assert_cmpuint(total.hist[20], ==, 1);
	g_assert_cmpuint(total.wake_hist[20], ==, 1);
	sums_expect(sums, 1000);
	sums_add(sums, shorter.ustack, &shorter);
	sums_get(sums, 0, &total);
	g_assert_cmpuint(sums_cnt(sums), ==, 1);
	g_assert_cmpuint(total.count, ==, 2);
	g_assert_cmpuint(total.blocked_ns, ==, (1 << 10) + (1 << 20));
	g_assert_cmpuint(total.max_ns, ==, 1 << 20);
	g_assert_cmpuint(total.hist[10], ==, 1);
	g_assert_cmpuint(total.hist[20], ==, 1);
	g_assert_cmpuint(total.wake_hist[10], ==, 1);
	g_assert_cmpuint(total.wake_hist[20], ==, 1);
	sums_free(sums);
}

/* What tells waits apart is each part of the key. */
static void test_keys(void)
{
	const struct offcpu_wait_slot one = one_wait(12);
	struct offcpu_wait_slot other[] = { one, one, one, one, one, one, one };
	struct sums *sums = sums_new();

	other[0].ustack++;
	other[1].kstack++;
	other[2].tno++;
	other[3].flags = 0;
	other[4].state = 'S';
	other[5].waker++;
	other[6].object++;
	sums_add(sums, one.ustack, &one);
	for (size_t i = 0; i < G_N_ELEMENTS(other); i++)
		sums_add(sums, other[i].ustack, &other[i]);
	sums_add(sums, one.ustack, &one);
	g_assert_cmpuint(sums_cnt(sums), ==, 1 + G_N_ELEMENTS(other));
	sums_free(sums);
}

/* A short slot ends before the histogram of wakers: what follows is the next one. */
static void test_without_waker(void)
{
	struct offcpu_wait_slot slot = one_wait(12);
	struct sums *sums = sums_new();
	struct sums_total total;

	slot.waker = 0;
	memset((char *)&slot + OFFCPU_SHORT_SLOT_BYTES, 0xff, sizeof(slot) - OFFCPU_SHORT_SLOT_BYTES);
	memset(slot.wake_hist_q8, 0xff, sizeof(slot.wake_hist_q8));
	sums_add(sums, slot.ustack, &slot);
	sums_add(sums, slot.ustack, &slot);
	sums_get(sums, 0, &total);
	g_assert_cmpuint(total.count, ==, 2);
	g_assert_cmpuint(total.hist[12], ==, 2);
	for (uint32_t i = 0; i < OFFCPU_WAKE_SLOTS; i++)
		g_assert_cmpuint(total.wake_hist[i], ==, 0);
	sums_free(sums);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/sums/all-of-a-slot", test_all_of_a_slot);
	g_test_add_func("/sums/one-and-one", test_one_and_one);
	g_test_add_func("/sums/pieces", test_pieces);
	g_test_add_func("/sums/keys", test_keys);
	g_test_add_func("/sums/without-waker", test_without_waker);
	return g_test_run();
}
