/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/each.h"
#include "base/find.h"
#include "fold/limits/limits.h"

#include <string.h>

#include "base/opener/opener.h"
#include "base/proc/status.h"
#include "fold/limits/does.h"

#define WAITED_SHARE 2	/* 1/n of the window: minimum wait for a child before looking at it */
#define CHILDREN_MAX 16	/* limit of children of a process */
#define DEPTH_MAX 8

/* How the awaited child was found, and its state. */
struct child {
	uint32_t pid;
	enum child_does does;
};

static enum child_does look_at(const struct looker *l, uint32_t pid)
{
	g_autofree char *status = opener_process_text(l->proc_dir, pid, "status");

	return status ? looker_does(l, pid, status) : CHILD_GONE;
}

GArray *children_of(const char *proc_dir, uint32_t pid)
{
	g_autofree char *name = g_strdup_printf("task/%" PRIu32 "/children", pid),
			*text = opener_process_text(proc_dir, pid, name);
	GArray *all = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	for (char *at = text; at && g_ascii_isdigit(*at); at += strspn(at, " ")) {
		uint32_t child = (uint32_t)g_ascii_strtoull(at, &at, 10);

		g_array_append_val(all, child);
	}
	return all;
}

GArray *processes_below(const char *proc_dir, uint32_t pid, guint max)
{
	GArray *pids = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	g_array_append_val(pids, pid);
	for (guint i = 0; i < pids->len && pids->len < max; i++) {
		g_autoptr(GArray) children = children_of(proc_dir, g_array_index(pids, uint32_t, i));

		g_array_append_vals(pids, children->data, children->len);
	}
	g_array_set_size(pids, MIN(pids->len, max));
	return pids;
}

/* The only child that waits for no other one's output, or the first of several. pid 0: none. */
static struct child child_of(const struct looker *l, uint32_t pid)
{
	g_autoptr(GArray) children = children_of(l->proc_dir, pid);
	struct child found = { 0 };
	unsigned others = 0;

	for (guint i = 0; i < MIN(children->len, CHILDREN_MAX); i++) {
		struct child one = { .pid = g_array_index(children, uint32_t, i) };

		one.does = look_at(l, one.pid);
		if (one.does == CHILD_GONE)
			continue;
		others += found.pid && (one.does == CHILD_PIPE) == (found.does == CHILD_PIPE);
		if (!found.pid || (found.does == CHILD_PIPE && one.does != CHILD_PIPE)) {
			found = one;
			others = 0;
		}
	}
	if (others || children->len > CHILDREN_MAX)
		found.does = CHILD_SEVERAL;
	return found;
}

/* Follows waits for children down to the last one. */
static struct child last_of(const struct looker *l, struct child c)
{
	for (unsigned i = 0; i < DEPTH_MAX && (c.does == CHILD_WAITS || c.does == CHILD_PIPE); i++) {
		struct child next = child_of(l, c.pid);

		if (!next.pid || next.does == CHILD_SEVERAL)
			break;
		c = next;
	}
	return c;
}

uint32_t child_at_file_lock(const char *proc_dir, uint32_t pid)
{
	const struct looker l = { .proc_dir = proc_dir };
	struct child c = last_of(&l, (struct child){ .pid = pid, .does = look_at(&l, pid) });

	return c.does == CHILD_FILE_LOCK && c.pid != pid ? c.pid : 0;
}

struct process_doing process_doing_of(const char *proc_dir, uint32_t pid)
{
	const struct looker l = { .proc_dir = proc_dir };
	const struct child c = last_of(&l, (struct child){ .pid = pid, .does = look_at(&l, pid) });

	return (struct process_doing){ c.does == CHILD_GONE ? 0 : c.pid, c.does };
}

char *process_doing_where(const char *proc_dir, const struct process_doing *d)
{
	if (d->does == CHILD_FIFO)
		return path_of_call(proc_dir, d->pid, d->pid);
	if (d->does != CHILD_NETWORK)
		return NULL;
	const struct looker l = { .proc_dir = proc_dir, .nets = net_tables_new(proc_dir) };
	const struct net_socket *s = looker_connection(&l, d->pid);
	char *there = s ? net_end_text(&s->remote) : NULL;

	net_tables_free(l.nets);
	return there;
}

