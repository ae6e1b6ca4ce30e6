/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/opener/confine.h"
#include "cmd/cmd.h"
#include "cmd/filters.h"
#include "cmd/serving.h"
#include "explain/text.h"
#include "features/incidents/history.h"
#include "mcp/server.h"
#include "server/fleet_pages.h"
#include "server/history.h"
#include "server/listen.h"
#include "server/readers.h"
#include "server/server.h"
#include "store/store.h"

#define COMMAND "serve"
#define MEMORY_MAX_BYTES (UINT64_C(4) << 30)

static const char description[] =
	"Serves the history that `offcpu agent` keeps: a time line, and for any range of it findings, stacks, flame graph, differences.\n"
	"\n"
	"  offcpu serve                       prints a link for this machine, ends with Ctrl-C\n"
	"  offcpu serve --open                and opens it in the browser\n"
	"  offcpu serve --fleet http://clickhouse:8123\n"
	"                                     the hosts that pushed there, and any range of one\n"
	"  offcpu serve --listen :8080 --token-file /etc/offcpu/token\n"
	"                                     always at the same address\n"
	"\n"
	"Only who has the token can read.  From another machine: ssh -L 8080:127.0.0.1:8080, or a reverse proxy with TLS.";

struct serve_args {
	char *history, *incident, *listen, *token_file, *rules;
	char *fleet, *database, *credentials, *ca;	/* for ClickHouse */
	char **names;
	gboolean open, audit, mcp;
};

struct serve_plan {
	char *address;	/* NULL: 127.0.0.1 */
	guint16 port;
	GArray *readers;	/* NULL: a single reader with a random token */
};

/* Refuses a file that others can read. */
static bool read_readers(const char *path, GArray **ret, GError **error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), err = errno;
	struct stat st;

	if (fd < 0)
		return cmd_bad(error, "--token-file %s: %s", path, g_strerror(err));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return cmd_bad(error, "--token-file %s: it is no plain file", path);
	}
	g_autofree char *bytes = g_malloc0(READERS_MAX_BYTES + 1);
	ssize_t n = read(fd, bytes, READERS_MAX_BYTES);

	close(fd);
	if (st.st_mode & (S_IRWXO | S_IWGRP))
		return cmd_bad(error, "--token-file %s: others can read or change it: chmod 640", path);
	if (n < 0 || n == READERS_MAX_BYTES)
		return cmd_bad(error, "--token-file %s: %s", path, n < 0 ? "it cannot be read" : "it is too large");
	*ret = readers_parse(bytes, error);
	explicit_bzero(bytes, READERS_MAX_BYTES);
	if (!*ret)
		g_prefix_error(error, "--token-file %s: ", path);
	return *ret != NULL;
}

static bool is_any_address(const char *address)
{
	return strcmp(address, "0.0.0.0") == 0 || strcmp(address, "::") == 0;
}

/* Checks host names, with or without a port, as in a Host header. */
static bool check_names(char **names, GError **error)
{
	for (; names && *names; names++)
		if (!**names || strlen(*names) > 255 ||
		    strspn(*names, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]") !=
			    strlen(*names))
			return cmd_bad(error, "--host \"%s\" is no name of a host, like offcpu.example or db1:8080",
				   *names);
	return true;
}

static bool parse_args(struct serve_args *a, int argc, char **argv, struct serve_plan *plan, GError **error)
{
	if (argc > 1)
		return cmd_bad(error, "\"%s\": the folder of the history is named by --history", argv[1]);
	if (a->incident && (a->fleet || !incident_check_name(a->incident, error)))
		return a->fleet ? cmd_bad(error, "--fleet and --incident: only one of them is served") : false;
	if (a->fleet && a->history)
		return cmd_bad(error, "--fleet and --history: only one of them is served");
	/* an incident has its own history */
	if (a->incident) {
		char *dir = incident_dir(a->history, a->incident);

		g_free(a->history);
		a->history = dir;
	}
	if (a->fleet && a->mcp)
		return cmd_bad(error, "--mcp: answers of one host's history, and not with --fleet");
	if (!a->fleet && (a->database || a->credentials || a->ca))
		return cmd_bad(error, "--database, --credentials and --ca: only with --fleet");
	if (a->listen && !listen_parse(a->listen, &plan->address, &plan->port, error)) {
		g_prefix_error(error, "--listen ");
		return false;
	}
	if (!check_names(a->names, error) || (a->token_file && !read_readers(a->token_file, &plan->readers, error)))
		return false;
	if (plan->address && !listen_is_loopback(plan->address) && !plan->readers)
		return cmd_bad(
			error,
			"--listen %s: other machines reach this address, in plain text: give them a token by --token-file, and TLS by a "
			"reverse proxy (man offcpu-serve)",
			a->listen);
	if (plan->address && is_any_address(plan->address) && !a->names)
		return cmd_bad(error, "--listen %s: by which name it will be called --host must say", a->listen);
	return true;
}

