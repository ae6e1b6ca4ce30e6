/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/targets/targets.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "analyse/locks.h"
#include "fold/targets/part.h"

/* A /proc of our own: process 70 waits, process 80 is at the other ends. */
struct fixture {
	char *proc;
	struct profile *p;
	struct fold_targets *targets;
	uint64_t next_id;
};

static void write_file(const struct fixture *x, const char *folder, const char *name, const char *text)
{
	g_autofree char *in = g_build_filename(x->proc, folder, NULL), *path = g_build_filename(in, name, NULL);

	g_assert_cmpint(g_mkdir_with_parents(in, 0700), ==, 0);
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void add_fd(const struct fixture *x, unsigned pid, int fd, const char *link, const char *info)
{
	g_autofree char *folder = g_strdup_printf("%u/fd", pid), *number = g_strdup_printf("%d", fd);
	g_autofree char *in = g_build_filename(x->proc, folder, NULL), *path = g_build_filename(in, number, NULL);
	g_autofree char *info_folder = g_strdup_printf("%u/fdinfo", pid);

	g_assert_cmpint(g_mkdir_with_parents(in, 0700), ==, 0);
	g_assert_cmpint(symlink(link, path), ==, 0);
	write_file(x, info_folder, number, info);
}

/* An epoll set's line for one descriptor, as of Linux 4.13. */
#define WATCHES "tfd: %8d events: %8x data: %16x  pos:0 ino:%" PRIx64 " sdev:8\n"

static void add_set(const struct fixture *x, int fd, int first, unsigned events, const uint64_t *inodes)
{
	g_autoptr(GString) info = g_string_new("ino:\t51\n");

	for (int at = first; *inodes; at++, inodes++)
		g_string_append_printf(info, WATCHES, at, events, at, *inodes);
	add_fd(x, 70, fd, "anon_inode:[eventpoll]", info->str);
}

static void set_up(struct fixture *x, gconstpointer data)
{
	x->proc = g_dir_make_tmp("offcpu-targets-XXXXXX", NULL);
	x->p = profile_new();
	x->next_id = 1;
	write_file(x, "70", "comm", "waiter\n");
	write_file(x, "80", "comm", "other; end\n");
	x->targets = fold_targets_new(x->p, x->proc);
}

static void remove_all(const char *path)
{
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *inner = g_build_filename(path, name, NULL);

		if (g_file_test(inner, G_FILE_TEST_IS_DIR) && !g_file_test(inner, G_FILE_TEST_IS_SYMLINK))
			remove_all(inner);
		else
			g_unlink(inner);
	}
	g_rmdir(path);
}

static void tear_down(struct fixture *x, gconstpointer data)
{
	fold_targets_free(x->targets);
	profile_free(x->p);
	remove_all(x->proc);
	g_free(x->proc);
}

static struct offcpu_rec_target record_of(struct fixture *x, int fd, uint32_t mode, uint64_t ino)
{
	return (struct offcpu_rec_target){
		.type = OFFCPU_REC_TARGET, .what = OFFCPU_TARGET_FD, .id = x->next_id++, .pid = 70, .fd = fd, .fd_cnt = 1,
		.mode = mode, .f_mode = 1, .ino = ino,
	};
}

static const struct object *object_of(struct fixture *x, const struct offcpu_rec_target *rec)
{
	fold_targets_add(x->targets, rec, sizeof(*rec));
	uint32_t object = fold_targets_object(x->targets, rec->id);

	g_assert_cmpuint(object, >, 0);
	return profile_get_object(x->p, object - 1);
}

static void check(const struct object *o, enum object_kind kind, const char *name, uint32_t pid)
{
	g_assert_cmpstr(object_kind_text(o->kind), ==, object_kind_text(kind));
	g_assert_cmpstr(o->name, ==, name);
	g_assert_cmpuint(o->pid, ==, pid);
}

