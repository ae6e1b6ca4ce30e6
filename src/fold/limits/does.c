/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/limits/does.h"

#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/each.h"
#include "base/find.h"
#include "base/opener/opener.h"
#include "base/proc/status.h"
#include "fold/limits/limits.h"

/* Kernel functions where it sleeps, as prefixes of wchan: "poll_schedule_timeout.constprop.0". */
static const struct place {
	const char *prefix;
	enum child_does does;
} places[] = {
	{ "do_wait", CHILD_WAITS },
	{ "hrtimer_nanosleep", CHILD_SLEEPS },
	{ "do_nanosleep", CHILD_SLEEPS },
	{ "futex_", CHILD_LOCK },
	{ "anon_pipe_read", CHILD_PIPE },
	{ "pipe_read", CHILD_PIPE },
	{ "anon_pipe_write", CHILD_PIPE_FULL },
	{ "pipe_write", CHILD_PIPE_FULL },
	{ "locks_lock_inode_wait", CHILD_FILE_LOCK },
	{ "flock_lock_inode_wait", CHILD_FILE_LOCK },
	{ "posix_lock_inode_wait", CHILD_FILE_LOCK },
	{ "fcntl_setlk", CHILD_FILE_LOCK },
	{ "poll_schedule_timeout", CHILD_NETWORK },
	{ "do_sys_poll", CHILD_NETWORK },
	{ "do_select", CHILD_NETWORK },
	{ "do_epoll_wait", CHILD_NETWORK },
	{ "ep_poll", CHILD_NETWORK },
	{ "wait_woken", CHILD_NETWORK },	/* on a socket or a terminal */
	{ "sk_wait_data", CHILD_NETWORK },
	{ "inet_", CHILD_NETWORK },
	{ "tcp_", CHILD_NETWORK },
	{ "unix_stream_", CHILD_NETWORK },
	{ "n_tty_read", CHILD_TERMINAL },
	{ "wait_for_partner", CHILD_FIFO },
	{ "fifo_open", CHILD_FIFO },
};

enum child_does looker_does(const struct looker *l, uint32_t pid, const char *status)
{
	const char *state = proc_status_field(status, "State");

	state += state ? strspn(state, " \t") : 0;
	if (!state || *state == 'Z' || *state == 'X')
		return CHILD_GONE;
	if (*state == 'R')
		return CHILD_RUNS;
	if (*state == 'T' || *state == 't')
		return CHILD_STOPPED;
	if (*state == 'D')
		return CHILD_DISK;
	g_autofree char *wchan = opener_process_text(l->proc_dir, pid, "wchan");

	return FIRST(x, places, wchan && g_str_has_prefix(wchan, x->prefix), x->does, CHILD_OTHER);
}

const struct net_socket *looker_connection(const struct looker *l, uint32_t pid)
{
	g_autoptr(GHashTable) own = pool_sockets_new(l->proc_dir, pid);
	const GArray *sockets = own ? net_tables_of(l->nets, pid) : NULL;
	g_autofree bool *served = sockets ? pool_served_ports_new(sockets) : NULL;
	const struct net_socket *found = NULL;

	EACH_ROW_WHILE(i, const struct net_socket, s, sockets, served) {
		bool is_open = s->is_tcp ? s->state == TCP_ESTABLISHED || s->state == TCP_SYN_SENT
					 : !net_end_is_any(&s->remote);

		if (!is_open || served[s->local.port] || !g_hash_table_contains(own, &s->inode))
			continue;
		if (found)
			return NULL;
		found = s;
	}
	return found;
}

char *looker_link_of_call(const struct looker *l, uint32_t pid)
{
	g_autofree char *text = opener_process_text(l->proc_dir, pid, "syscall");
	const char *argument = text ? strchr(text, ' ') : NULL;
	uint64_t fd = argument ? g_ascii_strtoull(argument + 1, NULL, 16) : UINT64_MAX;
	g_autofree char *path = fd <= INT32_MAX ? g_strdup_printf("%s/%" PRIu32 "/fd/%d", l->proc_dir, pid, (int)fd) : NULL;

	return path ? opener_link(path) : NULL;
}

/* The call that a thread is in, with its arguments. */
struct call {
	long nr;
	uint64_t args[2];
};

static bool read_call(const struct looker *l, uint32_t pid, struct call *ret)
{
	g_autofree char *text = opener_process_text(l->proc_dir, pid, "syscall");	/* "running", or "7 0x7ffd1b999810 0x1 .." */

	return text && sscanf(text, "%ld 0x%" SCNx64 " 0x%" SCNx64, &ret->nr, &ret->args[0], &ret->args[1]) == 3;
}

static bool is_of(long nr, const long *numbers, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (nr == numbers[i])
			return true;
	return false;
}

static const long polls[] = {
#ifdef SYS_poll	/* x86 */
	SYS_poll,
#endif
	SYS_ppoll,
};
static const long selects[] = {
#ifdef SYS_select	/* x86 */
	SYS_select,
#endif
	SYS_pselect6,
};
static const long reads[] = {
	SYS_read, SYS_readv, SYS_recvfrom, SYS_recvmsg, SYS_write, SYS_writev, SYS_sendto, SYS_sendmsg,
};

