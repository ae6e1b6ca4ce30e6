/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/find.h"
#include "features/requests/fold.h"

#include <netinet/tcp.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "fold/limits/limits.h"
#include "fold/targets/sock_peers.h"
#include "profile/limits.h"

struct process {
	unsigned waits_cnt;	/* waits that may belong to a request */
	unsigned unanswered_cnt;
	uint64_t longest_ns;
	bool listens;	/* listens at one of the ports */
};

struct open_requests {
	char *proc_dir;
	const GPtrArray *functions;
	const GArray *ports;
	GHashTable *processes;	/* pid -> struct process */
};

struct open_requests *open_requests_new(const char *proc_dir, const GPtrArray *functions, const GArray *ports)
{
	struct open_requests *o = g_new0(struct open_requests, 1);

	o->proc_dir = g_strdup(proc_dir);
	o->functions = functions;
	o->ports = ports;
	o->processes = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	return o;
}

FREES(open_requests_free, struct open_requests, o, g_hash_table_destroy(o->processes); g_free(o->proc_dir))

/* "handle(int)" and "handle.part.0" match the function "handle". */
static bool is_function(const char *name, const char *function)
{
	size_t len = strlen(function);

	return strncmp(name, function, len) == 0 && (!name[len] || strchr("(.<[", name[len]));
}

static bool is_in_function(const struct open_requests *o, const struct profile *p, uint32_t node)
{
	for (; node; node = profile_get_node(p, node)->parent) {
		const char *name = profile_get_frame(p, profile_get_node(p, node)->frame)->name;

		for (guint i = 0; name && i < o->functions->len; i++)
			if (is_function(name, o->functions->pdata[i]))
				return true;
	}
	return false;
}

static bool is_for_events(const struct profile *p, const struct wait *w)
{
	const struct object *object = profile_wait_object(p, w);

	return object && object->kind == OBJECT_EPOLL;
}

/* A thread that waits for input from clients has answered. */
static bool is_for_client(const struct profile *p, const struct wait *w)
{
	const struct object *object = profile_wait_object(p, w);

	if (!object || !object->name)
		return false;
	if (object->kind == OBJECT_EPOLL)
		return strstr(object->name, "socket");
	return object_is_accepted(object) || (object->kind == OBJECT_SOCKET && strstr(object->name, " listening"));
}

static bool may_be(const struct open_requests *o, const struct profile *p, const struct wait *w)
{
	return o->ports ? !is_for_client(p, w) : is_in_function(o, p, w->user);
}

static struct process *process_of(const struct open_requests *o, const struct profile *p, const struct wait *w)
{
	uint32_t pid = profile_thread(p, w->thread)->pid;

	return g_hash_table_lookup(o->processes, GUINT_TO_POINTER(pid));
}

void open_requests_tell(struct open_requests *o, const struct profile *p, const struct wait *w)
{
	struct process *process = process_of(o, p, w);

	if (!may_be(o, p, w))
		return;
	if (!process) {
		process = g_new0(struct process, 1);
		g_hash_table_insert(o->processes, GUINT_TO_POINTER(profile_thread(p, w->thread)->pid), process);
	}
	process->waits_cnt++;
}

static bool is_asked_for(const struct open_requests *o, uint16_t port)
{
	return ANY_ROW(const uint16_t, x, o->ports, *x == port) || !o->ports;
}

static bool has_one_thread(const struct profile *p, uint32_t pid)
{
	unsigned cnt = 0;

	for (guint i = 0; i < p->threads->len && cnt < 2; i++)
		cnt += profile_thread(p, i)->pid == pid;
	return cnt == 1;
}

/*
 * Data received in the window is traced. If an answer and the next request are within the clock's few milliseconds,
 * their order is unknown: then the thread decides, if it is the only one or in the function.
 */
static bool is_unanswered(const struct profile *p, uint64_t received_ns, uint64_t sent_ns, bool thread_tells)
{
	return (received_ns < sent_ns || (thread_tells && received_ns == sent_ns)) &&
	       clock_ns(CLOCK_MONOTONIC) - received_ns < p->info.start_ns;
}

static void look_at(struct open_requests *o, const struct profile *p, struct sock_peers *peers, uint32_t pid,
		    const GArray *sockets, struct process *process)
{
	g_autoptr(GHashTable) own = pool_sockets_new(o->proc_dir, pid);
	g_autofree bool *served = own ? pool_served_ports_new(sockets) : NULL;
	const bool thread_tells = !o->ports || has_one_thread(p, pid);

	EACH_ROW_WHILE(i, const struct net_socket, s, sockets, own) {
		uint64_t received_ns, sent_ns;

		if (!s->is_tcp || !served[s->local.port] || !is_asked_for(o, s->local.port) ||
		    !g_hash_table_contains(own, &s->inode))
			continue;
		process->listens |= s->state == TCP_LISTEN;
		if (s->state != TCP_ESTABLISHED || !sock_peers_last_data(peers, pid, s, &received_ns, &sent_ns) ||
		    !is_unanswered(p, received_ns, sent_ns, thread_tells))
			continue;
		process->unanswered_cnt++;
		process->longest_ns = MAX(process->longest_ns, received_ns);
	}
}

void open_requests_look(struct open_requests *o, struct profile *p)
{
	struct net_tables *nets = net_tables_new(o->proc_dir);
	struct sock_peers *peers = sock_peers_new(o->proc_dir, nets);
	unsigned left = OPEN_REQUESTS_PROCESSES_MAX;
	GHashTableIter iter;
	gpointer pid, process;

	g_hash_table_iter_init(&iter, o->processes);
	while (peers && left-- && g_hash_table_iter_next(&iter, &pid, &process)) {
		const GArray *sockets = net_tables_of(nets, GPOINTER_TO_UINT(pid));
		struct process *one = process;

		if (sockets)
			look_at(o, p, peers, GPOINTER_TO_UINT(pid), sockets, one);
		if (!one->unanswered_cnt)
			continue;
		g_autofree char *text = g_strdup_printf(LIMIT_UNANSWERED_FORMAT, one->unanswered_cnt, one->longest_ns);

		profile_add_limit(p, LIMIT_UNANSWERED, GPOINTER_TO_UINT(pid), 0, text);
	}
	sock_peers_free(peers);
	net_tables_free(nets);
}

bool open_requests_has(const struct open_requests *o, const struct profile *p, const struct wait *w)
{
	const struct process *process = process_of(o, p, w);

	if (!process || !may_be(o, p, w))
		return false;
	/* a thread that accepts connections or waits for events does so for any port */
	return !o->ports ||
	       (process->waits_cnt <= process->unanswered_cnt && !(process->listens && is_for_events(p, w)));
}

unsigned open_requests_cnt(const struct open_requests *o, uint64_t *ret_longest_ns)
{
	unsigned cnt = 0;

	*ret_longest_ns = 0;
	EACH_VALUE(const struct process, one, o->processes) {
		cnt += o->ports ? one->unanswered_cnt : one->waits_cnt;
		if (o->ports || one->unanswered_cnt == one->waits_cnt)
			*ret_longest_ns = MAX(*ret_longest_ns, one->longest_ns);
	}
	return cnt;
}
