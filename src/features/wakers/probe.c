/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Who ended each sleep, and that waker's own waker. features/wakers/{waker,chain}.bpf.h are the kernel's half. */
#include <bpf/libbpf.h>

#include "attach/feature.h"
#include "attach/maps.h"
#include "fold/fold.h"
#include "session/parts.h"
#include "session/probe.h"
#include "offcpu.skel.h"

/* Size for sums of chains that may never be used: 2 MB for both halves. */
#define LATER_MAX 2048

/* Loads the programs for interrupts only if an interrupt may be a waker. */
static void select_irq_programs(struct offcpu_bpf *skel, bool wanted)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, skel->obj)
		if (g_str_has_prefix(bpf_program__name(prog), "note_"))
			bpf_program__set_autoload(prog, wanted);
	if (!feature_supported(FEATURE_DISK_EVENTS))
		bpf_program__set_autoload(skel->progs.note_disk, false);
}

static bool configure(struct session *s, struct offcpu_config *cfg, void **ret_state)
{
	const struct collect_options *o = s->options;
	bool has_mode = o->mode == COLLECT_WAITS || o->mode == COLLECT_EVENTS;

	cfg->want_wakers = (o->want_wakers || o->want_storms) && has_mode;
	cfg->only_storms = !o->want_wakers;
	cfg->chain_depth = o->want_wakers && has_mode ? (uint8_t)MIN(o->chain_depth, OFFCPU_CHAIN_MAX) : 0;
	s->skel->data->chains_since_ns = cfg->chain_depth && !o->chains_later;	/* from the start */
	select_irq_programs(s->skel, cfg->want_wakers);
	if (!cfg->chain_depth || o->chains_later) {
		bpf_map__set_max_entries(s->skel->maps.chains_a, cfg->chain_depth ? LATER_MAX : 1);
		bpf_map__set_max_entries(s->skel->maps.chains_b, cfg->chain_depth ? LATER_MAX : 1);
	}
	return cfg->want_wakers;
}

static bool is_filling(const struct session *s, const void *state)
{
	return s->skel->rodata->cfg.chain_depth &&
	       s->skel->bss->chain_entries > bpf_map__max_entries(s->skel->maps.chains_a) / 4;
}

static void take_sum(const void *key, const void *sum, void *data)
{
	fold_chain_sum(data, key, sum);
}

static void read_half(struct session *s, void *state, bool second, bool is_last)
{
	if (!s->skel->rodata->cfg.chain_depth)
		return;
	s->skel->bss->chain_entries = 0;
	if (!map_read_out(second ? s->skel->maps.chains_b : s->skel->maps.chains_a, take_sum, s->fold))
		profile_add_loss(s->profile, "unread_chains", "sums of chains could not be read out of the kernel", 1,
				 0);
}

static void finish(struct session *s, void *state, struct profile *p)
{
	p->info.has_wakers = s->options->want_wakers;
}

static const struct session_record records[] = {
	{ OFFCPU_REC_WAKER, .fold = fold_waker },
	{ OFFCPU_REC_CHAIN, .fold = fold_chain },
	{ OFFCPU_REC_SLEEP, .fold = fold_sleep },
	{ OFFCPU_REC_EARLIER, .fold = fold_earlier },
	{ 0 },
};

const struct session_probe probe_wakers = {
	.name = "wakers",
	.records = records,
	.configure = configure,
	.is_filling = is_filling,
	.read_half = read_half,
	.finish = finish,
};
