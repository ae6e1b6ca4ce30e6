/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/requests/fold.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../fixture.h"
#include "base/clock.h"
#include "fold/limits/limits.h"
#include "profile/limits.h"

#define MS UINT64_C(1000000)
#define REQUEST_AGE_MS 30	/* the kernel's clock of it may have ticks of 10 ms */

static uint32_t stack(struct profile *p, const char *outer, const char *inner)
{
	const struct frame frames[] = { { .name = outer, .kind = FRAME_USER }, { .name = inner, .kind = FRAME_USER } };
	uint32_t node = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(frames); i++)
		node = profile_node(p, node, profile_frame(p, &frames[i]));
	return node;
}

static struct wait wait_in(struct profile *p, uint32_t pid, const char *outer, const char *inner)
{
	return (struct wait){ .thread = fixture_thread(p, pid, pid, "app", "app"), .state = 'S', .count = 1,
			      .flags = WAIT_OPEN_AT_END, .user = stack(p, outer, inner) };
}

/* The function itself and what compilers make of it, and no other that begins alike. */
static void test_function(void)
{
	struct profile *p = profile_new();
	g_autoptr(GPtrArray) functions = g_ptr_array_new();
	struct open_requests *o = open_requests_new("/nonexistent", functions, NULL);
	uint64_t longest_ns;

	g_ptr_array_add(functions, (gpointer)"shop::pay");
	const struct wait waits[] = {
		wait_in(p, 10, "shop::pay(int)", "poll"), wait_in(p, 11, "shop::pay.part.0", "read"),
		wait_in(p, 12, "shop::payment(int)", "poll"), wait_in(p, 13, "main", "shop::pay"),
	};

	for (size_t i = 0; i < G_N_ELEMENTS(waits); i++)
		open_requests_tell(o, p, &waits[i]);
	open_requests_look(o, p);
	for (size_t i = 0; i < G_N_ELEMENTS(waits); i++)
		g_assert_cmpint(open_requests_has(o, p, &waits[i]), ==, i != 2);
	g_assert_cmpuint(open_requests_cnt(o, &longest_ns), ==, 3);
	g_assert_cmpuint(longest_ns, ==, 0);
	open_requests_free(o);
	profile_free(p);
}

struct pair {
	int listener, client, server;
	uint16_t port;
};

/* With an answered request behind them. */
static struct pair pair_new(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	struct pair s = { .listener = socket(AF_INET, SOCK_STREAM, 0), .client = socket(AF_INET, SOCK_STREAM, 0) };
	char byte;

	g_assert_cmpint(bind(s.listener, (const struct sockaddr *)&address, len), ==, 0);
	g_assert_cmpint(listen(s.listener, 1), ==, 0);
	g_assert_cmpint(getsockname(s.listener, (struct sockaddr *)&address, &len), ==, 0);
	g_assert_cmpint(connect(s.client, (const struct sockaddr *)&address, len), ==, 0);
	s.port = ntohs(address.sin_port);
	s.server = accept(s.listener, NULL, NULL);
	g_assert_cmpint(send(s.client, "q", 1, 0), ==, 1);
	g_assert_cmpint(recv(s.server, &byte, 1, 0), ==, 1);
	g_usleep(REQUEST_AGE_MS * 1000);
	g_assert_cmpint(send(s.server, "a", 1, 0), ==, 1);
	g_assert_cmpint(recv(s.client, &byte, 1, 0), ==, 1);
	return s;
}

static void pair_close(const struct pair *s)
{
	close(s->client);
	close(s->server);
	close(s->listener);
}

