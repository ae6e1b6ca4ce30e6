/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * PostgreSQL's sessions by the titles of their processes: which ones wait for a lock, and whose is idle in a transaction
 * meanwhile. A program that waits for its answer cannot know, and neither does the kernel.  Of MariaDB's threads, which
 * have no titles, whether any of them runs or waits for a disk.
 */
#include "fold/targets/part.h"

#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/find.h"
#include "base/opener/opener.h"
#include "base/order.h"
#include "base/proc/status.h"
#include "fold/limits/limits.h"
#include "profile/limits.h"

#define SERVERS_MAX 4
#define BACKENDS_MAX 128	/* of one server, at one look */
#define THREADS_MAX 256
#define LOOKS_MAX 64	/* bits of a mask */
#define CLIENTS_MAX 32	/* sessions whose client is sought */
#define STATEMENTS_MIN 5	/* seen: fewer may all be by chance */

struct server {
	uint32_t pid;
	bool is_threaded;
	bool is_waited;	/* a recorded program was seen to wait for it, or to be it; else it is only there */
	uint64_t waits;	/* looks at which any of its sessions waited for a lock */
	/*
	 * sessions at a statement, over all looks; those on a CPU or queued for one; at a disk, except for flushes: the
	 * sessions that make written data safe, or wait until another one has
	 */
	uint32_t active, runs, reads, flushes;
	uint32_t looks, ran, read;	/* of a threaded one: as in LIMIT_THREADS_DO */
	uint32_t syncs, sleeps;	/* at this look: processes in fsync(2), and sessions at a statement that wait for a process */
};

/* A bit for each look. */
struct backend {
	uint32_t pid, server;
	uint64_t waits, rests;	/* for a lock; idle in a transaction */
};

struct backends {
	char *proc_dir;
	GHashTable *noted;	/* ids of processes that were asked for their name */
	GArray *fresh;	/* struct server: sessions whose server is sought, or threaded servers */
	GArray *servers, *rows;	/* struct server, struct backend */
	unsigned looks;
	struct pace pace;
};

struct backends *backends_new(const char *proc_dir)
{
	struct backends *b = g_new0(struct backends, 1);

	b->proc_dir = g_strdup(proc_dir);
	b->noted = g_hash_table_new(NULL, NULL);
	b->fresh = g_array_new(FALSE, FALSE, sizeof(struct server));
	b->servers = g_array_new(FALSE, TRUE, sizeof(struct server));
	b->rows = g_array_new(FALSE, TRUE, sizeof(struct backend));
	return b;
}

FREES(backends_free, struct backends, b, g_free(b->proc_dir); g_hash_table_unref(b->noted); g_array_unref(b->fresh);
      g_array_unref(b->servers); g_array_unref(b->rows))

static bool is_postgres(const char *name)
{
	return strcmp(name, "postgres") == 0;
}

static void note(struct backends *b, uint32_t pid, const char *name, bool is_waited)
{
	const bool is_threaded = strcmp(name, "mariadbd") == 0 || strcmp(name, "mysqld") == 0;
	const struct server fresh = { .pid = pid, .is_threaded = is_threaded, .is_waited = is_waited };

	if (is_threaded || is_postgres(name))
		g_array_append_val(b->fresh, fresh);
}

void backends_note(struct backends *b, uint32_t pid)
{
	if (!g_hash_table_add(b->noted, GUINT_TO_POINTER(pid)))
		return;
	g_autofree char *name = opener_process_text(b->proc_dir, pid, "comm");

	if (name)
		note(b, pid, g_strchomp(name), true);
}

void backends_note_named(struct backends *b, uint32_t pid, const char *name)
{
	note(b, pid, name, false);
}

/* For a session of PostgreSQL, or another one of its processes, by their title: their parent, which has all of them. */
static uint32_t server_of(const struct backends *b, const struct server *fresh)
{
	g_autofree char *title = opener_process_text(b->proc_dir, fresh->pid, "cmdline");
	g_autofree char *status = opener_process_text(b->proc_dir, fresh->pid, "status");

	return title && status && g_str_has_prefix(title, "postgres: ") ? (uint32_t)proc_status_number(status, "PPid") : fresh->pid;
}

static void find_server(struct backends *b, const struct server *fresh)
{
	struct server s = *fresh;

	s.pid = server_of(b, fresh);
	EACH_ROW(i, struct server, x, b->servers) {
		if (x->pid != s.pid)
			continue;
		x->is_waited |= s.is_waited;
		return;
	}
	if (s.pid > 1 && b->servers->len < SERVERS_MAX)
		g_array_append_val(b->servers, s);
}

