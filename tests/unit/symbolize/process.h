/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TESTS_SYMBOLIZE_PROCESS_H
#define TESTS_SYMBOLIZE_PROCESS_H

#include <glib.h>
#include <sys/stat.h>

#include "symbolize/process/maps.h"
#include "symbolize/symbolize.h"

/* What is looked up: a function of the test itself. */
int symbolizer_test_probe(int x);
#define PROBE ((uint64_t)(uintptr_t)symbolizer_test_probe)

/* A /proc of our own with process 500, whose root holds a copy of this program. */
struct fixture {
	char *dir, *process, *root, *copy, *debug, *kallsyms;
	struct symbolizer *symbolizer;
	struct maps_line text;	/* how this program's probe is mapped */
	struct stat st;		/* of the copy */
};

/* A fixture of g_test_add(). */
void set_up(struct fixture *f, gconstpointer data);
void tear_down(struct fixture *f, gconstpointer data);

/* Writes a file, and the directories that lead to it. */
void put(const char *path, const char *bytes, gssize len);
void put_copy(struct fixture *f, const char *bytes, gssize len);
/* Writes 500's maps: the text of this program, from the file `path` with that inode. */
void map_text(struct fixture *f, uint64_t inode, const char *path);
void probe_is(struct fixture *f, const char *name, const char *module, enum frame_why why);

#endif
