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

/* What the user calls a request, located in the files of the processes: docs/requests.md. */

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
	int fd;			/* O_PATH descriptor, owned by the plan */
	enum request_probe_kind kind;
	uint32_t func;		/* index in plan->names */
	uint64_t offset, semaphore;
	const char *what;	/* for messages; owned by the plan */
};

/* Each message received at a port is a request. */
struct request_port {
	uint16_t port;
	uint32_t func;		/* index in plan->names */
};

/* Requests on connections of a service with a matching route. */
struct request_route_name {
	char *glob, *service;	/* both are globs */
	uint32_t func;		/* index in plan->names */
};

struct request_plan {
	GPtrArray *names;	/* char *, by index: "dispatch_command" */
	GPtrArray *files;	/* char *: the file of each name */
	GArray *probes;		/* struct request_probe */
	GArray *ports;		/* struct request_port; excludes probes */
	GPtrArray *routes;	/* struct request_route_name; the windows show the ports; excludes probes, too */
	bool has_go;		/* all are Go functions, whose calls move between threads */
	bool has_functions;	/* their return addresses must be found */
	const char *exports_only;	/* a stripped file of whose functions a pattern matched exported ones only */
	/* private */
	bool has_others;	/* functions and probes outside of Go programs */
	GArray *go_places;	/* struct request_place with dev and ino only: files whose Go scheduler has probes */
	GArray *fds;
	GPtrArray *strings;
};

/*
 * specs: "[BIN:]FUNC", "usdt:BIN:PROVIDER:START,DONE[,DONE]", "socket:PORT". BIN is a path, or the name of a file
 * that the processes have mapped; without it, it is their executable, or `program`. every: a pattern may match many
 * functions.
 */
struct request_plan *request_plan_new(char **specs, const GArray *pids, const char *program, bool every,
				      GError **error);
/*
 * Builds a plan step by step. All functions that match a spec get the given name. False with an error: the plan is
 * unchanged. Go functions are refused, because tracing why goroutines are parked costs too much for permanent use.
 */
struct request_plan *request_plan_new_empty(void);
bool request_plan_add(struct request_plan *plan, const char *name, const char *spec, const GArray *pids,
		      GError **error);
/* False with an error if this kernel lacks support. */
bool request_plan_add_route(struct request_plan *plan, const char *name, const char *glob, const char *service,
			    GError **error);
static inline bool request_plan_is_by_socket(const struct request_plan *p)
{
	return p->ports->len || p->routes->len;
}
/* Are there several functions, whose calls may nest? */
static inline bool request_plan_has_calls(const struct request_plan *p)
{
	return p->names->len > 1 && !request_plan_is_by_socket(p);
}

void request_plan_free(struct request_plan *p);	/* NULL is fine */

/* Shared by probe_plan.c and probe_runtime.c: the files that contain a plan's probes, and the probes. */

/* A file that may contain a request's functions. */
struct request_place {
	int fd;
	uint64_t dev, ino;
	char *path;
	char *name;		/* the usual name */
};

/* Sets *error. */
void request_fail(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* struct maps_line of a process, with the text they refer to. NULL: it is gone, or access is denied. */
GArray *request_mapped_files(uint32_t pid, char **ret_text);
/* The places of `bin`, struct request_place. NULL with an error if there are none. */
GArray *request_places_find(struct request_plan *plan, const char *bin, const GArray *pids, const char *program,
			    GError **error);
/* The plan takes ownership of the text. */
const char *request_plan_keep(struct request_plan *plan, char *text);
/* Reads code at an offset of a held file; returns the number of bytes. */
size_t request_read_code(int held_fd, uint64_t off, uint8_t *code, size_t len);
/* Adds a probe at the function's entry with that kind and index. */
void request_add_entry(struct request_plan *plan, const struct request_place *place, const struct elf_function *f,
		       const struct request_probe *like, uint16_t machine);

/* Exceptions may end requests: adds probes where the C++ runtime catches one or continues to unwind. */
void request_add_catches(struct request_plan *plan, const GArray *pids);
/* Adds probes to the Go scheduler in the file, once. False with an error: it was not found. */
bool request_add_go(struct request_plan *plan, const struct request_place *place, GError **error);

/* Why a program's goroutines are parked, by its runtime's numbers. */
struct request_go_names {
	const char *name[256];	/* "chan receive" */
	unsigned cnt;
	char *text;
};

/* NULL: not found. */
struct request_go_names *request_go_names_read(uint32_t pid);
void request_go_names_free(struct request_go_names *n);	/* NULL is fine */

/* Requests while they are traced (features/requests/request.bpf.h): probes, return addresses, sums. */
struct requests;

/* The sums of a function over all CPUs. */
void requests_read(const struct requests *r, uint32_t func, struct offcpu_request_sum *ret_sum);
/* All calls of a function if there are several functions; else false. */
bool requests_read_calls(const struct requests *r, uint32_t func, struct offcpu_request_calls *ret_calls);
/* Requests that are open at the window's end, including those that began before it. */
struct requests_open {
	uint64_t count;
	uint64_t longest_ns;	/* so far */
	bool is_longer;		/* it began before the window, at an unknown time */
	uint32_t func;		/* function of the longest one; UINT32_MAX: unknown */
};

/* When the profile is finished: requests that are in no sum. */
void requests_read_counts(const struct requests *r, uint64_t start_ns, uint64_t stop_ns,
			  struct offcpu_loss_count ret_counts[OFFCPU_REQUEST_COUNT], struct requests_open *ret_open);
/* Adds the counts as losses. */
void requests_add_losses(struct profile *p, const struct offcpu_loss_count counts[OFFCPU_REQUEST_COUNT]);
/* Number of return addresses seen so far. */
unsigned requests_site_cnt(const struct requests *r);
/* Number of addresses that cannot have a probe; why for the last one, or NULL. */
unsigned requests_refused(const struct requests *r, const char **ret_why);

#endif
