/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Clients that wait for an answer, and connections that wait to be accepted, at several moments of the recording: a
 * single look may meet another server than the one that is mostly asked, or come when a queue is gone.
 */
#include "base/find.h"
#include "fold/limits/limits.h"

#include <netinet/tcp.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/opener/opener.h"
#include "base/proc/sock_table.h"
#include "fold/targets/part.h"

#define LOOK_NS 1000000000ULL
#define LOOKS_SHARE 8	/* of the time so far: how seldom a long recording is looked at */
#define LOOKS_FEW 4	/* of fewer looks a single one counts */
#define PROCESSES_MAX 16	/* whose clients are looked at meanwhile */
#define CPU_SHARE 200	/* of the time until the next look that one may take */
#define OLD_NS 10000000000ULL	/* so long a client that waits for an answer may not wait for an event */
#define QUEUE_PAUSE_US 3000	/* connections that are accepted within this time do not wait */
#define AGAIN 8	/* number of looks at the end, because connections may exist only briefly and change while they are read */
#define OWED_PAUSE_US 7000
#define HELD_BACK_MIN 3	/* looks at connections: an end of an answer may be met on its way once */
#define HELD_BACK_PART 6	/* of all such looks */
#define HELD_BACK_AGAIN 4
#define HELD_BACK_PAUSE_US 25000	/* an acknowledgement is delayed by 40 ms */
#define ASKED_MIN 8	/* answers: fewer do not tell how many segments each is */
#define ANSWER_SEGMENTS_MAX 4

/* A listening socket. */
struct queue {
	uint32_t seen, most;	/* looks at which connections waited; at once */
};

struct asked_end {
	uint32_t look, cnt;	/* the look that counted, and its connections */
	uint32_t made_cnt;	/* connections of the look with the most */
	uint32_t all_cnt, asked_cnt;	/* summed over all looks: connections of which it is known; those that are owed an answer */
	uint64_t inode;	/* of the listener there; 0: not on this machine */
};

/* A process. */
struct owing {
	uint32_t looks, owing;	/* looks at its clients; those at which they waited for answers */
	GArray *clients;	/* uint32_t, of each look at which clients waited, maybe for events */
	GHashTable *upstreams;	/* address -> struct asked_end, of its own connections */
	uint32_t clients_looked, held_back;	/* connections of clients, over all looks; those with an end of an answer held back */
	struct net_end held_back_at;	/* our end of the last one */
};

struct net_looks {
	char *proc_dir;
	uint64_t looked_ns, cpu_ns;	/* the last look: when, and what it took */
	uint32_t looks;
	GHashTable *queues;	/* inode -> struct queue */
	GHashTable *owings;	/* pid -> struct owing */
};

FREES_DATA(owing_free, struct owing, o, g_array_unref(o->clients); g_hash_table_unref(o->upstreams))

struct net_looks *net_looks_new(const char *proc_dir)
{
	struct net_looks *l = g_new0(struct net_looks, 1);

	l->proc_dir = g_strdup(proc_dir);
	l->queues = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, g_free);
	l->owings = g_hash_table_new_full(NULL, NULL, NULL, owing_free);
	return l;
}

FREES(net_looks_free, struct net_looks, l, g_free(l->proc_dir); g_hash_table_unref(l->queues);
      g_hash_table_unref(l->owings))

static struct owing *owing_of(struct net_looks *l, uint32_t pid)
{
	struct owing *o = g_hash_table_lookup(l->owings, GUINT_TO_POINTER(pid));

	if (!o) {
		o = g_new0(struct owing, 1);
		o->clients = g_array_new(FALSE, FALSE, sizeof(uint32_t));
		o->upstreams = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
		g_hash_table_insert(l->owings, GUINT_TO_POINTER(pid), o);
	}
	return o;
}

struct look {
	uint32_t clients, old;	/* clients waiting for an answer; those that may wait for an event */
	bool asks;	/* it has asked somebody itself */
};

/*
 * Clients that ask again as soon as they have an answer mostly do so within one clock tick, so the order is not known.
 * Where each of many questions was one segment, and each answer the same number, those that wait lack one answer.
 */
