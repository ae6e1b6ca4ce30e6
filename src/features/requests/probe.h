/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_PROBE_H
#define FEATURES_REQUESTS_PROBE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/offcpu_abi.h"
#include "features/requests/abi.h"
#include "profile/profile.h"
#include "symbolize/elf/functions.h"

/* What the user calls a request, found in the files of the processes: docs/requests.md. */

enum request_probe_kind {
	REQUEST_ENTER,
	REQUEST_CATCH,
	REQUEST_START,
	REQUEST_DONE,
	/* in Go's scheduler: src/runtimes/go/park.bpf.h */
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

/* Requests by connection of a service, whose route is such a one. */
struct request_route_name {
	char *glob, *service;	/* both are globs */
	uint32_t func;		/* of plan->names */
};

struct request_plan {
	GPtrArray *names;	/* char *, by number: "dispatch_command" */
	GPtrArray *files;	/* char *, of each the file's name */
	GArray *probes;		/* struct request_probe */
	GArray *ports;		/* struct request_port; where there is one there are no probes */
	GPtrArray *routes;	/* struct request_route_name: which ports these are windows tell; no probes, either */
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
bool request_plan_add(struct request_plan *plan, const char *name, const char *spec, const GArray *pids,
		      GError **error);
/* False where this kernel cannot tell, with a sentence. */
bool request_plan_add_route(struct request_plan *plan, const char *name, const char *glob, const char *service,
			    GError **error);
static inline bool request_plan_is_by_socket(const struct request_plan *p)
{
	return p->ports->len || p->routes->len;
}
/* Several functions, whose calls may lie inside of one another. */
static inline bool request_plan_has_calls(const struct request_plan *p)
{
	return p->names->len > 1 && !request_plan_is_by_socket(p);
}

void request_plan_free(struct request_plan *p);	/* NULL is fine */

/* Files in which a plan's probes lie, and the probes themselves: what request_plan.c and request_runtime.c share. */

/* A file that a request's functions may be in. */
struct request_place {
	int fd;
	uint64_t dev, ino;
	char *path;
	char *name;		/* as people know it */
};

/* Says so in *error. */
void request_fail(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* struct maps_line of a process, and the text that they are of; NULL: it is gone, or not ours to read. */
GArray *request_mapped_files(uint32_t pid, char **ret_text);
/* Where `bin` is, struct request_place; NULL with a sentence when it is nowhere. */
GArray *request_places_find(struct request_plan *plan, const char *bin, const GArray *pids, const char *program,
			    GError **error);
/* The text becomes the plan's. */
const char *request_plan_keep(struct request_plan *plan, char *text);
/* A probe at the function's entry, of that kind and number. */
void request_add_entry(struct request_plan *plan, const struct request_place *place, const struct elf_function *f,
		       const struct request_probe *like, uint16_t machine);

/* Exceptions end requests: where the runtime of C++ catches one, or goes on to unwind. */
void request_add_catches(struct request_plan *plan, const GArray *pids);
/* Go's scheduler in that file, once.  False, with a sentence: it is not found. */
bool request_add_go(struct request_plan *plan, const struct request_place *place, GError **error);

/* What goroutines of a program are parked for, by the numbers of its runtime. */
struct request_go_names {
	const char *name[256];	/* "chan receive" */
	unsigned cnt;
	char *text;
};

/* NULL: not found. */
struct request_go_names *request_go_names_read(uint32_t pid);
void request_go_names_free(struct request_go_names *n);	/* NULL is fine */

/* Requests while they are traced (features/requests/request.bpf.h): their probes, the places they return to, their sums. */
struct requests;

/* Sums of a function, of all CPUs. */
void requests_read(const struct requests *r, uint32_t func, struct offcpu_request_sum *ret_sum);
/* All calls of a function, where there are several; else false. */
bool requests_read_calls(const struct requests *r, uint32_t func, struct offcpu_request_calls *ret_calls);
/* Those that go on as the window ends, also those that had begun before it. */
struct requests_open {
	uint64_t count;
	uint64_t longest_ns;	/* so far */
	bool is_longer;		/* it began before the window, and nothing tells when */
	uint32_t func;		/* of that one; UINT32_MAX: not known */
};

/* When the profile is finished: those that are in no sum. */
void requests_read_counts(const struct requests *r, uint64_t start_ns, uint64_t stop_ns,
			  struct offcpu_loss_count ret_counts[OFFCPU_REQUEST_COUNT], struct requests_open *ret_open);
/* As losses of the profile. */
void requests_add_losses(struct profile *p, const struct offcpu_loss_count counts[OFFCPU_REQUEST_COUNT]);
/* Places that were asked for so far. */
unsigned requests_site_cnt(const struct requests *r);
/* Places, of functions or of returns to them, that cannot have a probe; why, of the last of them, or NULL. */
unsigned requests_refused(const struct requests *r, const char **ret_why);

#endif
