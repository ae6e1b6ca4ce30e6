/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_TARGETS_PART_H
#define FOLD_TARGETS_PART_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/target_abi.h"
#include "base/clock.h"
#include "base/proc/net_table.h"
#include "profile/profile.h"

/*
 * Which network namespace of this machine has which address. The other end of a connection between containers is in
 * another namespace's tables. Reading these is expensive, so only the namespace that has the address is read.
 */
struct net_homes;

/* Borrows the tables. */
struct net_homes *net_homes_new(const char *proc_dir, struct net_tables *tables);
void net_homes_free(struct net_homes *h);	/* NULL is fine */

/* From now on the namespace of this process is known. */
void net_homes_note(struct net_homes *h, uint32_t pid);
/* struct net_end without ports: the addresses of the process's namespace except loopback. NULL: unknown. */
const GArray *net_homes_addresses(struct net_homes *h, uint32_t pid);
/* Forgets which processes were noted: noting them again finds moved processes and new addresses. */
void net_homes_forget(struct net_homes *h);

/* The window ends: for NET_HOMES_END_US there are no pauses. */
#define NET_HOMES_END_US 300000
void net_homes_end(struct net_homes *h);

/*
 * The inode of the socket whose ends are the reverse of these, and that of the listener there. 0: no known namespace
 * has it, or several do, as for duplicate addresses.
 */
uint64_t net_homes_peer(struct net_homes *h, bool is_tcp, const struct net_end *local, const struct net_end *remote);
uint64_t net_homes_listener(struct net_homes *h, const struct net_end *there);

/*
 * How often servers that have all data in memory were seen to rest, by looks now and then: whoever waits for one that
 * rests has asked for something that is not there yet (BRPOP), not for work that takes long. And how often one command
 * kept others waiting, and whose.
 */
struct server_rests;

struct server_rests *server_rests_new(const char *proc_dir);
void server_rests_free(struct server_rests *r);	/* NULL is fine */
/*
 * Looks at all of this machine, by name; the first time they are sought in /proc, and those that b is for are told to it
 * (NULL: to nobody).
 */
struct backends;
void server_rests_look(struct server_rests *r, struct backends *b);
/* Adds LIMIT_RESTS for each, and begins anew. */
void server_rests_put(struct server_rests *r, struct profile *p);

/*
 * When to look from outside in a window: at each call at first, later each eighth of the time so far. Zero: a new window
 * begins with the first look.
 */
struct pace {
	uint64_t start_ns, next_ns;
};
#define PACE_SHARE 8

static inline bool pace_is_due(struct pace *p)
{
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (now_ns < p->next_ns)
		return false;
	p->start_ns = p->start_ns ?: now_ns;
	p->next_ns = now_ns + (now_ns - p->start_ns) / PACE_SHARE;
	return true;
}

/* Sessions of PostgreSQL that wait for locks, by looks now and then, and whose is idle in a transaction meanwhile. */
#define BLOCKED_MAX 16	/* sessions that are told */

struct backends;
struct backends *backends_new(const char *proc_dir);
void backends_free(struct backends *b);	/* NULL is fine */
/* A process with clients. If it is a session its server is looked at from then on. */
void backends_note(struct backends *b, uint32_t pid);
/* The same of a process of that name, of which it is only known that it is on this machine. */
void backends_note_named(struct backends *b, uint32_t pid, const char *name);
bool backends_look(struct backends *b);	/* false: it is not time yet */

/* What finds a session's client; all are borrowed. */
struct client_search {
	const char *proc_dir;
	struct net_tables *nets;
	struct net_homes *homes;
	struct fd_owners *owners;
};
/* Adds LIMIT_BLOCKED for each that waited, and begins anew. */
void backends_put(struct backends *b, struct profile *p, const struct client_search *s);

/*
 * Processes at the other ends of pipes, and children that an event loop asks over their standard input: what they do, by
 * looks now and then, and whom they wait for themselves.
 */
struct ends;
struct ends *ends_new(const char *proc_dir);
void ends_free(struct ends *e);	/* NULL is fine */
void ends_note(struct ends *e, uint32_t pid);
void ends_note_helpers(struct ends *e, struct net_tables *nets, uint32_t pid);	/* the loop's process */
void ends_look(struct ends *e, const struct client_search *s);
/* Adds LIMIT_END for each, and begins anew. */
void ends_put(struct ends *e, struct profile *p, const struct client_search *s);

/* "SELECT waiting", from the title "postgres: app shop 127.0.0.1(40202) SELECT waiting", or "[local]". NULL: none. */
char *backend_activity(const char *proc_dir, uint32_t pid);

/*
 * TCP connections of processes as rows of a window. Connections are kept apart by their ephemeral port, which matters
 * where several processes serve one address. A process that connects anew for each request would have thousands, so
 * for each process and served address CONNECTIONS_APART get their own row, and the others share one.
 */
#define CONNECTIONS_APART 8

struct connections;

/* Both are borrowed. */
struct connections *connections_new(struct profile *profile, struct net_homes *homes);
void connections_free(struct connections *c);	/* NULL is fine */

/* side: enum connection_side of the process. */
void connections_add(struct connections *c, uint32_t pid, uint8_t side, const struct net_end *local,
		     const struct net_end *remote);
/* The process accepts connections there. For the wildcard address: at all addresses of its network namespace. */
void connections_add_listener(struct connections *c, uint32_t pid, const struct net_end *local);
void connections_next_window(struct connections *c);

/* What /proc shows of a descriptor or a mapping. Only files of /proc are opened, because a file system may hang. */

