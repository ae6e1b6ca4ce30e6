/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * objects OUT ROUNDS DIRECTORY: one thread for each kind of thing to wait for, which it waits for ROUNDS times in a function
 * of its own, and says what that is.  A second process is at the other ends.
 */
#include "truth.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_US 4000
#define COLD_BYTES (8 << 20)
#define NAME_BYTES 512

static const char *directory;
static uint64_t rounds;
static pid_t peer;

/* The peer's: its ends, and what of ours it has to close. */
static int tcp_listen, unix_listen, ours_listen;
static int pair[2], to_us[2], from_us[2];

/* Ours. */
static int tcp, local, served, accepting, event, timer, set, set_pipe[2], poll_pipe[2], select_pipe[2], signals, watch, udp, data;
static int polled_pair[2], fifo_reader, fifo_writer;
static char *cold;
static char data_path[256], cold_path[256], unix_path[108], fifo_path[256], watched_path[300];

static void die(const char *what)
{
	truth_die(what, errno);
}

static int ok(int result, const char *what)
{
	if (result < 0)
		die(what);
	return result;
}

static int port_of(int fd, bool of_peer)
{
	struct sockaddr_in in = { 0 };
	socklen_t len = sizeof(in);

	ok(of_peer ? getpeername(fd, (struct sockaddr *)&in, &len) : getsockname(fd, (struct sockaddr *)&in, &len), "getsockname");
	return ntohs(in.sin_port);
}

static struct sockaddr_in loopback(int port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static int bound(int type)
{
	struct sockaddr_in in = loopback(0);
	int fd = ok(socket(AF_INET, type | SOCK_CLOEXEC, 0), "socket");

	ok(bind(fd, (struct sockaddr *)&in, sizeof(in)), "bind");
	if (type == SOCK_STREAM)
		ok(listen(fd, 64), "listen");
	return fd;
}

static int connected(int port)
{
	struct sockaddr_in in = loopback(port);
	int fd = ok(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");

	ok(connect(fd, (struct sockaddr *)&in, sizeof(in)), "connect");
	return fd;
}

/* What each waits for, in the words of the recording. */
struct what {
	const char *site, *kind;
	char name[NAME_BYTES];
	pid_t peer;
	void (*wait)(void);
	uint64_t rounds;	/* 0: as many as the others */
};

#define WAIT(function) SITE void function(void)

#ifdef SYS_poll
#define POLL(p, cnt) sys3(SYS_poll, p, cnt, -1)
#define EPOLL(set, e) sys6(SYS_epoll_wait, (long)(set), (long)(e), 1L, -1L, 0L, 0L)
#define SELECT(end, readers) sys6(SYS_select, (long)(end), (long)(readers), 0L, 0L, 0L, 0L)
#define NAP() sys3(SYS_poll, NULL, 0, TICK_US / 1000)
#else	/* of the newer architectures */
#define POLL(p, cnt) sys6(SYS_ppoll, (long)(p), (long)(cnt), 0L, 0L, 0L, 0L)
#define EPOLL(set, e) sys6(SYS_epoll_pwait, (long)(set), (long)(e), 1L, -1L, 0L, 0L)
#define SELECT(end, readers) sys6(SYS_pselect6, (long)(end), (long)(readers), 0L, 0L, 0L, 0L)
#define NAP() sys6(SYS_ppoll, 0L, 0L, (long)&(struct timespec){ .tv_nsec = TICK_US * 1000L }, 0L, 0L, 0L)
#endif

static char byte[1];

WAIT(wait_tcp) { sys6(SYS_recvfrom, (long)tcp, (long)byte, (long)1, (long)0, (long)NULL, (long)NULL); }
WAIT(wait_local) { sys3(SYS_read, local, byte, 1); }
WAIT(wait_served) { sys3(SYS_read, served, byte, 1); }
WAIT(wait_pair) { sys3(SYS_read, pair[0], byte, 1); }
WAIT(wait_pipe) { sys3(SYS_read, to_us[0], byte, 1); }
WAIT(wait_poll) { struct pollfd p = { poll_pipe[0], POLLIN, 0 }; POLL(&p, 1); sys3(SYS_read, poll_pipe[0], byte, 1); }
WAIT(wait_nothing) { NAP(); }
WAIT(wait_event) { uint64_t cnt; sys3(SYS_read, event, &cnt, 8); }
WAIT(wait_timer) { uint64_t cnt; sys3(SYS_read, timer, &cnt, 8); }
WAIT(wait_set) { struct epoll_event e; EPOLL(set, &e); sys3(SYS_read, set_pipe[0], byte, 1); }
WAIT(wait_signal) { struct signalfd_siginfo info; sys3(SYS_read, signals, &info, sizeof(info)); }
WAIT(wait_udp) { sys6(SYS_recvfrom, (long)udp, (long)byte, (long)1, (long)0, (long)NULL, (long)NULL); }
WAIT(wait_fifo) { sys3(SYS_read, fifo_reader, byte, 1); }

WAIT(wait_accept)
{
	long fd = sys3(SYS_accept, accepting, NULL, NULL);

	if (fd >= 0)
		close((int)fd);
}

WAIT(wait_full)
{
	static char many[65536];

	sys3(SYS_write, from_us[1], many, sizeof(many));
}

WAIT(wait_many)
{
	struct pollfd p[2] = { { polled_pair[0], POLLIN, 0 }, { poll_pipe[1], 0, 0 } };

	POLL(p, 2);
	sys3(SYS_read, polled_pair[0], byte, 1);
}

WAIT(wait_select)
{
	fd_set readers;

	FD_ZERO(&readers);
	FD_SET(select_pipe[0], &readers);
	SELECT(select_pipe[0] + 1, &readers);
	sys3(SYS_read, select_pipe[0], byte, 1);
}

WAIT(wait_watch)
{
	char events[1024];

	sys3(SYS_read, watch, events, sizeof(events));
}

WAIT(wait_child)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_NAME, "obj-child");
		usleep(TICK_US);
		_exit(0);
	}
	sys6(SYS_wait4, (long)pid, (long)NULL, (long)0, (long)NULL, (long)0, (long)0);
}