static char *link_of(const struct looker *l, uint32_t pid, int fd)
{
	g_autofree char *path = g_strdup_printf("%s/%" PRIu32 "/fd/%d", l->proc_dir, pid, fd);

	return opener_link(path);
}

static uint64_t number_in(const char *link, const char *prefix)
{
	return link && g_str_has_prefix(link, prefix) ? g_ascii_strtoull(link + strlen(prefix), NULL, 10) : 0;
}

/* It waits at this connection: one that it has made tells whom it waits for, another one's client may ask nothing. */
static void take_socket(const struct looker *l, uint32_t pid, uint64_t inode, struct looked *ret)
{
	const GArray *locals = net_tables_unix(l->nets), *tcp = net_tables_of(l->nets, pid);
	const struct unix_socket *local = locals ? unix_table_find(locals, inode) : NULL;
	const struct net_socket *s = NULL, *there;

	EACH_ROW_OF(i, const struct net_socket, x, tcp)
		s = x->inode == inode && x->is_tcp ? x : s;
	g_autofree bool *served = s ? pool_served_ports_new(tcp) : NULL;

	if (local) {
		ret->peer_ino = local->peer;
	} else if (s && !served[s->local.port]) {
		g_autofree char *text = net_end_text(&s->remote);

		/* connections may be short */
		there = net_table_listener(tcp, &s->remote) ?: net_table_peer(tcp, true, &s->local, &s->remote);
		g_strlcpy(ret->there, text, sizeof(ret->there));
		ret->peer_ino = there ? there->inode : 0;
	} else {
		ret->does = CHILD_EVENTS;
	}
}

static void take_descriptor(const struct looker *l, uint32_t pid, int fd, struct looked *ret)
{
	g_autofree char *link = link_of(l, pid, fd);
	const uint64_t pipe = number_in(link, "pipe:["), socket = number_in(link, "socket:[");

	ret->fd = fd;
	if (pipe) {
		ret->peer_ino = pipe;
		ret->does = ret->does == CHILD_NETWORK ? CHILD_PIPE : ret->does;
	} else if (socket) {
		take_socket(l, pid, socket, ret);
	} else {
		ret->does = CHILD_EVENTS;
	}
}

/* Its own, as what a library wakes its thread by: a pair of sockets, an eventfd. */
static bool is_own(const struct looker *l, uint32_t pid, int fd, GHashTable *own)
{
	g_autofree char *link = link_of(l, pid, fd);
	const uint64_t socket = number_in(link, "socket:[");
	const GArray *locals = socket ? net_tables_unix(l->nets) : NULL;
	const struct unix_socket *s = locals ? unix_table_find(locals, socket) : NULL;

	return link && (g_str_has_prefix(link, "anon_inode:[eventfd]") ||
			(s && s->peer && own && g_hash_table_contains(own, &s->peer)));
}

#define POLLED_MAX 8

/* At one descriptor of others it waits for these, at none it sleeps. */
static void take_polled(const struct looker *l, uint32_t pid, const struct call *call, struct looked *ret)
{
	struct pollfd fds[POLLED_MAX] = { 0 };
	const struct opener_piece piece = { .addr = call->args[0], .ret = fds, .bytes = call->args[1] * sizeof(*fds) };
	g_autoptr(GHashTable) own = pool_sockets_new(l->proc_dir, pid);
	unsigned others = 0;
	bool is_read = false;
	int fd = -1;

	if (call->args[1] > POLLED_MAX || !opener_is_there() ||
	    (call->args[1] && (!opener_memory(pid, &piece, 1, &is_read) || !is_read))) {
		ret->does = CHILD_EVENTS;
		return;
	}
	for (uint64_t i = 0; i < call->args[1]; i++) {
		if (fds[i].fd < 0 || is_own(l, pid, fds[i].fd, own))
			continue;
		others++;
		fd = fds[i].fd;
	}
	if (!others)
		ret->does = CHILD_SLEEPS;
	else if (others == 1)
		take_descriptor(l, pid, fd, ret);
	else
		ret->does = CHILD_EVENTS;
}

bool looker_look(const struct looker *l, uint32_t pid, struct looked *ret)
{
	g_autofree char *status = opener_process_text(l->proc_dir, pid, "status");
	struct call call;

	*ret = (struct looked){ .fd = -1 };
	if (!status || proc_status_number(status, "Threads") != 1)
		return false;
	ret->does = looker_does(l, pid, status);
	if (ret->does != CHILD_PIPE && ret->does != CHILD_PIPE_FULL && ret->does != CHILD_NETWORK)
		return ret->does != CHILD_GONE;
	if (!read_call(l, pid, &call))
		ret->does = CHILD_EVENTS;
	else if (is_of(call.nr, reads, G_N_ELEMENTS(reads)))
		take_descriptor(l, pid, (int)MIN(call.args[0], INT32_MAX), ret);
	else if (is_of(call.nr, polls, G_N_ELEMENTS(polls)))
		take_polled(l, pid, &call, ret);
	else if (is_of(call.nr, selects, G_N_ELEMENTS(selects)) && !call.args[0])
		ret->does = CHILD_SLEEPS;
	else
		ret->does = CHILD_EVENTS;
	return true;
}
