/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "runtimes/go/program.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/trace_attributes.h"
#include "features/traces/abi.h"
#include "symbolize/runtime/memory.h"

#define SLOTS 8			/* per map bucket */
#define BUCKETS_MAX 8
#define PAIRS_MAX (SLOTS * BUCKETS_MAX)
#define FIRST_USED 5		/* slot state bytes below this mean empty */

struct go_string {
	uint64_t addr, bytes;
};
struct go_map {
	uint64_t count;
	uint8_t flags, bucket_bits;
	uint16_t overflows;
	uint32_t seed;
	uint64_t buckets, old_buckets;
};
struct go_bucket {
	uint8_t used[SLOTS];
	struct go_string keys[SLOTS], values[SLOTS];
	uint64_t next;
};

uint32_t go_labels_at(unsigned minor, uint32_t start)
{
	return minor >= GO_LABELS_FIRST_MINOR && minor <= GO_LABELS_LAST_MINOR ? start + OFFCPU_GO_LABELS_BEHIND : 0;
}

/* False: too long, or not a text. */
static bool read_text(uint32_t pid, const struct go_string *s, char *ret, size_t room)
{
	memset(ret, 0, room);
	return s->bytes && s->bytes < room && memory_read(pid, s->addr, ret, (size_t)s->bytes) &&
	       g_utf8_validate(ret, (gssize)s->bytes, NULL);
}

static void take_label(uint32_t pid, const struct go_string *key, const struct go_string *value, struct go_labels *ret)
{
	struct go_label *label = &ret->label[ret->cnt];

	if (ret->cnt < GO_LABELS_MAX && read_text(pid, key, label->key, sizeof(label->key)) &&
	    trace_attribute_is_wanted(label->key) && read_text(pid, value, label->value, sizeof(label->value)))
		ret->cnt++;
}

/* A set of labels is created at once, in a map of final size, so the map is never growing. */
static void read_map(uint32_t pid, uint64_t addr, struct go_labels *ret)
{
	struct go_map map;
	struct go_bucket bucket;
	unsigned buckets;

	if (!memory_read(pid, addr, &map, sizeof(map)) || map.old_buckets || map.count > PAIRS_MAX ||
	    map.bucket_bits > 3)
		return;
	buckets = 1u << map.bucket_bits;
	for (unsigned i = 0; i < buckets; i++) {
		if (!memory_read(pid, map.buckets + i * sizeof(bucket), &bucket, sizeof(bucket)))
			return;
		for (unsigned k = 0; k < SLOTS; k++)
			if (bucket.used[k] >= FIRST_USED)
				take_label(pid, &bucket.keys[k], &bucket.values[k], ret);
	}
}

static void read_pairs(uint32_t pid, uint64_t addr, uint64_t cnt, struct go_labels *ret)
{
	struct go_string pair[2];

	for (uint64_t i = 0; i < cnt && i < PAIRS_MAX; i++)
		if (memory_read(pid, addr + i * sizeof(pair), pair, sizeof(pair)))
			take_label(pid, &pair[0], &pair[1], ret);
}

ORDER(by_key, struct go_label, ORDER_TEXT(key))

void go_labels_read(uint32_t pid, unsigned minor, uint64_t addr, struct go_labels *ret)
{
	uint64_t words[2] = { 0 };

	ret->cnt = 0;
	if (!addr || addr % 8 || !memory_read(pid, addr, words, minor < GO_LABELS_SORTED_MINOR ? 8 : sizeof(words)))
		return;
	if (minor < GO_LABELS_SORTED_MINOR)
		read_map(pid, words[0], ret);
	else
		read_pairs(pid, words[0], words[1], ret);
	qsort(ret->label, ret->cnt, sizeof(ret->label[0]), by_key);
}
