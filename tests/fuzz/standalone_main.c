/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Runs a fuzzer's entry once for every file given, or in the folders given, so that the corpus
 * is a plain test with any compiler.  With -Dfuzz=true clang's libFuzzer takes this file's place. */
#include <glib.h>
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned run_file(const char *path)
{
	g_autofree char *bytes = NULL;
	g_autofree uint8_t *exact = NULL;
	g_autoptr(GError) error = NULL;
	gsize len;

	if (!g_file_get_contents(path, &bytes, &len, &error)) {
		fprintf(stderr, "%s\n", error->message);
		return 0;
	}
	exact = g_memdup2(bytes, len);	/* without the 0 byte behind, which would hide a read too far */
	LLVMFuzzerTestOneInput(exact, len);
	return 1;
}

static unsigned run_path(const char *path)
{
	GDir *dir = g_dir_open(path, 0, NULL);
	const char *name;
	unsigned cnt = 0;

	if (!dir)
		return run_file(path);
	while ((name = g_dir_read_name(dir))) {
		g_autofree char *file = g_build_filename(path, name, NULL);

		cnt += run_file(file);
	}
	g_dir_close(dir);
	return cnt;
}

int main(int argc, char **argv)
{
	unsigned cnt = 0;

	for (int i = 1; i < argc; i++)
		cnt += run_path(argv[i]);
	printf("%u inputs run\n", cnt);
	return cnt ? 0 : 1;
}
