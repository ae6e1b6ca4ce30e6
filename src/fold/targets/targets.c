/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/targets/targets.h"

#include <inttypes.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/each.h"
#include "base/find.h"
#include "base/opener/opener.h"
#include "base/proc/mount_point.h"
#include "fold/crossed.h"
#include "fold/fold.h"
#include "fold/parts.h"
#include "fold/targets/part.h"
#include "fold/targets/sock_peers.h"

/* How waits for TCP sockets were spent: features/network/tcp.bpf.h is the kernel's half. */
struct tcp_wait tcp_wait_of_sum(const struct tcp_sum *sum, uint32_t direction, uint32_t object, bool is_lossy)
{
	/* the peer's program may delay the acknowledgement, but not during the connection's setup */
	const bool is_path = direction != TCP_RECEIVE || sum->is_young;
	/* with losses, the peer's answer may have been lost, too, and sent again as late */
	const uint64_t doubtful_ns = is_lossy && direction == TCP_RECEIVE ? MIN(sum->peer_long_ns, sum->peer_ns) : 0;

	return (struct tcp_wait){
		.object = object,
		.direction = (uint8_t)direction,
		.count = (sum->count_q8 + 128) / 256,
		.blocked_ns = sum->blocked_ns, .peer_ns = sum->peer_ns - doubtful_ns,
		.network_ns = sum->resent_ns + (is_path ? sum->path_ns : 0), .silent_ns = sum->silent_ns,
		.unclear_ns = sum->hidden_ns + doubtful_ns + (is_path ? 0 : sum->path_ns),
		.resent = sum->resent, .srtt_us = sum->srtt_us, .min_rtt_us = sum->min_rtt_us,
	};
}

static void note_ends(struct fold *f, const struct fold_tcp_sum *one)
{
	const struct net_end local = LOCAL_END(&one->sum), remote = REMOTE_END(&one->sum);

	if (remote.port && (one->sum.family == AF_INET || one->sum.family == AF_INET6))
		fold_targets_was_ready(f->targets, one->key.object, &local, &remote);
}

void fold_tcp_sums(struct fold *f, const GArray *sums)
{
	g_autoptr(GHashTable) lossy = g_hash_table_new(NULL, NULL);	/* object index + 1 */

	EACH_ROW(i, const struct fold_tcp_sum, one, sums)
		if (one->sum.resent)
			g_hash_table_add(lossy, GUINT_TO_POINTER(fold_targets_object(f->targets, one->key.object)));
	EACH_ROW(i, const struct fold_tcp_sum, one, sums) {
		uint32_t object = fold_targets_object(f->targets, one->key.object);

		if (!object || one->key.direction >= TCP_DIRECTION_COUNT || !one->sum.count_q8)
			continue;
		const struct tcp_wait row = tcp_wait_of_sum(&one->sum, one->key.direction, object - 1,
							    g_hash_table_contains(lossy, GUINT_TO_POINTER(object)));

		profile_add_tcp_wait(f->profile, &row);
		note_ends(f, one);
	}
}

struct target {
	struct crossed_row row;
	struct offcpu_rec_target rec;
	uint8_t kind;		/* enum object_kind */
	bool is_sought;		/* the other end is not known yet, but can be */
	bool is_server;		/* socket: the other end made the connection */
	bool is_full;		/* epoll set: the upstream does not read what was sent */
	uint64_t peer_ino;	/* inode of the other end; 0: unknown */
	uint32_t peer;		/* process at the other end, or the child; 0: unknown */
	unsigned others;	/* number of further processes at the other end */
	char *base;		/* the name without the other end */
	char *peer_name;
	char *detail;
	bool is_complete;	/* `base` is final */
	GArray *watched;	/* struct upstream_socket of an epoll set; NULL: not looked at */
	bool is_told;		/* its connections were added to this window */
	uint32_t object;	/* index + 1 once in the profile */
};

struct fold_targets {
	struct profile *profile;
	char *proc_dir;
	struct crossed *targets;	/* struct target */
	GPtrArray *sought;	/* struct target whose other end is sought */
	struct fd_owners *owners;
	struct sock_peers *peers;
	struct net_tables *nets;
	struct net_homes *homes;
	struct connections *connections;
	struct server_rests *rests;
	struct backends *backends;
	struct ends *ends;
	bool has_read_last;
	bool has_sockets;	/* or epoll sets */
	bool has_sets;	/* whom these lead to is known at the window's end only */
};

