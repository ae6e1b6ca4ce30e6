/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* unwind_dlopen OUT LIBRARY COUNT US: loads LIBRARY and has its plugin_run() sleep COUNT times for US. */
#include "truth.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

static struct truth t = { .kind = "unwind", .state = 'S', .chain = { "main", "load_site", "plugin_run", "plugin_site" } };

SITE void load_site(const char *path, uint64_t count, uint64_t nap_us)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*run)(uint64_t, uint64_t) = library ? (void (*)(uint64_t, uint64_t))dlsym(library, "plugin_run") : NULL;
	struct truth_bracket b;

	if (!run) {
		fprintf(stderr, "%s\n", dlerror());
		truth_die(path, ENOENT);
	}
	truth_begin(&b);
	run(count, nap_us);
	truth_end(&t, &b);
}

int main(int argc, char **argv)
{
	truth_open(truth_arg_string(argc, argv, 1));
	truth_ready(NULL, 0);
	load_site(truth_arg_string(argc, argv, 2), truth_arg(argc, argv, 3), truth_arg(argc, argv, 4));
	truth_write(&t);
	truth_done();
	return 0;
}