/* The address; free with g_free(). */
static char *link_of(const struct serve_plan *plan, const struct server *s)
{
	char *url = g_strdup(server_url(s));

	/* a service's output goes to a journal that others may read */
	if (plan->readers) {
		char *at = strstr(url, g_array_index(plan->readers, struct reader, 0).token);

		if (at)
			memcpy(at, "TOKEN/", sizeof("TOKEN/"));
	}
	return url;
}

static void print_links(const struct serve_args *a, const struct serve_plan *plan, const struct server *s,
			const struct store_extent *extent)
{
	g_autoptr(GString) name = g_string_new(NULL), length = g_string_new(NULL);
	g_autofree char *url = link_of(plan, s);

	text_safe(name, a->history ? a->history : STORE_DIR_DEFAULT);
	text_duration(length, extent->to_unix_ns - extent->from_unix_ns);
	printf("The history in %s (%s, %" G_GUINT64_FORMAT " windows) is served until Ctrl-C.\n", name->str,
	       length->str, extent->windows);
	printf("  page           %s\n  go tool pprof  %sdebug/pprof/off_cpu?seconds=60\n", url, url);
	if (a->mcp)
		printf("  assistants     %smcp\n", url);
	if (plan->readers)
		printf("TOKEN stands in %s.\n", a->token_file);
	fflush(stdout);
}

static void print_rights(const struct confine *c)
{
	if (c->reads_by_capability)
		printf("Runs as %s, which may not read that folder: with CAP_DAC_READ_SEARCH%s.\n", c->user,
		       c->has_landlock ? " for it, and no other file" : "");
	else if (c->has_left_root)
		printf("Runs as %s, without any rights%s.\n", c->user,
		       c->has_landlock ? "; it can read that folder alone" : "");
	fflush(stdout);
}

/*
 * From here on it parses untrusted requests and an agent's data: drop privileges, so that exploiting it gains nothing.
 */
struct before_serving {
	struct confine confine;
	bool opens_browser;
};

static bool on_listening(struct server *s, void *data, GError **error)
{
	struct before_serving *b = data;

	if (b->opens_browser)
		serving_open_browser(COMMAND, s);
	return confine(&b->confine, error);
}

static void print_audit(const char *line)
{
	fprintf(stderr, "%s\n", line);
}

/* Options common to both; what is served is set by the caller. */
static struct server_options options_of(const struct serve_args *a, const struct serve_plan *plan,
					struct before_serving *before)
{
	return (struct server_options){
		.address = plan->address, .port = plan->port, .readers = plan->readers,
		.audit = a->audit ? print_audit : NULL, .names = (const char *const *)a->names,
		.on_listening = on_listening, .data = before,
	};
}

static int serve_fleet(const struct serve_args *a, const struct serve_plan *plan)
{
	const struct target_options engine = { .engine = PUSH_CLICKHOUSE,
					       .url = a->fleet,
					       .database = a->database,
					       .credentials_path = a->credentials,
					       .ca_path = a->ca };
	struct before_serving before = { .confine = { .calls = CONFINE_CLIENT, .memory_bytes = MEMORY_MAX_BYTES },
					 .opens_browser = a->open };
	struct server_options options = options_of(a, plan, &before);
	g_autoptr(GError) error = NULL;
	struct fleet_pages *pages = fleet_pages_new(&engine, &error);

	options.workers = FLEET_WORKERS;
	options.routes = fleet_routes;
	options.routes_cnt = fleet_routes_cnt;
	options.ctx = pages;
	struct server *s = pages ? server_start(&options, &error) : NULL;

	if (s) {
		g_autofree char *url = link_of(plan, s);

		printf("The hosts of %s are served until Ctrl-C.\n  page  %s\n", fleet_pages_name(pages), url);
		if (plan->readers)
			printf("TOKEN stands in %s.\n", a->token_file);
		print_rights(&before.confine);
		server_run(s, 0);
		server_stop(s);
	} else {
		cmd_error(COMMAND, "%s", error->message);
	}
	fleet_pages_free(pages);
	return s ? EXIT_OK : EXIT_FAILED;
}