static void target_free(void *data)
{
	struct target *t = data;

	g_free(t->base);
	g_free(t->peer_name);
	g_free(t->detail);
	g_clear_pointer(&t->watched, g_array_unref);
	g_free(t);
}

struct fold_targets *fold_targets_new(struct profile *profile, const char *proc_dir)
{
	struct fold_targets *t = g_new0(struct fold_targets, 1);

	t->profile = profile;
	t->proc_dir = g_strdup(proc_dir);
	t->targets = crossed_new(target_free);
	t->sought = g_ptr_array_new();
	t->nets = net_tables_new(proc_dir);
	t->homes = net_homes_new(proc_dir, t->nets);
	t->connections = connections_new(profile, t->homes);
	t->rests = server_rests_new(proc_dir);
	t->backends = backends_new(proc_dir);
	t->ends = ends_new(proc_dir);
	return t;
}

FREES(fold_targets_free, struct fold_targets, t, crossed_free(t->targets); g_ptr_array_unref(t->sought);
      fd_owners_free(t->owners); sock_peers_free(t->peers); connections_free(t->connections); net_homes_free(t->homes);
      server_rests_free(t->rests); backends_free(t->backends); ends_free(t->ends); net_tables_free(t->nets);
      g_free(t->proc_dir))

/*
 * " -> 127.0.0.1:8081 (python3)": the upstream of the loop. A connection may exist only while an answer is due, so
 * this is tried twice.
 */
static void find_upstream(struct fold_targets *all, struct target *t)
{
	struct upstream up;
	const char *cut = strstr(t->base, OBJECT_UPSTREAM);

	/* a full connection may have room again, or another one none */
	if (t->peer && !t->is_full && !upstream_wants_room(all->proc_dir, t->rec.pid, t->rec.fd))
		return;
	t->is_full = false;
	if (!t->watched)
		t->watched = g_array_new(FALSE, FALSE, sizeof(struct upstream_socket));
	g_array_set_size(t->watched, 0);
	if (!upstream_find(all->nets, all->homes, all->proc_dir, t->rec.pid, t->rec.fd, &up, t->watched)) {
		if (!cut || t->peer)
			return;
		/* the connection is closed again, but the listener may still be found */
		up.address = g_strdup(cut + strlen(OBJECT_UPSTREAM));
		up.listener = upstream_listener(all->nets, all->homes, t->rec.pid, up.address);
	}
	g_autofree char *address = up.address, *before = t->base, *name = NULL;

	t->is_full = up.is_full;
	t->peer = up.inode ? fd_owners_find(all->owners, up.inode, FD_READS | FD_WRITES, t->rec.pid, &t->others) : 0;
	if (!t->peer && up.listener)
		t->peer = fd_owners_find(all->owners, up.listener, FD_READS | FD_WRITES, t->rec.pid, &t->others);
	name = t->peer ? fd_owners_name(all->owners, t->peer) : NULL;
	t->base = g_strdup_printf("%.*s" OBJECT_UPSTREAM "%s%s%s%s", cut ? (int)(cut - before) : (int)strlen(before),
				  before, address, name ? " (" : "", name ? name : "", name ? ")" : "");
}

/* The mount point of the file system whose root the name "/" stands for, as the process has it mounted. */
static char *root_path(const struct fold_targets *all, const struct offcpu_rec_target *rec)
{
	g_autofree char *mounts = g_strdup_printf("%s/%" PRIu32 "/mountinfo", all->proc_dir, rec->pid);
	size_t bytes;
	g_autofree char *text = opener_text(mounts, OPENER_TEXT_MAX, &bytes);
	g_autoptr(GString) path = g_string_new(NULL);

	if (!mount_point_prepend(path, text, rec->dev)) {
		g_string_append(path, "root of device ");
		device_append(path, rec->dev);
	}
	return g_string_free(g_steal_pointer(&path), FALSE);
}

/* The name from the inode's own process, which has the descriptor. */
static void name_descriptor(struct fold_targets *all, struct target *t, const char *link)
{
	const struct offcpu_rec_target *rec = &t->rec;

	t->kind = target_kind(rec, link);
	if (link)
		t->detail = fd_link_detail(all->proc_dir, rec->pid, rec->fd, link);
	if (t->kind >= OBJECT_EVENTFD && t->kind <= OBJECT_EPOLL) {
		g_autofree char *comm = fd_owners_name(all->owners, rec->pid);

		/* what it watches, or its interval, says more than the descriptor's number */
		t->base = t->detail ? g_strdup_printf("%s (fd %d of %s)", t->detail, rec->fd, comm ? comm : "?") :
				      g_strdup_printf("fd %d of %s", rec->fd, comm ? comm : "?");
		if (t->kind == OBJECT_EPOLL) {
			all->has_sockets = all->has_sets = true;
			find_upstream(all, t);
		}
	} else if (!link && S_ISDIR(rec->mode) && rec->text_len == 1 && rec->text[0] == '/') {
		t->base = root_path(all, rec);
	} else {
		t->base = target_path(rec, link);
	}
}

