/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * served OUT MODE COUNT: a server on a port of the loopback, and its clients, in one process.  It prints the port to
 * OUT first.  Each request sleeps and burns; the server reads the clock after its receive and before its send, the client
 * before its send and after its receive: a request's wall time lies between the two.
 *
 * plain: two connections, a thread each.  tail: the same, and every fiftieth request waits for 6 ms more.  pieces: each request comes in two halves.  overlap: one thread receives from
 * two connections before it answers both.  within: one thread receives from the first, waits, and receives and answers
 * those of the second before the first is closed.  handed: another thread answers.  unanswered: the server closes.  abandoned: the thread that
 * received it ends; then some connections are answered, others closed, and the last two stay open.  datagrams: UDP.
 * routes (of served_routes): the first connection's requests are POST /order/create, the second's GET /stock/{id}, which
 * waits for nothing, and the thread's trace context says so from behind the receive to behind the send.  early: only to
 * before the send.
 */
#include "truth.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifdef WITH_ROUTES
#include "trace_writer.h"
#else
#define trace_publish() (void)0
#define trace_attach(number, method, route) (void)(number)
#define trace_detach() (void)0
#endif

#define PAUSE_NS 2000000
#define BURN_NS 300000
#define PAIRS 2

struct connection {
	int server, client;
	uint64_t count;
	uint64_t in_ns, around_ns, longest_ns;	/* by the server's clock, by the client's */
	uint64_t *took_ns;	/* of each, by the server's; NULL: it is not asked for */
};

static struct connection connections[PAIRS];
static const char *mode;
static bool in_pieces, has_tail, has_routes, ends_early;
static sem_t received, answered;

static void pause_ns(uint64_t ns)
{
	struct timespec ts = { .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) };

	nanosleep(&ts, NULL);
}

static void burn(void)
{
	struct timespec now;
	uint64_t end_ns = 0, now_ns;

	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
		end_ns = end_ns ? end_ns : now_ns + BURN_NS;
	} while (now_ns < end_ns);
}

/* All of a request, however it comes; when its first byte was there. */
static uint64_t receive(int fd)
{
	char bytes[8];
	uint64_t at_ns = 0;

	for (size_t got = 0; got < sizeof(bytes);) {
		ssize_t n = recv(fd, bytes + got, sizeof(bytes) - got, 0);

		if (n <= 0)
			truth_die("receiving", errno);
		at_ns = at_ns ? at_ns : truth_now_ns();
		got += (size_t)n;
	}
	return at_ns;
}

static void transmit(int fd, const char *bytes, size_t len)
{
	if (send(fd, bytes, len, 0) != (ssize_t)len)
		truth_die("sending", errno);
}

SITE void wait_before(void)
{
	pause_ns(PAUSE_NS);
}

SITE void wait_within(void)
{
	pause_ns(3 * PAUSE_NS);
}

SITE void look_up(void)
{
	struct timespec ts = { .tv_nsec = 3 * PAUSE_NS };

	nanosleep(&ts, NULL);
}

SITE void *server_main(void *arg)
{
	struct connection *c = arg;

	for (uint64_t i = 0; i < c->count; i++) {
		uint64_t at_ns = receive(c->server), took_ns;

		if (has_routes && c != connections)
			trace_attach(2 * i + 1, "GET", "/stock/{id}");
		else if (has_routes)
			trace_attach(2 * i + 2, "POST", "/order/create");
		if (!has_routes || c == connections)
			pause_ns(PAUSE_NS);
		burn();
		if (has_tail && i % 50 == 49)
			look_up();
		took_ns = truth_now_ns() - at_ns;
		if (c->took_ns)
			c->took_ns[i] = took_ns;
		c->in_ns += took_ns;
		c->longest_ns = took_ns > c->longest_ns ? took_ns : c->longest_ns;
		if (ends_early)
			trace_detach();
		transmit(c->server, "answered", 8);
		trace_detach();
	}
	return NULL;
}

/* One thread, both connections at a time. */
static void *overlapping_main(void *arg)
{
	for (uint64_t i = 0; i < connections[0].count; i++) {
		uint64_t at_ns[PAIRS];

		for (int k = 0; k < PAIRS; k++)
			at_ns[k] = receive(connections[k].server);
		pause_ns(PAUSE_NS);
		for (int k = PAIRS - 1; k >= 0; k--) {
			burn();
			connections[k].in_ns += truth_now_ns() - at_ns[k];
			transmit(connections[k].server, "answered", 8);
		}
	}
	return arg;
}