static void test_file(struct fixture *x, gconstpointer data)
{
	struct offcpu_rec_target rec = record_of(x, 5, S_IFREG, 99);

	add_fd(x, 70, 5, "/srv/log;file", "pos:\t0\nino:\t99\n");
	check(object_of(x, &rec), OBJECT_FILE, "/srv/log;file", 0);
	/* another file has the number by now: only what the kernel told is believed */
	rec = record_of(x, 5, S_IFREG, 98);
	memcpy(rec.text, "gone", 4);
	rec.text_len = 4;
	check(object_of(x, &rec), OBJECT_FILE, ".../gone", 0);
	/* the process is gone, and the kernel told nothing */
	rec = record_of(x, 6, S_IFDIR, 97);
	check(object_of(x, &rec), OBJECT_DIRECTORY, "fd 6", 0);
	g_assert_cmpuint(fold_targets_object(x->targets, 12345), ==, 0);
}

static void test_pipe(struct fixture *x, gconstpointer data)
{
	struct offcpu_rec_target rec = record_of(x, 3, S_IFIFO, 501);

	/* links of ours have all permissions, so each end both reads and writes */
	add_fd(x, 80, 4, "pipe:[501]", "ino:\t501\n");
	rec.pid = 71;
	check(object_of(x, &rec), OBJECT_PIPE, "pipe from other; end", 80);
	rec.f_mode = 2;
	rec.id = x->next_id++;
	check(object_of(x, &rec), OBJECT_PIPE, "pipe to other; end", 80);
}

/* The profile's objects go, what is known of them stays, and has the same name again; what nobody asks for goes. */
static void test_forgets(struct fixture *x, gconstpointer data)
{
	struct offcpu_rec_target rec = record_of(x, 3, S_IFIFO, 501), other = record_of(x, 5, S_IFREG, 99);

	add_fd(x, 80, 4, "pipe:[501]", "ino:\t501\n");
	rec.pid = 71;
	object_of(x, &other);
	for (unsigned turn = 0; turn < 4; turn++) {
		check(object_of(x, &rec), OBJECT_PIPE, "pipe from other; end", 80);
		g_assert_cmpuint(x->p->objects->len, ==, turn ? 1 : 2);
		profile_empty_objects(x->p);
		fold_targets_forget(x->targets, true);
		g_assert_cmpuint(fold_targets_cnt(x->targets), ==, turn < 2 ? 2 : 1);
	}
	g_assert_cmpuint(fold_targets_object(x->targets, other.id), ==, 0);
}

/*
 * It has both ends, and a child that was forked with them is not who writes, but where the waiter has no other thread
 * that could: then it has only left the other end open.
 */
static void test_own_pipe(struct fixture *x, gconstpointer data)
{
	struct offcpu_rec_target rec = record_of(x, 3, S_IFIFO, 501);

	add_fd(x, 70, 3, "pipe:[501]", "ino:\t501\n");
	add_fd(x, 80, 4, "pipe:[501]", "ino:\t501\n");
	write_file(x, "70", "status", "Name:\twaiter\nThreads:\t2\n");
	check(object_of(x, &rec), OBJECT_PIPE, "pipe from waiter", 70);
	write_file(x, "70", "status", "Name:\twaiter\nThreads:\t1\n");
	rec.id = x->next_id++;
	check(object_of(x, &rec), OBJECT_PIPE, "pipe from other; end", 80);
}

/* We keep both ends of a pipe, as a supervisor does, and its reader has that end alone. */
static void test_kept_pipe(struct fixture *x, gconstpointer data)
{
	struct fd_owners *owners = fd_owners_new("/proc");
	unsigned others;
	int fds[2];
	struct stat st;

	g_assert_cmpint(pipe(fds), ==, 0);
	g_assert_cmpint(fstat(fds[0], &st), ==, 0);
	g_assert_true(fd_owners_read(owners, true));
	g_assert_cmpuint(fd_owners_find(owners, st.st_ino, FD_READS, 0, &others), ==, getpid());	/* nobody else */
	pid_t reader = fork();
	if (!reader) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fds[1]);
		for (;;)
			pause();
	}
	for (unsigned i = 0; i < 1000 && fd_owners_find(owners, st.st_ino, FD_READS, 0, &others) != (uint32_t)reader; i++) {
		g_usleep(1000);	/* until it has closed the other one */
		g_assert_true(fd_owners_read(owners, true));
	}
	g_assert_cmpuint(fd_owners_find(owners, st.st_ino, FD_READS, 0, &others), ==, reader);
	g_assert_cmpuint(others, ==, 0);
	g_assert_cmpuint(fd_owners_find(owners, st.st_ino, FD_WRITES, 0, &others), ==, getpid());
	kill(reader, SIGKILL);
	waitpid(reader, NULL, 0);
	close(fds[0]);
	close(fds[1]);
	fd_owners_free(owners);
}

