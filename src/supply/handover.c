/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "supply/tables_part.h"

#include <bpf/bpf.h>
#include <string.h>

#define KEY_MIX 0x9e3779b97f4a7c15ULL	/* odd: no two parts of a program share a key */

static uint64_t part_key(const struct handover *h, uint32_t generation, uint32_t part)
{
	return h->space ^ (((uint64_t)generation << 16 | part) + 1) * KEY_MIX;
}

static void delete_parts(const struct handover *h, int spaces_fd, uint32_t generation, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++) {
		uint64_t key = part_key(h, generation, i);

		bpf_map_delete_elem(spaces_fd, &key);
	}
}

static bool put_space(int spaces_fd, uint64_t key, struct space *space, const struct space_mapping *mappings,
		      uint32_t cnt)
{
	space->cnt = cnt;
	memcpy(space->mapping, mappings, cnt * sizeof(*mappings));
	memset(space->mapping + cnt, 0, (SPACE_MAPPINGS_MAX - cnt) * sizeof(*mappings));
	return bpf_map_update_elem(spaces_fd, &key, space, BPF_ANY) == 0;
}

/* Writes the parts and lists them; returns their number. */
static uint32_t put_parts(const struct handover *h, int spaces_fd, struct space *space,
			  const struct space_mapping *mappings, uint32_t cnt, struct space_mapping *ret_list)
{
	uint32_t part = 0;

	for (uint32_t from = 0; from < cnt; from += SPACE_MAPPINGS_MAX, part++) {
		uint32_t here = MIN(cnt - from, SPACE_MAPPINGS_MAX);
		uint64_t key = part_key(h, space->generation, part);

		if (!put_space(spaces_fd, key, space, mappings + from, here))
			break;
		ret_list[part] = (struct space_mapping){ .start = mappings[from].start,
							 .end = mappings[from + here - 1].end,
							 .part_key = key,
							 .is_part = true };
	}
	return part;
}

/* A concurrent walk finds the old parts or the new ones: parts do not change, the list is replaced at once. */
bool handover_put(struct handover *h, int spaces_fd, const struct space_mapping *mappings, uint32_t cnt,
		  uint32_t generation)
{
	g_autofree struct space *space = g_new0(struct space, 1);
	struct space_mapping list[SPACE_MAPPINGS_MAX];
	uint32_t part_cnt = 0, missing = 0;

	g_return_val_if_fail(cnt <= SPACE_PARTED_MAX, false);
	space->generation = generation;
	space->speaks = h->speaks;
	space->read_ns = h->read_ns;
	space->v8 = h->v8;
	if (cnt > SPACE_MAPPINGS_MAX) {
		part_cnt = put_parts(h, spaces_fd, space, mappings, cnt, list);
		missing = (cnt - 1) / SPACE_MAPPINGS_MAX + 1 - part_cnt;
		mappings = list;
		cnt = part_cnt;
	}
	if (missing || !put_space(spaces_fd, h->space, space, mappings, cnt)) {
		delete_parts(h, spaces_fd, generation, part_cnt);
		return false;
	}
	delete_parts(h, spaces_fd, h->generation, h->part_cnt);
	h->generation = generation;
	h->part_cnt = part_cnt;
	h->is_there = true;
	return true;
}

void handover_withdraw(struct handover *h, int spaces_fd)
{
	if (!h->is_there)
		return;
	bpf_map_delete_elem(spaces_fd, &h->space);
	delete_parts(h, spaces_fd, h->generation, h->part_cnt);
	h->is_there = false;
	h->part_cnt = 0;
}
