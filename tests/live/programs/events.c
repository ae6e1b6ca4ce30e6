/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "truth.h"

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* The second number of schedstat. */
static int64_t delay_ns(int fd)
{
	char text[96], *second;
	ssize_t length = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	if (length <= 0)
		return -1;
	text[length] = 0;
	strtoull(text, &second, 10);
	return (int64_t)strtoull(second, NULL, 10);
}

static void read_switches(struct event_reading *r)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	r->slept = (uint64_t)usage.ru_nvcsw;
	r->yielded = (uint64_t)usage.ru_nivcsw;
}

struct event_log *events_new(uint64_t capacity)
{
	size_t bytes = sizeof(struct event_log) + capacity * sizeof(struct event);
	struct event_log *log =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (log == MAP_FAILED)
		truth_die("mmap", errno);
	log->capacity = capacity;
	log->delay_fd = -1;
	return log;
}

void events_mine(struct event_log *log)
{
	log->pid = (int)getpid();
	log->tid = truth_gettid();
	log->delay_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
}

/*
 * The wall clock is read last before the event and first after it.  Switches are read outside of the delay: a
 * preemption between two readings shows as one in the event, and says that its delay may be on either side.
 */
struct event *event_begin(struct event_log *log, char what, uint64_t channel)
{
	if (log->cnt >= log->capacity)
		truth_die("more events than there is room for", 0);

	struct event *e = &log->events[log->cnt];

	e->what = what;
	e->channel = channel;
	read_switches(&e->before);
	e->before.delay_ns = delay_ns(log->delay_fd);
	e->before.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	e->before.wall_ns = clock_ns(CLOCK_MONOTONIC);
	return e;
}

void event_end(struct event_log *log, struct event *e, uint64_t serial)
{
	e->after.wall_ns = clock_ns(CLOCK_MONOTONIC);
	e->after.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	e->after.delay_ns = delay_ns(log->delay_fd);
	read_switches(&e->after);
	e->serial = serial;
	log->cnt++;
}

static void write_reading(FILE *f, const struct event_reading *r)
{
	fprintf(f, "[%lu,%lu,%lu,%lu,%ld]", r->wall_ns, r->cpu_ns, r->slept, r->yielded, r->delay_ns);
}

static void write_site(FILE *f, const char *name, const char *site)
{
	if (site)
		fprintf(f, ",\"%s\":\"%s\"", name, site);
	else
		fprintf(f, ",\"%s\":null", name);
}

void events_write(const struct event_log *log, const char *comm, const char *sleep_site, const char *nap_site,
		  const char *wake_site)
{
	char *text = NULL;
	size_t length = 0;
	FILE *f = open_memstream(&text, &length);

	if (!f)
		truth_die("open_memstream", errno);
	fprintf(f, "{\"kind\":\"events\",\"pid\":%d,\"tid\":%d,\"comm\":\"%s\"", log->pid, log->tid, comm);
	write_site(f, "sleep_site", sleep_site);
	write_site(f, "nap_site", nap_site);
	write_site(f, "wake_site", wake_site);
	fprintf(f, ",\"events\":[");
	for (uint64_t i = 0; i < log->cnt; i++) {
		const struct event *e = &log->events[i];

		fprintf(f, "%s[\"%c\",%lu,%lu,", i ? "," : "", e->what, e->channel, e->serial);
		write_reading(f, &e->before);
		fprintf(f, ",");
		write_reading(f, &e->after);
		fprintf(f, "]");
	}
	fprintf(f, "]}\n");
	fclose(f);
	truth_printf("%s", text);
	free(text);
}
