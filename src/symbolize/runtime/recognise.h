/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_RECOGNISE_H
#define SYMBOLIZE_RECOGNISE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "features/traces/abi.h"
#include "runtimes/go/answers.h"
#include "runtimes/python/find.h"
#include "symbolize/process/process_context.h"
#include "symbolize/runtime/file_facts.h"
#include "symbolize/runtime/language.h"
#include "symbolize/runtime/variables.h"

/*
 * Where threads of a process say which trace they work for: the variable otel_thread_ctx_v1 of each thread (OTEP 4947),
 * of a program or a library whose process says in its own context (OTEP 4719) that it has one.
 */

enum thread_context_state {
	THREAD_CONTEXT_NONE,	/* the process publishes no context */
	THREAD_CONTEXT_UNSAID,	/* it does, and says nothing of its threads */
	THREAD_CONTEXT_NO_VARIABLE,	/* no file of its exports the variable, or where it lies is not known */
	THREAD_CONTEXT_READABLE,
};

/*
 * The process must live.  *ret_context, which may be NULL, is the caller's, with THREAD_CONTEXT_READABLE not NULL.
 * ret->keys: of the attributes that name a request, if the process says what its numbers are.
 */
enum thread_context_state thread_context_find(const char *proc_dir, uint32_t pid, struct offcpu_context_place *ret,
					      struct process_context **ret_context);

/* The same of a Go program: labels of the goroutines that its threads run.  bias: of the file that `labels` is of. */
bool thread_labels_place(uint32_t pid, const struct go_labels_place *labels, uint64_t bias,
			 struct offcpu_context_place *ret);

/* A process may add attributes as long as it runs: true when ones that are asked for have come, into place->keys. */
bool thread_context_look_at_keys(const char *proc_dir, uint32_t pid, struct offcpu_context_place *place);

/*
 * What a process is made of, as far as it matters to walking its stacks and naming its functions: for people, who are
 * to be told what is missing.  Everything read here is the process's own say: sizes are bounded, and files are opened
 * as fileopen.h says.
 */

/* A file that the process executes code of. */
struct recognised_file {
	char *path;		/* as the process names it, without " (deleted)" */
	bool is_program;	/* what was executed, and no library of it */
	bool is_deleted;	/* deleted or replaced since */
	bool is_readable;	/* it could be opened; else there are no facts */
	struct file_facts facts;
};

enum perf_map_state {
	PERF_MAP_NONE,		/* there is no file of its name */
	PERF_MAP_READABLE,
	PERF_MAP_EMPTY,		/* or none of its lines makes sense */
	PERF_MAP_LINKED,	/* it, or a folder of it, is a symbolic link, or it is no plain file: not read */
	PERF_MAP_FOREIGN,	/* another user's than the process's or root's: not read */
	PERF_MAP_CLOSED,	/* it cannot be opened */
};

/* The list of functions that a just-in-time compiler writes. */
struct recognised_map {
	enum perf_map_state state;
	char *path;		/* as the process names it */
	uid_t owner, wanted;	/* of the file; the effective user of the process */
	uint64_t cnt;		/* functions in it */
};

/* Whether the unwinder knows rules for most of a file's code: asked where neither tables nor frame pointers do. */
typedef bool (*recognise_rules_fn)(int fd);

struct recognised {
	recognise_rules_fn has_rules;
	uint32_t pid, inner_pid;	/* in our pid namespace, and by which the process calls itself */
	char *name;		/* of its first thread; printable */
	bool is_kernel_thread;	/* then nothing below is known */
	bool has_own_root;	/* its files are others than ours: a container */
	uint32_t runtimes;	/* a bit for each enum runtime */
	char *versions[RUNTIME_CNT];	/* "3.11.2"; NULL: not known */
	struct python_look python;
	enum language_state ruby, php, perl;
	bool is_jvm_readable;	/* a JVM whose own tables tell of its code and methods */
	bool are_objects_readable;	/* and its garbage collector leaves objects where they are while the program runs */
	bool is_v8_readable;	/* V8 that tells where it keeps its functions */
	bool has_v8_inlined;	/* ... and of which it inlined */
	bool are_goroutines_readable;
	bool has_labels;	/* of goroutines, which their threads' waits have, too */
	bool has_asyncio, has_greenlets;	/* whose tasks, and which, can be read */
	bool has_tokio;		/* the same, and it has some now */
	enum thread_context_state context;	/* of its threads' traces */
	char *context_keys;	/* what attributes they may have: "http.route, http.request.method"; NULL: it does not say */
	bool is_python_hidden;	/* an interpreter lies in a program of another name, so it is not looked for */
	bool is_program_unknown;	/* /proc/PID/exe cannot be followed */
	GArray *files;		/* struct recognised_file, the program first */
	guint left_out_cnt;	/* files beyond RECOGNISED_FILES_MAX */
	uint64_t made_bytes;	/* executable memory of no file: code made at run time */
	bool has_jitdump;	/* it maps a jit-PID.dump, which is read where there is no perf map */
	struct recognised_map map;
	char *arguments;	/* its command line, and what follows; each part ends with a 0 byte */
	gsize arguments_bytes;
	char *environment;	/* "NAME=VALUE" the same way, as it was started; NULL: may not be read */
	gsize environment_bytes;
};

#define RECOGNISED_FILES_MAX 512

/* NULL with a sentence: the process is gone, or may not be looked at (G_FILE_ERROR_ACCES).  has_rules: or NULL. */
struct recognised *recognise(const char *proc_dir, uint32_t pid, const char *debug_dir, recognise_rules_fn has_rules,
			     GError **error);
void recognised_free(struct recognised *r);	/* NULL is fine */

bool recognised_is(const struct recognised *r, enum runtime runtime);
/*
 * Was it started with that very word, on its command line or in one of the environment's variables (NULL at the end)?
 */
bool recognised_has_option(const struct recognised *r, const char *word, const char *const *variables);
/* The value of an environment variable; NULL: it has none, or the environment may not be read.  Valid as long as r. */
const char *recognised_variable(const struct recognised *r, const char *name);

#endif
