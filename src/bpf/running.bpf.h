/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_RUNNING_BPF_H
#define BPF_RUNNING_BPF_H

#include "bpf/ktypes.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

/*
 * task->on_cpu and task->on_rq are bytes since Linux 7 and ints before. CO-RE adapts a load's size only if the
 * compiler keeps load and offset together, which it does not always do. So there is a load for each size. Only one is
 * reached: barrier_var() keeps the compiler from doing both.
 */
static __always_inline bool is_on_cpu(const struct task_struct *task)
{
	if (bpf_core_field_size(task->on_cpu) == sizeof(char)) {
		barrier_var(task);
		return ((const struct task_struct___bytes *)task)->on_cpu;
	}
	barrier_var(task);
	return task->on_cpu;
}

static __always_inline int on_rq_of(const struct task_struct *task)
{
	if (bpf_core_field_size(task->on_rq) == sizeof(char)) {
		barrier_var(task);
		return ((const struct task_struct___bytes *)task)->on_rq;
	}
	barrier_var(task);
	return task->on_rq;
}

#endif
