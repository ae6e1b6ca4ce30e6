/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <arpa/inet.h>
#include <glib/gstdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/find.h"
#include "base/proc/net_table.h"

#define PID 42

#define HEAD "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
#define TAIL " 00000000:00000000 00:00000000 00000000     0        0 "

/* 127.0.0.1:80 listens, and 5 connections wait there; :5000 to it, both ends; one that no process has; what is no line. */
static const char tcp[] = HEAD
	"   0: 0100007F:0050 00000000:0000 0A 00000000:00000005 00:00000000 00000000     0        0 11 1 0\n"
	"   1: 0100007F:1388 0100007F:0050 01" TAIL "12 1 0\n"
	"   2: 0100007F:0050 0100007F:1388 01" TAIL "13 1 0\n"
	"   3: 0100007F:1389 0100007F:0050 06" TAIL "0 1 0\n"
	"   4: 0100007F:1389\n"
	"   5: 0100007:0050 0100007F:1388 01" TAIL "14 1 0\n"
	"   6: 0100007F:FFFFF 0100007F:1388 01" TAIL "15 1 0\n"
	"nonsense\n";
/* Any address listens; an IPv4 connection of an IPv6 socket; ::1. */
static const char tcp6[] = HEAD
	"   0: 00000000000000000000000000000000:0051 00000000000000000000000000000000:0000 0A" TAIL "21 1 0\n"
	"   1: 0000000000000000FFFF00000100007F:0051 0000000000000000FFFF00000100007F:138A 01" TAIL "22 1 0\n"
	"   2: 00000000000000000000000001000000:138B 00000000000000000000000001000000:0051 01" TAIL "23 1 0\n";
static const char udp[] = HEAD "   0: 0100007F:0035 00000000:0000 07" TAIL "31 1 0\n";

struct proc {
	char *dir, *net;
};

static void write_table(const struct proc *p, const char *name, const char *text)
{
	g_autofree char *path = g_build_filename(p->net, name, NULL);

	g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void proc_make(struct proc *p)
{
	g_autofree char *number = g_strdup_printf("%d", PID);

	p->dir = g_dir_make_tmp("offcpu-XXXXXX", NULL);
	p->net = g_build_filename(p->dir, number, "net", NULL);
	g_assert_cmpint(g_mkdir_with_parents(p->net, 0700), ==, 0);
	write_table(p, "tcp", tcp);
	write_table(p, "tcp6", tcp6);
	write_table(p, "udp", udp);
}

static void proc_remove(struct proc *p)
{
	g_autofree char *parent = g_path_get_dirname(p->net);
	static const char *const names[] = { "tcp", "tcp6", "udp" };

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *path = g_build_filename(p->net, names[i], NULL);

		g_unlink(path);
	}
	g_rmdir(p->net);
	g_rmdir(parent);
	g_rmdir(p->dir);
	g_free(p->net);
	g_free(p->dir);
}

static struct net_end end_v4(const char *address, uint16_t port)
{
	uint8_t bytes[4];

	g_assert_cmpint(inet_pton(AF_INET, address, bytes), ==, 1);
	return net_end_of(bytes, sizeof(bytes), port);
}

static struct net_end end_v6(const char *address, uint16_t port)
{
	uint8_t bytes[16];

	g_assert_cmpint(inet_pton(AF_INET6, address, bytes), ==, 1);
	return net_end_of(bytes, sizeof(bytes), port);
}

static uint64_t peer_of(const GArray *sockets, struct net_end local, struct net_end remote)
{
	const struct net_socket *s = net_table_peer(sockets, true, &local, &remote);

	return s ? s->inode : 0;
}

static uint64_t listener_of(const GArray *sockets, struct net_end there)
{
	const struct net_socket *s = net_table_listener(sockets, &there);

	return s ? s->inode : 0;
}

static void test_lines(void)
{
	struct proc p;

	proc_make(&p);
	struct net_tables *t = net_tables_new(p.dir);
	const GArray *sockets = net_tables_of(t, PID);

	g_assert_nonnull(sockets);
	g_assert_cmpuint(sockets->len, ==, 4 + 3 + 1);
	g_assert_cmpuint(g_array_index(sockets, struct net_socket, 0).queued, ==, 5);
	g_assert_cmpuint(g_array_index(sockets, struct net_socket, 1).inode, ==, 12);
	g_assert_true(net_table_has_port(sockets, 53));
	g_assert_true(net_table_has_port(sockets, 0x138b));
	g_assert_false(net_table_has_port(sockets, 54));
	g_assert_null(net_tables_of(t, PID + 1));
	net_tables_free(t);
	proc_remove(&p);
}

