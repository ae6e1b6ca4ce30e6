/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "io/file_attach.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/error.h"
#include "attach/feature.h"
#include "attach/kernel_btf.h"
#include "io/file_calls.h"
#include "file.skel.h"

#ifdef __aarch64__
#define FUNCTION_PREFIX "__arm64_sys_"
#else
#define FUNCTION_PREFIX "__x64_sys_"
#endif

struct file_attach {
	struct bpf_link *enter, *leave;	/* of functions */
	struct bpf_link *fault, *fault_end;
	GArray *events;			/* int: of tracepoints */
};

/* Where they lie.  Debian mounts it at the first place, and containers often nowhere. */
static const char *const folders[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

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

/* known_only: without those that the kernel's types do not tell of. */
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

		/* the ends first: a begin without an end would stay */
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

/* The number of an event; or a negative error. */
static int event_id(const char *edge, const char *function)
{
	int id = -1, err = -ENOENT;

	for (size_t i = 0; i < G_N_ELEMENTS(folders); i++) {
		g_autofree char *path = g_strdup_printf("%s/events/syscalls/sys_%s_%s/id", folders[i], edge, function);
		FILE *f = fopen(path, "re");

		if (!f) {
			err = errno == ENOENT ? err : -errno;
			continue;
		}
		if (fscanf(f, "%d", &id) != 1)
			id = -1;
		fclose(f);
		if (id >= 0)
			return id;
	}
	return err;
}

/* 0, or a negative error.  A call that the kernel was built without has no event. */
static int attach_event(struct file_attach *a, const struct bpf_program *prog, const char *edge, const char *function)
{
	int id = event_id(edge, function), fd;
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .config = (uint64_t)id };

	if (id < 0)
		return id;
	/* a program at an event runs on each CPU and for each thread, wherever the event was opened */
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	g_array_append_val(a->events, fd);
	return ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(prog)) ? -errno : 0;
}

static bool has_tracepoints(GError **error)
{
	int id = event_id("exit", "read");

	if (id >= 0)
		return true;
	if (id != -ENOENT)
		g_set_error(error, ATTACH_ERROR, ATTACH_ERROR_PERMISSION,
			    "%s, where the tracepoints of system calls are, cannot be read: %s (run as root)",
			    folders[0], g_strerror(-id));
	else if (access("/sys/kernel/tracing/events", F_OK) && access("/sys/kernel/debug/tracing/events", F_OK))
		g_set_error(error, ATTACH_ERROR, ATTACH_ERROR_KERNEL,
			    "tracefs is not mounted at %s: mount it, or give a container the host's as a volume",
			    folders[0]);
	else
		g_set_error(error, ATTACH_ERROR, ATTACH_ERROR_KERNEL,
			    "this kernel has neither kprobe.multi nor tracepoints of system calls "
			    "(CONFIG_FTRACE_SYSCALLS): file operations cannot be followed");
	return false;
}

static bool attach_tracepoints(struct file_attach *a, struct file_bpf *skel, GError **error)
{
	const char *function;

	if (!has_tracepoints(error))
		return false;
	for (size_t i = 0; (function = file_call_function(i)); i++) {
		int err = attach_event(a, skel->progs.file_exit, "exit", function);

		if (!err)
			err = attach_event(a, skel->progs.file_enter, "enter", function);
		if (err && err != -ENOENT) {
			attach_set_perf_error(error, err, "attach to the tracepoints of system calls");
			return false;
		}
	}
	return true;
}

struct file_attach *file_attach_new(struct file_bpf *skel, GError **error)
{
	struct file_attach *a = g_new0(struct file_attach, 1);

	a->events = g_array_new(FALSE, FALSE, sizeof(int));
	if ((feature_supported(FEATURE_KPROBE_MULTI) ? attach_functions(a, skel, error)
						     : attach_tracepoints(a, skel, error)) &&
	    attach_faults(a, skel, error))
		return a;
	file_attach_free(a);
	return NULL;
}

bool file_attach_is_by_tracepoints(const struct file_attach *a)
{
	return a->events->len;
}

/* To let one event go waits for all programs at tracepoints that run just now. */
void file_attach_settle(struct file_attach *a)
{
	bpf_link__destroy(a->enter);
	bpf_link__destroy(a->fault);
	a->enter = a->fault = NULL;
	if (!a->events->len)
		return;
	close(g_array_index(a->events, int, a->events->len - 1));
	g_array_set_size(a->events, a->events->len - 1);
}

static void close_events(const struct file_attach *a)
{
	for (guint i = 0; i < a->events->len; i++)
		close(g_array_index(a->events, int, i));
}

static void close_all_but_events(const struct file_attach *a)
{
	const int first = g_array_index(a->events, int, 0), last = g_array_index(a->events, int, a->events->len - 1);

	/* they were opened one after the other; what lies between, or was opened since, is let go with them */
	syscall(SYS_close_range, 0, first - 1, 0);
	syscall(SYS_close_range, last + 1, ~0U, 0);
}

void file_attach_free(struct file_attach *a)
{
	if (!a)
		return;
	bpf_link__destroy(a->enter);
	bpf_link__destroy(a->leave);
	bpf_link__destroy(a->fault);
	bpf_link__destroy(a->fault_end);
	if (a->events->len && fork() == 0) {
		setsid();
		close_all_but_events(a);
		close_events(a);
		_exit(0);
	}
	close_events(a);
	g_array_unref(a->events);
	g_free(a);
}