static void test_sockets(struct fixture *x, gconstpointer data)
{
	struct offcpu_rec_target rec = record_of(x, 7, S_IFSOCK, 601);

	rec.family = AF_UNIX;
	rec.peer_ino = 602;
	rec.is_peers_text = 1;
	memcpy(rec.text, "/run/x.sock", 11);
	rec.text_len = 11;
	add_fd(x, 80, 9, "socket:[602]", "ino:\t602\n");
	check(object_of(x, &rec), OBJECT_SOCKET, "/run/x.sock (other; end)", 80);
	rec = record_of(x, 8, S_IFSOCK, 603);
	rec.family = AF_UNIX;
	memcpy(rec.text, "\0abstract", 9);
	rec.text_len = 9;
	check(object_of(x, &rec), OBJECT_SOCKET, "@abstract", 0);
	rec = record_of(x, 9, S_IFSOCK, 604);
	rec.family = AF_INET;
	rec.sock_type = SOCK_STREAM;
	rec.sock_state = 10;
	rec.local_port = 80;
	check(object_of(x, &rec), OBJECT_SOCKET, "*:80 listening", 0);
	rec = record_of(x, 9, S_IFSOCK, 605);
	rec.family = AF_INET6;
	rec.sock_type = SOCK_STREAM;
	rec.local_port = 40000;
	rec.remote_port = 443;
	rec.remote[0] = 0x20;
	rec.remote[1] = 0x01;
	check(object_of(x, &rec), OBJECT_SOCKET, "[2001::]:443", 0);
}

static void test_events(struct fixture *x, gconstpointer data)
{
	struct offcpu_rec_target rec = record_of(x, 10, 0, 1);

	rec.is_anon = 1;
	add_fd(x, 70, 11, "socket:[1]", "ino:\t1\n");
	add_fd(x, 70, 10, "anon_inode:[eventpoll]",
	       "pos:\t0\nino:\t1\ntfd:       11 events:       19 data: 0\ntfd:       11 events: 19\ntfd:       99 events: 19\n");
	check(object_of(x, &rec), OBJECT_EPOLL, "2 sockets, 1 other (fd 10 of waiter)", 0);
	rec = record_of(x, 12, 0, 1);
	rec.is_anon = 1;
	add_fd(x, 70, 12, "anon_inode:[timerfd]", "ino:\t1\nit_value: (0, 1)\nit_interval: (1, 500000000)\n");
	check(object_of(x, &rec), OBJECT_TIMERFD, "every 1500 ms (fd 12 of waiter)", 0);
	/* closed before anybody looked */
	rec = record_of(x, 13, 0, 1);
	rec.is_anon = 1;
	rec.text_len = (uint16_t)g_strlcpy((char *)rec.text, "[eventpoll]", sizeof(rec.text));
	check(object_of(x, &rec), OBJECT_EPOLL, "fd 13 of waiter", 0);
}

static void test_child_and_set(struct fixture *x, gconstpointer data)
{
	struct offcpu_rec_target rec = record_of(x, 0, 0, 0);

	rec.what = OFFCPU_TARGET_CHILD;
	rec.child = 80;
	check(object_of(x, &rec), OBJECT_CHILD, "other; end", 80);
	rec = record_of(x, 0, 0, 0);
	rec.what = OFFCPU_TARGET_NOTHING;
	check(object_of(x, &rec), OBJECT_NOTHING, "no descriptor", 0);
	rec = record_of(x, 5, S_IFREG, 99);
	rec.fd_cnt = 3;
	add_fd(x, 70, 5, "/srv/log", "ino:\t99\n");
	check(object_of(x, &rec), OBJECT_POLL, "/srv/log and 2 more", 0);
}

