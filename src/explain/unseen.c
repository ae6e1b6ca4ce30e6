/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/unseen.h"

#include <string.h>

#include "explain/text.h"
#include "profile/tasks_file.h"

#define NAME_COLUMNS 60

/* "VirtualThread-unparker", as much of it as the kernel keeps: since Java 21, where virtual threads wait for a time. */
#define UNPARKER "VirtualThread-u"

static bool are_looked_at(const struct profile *p, uint32_t pid)
{
	for (guint i = 0; i < p->tasks->len; i++)
		if (profile_tasks(p, i)->kind == TASKS_JAVA && profile_tasks(p, i)->pid == pid)
			return true;
	return false;
}

char *unseen_new(const struct profile *p, const struct selection *selection)
{
	const struct thread *found = NULL;
	bool others = false;
	GString *s;

	for (uint32_t i = 0; i < p->threads->len; i++) {
		const struct thread *t = profile_thread(p, i);

		if ((selection && !selection->threads[i]) || strncmp(t->comm, UNPARKER, strlen(UNPARKER)) != 0 ||
		    are_looked_at(p, t->pid))
			continue;
		others = others || (found && found->pid != t->pid);
		found = found ? found : t;
	}
	if (!found)
		return NULL;
	s = g_string_new("Not seen: virtual threads of ");
	text_safe_cut(s, found->process, NAME_COLUMNS);
	g_string_append_printf(s, " (%u)%s that wait without a thread of the kernel's: for a lock, a reply, a timer. "
				  "`jcmd %u Thread.dump_to_file FILE` lists them.", found->pid,
			       others ? " and of others" : "", found->pid);
	return g_string_free(s, FALSE);
}
