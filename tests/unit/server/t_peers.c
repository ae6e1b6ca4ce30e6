/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/connections.h"

#define SECOND G_USEC_PER_SEC
#define PLACES 8

struct pair {
	int ours, theirs;
	struct peer *peer;
};

static void open_pair(struct pair *p, struct peers *peers, gint64 now_us)
{
	int fds[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), ==, 0);
	p->ours = fds[0];
	p->theirs = fds[1];
	p->peer = peer_add(peers, p->ours, now_us);
}

static void close_pair(struct pair *p, struct peers *peers)
{
	peer_remove(peers, p->peer);
	close(p->ours);
	close(p->theirs);
}

/* What the loop that moves the bytes would see. */
static gboolean is_shut(const struct pair *p)
{
	struct pollfd fd = { .fd = p->ours, .events = POLLIN };

	return poll(&fd, 1, 0) == 1 && fd.revents & POLLIN;
}

static void test_slow(void)
{
	struct peers *peers = peers_new(PLACES);
	struct pair p[3];

	for (guint i = 0; i < G_N_ELEMENTS(p); i++)
		open_pair(&p[i], peers, SECOND);
	peer_does(peers, p[1].peer, PEER_ASKING, SECOND);
	peer_does(peers, p[2].peer, PEER_ANSWERING, SECOND);
	peers_sweep(peers, 10 * SECOND);
	g_assert_false(is_shut(&p[0]));
	peers_sweep(peers, 12 * SECOND);
	g_assert_true(is_shut(&p[0]) && !is_shut(&p[1]) && !is_shut(&p[2]));
	peers_sweep(peers, 700 * SECOND);
	g_assert_true(!is_shut(&p[1]) && is_shut(&p[2]));
	for (guint i = 0; i < G_N_ELEMENTS(p); i++)
		close_pair(&p[i], peers);
	peers_free(peers);
}

/* Whoever opens connections and asks nothing takes none away from others. */
static void test_crowd(void)
{
	struct peers *peers = peers_new(PLACES);
	struct pair p[2 * PLACES];

	for (guint i = 0; i < G_N_ELEMENTS(p); i++) {
		open_pair(&p[i], peers, SECOND);
		if (i == 1)
			peer_does(peers, p[i].peer, PEER_ASKING, SECOND);
	}
	g_assert_true(is_shut(&p[0]) && !is_shut(&p[1]) && is_shut(&p[2]));
	g_assert_false(is_shut(&p[2 * PLACES - 1]));
	for (guint i = 0; i < G_N_ELEMENTS(p); i++)
		close_pair(&p[i], peers);
	peers_free(peers);
}

/* Nor does whoever asks and takes the answer so slowly that it never ends; one that has just begun may end it. */
static void test_slow_answers(void)
{
	struct peers *peers = peers_new(PLACES);
	struct pair p[PLACES], quick, late;

	for (guint i = 0; i < G_N_ELEMENTS(p); i++) {
		open_pair(&p[i], peers, SECOND);
		peer_does(peers, p[i].peer, PEER_ANSWERING, SECOND);
	}
	open_pair(&quick, peers, 2 * SECOND);
	peer_does(peers, quick.peer, PEER_ANSWERING, 2 * SECOND);
	g_assert_false(is_shut(&p[0]));
	open_pair(&late, peers, 12 * SECOND);
	g_assert_true(is_shut(&p[0]) && !is_shut(&p[1]) && !is_shut(&late));
	for (guint i = 0; i < G_N_ELEMENTS(p); i++)
		close_pair(&p[i], peers);
	close_pair(&quick, peers);
	close_pair(&late, peers);
	peers_free(peers);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/server/peers/slow", test_slow);
	g_test_add_func("/server/peers/crowd", test_crowd);
	g_test_add_func("/server/peers/slow-answers", test_slow_answers);
	return g_test_run();
}
