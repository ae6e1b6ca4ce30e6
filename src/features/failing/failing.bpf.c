/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which system calls on files fail in a few threads, while it is attached: for seconds of a recording, as all calls of
 * the machine become slower.  At a call's end the registers still hold its arguments.
 */
#include "bpf/ktypes.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "bpf/fd.bpf.h"
#include "bpf/map.bpf.h"
#include "bpf/walk/regs.bpf.h"
#include "features/failing/abi.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile struct failing_call calls[FAILING_CALLS_END];

MAP(failing_threads, HASH, __u32, __u8, FAILING_THREADS_MAX);
MAP(failing_counts, HASH, struct failing_key, __u64, FAILING_KEYS_MAX);

/* include/uapi/asm-generic/errno-base.h, errno.h */
#define EPERM 1
#define ENOENT 2
#define EIO 5
#define ENXIO 6
#define EAGAIN 11
#define EACCES 13
#define EBUSY 16
#define EEXIST 17
#define ENODEV 19
#define ENOTDIR 20
#define EMFILE 24
#define ETXTBSY 26
#define ENOSPC 28
#define EROFS 30
#define ESTALE 116
#define EDQUOT 122
#define F_SETLK 6
#define F_OFD_SETLK 37

/* What a program may try again later. EAGAIN of a write only says that there is no room yet. */
static __always_inline bool is_of_interest(__s64 result, bool is_lock)
{
	switch (-result) {
	case EPERM:
	case ENOENT:
	case EIO:
	case ENXIO:
	case EACCES:
	case EBUSY:
	case EEXIST:
	case ENODEV:
	case ENOTDIR:
	case EMFILE:
	case ETXTBSY:
	case ENOSPC:
	case EROFS:
	case ESTALE:
	case EDQUOT:
		return true;
	case EAGAIN:
		return is_lock;
	default:
		return false;
	}
}

static __always_inline void name_of_file(__u32 fd, char *name)
{
	struct file *file = file_of(bpf_get_current_task_btf(), fd);

	if (file)
		bpf_probe_read_kernel_str(name, FAILING_NAME_BYTES, BPF_CORE_READ(file, f_path.dentry, d_name.name));
}

SEC("tp_btf/sys_exit")
int failing_exit(__u64 *ctx)
{
	const __s64 result = (__s64)ctx[1];
	struct failing_key key = { .tid = (__u32)bpf_get_current_pid_tgid() };
	const struct pt_regs *regs = (const struct pt_regs *)ctx[0];
	struct failing_call call;
	__u64 one = 1, *cnt;

	/* the cheapest question first: most calls succeed */
	if (result >= 0 || result < -4095 || !bpf_map_lookup_elem(&failing_threads, &key.tid))
		return 0;
	const __u32 nr = call_number(regs);

	if (nr >= FAILING_CALLS_END || is_32_bit(regs))
		return 0;
	call = calls[nr];
	if ((!call.path && !call.fd) || !is_of_interest(result, call.is_lock))
		return 0;
	if (call.is_fcntl && argument(regs, 2) != F_SETLK && argument(regs, 2) != F_OFD_SETLK)
		return 0;
	key.nr = (__u16)nr;
	key.error = (__u16)-result;
	if (call.path)
		bpf_probe_read_user_str(key.name, sizeof(key.name), (void *)argument(regs, call.path));
	else
		name_of_file((__u32)argument(regs, call.fd), key.name);
	cnt = bpf_map_lookup_elem(&failing_counts, &key);
	if (cnt)
		__sync_fetch_and_add(cnt, 1);
	else
		bpf_map_update_elem(&failing_counts, &key, &one, BPF_NOEXIST);
	return 0;
}
