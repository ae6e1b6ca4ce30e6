/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXCHANGE_IMPORT_H
#define EXCHANGE_IMPORT_H

#include "base/refuse.h"
#include "exchange/format.h"
#include "exchange/source.h"

/*
 * A profile made of what another tool wrote.  What the format does not tell stays unknown (enum profile_unknown);
 * nothing is guessed.  Bytes are hostile: the tables have the bounds of a recording's, and sums that do not fit are
 * refused at the end.
 */
struct import {
	struct profile *p;
	GHashTable *threads; /* struct import_key -> index + 1 */
	GHashTable *names; /* of C++ and Rust as linkers know them, profile's -> as people do, profile's */
	/*
	 * What the time is, of profile.h, the format does not tell: where most stacks do not end in the scheduler it is
	 * "samples", which may have been taken of anything.
	 */
	bool is_any_time;
	uint64_t skipped_cnt;
	char *skipped_why; /* of the first one */
};

/* `unknown` holds at first; a reader clears bits of p->info.unknown as it learns. */
void import_begin(struct import *im, struct profile *p, const char *format, uint32_t unknown);
/*
 * A line, or what belongs to one, that makes no sense costs that line and not the file: a thread may be called "a\nb".  It
 * is counted as the loss `not_readable`.  False where `why` is that there is too much.
 */
bool import_skip(struct import *im, GError **why);
/* As source_line(), without lines that are too long, which are skipped so. */
char *import_line(struct import *im, struct source *source, gsize *ret_len_bytes, GError **why);
/* All lines, each taken by the reader or skipped; false with `why`: it cannot go on. */
typedef bool (*import_take_fn)(void *reader, char *line, GError **error);
bool import_lines(struct import *im, struct source *source, import_take_fn take, void *reader, GError **why);
/*
 * Fails when nothing was read.  Called in any case, with ok false after a failure; gives ok back or fails.  why: of
 * import_lines(), if anything, which becomes *error.
 */
bool import_end(struct import *im, bool ok, GError *why, GError **error);

/* The thread with these ids (0: unknown) and name, made when new. */
uint32_t import_thread(struct import *im, uint32_t pid, uint32_t tid, const char *comm);
/* "comm-12/34" becomes its name and ids, where ids are written like that. */
uint32_t import_thread_text(struct import *im, const char *text);

/*
 * The frame's node above `parent`.  A name of NULL is a frame of that module at that offset that has no name; an
 * empty module is none.  Names of C++ and Rust that the other tool left as linkers know them become people's.
 */
struct import_frame {
	const char *name, *module, *file;
	uint64_t offset;
	uint32_t line;
	bool is_kernel, is_inline;
};
uint32_t import_node(struct import *im, uint32_t parent, const struct import_frame *f);
/*
 * Is a frame the kernel's?  By what it lies in: a part of the kernel ("[kernel.kallsyms]", "[ext4]") and no mapping of
 * a process ("[vdso]").  In nothing lies what objects_as_frames() puts on top of the kernel's stack ("-> FILE").
 */
bool import_is_kernel(const char *name, const char *module);

/*
 * Adds to the wait with the same thread, state and stacks, and to the thread's account.  False, with a sentence, once
 * there is more than a profile can hold.
 */
bool import_wait(struct import *im, const struct wait *w, GError **error);
/* The same of one wait whose duration is known: it counts, and is in maximum and histogram. */
bool import_single_wait(struct import *im, const struct wait *w, GError **error);

/* A sample of a profile of CPU time, which stands where a file has no waits. */
struct import_sample {
	uint32_t thread, user, kernel;
	uint64_t ns;
};
bool import_samples(struct import *im, const GArray *samples, GError **error);

/* A sentence; always false. */
#define import_bad(error, ...) refuse(error, EXCHANGE_ERROR, EXCHANGE_ERROR_BAD, __VA_ARGS__)

/*
 * "1234" or "12.5" of that many nanoseconds each; false when it is no such number or out of range.  Digits beyond a
 * nanosecond are dropped.
 */
bool import_time(const char *text, gsize len_bytes, uint64_t unit_ns, uint64_t *ret_ns);

/* "microseconds" */
const char *import_unit_name(uint64_t unit_ns);

/* Does the line begin with that? */
#define HAS_PREFIX(s, prefix) (strncmp(s, prefix, sizeof(prefix) - 1) == 0)

#endif