char *backend_activity(const char *proc_dir, uint32_t pid)
{
	g_autofree char *title = opener_process_text(proc_dir, pid, "cmdline");

	if (!title || !g_str_has_prefix(title, "postgres: "))
		return NULL;
	const size_t len = strlen(title) - (g_str_has_suffix(title, " (aborted)") ? strlen(" (aborted)") : 0);
	const char *at = g_strrstr_len(title, (gssize)len, ")") ?: g_strrstr_len(title, (gssize)len, "]");

	return at && at[1] == ' ' ? g_strstrip(g_strdup(at + 2)) : NULL;
}

static struct backend *row_of(struct backends *b, uint32_t server, uint32_t pid)
{
	const struct backend fresh = { .pid = pid, .server = server };
	struct backend *row = FIRST_ROW(struct backend, x, b->rows, x->pid == pid, x, NULL);

	if (row)
		return row;
	g_array_append_val(b->rows, fresh);
	return &g_array_index(b->rows, struct backend, b->rows->len - 1);
}

/* The number of the system call that it is blocked in; -1: none, or unknown. */
static long blocked_call(const struct backends *b, uint32_t pid)
{
	g_autofree char *call = opener_process_text(b->proc_dir, pid, "syscall");

	return call && g_ascii_isdigit(*call) ? strtol(call, NULL, 10) : -1;
}

/* At a statement: does it compute, read, or flush? Another one that sleeps waits for something else. */
static void note_active(const struct backends *b, struct server *s, uint32_t pid)
{
	const char state = process_state(b->proc_dir, pid);
	const long call = state == 'D' || state == 'S' ? blocked_call(b, pid) : -1;
	const bool is_sync = call == SYS_fsync || call == SYS_fdatasync;

	s->active++;
	s->runs += state == 'R';
	s->reads += state == 'D' && !is_sync;
	s->syncs += is_sync;
	s->flushes += is_sync;
	s->sleeps += call == SYS_futex;
}

static void look_at(struct backends *b, struct server *s, uint32_t pid, uint64_t bit)
{
	g_autofree char *activity = backend_activity(b->proc_dir, pid);

	if (activity && g_str_has_suffix(activity, " waiting")) {
		row_of(b, s->pid, pid)->waits |= bit;
		s->waits |= bit;
	} else if (activity && g_str_has_prefix(activity, "idle in transaction")) {
		row_of(b, s->pid, pid)->rests |= bit;
	} else if (activity && *activity && !g_str_has_prefix(activity, "idle")) {
		note_active(b, s, pid);
	}
}

struct threads {
	const struct backends *b;
	uint32_t pid, cnt;
	bool runs, reads;
};

static bool take_thread(const struct opener_entry *e, void *data)
{
	struct threads *t = data;
	g_autofree char *name = g_strdup_printf("task/%s/stat", e->name);
	g_autofree char *stat = opener_process_text(t->b->proc_dir, t->pid, name);
	const char *end = stat ? strrchr(stat, ')') : NULL;	/* a name may have any bytes */
	const char state = end && end[1] == ' ' ? end[2] : 0;

	t->runs |= state == 'R';
	t->reads |= state == 'D';
	return ++t->cnt < THREADS_MAX && !t->runs;
}

static void look_at_threads(const struct backends *b, struct server *s)
{
	g_autofree char *path = g_strdup_printf("%s/%u/task", b->proc_dir, s->pid);
	struct threads t = { .b = b, .pid = s->pid };

	opener_list(path, false, take_thread, &t);
	s->looks += t.cnt > 0;
	s->ran += t.runs;
	s->read += t.reads && !t.runs;
}

static void look_at_sessions(struct backends *b, struct server *s)
{
	g_autoptr(GArray) children = children_of(b->proc_dir, s->pid);

	s->syncs = s->sleeps = 0;
	for (guint k = 0; k < MIN(children->len, BACKENDS_MAX); k++)
		look_at(b, s, g_array_index(children, uint32_t, k), UINT64_C(1) << b->looks);
	/* PostgreSQL's XLogFlush(): one flushes for all that wait for its lock */
	s->flushes += s->syncs ? s->sleeps : 0;
}

bool backends_look(struct backends *b)
{
	EACH_ROW_OF(i, const struct server, fresh, b->fresh)
		find_server(b, fresh);
	g_array_set_size(b->fresh, 0);
	if (!b->servers->len || b->looks >= LOOKS_MAX || !pace_is_due(&b->pace))
		return false;
	EACH_ROW_OF(i, struct server, s, b->servers) {
		if (s->is_threaded)
			look_at_threads(b, s);
		else
			look_at_sessions(b, s);
	}
	b->looks++;
	return true;
}