WAIT(wait_fsync)
{
	static char block[65536];

	memset(block, rand(), sizeof(block));
	if (pwrite(data, block, sizeof(block), (rand() % 64) * (off_t)sizeof(block)) < 0)
		die("write");
	sys3(SYS_fsync, data, 0, 0);
}

WAIT(wait_fault)
{
	static size_t at;
	volatile char *p = cold;

	(void)p[at % COLD_BYTES];
	at += 256 << 10;
}

static struct what all[] = {
	{ .site = "wait_tcp", .kind = "socket", .wait = wait_tcp },
	{ .site = "wait_local", .kind = "socket", .wait = wait_local },
	{ .site = "wait_served", .kind = "socket", .wait = wait_served },
	{ .site = "wait_pair", .kind = "socket", .wait = wait_pair },
	{ .site = "wait_accept", .kind = "socket", .wait = wait_accept },
	{ .site = "wait_udp", .kind = "socket", .wait = wait_udp },
	{ .site = "wait_pipe", .kind = "pipe", .wait = wait_pipe },
	{ .site = "wait_full", .kind = "pipe", .wait = wait_full },
	{ .site = "wait_fifo", .kind = "pipe", .wait = wait_fifo },
	{ .site = "wait_poll", .kind = "pipe", .wait = wait_poll },
	{ .site = "wait_select", .kind = "pipe", .wait = wait_select },
	{ .site = "wait_nothing", .kind = "none", .wait = wait_nothing },
	{ .site = "wait_many", .kind = "poll", .wait = wait_many },
	{ .site = "wait_event", .kind = "eventfd", .wait = wait_event },
	{ .site = "wait_timer", .kind = "timerfd", .wait = wait_timer },
	{ .site = "wait_set", .kind = "epoll", .wait = wait_set },
	{ .site = "wait_signal", .kind = "signalfd", .wait = wait_signal },
	{ .site = "wait_watch", .kind = "inotify", .wait = wait_watch },
	{ .site = "wait_child", .kind = "child", .wait = wait_child },
	{ .site = "wait_fsync", .kind = "file", .wait = wait_fsync },
	{ .site = "wait_fault", .kind = "page fault", .wait = wait_fault },
};
#define ALL (sizeof(all) / sizeof(all[0]))