static void test_ends(void)
{
	struct proc p;

	proc_make(&p);
	struct net_tables *t = net_tables_new(p.dir);
	const GArray *sockets = net_tables_of(t, PID);
	struct net_end here = end_v4("127.0.0.1", 5000), there = end_v4("127.0.0.1", 80);

	g_assert_cmpuint(peer_of(sockets, here, there), ==, 13);
	g_assert_cmpuint(peer_of(sockets, there, here), ==, 12);
	g_assert_null(net_table_peer(sockets, false, &here, &there));
	/* nobody has it any more */
	g_assert_cmpuint(peer_of(sockets, there, end_v4("127.0.0.1", 5001)), ==, 0);
	/* an IPv4 socket that talks to one of IPv6 */
	g_assert_cmpuint(peer_of(sockets, end_v4("127.0.0.1", 0x138a), end_v4("127.0.0.1", 81)), ==, 22);
	g_assert_cmpuint(peer_of(sockets, end_v6("::1", 81), end_v6("::1", 0x138b)), ==, 23);
	g_assert_cmpuint(listener_of(sockets, there), ==, 11);
	g_assert_cmpuint(listener_of(sockets, end_v4("127.0.0.2", 80)), ==, 0);
	g_assert_cmpuint(listener_of(sockets, end_v6("::1", 81)), ==, 21);
	g_assert_cmpuint(listener_of(sockets, end_v4("10.0.0.1", 81)), ==, 21);
	net_tables_free(t);
	proc_remove(&p);
}

static void test_text(void)
{
	struct net_end four = end_v4("10.1.2.3", 80), six = end_v6("fe80::1", 8080), any = end_v6("::", 1);
	g_autofree char *of_four = net_end_text(&four), *of_six = net_end_text(&six);

	g_assert_cmpstr(of_four, ==, "10.1.2.3:80");
	g_assert_cmpstr(of_six, ==, "[fe80::1]:8080");
	g_assert_true(net_end_is_any(&any));
	any = end_v4("0.0.0.0", 1);
	g_assert_true(net_end_is_any(&any));
	g_assert_false(net_end_is_any(&four));
	g_assert_false(net_end_is_any(&six));
}

static uint64_t inode_of(int fd)
{
	struct stat st;

	g_assert_cmpint(fstat(fd, &st), ==, 0);
	return st.st_ino;
}

/* One connection is accepted, one waits; by the kernel's answers as by its text. */
static void test_own(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd[2], accepted;

	g_assert_cmpint(bind(listener, (const struct sockaddr *)&at, sizeof(at)), ==, 0);
	g_assert_cmpint(listen(listener, 5), ==, 0);
	g_assert_cmpint(getsockname(listener, (struct sockaddr *)&at, &len), ==, 0);
	for (int i = 0; i < 2; i++) {
		fd[i] = socket(AF_INET, SOCK_STREAM, 0);
		g_assert_cmpint(connect(fd[i], (const struct sockaddr *)&at, sizeof(at)), ==, 0);
	}
	accepted = accept(listener, NULL, NULL);
	g_assert_cmpint(accepted, >=, 0);

	struct net_tables *t = net_tables_new("/proc");
	const GArray *sockets = net_tables_of(t, (uint32_t)getpid());
	const struct net_end there = end_v4("127.0.0.1", ntohs(at.sin_port));
	const struct net_socket *l = net_table_listener(sockets, &there);

	g_assert_nonnull(l);
	g_assert_cmpuint(l->inode, ==, inode_of(listener));
	g_assert_cmpuint(l->queued, ==, 1);
	g_assert_cmpuint(l->remote.port, ==, 0);
	const struct net_socket *s = FIRST_ROW(const struct net_socket, x, sockets, x->inode == inode_of(accepted), x, NULL);

	g_assert_nonnull(s);
	g_assert_cmpuint(peer_of(sockets, s->local, s->remote), ==, inode_of(fd[0]));
	net_tables_free(t);
	close(listener);
	close(accepted);
	close(fd[0]);
	close(fd[1]);
}

/* One connection is accepted, one waits. */
static void test_unix(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), fd[2], accepted;

	g_snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "offcpu-test-%d", getpid());
	g_assert_cmpint(bind(listener, (const struct sockaddr *)&at, sizeof(at)), ==, 0);
	g_assert_cmpint(listen(listener, 5), ==, 0);
	for (int i = 0; i < 2; i++) {
		fd[i] = socket(AF_UNIX, SOCK_STREAM, 0);
		g_assert_cmpint(connect(fd[i], (const struct sockaddr *)&at, sizeof(at)), ==, 0);
	}
	accepted = accept(listener, NULL, NULL);
	g_assert_cmpint(accepted, >=, 0);

	g_autoptr(GArray) sockets = unix_table_new();
	const struct unix_socket *there = unix_table_find(sockets, inode_of(listener));
	const struct unix_socket *first = unix_table_find(sockets, inode_of(fd[0]));
	const struct unix_socket *second = unix_table_find(sockets, inode_of(fd[1]));

	if (there && first && second) {
		g_assert_true(there->listens);
		g_assert_cmpuint(there->queued, ==, 1);
		g_assert_cmpstr(there->name + 1, ==, at.sun_path + 1);
		g_assert_cmpuint(first->peer, ==, inode_of(accepted));
		g_assert_cmpstr(unix_table_find(sockets, first->peer)->name, ==, there->name);
		g_assert_cmpstr(first->name, ==, "");
		g_assert_cmpuint(second->peer, ==, 0);
	} else {
		g_test_skip("this kernel does not answer for Unix sockets");
	}
	for (int i = 0; i < 2; i++)
		close(fd[i]);
	close(accepted);
	close(listener);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/net_table/lines", test_lines);
	g_test_add_func("/net_table/ends", test_ends);
	g_test_add_func("/net_table/text", test_text);
	g_test_add_func("/net_table/own", test_own);
	g_test_add_func("/net_table/unix", test_unix);
	return g_test_run();
}