/* Are there open requests at that port, in a process that waits in `waits` threads for no client? */
static unsigned ask(uint16_t port, unsigned waits, bool *ret_has)
{
	struct profile *p = profile_new();
	g_autoptr(GArray) ports = g_array_new(FALSE, FALSE, sizeof(uint16_t));
	struct open_requests *o = open_requests_new("/proc", NULL, ports);
	const struct wait w = wait_in(p, (uint32_t)getpid(), "main", "flock");
	uint64_t longest_ns;
	unsigned cnt;

	fixture_thread(p, (uint32_t)getpid(), 1, "other", "app");
	g_array_append_val(ports, port);
	p->info.start_ns = clock_ns(CLOCK_MONOTONIC);
	for (unsigned i = 0; i < waits; i++)
		open_requests_tell(o, p, &w);
	open_requests_look(o, p);
	*ret_has = open_requests_has(o, p, &w);
	cnt = open_requests_cnt(o, &longest_ns);
	g_assert_cmpint(longest_ns >= REQUEST_AGE_MS * MS / 2, ==, cnt > 0);
	g_assert_cmpint(profile_find_limit(p, LIMIT_UNANSWERED, (uint32_t)getpid(), 0) != NULL, ==, cnt > 0);
	open_requests_free(o);
	profile_free(p);
	return cnt;
}

static void test_port(void)
{
	struct pair s = pair_new();
	bool has;

	g_usleep(REQUEST_AGE_MS * 1000);
	g_assert_cmpuint(ask(s.port, 1, &has), ==, 0);	/* it was answered: the connection is idle */
	g_assert_false(has);
	g_assert_cmpint(send(s.client, "q", 1, 0), ==, 1);
	g_usleep(REQUEST_AGE_MS * 1000);
	g_assert_cmpuint(ask(s.port, 1, &has), ==, 1);
	g_assert_true(has);
	g_assert_cmpuint(ask(s.port, 2, &has), ==, 1);	/* which of the two it is nobody knows */
	g_assert_false(has);
	g_assert_cmpuint(ask((uint16_t)(s.port - 1), 1, &has), ==, 0);
	g_assert_false(has);
	pair_close(&s);
}

/*
 * A listener whose queue is full, a write that is held back, and clients that wait for an answer, while more connections than
 * have asked go elsewhere: as the kernel tells.
 */