static void test_fault(struct fixture *x, gconstpointer data)
{
	struct offcpu_rec_target rec = record_of(x, 0, S_IFREG, 77);

	write_file(x, "70", "maps", "nonsense\n1000-2000 r--p 00000000 fe:00 77    /usr/lib/a b.so\n3000-4000 rw-p 00000000 00:00 0 \n"
				    "5000-6000 rw-p 00000000 00:00 0     [heap]\n");
	rec.what = OFFCPU_TARGET_FAULT;
	rec.addr = 0x1800;
	check(object_of(x, &rec), OBJECT_FAULT, "/usr/lib/a b.so", 0);
	rec = record_of(x, 0, 0, 0);
	rec.what = OFFCPU_TARGET_FAULT;
	rec.addr = 0x5000;
	check(object_of(x, &rec), OBJECT_FAULT, "memory [heap]", 0);
	g_assert_null(fd_link_mapping(x->proc, 70, 0x1800, 78));
	g_assert_null(fd_link_mapping(x->proc, 70, 0x3000, 0));
}

static void test_hostile(struct fixture *x, gconstpointer data)
{
	struct offcpu_rec_target rec = record_of(x, 5, S_IFSOCK, 1);

	rec.text_len = OFFCPU_TARGET_TEXT + 1;
	fold_targets_add(x->targets, &rec, sizeof(rec));
	fold_targets_add(x->targets, &rec, sizeof(rec) - 1);
	g_assert_cmpuint(fold_targets_object(x->targets, rec.id), ==, 0);
	g_assert_cmpuint(x->p->losses->len, ==, 1);
	rec = record_of(x, -1, 0xffffffff, UINT64_MAX);
	rec.what = 200;
	rec.family = 0xffff;
	memset(rec.text, 0xff, sizeof(rec.text));
	rec.text_len = OFFCPU_TARGET_TEXT;
	object_of(x, &rec);
	rec.id = x->next_id++;
	rec.what = OFFCPU_TARGET_FD;
	g_assert_true(g_utf8_validate(object_of(x, &rec)->name, -1, NULL));
}

/* The object is the leaf of its waits' stacks, behind the kernel's frames. */
static void test_frames(struct fixture *x, gconstpointer data)
{
	struct offcpu_rec_target rec = record_of(x, 5, S_IFREG, 99);
	const struct thread thread = { .comm = profile_string(x->p, "t"), .process = profile_string(x->p, "t"), .to_ns = 100 };

	add_fd(x, 70, 5, "/srv/log", "ino:\t99\n");
	fold_targets_add(x->targets, &rec, sizeof(rec));
	struct wait w = { .thread = profile_add_thread(x->p, &thread), .state = 'S', .count = 1, .blocked_ns = 5, .max_ns = 5,
			  .object = fold_targets_object(x->targets, rec.id) };
	uint32_t i = profile_add_wait(x->p, &w);

	objects_as_frames(x->p);
	g_assert_cmpuint(profile_wait(x->p, i)->kernel, ==, 0);
	x->p->info.has_objects = true;
	objects_as_frames(x->p);
	const struct stack_node *n = profile_get_node(x->p, profile_wait(x->p, i)->kernel);

	g_assert_cmpstr(profile_get_frame(x->p, n->frame)->name, ==, "-> /srv/log");
	g_assert_cmpuint(n->depth, ==, 1);
}

static void check_connections(const struct fixture *x, const char *expected)
{
	g_autoptr(GString) s = g_string_new(NULL);

	for (guint i = 0; i < x->p->connections->len; i++) {
		const struct connection *c = profile_connection(x->p, i);

		g_string_append_printf(s, "%s%s %s %s", i ? ", " : "", c->side == CONNECTION_SERVER ? "server" : "client", c->local, c->remote);
	}
	g_assert_cmpstr(s->str, ==, expected);
}

