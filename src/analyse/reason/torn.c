/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/reason/idle.h"

#include "analyse/reason/reasons.h"

#define OTHERS_PART 10	/* of a role's time: less is not idle */

struct park {
	uint64_t ns, idle_ns;
};

void torn_find(const struct profile *p, const struct torn_input *in, uint8_t *idle)
{
	g_autofree struct park *parks = g_new0(struct park, (gsize)in->roles->rows->len + 1);

	EACH_ROW(i, const struct wait, w, p->waits) {
		struct park *park = &parks[in->roles->of_thread[w->thread]];

		if (!wait_is_asleep(w) || !reason_is_parked((enum reason)in->reason[i]) || !idle_knows_place(p, w))
			continue;
		park->ns += w->blocked_ns;
		park->idle_ns += idle[i] ? w->blocked_ns : 0;
	}
	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct park *park = &parks[in->roles->of_thread[w->thread]];
		const struct rule *rule = in->rule[i];

		if (!wait_is_asleep(w) || idle[i] || !reason_is_parked((enum reason)in->reason[i]) ||
		    idle_knows_place(p, w) || (rule && rule->idle != RULE_IDLE_UNSAID))
			continue;
		if (park->idle_ns > park->ns - park->ns / OTHERS_PART)
			idle[i] = IDLE_POOL;
	}
}

/* Asleep at known places. */
struct sleep {
	uint64_t ns, idle_ns, most_ns;
	uint8_t kind;	/* of the longest that is idle */
};

static bool is_unlooked(const struct rule *rule)
{
	return rule && g_str_has_prefix(rule->name, RULES_NOT_LOOKED_AT);
}

void unlooked_find(const struct profile *p, const struct torn_input *in, uint8_t *idle)
{
	g_autofree struct sleep *sleeps = g_new0(struct sleep, (gsize)in->roles->rows->len + 1);

	EACH_ROW(i, const struct wait, w, p->waits) {
		struct sleep *s = &sleeps[in->roles->of_thread[w->thread]];

		if (!wait_is_asleep(w) || is_unlooked(in->rule[i]))
			continue;
		s->ns += w->blocked_ns;
		if (!idle[i])
			continue;
		s->idle_ns += w->blocked_ns;
		s->kind = w->blocked_ns > s->most_ns ? idle[i] : s->kind;
		s->most_ns = MAX(s->most_ns, w->blocked_ns);
	}
	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct sleep *s = &sleeps[in->roles->of_thread[w->thread]];

		if (wait_is_asleep(w) && is_unlooked(in->rule[i]) && s->idle_ns > s->ns - s->ns / OTHERS_PART)
			idle[i] = s->kind;
	}
}