static void find_peer(struct fold_targets *all, struct target *t)
{
	unsigned access = FD_READS | FD_WRITES;

	if (t->kind == OBJECT_PIPE)
		access = t->rec.f_mode == FD_READS ? FD_WRITES : FD_READS;
	/* what is not accepted yet has no inode, and is in the listener's queue */
	const uint64_t ino = t->peer_ino ?: upstream_unix_listener(all->nets, t->base);

	t->peer = ino ? fd_owners_find(all->owners, ino, access, t->rec.pid, &t->others) : 0;
	if (!t->peer)
		return;
	t->peer_name = fd_owners_name(all->owners, t->peer);
	backends_note(all->backends, t->peer);
	if (t->kind == OBJECT_PIPE && t->peer != t->rec.pid)
		ends_note(all->ends, t->peer);
	t->is_sought = false;
}

static void seek_peer(struct fold_targets *all, struct target *t)
{
	if (!t->peer_ino && !t->rec.is_peers_text)
		return;
	t->is_sought = true;
	find_peer(all, t);	/* the last reading may have it */
	if (t->is_sought)
		g_ptr_array_add(all->sought, t);
}

/* In the process's network namespace, or in another one. */
static uint64_t inet_peer(struct fold_targets *all, const struct offcpu_rec_target *rec)
{
	const struct net_end local = LOCAL_END(rec), remote = REMOTE_END(rec);
	uint64_t inode = sock_peers_inode(all->peers, rec);

	return inode || !rec->remote_port ? inode :
					    net_homes_peer(all->homes, rec->sock_type == SOCK_STREAM, &local, &remote);
}

static void name_socket(struct fold_targets *all, struct target *t)
{
	const struct offcpu_rec_target *rec = &t->rec;

	t->kind = OBJECT_SOCKET;
	all->has_sockets = true;
	if (rec->family == AF_UNIX) {
		t->peer_ino = rec->peer_ino;
		t->is_server = !rec->is_peers_text && rec->text_len;
	} else if (rec->family == AF_INET || rec->family == AF_INET6) {
		if (!all->peers)
			all->peers = sock_peers_new(all->proc_dir, all->nets);
		t->is_server = rec->remote_port && sock_peers_is_server(all->peers, rec);
		t->peer_ino = inet_peer(all, rec);
	}
	if (t->is_server)
		backends_note(all->backends, rec->pid);
	t->base = target_socket(rec, t->is_server);
	t->detail = g_strdup(target_protocol(rec));
	seek_peer(all, t);
}

static void name_file(struct fold_targets *all, struct target *t)
{
	g_autofree char *link = fd_link_text(all->proc_dir, t->rec.pid, t->rec.fd, t->rec.ino);

	if ((t->rec.mode & S_IFMT) == S_IFSOCK) {
		name_socket(all, t);
		return;
	}
	name_descriptor(all, t, link);
	if (t->kind == OBJECT_PIPE) {
		/* a socket with a path is not found through /proc's descriptors */
		t->peer_ino = link && link[0] == '/' ? 0 : t->rec.ino;
		seek_peer(all, t);
	}
}

static void name_fault(struct fold_targets *all, struct target *t)
{
	g_autofree char *path = fd_link_mapping(all->proc_dir, t->rec.pid, t->rec.addr, t->rec.ino);

	t->kind = OBJECT_FAULT;
	t->base = t->rec.ino ? target_path(&t->rec, path) :
			       g_strdup_printf("memory%s%s", path ? " " : "", path ? path : " without a file");
	t->detail = g_strdup("");
}

static void name_child(struct fold_targets *all, struct target *t)
{
	const struct offcpu_rec_target *rec = &t->rec;
	g_autofree char *name = rec->text_len ? g_strndup((const char *)rec->text, OFFCPU_COMM_LEN) : NULL;

	if (!name && rec->child)
		name = fd_owners_name(all->owners, rec->child);
	t->kind = OBJECT_CHILD;
	t->peer = rec->child;
	t->base = name ? g_steal_pointer(&name) : g_strdup(rec->child ? "?" : "any");
	t->detail = rec->fd < 0		 ? g_strdup("") :
		    WIFSIGNALED(rec->fd) ? g_strdup_printf(CHILD_SIGNAL "%d", WTERMSIG(rec->fd)) :
					   g_strdup_printf(CHILD_STATUS "%d", WEXITSTATUS(rec->fd));
}