static void say(const char *site, pid_t pid, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void say(const char *site, pid_t pid, const char *format, ...)
{
	for (size_t i = 0; i < ALL; i++) {
		va_list args;

		if (strcmp(all[i].site, site) != 0)
			continue;
		va_start(args, format);
		vsnprintf(all[i].name, NAME_BYTES, format, args);
		va_end(args);
		all[i].peer = pid;
	}
}

static void *waiter(void *arg)
{
	struct what *w = arg;

	truth_gate_wait();
	for (uint64_t i = 0; i < (w->rounds ? w->rounds : rounds); i++)
		w->wait();
	truth_printf("{\"truth\": \"object\", \"site\": \"%s\", \"kind\": \"%s\", \"name\": \"%s\", \"peer\": %d, "
		     "\"pid\": %d, \"tid\": %d}\n", w->site, w->kind, w->name, w->peer, getpid(), truth_gettid());
	return NULL;
}

/* Each waiter may need more rounds than there are ticks where it was not waiting yet: so it goes on until killed. */
static void be_peer(int served_port)
{
	int they_read, they_read_local, client;

	prctl(PR_SET_NAME, "obj-peer");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	close(ours_listen);
	close(pair[0]);
	close(to_us[0]);
	close(from_us[1]);
	they_read = ok(accept(tcp_listen, NULL, NULL), "accept");
	they_read_local = ok(accept(unix_listen, NULL, NULL), "accept");
	client = connected(served_port);
	truth_gate_wait();
	for (;;) {
		static char many[65536];

		usleep(TICK_US);
		if (write(they_read, "x", 1) + write(they_read_local, "x", 1) + write(client, "x", 1) + write(pair[1], "x", 1) +
		    write(to_us[1], "x", 1) < 0)
			continue;
		if (read(from_us[0], many, sizeof(many)) < 0)
			continue;
	}
}

/* The other ends that are in this process. */
static void *ticker(void *arg)
{
	struct sockaddr_in in = loopback(port_of(udp, false));
	int sender = ok(socket(AF_INET, SOCK_DGRAM, 0), "socket"), port = port_of(accepting, false);
	uint64_t one = 1;

	truth_gate_wait();
	for (;;) {
		usleep(TICK_US);
		close(connected(port));
		sendto(sender, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&in, sizeof(in));
		if (write(poll_pipe[1], "x", 1) + write(select_pipe[1], "x", 1) + write(set_pipe[1], "x", 1) + write(event, &one, 8) +
		    write(polled_pair[1], "x", 1) + write(fifo_writer, "x", 1) < 0)
			continue;
		kill(getpid(), SIGUSR1);
		close(open(watched_path, O_CREAT | O_RDWR, 0600));
	}
	return arg;
}

static void set_up_shared(void)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	snprintf(unix_path, sizeof(unix_path), "%s/sock", directory);
	strcpy(un.sun_path, unix_path);
	unlink(unix_path);
	tcp_listen = bound(SOCK_STREAM);
	ours_listen = bound(SOCK_STREAM);
	unix_listen = ok(socket(AF_UNIX, SOCK_STREAM, 0), "socket");
	ok(bind(unix_listen, (struct sockaddr *)&un, sizeof(un)), "bind");
	ok(listen(unix_listen, 8), "listen");
	ok(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
	ok(pipe(to_us), "pipe");
	ok(pipe(from_us), "pipe");
}

static void meet_peer(void)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	tcp = connected(port_of(tcp_listen, false));
	local = ok(socket(AF_UNIX, SOCK_STREAM, 0), "socket");
	strcpy(un.sun_path, unix_path);
	ok(connect(local, (struct sockaddr *)&un, sizeof(un)), "connect");
	served = ok(accept(ours_listen, NULL, NULL), "accept");
	say("wait_tcp", peer, "127.0.0.1:%d (obj-peer)", port_of(tcp_listen, false));
	say("wait_local", peer, "%s (obj-peer)", unix_path);
	say("wait_served", peer, ":%d from 127.0.0.1 (obj-peer)", port_of(ours_listen, false));
	say("wait_pair", peer, "unix socket (obj-peer)");
	say("wait_pipe", peer, "pipe from obj-peer");
	say("wait_full", peer, "pipe to obj-peer");
	close(tcp_listen);
	close(unix_listen);
	close(pair[1]);
	close(to_us[1]);
	close(from_us[0]);
}

