/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SERVER_ROUTE_H
#define SERVER_ROUTE_H

#include <glib.h>
#include <stdbool.h>

#include "server/readers.h"

/*
 * What is served, and who may read it.  No network here: a request is checked as data, so that unit tests can ask
 * whatever an attacker could.
 */

/* HTTP's numbers, as codes of SERVER_ERROR, and as verdicts. */
enum server_status {
	SERVER_OK = 200,
	SERVER_ACCEPTED = 202,
	SERVER_SEE_OTHER = 303,
	SERVER_BAD_REQUEST = 400,
	SERVER_FORBIDDEN = 403,
	SERVER_NOT_FOUND = 404,
	SERVER_METHOD_NOT_ALLOWED = 405,
	SERVER_TOO_LARGE = 413,
	SERVER_FAILED = 500,
	SERVER_UNAVAILABLE = 503,
};
#define SERVER_ERROR server_error_quark()
GQuark server_error_quark(void);

/* Each of the header's fields is NULL where the request has none.  All of it is untrusted. */
struct request {
	const char *method, *path;	/* the path with its escapes undone, without the query */
	const char *host, *origin, *authorization;
	const char *fetch_site, *fetch_mode;
	const char *mcp_revision;	/* MCP-Protocol-Version */
	const char *user, *services;	/* X-Forwarded-User, X-Offcpu-Services: only a proxy's count */
	const char *peer;		/* the address that it comes from */
	bool has_body;
	GString *body;			/* where the route reads it */
	GHashTable *query;		/* char * -> char *; NULL: none */
	/* Set by the gate: lists of globs, each of which the services that are shown match; NULL: all do. */
	const char *only[2];
};

struct answer {
	GBytes *body;
	bool is_gzip;	/* the body is packed, and the reader is told so */
	const char *media_type;	/* NULL: the route's */
	char *file_name;	/* to be saved under; NULL: to be shown */
	bool is_accepted;	/* SERVER_ACCEPTED, without a body: nothing is answered to what was told */
};

struct route {
	const char *path;		/* behind the token; "" is the first page */
	const char *media_type;
	const char *cors;		/* the one foreign origin whose scripts may read it; NULL: none */
	const char *(*csp)(void);	/* NULL: a document of that type may load and run nothing */
	/* Runs in a worker.  Errors of SERVER_ERROR go to the client with their status, others as 500. */
	bool (*answer)(const struct request *r, void *ctx, struct answer *ret, GError **error);
	enum {
		ROUTE_GET,	/* it has no body */
		ROUTE_DROPS,	/* POST, too: a body is read, up to a bound, and dropped */
		ROUTE_POST,	/* POST alone: the body is request.body, of at most ROUTE_BODY_MAX_BYTES */
	} takes;
};
#define ROUTE_BODY_MAX_BYTES (256u << 10)

struct gate {
	const struct reader *readers;	/* one without a token ends them */
	const char *const *hosts;	/* "127.0.0.1:4711", ..., NULL: by which names we are called */
	bool is_proxied;		/* a reverse proxy may have taken the request by https */
	const char *once;		/* "/open/..." leads to the first page; NULL: nothing does */
};

struct verdict {
	unsigned status;		/* SERVER_OK: ask the route; SERVER_SEE_OTHER: to the first page */
	const char *why;		/* one sentence, when it is refused */
	const struct route *route;
	const struct reader *reader;	/* whose token it was; NULL: nobody's */
	const char *who;		/* the reader, or the user that a proxy names */
	const char *allow;		/* for Allow, where the method is refused */
	const char *allow_origin;	/* for Access-Control-Allow-Origin; NULL: not to be sent */
};

/* What of the request the reader may see goes to r->only. */
struct verdict gate_check(const struct gate *gate, const struct route *routes, gsize routes_cnt,
			  struct request *r);

/* For csp, of a flame graph's page: its own policy, and what only a header can say. */
const char *route_page_csp(void);

/* The same of a page without a script, whose style is web/fleet/fleet.css. */
const char *route_plain_csp(void);

/*
 * A route of pprof's: it asks by POST for the names of addresses, and gives up where nobody answers.  We know none
 * beside those that stand in the profile.
 */
#define SYMBOL_ROUTE { "debug/pprof/symbol", "text/plain", NULL, NULL, answer_no_symbols, ROUTE_DROPS }
bool answer_no_symbols(const struct request *r, void *ctx, struct answer *ret, GError **error);

/* A number of the query.  True with *ret_value unchanged where it is not there; false with a sentence for bad ones. */
bool request_number(const struct request *r, const char *name, guint64 max, guint64 *ret_value, GError **error);
/* A text of the query, or NULL. */
const char *request_text(const struct request *r, const char *name);

#endif