static void *answering_main(void *arg)
{
	for (uint64_t i = 0; i < connections[0].count; i++) {
		sem_wait(&received);
		transmit(connections[0].server, "answered", 8);
		sem_post(&answered);
	}
	return arg;
}

static void *handing_main(void *arg)
{
	for (uint64_t i = 0; i < connections[0].count; i++) {
		receive(connections[0].server);
		pause_ns(PAUSE_NS);
		sem_post(&received);
		sem_wait(&answered);
	}
	return arg;
}

/* Requests of the second connection while one of the first is open, which has waited before each of them. */
static void serve_within(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t at_ns, sent_ns;

		transmit(connections[0].client, "requests", 8);
		receive(connections[0].server);
		wait_before();
		sent_ns = truth_now_ns();
		transmit(connections[1].client, "requests", 8);
		at_ns = receive(connections[1].server);
		wait_within();
		connections[1].in_ns += truth_now_ns() - at_ns;
		transmit(connections[1].server, "answered", 8);
		receive(connections[1].client);
		connections[1].around_ns += truth_now_ns() - sent_ns;
	}
	connections[0].count = 0;
	close(connections[0].server);
}

static void *client_main(void *arg)
{
	struct connection *c = arg;

	for (uint64_t i = 0; i < c->count; i++) {
		uint64_t at_ns;

		if (has_routes && c != connections)
			pause_ns(PAUSE_NS);	/* both take alike long */
		at_ns = truth_now_ns();
		transmit(c->client, "requests", in_pieces ? 4 : 8);
		if (in_pieces) {
			pause_ns(PAUSE_NS);
			transmit(c->client, "ests", 4);
		}
		receive(c->client);
		c->around_ns += truth_now_ns() - at_ns;
	}
	return NULL;
}

static int listen_here(int type, struct sockaddr_in *address)
{
	socklen_t length = sizeof(*address);
	int fd = socket(AF_INET, type, 0);

	*address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (bind(fd, (struct sockaddr *)address, length) || getsockname(fd, (struct sockaddr *)address, &length) ||
	    (type == SOCK_STREAM && listen(fd, 16)))
		truth_die("listening on the loopback", errno);
	return fd;
}

static void connect_all(int listener, const struct sockaddr_in *address, int type, int pairs)
{
	for (int k = 0; k < pairs; k++) {
		struct sockaddr_in from;
		socklen_t length = sizeof(from);

		connections[k].client = socket(AF_INET, type, 0);
		if (connect(connections[k].client, (const struct sockaddr *)address, sizeof(*address)))
			truth_die("connecting", errno);
		connections[k].server = type == SOCK_STREAM ? accept(listener, NULL, NULL) : listener;
		if (type != SOCK_STREAM && (getsockname(connections[k].client, (struct sockaddr *)&from, &length) ||
					    connect(listener, (struct sockaddr *)&from, length)))
			truth_die("connecting back", errno);
	}
}

/* So many connections, each of which is closed with its request read. */
static void close_unanswered(int listener, const struct sockaddr_in *address, uint64_t count)
{
	char byte;

	for (uint64_t i = 0; i < count; i++) {
		connect_all(listener, address, SOCK_STREAM, 1);
		transmit(connections[0].client, "requests", 8);
		receive(connections[0].server);
		pause_ns(PAUSE_NS);
		close(connections[0].server);
		if (recv(connections[0].client, &byte, 1, 0) != 0)
			truth_die("an answer that nobody gave", errno);
		close(connections[0].client);
	}
}

static void *abandoning_main(void *arg)
{
	receive(connections[0].server);
	pause_ns(PAUSE_NS);
	return arg;
}

/* So many connections, the request of each of which is received by a thread that ends. */
static void abandon(int listener, const struct sockaddr_in *address, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		pthread_t thread;

		connect_all(listener, address, SOCK_STREAM, 1);
		transmit(connections[0].client, "requests", 8);
		pthread_create(&thread, NULL, abandoning_main, NULL);
		pthread_join(thread, NULL);
		pause_ns(PAUSE_NS);
		if (i + 2 >= count)
			continue;
		if (i % 2)
			transmit(connections[0].server, "answered", 8);
		close(connections[0].server);
		close(connections[0].client);
	}
}

