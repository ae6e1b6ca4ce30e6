/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_THREAD_CONTEXT_H
#define SYMBOLIZE_THREAD_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/context_abi.h"
#include "symbolize/process/process_context.h"

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

/* A process may add attributes as long as it runs: true when ones that are asked for have come, into place->keys. */
bool thread_context_look_at_keys(const char *proc_dir, uint32_t pid, struct offcpu_context_place *place);

#endif
