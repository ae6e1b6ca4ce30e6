/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/direct_map.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <glib.h>

#include "attach/feature.h"

void direct_map_find(const struct bpf_program *find, __u64 *sought_at, __u64 *sought)
{
	static volatile uint64_t mark;
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	mark = (uint64_t)g_random_int() << 32 | g_random_int() | 1;
	if (!feature_supported(FEATURE_BPF_LOOP))
		return;
	*sought_at = (__u64)(uintptr_t)&mark;
	*sought = mark;
	bpf_prog_test_run_opts(bpf_program__fd(find), &opts);
}
