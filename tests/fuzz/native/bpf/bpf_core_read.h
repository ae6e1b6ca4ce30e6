/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef NATIVE_BPF_CORE_READ_H
#define NATIVE_BPF_CORE_READ_H

#include <bpf/bpf_helpers.h>

/* libbpf's header of this name: the kernel's types are the ones that bpf/ktypes.h declares, and have all fields. */

struct task_struct___uprobes;
struct mm_struct___uprobes;
struct mm_struct___maple;

#define bpf_core_field_exists(...) 1
#define bpf_core_enum_value_exists(type, value) 1
/* Of what other kernels call otherwise: the fields lie behind the others. */
#define bpf_core_field_offset(type, field) (native_flavour((type *)NULL) + __builtin_offsetof(type, field))
#define native_flavour(type) _Generic(type, struct task_struct___uprobes *: 1024, struct mm_struct___uprobes *: 512, \
	struct mm_struct___maple *: 256, default: 0)
#define bpf_core_field_size(field) sizeof(field)
#define bpf_core_read(to, size, from) bpf_probe_read_kernel(to, size, from)

#define NATIVE_READ(src, member)                                                                                       \
	({                                                                                                             \
		typeof((src)->member) read_ = { 0 };                                                                   \
                                                                                                                       \
		bpf_probe_read_kernel((void *)&read_, sizeof(read_), &(src)->member);                                    \
		read_;                                                                                                 \
	})
#define NATIVE_READ_1(src, a) NATIVE_READ(src, a)
#define NATIVE_READ_2(src, a, b) NATIVE_READ(NATIVE_READ(src, a), b)
#define NATIVE_NTH(a, b, c, name, ...) name
#define BPF_CORE_READ(src, ...) NATIVE_NTH(__VA_ARGS__, , NATIVE_READ_2, NATIVE_READ_1)(src, __VA_ARGS__)

#endif
