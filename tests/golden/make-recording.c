/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdio.h>

#include "../unit/fixture.h"
#include "profile/profile_file.h"

/* make-recording OUT: the recording written by hand (tests/unit/fixture.c), as a file. */
int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;

	if (argc != 2) {
		fprintf(stderr, "usage: make-recording OUT\n");
		return 2;
	}
	struct profile *p = fixture_new();
	bool written = profile_file_write(p, argv[1], &error);

	if (!written)
		fprintf(stderr, "make-recording: %s\n", error->message);
	profile_free(p);
	return written ? 0 : 1;
}
