/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/little.h"

#include <string.h>

#include "base/find.h"
#include "explain/text.h"
#include "features/tasks/rows.h"

#define NAME_COLUMNS 60
#define CHILD_EVERY_NS 1000000000	/* with fewer children, the waits for them suffice */

/* "VirtualThread-unparker", truncated by the kernel: since Java 21, if virtual threads wait with a time limit. */
#define UNPARKER "VirtualThread-u"

static bool are_looked_at(const struct profile *p, uint32_t pid, enum tasks_kind kind)
{
	for (guint i = 0; i < p->tasks->len; i++)
		if (profile_tasks(p, i)->kind == kind && profile_tasks(p, i)->pid == pid)
			return true;
	return false;
}

/* Erlang's schedulers, by their names: its processes wait for one another without the kernel. */
static bool is_of_beam(const struct thread *t)
{
	return strcmp(t->process, "beam.smp") == 0 && (g_str_has_suffix(t->comm, "_scheduler") || g_str_has_prefix(t->comm, "erts_sched"));
}

static bool is_of_jvm(const struct thread *t)
{
	return strncmp(t->comm, UNPARKER, strlen(UNPARKER)) == 0;
}

/* The clock thread of GHC's runtime, in programs with and without -threaded. */
static bool is_of_ghc(const struct thread *t)
{
	return strcmp(t->comm, "ghc_ticker") == 0;
}

static const struct {
	bool (*is_one)(const struct thread *t);
	const char *what, *waits_for, *step;	/* step NULL: offcpu shows them itself */
} runtimes[] = {
	{ is_of_jvm, "virtual threads of ", "a lock, a reply, a timer", NULL },
	{ is_of_beam, "processes of Erlang within ", "a message, a reply, a timer",
	  "Long queues of messages (message_queue_len, etop, observer) tell which one is slow." },
	{ is_of_ghc, "threads of Haskell's own within ", "an MVar, STM, a socket, a child",
	  "GHC's event log shows them (+RTS -l, ThreadScope)." },
};

static const struct thread *first_of(const struct profile *p, const struct selection *selection,
				     bool (*is_one)(const struct thread *), bool *ret_others)
{
	const struct thread *found = NULL;

	*ret_others = false;
	EACH_ROW(i, const struct thread, t, p->threads) {
		if ((selection && !selection->threads[i]) || !is_one(t) || are_looked_at(p, t->pid, TASKS_JAVA))
			continue;
		*ret_others = *ret_others || (found && found->pid != t->pid);
		found = found ? found : t;
	}
	return found;
}

/* Forking servers wait in their children, which began after the processes were selected. */
bool unseen_has_children(const struct profile *p)
{
	return p->info.unfollowed && p->info.unfollowed >= p->info.duration_ns / CHILD_EVERY_NS;
}

static bool is_of_dotnet(const struct thread *t)
{
	return g_str_has_prefix(t->comm, ".NET ");
}

/* Without names, threads that wait for one another look like workers without work. */
static char *say_nameless(const struct profile *p, const struct selection *selection)
{
	bool has_others;
	const struct thread *found = first_of(p, selection, is_of_dotnet, &has_others);
	GString *s;

	for (uint32_t i = 0; found && i < p->frames->len; i++) {
		const struct frame *f = profile_get_frame(p, i);

		if (f->name && g_strcmp0(f->module, "[jit]") == 0)
			found = NULL;
	}
	if (!found)
		return NULL;
	s = g_string_new("Not known: what threads of ");
	text_safe_cut(s, found->process, NAME_COLUMNS);
	g_string_append_printf(s, " (%u)%s wait for in methods of .NET, which have no names here: start it with "
			       "DOTNET_PerfMapEnabled=1.", found->pid, has_others ? " and of others" : "");
	return g_string_free(s, FALSE);
}

/* Of a Go program that was not looked into: a thread of its runtime has nothing to do. */
static bool is_idle_of_go(const struct findings *f, uint32_t wait)
{
	const uint32_t pid = profile_thread(f->profile, profile_wait(f->profile, wait)->thread)->pid;
	const struct rule *rule = reasons_rule(f->reasons, wait);

	return rule && strcmp(rule->name, "go-idle") == 0 &&
	       !(pid ? are_looked_at(f->profile, pid, TASKS_GO) : f->profile->info.has_tasks);
}

