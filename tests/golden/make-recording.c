/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "../unit/fixture.h"
#include "profile/profile_file.h"

/* make-recording OUT [wakers|chains]: the recording written by hand (tests/unit/fixture.c), as a file; with more. */
int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;

	bool chains = argc == 3 && strcmp(argv[2], "chains") == 0, wakers = argc == 3 && strcmp(argv[2], "wakers") == 0;

	if (argc != 2 && !wakers && !chains) {
		fprintf(stderr, "usage: make-recording OUT [wakers|chains]\n");
		return 2;
	}
	struct profile *p = fixture_new();
	if (wakers || chains)
		fixture_add_wakers(p);
	if (chains)
		fixture_add_chains(p);
	bool written = profile_file_write(p, argv[1], &error);

	if (!written)
		fprintf(stderr, "make-recording: %s\n", error->message);
	profile_free(p);
	return written ? 0 : 1;
}
