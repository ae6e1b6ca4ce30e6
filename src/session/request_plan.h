/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SESSION_REQUEST_PLAN_H
#define SESSION_REQUEST_PLAN_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* What the user calls a request, found in the files of the processes: docs/requests.md. */

enum request_probe_kind {
	REQUEST_ENTER,
	REQUEST_CATCH,
	REQUEST_START,
	REQUEST_DONE,
	/* in Go's scheduler: src/bpf/request_park.bpf.h */
	REQUEST_GO_PARK,
	REQUEST_GO_YIELD,
	REQUEST_GO_READY,
	REQUEST_GO_RUN,
	REQUEST_GO_EXIT,
};

struct request_probe {
	int fd;			/* of the file, O_PATH; the plan's */
	enum request_probe_kind kind;
	uint32_t func;		/* of plan->names */
	uint64_t offset, semaphore;
	const char *what;	/* for messages: the plan's */
};

/* What a port of ours receives is a request. */
struct request_port {
	uint16_t port;
	uint32_t func;		/* of plan->names */
};

struct request_plan {
	GPtrArray *names;	/* char *, by number: "dispatch_command" */
	GPtrArray *files;	/* char *, of each the file's name */
	GArray *probes;		/* struct request_probe */
	GArray *ports;		/* struct request_port; where there is one there are no probes */
	bool has_go;		/* all are functions of Go, which moves its calls from thread to thread */
	bool has_functions;	/* whose return is to be found */
	const char *exports_only;	/* file, stripped, of which a pattern found functions that it exports; or NULL */
	/* private */
	bool has_others;	/* functions and probes of no Go program */
	GArray *go_places;	/* struct request_place, of files whose scheduler is probed: dev and ino alone */
	GArray *fds;
	GPtrArray *strings;
};

/*
 * specs: "[BIN:]FUNC", "usdt:BIN:PROVIDER:START,DONE[,DONE]", "socket:PORT".  BIN is a path, or the name of a file
 * that the processes have mapped; without it, it is what they execute, or `program`.  every: a pattern may match many
 * functions.
 */
struct request_plan *request_plan_new(char **specs, const GArray *pids, const char *program, bool every,
				      GError **error);
/*
 * The same one by one, each under a name of its own: all functions that match are that.  False, with a sentence, and the
 * plan as it was.  Functions of Go are refused: what goroutines are parked for costs too much to be on for always.
 */
struct request_plan *request_plan_new_empty(void);
bool request_plan_add(struct request_plan *plan, const char *name, const char *spec, const GArray *pids, GError **error);
/* Several functions, whose calls may lie inside of one another. */
static inline bool request_plan_has_calls(const struct request_plan *p)
{
	return p->names->len > 1 && !p->ports->len;
}

void request_plan_free(struct request_plan *p);	/* NULL is fine */

#endif
