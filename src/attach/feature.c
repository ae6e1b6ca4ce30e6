/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/feature.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/kernel_btf.h"
#include "base/opener/opener.h"

/* Each returns 0 or a negative errno. There is one kernel, so results are cached; any thread may call these. */

static struct btf *vmlinux_btf(void)
{
	static struct btf *btf;
	static GMutex lock;
	static int error;

	g_mutex_lock(&lock);
	if (!btf && !error) {	/* once: libbpf reports each failure again */
		btf = btf__load_vmlinux_btf();
		error = btf ? 0 : errno;
	}
	g_mutex_unlock(&lock);
	errno = error;
	return btf;
}

static int probe_btf(void)
{
	return vmlinux_btf() ? 0 : -errno;
}

/*
 * Used by every recording, so without libbpf's parse. Types of a newer kind than this program knows are left to
 * libbpf.
 */
const struct kernel_btf *feature_kernel_btf(void)
{
	static struct kernel_btf btf;
	static gsize error_plus_1;

	if (g_once_init_enter(&error_plus_1))
		g_once_init_leave(&error_plus_1, (gsize)-kernel_btf_open("/sys/kernel/btf/vmlinux", &btf) + 1);
	return error_plus_1 > 1 ? NULL : &btf;
}

static int has_function(const char *name)
{
	int err = feature_kernel_btf() ? kernel_btf_has_function(feature_kernel_btf(), name) : -EINVAL, id;

	if (!err || err == -ENOENT)
		return err;
	if (!vmlinux_btf())
		return -errno;
	id = btf__find_by_name_kind(vmlinux_btf(), name, BTF_KIND_FUNC);
	return id < 0 ? id : 0;
}

uint32_t feature_cast_id(const char *struct_name)
{
	const struct kernel_btf *btf = feature_kernel_btf();
	int id = btf && !has_function("bpf_rdonly_cast") ? kernel_btf_id(btf, struct_name, BTF_KIND_STRUCT) : 0;

	return id > 0 ? (uint32_t)id : 0;
}

static int tracepoint_args(const char *typedef_name)
{
	int cnt = feature_kernel_btf() ? kernel_btf_argument_cnt(feature_kernel_btf(), typedef_name) : -EINVAL;
	const struct btf *btf;
	const struct btf_type *t;
	int id;

	if (cnt >= 0 || cnt == -ENOENT)
		return cnt;
	btf = vmlinux_btf();
	if (!btf)
		return -errno;
	id = btf__find_by_name_kind(btf, typedef_name, BTF_KIND_TYPEDEF);
	if (id < 0)
		return id;
	t = btf__type_by_id(btf, btf__type_by_id(btf, (__u32)id)->type);	/* pointer */
	t = t ? btf__type_by_id(btf, t->type) : NULL;				/* prototype */
	return t && btf_is_func_proto(t) ? btf_vlen(t) : -EINVAL;
}

bool feature_has_tracepoint(const char *typedef_name)
{
	return tracepoint_args(typedef_name) >= 0;
}

static const struct bpf_insn return_0[] = {
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
	{ .code = BPF_JMP | BPF_EXIT },
};

static int load_tracing(enum bpf_attach_type attach, const char *target, __u32 kind)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = attach);
	int id, fd, link;

	if (!vmlinux_btf())
		return -errno;
	id = btf__find_by_name_kind(vmlinux_btf(), target, kind);
	if (id < 0)
		return id;
	opts.attach_btf_id = (__u32)id;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "offcpu_probe", "GPL", return_0, G_N_ELEMENTS(return_0), &opts);
	if (fd < 0)
		return -errno;
	if (attach == BPF_TRACE_ITER) {
		close(fd);
		return 0;
	}
	link = bpf_raw_tracepoint_open(NULL, fd);
	int err = link < 0 ? -errno : 0;
	if (link >= 0)
		close(link);
	close(fd);
	return err;
}

static int probe_tracing(void)
{
	return load_tracing(BPF_TRACE_RAW_TP, "btf_trace_sched_switch", BTF_KIND_TYPEDEF);
}

static int probe_ringbuf(void)
{
	int ret = libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, NULL);

	return ret == 1 ? 0 : ret < 0 ? ret : -EOPNOTSUPP;
}

static int probe_task_iter(void)
{
	return load_tracing(BPF_TRACE_ITER, "bpf_iter_task", BTF_KIND_FUNC);
}

static int probe_sleeper_stacks(void)
{
	/* Linux 5.18; the kernel's list of helpers is the cheapest proof */
	return has_function("bpf_copy_from_user_task");
}

static int probe_bpf_loop(void)
{
	/* Linux 5.17 */
	return has_function("bpf_loop");
}

static int probe_prev_state(void)
{
	/* Linux 5.18 (fa2c3254d7cf); arguments: the context, preempt, prev, next, prev_state */
	int args = tracepoint_args("btf_trace_sched_switch");

	return args < 0 ? args : args >= 5 ? 0 : -EOPNOTSUPP;
}

