/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/wait_table.h"

#include <bpf/libbpf.h>
#include <glib.h>
#include <string.h>
#include <sys/mman.h>

/* Mapped at a time, since what is mapped counts as our memory: a multiple of a page, whatever a slot's length. */
#define CHUNK_SLOTS 4096U

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

bool wait_table_read(const struct bpf_map *map, bool second, bool is_last, wait_table_fn take, void *data)
{
	const uint32_t half = bpf_map__max_entries(map) / 2, slot_bytes = bpf_map__value_size(map);
	const uint32_t chunk = MIN(half, CHUNK_SLOTS);
	const size_t bytes = (size_t)chunk * slot_bytes;

	for (uint32_t from = 0; from < half; from += chunk) {
		const size_t at = ((size_t)from + (second ? half : 0)) * slot_bytes;
		void *slots = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), (off_t)at);

		if (slots == MAP_FAILED)
			return false;
		wait_slots_take(slots, bytes, slot_bytes, is_last, take, data);
		munmap(slots, bytes);
	}
	return true;
}
