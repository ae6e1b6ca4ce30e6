/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Context switches one by one: bpf/sched.bpf.h is the kernel's half. */
#include "session/parts.h"
#include "session/probe.h"

static bool configure(struct session *s, struct offcpu_config *cfg, void **ret_state)
{
	(void)ret_state;
	cfg->want_switches = s->options->mode == COLLECT_EVENTS && s->options->on_switch;
	return cfg->want_switches;
}

static void take(struct session *s, void *state, const void *record, size_t size)
{
	(void)state;
	if (size >= sizeof(struct offcpu_rec_switch))
		s->options->on_switch(record, s->options->callback_data);
}

static const struct session_record records[] = { { OFFCPU_REC_SWITCH, .take = take }, { 0 } };

const struct session_probe probe_switches = {
	.name = "switches", .records = records, .configure = configure,
};