#define FD_INFO_MAX 65536	/* limit of bytes of a /proc/PID/fdinfo/N */

/*
 * The path, "socket:[123]", or "anon_inode:[eventpoll]". NULL: the process or the file is gone, or the descriptor is
 * another file by now.
 */
char *fd_link_text(const char *proc_dir, uint32_t pid, int fd, uint64_t ino);

/* Details of a descriptor with that text: "2 sockets, 1 eventfd", "every 20 ms", ... NULL: none. */
char *fd_link_detail(const char *proc_dir, uint32_t pid, int fd, const char *text);

/* The path of a file with that inode that the process has open. NULL: none of its first few hundred. */
char *fd_link_of_inode(const char *proc_dir, uint32_t pid, uint64_t ino);

/* The path of the mapping at the address, "[heap]" and so on. NULL: none. ino 0: any file. */
char *fd_link_mapping(const char *proc_dir, uint32_t pid, uint64_t addr, uint64_t ino);

/* Names of what threads waited for. Bytes are as recorded, the renderer escapes them. The caller frees results. */

/* enum object_kind of a descriptor; link: its link in /proc, or NULL. */
uint8_t target_kind(const struct offcpu_rec_target *rec, const char *link);

/* The link, or the name from the kernel if it is NULL. */
char *target_path(const struct offcpu_rec_target *rec, const char *link);

/* The operation, as rules name it: "connect", "send", "uring READ"; or "". */
const char *target_operation(const struct offcpu_rec_target *rec);

/*
 * "10.0.0.5:5432" for the connecting side, ":5432 from 10.0.0.9" for the other one, "*:80 listening", "/run/x.sock".
 * Ephemeral ports are omitted.
 */
char *target_socket(const struct offcpu_rec_target *rec, bool is_server);

const char *target_protocol(const struct offcpu_rec_target *rec);	/* "tcp", "unix"; "" */

/* " (postgres)", " from writer and 2 more". */
void target_append_peer(GString *s, const struct offcpu_rec_target *rec, uint8_t kind, const char *peer,
			unsigned others);

#define UPSTREAM_WATCHED_MAX 1024
#define UPSTREAM_SOCKETS_MAX 64

/* A TCP socket watched by an epoll set; remote.port 0: it listens. */
struct upstream_socket {
	struct net_end local, remote;
	bool is_server;	/* the other end made the connection */
};

struct upstream {
	char *address;	/* "127.0.0.1:8081", "/run/app.sock"; free with g_free() */
	unsigned cnt;	/* connections to that address */
	uint64_t inode;	/* of the socket there, or of the listener; 0: not on this machine */
	uint64_t listener;	/* likewise of the listener there, as connections are short */
	bool is_full;		/* a connection there has no room for more: the other end does not read what was sent */
};

/*
 * The upstream that an event loop has asked: the peer of most of the TCP or Unix connections that the epoll set
 * watches and this process made, or of one that is full. False: none. sockets: struct upstream_socket; up to
 * UPSTREAM_SOCKETS_MAX watched sockets are added.
 */
bool upstream_find(struct net_tables *tables, struct net_homes *homes, const char *proc_dir, uint32_t pid, int epoll_fd,
		   struct upstream *ret, GArray *sockets);

/* The loop waits for room at a descriptor of the set. */
bool upstream_wants_room(const char *proc_dir, uint32_t pid, int epoll_fd);

/* The listening socket at "127.0.0.1:8081". 0: not on this machine, or not an address. */
uint64_t upstream_listener(struct net_tables *tables, struct net_homes *homes, uint32_t pid, const char *there);
/* The same of a Unix socket's name. 0: not in our own network namespace. */
uint64_t upstream_unix_listener(struct net_tables *tables, const char *name);

/*
 * Which processes have which socket or pipe open, since the other end is known only by its inode. This reads all of
 * /proc. So it takes at most a hundredth of a CPU, FD_OWNERS_READ_MAX_US per reading, and FD_OWNERS_MAX descriptors.
 */

#define FD_OWNERS_MAX 400000
#define FD_OWNERS_READ_MAX_US 300000
/* Pause between readings, in durations of the last one; longer if readings find nothing that is needed. */
#define FD_OWNERS_PAUSE 100
#define FD_OWNERS_PAUSE_MAX 1600

enum fd_access { FD_READS = 1, FD_WRITES = 2 };	/* as FMODE_READ, FMODE_WRITE */

struct fd_owners *fd_owners_new(const char *proc_dir);
void fd_owners_free(struct fd_owners *o);	/* NULL is fine */

/* Reads /proc, unless the last reading was too recent; `now`: even then. True: it was read. */
bool fd_owners_read(struct fd_owners *o, bool now);
/* Reports whether the last reading found something needed, which sets the next pause. */
void fd_owners_was_of_use(struct fd_owners *o, bool was);

/*
 * A process that has the inode open for one of `access` (enum fd_access), and the number of others. 0: none known. If
 * `waiter` itself has it and has several threads, it is chosen, as it talks to itself and the others inherited its
 * descriptors. A process with one thread waits for another one: it has only not closed that end. So has one that keeps
 * both ends of a pipe, as a supervisor: it is chosen, and counted, if no other has this end alone.
 */
uint32_t fd_owners_find(const struct fd_owners *o, uint64_t ino, unsigned access, uint32_t waiter,
			unsigned *ret_others);

/* The name of a process at the last reading. NULL: it is gone. */
char *fd_owners_name(const struct fd_owners *o, uint32_t pid);

#endif
