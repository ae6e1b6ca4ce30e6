/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/kernel_names.h"

#include <bpf/bpf.h>
#include <string.h>

#include "kernel_names.skel.h"

static bool run_program(const struct bpf_program *program)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	return !bpf_prog_test_run_opts(bpf_program__fd(program), &opts) && !opts.retval;
}

static bool name_of(void *ctx, uint64_t addr, char *ret, size_t room)
{
	struct kernel_names_bpf *skel = ctx;

	skel->bss->address = addr;
	if (!run_program(skel->progs.name_of_address))
		return false;
	g_strlcpy(ret, skel->bss->name, MIN(room, sizeof(skel->bss->name)));
	return true;
}

static uint64_t address_of(void *ctx, const char *name)
{
	struct kernel_names_bpf *skel = ctx;

	memset(skel->bss->name, 0, sizeof(skel->bss->name));
	g_strlcpy(skel->bss->name, name, sizeof(skel->bss->name));
	return run_program(skel->progs.address_of_name) ? skel->bss->address : 0;
}

static void free_programs(void *ctx)
{
	kernel_names_bpf__destroy(ctx);
}

void kernel_names_use(struct symbolizer *s)
{
	struct kernel_names_bpf *skel = kernel_names_bpf__open_and_load();
	struct symbolizer_kernel kernel = { name_of, address_of, free_programs, skel };
	char text[SYMBOLIZER_KERNEL_NAME_MAX];

	if (!skel)
		return;
	if (name_of(skel, 0, text, sizeof(text)))
		symbolizer_ask_kernel(s, &kernel);
	else
		free_programs(skel);
}
