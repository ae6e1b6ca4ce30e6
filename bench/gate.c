// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Preloaded into a tracer, detaches and attaches its BPF programs again and again, and counts what the load gets done while
 * they are attached and while they are not.  All else is as it is: the load goes on, the tracer runs on, its maps keep what
 * they hold.  So what differs between two neighbouring spans is what tracing takes, and not the host's mood, which changes
 * from second to second by more than that.
 *
 * Gated are links to tracepoints (tp_btf, raw_tp) and perf events, with a program or without, which the tracer makes by
 * syscall(2) and ioctl(2), as libbpf, libbcc and perf do.
 *
 * environment:
 *   GATE_COUNTS   file of 64-bit counters, which the load increments (bench/counted_select.lua)
 *   GATE_OUTPUT   file for one line a span: "on" or "off", what was counted, how long it was [ns], how many are gated
 *   GATE_SPAN_MS  length of a span
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define GATED_MAX 4096	/* perf has an event for each CPU */
/* After the programs were changed: what is being patched and remembered anew is not of the span. */
#define GUARD_MS 5
/* The tracer's own start is over by then: its stacks are known, its governor has found its scale. */
#define SETTLE_MS 3000

struct gated {
	int fd;
	long cmd;	/* of bpf(2); -1: a perf event */
	union {
		union bpf_attr link;
		struct perf_event_attr event;
	} attr;
	size_t size;
	long pid, cpu, group, flags;	/* of an event, as it was asked for */
	int program;	/* the event runs this; -1: it samples */
	int is_off;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gated all_gated[GATED_MAX];
static size_t gated_cnt;

static long (*libc_syscall)(long number, ...);
static int (*libc_ioctl)(int fd, unsigned long request, ...);

static void die(const char *what)
{
	fprintf(stderr, "gate: ");
	perror(what);
	_exit(1);
}

/* Others' constructors may call what is interposed before ours. */
static void find_libc(void)
{
	libc_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	libc_ioctl = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
	if (!libc_syscall || !libc_ioctl)
		die("cannot find libc's functions");
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

/* An iterator's link runs nothing by itself. */
static int is_tracepoint(long cmd, const union bpf_attr *attr)
{
	return cmd == BPF_RAW_TRACEPOINT_OPEN || (cmd == BPF_LINK_CREATE && attr->link_create.attach_type == BPF_TRACE_RAW_TP);
}

/* attr has size bytes. */
static void note(const struct gated *what, const void *attr, size_t size)
{
	if (size > sizeof(what->attr))
		die("a tracer that knows more of bpf(2) than this");
	pthread_mutex_lock(&lock);
	if (gated_cnt == GATED_MAX)
		die("too many programs");
	all_gated[gated_cnt] = *what;
	memcpy(&all_gated[gated_cnt].attr, attr, size);
	all_gated[gated_cnt++].size = size;
	pthread_mutex_unlock(&lock);
}

long syscall(long number, ...)
{
	va_list list;
	long a[6], result;

	va_start(list, number);
	for (size_t i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (!libc_syscall)
		find_libc();
	result = libc_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (result < 0)
		return result;
	if (number == SYS_bpf && is_tracepoint(a[0], (const void *)a[1]))
		note(&(struct gated){ .fd = (int)result, .cmd = a[0] }, (const void *)a[1], (size_t)a[2]);
	if (number == SYS_perf_event_open) {
		size_t size = ((const struct perf_event_attr *)a[0])->size;

		note(&(struct gated){ .fd = (int)result, .cmd = -1, .pid = a[1], .cpu = a[2], .group = a[3], .flags = a[4],
				      .program = -1 },
		     (const void *)a[0], size ? size : PERF_ATTR_SIZE_VER0);
	}
	return result;
}

static void note_program(int fd, int program)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < gated_cnt; i++)
		if (all_gated[i].fd == fd)
			all_gated[i].program = program;
	pthread_mutex_unlock(&lock);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	long argument;
	int result;

	va_start(list, request);
	argument = va_arg(list, long);
	va_end(list);
	if (!libc_ioctl)
		find_libc();
	result = libc_ioctl(fd, request, argument);
	if (!result && request == PERF_EVENT_IOC_SET_BPF)
		note_program(fd, (int)argument);
	return result;
}

/* The tracer may have closed it, and the number may be another file's by now. */
static int names(int fd, const char *want)
{
	char path[32], target[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, target, sizeof(target) - 1) > 0 && strstr(target, want) != NULL;
}

static int is_sampling(const struct gated *one)
{
	return one->cmd < 0 && one->program < 0;
}

/* What samples has its buffer mapped, and stays open. */
static int detach(int null_fd)
{
	int cnt = 0;

	for (size_t i = gated_cnt; i-- > 0;) {
		struct gated *one = &all_gated[i];

		one->is_off = names(one->fd, one->cmd < 0 ? "[perf_event]" : "bpf");
		if (!one->is_off)
			continue;
		if (is_sampling(one) ? libc_ioctl(one->fd, PERF_EVENT_IOC_DISABLE, 0) : dup3(null_fd, one->fd, O_CLOEXEC) < 0)
			die("cannot detach");
		cnt++;
	}
	return cnt;
}

static void open_again(const struct gated *one)
{
	struct gated copy = *one;	/* the kernel writes into what it is given */
	long fd;

	if (one->cmd >= 0)
		fd = libc_syscall(SYS_bpf, one->cmd, &copy.attr, one->size);
	else
		fd = libc_syscall(SYS_perf_event_open, &copy.attr, one->pid, one->cpu, one->group, one->flags);
	if (fd < 0 || dup3((int)fd, one->fd, O_CLOEXEC) < 0)
		die("cannot attach");
	close((int)fd);
	if (one->cmd < 0 && (libc_ioctl(one->fd, PERF_EVENT_IOC_SET_BPF, one->program) || libc_ioctl(one->fd, PERF_EVENT_IOC_ENABLE, 0)))
		die("cannot attach to an event");
}

static int attach(void)
{
	int cnt = 0;

	for (size_t i = 0; i < gated_cnt; i++) {
		const struct gated *one = &all_gated[i];

		if (!one->is_off || !names(one->fd, is_sampling(one) ? "[perf_event]" : "/dev/null"))
			continue;
		if (!is_sampling(one))
			open_again(one);
		else if (libc_ioctl(one->fd, PERF_EVENT_IOC_ENABLE, 0))
			die("cannot attach");
		cnt++;
	}
	return cnt;
}

static uint64_t total(const volatile uint64_t *counts, size_t cnt)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < cnt; i++)
		sum += counts[i];
	return sum;
}