static void run(int pairs)
{
	pthread_t threads[2 * PAIRS];
	int cnt = 0;

	for (int k = 0; k < pairs; k++)
		pthread_create(&threads[cnt++], NULL, client_main, &connections[k]);
	if (strcmp(mode, "overlap") == 0) {
		pthread_create(&threads[cnt++], NULL, overlapping_main, NULL);
	} else if (strcmp(mode, "handed") == 0) {
		pthread_create(&threads[cnt++], NULL, answering_main, NULL);
		pthread_create(&threads[cnt++], NULL, handing_main, NULL);
	} else {
		for (int k = 0; k < pairs; k++)
			pthread_create(&threads[cnt++], NULL, server_main, &connections[k]);
	}
	for (int i = 0; i < cnt; i++)
		pthread_join(threads[i], NULL);
}

static int by_length(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Of both connections; the sums come in the last line, as ever. */
static void tell_percentiles(uint64_t count)
{
	uint64_t *all = calloc(PAIRS * count, sizeof(*all));

	for (int k = 0; k < PAIRS; k++)
		memcpy(all + k * count, connections[k].took_ns, count * sizeof(*all));
	qsort(all, PAIRS * count, sizeof(*all), by_length);
	truth_printf("{\"p50_ns\":%llu,\"p99_ns\":%llu}\n", (unsigned long long)all[PAIRS * count / 2 - 1],
		     (unsigned long long)all[PAIRS * count * 99 / 100 - 1]);
	free(all);
}

int main(int argc, char **argv)
{
	struct sockaddr_in address;
	uint64_t count = truth_arg(argc, argv, 3), in_ns = 0, around_ns = 0, longest_ns = 0, all = 0;
	int type, pairs, listener;

	mode = truth_arg_string(argc, argv, 2);
	in_pieces = strcmp(mode, "pieces") == 0;
	has_tail = strcmp(mode, "tail") == 0;
	ends_early = strcmp(mode, "early") == 0;
	has_routes = ends_early || strcmp(mode, "routes") == 0;
	type = strcmp(mode, "datagrams") == 0 ? SOCK_DGRAM : SOCK_STREAM;
	pairs = strcmp(mode, "plain") == 0 || strcmp(mode, "overlap") == 0 || strcmp(mode, "within") == 0 ||
				in_pieces || has_tail || has_routes ?
			PAIRS :
			1;
	sem_init(&received, 0, 0);
	sem_init(&answered, 0, 0);
	truth_open(truth_arg_string(argc, argv, 1));
	trace_publish();
	listener = listen_here(type, &address);
	if (strcmp(mode, "unanswered") != 0 && strcmp(mode, "abandoned") != 0)
		connect_all(listener, &address, type, pairs);
	truth_printf("{\"port\":%u}\n", ntohs(address.sin_port));
	truth_ready(NULL, 0);
	for (int k = 0; k < pairs; k++) {
		connections[k].count = count;
		connections[k].took_ns = has_tail ? calloc(count, sizeof(uint64_t)) : NULL;
	}
	if (strcmp(mode, "unanswered") == 0)
		close_unanswered(listener, &address, count);
	else if (strcmp(mode, "abandoned") == 0)
		abandon(listener, &address, count);
	else if (strcmp(mode, "within") == 0)
		serve_within(count);
	else
		run(pairs);
	for (int k = 0; k < pairs && has_routes; k++)
		truth_printf("{\"route\":\"%s\",\"count\":%llu,\"route_in_ns\":%llu,\"route_around_ns\":%llu}\n",
			     k ? "stock" : "create", (unsigned long long)connections[k].count,
			     (unsigned long long)connections[k].in_ns, (unsigned long long)connections[k].around_ns);
	for (int k = 0; k < pairs; k++) {
		all += connections[k].count;
		in_ns += connections[k].in_ns;
		around_ns += connections[k].around_ns;
		longest_ns = connections[k].longest_ns > longest_ns ? connections[k].longest_ns : longest_ns;
	}
	if (has_tail)
		tell_percentiles(count);
	truth_printf("{\"requests\":%llu,\"in_ns\":%llu,\"around_ns\":%llu,\"longest_ns\":%llu}\n", (unsigned long long)all,
		     (unsigned long long)in_ns, (unsigned long long)around_ns, (unsigned long long)longest_ns);
	truth_done();
	return 0;
}
