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

/* Erlang's schedulers, as its runtime names them: its processes wait for one another where the kernel does not see it. */
static bool is_of_beam(const struct thread *t)
{
	return strcmp(t->process, "beam.smp") == 0 && (g_str_has_suffix(t->comm, "_scheduler") || g_str_has_prefix(t->comm, "erts_sched"));
}

static bool is_of_jvm(const struct thread *t)
{
	return strncmp(t->comm, UNPARKER, strlen(UNPARKER)) == 0;
}

static const struct thread *first_of(const struct profile *p, const struct selection *selection,
				     bool (*is_one)(const struct thread *), bool *ret_others)
{
	const struct thread *found = NULL;

	*ret_others = false;
	for (uint32_t i = 0; i < p->threads->len; i++) {
		const struct thread *t = profile_thread(p, i);

		if ((selection && !selection->threads[i]) || !is_one(t) || are_looked_at(p, t->pid))
			continue;
		*ret_others = *ret_others || (found && found->pid != t->pid);
		found = found ? found : t;
	}
	return found;
}

char *unseen_new(const struct profile *p, const struct selection *selection)
{
	bool jvms, beams;
	const struct thread *jvm = first_of(p, selection, is_of_jvm, &jvms), *beam = first_of(p, selection, is_of_beam, &beams);
	const struct thread *found = jvm ? jvm : beam;
	GString *s;

	if (!found)
		return NULL;
	s = g_string_new(jvm ? "Not seen: virtual threads of " : "Not seen: processes of Erlang within ");
	text_safe_cut(s, found->process, NAME_COLUMNS);
	g_string_append_printf(s, " (%u)%s that wait without a thread of the kernel's: for a %s, a reply, a timer. ", found->pid,
			       (jvm ? jvms : beams) ? " and of others" : "", jvm ? "lock" : "message");
	if (jvm)
		g_string_append_printf(s, "`offcpu tasks -p %u` shows them, and record --tasks.", found->pid);
	else
		g_string_append(s, "Long queues of messages (message_queue_len, etop, observer) tell which one is slow.");
	return g_string_free(s, FALSE);
}
