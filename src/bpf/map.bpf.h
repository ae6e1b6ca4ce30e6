/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_MAP_BPF_H
#define BPF_MAP_BPF_H

#include <bpf/bpf_helpers.h>

/* MAP(filter_tgids, HASH, __u32, __u8, 4096) defines a map of 4096 entries with these types of keys and values. */
#define MAP(name, kind, key_type, value_type, cnt, ...)           \
	struct {                                                  \
		__uint(type, BPF_MAP_TYPE_##kind);                \
		__uint(max_entries, cnt);                         \
		__type(key, key_type);                            \
		__type(value, value_type);                        \
		__VA_ARGS__                                       \
	} name SEC(".maps")
#define MAP_FLAGS(name, kind, key_type, value_type, cnt, flags)   \
	MAP(name, kind, key_type, value_type, cnt, __uint(map_flags, flags);)
#define RING(name, bytes)                                         \
	struct {                                                  \
		__uint(type, BPF_MAP_TYPE_RINGBUF);               \
		__uint(max_entries, bytes);                       \
	} name SEC(".maps")

#endif
