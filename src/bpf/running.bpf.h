/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_RUNNING_BPF_H
#define BPF_RUNNING_BPF_H

#include "bpf/ktypes.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

/*
 * task->on_cpu and task->on_rq, which Linux 7 has as bytes and earlier ones as ints.  A load's size is fitted to the
 * kernel only where the compiler leaves load and offset together, which it does not do everywhere; so there is a load
 * for each, and the other is never reached: barrier_var() keeps the compiler from doing both.
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
