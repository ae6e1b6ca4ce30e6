/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* empty: programs that do nothing at sched_switch and sched_waking, until killed; what any tool there costs at least. */
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static long call_bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static int attach(const char *name, const char *tracepoint)
{
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr load = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT, .insns = (__u64)(unsigned long)nothing, .insn_cnt = 2,
		.license = (__u64)(unsigned long)"Dual BSD/GPL",
	};
	union bpf_attr open = { .raw_tracepoint.name = (__u64)(unsigned long)tracepoint };

	strncpy(load.prog_name, name, sizeof(load.prog_name) - 1);
	open.raw_tracepoint.prog_fd = (__u32)call_bpf(BPF_PROG_LOAD, &load);
	return (int)open.raw_tracepoint.prog_fd < 0 || call_bpf(BPF_RAW_TRACEPOINT_OPEN, &open) < 0 ? -1 : 0;
}

int main(void)
{
	if (attach("empty_switch", "sched_switch") || attach("empty_waking", "sched_waking")) {
		perror("empty");
		return 1;
	}
	for (;;)
		pause();
}
