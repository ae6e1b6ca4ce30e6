/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * traces OUT REQUESTS [LIBRARY|hostile]: threads that work for requests of three routes, each with its own kind of wait,
 * and say so in their trace contexts.  LIBRARY: it is loaded for that while the program runs.  hostile: they say what
 * nobody should believe.
 */
#include "trace_writer.h"
#include "truth.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define THREADS 3

#ifdef BY_NAME
static void (*attach)(uint64_t number, const char *method, const char *route);
static void (*detach)(void);
#else
#define attach trace_attach
#define detach trace_detach
#endif

static uint64_t requests;
static int pipe_ends[2];
static pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER;

SITE void nap_site(uint64_t us)
{
	struct timespec ts = { .tv_nsec = (long)us * 1000 };

	nanosleep(&ts, NULL);
}

SITE void create_order(void)
{
	char byte;

	if (read(pipe_ends[0], &byte, 1) != 1)
		truth_die("read", -1);
}

SITE void take_stock(void)
{
	pthread_mutex_lock(&stock);
	nap_site(3000);
	pthread_mutex_unlock(&stock);
}

SITE void find_words(void)
{
	nap_site(4000);
}

static const struct route {
	const char *method, *path;
	void (*serve)(void);
} routes[] = { { "POST", "/order/create", create_order }, { "GET", "/stock/{id}", take_stock }, { "GET", "/search", find_words } };
#define ROUTES (sizeof(routes) / sizeof(routes[0]))

static void *serve(void *arg)
{
	uint64_t thread = (uint64_t)(uintptr_t)arg;
	struct truth own[ROUTES] = { { .calls = 0 } };

	truth_gate_wait();
	for (uint64_t i = 0; i < requests; i++) {
		const struct route *r = &routes[(i + thread) % ROUTES];
		struct truth *t = &own[(i + thread) % ROUTES];
		struct truth_bracket b;

		attach(1 + thread * requests + i, r->method, r->path);
		truth_begin(&b);
		r->serve();
		truth_end(t, &b);
		detach();
		nap_site(200);	/* between requests: of none */
	}
	for (size_t i = 0; i < ROUTES; i++)
		truth_printf("{\"kind\": \"route\", \"route\": \"%s %s\", \"tid\": %d, \"calls\": %llu, \"wall_ns\": %llu, "
			     "\"cpu_ns\": %llu}\n",
			     routes[i].method, routes[i].path, truth_gettid(), (unsigned long long)own[i].calls,
			     (unsigned long long)own[i].wall_ns, (unsigned long long)own[i].cpu_ns);
	return NULL;
}

static void *feed(void *arg)
{
	truth_gate_wait();
	for (;;) {
		nap_site(7000);
		if (write(pipe_ends[1], "x", 1) != 1)
			return arg;
	}
}

#ifndef BY_NAME
/* One record after another that is none, or says what it does not have; with a nap for each. */
static void *lie(void *arg)
{
	uint8_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *at = page + 4096 - 32;
	const struct {
		void *point;
		uint8_t valid, head[6];	/* bytes of attributes, an attribute */
	} lies[] = {
		{ (void *)8, 1, { 0 } },	/* nowhere */
		{ at, 0, { 0 } },	/* not valid */
		{ at, 1, { 0xff, 0xff, 2, 1, 'x' } },	/* longer than its page */
		{ at, 1, { 4, 0, 2, 200, 'x', 'y' } },	/* an attribute longer than the record */
		{ at, 1, { 4, 0, 77, 2, 'x', 'y' } },	/* of a number that the process does not explain */
		{ (void *)UINT64_MAX, 1, { 0 } },
	};

	truth_gate_wait();
	munmap(page + 4096, 4096);
	for (uint64_t i = 0; i < requests; i++) {
		size_t lie = i % (sizeof(lies) / sizeof(lies[0]));

		memset(at, 0xee, 32);
		at[24] = lies[lie].valid;
		memcpy(at + 26, lies[lie].head, sizeof(lies[lie].head));
		trace_point(lies[lie].point);
		nap_site(1000);
	}
	trace_point(NULL);
	return arg;
}
#endif

#ifndef BY_NAME
static bool is_hostile;
#endif

static void load(const char *path)
{
#ifdef BY_NAME
	void *library = dlopen(path, RTLD_NOW);

	if (!library)
		truth_die(dlerror(), 0);
	*(void **)&attach = dlsym(library, "trace_attach");
	*(void **)&detach = dlsym(library, "trace_detach");
	attach(0, "", "");	/* the main thread has its block of it */
	detach();
#else
	is_hostile = !strcmp(path, "hostile");
#endif
}

int main(int argc, char **argv)
{
	void *(*work)(void *) = serve;
	pthread_t threads[THREADS], feeder;

	truth_open(truth_arg_string(argc, argv, 1));
	requests = truth_arg(argc, argv, 2);
	load(argc > 3 ? argv[3] : "");
#ifndef BY_NAME
	if (is_hostile)
		work = lie;
#endif
	trace_publish();
	if (pipe(pipe_ends))
		truth_die("pipe", -1);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	pthread_create(&feeder, NULL, feed, NULL);
	truth_ready(NULL, 0);
	truth_gate_open();
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	truth_done();
	return 0;
}
