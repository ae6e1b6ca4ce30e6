/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef NATIVE_BPF_HELPERS_H
#define NATIVE_BPF_HELPERS_H

/*
 * libbpf's header of this name, for programs of src/bpf that are compiled for this machine: helpers are functions of
 * native/machine.h, maps are structs whose address says which they are.  After bpf/ktypes.h.
 */

#undef NULL
#define NULL ((void *)0)
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name
#define __array(name, value) typeof(value) *name[]
#define SEC(name)
#define __always_inline inline __attribute__((always_inline))
#define __noinline __attribute__((noinline))
#define __weak __attribute__((weak))
#define __ksym
#define barrier_var(var) asm volatile("" : "+r"(var))
#undef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)

struct task_struct;

void *bpf_map_lookup_elem(const void *map, const void *key);
long bpf_map_update_elem(const void *map, const void *key, const void *value, __u64 flags);
long bpf_probe_read_user(void *to, __u32 size, const void *from);
long bpf_probe_read_kernel(void *to, __u32 size, const void *from);
long bpf_copy_from_user_task(void *to, __u32 size, const void *from, struct task_struct *task, __u64 flags);
long bpf_task_pt_regs(struct task_struct *task);
long bpf_get_stack(void *ctx, void *to, __u32 size, __u64 flags);
long bpf_get_task_stack(struct task_struct *task, void *to, __u32 size, __u64 flags);
struct task_struct *bpf_get_current_task_btf(void);
__u64 bpf_ktime_get_ns(void);
__u32 bpf_get_prandom_u32(void);
long bpf_ringbuf_output(void *map, void *record, __u64 size, __u64 flags);
void *bpf_ringbuf_reserve(void *map, __u64 size, __u64 flags);

/* A macro: each function is called as what it is. */
#define bpf_loop(cnt, step, ctx, flags)                                                                                \
	({                                                                                                             \
		__u32 i_ = 0, cnt_ = (cnt);                                                                            \
                                                                                                                       \
		while (i_ < cnt_ && !(step)(i_, ctx))                                                                  \
			i_++;                                                                                          \
		(long)i_;                                                                                              \
	})

#endif