/* Whom the loop has asked: the connections that it made itself, and who has the other end of them, or listens there. */
static void test_upstream(struct fixture *x, gconstpointer data)
{
	static const char table[] =
		"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
		"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 900 1\n"
		"   1: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 901 1\n"
		"   2: 0100007F:1F90 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 902 1\n"
		"   3: 0100007F:9C41 0100007F:1F91 01 00000000:00000000 00:00000000 00000000     0        0 903 1\n"
		"   4: 0100007F:9C42 0100007F:1F91 01 00000000:00000000 00:00000000 00000000     0        0 904 1\n"
		"   5: junk\n"
		"   6: FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF:1 1:2 01\n";
	struct offcpu_rec_target rec = record_of(x, 7, 0, 51), other = record_of(x, 8, 0, 51);

	add_set(x, 7, 9, EPOLLIN, (const uint64_t[]){ 902, 903, 904, 0 });
	add_fd(x, 70, 9, "socket:[902]", "");
	add_fd(x, 70, 10, "socket:[903]", "");
	add_fd(x, 70, 11, "socket:[904]", "");
	add_set(x, 8, 9, EPOLLIN, (const uint64_t[]){ 902, 0 });
	add_fd(x, 80, 4, "socket:[901]", "ino:\t901\n");
	write_file(x, "70/net", "tcp", table);
	check(object_of(x, &rec), OBJECT_EPOLL, "3 sockets (fd 7 of waiter) -> 127.0.0.1:8081 (other; end)", 80);
	check_connections(x, "server 127.0.0.1:8080 127.0.0.1:40000, client 127.0.0.1:40001 127.0.0.1:8081, "
			     "client 127.0.0.1:40002 127.0.0.1:8081");
	/* one that only serves has asked nobody */
	const struct object *set = object_of(x, &other);

	check(set, OBJECT_EPOLL, "1 socket (fd 8 of waiter)", 0);
	/* the kernel says what was ready there; who is known to ask somebody goes on to ask that one */
	const uint8_t loopback[] = { 127, 0, 0, 1 };
	const struct net_end local = net_end_of(loopback, 4, 40009), there = net_end_of(loopback, 4, 8081), elsewhere = net_end_of(loopback, 4, 9);

	fold_targets_was_ready(x->targets, other.id, &local, &there);
	fold_targets_was_ready(x->targets, rec.id, &local, &elsewhere);
	fold_targets_was_ready(x->targets, other.id + 999, &local, &there);
	check(set, OBJECT_EPOLL, "1 socket (fd 8 of waiter) -> 127.0.0.1:8081 (other; end)", 80);
}

/*
 * A loop that is to be told of room at a connection of its own sends; at one that it accepted, or with each change told
 * once, that says nothing; but a closed window does.
 */
static void test_full(struct fixture *x, gconstpointer data)
{
	static const char table[] =
		"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 900 1\n"
		"   2: 0100007F:1F90 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 902 1\n"
		"   3: 0100007F:9C41 0100007F:1F92 01 00000000:00000000 00:00000000 00000000     0        0 903 1\n"
		"   4: 0100007F:9C42 0100007F:1F91 01 00001000:00000000 04:00000014 00000000     0        0 904 1\n"
		"   5: 0100007F:1F91 0100007F:9C42 01 00000000:00001000 00:00000000 00000000     0        0 905 1\n";
	static const struct {
		unsigned events;
		uint64_t inodes[3];
		const char *name, *operation;
	} cases[] = {
		{ EPOLLIN | EPOLLOUT, { 902, 0 }, "1 socket (fd 7 of waiter)", "" },
		{ EPOLLIN | EPOLLOUT | EPOLLET, { 903, 0 }, "1 socket (fd 8 of waiter) -> 127.0.0.1:8082", "" },
		{ EPOLLIN | EPOLLOUT, { 903, 0 }, "1 socket (fd 9 of waiter) -> 127.0.0.1:8082", "send" },
		{ EPOLLIN, { 903, 904, 0 }, "2 sockets (fd 10 of waiter) -> 127.0.0.1:8081 (other; end)", "send" },
	};

	for (int fd = 20; fd < 22; fd++)
		add_fd(x, 70, fd, "socket:[1]", "");
	add_fd(x, 80, 4, "socket:[905]", "ino:\t905\n");
	write_file(x, "70/net", "tcp", table);
	struct offcpu_rec_target recs[G_N_ELEMENTS(cases)];

	for (int i = 0; i < (int)G_N_ELEMENTS(cases); i++) {
		recs[i] = record_of(x, 7 + i, 0, 51);
		add_set(x, 7 + i, 20, cases[i].events, cases[i].inodes);
		fold_targets_add(x->targets, &recs[i], sizeof(recs[i]));
	}
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct object *o = object_of(x, &recs[i]);

		g_assert_cmpstr(o->name, ==, cases[i].name);
		g_assert_cmpstr(o->operation, ==, cases[i].operation);
	}
}

