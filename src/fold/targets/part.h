/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_TARGETS_PART_H
#define FOLD_TARGETS_PART_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/target_abi.h"
#include "base/proc/net_table.h"
#include "profile/profile.h"

/*
 * Which network namespace of this machine has which address: of a connection between two containers the other end is in
 * another namespace's tables.  Those are dear to read, so only where an address leads there.
 */
struct net_homes;

/* Borrows the tables. */
struct net_homes *net_homes_new(const char *proc_dir, struct net_tables *tables);
void net_homes_free(struct net_homes *h);	/* NULL is fine */

/* The namespace of that process is known from now on. */
void net_homes_note(struct net_homes *h, uint32_t pid);
/* struct net_end, without ports: the addresses of that process's namespace but loopback's.  NULL: it is not known. */
const GArray *net_homes_addresses(struct net_homes *h, uint32_t pid);
/* Processes may have moved, and namespaces got addresses: they are looked at again as they are noted. */
void net_homes_forget(struct net_homes *h);

/* The window ends: for NET_HOMES_END_US there are no pauses. */
#define NET_HOMES_END_US 300000
void net_homes_end(struct net_homes *h);

/*
 * Inodes, of the socket with the same two ends the other way round, and of that which listens there.  0: no namespace
 * that is known has it, or several do, as where addresses were given twice.
 */
uint64_t net_homes_peer(struct net_homes *h, bool is_tcp, const struct net_end *local, const struct net_end *remote);
uint64_t net_homes_listener(struct net_homes *h, const struct net_end *there);

/*
 * TCP connections of processes as rows of a window.  A port that the kernel chose tells one connection from another, which
 * matters where several processes serve one address.  A process that connects anew for each request would have thousands.
 * So of each process and address that is served CONNECTIONS_APART are told, and one row for the others.
 */
#define CONNECTIONS_APART 8

struct connections;

/* Both are borrowed. */
struct connections *connections_new(struct profile *profile, struct net_homes *homes);
void connections_free(struct connections *c);	/* NULL is fine */

/* side: enum connection_side, of that process. */
void connections_add(struct connections *c, uint32_t pid, uint8_t side, const struct net_end *local,
		     const struct net_end *remote);
/* It accepts connections there; of no address at all those of its network namespace. */
void connections_add_listener(struct connections *c, uint32_t pid, const struct net_end *local);
void connections_next_window(struct connections *c);

/*
 * What /proc tells of a descriptor and of a mapping.  Nothing is opened but files of /proc itself: a file system may
 * hang.
 */

#define FD_INFO_MAX 65536	/* bytes read of a /proc/PID/fdinfo/N */

/*
 * Its path, "socket:[123]", "anon_inode:[eventpoll]"; NULL: the process or the file is gone, or it is another file by
 * now.
 */
char *fd_link_text(const char *proc_dir, uint32_t pid, int fd, uint64_t ino);

/* Of a descriptor whose text is that; NULL: it says nothing.  "2 sockets, 1 eventfd", "every 20 ms", ... */
char *fd_link_detail(const char *proc_dir, uint32_t pid, int fd, const char *text);

/* The path of the mapping at this address, "[heap]" and so on; NULL: there is none.  ino 0: any. */
char *fd_link_mapping(const char *proc_dir, uint32_t pid, uint64_t addr, uint64_t ino);

/* How what was waited for is called.  Bytes as recorded: the renderer escapes.  Results are the caller's. */

/* enum object_kind of a descriptor; link: as /proc has it, or NULL. */
uint8_t target_kind(const struct offcpu_rec_target *rec, const char *link);

/* link, or what the kernel told where that is NULL. */
char *target_path(const struct offcpu_rec_target *rec, const char *link);

/* What for, as rules have it: "connect", "send", "uring READ"; "". */
const char *target_operation(const struct offcpu_rec_target *rec);

/*
 * "10.0.0.5:5432" of who connects, ":5432 from 10.0.0.9" of the other one, "*:80 listening"; "/run/x.sock".
 * A port that the kernel chose is left out: it tells one connection from another, but says nothing.
 */
char *target_socket(const struct offcpu_rec_target *rec, bool is_server);

const char *target_protocol(const struct offcpu_rec_target *rec);	/* "tcp", "unix"; "" */

/* " (postgres)", " from writer and 2 more". */
void target_append_peer(GString *s, const struct offcpu_rec_target *rec, uint8_t kind, const char *peer,
			unsigned others);

#define UPSTREAM_WATCHED_MAX 1024
#define UPSTREAM_SOCKETS_MAX 64

/* A TCP socket that an epoll set watches; remote.port 0: it listens. */
struct upstream_socket {
	struct net_end local, remote;
	bool is_server;	/* the other end connected to it */
};

struct upstream {
	char *address;	/* "127.0.0.1:8081", "/run/app.sock"; free with g_free() */
	unsigned cnt;	/* connections to there */
	uint64_t inode;	/* of the socket there, or of the one that listens; 0: not on this machine */
	uint64_t listener;	/* who accepts there, as connections are short; 0: not known, or not on this machine */
};

/*
 * Whom an event loop has asked: the far end of most of the TCP or Unix connections that an epoll set watches and that this
 * process made itself.  False: it watches no such connection.
 * sockets: of struct upstream_socket, to which at most UPSTREAM_SOCKETS_MAX of what it watches are added.
 */
bool upstream_find(struct net_tables *tables, struct net_homes *homes, const char *proc_dir, uint32_t pid, int epoll_fd,
		   struct upstream *ret, GArray *sockets);

/* The socket that listens at "127.0.0.1:8081"; 0: not on this machine, or it is no such address. */
uint64_t upstream_listener(struct net_tables *tables, struct net_homes *homes, uint32_t pid, const char *there);

/*
 * Which processes have which socket or pipe open: what is at the other end of one is told by its inode only.  All of
 * /proc is read for that, so seldom that it takes a hundredth of a CPU at most, and never for longer than
 * FD_OWNERS_READ_MAX_US or for more than FD_OWNERS_MAX descriptors.
 */

#define FD_OWNERS_MAX 400000
#define FD_OWNERS_READ_MAX_US 300000
/* Between two readings, in lengths of the last one: longer where readings find none of those that are sought. */
#define FD_OWNERS_PAUSE 100
#define FD_OWNERS_PAUSE_MAX 1600

enum fd_access { FD_READS = 1, FD_WRITES = 2 };	/* FMODE_READ, FMODE_WRITE */

struct fd_owners *fd_owners_new(const char *proc_dir);
void fd_owners_free(struct fd_owners *o);	/* NULL is fine */

/* Reads /proc, unless the last reading is too short a while ago; `now`: even then.  True: it was read. */
bool fd_owners_read(struct fd_owners *o, bool now);
/* The last reading told of somebody who was sought: the next one is worth as much. */
void fd_owners_was_of_use(struct fd_owners *o, bool was);

/*
 * A process with that inode open for one of `access` (enum fd_access), and how many others; 0: none that is known.  If
 * `waiter` itself is one, and has threads that may be who it waits for, it is that: it talks to itself, and the others
 * were forked with its descriptors.  A process of one thread waits for another: it has only not closed that end.
 */
uint32_t fd_owners_find(const struct fd_owners *o, uint64_t ino, unsigned access, uint32_t waiter,
			unsigned *ret_others);

/* The name of a process, as last read from /proc; NULL: it is gone. */
char *fd_owners_name(const struct fd_owners *o, uint32_t pid);

#endif