/* Several descriptors of one call: shows the operation of the first and the number of others. */
static void name_set(struct target *t)
{
	g_autofree char *first = t->base;

	t->kind = OBJECT_POLL;
	t->base = g_strdup_printf("%s and %u more", first, t->rec.fd_cnt - 1);
}

static void find_peers(struct fold_targets *all, bool now)
{
	const guint before = all->sought->len;
	guint kept = 0;

	if (!before || !fd_owners_read(all->owners, now))
		return;
	EACH_POINTER(i, struct target, t, all->sought) {
		find_peer(all, t);
		if (t->is_sought)
			g_ptr_array_index(all->sought, kept++) = t;
	}
	g_ptr_array_set_size(all->sought, (gint)kept);
	fd_owners_was_of_use(all->owners, kept < before);
}

void fold_targets_add(struct fold_targets *all, const struct offcpu_rec_target *rec, size_t size)
{
	struct target *t;

	if (size < sizeof(*rec) || rec->text_len > OFFCPU_TARGET_TEXT) {
		fold_drop_record(all->profile);
		return;
	}
	if (crossed_find(all->targets, rec->id))
		return;
	if (!all->owners)
		all->owners = fd_owners_new(all->proc_dir);
	t = g_new0(struct target, 1);
	t->row.id = rec->id;
	t->rec = *rec;
	crossed_add(all->targets, t);
	net_homes_note(all->homes, rec->pid);
	switch ((enum offcpu_target)rec->what) {
	case OFFCPU_TARGET_FD: name_file(all, t); break;
	case OFFCPU_TARGET_FAULT: name_fault(all, t); break;
	case OFFCPU_TARGET_CHILD: name_child(all, t); break;
	case OFFCPU_TARGET_NOTHING:
		t->kind = OBJECT_NOTHING;
		t->base = g_strdup("no descriptor");
		break;
	default:
		t->kind = OBJECT_AIO;
		t->base = g_strdup("io_getevents");
		break;
	}
	if (t->kind == OBJECT_EPOLL || t->rec.fd_cnt > 1)
		ends_note_helpers(all->ends, all->nets, rec->pid);
	find_peers(all, false);
}

static struct client_search search_of(const struct fold_targets *all)
{
	return (struct client_search){ all->proc_dir, all->nets, all->homes, all->owners };
}

void fold_targets_look(struct fold_targets *all)
{
	if (all->has_sockets)
		server_rests_look(all->rests, all->has_sets ? all->backends : NULL);
	backends_look(all->backends);
	const struct client_search search = search_of(all);

	ends_look(all->ends, &search);
}

guint fold_targets_cnt(const struct fold_targets *all)
{
	return crossed_cnt(all->targets);
}

static void seek_on(void *target, void *data)
{
	struct fold_targets *all = data;
	struct target *t = target;

	if (t->is_sought)
		g_ptr_array_add(all->sought, t);
}

static void leave_profile(void *target, void *unused)
{
	((struct target *)target)->object = 0;
}

void fold_targets_forget(struct fold_targets *all, bool is_profile_empty)
{
	crossed_forget(all->targets);
	net_homes_forget(all->homes);
	g_ptr_array_set_size(all->sought, 0);
	crossed_for_each(all->targets, seek_on, all);
	if (is_profile_empty)
		crossed_for_each(all->targets, leave_profile, NULL);
}

/* Sets the final name. */
static void complete_name(struct target *t)
{
	g_autoptr(GString) name = g_string_new(t->base);

	if (t->peer_name)
		target_append_peer(name, &t->rec, t->kind, t->peer_name, t->others);
	g_free(t->base);
	t->base = g_strdup(name->str);
	if (t->rec.fd_cnt > 1)
		name_set(t);
	t->is_complete = true;
}

static uint32_t intern(struct fold_targets *all, struct target *t)
{
	if (!t->is_complete)
		complete_name(t);

	const struct object o = { .kind = t->kind, .operation = t->is_full ? OBJECT_SENDS : target_operation(&t->rec),
				  .name = t->base, .place = t->detail, .pid = t->peer };

	return profile_object(all->profile, &o) + 1;
}

