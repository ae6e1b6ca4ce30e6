/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * unwind_dlopen OUT LIBRARY COUNT US [TWIN]: loads LIBRARY and has its plugin_run() sleep COUNT times for US.  Then lets go of it and does the
 * same with TWIN, which comes to lie in its place.
 */
#include "truth.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

static struct truth t = { .kind = "unwind", .state = 'S', .chain = { "main", "load_site", "plugin_run", "plugin_site" } };
static struct truth twin = { .kind = "unwind", .state = 'S', .chain = { "main", "load_site", "plugin_run", "plugin_twin" } };

SITE void *load_site(struct truth *truth, const char *path, uint64_t count, uint64_t nap_us)
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
	truth_end(truth, &b);
	dlclose(library);
	return (void *)run;
}

int main(int argc, char **argv)
{
	truth_open(truth_arg_string(argc, argv, 1));
	truth_ready(NULL, 0);
	uint64_t count = truth_arg(argc, argv, 3), nap_us = truth_arg(argc, argv, 4);
	void *at = load_site(&t, truth_arg_string(argc, argv, 2), count, nap_us);

	if (argc > 5 && load_site(&twin, truth_arg_string(argc, argv, 5), count, nap_us) != at)
		truth_die("TWIN lies elsewhere", EAGAIN);
	truth_write(&t);
	if (argc > 5)
		truth_write(&twin);
	truth_done();
	return 0;
}
