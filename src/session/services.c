/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What processes belong to: accounts tell their cgroup. */
#include "fold/fold.h"
#include "session/parts.h"
#include "session/probe.h"

static bool configure(struct session *s, struct offcpu_config *cfg, void **ret_state)
{
	(void)ret_state;
	cfg->want_services = s->options->want_services && s->options->mode == COLLECT_WAITS;
	if (s->options->want_services)
		fold_with_services(s->fold);
	return cfg->want_services;
}

const struct session_probe probe_services = { .name = "services", .configure = configure };
