/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * hops OUT ROUNDS [apart]: cart asks quoter, which asks ledgerd, which sleeps before each answer.  cart has a network
 * namespace of its own, the others have one together: packets go by a pair of veths, and then by loopback.  apart: ledgerd
 * has one, too.  OUT gets how long cart waited and ledgerd slept.
 */
#include "truth.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define QUOTER_PORT 7302
#define LEDGER_PORT 7301
#define SLEEP_NS 20000000
#define CLIENT "10.254.93.1"
#define SERVER "10.254.93.2"
#define QUOTER "10.254.94.1"	/* where ledgerd is apart */
#define LEDGER "10.254.94.2"

static const char *ledger = "127.0.0.1";

static void must(long result, const char *what)
{
	if (result < 0)
		truth_die(what, errno);
}

static struct sockaddr_in at(const char *address, uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };

	inet_pton(AF_INET, address, &a.sin_addr);
	return a;
}

/* The one connection that comes. */
static int accept_at(uint16_t port)
{
	struct sockaddr_in a = at("0.0.0.0", port);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	must(bind(listener, (const struct sockaddr *)&a, sizeof(a)), "bind");
	must(listen(listener, 4), "listen");
	int fd = accept(listener, NULL, NULL);
	must(fd, "accept");
	return fd;
}

static int connect_to(const char *address, uint16_t port)
{
	struct sockaddr_in a = at(address, port);

	for (int i = 0; i < 400; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (!connect(fd, (const struct sockaddr *)&a, sizeof(a)))
			return fd;
		close(fd);
		usleep(10000);
	}
	truth_die("connect", errno);
}

/* Asks the other end for one byte, in whose function it stands. */
static inline __attribute__((always_inline)) void ask(int fd)
{
	char byte = 1;

	must(write(fd, &byte, 1), "write");
	if (read(fd, &byte, 1) != 1)
		exit(0);
}

SITE void commit_order(void)
{
	const struct timespec t = { .tv_nsec = SLEEP_NS };

	nanosleep(&t, NULL);
}

SITE void relay_quote(int fd)
{
	ask(fd);
}

SITE void load_cart(int fd)
{
	ask(fd);
}

static void ledgerd(void)
{
	int fd = accept_at(LEDGER_PORT);
	char byte;

	prctl(PR_SET_NAME, "ledgerd");
	while (read(fd, &byte, 1) == 1) {
		commit_order();
		must(write(fd, &byte, 1), "write");
	}
	exit(0);
}

static void quoter(void)
{
	int upstream = connect_to(ledger, LEDGER_PORT), fd = accept_at(QUOTER_PORT);
	char byte;

	prctl(PR_SET_NAME, "quoter");
	while (read(fd, &byte, 1) == 1) {
		relay_quote(upstream);
		must(write(fd, &byte, 1), "write");
	}
	exit(0);
}

static pid_t child(void (*run)(void))
{
	pid_t pid = fork();

	must(pid, "fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	run();
	exit(0);
}

/* A pair of veths from our namespace into that process's. */
static void link_to(int pid, const char *name, const char *here, const char *there)
{
	char command[512];

	snprintf(command, sizeof(command),
		 "ip link add %1$s0 type veth peer name %1$s1 netns %2$d && ip addr add %3$s/24 dev %1$s0 && ip link set %1$s0 up && "
		 "nsenter --net=/proc/%2$d/ns/net sh -c 'ip addr add %4$s/24 dev %1$s1 && ip link set %1$s1 up'",
		 name, pid, here, there);
	if (system(command))
		truth_die(command, 0);
}

int main(int argc, char **argv)
{
	uint64_t rounds = truth_arg(argc, argv, 2), waited_ns = 0;
	int fd, pids[3] = { getpid() };
	bool is_apart = argc > 3 && !strcmp(argv[3], "apart");

	truth_open(truth_arg_string(argc, argv, 1));
	prctl(PR_SET_NAME, "cart");
	/* the servers' namespace is made first, and cart's leaves it */
	must(unshare(CLONE_NEWNET), "unshare");
	if (system("ip link set lo up"))
		truth_die("ip", 0);
	pids[1] = child(ledgerd);
	if (is_apart) {
		ledger = LEDGER;
		must(unshare(CLONE_NEWNET), "unshare");
		link_to(pids[1], "far", QUOTER, LEDGER);
	}
	pids[2] = child(quoter);
	must(unshare(CLONE_NEWNET), "unshare");
	link_to(pids[2], "hop", CLIENT, SERVER);
	fd = connect_to(SERVER, QUOTER_PORT);
	load_cart(fd);	/* whatever is done once is done */
	truth_ready(pids, 3);
	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t since_ns = truth_now_ns();

		load_cart(fd);
		waited_ns += truth_now_ns() - since_ns;
	}
	truth_printf("{\"truth\": \"hops\", \"waited_ns\": %llu, \"slept_ns\": %llu}\n", (unsigned long long)waited_ns,
		     (unsigned long long)(rounds * SLEEP_NS));
	truth_done();
	kill(pids[1], SIGKILL);
	kill(pids[2], SIGKILL);
	return 0;
}