static uint64_t add_socket(const struct fixture *x, uint32_t pid, int fd, int of)
{
	struct stat st;

	g_assert_cmpint(fstat(of, &st), ==, 0);
	g_autofree char *link = g_strdup_printf("socket:[%" PRIu64 "]", (uint64_t)st.st_ino);
	g_autofree char *info = g_strdup_printf("ino:\t%" PRIu64 "\n", (uint64_t)st.st_ino);

	add_fd(x, pid, fd, link, info);
	return st.st_ino;
}

/*
 * The same by a Unix socket, of a loop that has clients; without any it may be one to a bus, which asks for nothing,
 * unless it is full.
 */
static void test_upstream_unix(struct fixture *x, gconstpointer data)
{
	static const char table[] =
		"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 900 1\n"
		"   2: 0100007F:1F90 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 902 1\n";
	struct offcpu_rec_target rec = record_of(x, 7, 0, 51), other = record_of(x, 8, 0, 51), full = record_of(x, 6, 0, 51);
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);

	g_snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "offcpu-targets-%d", getpid());
	socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(at.sun_path + 1));
	g_assert_cmpint(bind(listener, (const struct sockaddr *)&at, bytes), ==, 0);
	g_assert_cmpint(listen(listener, 5), ==, 0);
	g_assert_cmpint(connect(client, (const struct sockaddr *)&at, bytes), ==, 0);
	int accepted = accept(listener, NULL, NULL);
	g_autofree char *name = g_strdup_printf("2 sockets (fd 7 of waiter) -> @%s (other; end)", at.sun_path + 1);
	g_autofree char *full_name = g_strdup_printf("1 socket (fd 6 of waiter) -> @%s (other; end)", at.sun_path + 1);

	g_assert_cmpint(accepted, >=, 0);
	add_fd(x, 70, 20, "socket:[902]", "");
	const uint64_t own = add_socket(x, 70, 21, client);

	add_set(x, 7, 20, EPOLLIN, (const uint64_t[]){ 902, own, 0 });
	add_set(x, 8, 21, EPOLLIN, (const uint64_t[]){ own, 0 });
	add_set(x, 6, 21, EPOLLOUT, (const uint64_t[]){ own, 0 });
	add_socket(x, 80, 4, accepted);
	write_file(x, "70/net", "tcp", table);
	check(object_of(x, &rec), OBJECT_EPOLL, name, 80);
	check(object_of(x, &other), OBJECT_EPOLL, "1 socket (fd 8 of waiter)", 0);
	const struct object *o = object_of(x, &full);

	check(o, OBJECT_EPOLL, full_name, 80);
	g_assert_cmpstr(o->operation, ==, "send");
	close(accepted);
	close(client);
	close(listener);
}

/* A connection that waits to be accepted has no other end yet: who listens there is to answer. */
static void test_unaccepted_unix(struct fixture *x, gconstpointer data)
{
	struct offcpu_rec_target rec = record_of(x, 7, S_IFSOCK, 601);
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	struct net_tables *nets = net_tables_new(x->proc);
	const bool can_tell = net_tables_unix(nets);	/* else the kernel does not */

	g_snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "offcpu-queue-%d", getpid());
	socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(at.sun_path + 1));
	g_assert_cmpint(bind(listener, (const struct sockaddr *)&at, bytes), ==, 0);
	g_assert_cmpint(listen(listener, 5), ==, 0);
	add_socket(x, 80, 4, listener);
	g_autofree char *told = g_strdup_printf(can_tell ? "@%s (other; end)" : "@%s", at.sun_path + 1);
	rec.family = AF_UNIX;
	rec.is_peers_text = 1;
	rec.text_len = (uint16_t)(1 + strlen(at.sun_path + 1));
	memcpy(rec.text, at.sun_path, rec.text_len);
	check(object_of(x, &rec), OBJECT_SOCKET, told, can_tell ? 80 : 0);
	net_tables_free(nets);
	close(listener);
}

