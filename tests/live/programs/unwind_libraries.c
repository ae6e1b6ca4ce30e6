/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * unwind_libraries OUT DIR LIBRARIES MAPPINGS US: loads DIR/0.so, DIR/1.so and so on, maps the first so many times more,
 * and has plugin_run() of each library sleep once for US.
 */
#include "truth.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

typedef void (*run_fn)(uint64_t count, uint64_t nap_us);

static struct truth t = { .kind = "unwind", .state = 'S', .chain = { "main", "run_site", "plugin_run", "plugin_site" } };

static void library_path(char *path, size_t size, const char *dir, uint64_t i)
{
	snprintf(path, size, "%s/%llu.so", dir, (unsigned long long)i);
}

static run_fn load(const char *dir, uint64_t i)
{
	char path[256];
	void *library;
	run_fn run;

	library_path(path, sizeof(path), dir, i);
	library = dlopen(path, RTLD_NOW);
	run = library ? (run_fn)dlsym(library, "plugin_run") : NULL;
	if (!run) {
		fprintf(stderr, "%s\n", dlerror());
		truth_die(path, ENOENT);
	}
	return run;
}

/* The kernel makes one of two mappings only where the file goes on from one to the next. */
static void map_often(const char *dir, uint64_t count)
{
	char path[256];
	int fd;

	library_path(path, sizeof(path), dir, 0);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		truth_die(path, errno);
	for (uint64_t i = 0; i < count; i++)
		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			truth_die("mmap", errno);
}

SITE void run_site(const run_fn *runs, uint64_t count, uint64_t nap_us)
{
	for (uint64_t i = 0; i < count; i++) {
		struct truth_bracket b;

		truth_begin(&b);
		runs[i](1, nap_us);
		truth_end(&t, &b);
	}
}

int main(int argc, char **argv)
{
	const char *dir = truth_arg_string(argc, argv, 2);
	uint64_t count = truth_arg(argc, argv, 3);
	run_fn *runs = calloc(count, sizeof(*runs));

	if (!runs)
		truth_die("calloc", ENOMEM);
	truth_open(truth_arg_string(argc, argv, 1));
	for (uint64_t i = 0; i < count; i++)
		runs[i] = load(dir, i);
	map_often(dir, truth_arg(argc, argv, 4));
	truth_ready(NULL, 0);
	run_site(runs, count, truth_arg(argc, argv, 5));
	truth_write(&t);
	truth_done();
	return 0;
}