static void one_span(FILE *output, const char *what, int gated, const uint64_t *counts, size_t cnt, long span_ms)
{
	uint64_t start_ns, before;

	sleep_ms(GUARD_MS);
	start_ns = now_ns();
	before = total(counts, cnt);
	sleep_ms(span_ms);
	fprintf(output, "%s %llu %llu %d\n", what, (unsigned long long)(total(counts, cnt) - before),
		(unsigned long long)(now_ns() - start_ns), gated);
	fflush(output);
}

/* Returns the counters mapped, with their number in cnt; NULL on failure. */
static const uint64_t *map_counts(const char *path, size_t *cnt)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const uint64_t *counts;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return NULL;
	*cnt = (size_t)st.st_size / sizeof(*counts);
	counts = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	return counts == MAP_FAILED ? NULL : counts;
}

static void *run(void *unused)
{
	const char *span = getenv("GATE_SPAN_MS"), *path = getenv("GATE_COUNTS"), *output_path = getenv("GATE_OUTPUT");
	FILE *output = output_path ? fopen(output_path, "we") : NULL;
	int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const uint64_t *counts;
	size_t cnt = 0;

	counts = path ? map_counts(path, &cnt) : NULL;
	if (!counts || !output || !span || null_fd < 0)
		die("cannot begin");
	sleep_ms(SETTLE_MS);
	for (int gated = 0;;) {	/* of the first span it is not known */
		one_span(output, "on", gated, counts, cnt, atol(span));
		pthread_mutex_lock(&lock);
		gated = detach(null_fd);
		pthread_mutex_unlock(&lock);
		one_span(output, "off", gated, counts, cnt, atol(span));
		pthread_mutex_lock(&lock);
		gated = attach();
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

__attribute__((constructor)) static void begin(void)
{
	sigset_t all, before;
	pthread_t thread;

	find_libc();
	unsetenv("LD_PRELOAD");
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	if (pthread_create(&thread, NULL, run, NULL))
		die("cannot start a thread");
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
