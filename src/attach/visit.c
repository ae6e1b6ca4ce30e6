/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/visit.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "abi/offcpu_abi.h"
#include "offcpu.skel.h"

bool visit_cpus(struct offcpu_bpf *skel)
{
	int cpus = libbpf_num_possible_cpus(), fd = bpf_program__fd(skel->progs.visit_cpu);

	for (int cpu = 0; cpu < cpus; cpu++) {
		LIBBPF_OPTS(bpf_test_run_opts, opts, .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = (uint32_t)cpu);
		int err = bpf_prog_test_run_opts(fd, &opts);

		if (err && err != -ENXIO)	/* that one is offline */
			return false;
	}
	return cpus > 0;
}