static int serve(const struct serve_args *a, const struct serve_plan *plan)
{
	struct history *history = history_new(a->history);
	g_autofree struct route *routes = g_new(struct route, history_routes_cnt + 1);
	struct before_serving before = {
		.confine = { .calls = CONFINE_SERVER,
			     .folder = a->history ? a->history : STORE_DIR_DEFAULT,
			     .memory_bytes = MEMORY_MAX_BYTES },
		.opens_browser = a->open,
	};
	struct server_options options = options_of(a, plan, &before);
	g_autoptr(GError) error = NULL;
	struct store_extent extent;
	struct server *s = NULL;
	int status = EXIT_FAILED;

	memcpy(routes, history_routes, history_routes_cnt * sizeof(*routes));
	routes[history_routes_cnt] = mcp_route;
	options.workers = HISTORY_WORKERS;
	options.routes = routes;
	options.routes_cnt = history_routes_cnt + (a->mcp ? 1 : 0);
	options.ctx = history;
	/* report it now, not to the first client */
	if (store_extent(a->history, &extent, &error))
		s = server_start(&options, &error);
	if (s) {
		print_links(a, plan, s, &extent);
		print_rights(&before.confine);
		server_run(s, 0);
		server_stop(s);
		status = EXIT_OK;
	} else {
		cmd_error(COMMAND, "%s", error->message);
	}
	history_free(history);
	return status;
}

static void args_clear(struct serve_args *a, struct serve_plan *plan)
{
	char *const texts[] = { a->history, a->incident, a->listen,      a->token_file, a->rules,
				a->fleet,   a->database, a->credentials, a->ca,         plan->address };

	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
		g_free(texts[i]);
	g_strfreev(a->names);
	if (plan->readers)
		g_array_unref(plan->readers);
}

int cmd_serve(int argc, char **argv)
{
	struct serve_args a = { 0 };
	struct serve_plan plan = { 0 };
	g_autoptr(GError) error = NULL;
	int status;
	GOptionEntry entries[] = {
		{ "history", 0, 0, G_OPTION_ARG_FILENAME, &a.history, "Where the agent keeps it (" STORE_DIR_DEFAULT ")",
		  "DIR" },
		{ "incident", 0, 0, G_OPTION_ARG_STRING, &a.incident,
		  "What was put aside of it under that name; offcpu report --incidents lists them", "NAME" },
		{ "fleet", 0, 0, G_OPTION_ARG_STRING, &a.fleet,
		  "The hosts that pushed to a ClickHouse there, in place of a history", "URL" },
		{ "database", 0, 0, G_OPTION_ARG_STRING, &a.database, "Of --fleet (" TARGET_DATABASE ")", "NAME" },
		{ "credentials", 0, 0, G_OPTION_ARG_FILENAME, &a.credentials,
		  "Of --fleet: a file with \"user NAME\" and \"password SECRET\"", "FILE" },
		{ "ca", 0, 0, G_OPTION_ARG_FILENAME, &a.ca, "Of --fleet: certificates to trust", "FILE" },
		{ "listen", 0, 0, G_OPTION_ARG_STRING, &a.listen, "Address and port (127.0.0.1 and any free port)",
		  "ADDR:PORT" },
		{ "token-file", 0, 0, G_OPTION_ARG_FILENAME, &a.token_file,
		  "Who has a token in this file may read (a new one each time)", "FILE" },
		{ "audit", 0, 0, G_OPTION_ARG_NONE, &a.audit,
		  "A line for each request on standard error: when, who, from where, what", NULL },
		{ "host", 0, 0, G_OPTION_ARG_STRING_ARRAY, &a.names,
		  "A name by which it is called, as by a reverse proxy; several may be given", "NAME" },
		{ "rules", 0, 0, G_OPTION_ARG_FILENAME, &a.rules,
		  "Rules of your own for reasons, tried before the built-in ones", "FILE" },
		{ "mcp", 0, 0, G_OPTION_ARG_NONE, &a.mcp, "Also answer assistants there (man offcpu-mcp)", NULL },
		{ "open", 0, 0, G_OPTION_ARG_NONE, &a.open, "Open the page in the browser", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	if (cmd_parse(COMMAND, "", description, entries, &argc, &argv, &status)) {
		if (parse_args(&a, argc, argv, &plan, &error) && cmd_rules_load(a.rules, &error)) {
			status = a.fleet ? serve_fleet(&a, &plan) : serve(&a, &plan);
		} else
			status = cmd_wrong(COMMAND, "%s", error->message);
	}
	args_clear(&a, &plan);
	return status;
}