static int probe_disk_events(void)
{
	int args = tracepoint_args("btf_trace_block_rq_complete");

	return args < 0 ? args : 0;
}

static int probe_kernel_locks(void)
{
	int args = tracepoint_args("btf_trace_contention_begin");

	return args < 0 ? args : 0;
}

static int probe_mmap_events(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY,
		.mmap = 1, .mmap2 = 1, .task = 1, .exclude_kernel = 1, .disabled = 1,
	};
	int fd = opener_perf_event(&attr, 0);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int probe_kallsyms(void)
{
	unsigned long long address = 0;
	FILE *f = opener_file("/proc/kallsyms");

	if (!f)
		return -errno;
	for (int i = 0; i < 100 && !address; i++)
		if (fscanf(f, "%llx %*[^\n]", &address) != 1)
			break;
	fclose(f);
	return address ? 0 : -EACCES;
}

static int probe_bpf_stats(void)
{
	char on = '0';
	FILE *f = fopen("/proc/sys/kernel/bpf_stats_enabled", "re");

	if (!f)
		return -errno;
	if (fread(&on, 1, 1, f) != 1)
		on = '0';
	fclose(f);
	return on == '1' ? 0 : -EOPNOTSUPP;
}

static int probe_kprobes(void)
{
	return access("/sys/bus/event_source/devices/kprobe/type", R_OK) == 0 ? 0 : -errno;
}

/* An unreadable address is EFAULT to a kernel that has this link type, and EINVAL to others. */
static int probe_kprobe_multi(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_KPROBE_MULTI);
	LIBBPF_OPTS(bpf_link_create_opts, link, .kprobe_multi.cnt = 1, .kprobe_multi.addrs = (const unsigned long *)1);
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "offcpu_probe", "GPL", return_0, G_N_ELEMENTS(return_0), &opts);
	int err;

	if (fd < 0)
		return -errno;
	err = bpf_link_create(fd, 0, BPF_TRACE_KPROBE_MULTI, &link) < 0 ? -errno : 0;
	close(fd);
	return err == -EFAULT ? 0 : err && err != -EINVAL ? err : -EOPNOTSUPP;
}

static int probe_fentry(void)
{
	return load_tracing(BPF_TRACE_FENTRY, "schedule", BTF_KIND_FUNC);
}

static const struct {
	const char *name, *without;
	bool essential;
} features[FEATURE_COUNT] = {
#define X(id, vital, title, lost) [FEATURE_##id] = { .name = title, .without = lost, .essential = vital },
	FEATURES(X)
#undef X
};

static int (*const probes[FEATURE_COUNT])(void) = {
	[FEATURE_BTF] = probe_btf,
	[FEATURE_TRACING] = probe_tracing,
	[FEATURE_RINGBUF] = probe_ringbuf,
	[FEATURE_TASK_ITER] = probe_task_iter,
	[FEATURE_SLEEPER_STACKS] = probe_sleeper_stacks,
	[FEATURE_BPF_LOOP] = probe_bpf_loop,
	[FEATURE_PREV_STATE] = probe_prev_state,
	[FEATURE_DISK_EVENTS] = probe_disk_events,
	[FEATURE_KERNEL_LOCKS] = probe_kernel_locks,
	[FEATURE_MMAP_EVENTS] = probe_mmap_events,
	[FEATURE_OTHERS_MAPS] = rights_try_others_maps,
	[FEATURE_OTHERS_FILES] = rights_try_others_files,
	[FEATURE_MAP_FILES] = rights_try_map_files,
	[FEATURE_KALLSYMS] = probe_kallsyms,
	[FEATURE_BPF_STATS] = probe_bpf_stats,
	[FEATURE_KPROBE_MULTI] = probe_kprobe_multi,
	[FEATURE_KPROBES] = probe_kprobes,
	[FEATURE_FENTRY] = probe_fentry,
};

static int feature_result(enum feature f)
{
	static gsize errors_plus_1[FEATURE_COUNT];

	if (g_once_init_enter(&errors_plus_1[f]))
		g_once_init_leave(&errors_plus_1[f], (gsize)-probes[f]() + 1);
	return -(int)(errors_plus_1[f] - 1);
}

bool feature_supported(enum feature f)
{
	return feature_result(f) == 0;
}

const char *feature_name(enum feature f)
{
	return features[f].name;
}

const char *feature_without(enum feature f)
{
	return features[f].without;
}

bool feature_essential(enum feature f)
{
	return features[f].essential;
}

const char *feature_reason(enum feature f)
{
	int err = feature_result(f);

	if (err == -ESRCH && f == FEATURE_BTF)
		return "this kernel has none (CONFIG_DEBUG_INFO_BTF), or /sys/kernel/btf is hidden";
	if (err == -ESRCH && feature_result(FEATURE_BTF))
		return "it takes BTF";
	return err ? g_strerror(-err) : NULL;
}
