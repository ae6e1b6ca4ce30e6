/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "../unit/change.h"
#include "../unit/crowd.h"
#include "../unit/fixture.h"
#include "profile/profile_file.h"

/* make-recording OUT [wakers|chains|crowd|before|after|cpu]: the recording written by hand (tests/unit/fixture.c, crowd.c, change.c), as a file; with more. */
int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;

	const char *more = argc == 3 ? argv[2] : "";
	bool chains = strcmp(more, "chains") == 0, wakers = strcmp(more, "wakers") == 0, is_crowd = strcmp(more, "crowd") == 0;
	bool is_cpu = strcmp(more, "cpu") == 0;
	bool is_before = strcmp(more, "before") == 0, is_after = strcmp(more, "after") == 0;

	if (argc != 2 && !wakers && !chains && !is_crowd && !is_cpu && !is_before && !is_after) {
		fprintf(stderr, "usage: make-recording OUT [wakers|chains|crowd|before|after|cpu]\n");
		return 2;
	}
	struct profile *p = is_crowd ? crowd_new() : is_before || is_after ? change_new(is_after) : fixture_new();
	if (wakers || chains)
		fixture_add_wakers(p);
	if (chains)
		fixture_add_chains(p);
	if (is_cpu)
		fixture_add_on_cpu(p);
	bool written = profile_file_write(p, argv[1], &error);

	if (!written)
		fprintf(stderr, "make-recording: %s\n", error->message);
	profile_free(p);
	return written ? 0 : 1;
}