static void test_ends(void)
{
	struct pair s = pair_new(), second = pair_new(), third = pair_new();
	struct profile *p = profile_new();
	struct net_tables *nets = net_tables_new("/proc");
	struct sock_peers *peers = sock_peers_new("/proc", nets);
	g_autofree char *there = g_strdup_printf("127.0.0.1:%u", s.port), *full = NULL, *owed = NULL;
	const struct object objects[] = {
		{ .kind = OBJECT_SOCKET, .operation = "", .name = there, .place = "tcp" },
		{ .kind = OBJECT_EPOLL, .operation = "", .name = "2 sockets", .place = "" },
	};
	const uint32_t pid = (uint32_t)getpid();
	struct net_looks *looks = net_looks_new("/proc");
	int waiting[2];

	p->info.start_ns = clock_ns(CLOCK_MONOTONIC) - 1000 * MS;
	for (size_t i = 0; i < G_N_ELEMENTS(objects); i++) {
		struct wait w = wait_in(p, pid, "main", "wait");

		w.object = profile_object(p, &objects[i]) + 1;
		w.count = w.hist[DELAYED_ACK_SLOT] = 20;
		profile_add_wait(p, &w);
	}
	full_queue_look(p, nets, peers, "/proc");
	nagle_look(p, nets, peers, "/proc");
	owed_look(p, looks, peers);
	g_assert_cmpuint(p->limits->len, ==, 0);
	net_looks_free(looks);
	looks = net_looks_new("/proc");
	for (size_t i = 0; i < G_N_ELEMENTS(waiting); i++) {
		struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(s.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

		waiting[i] = socket(AF_INET, SOCK_STREAM, 0);
		g_assert_cmpint(connect(waiting[i], (const struct sockaddr *)&address, sizeof(address)), ==, 0);
	}
	g_assert_cmpint(send(second.client, "q", 1, 0) + send(third.client, "q", 1, 0), ==, 2);
	g_usleep(REQUEST_AGE_MS * 1000);
	sock_peers_free(peers);
	net_tables_free(nets);
	nets = net_tables_new("/proc");
	peers = sock_peers_new("/proc", nets);
	full_queue_look(p, nets, peers, "/proc");
	owed_look(p, looks, peers);
	full = g_strdup_printf("2 connections in a queue for 1 at %s (", there);
	g_assert_true(g_str_has_prefix(profile_find_limit(p, LIMIT_FULL, pid, 0)->text, full));
	g_assert_true(g_str_has_prefix(profile_find_limit(p, LIMIT_OWED, pid, 0)->text,
				       "4 of 4 looks, 4 of 4 asked: 2 clients wait, 1 connections to 127.0.0.1:"));
	net_looks_free(looks);
	sock_peers_free(peers);
	net_tables_free(nets);
	for (size_t i = 0; i < G_N_ELEMENTS(waiting); i++)
		close(waiting[i]);
	pair_close(&s);
	pair_close(&second);
	pair_close(&third);
	profile_free(p);
}

static bool may_owe(uint16_t port)
{
	struct net_tables *nets = net_tables_new("/proc");
	struct sock_peers *peers = sock_peers_new("/proc", nets);
	const GArray *sockets = net_tables_of(nets, (uint32_t)getpid());
	bool owes = false;

	EACH_ROW(i, const struct net_socket, s, sockets)
		owes = owes || (s->is_tcp && s->local.port == port && s->state == TCP_ESTABLISHED &&
				sock_peers_may_owe(peers, (uint32_t)getpid(), s));
	sock_peers_free(peers);
	net_tables_free(nets);
	return owes;
}

/* A client that asks as soon as it has its answer, within one clock tick, waits as well. */
static void test_asked_at_once(void)
{
	struct pair s = pair_new(), other = pair_new();

	g_assert_cmpint(send(other.client, "q", 1, 0), ==, 1);
	g_usleep(REQUEST_AGE_MS * 1000);
	g_assert_false(may_owe(s.port));
	g_assert_true(may_owe(other.port));
	pair_close(&s);
	pair_close(&other);
}

/* The first answer, of pair_new(), is one segment. */
static void exchange(const struct pair *s, unsigned cnt, unsigned segments)
{
	const int one = 1;
	char byte;

	g_assert_cmpint(setsockopt(s->server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)), ==, 0);
	for (unsigned i = 1; i < segments; i++)
		g_assert_cmpint(send(s->server, "a", 1, 0) + recv(s->client, &byte, 1, 0), ==, 2);
	for (unsigned i = 0; i < cnt; i++) {
		g_assert_cmpint(send(s->client, "q", 1, 0), ==, 1);
		g_assert_cmpint(recv(s->server, &byte, 1, 0), ==, 1);
		for (unsigned k = 0; k < segments; k++)
			g_assert_cmpint(send(s->server, "a", 1, 0) + recv(s->client, &byte, 1, 0), ==, 2);
	}
}

/* The same of clients that have asked often: each lacks one answer, which is one segment, or two. */
static void test_clients_that_ask_at_once(void)
{
	for (int turn = 0; turn < 4; turn++) {
		const bool asks = turn % 2;
		struct pair pairs[] = { pair_new(), pair_new(), pair_new() };
		struct profile *p = profile_new();
		struct net_tables *nets = net_tables_new("/proc");
		struct sock_peers *peers = sock_peers_new("/proc", nets);
		const struct object epoll = { .kind = OBJECT_EPOLL, .operation = "", .name = "3 sockets", .place = "" };
		const uint32_t wait = profile_add_wait(p, &(struct wait){ .thread = fixture_thread(p, (uint32_t)getpid(), 1, "app", "app"),
									   .state = 'S', .count = 20 });

		fixture_is_for(p, wait, &epoll);
		p->info.start_ns = clock_ns(CLOCK_MONOTONIC) - 1000 * MS;
		for (size_t i = 0; i < G_N_ELEMENTS(pairs); i++) {
			exchange(&pairs[i], 20, turn < 2 ? 1 : 2);
			g_assert_cmpint(asks ? send(pairs[i].client, "q", 1, 0) : 1, ==, 1);
		}
		g_usleep(REQUEST_AGE_MS * 1000);
		struct net_looks *looks = net_looks_new("/proc");

		owed_look(p, looks, peers);
		const struct profile_limit *l = profile_find_limit(p, LIMIT_OWED, (uint32_t)getpid(), 0);

		g_assert_true(asks ? l && g_str_has_prefix(l->text, "4 of 4 looks, 4 of 4 asked: 3 clients wait, ") : !l);
		net_looks_free(looks);
		sock_peers_free(peers);
		net_tables_free(nets);
		for (size_t i = 0; i < G_N_ELEMENTS(pairs); i++)
			pair_close(&pairs[i]);
		profile_free(p);
	}
}

