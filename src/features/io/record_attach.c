/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/btf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/error.h"
#include "attach/feature.h"
#include "attach/kernel_btf.h"
#include "features/io/record_part.h"
#include "file.skel.h"

#ifdef __aarch64__
#define FUNCTION_PREFIX "__arm64_sys_"
#else
#define FUNCTION_PREFIX "__x64_sys_"
#endif

struct file_attach {
	struct bpf_link *enter, *leave;	/* on kernel functions */
	struct bpf_link *fault, *fault_end;
};

bool file_attach_select(struct file_bpf *skel, bool has_fault)
{
	bool by_functions = feature_supported(FEATURE_KPROBE_MULTI);

	bpf_program__set_autoload(skel->progs.file_function, by_functions);
	bpf_program__set_autoload(skel->progs.file_function_end, by_functions);
	bpf_program__set_autoload(skel->progs.file_enter, !by_functions);
	bpf_program__set_autoload(skel->progs.file_exit, !by_functions);
	bpf_program__set_autoload(skel->progs.file_fault_function, by_functions && !has_fault);
	bpf_program__set_autoload(skel->progs.file_fault_function_end, by_functions && !has_fault);
	skel->rodata->ends_are_caught_at_begin = by_functions;
	return by_functions || has_fault;
}

/* known_only: only functions in the kernel's BTF. */
static GPtrArray *functions(bool known_only)
{
	GPtrArray *ret = g_ptr_array_new_with_free_func(g_free);
	const char *function;

	for (size_t i = 0; (function = file_call_function(i)); i++) {
		g_autofree char *name = g_strconcat(FUNCTION_PREFIX, function, NULL);

		if (!known_only || kernel_btf_id(feature_kernel_btf(), name, BTF_KIND_FUNC) > 0)
			g_ptr_array_add(ret, g_steal_pointer(&name));
	}
	return ret;
}

static struct bpf_link *probe_functions(const struct bpf_program *prog, const GPtrArray *names, bool is_end)
{
	LIBBPF_OPTS(bpf_kprobe_multi_opts, opts, .syms = (const char **)names->pdata, .cnt = names->len,
		    .retprobe = is_end);

	return bpf_program__attach_kprobe_multi_opts(prog, NULL, &opts);
}

static bool attach_functions(struct file_attach *a, struct file_bpf *skel, GError **error)
{
	for (int known_only = 0; known_only < 2; known_only++) {
		g_autoptr(GPtrArray) names = functions(known_only);

		/* ends first: a begin without an end would be left over */
		a->leave = probe_functions(skel->progs.file_function_end, names, true);
		a->enter = a->leave ? probe_functions(skel->progs.file_function, names, false) : NULL;
		if (a->enter)
			return true;
		bpf_link__destroy(a->leave);
		a->leave = NULL;
	}
	attach_set_error(error, -errno, "probe the kernel's functions of system calls");
	return false;
}

static bool attach_faults(struct file_attach *a, struct file_bpf *skel, GError **error)
{
	const char *name = "filemap_fault";
	const GPtrArray names = { .pdata = (void *)&name, .len = 1 };

	if (!bpf_program__autoload(skel->progs.file_fault_function))
		return true;
	a->fault_end = probe_functions(skel->progs.file_fault_function_end, &names, true);
	a->fault = a->fault_end ? probe_functions(skel->progs.file_fault_function, &names, false) : NULL;
	if (!a->fault)
		attach_set_error(error, -errno, "probe the kernel's filemap_fault()");
	return a->fault;
}

struct file_attach *file_attach_new(struct file_bpf *skel, GError **error)
{
	struct file_attach *a = g_new0(struct file_attach, 1);

	/* tracepoints are attached with the object's other programs */
	if ((!feature_supported(FEATURE_KPROBE_MULTI) || attach_functions(a, skel, error)) &&
	    attach_faults(a, skel, error))
		return a;
	file_attach_free(a);
	return NULL;
}

bool file_attach_is_by_tracepoints(const struct file_attach *a)
{
	return !a->enter;
}

void file_attach_settle(struct file_attach *a)
{
	bpf_link__destroy(a->fault);
	a->fault = NULL;
	if (a->enter)	/* this waits for programs that still run */
		bpf_link__destroy(a->enter);
	else	/* this also waits for programs that do not sleep */
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	a->enter = NULL;
}

FREES(file_attach_free, struct file_attach, a, bpf_link__destroy(a->enter); bpf_link__destroy(a->leave);
      bpf_link__destroy(a->fault); bpf_link__destroy(a->fault_end))