static bool has_terminal(const struct looker *l, uint32_t pid)
{
	g_autofree char *link = looker_link_of_call(l, pid);

	return link && (g_str_has_prefix(link, "/dev/pts/") || g_str_has_prefix(link, "/dev/tty"));
}

/* Which ends of a pipe are among a process's descriptors. */
struct pipe_ends {
	const char *link;
	uint32_t modes;	/* S_IRUSR, S_IWUSR */
};

static bool take_end(const struct opener_entry *e, void *data)
{
	struct pipe_ends *ends = data;

	ends->modes |= g_strcmp0(e->link, ends->link) == 0 ? e->mode & (S_IRUSR | S_IWUSR) : 0;
	return true;
}

/* Has the waiter the other end alone of the pipe at which its child waits?  Who has both shares it with more, as make does. */
static bool has_other_end(const struct looker *l, uint32_t waiter, struct child c)
{
	g_autofree char *link = looker_link_of_call(l, c.pid), *fds = g_strdup_printf("%s/%" PRIu32 "/fd", l->proc_dir, waiter);
	struct pipe_ends ends = { .link = link };

	if (!link || !g_str_has_prefix(link, "pipe:"))
		return false;
	opener_list(fds, true, take_end, &ends);
	return ends.modes == (c.does == CHILD_PIPE_FULL ? S_IRUSR : S_IWUSR);
}

static void add_child_limit(struct profile *p, const struct looker *l, uint32_t waiter, struct child c)
{
	const struct net_socket *s = c.does == CHILD_NETWORK ? looker_connection(l, c.pid) : NULL;
	g_autofree char *there = s ? net_end_text(&s->remote) : NULL, *name = opener_process_text(l->proc_dir, c.pid, "comm");
	uint64_t silent_ns = 0, sent_ns;

	if (!name)
		return;
	if (c.does == CHILD_NETWORK && !s)
		c.does = has_terminal(l, c.pid) ? CHILD_TERMINAL : CHILD_EVENTS;
	if ((c.does == CHILD_PIPE || c.does == CHILD_PIPE_FULL) && has_other_end(l, waiter, c))
		c.does = c.does == CHILD_PIPE ? CHILD_OWN_PIPE : CHILD_OWN_PIPE_FULL;
	if (s && s->is_tcp && (!l->peers || !sock_peers_last_data(l->peers, c.pid, s, &silent_ns, &sent_ns)))
		silent_ns = 0;
	g_strdelimit(name, "\n", '\0');
	g_autofree char *text = limit_child_text(&(struct limit_child){
		.pid = c.pid, .does = c.does, .silent_ns = silent_ns, .there = there, .name = name });

	profile_add_limit(p, LIMIT_CHILD, waiter, 0, text);
}

/* For room in a pipe, whose reader may be any program. */
static bool is_for_room(const struct profile *p, const struct wait *w)
{
	static const char *const writes[] = { "pipe_write", "anon_pipe_write", NULL };

	return w->flags & WAIT_OPEN_AT_END && profile_stack_names(p, w->kernel, writes);
}

/* In Ruby up to 3.2 it is a wait for SIGCHLD. */
static bool is_for_exit(const struct profile *p, const struct wait *w)
{
	static const char *const exits[] = { "do_wait", NULL }, *const users[] = { "rb_waitpid", NULL };

	return profile_stack_names(p, w->kernel, exits) || profile_stack_names(p, w->user, users);
}

/* The awaited child: named by the system call, at the pipe's other end, or the only one. */
static struct child waited_for(const struct looker *l, const struct profile *p, const struct wait *w)
{
	const struct object *o = profile_wait_object(p, w);
	uint32_t pid = profile_thread(p, w->thread)->pid;
	g_autofree char *status = o && o->pid && o->pid != pid ? opener_process_text(l->proc_dir, o->pid, "status") : NULL;
	struct child named = { .pid = o ? o->pid : 0 };

	if (is_for_exit(p, w) && !(o && o->kind == OBJECT_CHILD && o->pid))
		return child_of(l, pid);
	if (!status || (!is_for_room(p, w) && proc_status_number(status, "PPid") != pid))
		return (struct child){ 0 };
	named.does = looker_does(l, named.pid, status);
	return named;
}