struct upstream_search {
	struct fold_targets *all;
	bool is_unknown;	/* an upstream's process is unknown */
};

static void find_upstream_of(void *row, void *data)
{
	struct upstream_search *search = data;
	struct target *t = row;

	if (t->kind != OBJECT_EPOLL || t->object)
		return;
	find_upstream(search->all, t);
	search->is_unknown = search->is_unknown || (!t->peer && strstr(t->base, OBJECT_UPSTREAM));
}

static bool find_upstreams_once(struct fold_targets *all)
{
	struct upstream_search search = { .all = all };

	crossed_for_each(all->targets, find_upstream_of, &search);
	return search.is_unknown;
}

/* At the end of the window. is_read: find_peers() has just read /proc. */
static void find_upstreams(struct fold_targets *all, bool is_read)
{
	if (find_upstreams_once(all) && !is_read && fd_owners_read(all->owners, true))
		find_upstreams_once(all);
}

/* At the window's end more namespaces are known. */
static void find_inode(void *row, void *data)
{
	struct fold_targets *all = data;
	struct target *t = row;

	if (t->kind != OBJECT_SOCKET || t->is_complete || t->peer_ino ||
	    (t->rec.family != AF_INET && t->rec.family != AF_INET6))
		return;
	t->peer_ino = inet_peer(all, &t->rec);
	seek_peer(all, t);
}

static void tell_socket(struct fold_targets *all, const struct offcpu_rec_target *rec, bool is_server)
{
	const struct net_end local = LOCAL_END(rec), remote = REMOTE_END(rec);

	if (rec->sock_type != SOCK_STREAM || (rec->family != AF_INET && rec->family != AF_INET6))
		return;
	if (remote.port)
		connections_add(all->connections, rec->pid, is_server ? CONNECTION_SERVER : CONNECTION_CLIENT, &local,
				&remote);
	else if (rec->sock_state == TCP_LISTEN)
		connections_add_listener(all->connections, rec->pid, &local);
}

/* Adds the connections of a socket, or of all sockets that an epoll set watched at the last look. */
static void tell_connections(struct fold_targets *all, struct target *t)
{
	if (t->rec.what == OFFCPU_TARGET_FD && (t->rec.mode & S_IFMT) == S_IFSOCK && !t->is_told)
		tell_socket(all, &t->rec, t->is_server);
	EACH_ROW_WHILE(i, const struct upstream_socket, s, t->watched, !t->is_told) {
		if (s->remote.port)
			connections_add(all->connections, t->rec.pid,
					s->is_server ? CONNECTION_SERVER : CONNECTION_CLIENT, &s->local, &s->remote);
		else
			connections_add_listener(all->connections, t->rec.pid, &s->local);
	}
	t->is_told = true;
}

static void begin_telling(void *target, void *unused)
{
	((struct target *)target)->is_told = false;
}

void fold_targets_next_window(struct fold_targets *all)
{
	connections_next_window(all->connections);
	crossed_for_each(all->targets, begin_telling, NULL);
}

uint32_t fold_targets_object(struct fold_targets *all, uint64_t id)
{
	struct target *t = crossed_find(all->targets, id);

	if (!t)
		return 0;
	if (!all->has_read_last) {
		all->has_read_last = true;
		net_homes_end(all->homes);
		crossed_for_each(all->targets, find_inode, all);
		bool is_read = all->sought->len;

		find_peers(all, true);
		find_upstreams(all, is_read);
		server_rests_put(all->rests, all->profile);
		const struct client_search search = search_of(all);

		backends_put(all->backends, all->profile, &search);
		ends_put(all->ends, all->profile, &search);
	}
	if (!t->object)
		t->object = intern(all, t);
	tell_connections(all, t);
	return t->object;
}

/* For a loop whose upstream is unknown, because the connection is closed whenever it is looked at. */
void fold_targets_was_ready(struct fold_targets *all, uint64_t id, const struct net_end *local,
			    const struct net_end *remote)
{
	struct target *t = crossed_find(all->targets, id);
	g_autofree char *before = NULL, *address = NULL;

	if (!t || t->kind != OBJECT_EPOLL || !t->object || strstr(t->base, OBJECT_UPSTREAM))
		return;
	address = net_end_text(remote);
	before = t->base;
	t->base = g_strconcat(before, OBJECT_UPSTREAM, address, NULL);
	find_upstream(all, t);
	connections_add(all->connections, t->rec.pid, CONNECTION_CLIENT, local, remote);
	profile_name_object(all->profile, t->object - 1, t->base, t->peer);
}