static bool has_asked_once_more(const struct client *c)
{
	const uint32_t answers = c->received_cnt - MIN(c->received_cnt, 1);

	return answers >= ASKED_MIN && c->sent_cnt && c->sent_cnt % answers == 0 &&
	       c->sent_cnt / answers <= ANSWER_SEGMENTS_MAX;
}

static void count_clients(struct look *l, uint64_t old_ns, const GArray *clients)
{
	uint32_t likely = 0;
	bool is_telling = true;

	EACH_ROW(i, const struct client, c, clients) {
		const bool is_old = c->received_ns > old_ns;

		is_telling = is_telling && !(c->owes == OWES_NOT && has_asked_once_more(c));
		if (c->owes == OWES_NOT || c->received_ns < OWED_AGE_NS)
			continue;
		if (c->owes == OWES)
			*(is_old ? &l->old : &l->clients) += 1;
		else
			likely += !is_old && has_asked_once_more(c);
	}
	l->clients += is_telling ? likely : 0;
}

/*
 * It has sent something since the last data came. A session that rests in a transaction has not. Who asks again as soon
 * as the answer is there does so within one clock tick, too.
 */
static enum owes has_asked(struct sock_peers *peers, uint32_t pid, const struct net_socket *s)
{
	if (s->state == TCP_SYN_SENT)
		return OWES;
	const struct client there = sock_peers_asked(peers, pid, s);

	if (there.owes != OWES_MAYBE || there.received_cnt <= ASKED_MIN)
		return there.owes;
	return has_asked_once_more(&there) ? OWES : OWES_NOT;
}

static void count_made(struct owing *o, const GArray *sockets, const struct net_socket *s, enum owes asked)
{
	g_autofree char *there = net_end_text(&s->remote);
	struct asked_end *u = g_hash_table_lookup(o->upstreams, there);

	if (!u) {
		const struct net_socket *listener = net_table_listener(sockets, &s->remote);

		u = g_new0(struct asked_end, 1);
		u->inode = listener ? listener->inode : 0;
		g_hash_table_insert(o->upstreams, g_steal_pointer(&there), u);
	}
	u->cnt = u->look == o->looks ? u->cnt + 1 : 1;
	u->look = o->looks;
	u->made_cnt = MAX(u->made_cnt, u->cnt);
	u->all_cnt += asked != OWES_MAYBE;
	u->asked_cnt += asked == OWES;
}

static struct look read_owed(struct net_looks *all, struct owing *o, struct sock_peers *peers, struct net_tables *nets,
			     uint32_t pid, uint64_t old_ns)
{
	g_autoptr(GHashTable) own = pool_sockets_new(all->proc_dir, pid);
	const GArray *sockets = own ? net_tables_of(nets, pid) : NULL;
	g_autofree bool *served = sockets ? pool_served_ports_new(sockets) : NULL;
	g_autoptr(GArray) clients = g_array_new(FALSE, FALSE, sizeof(struct client));
	struct look l = { 0 };

	EACH_ROW_WHILE(i, const struct net_socket, s, sockets, served) {
		if (!s->is_tcp || (s->state != TCP_ESTABLISHED && s->state != TCP_SYN_SENT) ||
		    !g_hash_table_contains(own, &s->inode))
			continue;
		if (served[s->local.port]) {
			const struct client c = sock_peers_client(peers, pid, s);

			g_array_append_val(clients, c);
			o->clients_looked++;
			o->held_back += c.is_held_back;
			o->held_back_at = c.is_held_back ? s->local : o->held_back_at;
		} else {
			count_made(o, sockets, s, has_asked(peers, pid, s));
			l.asks = true;
		}
	}
	count_clients(&l, old_ns, clients);
	return l;
}

/* Clients that wait for long may be waiting for events, which come when there are any. */
static bool is_owing(const struct look *l)
{
	return l->clients >= OWED_MIN && l->old <= l->clients / 4;
}

static void note_look(struct owing *o, const struct look *l)
{
	const uint32_t clients = l->clients + l->old;

	o->looks++;
	o->owing += is_owing(l);
	if (clients >= OWED_MIN)
		g_array_append_val(o->clients, clients);
}