/* What the kernel cannot tell apart is nobody's: an old connection's least round trip, an answer that may have been lost. */
static void test_tcp(struct fixture *x, gconstpointer data)
{
	const struct tcp_sum sum = {
		.count_q8 = 10 * 256, .blocked_ns = 1000, .silent_ns = 50, .peer_ns = 400, .peer_long_ns = 300, .path_ns = 200,
		.resent_ns = 100, .hidden_ns = 150, .resent = 2, .srtt_us = 9, .min_rtt_us = 7,
	};
	struct tcp_sum young = sum;

	young.is_young = 1;
	struct tcp_wait w = tcp_wait_of_sum(&young, TCP_RECEIVE, 3, false);
	g_assert_cmpuint(w.object, ==, 3);
	g_assert_cmpuint(w.count, ==, 10);
	g_assert_cmpuint(w.peer_ns, ==, 400);
	g_assert_cmpuint(w.network_ns, ==, 300);
	g_assert_cmpuint(w.silent_ns, ==, 50);
	g_assert_cmpuint(w.unclear_ns, ==, 150);
	w = tcp_wait_of_sum(&sum, TCP_RECEIVE, 3, true);
	g_assert_cmpuint(w.peer_ns, ==, 100);
	g_assert_cmpuint(w.network_ns, ==, 100);
	g_assert_cmpuint(w.unclear_ns, ==, 150 + 200 + 300);
	w = tcp_wait_of_sum(&sum, TCP_SEND, 3, true);
	g_assert_cmpuint(w.peer_ns, ==, 400);
	g_assert_cmpuint(w.network_ns, ==, 300);
}

#define TCP_HEAD "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
#define FIB_10_9_0_8 "Main:\n  +-- 0.0.0.0/0 2 0 2\n     |-- 10.9.0.0\n        /24 link UNICAST\nLocal:\n  +-- 0.0.0.0/0 2 0 2\n" \
		     "     |-- 10.9.0.8\n        /32 host LOCAL\n     |-- 127.0.0.1\n        /32 host LOCAL\n"
/* 10.9.0.8:7301 from 10.9.0.7:50000, as the one that accepted has it */
#define ACCEPTED "   0: 0800090A:1C85 0700090A:C350 01 00000000:00000000 00:00000000 00000000     0        0 8001 1 0 20 4 0 10 -1\n"

static struct offcpu_rec_target connection_to_other(struct fixture *x)
{
	struct offcpu_rec_target rec = record_of(x, 7, S_IFSOCK, 701);

	rec.family = AF_INET;
	rec.sock_type = SOCK_STREAM;
	rec.local_port = 50000;
	rec.remote_port = 7301;
	memcpy(rec.local, (const uint8_t[]){ 10, 9, 0, 7 }, 4);
	memcpy(rec.remote, (const uint8_t[]){ 10, 9, 0, 8 }, 4);
	return rec;
}

/* The other end is in a network namespace of its own, which is known only after the connection is, and its address later. */
static void test_other_namespace(struct fixture *x, gconstpointer data)
{
	struct offcpu_rec_target rec = connection_to_other(x), other = record_of(x, 5, S_IFREG, 99);

	write_file(x, "70/ns", "net", "");
	write_file(x, "70/net", "tcp", TCP_HEAD);
	write_file(x, "80/ns", "net", "");
	write_file(x, "80/net", "tcp", TCP_HEAD ACCEPTED);
	add_fd(x, 80, 9, "socket:[8001]", "ino:\t8001\n");
	fold_targets_add(x->targets, &rec, sizeof(rec));
	other.pid = 80;
	fold_targets_add(x->targets, &other, sizeof(other));
	write_file(x, "80/net", "fib_trie", FIB_10_9_0_8);
	check(object_of(x, &rec), OBJECT_SOCKET, "10.9.0.8:7301 (other; end)", 80);
}

