/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * unwind_forks OUT LIBRARY TWIN COUNT US: sleeps in LIBRARY's plugin_run(), then forks two children, and all three sleep
 * there again, called from the same place.  One child has put TWIN's code where LIBRARY's was: the same code at the same
 * addresses under other names.
 */
#include "truth.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHAIN(last) { "main", "forks_site", "plugin_run", last }

static struct truth here = { .kind = "unwind", .state = 'S', .chain = CHAIN("plugin_site") };
static struct truth there = { .kind = "unwind", .state = 'S', .chain = CHAIN("plugin_twin") };

/* Its data stay: what the loader has written there holds for the twin, too. */
static void put_in_place(const char *library, const char *twin)
{
	char line[512], path[256];
	int fd = open(twin, O_RDONLY | O_CLOEXEC);
	FILE *maps = fopen("/proc/self/maps", "re");

	if (fd < 0 || !maps)
		truth_die(twin, errno);
	while (fgets(line, sizeof(line), maps)) {
		uint64_t begin, end, offset;
		char mode[5];

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %255s", &begin, &end, mode, &offset,
			   path) != 5 || strcmp(path, library) != 0 || strcmp(mode, "r-xp") != 0)
			continue;
		if (mmap((void *)(uintptr_t)begin, end - begin, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
			 (off_t)offset) == MAP_FAILED)
			truth_die("mmap", errno);
	}
	fclose(maps);
	close(fd);
}

static int fork_child(const char *library, const char *twin)
{
	int pid = fork();

	if (pid == 0 && twin)
		put_in_place(library, twin);
	return pid;
}

SITE int forks_site(const char *library, const char *twin, uint64_t count, uint64_t nap_us)
{
	void *handle = dlopen(library, RTLD_NOW);
	void (*run)(uint64_t, uint64_t) = handle ? (void (*)(uint64_t, uint64_t))dlsym(handle, "plugin_run") : NULL;
	struct truth *t = &here;
	struct truth_bracket b;
	int staying = -1, changing = -1;

	if (!run)
		truth_die(library, ENOENT);
	for (int turn = 0; turn < 2; turn++) {
		truth_begin(&b);
		run(count, nap_us);
		truth_end(t, &b);
		if (turn)
			break;
		staying = fork_child(library, NULL);
		changing = staying ? fork_child(library, twin) : -1;
		if (!staying || !changing)
			memset(&here.calls, 0, sizeof(here) - offsetof(struct truth, calls));
		if (!changing)
			t = &there;
	}
	truth_write(t);
	if (!staying || !changing)
		_exit(0);
	waitpid(staying, NULL, 0);
	waitpid(changing, NULL, 0);
	return 0;
}

int main(int argc, char **argv)
{
	truth_open(truth_arg_string(argc, argv, 1));
	truth_ready(NULL, 0);
	forks_site(truth_arg_string(argc, argv, 2), truth_arg_string(argc, argv, 3), truth_arg(argc, argv, 4),
		   truth_arg(argc, argv, 5));
	truth_done();
	return 0;
}