static void note_queue(struct net_looks *l, uint64_t inode, uint32_t queued)
{
	struct queue *q = g_hash_table_lookup(l->queues, &inode);

	if (queued < BACKLOG_MIN || !inode)
		return;
	if (!q) {
		q = g_new0(struct queue, 1);
		g_hash_table_insert(l->queues, g_memdup2(&inode, sizeof(inode)), q);
	}
	q->seen++;
	q->most = MAX(q->most, queued);
}

/* The accept queues of our own namespace, of which other ones need 14 ms of the kernel for the text of its tables. */
struct queues {
	GArray *tcp, *locals;	/* the second may be NULL */
};

static struct queues queues_read(void)
{
	const struct queues q = { g_array_new(FALSE, FALSE, sizeof(struct net_socket)), unix_table_new() };

	tcp_table_add(q.tcp, 1U << TCP_LISTEN);
	return q;
}

static void queues_free(struct queues *q)
{
	g_array_unref(q->tcp);
	g_clear_pointer(&q->locals, g_array_unref);
}

static bool queues_have_any(const struct queues *q)
{
	return ANY_ROW(const struct net_socket, s, q->tcp, s->queued >= BACKLOG_MIN) ||
	       (q->locals && ANY_ROW(const struct unix_socket, s, q->locals, s->queued >= BACKLOG_MIN));
}

static void look_at_queues(struct net_looks *l)
{
	struct queues first = queues_read();

	if (queues_have_any(&first)) {
		g_usleep(QUEUE_PAUSE_US);
		struct queues second = queues_read();

		EACH_ROW(i, const struct net_socket, s, second.tcp) {
			const uint32_t before = FIRST_ROW(const struct net_socket, x, first.tcp, x->inode == s->inode,
							  x->queued, 0);

			note_queue(l, s->inode, MIN(before, s->queued));
		}
		EACH_ROW_OF(i, const struct unix_socket, s, second.locals) {
			const struct unix_socket *before =
				s->queued && first.locals ? unix_table_find(first.locals, s->inode) : NULL;

			note_queue(l, s->inode, before ? MIN(before->queued, s->queued) : 0);
		}
		queues_free(&second);
	}
	queues_free(&first);
}

bool net_looks_is_due(const struct net_looks *l, uint64_t elapsed_ns)
{
	return elapsed_ns >= l->looked_ns + MAX(MAX(LOOK_NS, elapsed_ns / LOOKS_SHARE), l->cpu_ns * CPU_SHARE);
}

void net_looks_look(struct net_looks *l, const GArray *pids, uint64_t elapsed_ns)
{
	const uint64_t begin_ns = opener_thread_cpu_ns();
	struct net_tables *nets = net_tables_new(l->proc_dir);
	struct sock_peers *peers = sock_peers_new(l->proc_dir, nets);

	l->looked_ns = elapsed_ns;
	l->looks++;
	look_at_queues(l);
	for (guint i = 0; peers && pids && i < MIN(pids->len, PROCESSES_MAX); i++) {
		const uint32_t pid = g_array_index(pids, uint32_t, i);

		if (!net_tables_are_ours(l->proc_dir, pid))
			continue;
		struct owing *o = owing_of(l, pid);
		const struct look look = read_owed(l, o, peers, nets, pid, MAX(elapsed_ns, OLD_NS));

		note_look(o, &look);
	}
	sock_peers_free(peers);
	net_tables_free(nets);
	l->cpu_ns = opener_thread_cpu_ns() - begin_ns;
}

/* The peer that most of its connections asked, over all looks, else go to; NULL: it has made none. */
static const char *most_asked(const struct owing *o, const struct asked_end **ret)
{
	const char *there = NULL;
	GHashTableIter iter;
	gpointer key, value;

	*ret = NULL;
	g_hash_table_iter_init(&iter, o->upstreams);
	while (g_hash_table_iter_next(&iter, &key, &value)) {
		const struct asked_end *u = value, *most = *ret;

		if (most && (u->asked_cnt != most->asked_cnt ? u->asked_cnt < most->asked_cnt
							     : u->made_cnt <= most->made_cnt))
			continue;
		there = key;
		*ret = u;
	}
	return there;
}

