/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "session/probe.h"

#include "session/parts.h"

const struct session_probe *const session_probes[] = {
	&probe_requests,	/* the first to go: each call that it probes costs the traced program time */
	&probe_wakers,
	&probe_objects,
	&probe_connects,
	&probe_tcp,
	&probe_languages,
	&probe_services,
	&probe_blame,
	&probe_storms,
	&probe_on_cpu,
	&probe_switches,
	NULL,
};
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