static void answer(const struct pair *s)
{
	char byte;

	g_assert_cmpint(recv(s->server, &byte, 1, 0) + send(s->server, "a", 1, 0) + recv(s->client, &byte, 1, 0), ==, 3);
}

/* At each look two clients wait, and at most one is that of the first server, which the last look does not meet. */
static void test_looks(void)
{
	static const int asked[][2] = { { 0, 1 }, { 0, 2 }, { 0, 3 }, { 1, 2 } };
	struct pair pairs[] = { pair_new(), pair_new(), pair_new(), pair_new() };
	const uint32_t pid = (uint32_t)getpid();
	struct net_looks *looks = net_looks_new("/proc");
	struct net_tables *nets = net_tables_new("/proc");
	struct sock_peers *peers = sock_peers_new("/proc", nets);
	struct profile *p = profile_new();
	const struct object epoll = { .kind = OBJECT_EPOLL, .operation = "", .name = "4 sockets", .place = "" };
	g_autoptr(GArray) pids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g_autofree char *text = g_strdup_printf("4 of 4 looks, 3 of 4 asked: 2 clients wait, 1 connections to 127.0.0.1:%u (itself)", pairs[0].port);

	fixture_is_for(p, profile_add_wait(p, &(struct wait){ .thread = fixture_thread(p, pid, 1, "app", "app"), .state = 'S', .count = 20 }),
		       &epoll);
	p->info.start_ns = clock_ns(CLOCK_MONOTONIC) - 1000 * MS;
	g_array_append_val(pids, pid);
	g_assert_false(net_looks_is_due(looks, 100 * MS));
	for (size_t i = 0; i < G_N_ELEMENTS(asked); i++) {
		for (size_t k = 0; k < 2; k++)
			g_assert_cmpint(send(pairs[asked[i][k]].client, "q", 1, 0), ==, 1);
		g_usleep(REQUEST_AGE_MS * 1000);
		if (i + 1 == G_N_ELEMENTS(asked)) {
			owed_look(p, looks, peers);
			break;
		}
		/* far apart, since the time to the next one depends on what a look takes here */
		g_assert_true(net_looks_is_due(looks, (i + 1) * 1000000 * MS));
		net_looks_look(looks, pids, (i + 1) * 1000000 * MS);
		for (size_t k = 0; k < 2; k++)
			answer(&pairs[asked[i][k]]);
		g_usleep(REQUEST_AGE_MS * 1000);
	}
	const struct profile_limit *l = profile_find_limit(p, LIMIT_OWED, pid, 0);
	const char *there;
	uint32_t made;

	g_assert_nonnull(l);
	g_assert_true(g_str_has_prefix(l->text, text));
	g_assert_cmpuint(limit_owed_read(l, &made, &there), ==, 2);
	g_assert_cmpuint(limit_looks_read(l).seen, ==, 4);
	net_looks_free(looks);
	sock_peers_free(peers);
	net_tables_free(nets);
	for (size_t i = 0; i < G_N_ELEMENTS(pairs); i++)
		pair_close(&pairs[i]);
	profile_free(p);
}

