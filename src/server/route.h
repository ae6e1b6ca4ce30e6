/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SERVER_ROUTE_H
#define SERVER_ROUTE_H

#include <glib.h>
#include <stdbool.h>

#include "base/refuse.h"
#include "server/readers.h"

/*
 * What is served and who may read it.  No network here: requests are checked as data, so that unit tests can ask
 * whatever an attacker could.
 */

/* HTTP status codes, used as codes of SERVER_ERROR and as verdicts. */
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
/* Sets *error and returns false. */
#define server_fail(error, status, ...) refuse(error, SERVER_ERROR, status, __VA_ARGS__)

/* A request; all of it is untrusted.  Absent header fields are NULL. */
struct request {
	const char *method, *path;	/* unescaped path, without the query */
	const char *host, *origin, *authorization;
	const char *fetch_site, *fetch_mode;
	const char *mcp_revision;	/* MCP-Protocol-Version */
	const char *user, *services;	/* X-Forwarded-User, X-Offcpu-Services: only accepted from a proxy */
	const char *peer;		/* the client's address */
	bool has_body;
	GString *body;			/* set if the route reads it */
	GHashTable *query;		/* char * -> char *; NULL: none */
	/* Set by gate_check(): lists of globs, each of which a service must match to be visible; NULL: all. */
	const char *only[2];
};

struct answer {
	GBytes *body;
	bool is_gzip;	/* the body is compressed, which the header declares */
	const char *media_type;	/* NULL: the route's default */
	char *file_name;	/* save under that name; NULL: display */
	bool is_accepted;	/* SERVER_ACCEPTED without a body: a notification has no answer */
};

struct route {
	const char *path;		/* after the token; "" is the first page */
	const char *media_type;
	const char *cors;		/* the one foreign origin whose scripts may read it; NULL: none */
	const char *(*csp)(void);	/* NULL: a document of that type may load and run nothing */
	/* Runs in a worker.  Errors of SERVER_ERROR are sent with their status, others as 500. */
	bool (*answer)(const struct request *r, void *ctx, struct answer *ret, GError **error);
	enum {
		ROUTE_GET,	/* no body */
		ROUTE_DROPS,	/* also POST: the body is read, up to a limit, and dropped */
		ROUTE_POST,	/* only POST: the body is request.body, at most ROUTE_BODY_MAX_BYTES */
	} takes;
};
#define ROUTE_BODY_MAX_BYTES (256u << 10)

struct gate {
	const struct reader *readers;	/* ended by one without a token */
	const char *const *hosts;	/* "127.0.0.1:4711", ..., NULL: names under which we are reachable */
	bool is_proxied;		/* a reverse proxy may have received the request by https */
	const char *once;		/* "/open/...", which leads to the first page once; NULL: none */
};

struct verdict {
	unsigned status;		/* SERVER_OK: call the route; SERVER_SEE_OTHER: redirect to the first page */
	const char *why;		/* a sentence, if it is refused */
	const struct route *route;
	const struct reader *reader;	/* owner of the token; NULL: unknown */
	const char *who;		/* the reader, or the user named by a proxy */
	const char *allow;		/* for Allow, if the method is refused */
	const char *allow_origin;	/* for Access-Control-Allow-Origin; NULL: omit it */
};

/* Sets r->only to what the reader may see. */
struct verdict gate_check(const struct gate *gate, const struct route *routes, gsize routes_cnt,
			  struct request *r);

/* Policy for a flame graph's page: the page's own, plus what only a header can express. */
const char *route_page_csp(void);

/* The same for a page without scripts, styled by web/fleet/fleet.css. */
const char *route_plain_csp(void);

/*
 * pprof's route for symbols: it asks by POST for names of addresses, and gives up if there is no answer.  We know no
 * symbols beyond those in the profile.
 */
#define SYMBOL_ROUTE { "debug/pprof/symbol", "text/plain", NULL, NULL, answer_no_symbols, ROUTE_DROPS }
bool answer_no_symbols(const struct request *r, void *ctx, struct answer *ret, GError **error);

/*
 * A number in the query.  If it is missing, returns true and *ret_value is unchanged.  False on error: not a number,
 * or above max.
 */
bool request_number(const struct request *r, const char *name, guint64 max, guint64 *ret_value, GError **error);
/* A text in the query, or NULL. */
const char *request_text(const struct request *r, const char *name);

#endif