static gint by_number(gconstpointer a, gconstpointer b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* "7 of 9 looks: ", "7 of 9 looks, 8 of 9 asked: ", if there was more than the one at the end. u may be NULL. */
static char *looks_text(uint32_t seen, uint32_t looks, const struct asked_end *u)
{
	if (looks < 2)
		return g_strdup("");
	return u ? g_strdup_printf(LIMIT_ASKED_FORMAT, seen, looks, u->asked_cnt, u->all_cnt) :
		   g_strdup_printf(LIMIT_LOOKS_FORMAT, seen, looks);
}

static void put_owed(struct profile *p, const struct owing *o, const char *proc_dir, uint32_t pid)
{
	const uint32_t seen = o->clients->len;
	const struct asked_end *upstream;
	/* else these may wait for events, so they are owed nothing */
	const char *there = o->owing * 2 >= seen ? most_asked(o, &upstream) : NULL;
	unsigned others;

	if (!seen || (o->looks >= LOOKS_FEW && seen * 3 < o->looks))
		return;
	g_array_sort(o->clients, by_number);
	struct fd_owners *owners = fd_owners_new(proc_dir);

	fd_owners_read(owners, true);
	const uint64_t inode = there ? upstream->inode : 0;
	uint32_t owner = inode ? fd_owners_find(owners, inode, FD_READS | FD_WRITES, 0, &others) : 0;
	const uint32_t median = g_array_index(o->clients, uint32_t, seen / 2), made = there ? upstream->made_cnt : 0;
	g_autoptr(GHashTable) own = inode ? pool_sockets_new(proc_dir, pid) : NULL;
	g_autofree char *name = own && g_hash_table_contains(own, &inode) ? g_strdup(LIMIT_ITSELF) :
				owner				  ? fd_owners_name(owners, owner) :
								    NULL;
	g_autofree char *looks = looks_text(seen, o->looks, there ? upstream : NULL);
	g_autofree char *text = g_strdup_printf("%s" LIMIT_OWED_FORMAT "%s%s%s%s", looks, median, made,
						there ? there : "nobody", name ? " (" : "", name ? name : "", name ? ")" : "");

	profile_add_limit(p, LIMIT_OWED, pid, 0, text);
	fd_owners_free(owners);
}

static struct look read_anew(struct net_looks *all, struct owing *o, struct sock_peers *peers, uint32_t pid,
			     uint64_t old_ns)
{
	struct net_tables *nets = net_tables_new(all->proc_dir);
	const struct look l = read_owed(all, o, peers, nets, pid, old_ns);

	net_tables_free(nets);
	return l;
}

/* The first look decides whether others are worth their time. */
static void look_at_held_back(struct profile *p, struct net_looks *all, struct sock_peers *peers, uint32_t pid,
			      uint64_t old_ns)
{
	struct owing *o = owing_of(all, pid);

	for (unsigned i = 0; i < HELD_BACK_AGAIN && o->held_back && o->looks < LOOKS_FEW; i++) {
		g_usleep(HELD_BACK_PAUSE_US);
		read_anew(all, o, peers, pid, old_ns);
	}
	if (o->held_back < HELD_BACK_MIN || o->held_back < o->clients_looked / HELD_BACK_PART)
		return;
	g_autofree char *there = net_end_text(&o->held_back_at);
	g_autofree char *text = g_strdup_printf(LIMIT_LOOKS_FORMAT "%s", o->held_back, o->clients_looked, there);

	profile_add_limit(p, LIMIT_HELD_BACK, pid, 0, text);
}

static void look_at_owed(struct profile *p, struct net_looks *all, struct sock_peers *peers, uint32_t pid,
			 unsigned *again)
{
	struct owing *o = owing_of(all, pid);
	const uint64_t old_ns = clock_ns(CLOCK_MONOTONIC) - p->info.start_ns;
	struct look l = read_anew(all, o, peers, pid, old_ns);

	for (; *again && l.clients && (!is_owing(&l) || !l.asks); (*again)--) {
		g_usleep(OWED_PAUSE_US);
		l = read_anew(all, o, peers, pid, old_ns);
	}
	note_look(o, &l);
	/* the only look: were these connections busy by chance? */
	for (unsigned i = 1; i < LOOKS_FEW && o->looks < LOOKS_FEW && l.asks && is_owing(&l); i++) {
		g_usleep(OWED_PAUSE_US);
		l = read_anew(all, o, peers, pid, old_ns);
		note_look(o, &l);
	}
	put_owed(p, o, all->proc_dir, pid);
	look_at_held_back(p, all, peers, pid, old_ns);
}

/* Its process may have clients: an event loop, or a thread for each connection that it has accepted. */
static bool serves(const struct object *o)
{
	if (o->kind == OBJECT_EPOLL)
		return strstr(o->name, "socket");
	return strcmp(o->place, "tcp") == 0 && object_is_accepted(o);
}

void owed_look(struct profile *p, struct net_looks *looks, struct sock_peers *peers)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
	const bool is_chosen = !profile_is_of_machine(p);
	unsigned again = AGAIN;

	EACH_ROW_WHILE(i, const struct wait, w, p->waits, g_hash_table_size(seen) < OWED_PROCESSES_MAX) {
		const struct object *o = profile_wait_object(p, w);
		uint32_t pid = profile_thread(p, w->thread)->pid;

		/* for a recording of the whole machine only if it waits for sockets often */
		if (o && serves(o) && (is_chosen || w->count >= OWED_WAITS_MIN) &&
		    g_hash_table_add(seen, GUINT_TO_POINTER(pid)))
			look_at_owed(p, looks, peers, pid, &again);
	}
}

