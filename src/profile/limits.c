/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/limits.h"

#include <inttypes.h>
#include <string.h>

#define TEXT_MAX_BYTES 16000	/* of all: readers take no longer text */

static const char *const kinds[LIMIT_KIND_COUNT] = {
	[LIMIT_STOPPED] = "stopped", [LIMIT_CPUS] = "cpus",	[LIMIT_QUOTA] = "quota",
	[LIMIT_DISK] = "disk",	     [LIMIT_MEMORY] = "memory",
	[LIMIT_FROZEN] = "frozen",
	[LIMIT_POLICY] = "policy",
};

void profile_add_limit(struct profile *p, enum profile_limit_kind kind, uint32_t pid, uint32_t tid, const char *text)
{
	const struct profile_limit limit = {
		.kind = (uint8_t)kind, .pid = pid, .tid = tid, .text = profile_string(p, text),
	};

	if (p->limits->len < PROFILE_LIMITS_MAX && (unsigned)kind < LIMIT_KIND_COUNT)
		g_array_append_val(p->limits, limit);
}

const struct profile_limit *profile_find_limit(const struct profile *p, enum profile_limit_kind kind, uint32_t pid,
					       uint32_t tid)
{
	for (guint i = 0; i < p->limits->len; i++) {
		const struct profile_limit *l = &g_array_index(p->limits, struct profile_limit, i);

		if (l->kind == kind && l->pid == pid && l->tid == tid)
			return l;
	}
	return NULL;
}

char *profile_limits_text(const struct profile *p)
{
	GString *s = g_string_new(NULL);

	for (guint i = 0; i < p->limits->len; i++) {
		const struct profile_limit *l = &g_array_index(p->limits, struct profile_limit, i);
		g_autofree char *line = g_strdup_printf("%s %" PRIu32 " %" PRIu32 " %s", kinds[l->kind], l->pid, l->tid,
							l->text);

		if (!strchr(line, '\n') && s->len + strlen(line) + 1 <= TEXT_MAX_BYTES)
			g_string_append_printf(s, "%s\n", line);
	}
	return g_string_free(s, FALSE);
}

static bool read_id(char **at, uint32_t *ret)
{
	char *end;
	uint64_t id = g_ascii_strtoull(*at, &end, 10);

	if (!g_ascii_isdigit(**at) || *end != ' ' || id > UINT32_MAX)
		return false;
	*ret = (uint32_t)id;
	*at = end + 1;
	return true;
}

void profile_read_limits(struct profile *p, const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", PROFILE_LIMITS_MAX);

	for (char **line = lines; *line; line++) {
		char *at = strchr(*line, ' ');
		uint32_t pid, tid;

		if (!at)
			continue;
		*at++ = '\0';
		for (unsigned k = 0; k < LIMIT_KIND_COUNT; k++) {
			if (strcmp(*line, kinds[k]) != 0)
				continue;
			if (read_id(&at, &pid) && read_id(&at, &tid))
				profile_add_limit(p, (enum profile_limit_kind)k, pid, tid, at);
			break;
		}
	}
}
