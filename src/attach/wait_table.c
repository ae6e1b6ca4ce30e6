/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/wait_table.h"

#include <bpf/libbpf.h>
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Groups mapped at a time, since mapped pages count as our memory: a multiple of a page for any slot length. */
#define CHUNK_GROUPS (4096U / OFFCPU_WAIT_GROUP_SLOTS)
/* Mapping again takes as long as mapping and reading this many groups. */
#define GAP_GROUPS 16

void wait_slots_take(void *slots, size_t bytes, uint32_t slot_bytes, bool is_last, wait_table_fn take, void *data)
{
	for (size_t at = 0; at + slot_bytes <= bytes; at += slot_bytes) {
		struct offcpu_wait_slot *slot = (void *)((char *)slots + at);

		if (!slot->tno)
			continue;
		slot->flags &= (__u8)~OFFCPU_KEY_SECOND;
		take(slot, data);
		if (!is_last)
			memset(slot, 0, slot_bytes);
	}
}

/* A run of groups from `at` on: the first and the last are in use, with few unused ones between. */
static uint32_t run_of(const uint8_t *groups, uint32_t at, uint32_t end)
{
	uint32_t from = at, last = at;

	while (at < end && at - from < CHUNK_GROUPS && at - last <= GAP_GROUPS) {
		if (groups[at])
			last = at;
		at++;
	}
	return last + 1 - from;
}

static bool read_groups(const struct bpf_map *map, uint32_t from, uint32_t cnt, bool is_last, wait_table_fn take,
			void *data)
{
	const uint32_t slot_bytes = bpf_map__value_size(map);
	const size_t group_bytes = (size_t)OFFCPU_WAIT_GROUP_SLOTS * slot_bytes, bytes = cnt * group_bytes;
	void *slots = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map),
			   (off_t)(from * group_bytes));

	if (slots == MAP_FAILED)
		return false;
	wait_slots_take(slots, bytes, slot_bytes, is_last, take, data);
	munmap(slots, bytes);
	return true;
}

/* Where a page is longer than a group, as on some arm64, all groups that share a page are read together. */
static void widen_groups(uint8_t *groups, uint32_t from, uint32_t cnt, size_t group_bytes)
{
	const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	const uint32_t step = group_bytes % page_bytes ? CHUNK_GROUPS : 1;

	for (uint32_t i = 0; step > 1 && i < cnt; i++)
		if (groups[from + i])
			memset(groups + from + i / step * step, 1, MIN(step, cnt - i / step * step));
}

bool wait_table_read(const struct bpf_map *map, uint8_t *groups, bool second, bool is_last, wait_table_fn take,
		     void *data)
{
	const uint32_t cnt = bpf_map__max_entries(map) / 2 / OFFCPU_WAIT_GROUP_SLOTS, from = second ? cnt : 0,
		       end = from + cnt;
	uint32_t run;

	widen_groups(groups, from, cnt, (size_t)OFFCPU_WAIT_GROUP_SLOTS * bpf_map__value_size(map));
	for (uint32_t at = from; at < end; at += run) {
		run = groups[at] ? run_of(groups, at, end) : 1;
		if (!groups[at])
			continue;
		if (!read_groups(map, at, run, is_last, take, data))
			return false;
		memset(groups + at, 0, run);
	}
	return true;
}
