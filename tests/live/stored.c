/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* stored DIR OUT.offcpu: all that a store has, as a recording. */
#include <stdio.h>

#include "profile/profile_file.h"
#include "store/store.h"

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	struct profile *p;
	bool is_well;

	if (argc != 3)
		return 2;
	p = store_read(argv[1], 0, PROFILE_NS_MAX, &error);
	is_well = p && profile_file_write(p, argv[2], &error);
	if (!is_well)
		fprintf(stderr, "stored: %s\n", error->message);
	profile_free(p);
	return !is_well;
}
