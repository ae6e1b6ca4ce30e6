/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/pinned.h"

#include <string.h>

#include "explain/text.h"
#include "profile/tasks_file.h"

#define NAME_COLUMNS 60
#define PINNED "pinned to its carrier: "	/* as tasks/java_source.c has it */

static bool passes(const struct task_row *row, const char *function)
{
	for (unsigned i = 0; i < row->frame_cnt; i++)
		if (!g_strcmp0(row->frames[i].name, function))
			return true;
	return false;
}

/* Seen most in that function. */
static const struct task_row *find(const struct findings *f, const struct finding *row)
{
	const char *function = row->frame < 0 ? NULL : profile_get_frame(f->profile, (uint32_t)row->frame)->name;
	const struct task_row *best = NULL;

	for (guint i = 0; function && i < f->profile->tasks->len; i++) {
		const struct tasks *t = profile_tasks(f->profile, i);

		for (guint k = 0; t->kind == TASKS_JAVA && t->pid == row->pid && k < t->rows->len; k++) {
			const struct task_row *one = tasks_get(t, k);

			if (one->reason && g_str_has_prefix(one->reason, PINNED) && passes(one, function) &&
			    (!best || one->seen > best->seen))
				best = one;
		}
	}
	return best;
}

void pinned_append_evidence(GString *s, const struct findings *f, const struct finding *row)
{
	const struct task_row *seen = row->reason == REASON_LOCK_PINNED ? find(f, row) : NULL;

	if (!seen)
		return;
	g_string_append(s, "; pinned: ");
	text_safe_cut(s, seen->reason + strlen(PINNED), NAME_COLUMNS);
}
