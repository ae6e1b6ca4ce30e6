/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/sections.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "abi/offcpu_abi.h"
#include "attach/feature.h"
#include "attach/kernel_btf.h"

/*
 * As in libbpf's section_defs[], with what it puts before the name of what a program attaches to in the kernel's
 * types.
 */
static const struct section {
	const char *name, *prefix;
	uint32_t kind;
	enum bpf_prog_type prog_type;
	enum bpf_attach_type attach_type;
	uint32_t flags;
} sections[] = {
	{ "tp_btf/", "btf_trace_", BTF_KIND_TYPEDEF, BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, 0 },
	{ "iter/", "bpf_iter_", BTF_KIND_FUNC, BPF_PROG_TYPE_TRACING, BPF_TRACE_ITER, 0 },
	{ "iter.s/", "bpf_iter_", BTF_KIND_FUNC, BPF_PROG_TYPE_TRACING, BPF_TRACE_ITER, BPF_F_SLEEPABLE },
	{ "perf_event", NULL, 0, BPF_PROG_TYPE_PERF_EVENT, 0, 0 },
	{ "syscall", NULL, 0, BPF_PROG_TYPE_SYSCALL, 0, BPF_F_SLEEPABLE },
};

/* To libbpf a program that attaches to another one needs none of the kernel's types. */
#define SOME_PROGRAM 1

static int on_opened(struct bpf_program *prog, long cookie)
{
	return sections[cookie].prefix ? bpf_program__set_attach_target(prog, SOME_PROGRAM, NULL) : 0;
}

static bool is_cast(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg && insn->imm == OFFCPU_CALL_RDONLY_CAST;
}

/* Where the kernel has no such function these calls stay as they are, and are out of reach. */
static int name_casts(struct bpf_program *prog)
{
	size_t cnt = bpf_program__insn_cnt(prog);
	uint32_t id = feature_rdonly_cast();
	g_autofree struct bpf_insn *named = id ? g_memdup2(bpf_program__insns(prog), cnt * sizeof(*named)) : NULL;

	if (!id)
		return 0;
	for (size_t i = 0; i < cnt; i++)
		if (is_cast(&named[i])) {
			named[i].src_reg = BPF_PSEUDO_KFUNC_CALL;
			named[i].imm = (int32_t)id;
		}
	return bpf_program__set_insns(prog, named, cnt);
}

static int on_load(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	const struct section *s = &sections[cookie];

	opts->prog_flags |= s->flags;
	if (s->prefix) {
		g_autofree char *name = g_strconcat(s->prefix, bpf_program__section_name(prog) + strlen(s->name), NULL);
		int id = kernel_btf_id(feature_kernel_btf(), name, s->kind);

		if (id < 0)
			return id;
		opts->attach_prog_fd = 0;
		opts->attach_btf_id = (uint32_t)id;
	}
	return name_casts(prog);
}

static int on_attach(const struct bpf_program *prog, long cookie, struct bpf_link **ret_link)
{
	*ret_link = sections[cookie].attach_type == BPF_TRACE_ITER ? bpf_program__attach_iter(prog, NULL) :
								    bpf_program__attach_trace(prog);
	return *ret_link ? 0 : -errno;
}

void sections_register(void)
{
	static gsize is_done;	/* libbpf's handlers are the process's */

	if (!feature_kernel_btf() || !g_once_init_enter(&is_done))
		return;
	for (size_t i = 0; i < G_N_ELEMENTS(sections); i++) {
		LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .cookie = (long)i, .prog_setup_fn = on_opened,
			    .prog_prepare_load_fn = on_load);

		if (sections[i].prefix)
			opts.prog_attach_fn = on_attach;
		libbpf_register_prog_handler(sections[i].name, sections[i].prog_type, sections[i].attach_type, &opts);
	}
	g_once_init_leave(&is_done, 1);
}