static void set_up_events(void)
{
	const struct itimerspec every = { .it_interval.tv_nsec = 5000000, .it_value.tv_nsec = 5000000 };
	struct epoll_event e = { .events = EPOLLIN };
	sigset_t mask;

	event = ok(eventfd(0, 0), "eventfd");
	timer = ok(timerfd_create(CLOCK_MONOTONIC, 0), "timerfd");
	ok(timerfd_settime(timer, 0, &every, NULL), "timerfd");
	set = ok(epoll_create1(0), "epoll");
	ok(pipe(set_pipe), "pipe");
	ok(epoll_ctl(set, EPOLL_CTL_ADD, set_pipe[0], &e), "epoll");
	int quiet = ok(timerfd_create(CLOCK_MONOTONIC, 0), "timerfd");
	ok(epoll_ctl(set, EPOLL_CTL_ADD, quiet, &e), "epoll");
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	signals = ok(signalfd(-1, &mask, 0), "signalfd");
	watch = ok(inotify_init1(0), "inotify");
	ok(inotify_add_watch(watch, directory, IN_OPEN), "inotify");
	say("wait_event", 0, "fd %d of objects", event);
	say("wait_timer", 0, "every 5 ms (fd %d of objects)", timer);
	say("wait_set", 0, "1 pipe, 1 timerfd (fd %d of objects)", set);
	say("wait_signal", 0, "fd %d of objects", signals);
	say("wait_watch", 0, "fd %d of objects", watch);
}

static void set_up_own(void)
{
	ok(pipe(poll_pipe), "pipe");
	ok(pipe(select_pipe), "pipe");
	ok(socketpair(AF_UNIX, SOCK_STREAM, 0, polled_pair), "socketpair");
	accepting = bound(SOCK_STREAM);
	udp = bound(SOCK_DGRAM);
	snprintf(fifo_path, sizeof(fifo_path), "%s/fifo", directory);
	unlink(fifo_path);
	ok(mkfifo(fifo_path, 0600), "mkfifo");
	fifo_writer = ok(open(fifo_path, O_RDWR), "open");
	fifo_reader = ok(open(fifo_path, O_RDONLY), "open");
	say("wait_poll", getpid(), "pipe from objects");
	say("wait_select", getpid(), "pipe from objects");
	say("wait_nothing", 0, "no descriptor");
	say("wait_many", getpid(), "unix socket (objects) and 1 more");
	say("wait_accept", 0, "127.0.0.1:%d listening", port_of(accepting, false));
	say("wait_udp", 0, "127.0.0.1:%d bound", port_of(udp, false));
	say("wait_fifo", 0, "%s", fifo_path);
	say("wait_child", -1, "obj-child");
}

static void set_up_files(void)
{
	static char block[1 << 20];
	int fd;

	snprintf(watched_path, sizeof(watched_path), "%s/touched", directory);
	snprintf(data_path, sizeof(data_path), "%s/data", directory);
	snprintf(cold_path, sizeof(cold_path), "%s/cold", directory);
	data = ok(open(data_path, O_CREAT | O_RDWR | O_TRUNC, 0600), "open");
	fd = ok(open(cold_path, O_CREAT | O_RDWR | O_TRUNC, 0600), "open");
	memset(block, 1, sizeof(block));
	for (int i = 0; i < COLD_BYTES / (int)sizeof(block); i++)
		if (write(fd, block, sizeof(block)) < 0)
			die("write");
	fsync(fd);
	ok(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), "fadvise");
	cold = mmap(NULL, COLD_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	madvise(cold, COLD_BYTES, MADV_RANDOM);
	say("wait_fsync", 0, "%s", data_path);
	say("wait_fault", 0, "%s", cold_path);
}

int main(int argc, char **argv)
{
	pthread_t threads[ALL], tick;

	if (argc != 4)
		return 2;
	truth_open(argv[1]);
	rounds = strtoull(argv[2], NULL, 10);
	directory = argv[3];
	set_up_shared();
	int port = port_of(ours_listen, false);
	peer = fork();
	if (!peer)
		be_peer(port);
	meet_peer();
	set_up_events();
	set_up_own();
	set_up_files();
	for (size_t i = 0; i < ALL; i++)
		pthread_create(&threads[i], NULL, waiter, &all[i]);
	pthread_create(&tick, NULL, ticker, NULL);
	truth_ready(NULL, 0);
	truth_gate_open();
	for (size_t i = 0; i < ALL; i++)
		pthread_join(threads[i], NULL);
	truth_done();
	kill(peer, SIGKILL);
	return 0;
}