/* The listening socket with the longest queue, at any look. */
struct backlog {
	uint32_t seen, most;
	const struct net_socket *tcp;
	const struct unix_socket *local;
};

/* own: inodes of the process's sockets; NULL: of all processes. */
static bool is_longest(struct backlog *b, const struct net_looks *l, GHashTable *own, uint64_t inode, uint32_t queued)
{
	const struct queue *q = g_hash_table_lookup(l->queues, &inode);
	const uint32_t now = queued >= BACKLOG_MIN ? queued : 0, most = MAX(q ? q->most : 0, now);

	if (most <= b->most || (own && !g_hash_table_contains(own, &inode)))
		return false;
	*b = (struct backlog){ .seen = (q ? q->seen : 0) + (now != 0), .most = most };
	return true;
}

static struct backlog find_backlog(const struct net_looks *l, struct net_tables *nets, uint32_t pid, GHashTable *own)
{
	/* once: a table that is no longer fresh is read anew, and its rows are gone */
	const GArray *sockets = net_tables_of(nets, pid), *locals = net_tables_unix(nets);
	struct backlog b = { 0 };

	EACH_ROW_OF(i, const struct net_socket, s, sockets)
		if (s->is_tcp && s->state == TCP_LISTEN && is_longest(&b, l, own, s->inode, s->queued))
			b.tcp = s;
	EACH_ROW_OF(i, const struct unix_socket, s, locals)
		if (s->listens && is_longest(&b, l, own, s->inode, s->queued))
			b.local = s;
	return b;
}

void backlog_look(struct profile *p, const struct net_looks *looks, struct net_tables *nets, const char *proc_dir,
		  uint32_t pid)
{
	/* usually nothing waits, and then no descriptors need to be read */
	g_autoptr(GHashTable) own = find_backlog(looks, nets, pid, NULL).most ? pool_sockets_new(proc_dir, pid) : NULL;
	const struct backlog b = own ? find_backlog(looks, nets, pid, own) : (struct backlog){ 0 };
	const bool is_local = b.local, is_ours = is_local || net_tables_are_ours(proc_dir, pid);
	const uint32_t all = (is_ours ? looks->looks : 0) + 1;

	/* a single time of many may be a burst */
	if (!b.most || (all >= LOOKS_FEW && b.seen < 2))
		return;
	g_autofree char *where = !is_local ? g_strdup_printf(":%u", b.tcp->local.port) :
					     g_strdup(*b.local->name ? b.local->name : "a Unix socket");
	g_autofree char *times = looks_text(b.seen, all, NULL);
	g_autofree char *text = g_strdup_printf("%s" LIMIT_BACKLOG_FORMAT "%s", times, b.most, where);

	profile_add_limit(p, LIMIT_BACKLOG, pid, 0, text);
}
