/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "session/probe.h"

#include "features/traces/abi.h"
#include "fold/fold.h"
#include "session/parts.h"

/* The services of processes: accounts name their cgroup. */
static bool configure_services(struct session *s, struct offcpu_config *cfg, void **ret_state)
{
	cfg->want_services = s->options->want_services && s->options->mode == COLLECT_WAITS;
	if (s->options->want_services)
		fold_with_services(s->fold);
	return cfg->want_services;
}

const struct session_probe probe_services = { .name = "services", .configure = configure_services };

/* Context switches one by one: the kernel's half is bpf/sched.bpf.h. */
static bool configure_switches(struct session *s, struct offcpu_config *cfg, void **ret_state)
{
	cfg->want_switches = s->options->mode == COLLECT_EVENTS && s->options->on_switch;
	return cfg->want_switches;
}

static void take_switch(struct session *s, void *state, const void *record, size_t size)
{
	if (size >= sizeof(struct offcpu_rec_switch))
		s->options->on_switch(record, s->options->callback_data);
}

static const struct session_record switches_records[] = { { OFFCPU_REC_SWITCH, .take = take_switch }, { 0 } };

const struct session_probe probe_switches = {
	.name = "switches", .records = switches_records, .configure = configure_switches,
};

/*
 * Interpreters' own stacks, the holders of their locks, and threads' trace contexts: the kernel's half is
 * bpf/walk/language.bpf.h and features/traces/context.bpf.h; supply/ tells it where these are.
 */
static const struct session_record languages_records[] = {
	{ OFFCPU_REC_LANGUAGE, .fold = fold_language },
	{ OFFCPU_REC_GIL, .fold = fold_gil },
	{ OFFCPU_REC_CONTEXT, .fold = fold_context },
	{ OFFCPU_REC_TRACE, .fold = fold_trace },
	{ 0 },
};

const struct session_probe probe_languages = { .name = "languages", .records = languages_records };

#define ROW(name) &probe_##name,
const struct session_probe *const session_probes[] = { SESSION_PROBES(ROW) NULL };
_Static_assert(G_N_ELEMENTS(session_probes) <= SESSION_PROBES_MAX, "");

#define FOR_EACH_WANTED(s, p, i) \
	for (const struct session_probe *p = session_probes[i = 0]; p; p = session_probes[++i]) \
		if ((s)->probes.is_wanted[i])

static void note_records(struct session *s, unsigned row)
{
	const struct session_record *r = session_probes[row]->records;

	for (; r && r->type; r++) {
		g_assert(r->type < SESSION_RECORDS_MAX && !s->probes.takers[r->type]);
		s->probes.takers[r->type] = (uint8_t)(row + 1);
	}
}

void probes_configure(struct session *s, struct offcpu_config *cfg)
{
	for (unsigned i = 0; session_probes[i]; i++) {
		const struct session_probe *p = session_probes[i];

		s->probes.is_wanted[i] = !p->configure || p->configure(s, cfg, &s->probes.states[i]);
		if (s->probes.is_wanted[i])
			note_records(s, i);
	}
}

bool probes_start(struct session *s, GError **error)
{
	unsigned i;

	FOR_EACH_WANTED(s, p, i)
		if (p->start && !p->start(s, s->probes.states[i], error))
			return false;
	return true;
}

void probes_prepare(struct session *s)
{
	unsigned i;

	FOR_EACH_WANTED(s, p, i)
		if (p->prepare)
			p->prepare(s, s->probes.states[i]);
}

void probes_drain(struct session *s)
{
	unsigned i;

	FOR_EACH_WANTED(s, p, i)
		if (p->drain)
			p->drain(s, s->probes.states[i]);
}

bool probes_are_filling(const struct session *s)
{
	unsigned i;

	FOR_EACH_WANTED(s, p, i)
		if (p->is_filling && p->is_filling(s, s->probes.states[i]))
			return true;
	return false;
}

void probes_read_half(struct session *s, bool second, bool is_last)
{
	unsigned i;

	FOR_EACH_WANTED(s, p, i)
		if (p->read_half)
			p->read_half(s, s->probes.states[i], second, is_last);
}

void probes_cut(struct session *s)
{
	unsigned i;

	FOR_EACH_WANTED(s, p, i)
		if (p->cut)
			p->cut(s, s->probes.states[i]);
}

void probes_finish(struct session *s, struct profile *profile)
{
	unsigned i;

	FOR_EACH_WANTED(s, p, i)
		if (p->finish)
			p->finish(s, s->probes.states[i], profile);
}

void probes_free(struct session *s)
{
	for (unsigned i = 0; session_probes[i]; i++) {
		if (session_probes[i]->free && s->probes.states[i])
			session_probes[i]->free(s->probes.states[i]);
		s->probes.states[i] = NULL;
		s->probes.is_wanted[i] = false;
	}
}

void probes_take(struct session *s, uint32_t type, const void *record, size_t size)
{
	unsigned row = type < SESSION_RECORDS_MAX ? s->probes.takers[type] : 0;

	if (!row--)
		return;
	for (const struct session_record *r = session_probes[row]->records; r->type; r++) {
		if (r->type != type)
			continue;
		if (r->fold)
			r->fold(s->fold, record, size);
		else
			r->take(s, s->probes.states[row], record, size);
	}
}

unsigned probes_drain_ms(const struct session *s, unsigned usual)
{
	unsigned i;

	FOR_EACH_WANTED(s, p, i)
		if (p->drain_ms && !s->options->requests_beside)
			usual = MIN(usual, p->drain_ms);
	return usual;
}

void *probe_state(const struct session *s, const struct session_probe *probe)
{
	for (unsigned i = 0; session_probes[i]; i++)
		if (session_probes[i] == probe)
			return s->probes.states[i];
	return NULL;
}