/* Who connects anew for each request has a few rows, in each window; who listens anywhere those of its namespace's addresses. */
static void test_connections(struct fixture *x, gconstpointer data)
{
	struct offcpu_rec_target listens = record_of(x, 9, S_IFSOCK, 604);
	uint64_t first = x->next_id;

	write_file(x, "70/ns", "net", "");
	write_file(x, "70/net", "fib_trie", FIB_10_9_0_8);
	for (uint16_t i = 0; i < 1000; i++) {
		struct offcpu_rec_target rec = connection_to_other(x);

		rec.local_port = 50000 + i;
		rec.ino = 10000 + i;
		object_of(x, &rec);
		object_of(x, &rec);
	}
	g_assert_cmpuint(x->p->connections->len, ==, 9);
	g_assert_cmpstr(profile_connection(x->p, 8)->local, ==, "10.9.0.7");
	profile_empty_rows(x->p);
	fold_targets_next_window(x->targets);
	fold_targets_object(x->targets, first);
	listens.family = AF_INET;
	listens.sock_type = SOCK_STREAM;
	listens.local_port = 80;
	object_of(x, &listens);
	check_connections(x, "client 10.9.0.7:50000 10.9.0.8:7301");
	listens.id = x->next_id++;
	listens.sock_state = 10;
	object_of(x, &listens);
	check_connections(x, "client 10.9.0.7:50000 10.9.0.8:7301, server 127.0.0.1:80 , server 10.9.0.8:80 ");
}

/* Two have that address, and such a connection: nobody can tell which it is. */
static void test_twin_namespaces(struct fixture *x, gconstpointer data)
{
	struct offcpu_rec_target rec = connection_to_other(x), other = record_of(x, 5, S_IFREG, 99);
	g_autofree char *twin = g_strdup(TCP_HEAD ACCEPTED);

	memcpy(strstr(twin, " 8001 "), " 9001 ", 6);
	write_file(x, "70/ns", "net", "");
	write_file(x, "70/net", "tcp", TCP_HEAD);
	for (unsigned pid = 80; pid <= 90; pid += 10) {
		g_autofree char *ns = g_strdup_printf("%u/ns", pid), *net = g_strdup_printf("%u/net", pid);

		write_file(x, ns, "net", "");
		write_file(x, net, "tcp", pid == 80 ? TCP_HEAD ACCEPTED : twin);
		write_file(x, net, "fib_trie", FIB_10_9_0_8);
		add_fd(x, pid, 9, pid == 80 ? "socket:[8001]" : "socket:[9001]", "");
		other.id = x->next_id++;
		other.pid = pid;
		fold_targets_add(x->targets, &other, sizeof(other));
	}
	check(object_of(x, &rec), OBJECT_SOCKET, "10.9.0.8:7301", 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(struct fixture *x, gconstpointer data);
	} tests[] = {
		{ "/targets/file", test_file }, { "/targets/pipe", test_pipe }, { "/targets/own_pipe", test_own_pipe }, { "/targets/sockets", test_sockets },
		{ "/targets/kept_pipe", test_kept_pipe },
		{ "/targets/forgets", test_forgets }, { "/targets/tcp", test_tcp },
		{ "/targets/events", test_events }, { "/targets/child_and_set", test_child_and_set }, { "/targets/fault", test_fault },
		{ "/targets/hostile", test_hostile }, { "/targets/frames", test_frames },
		{ "/targets/other_namespace", test_other_namespace }, { "/targets/twin_namespaces", test_twin_namespaces },
		{ "/targets/connections", test_connections },
		{ "/targets/upstream", test_upstream }, { "/targets/full", test_full }, { "/targets/upstream_unix", test_upstream_unix },
		{ "/targets/unaccepted_unix", test_unaccepted_unix },
	};

	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
		g_test_add(tests[i].name, struct fixture, NULL, set_up, tests[i].run, tear_down);
	return g_test_run();
}
