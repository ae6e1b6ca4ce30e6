/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's symbols, one at a time, looked up by the kernel itself: /proc/kallsyms has more than 100,000 lines, of
 * which a recording needs some hundreds. bpf_snprintf() came with Linux 5.13, programs of system calls with 5.14 and
 * bpf_kallsyms_lookup_name() with 5.16.
 */
#include "bpf/ktypes.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "abi/kernel_names_abi.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

__u64 address;
char name[OFFCPU_KERNEL_NAME_MAX];

/* Result: "schedule+0x1f/0xa0", followed by " [module]"; a number where there is no symbol. */
SEC("syscall")
int name_of_address(void *ctx)
{
	__u64 words[] = { address };
	static const char form[] = "%pS";

	return bpf_snprintf(name, sizeof(name), form, words, sizeof(words)) < 0;
}

/* 0: no symbol of that name. */
SEC("syscall")
int address_of_name(void *ctx)
{
	__u64 found = 0;

	name[sizeof(name) - 1] = '\0';
	if (bpf_kallsyms_lookup_name(name, sizeof(name), 0, &found))
		found = 0;
	address = found;
	return 0;
}