/* For the output of another program, in one pipe or in several. */
static bool is_for_output(const struct profile *p, const struct wait *w)
{
	static const char *const pipes[] = { "pipe_read", "anon_pipe_read", NULL };
	const struct object *o = profile_wait_object(p, w);

	return profile_stack_names(p, w->kernel, pipes) ||
	       (o && o->kind == OBJECT_POLL && g_str_has_prefix(o->name, "pipe"));
}

/* A thread's waits for children to end, and for what they print. */
struct awaited {
	uint64_t exits_ns, output_ns;
};

static struct awaited *awaited_new(const struct profile *p)
{
	struct awaited *all = g_new0(struct awaited, (gsize)p->threads->len + 1);

	EACH_ROW(i, const struct wait, w, p->waits) {
		all[w->thread].exits_ns += is_for_exit(p, w) ? w->blocked_ns : 0;
		all[w->thread].output_ns += is_for_output(p, w) ? w->blocked_ns : 0;
	}
	return all;
}

/*
 * Is it a wait for a child to end, or for its output, possibly of one child after another, or in pieces; or for a
 * pipe's reader?
 */
static bool is_for_child(const struct profile *p, const struct wait *w, const struct awaited *all)
{
	const uint64_t enough_ns = p->info.duration_ns / WAITED_SHARE;
	const bool is_open = w->flags & WAIT_OPEN_AT_END;

	if (is_open && all[w->thread].exits_ns >= enough_ns)
		return is_for_exit(p, w);
	if (is_for_room(p, w))
		return w->blocked_ns >= enough_ns;
	return (is_open ? all[w->thread].output_ns : w->blocked_ns) >= enough_ns && is_for_output(p, w);
}

void children_look(struct profile *p, struct net_tables *nets, struct sock_peers *peers, const char *proc_dir)
{
	const struct looker l = { nets, peers, proc_dir };
	g_autoptr(GHashTable) recorded = limits_pids_new(p);
	g_autofree struct awaited *awaited = awaited_new(p);
	unsigned left = CHILDREN_LOOKS_MAX;

	EACH_ROW_WHILE(i, const struct wait, w, p->waits, left) {
		uint32_t pid = profile_thread(p, w->thread)->pid;

		if (!is_for_child(p, w, awaited) || profile_find_limit(p, LIMIT_CHILD, pid, 0))
			continue;
		left--;
		struct child c = waited_for(&l, p, w);

		if (c.pid && c.does != CHILD_GONE && !g_hash_table_contains(recorded, GUINT_TO_POINTER(c.pid)))
			add_child_limit(p, &l, pid, is_for_room(p, w) ? c : last_of(&l, c));
	}
}

#define WORKERS_OF_MAX 16	/* processes whose children are counted */
#define RESTS_SHARE 50	/* 1/n of the window: who runs more does some of the work itself */

static uint64_t ran_ns(const struct profile *p, uint32_t pid)
{
	uint64_t ns = 0;

	EACH_ROW(i, const struct thread, t, p->threads)
		ns += t->pid == pid ? t->on_cpu_ns : 0;
	return ns;
}

void workers_look(struct profile *p, const char *proc_dir)
{
	g_autoptr(GHashTable) recorded = limits_pids_new(p);
	unsigned left = profile_is_of_machine(p) ? 0 : WORKERS_OF_MAX;

	EACH_ROW_WHILE(i, const struct thread, t, p->threads, left) {
		if (t->pid != t->tid || ran_ns(p, t->pid) > p->info.duration_ns / RESTS_SHARE)
			continue;
		g_autoptr(GArray) children = children_of(proc_dir, t->pid);
		g_autofree char *comm = NULL;
		uint32_t cnt = 0;

		left--;
		EACH_ROW(k, const uint32_t, pid, children) {
			if (g_hash_table_contains(recorded, GUINT_TO_POINTER(*pid)))
				continue;
			comm = comm ?: opener_process_text(proc_dir, *pid, "comm");
			cnt++;
		}
		g_autofree char *text = g_strdup_printf(LIMIT_WORKERS_FORMAT "%s", cnt, comm ? g_strchomp(comm) : "");

		if (cnt)
			profile_add_limit(p, LIMIT_WORKERS, t->pid, 0, text);
	}
}
