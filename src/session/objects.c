/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What waits are for; kernel half: bpf/object.bpf.h, bpf/target.bpf.h, features/klocks/kernel_lock.bpf.h. */
#include <bpf/libbpf.h>

#include "features/klocks/abi.h"
#include "attach/feature.h"
#include "fold/fold.h"
#include "session/parts.h"
#include "session/probe.h"
#include "offcpu.skel.h"

static bool configure(struct session *s, struct offcpu_config *cfg, void **ret_state)
{
	const struct collect_options *o = s->options;
	const bool has_mode = o->mode == COLLECT_WAITS || o->mode == COLLECT_EVENTS;
	struct bpf_program *const programs[] = { s->skel->progs.lock_begin, s->skel->progs.lock_end };

	cfg->want_locks = o->want_locks && has_mode;
	cfg->want_objects = o->want_objects && has_mode;
	for (size_t i = 0; i < G_N_ELEMENTS(programs); i++)
		bpf_program__set_autoload(programs[i], cfg->want_objects && feature_supported(FEATURE_KERNEL_LOCKS));
	return cfg->want_locks || cfg->want_objects;
}

static void finish(struct session *s, void *state, struct profile *p)
{
	p->info.has_locks = s->options->want_locks;
	p->info.has_objects = s->options->want_objects;
}

static const struct session_option options[] = {
	{ "locks", offsetof(struct collect_options, want_locks), "Which lock each futex wait is for, and who holds it" },
	{ "objects", offsetof(struct collect_options, want_objects),
	  "What each wait is for: file, socket and peer, pipe, child, lock" },
	{ NULL, 0, NULL },
};

static const struct session_record records[] = {
	{ OFFCPU_REC_OBJECT, .fold = fold_object },
	{ OFFCPU_REC_TARGET, .fold = fold_target },
	{ OFFCPU_REC_KERNEL_LOCK, .fold = fold_kernel_lock },
	{ 0 },
};

const struct session_probe probe_objects = {
	.name = "objects", .options = options, .records = records, .configure = configure, .finish = finish,
};
