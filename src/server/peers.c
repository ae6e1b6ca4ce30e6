/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "server/connections.h"

#include <stdbool.h>
#include <sys/socket.h>

#include "base/each.h"

#define WAITING_MAX_US (10 * G_USEC_PER_SEC)
#define ANSWERING_MAX_US (600 * G_USEC_PER_SEC)

struct peer {
	int fd;
	enum peer_doing doing;
	gint64 since_us;
	bool is_shut;
};

struct peers {
	GMutex lock;
	GQueue all;	/* in order of arrival */
	unsigned max;
};

struct peers *peers_new(unsigned max)
{
	struct peers *peers = g_new0(struct peers, 1);

	g_mutex_init(&peers->lock);
	peers->max = max;
	return peers;
}

FREES(peers_free, struct peers, peers, g_queue_clear_full(&peers->all, g_free); g_mutex_clear(&peers->lock))

/* The event loop then notices the end and closes it. */
static void shut_peer(struct peer *p)
{
	p->is_shut = true;
	shutdown(p->fd, SHUT_RDWR);
}

/* The first in order of arrival that has been in that state since then. */
static struct peer *first_of(struct peers *peers, enum peer_doing doing, gint64 since_us)
{
	for (GList *l = peers->all.head; l; l = l->next) {
		struct peer *p = l->data;

		if (p->doing == doing && !p->is_shut && p->since_us <= since_us)
			return p;
	}
	return NULL;
}

/* When nearly full, shuts down the oldest connection without a request, else one that reads its answer slowly. */
static void make_room(struct peers *peers, gint64 now_us)
{
	unsigned places = peers->max - peers->max / 4;
	struct peer *p;

	if (peers->all.length <= places)
		return;
	p = first_of(peers, PEER_WAITING, now_us);
	if (!p)
		p = first_of(peers, PEER_ANSWERING, now_us - WAITING_MAX_US);
	if (p)
		shut_peer(p);
}

struct peer *peer_add(struct peers *peers, int fd, gint64 now_us)
{
	struct peer *p = g_new0(struct peer, 1);

	p->fd = fd;
	p->since_us = now_us;
	g_mutex_lock(&peers->lock);
	make_room(peers, now_us);
	g_queue_push_tail(&peers->all, p);
	g_mutex_unlock(&peers->lock);
	return p;
}

void peer_remove(struct peers *peers, struct peer *p)
{
	g_mutex_lock(&peers->lock);
	g_queue_remove(&peers->all, p);
	g_mutex_unlock(&peers->lock);
	g_free(p);
}

void peer_does(struct peers *peers, struct peer *p, enum peer_doing doing, gint64 now_us)
{
	g_mutex_lock(&peers->lock);
	p->doing = doing;
	p->since_us = now_us;
	g_mutex_unlock(&peers->lock);
}

void peers_sweep(struct peers *peers, gint64 now_us)
{
	g_mutex_lock(&peers->lock);
	for (GList *l = peers->all.head; l; l = l->next) {
		struct peer *p = l->data;
		gint64 max_us = p->doing == PEER_WAITING ? WAITING_MAX_US : ANSWERING_MAX_US;

		if (p->doing != PEER_ASKING && !p->is_shut && now_us - p->since_us > max_us)
			shut_peer(p);
	}
	g_mutex_unlock(&peers->lock);
}
