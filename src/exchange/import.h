/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXCHANGE_IMPORT_H
#define EXCHANGE_IMPORT_H

#include "base/refuse.h"
#include "exchange/format.h"
#include "exchange/source.h"

/*
 * Builds a profile from another tool's output.  What the format does not state stays unknown (enum profile_unknown),
 * and is never guessed.  The bytes are untrusted: tables have a recording's bounds, and sums that are too large are
 * rejected at the end.
 */
struct import {
	struct profile *p;
	GHashTable *threads; /* struct import_key -> index + 1 */
	GHashTable *names; /* mangled name of C++ or Rust -> demangled name, both interned in the profile */
	/*
	 * The format does not state what the time is (profile.h).  If most stacks do not end in the scheduler, rows
	 * are "samples" of unknown origin.
	 */
	bool is_any_time;
	uint64_t skipped_cnt;
	char *skipped_why; /* error of the first skipped line */
};

/* `unknown` holds at first; readers clear bits of p->info.unknown as they learn more. */
void import_begin(struct import *im, struct profile *p, const char *format, uint32_t unknown);
/*
 * Skips a line that makes no sense, instead of rejecting the file: a thread may be called "a\nb".  It is counted as
 * the loss `not_readable`.  False if `why` says that a limit was reached.
 */
bool import_skip(struct import *im, GError **why);
/* Like source_line(), but skips lines that are too long. */
char *import_line(struct import *im, struct source *source, gsize *ret_len_bytes, GError **why);
/* Passes each line to the reader, or skips it; false with `why`: cannot continue. */
typedef bool (*import_take_fn)(void *reader, char *line, GError **error);
bool import_lines(struct import *im, struct source *source, import_take_fn take, void *reader, GError **why);
/*
 * Always call it at the end, with ok false after a failure.  Returns false if ok is false or nothing was read.  why:
 * of import_lines(), if set, becomes *error.
 */
bool import_end(struct import *im, bool ok, GError *why, GError **error);

/* Finds or adds the thread with this name and these ids (0: unknown). */
uint32_t import_thread(struct import *im, uint32_t pid, uint32_t tid, const char *comm);
/* The same for "comm-12/34", split into name and ids if it looks like that. */
uint32_t import_thread_text(struct import *im, const char *text);

/*
 * Adds a frame above `parent` and returns its node.  name NULL: an unnamed frame at that offset in the module.  An
 * empty module means unknown.  Mangled names of C++ and Rust are demangled.
 */
struct import_frame {
	const char *name, *module, *file;
	uint64_t offset;
	uint32_t line;
	bool is_kernel, is_inline;
};
uint32_t import_node(struct import *im, uint32_t parent, const struct import_frame *f);
/* The same in two steps, where a frame stands in many stacks. */
uint32_t import_frame(struct import *im, const struct import_frame *f);
uint32_t import_child(struct import *im, uint32_t parent, uint32_t frame);
/*
 * Whether a frame is the kernel's.  Its module is a part of the kernel ("[kernel.kallsyms]", "[ext4]"), not a mapping
 * of a process ("[vdso]").  Frames that objects_as_frames() puts on top of the kernel's stack ("-> FILE") have no
 * module.
 */
bool import_is_kernel(const char *name, const char *module);

/*
 * Adds to the row with the same thread, state and stacks, and to the thread's account.  False on error: the profile is
 * full.
 */
bool import_wait(struct import *im, const struct wait *w, GError **error);
/* The same for a single wait of known duration: also counts it, and updates maximum and histogram. */
bool import_single_wait(struct import *im, const struct wait *w, GError **error);

/* A sample of a CPU profile, used if a file has no waits. */
struct import_sample {
	uint32_t thread, user, kernel;
	uint64_t ns;
};
bool import_samples(struct import *im, const GArray *samples, GError **error);

/* Sets *error and returns false. */
#define import_bad(error, ...) refuse(error, EXCHANGE_ERROR, EXCHANGE_ERROR_BAD, __VA_ARGS__)

/*
 * Parses "1234" or "12.5" in units of unit_ns; false if it is no number or out of range.  Digits below a nanosecond
 * are dropped.
 */
bool import_time(const char *text, gsize len_bytes, uint64_t unit_ns, uint64_t *ret_ns);

/* "microseconds" */
const char *import_unit_name(uint64_t unit_ns);

/* Whether the line begins with that. */
#define HAS_PREFIX(s, prefix) (strncmp(s, prefix, sizeof(prefix) - 1) == 0)

#endif