/* The other end of a session's connection, on this machine; 0: unknown. */
static uint64_t client_inode(const struct client_search *s, uint32_t pid)
{
	g_autoptr(GHashTable) own = pool_sockets_new(s->proc_dir, pid);
	const GArray *tcp = own ? net_tables_of(s->nets, pid) : NULL, *locals = own ? net_tables_unix(s->nets) : NULL;

	EACH_ROW_OF(i, const struct net_socket, x, tcp) {
		if (!x->is_tcp || x->state != TCP_ESTABLISHED || !g_hash_table_contains(own, &x->inode))
			continue;
		const struct net_socket *there = net_table_peer(tcp, true, &x->local, &x->remote);

		return there ? there->inode : net_homes_peer(s->homes, true, &x->local, &x->remote);
	}
	EACH_ROW_OF(i, const struct unix_socket, x, locals)
		if (x->peer && g_hash_table_contains(own, &x->inode))
			return x->peer;
	return 0;
}

/* A program whose sessions were idle in a transaction. */
struct holder {
	uint32_t pid;
	char *name;
	uint64_t rests;
};

static void add_holder(GArray *holders, const struct client_search *s, const struct backend *row, uint64_t rests)
{
	const uint64_t inode = client_inode(s, row->pid);
	unsigned others;
	const uint32_t pid = inode ? fd_owners_find(s->owners, inode, FD_READS | FD_WRITES, 0, &others) : 0;
	char *name = pid ? process_called(s->proc_dir, pid) : NULL;
	struct holder *known = FIRST_ROW(struct holder, x, holders, name && strcmp(x->name, name) == 0, x, NULL);
	const struct holder fresh = { .pid = pid, .name = name, .rests = rests };

	if (known)
		known->rests |= rests;
	if (!known && name)
		g_array_append_val(holders, fresh);
	else
		g_free(name);
}

static void clear_holder(void *data)
{
	g_free(((struct holder *)data)->name);
}

static unsigned bits(uint64_t mask)
{
	return (unsigned)__builtin_popcountll(mask);
}

#define RESTS(h) bits((h)->rests)
ORDER(by_rests, struct holder, ORDER_HIGH_OF(RESTS) ORDER_LOW(pid))

static GArray *holders_new(const struct backends *b, const struct server *server, const struct client_search *s)
{
	GArray *holders = g_array_new(FALSE, FALSE, sizeof(struct holder));
	unsigned left = CLIENTS_MAX;

	g_array_set_clear_func(holders, clear_holder);
	EACH_ROW_WHILE(i, const struct backend, row, b->rows, left) {
		const uint64_t rests = row->rests & server->waits;

		if (row->server != server->pid || !rests)
			continue;
		add_holder(holders, s, row, rests);
		left--;
	}
	g_array_sort(holders, by_rests);
	return holders;
}

static void put_server(const struct backends *b, const struct server *server, const struct client_search *s,
		       struct profile *p)
{
	g_autoptr(GArray) holders = holders_new(b, server, s);
	const struct holder *most = holders->len ? &g_array_index(holders, struct holder, 0) : NULL;
	unsigned left = BLOCKED_MAX;

	EACH_ROW_WHILE(i, const struct backend, row, b->rows, left) {
		if (row->server != server->pid || !row->waits)
			continue;
		g_autofree char *text = g_strdup_printf(LIMIT_BLOCKED_FORMAT "%s", bits(server->waits), b->looks,
							most ? bits(most->rests) : 0, most ? most->pid : 0, most ? most->name : "");

		profile_add_limit(p, LIMIT_BLOCKED, row->pid, server->pid, text);
		left--;
	}
}

static void put_statements(const struct server *s, struct profile *p)
{
	g_autofree char *text = s->is_threaded ?
		g_strdup_printf(LIMIT_THREADS_DO_FORMAT, s->looks, s->ran, s->read) :
		g_strdup_printf(LIMIT_STATEMENTS_FORMAT, s->active, s->runs, s->reads, s->flushes);

	if ((s->is_threaded ? s->looks : s->active) >= STATEMENTS_MIN)
		profile_add_limit(p, s->is_threaded ? LIMIT_THREADS_DO : LIMIT_STATEMENTS, s->pid, 0, text);
}

/* One that is only there says nothing beside one that is waited for. */
static bool counts(const struct backends *b, const struct server *s)
{
	return s->is_waited ||
	       !ANY_ROW(const struct server, x, b->servers, x->is_waited && x->is_threaded == s->is_threaded);
}

void backends_put(struct backends *b, struct profile *p, const struct client_search *s)
{
	bool is_read = false;

	EACH_ROW_OF(i, const struct server, server, b->servers) {
		if (!counts(b, server))
			continue;
		if (server->waits && !is_read)
			is_read = fd_owners_read(s->owners, true);
		if (server->waits)
			put_server(b, server, s, p);
		put_statements(server, p);
	}
	EACH_ROW_OF(k, struct server, server, b->servers)
		*server = (struct server){ .pid = server->pid, .is_threaded = server->is_threaded, .is_waited = server->is_waited };
	g_array_set_size(b->rows, 0);
	b->looks = 0;
	b->pace = (struct pace){ 0 };
}