/* A thread of a Go program that was not looked into, preferably a row of a single thread; NULL: none. */
static const struct thread *idle_of_go(const struct findings *f)
{
	const struct profile *p = f->profile;
	const struct thread *one = NULL;

	for (uint32_t i = 0; i < p->waits->len && (!one || !one->pid); i++) {
		uint32_t thread = profile_wait(p, i)->thread;

		if (is_idle_of_go(f, i) && (!f->selection || f->selection->threads[thread]))
			one = profile_thread(p, thread);
	}
	return one;
}

bool unseen_has_tasks(const struct findings *f, uint32_t pid)
{
	const struct profile *p = f->profile;

	EACH_ROW(i, const struct thread, t, p->threads)
		if (t->pid == pid && ANY(x, runtimes, x->is_one(t)) && !are_looked_at(p, pid, TASKS_JAVA))
			return true;
	EACH_ROW(i, const struct wait, w, p->waits)
		if (profile_thread(p, w->thread)->pid == pid && is_idle_of_go(f, i))
			return true;
	return false;
}

static char *say_unseen(const struct thread *one, bool has_others, const char *what, const char *waits_for,
			const char *step)
{
	GString *s = g_string_new("Not seen: ");

	g_string_append(s, what);
	text_safe_cut(s, one->process, NAME_COLUMNS);
	if (one->pid)
		g_string_append_printf(s, " (%u)", one->pid);
	g_string_append_printf(s, "%s that wait without a thread of the kernel's: for %s. ", has_others ? " and of others" : "",
			       waits_for);
	if (step)
		g_string_append(s, step);
	else if (one->pid)
		g_string_append_printf(s, "`offcpu tasks -p %u` shows them, and record --tasks.", one->pid);
	else
		g_string_append(s, "`offcpu tasks` shows them, and the agent keeps them with [record] tasks.");
	return g_string_free(s, FALSE);
}

/* A master of workers that were not recorded. */
static char *say_workers(const struct findings *f)
{
	const struct profile *p = f->profile;
	const struct profile_limit *l =
		FIRST_ROW(const struct profile_limit, x, p->limits,
			  x->kind == LIMIT_WORKERS && selection_has_process(f->selection, p, x->pid), x, NULL);
	const char *name;
	uint32_t cnt = limit_workers_read(l, &name);

	if (!cnt || profile_find_limit(p, LIMIT_CHILD, l->pid, 0))
		return NULL;
	GString *s = g_string_new("Not recorded: ");

	g_string_append_printf(s, "%s child%s of ", TEXT_COUNT(cnt), cnt == 1 ? "" : "ren");
	text_who(s, finding_process_name(f, l->pid) ?: "process", l->pid, NAME_COLUMNS);
	if (*name) {
		g_string_append(s, " (");
		text_safe_cut(s, name, NAME_COLUMNS);
		g_string_append_c(s, ')');
	}
	g_string_append(s, ", and what they waited for: -p by name, or record --follow.");
	return g_string_free(s, FALSE);
}

char *unseen_new(const struct findings *f)
{
	const struct profile *p = f->profile;
	const struct thread *found;
	char *workers;

	if (unseen_has_children(p))
		return g_strdup_printf("Not recorded: %s processes that these have begun meanwhile, and what they waited for: "
				       "record --follow.", TEXT_COUNT(p->info.unfollowed));
	if ((workers = say_workers(f)))
		return workers;
	for (size_t i = 0; i < G_N_ELEMENTS(runtimes); i++) {
		bool has_others;

		found = first_of(p, f->selection, runtimes[i].is_one, &has_others);
		if (found)
			return say_unseen(found, has_others, runtimes[i].what, runtimes[i].waits_for, runtimes[i].step);
	}
	found = idle_of_go(f);
	return found ? say_unseen(found, false, "goroutines of ", "a lock, a channel, a socket, a timer", NULL) :
		       say_nameless(p, f->selection);
}
