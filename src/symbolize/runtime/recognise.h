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
 * Where threads of a process publish their trace: in the thread-local variable otel_thread_ctx_v1 (OTEP 4947) of a
 * program or library, announced in the process's context (OTEP 4719).
 */

enum thread_context_state {
	THREAD_CONTEXT_NONE,	/* the process publishes no context */
	THREAD_CONTEXT_UNSAID,	/* its context does not mention threads */
	THREAD_CONTEXT_NO_VARIABLE,	/* no file exports the variable, or its place is unknown */
	THREAD_CONTEXT_READABLE,
};

/*
 * The process must be alive. *ret_context (may be NULL) is owned by the caller and not NULL with
 * THREAD_CONTEXT_READABLE. ret->keys: of attributes that name a request, if the process publishes their numbers.
 */
enum thread_context_state thread_context_find(const char *proc_dir, uint32_t pid, struct offcpu_context_place *ret,
					      struct process_context **ret_context);

/* Likewise for a Go program: labels of its threads' goroutines. bias: of the file of `labels`. */
bool thread_labels_place(uint32_t pid, const struct go_labels_place *labels, uint64_t bias,
			 struct offcpu_context_place *ret);

/* A process may add attributes at any time: true if new ones of interest were added to place->keys. */
bool thread_context_look_at_keys(const char *proc_dir, uint32_t pid, struct offcpu_context_place *place);

/*
 * What a process consists of, as far as unwinding its stacks and naming its functions are concerned: for messages
 * about what is missing. The process controls all data: sizes are bounded, and files are opened as in fileopen.h.
 */

/* A file with code that the process executes. */
struct recognised_file {
	char *path;		/* as seen by the process, without " (deleted)" */
	bool is_program;	/* the program, not a library */
	bool is_deleted;	/* deleted or replaced since */
	bool is_readable;	/* it could be opened; else there are no facts */
	struct file_facts facts;
};

enum perf_map_state {
	PERF_MAP_NONE,		/* it does not exist */
	PERF_MAP_READABLE,
	PERF_MAP_EMPTY,		/* no valid line */
	PERF_MAP_LINKED,	/* it or its folder is a symbolic link, or it is no regular file: not read */
	PERF_MAP_FOREIGN,	/* neither the process's user nor root owns it: not read */
	PERF_MAP_CLOSED,	/* it cannot be opened */
};

/* A just-in-time compiler's perf map. */
struct recognised_map {
	enum perf_map_state state;
	char *path;		/* as seen by the process */
	uid_t owner, wanted;	/* of the file; effective user of the process */
	uint64_t cnt;		/* number of functions */
};

/* Can the unwinder follow most of a file's instructions? Asked if there are neither tables nor frame pointers. */
typedef bool (*recognise_rules_fn)(int fd);

struct recognised {
	recognise_rules_fn has_rules;
	uint32_t pid, inner_pid;	/* in our pid namespace, and in the process's own */
	char *name;		/* of its first thread; printable */
	bool is_kernel_thread;	/* nothing below is set then */
	bool has_own_root;	/* it is in a container: its file system differs from ours */
	uint32_t runtimes;	/* bits of enum runtime */
	char *versions[RUNTIME_CNT];	/* "3.11.2"; NULL: unknown */
	struct python_look python;
	enum language_state ruby, php, perl;
	bool is_jvm_readable;	/* a JVM that publishes its code and methods */
	bool are_objects_readable;	/* whose garbage collector moves objects only in pauses */
	bool is_v8_readable;	/* V8 that publishes its object layout */
	bool has_v8_inlined;	/* also for inlined functions */
	bool are_goroutines_readable;
	bool has_labels;	/* its goroutines have labels, which waits of threads get, too */
	bool has_asyncio, has_greenlets;	/* tasks that can be read */
	bool has_tokio;		/* likewise; it has some now */
	enum thread_context_state context;	/* whether its threads publish traces */
	char *context_keys;	/* their attributes: "http.route, http.request.method"; NULL: unknown */
	bool is_python_hidden;	/* an interpreter embedded in a program of another name, so it is not searched for */
	GArray *files;		/* struct recognised_file, the program first */
	guint left_out_cnt;	/* files above RECOGNISED_FILES_MAX */
	uint64_t made_bytes;	/* executable memory without a file: generated code */
	bool has_jitdump;	/* it maps a jit-PID.dump, which is read if there is no perf map */
	struct recognised_map map;
	char *arguments;	/* NUL-separated command line */
	gsize arguments_bytes;
	char *environment;	/* "NAME=VALUE" at start, likewise; NULL: access is denied */
	gsize environment_bytes;
};

#define RECOGNISED_FILES_MAX 512

/* NULL with an error: the process is gone, or access is denied (G_FILE_ERROR_ACCES). has_rules may be NULL. */
struct recognised *recognise(const char *proc_dir, uint32_t pid, const char *debug_dir, recognise_rules_fn has_rules,
			     GError **error);
void recognised_free(struct recognised *r);	/* NULL is fine */

bool recognised_is(const struct recognised *r, enum runtime runtime);
/* Was this word on its command line, or in one of these environment variables (NULL-terminated)? */
bool recognised_has_option(const struct recognised *r, const char *word, const char *const *variables);
/* The value of an environment variable. NULL: not set, or not readable. Valid as long as r. */
const char *recognised_variable(const struct recognised *r, const char *name);

#endif
