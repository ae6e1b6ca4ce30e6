/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int out_fd = -1;
static uint32_t *gate;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

uint64_t truth_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

int truth_gettid(void)
{
	return (int)sys0(SYS_gettid);
}

void truth_die(const char *what, long err)
{
	fprintf(stderr, "%s: %s\n", what, strerror((int)(err < 0 ? -err : err)));
	exit(1);
}

void truth_open(const char *path)
{
	out_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (out_fd < 0)
		truth_die(path, errno);
	gate = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (gate == MAP_FAILED)
		truth_die("mmap", errno);
}

static void switches(uint64_t *ret_slept, uint64_t *ret_yielded)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	*ret_slept = (uint64_t)usage.ru_nvcsw;
	*ret_yielded = (uint64_t)usage.ru_nivcsw;
}

/* The wall clock is read last before the wait and first after it. */
void truth_begin(struct truth_bracket *b)
{
	switches(&b->slept, &b->yielded);
	b->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	b->wall_ns = clock_ns(CLOCK_MONOTONIC);
}

void truth_end(struct truth *t, const struct truth_bracket *b)
{
	uint64_t wall_ns = clock_ns(CLOCK_MONOTONIC) - b->wall_ns;
	uint64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - b->cpu_ns;
	uint64_t slept, yielded;

	switches(&slept, &yielded);
	t->slept += slept - b->slept;
	t->yielded += yielded - b->yielded;
	t->wall_ns += wall_ns;
	t->cpu_ns += cpu_ns;
	if (!t->calls || wall_ns < t->min_ns)
		t->min_ns = wall_ns;
	if (wall_ns > t->max_ns)
		t->max_ns = wall_ns;
	if (t->calls < TRUTH_WAITS)
		t->waits_ns[t->calls] = wall_ns;
	t->calls++;
}

static void write_out(const char *text, size_t length)
{
	if (write(out_fd, text, length) != (ssize_t)length)
		truth_die("truth file", errno);
}

void truth_printf(const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	int length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0)
		truth_die("vasprintf", errno);
	write_out(text, (size_t)length);
	free(text);
}

static const char *own_comm(void)
{
	static _Thread_local char comm[17];

	prctl(PR_GET_NAME, comm);
	return comm;
}

void truth_write(const struct truth *t)
{
	char *text = NULL;
	size_t length = 0;
	FILE *f = open_memstream(&text, &length);

	if (!f)
		truth_die("open_memstream", errno);
	fprintf(f, "{\"kind\":\"%s\",\"pid\":%d,\"tid\":%d,\"comm\":\"%s\",\"state\":\"%c\",\"chain\":[", t->kind,
		(int)getpid(), truth_gettid(), own_comm(), t->state);
	for (int i = 0; i < TRUTH_CHAIN && t->chain[i]; i++)
		fprintf(f, "%s\"%s\"", i ? "," : "", t->chain[i]);
	fprintf(f, "],\"calls\":%lu,\"slept\":%lu,\"yielded\":%lu,\"wall_ns\":%lu,\"cpu_ns\":%lu,", t->calls, t->slept,
		t->yielded, t->wall_ns, t->cpu_ns);
	fprintf(f, "\"min_ns\":%lu,\"max_ns\":%lu,\"waits_ns\":[", t->min_ns, t->max_ns);
	for (uint64_t i = 0; i < t->calls && i < TRUTH_WAITS; i++)
		fprintf(f, "%s%lu", i ? "," : "", t->waits_ns[i]);
	fprintf(f, "]}\n");
	fclose(f);
	write_out(text, length);
	free(text);
}

void truth_thread_begin(struct truth_thread *t)
{
	switches(&t->slept, &t->yielded);
	t->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	t->wall_ns = clock_ns(CLOCK_MONOTONIC);
}

void truth_thread_write(const struct truth_thread *begin, const char *kind)
{
	struct truth_thread now;

	truth_thread_begin(&now);
	truth_printf("{\"kind\":\"%s\",\"pid\":%d,\"tid\":%d,\"wall_ns\":%lu,\"cpu_ns\":%lu,\"slept\":%lu,\"yielded\":%lu}\n",
		     kind, (int)getpid(), truth_gettid(), now.wall_ns - begin->wall_ns, now.cpu_ns - begin->cpu_ns,
		     now.slept - begin->slept, now.yielded - begin->yielded);
}

void truth_gate_wait(void)
{
	while (!__atomic_load_n(gate, __ATOMIC_ACQUIRE))
		sys4(SYS_futex, gate, FUTEX_WAIT, 0, 0);
}

void truth_gate_open(void)
{
	__atomic_store_n(gate, 1, __ATOMIC_RELEASE);
	sys3(SYS_futex, gate, FUTEX_WAKE, 0x7fffffff);
}

void truth_ready(const int *pids, size_t cnt)
{
	char byte;

	printf("ready");
	if (!cnt)
		printf(" %d", (int)getpid());
	for (size_t i = 0; i < cnt; i++)
		printf(" %d", pids[i]);
	printf("\n");
	fflush(stdout);
	sys3(SYS_read, 0, &byte, 1);
}

void truth_done(void)
{
	char byte;

	printf("done\n");
	fflush(stdout);
	while (sys3(SYS_read, 0, &byte, 1) > 0)
		;
}

const char *truth_arg_string(int argc, char **argv, int i)
{
	if (i >= argc) {
		fprintf(stderr, "%s: argument %d is missing\n", argv[0], i);
		exit(2);
	}
	return argv[i];
}

void truth_tcp_pair(int ret_ends[2])
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&address, &length))
		truth_die("listening on the loopback", errno);
	ret_ends[1] = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(ret_ends[1], (struct sockaddr *)&address, length))
		truth_die("connecting to the loopback", errno);
	ret_ends[0] = accept(listener, NULL, NULL);
	close(listener);
}

uint64_t truth_arg(int argc, char **argv, int i)
{
	const char *text = truth_arg_string(argc, argv, i);
	char *end;
	uint64_t value = strtoull(text, &end, 10);

	if (*end || end == text) {
		fprintf(stderr, "%s: '%s' is no number\n", argv[0], text);
		exit(2);
	}
	return value;
}