static int connection(uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	g_assert_cmpint(connect(fd, (const struct sockaddr *)&address, sizeof(address)), ==, 0);
	return fd;
}

/* A queue that is gone at the end; one that was there at a single look of many is not told. */
static void test_queue_that_is_gone(void)
{
	for (unsigned seen = 1; seen <= 2; seen++) {
		struct pair s = pair_new();
		struct net_looks *looks = net_looks_new("/proc");
		struct net_tables *nets = net_tables_new("/proc");
		struct profile *p = profile_new();
		int waiting[3];
		const char *where;

		g_assert_cmpint(listen(s.listener, 5), ==, 0);
		for (size_t i = 0; i < G_N_ELEMENTS(waiting); i++)
			waiting[i] = connection(s.port);
		for (unsigned i = 1; i <= 4; i++) {
			net_looks_look(looks, NULL, i * 1000 * MS);
			for (size_t k = 0; i == seen && k < G_N_ELEMENTS(waiting); k++) {
				g_assert_cmpint(close(accept(s.listener, NULL, NULL)), ==, 0);
				close(waiting[k]);
			}
		}
		backlog_look(p, looks, nets, "/proc", (uint32_t)getpid());
		const struct profile_limit *l = profile_find_limit(p, LIMIT_BACKLOG, (uint32_t)getpid(), 0);

		g_assert_cmpuint(limit_backlog_read(l, &where), ==, seen == 1 ? 0 : 3);
		g_assert_true(seen == 1 ? !l : g_str_has_prefix(l->text, "2 of 5 looks: 3 connections wait at :"));
		net_looks_free(looks);
		net_tables_free(nets);
		pair_close(&s);
		profile_free(p);
	}
}

/* Whom a process has sent something is silent until it sends something back; one is not looked at all the time. */
static void test_silent(void)
{
	struct pair s = pair_new();
	struct profile *p = profile_new();
	struct silent_peers *silent = silent_peers_new("/proc");
	const uint32_t pid = (uint32_t)getpid();
	g_autofree char *there = g_strdup_printf("127.0.0.1:%u", s.port);
	const char *at = NULL;

	g_usleep(REQUEST_AGE_MS * 1000);	/* within one tick the order is not known */
	g_assert_cmpint(send(s.client, "q", 1, 0), ==, 1);
	g_usleep(REQUEST_AGE_MS * 1000);
	silent_peers_look(silent, pid, 100 * MS);	/* too soon */
	silent_peers_put(silent, p);
	g_assert_null(profile_find_limit(p, LIMIT_SILENT, pid, 0));
	silent_peers_look(silent, pid, 1000 * MS);
	silent_peers_put(silent, p);
	g_assert_cmpuint(limit_silent_read(profile_find_limit(p, LIMIT_SILENT, pid, 0), &at), >=, MS);
	g_assert_cmpstr(at, ==, there);
	profile_free(p);
	p = profile_new();
	g_assert_cmpint(send(s.server, "a", 1, 0), ==, 1);
	g_usleep(REQUEST_AGE_MS * 1000);
	silent_peers_look(silent, pid, 2000 * MS);
	silent_peers_put(silent, p);
	g_assert_null(profile_find_limit(p, LIMIT_SILENT, pid, 0));
	silent_peers_free(silent);
	pair_close(&s);
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/open-requests/asked-at-once", test_asked_at_once);
	g_test_add_func("/open-requests/clients-that-ask-at-once", test_clients_that_ask_at_once);
	g_test_add_func("/open-requests/function", test_function);
	g_test_add_func("/open-requests/port", test_port);
	g_test_add_func("/open-requests/ends", test_ends);
	g_test_add_func("/open-requests/looks", test_looks);
	g_test_add_func("/open-requests/queue-that-is-gone", test_queue_that_is_gone);
	g_test_add_func("/open-requests/silent", test_silent);
	return g_test_run();
}
