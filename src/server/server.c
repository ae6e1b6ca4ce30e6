/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "server/server.h"

#include <glib-unix.h>
#include <malloc.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "base/quiet_thread.h"
#include "base/text.h"
#include "server/connections.h"
#include "server/listen.h"
#include "server/readers.h"

#define CONNECTIONS_MAX 256
#define HEADER_MAX_BYTES (16 << 10)	/* per connection: its buffer holds the request and the answer's header */
#define SILENCE_MAX_S 30
#define BODY_MAX_BYTES (4 << 20)	/* of a request */
#define JOBS_MAX 32			/* requests waiting for a worker */
#define SENDING_MAX_BYTES (256 << 20)	/* of all answers being sent */
#define ONCE_US (60 * G_USEC_PER_SEC)

static const char forbid_all[] = "default-src 'none'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'";

struct server {
	struct MHD_Daemon *daemon;
	struct peers *peers;
	GThreadPool *pool;
	const struct route *routes;
	gsize routes_cnt;
	void *ctx;
	struct gate gate;
	GArray *readers;
	void (*audit)(const char *line);
	char *url, **hosts;
	GMutex lock;		/* protects these; gate.once points to `once` or is NULL */
	char *once, *url_once;
	gint64 once_until_us;
	gint64 last_us;		/* time of the last authorized request */
	bool is_ending;
	gssize sending_bytes;	/* atomic */
	gint answers;		/* atomic: answers made by workers */
	gint trimmed;		/* value of `answers` at the last malloc_trim() */
	GMainLoop *loop;
	guint sources[4];
	unsigned idle_s;
	bool is_signalled;
};

/* A request, from its header to the last byte of its answer. */
struct exchange {
	struct server *server;
	struct MHD_Connection *connection;
	struct request request;
	struct verdict verdict;
	struct answer answer;
	GError *error;
	gsize sending_bytes, body_bytes;
	unsigned status;	/* status that was sent; 0: none */
	char peer[INET6_ADDRSTRLEN];
	bool is_too_large;	/* the body exceeds the route's limit */
	bool is_asked, is_done;	/* is_done: set by the worker before it resumes the connection */
};

/* Queries and headers */

static enum MHD_Result take_argument(void *data, enum MHD_ValueKind kind, const char *key, const char *value)
{
	g_hash_table_replace(data, g_strdup(key), g_strdup(value ? value : ""));
	return MHD_YES;
}

/* C text would end at a zero byte, so "%00" stays escaped: no address contains one. */
static size_t unescape(void *data, struct MHD_Connection *c, char *text)
{
	return strstr(text, "%00") ? strlen(text) : MHD_http_unescape(text);
}

static bool announces_body(struct MHD_Connection *c)
{
	const char *length = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Length");

	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Transfer-Encoding") ||
	       (length && strcmp(length, "0") != 0);
}

static void read_peer(struct exchange *x)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

	if (info && info->client_addr)
		listen_peer_text(info->client_addr, x->peer, sizeof(x->peer));
}

/* Pointers stay valid as long as the request. */
static void read_request(struct exchange *x, const char *method, const char *path)
{
	struct MHD_Connection *c = x->connection;

	read_peer(x);
	x->request = (struct request){
		.method = method,
		.path = path,
		.host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host"),
		.origin = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Origin"),
		.authorization = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization"),
		.fetch_site = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Sec-Fetch-Site"),
		.fetch_mode = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Sec-Fetch-Mode"),
		.mcp_revision = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "MCP-Protocol-Version"),
		.user = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "X-Forwarded-User"),
		.services = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "X-Offcpu-Services"),
		.peer = x->peer,
		.has_body = announces_body(c),
		.query = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
	};
	MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, take_argument, x->request.query);
}

static void exchange_free(struct exchange *x)
{
	if (x->sending_bytes)
		g_atomic_pointer_add(&x->server->sending_bytes, -(gssize)x->sending_bytes);
	g_hash_table_unref(x->request.query);
	if (x->request.body)
		g_string_free(x->request.body, TRUE);
	g_clear_pointer(&x->answer.body, g_bytes_unref);
	g_free(x->answer.file_name);
	g_clear_error(&x->error);
	g_free(x);
}

/* Answers */

static void add_headers(struct MHD_Response *response, const char *type, const char *csp)
{
	const struct {
		const char *name, *value;
	} headers[] = {
		{ "Content-Type", type },
		{ "Content-Security-Policy", csp },
		{ "X-Content-Type-Options", "nosniff" },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cache-Control", "no-store" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ "Cross-Origin-Opener-Policy", "same-origin" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(headers); i++)
		MHD_add_response_header(response, headers[i].name, headers[i].value);
}

static enum MHD_Result queue(struct exchange *x, unsigned status, struct MHD_Response *response)
{
	enum MHD_Result result = MHD_queue_response(x->connection, status, response);

	x->status = status;

	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result send_text(struct exchange *x, unsigned status, const char *text)
{
	g_autofree char *line = g_strdup_printf("%s\n", text);
	struct MHD_Response *response = MHD_create_response_from_buffer(strlen(line), line, MHD_RESPMEM_MUST_COPY);

	if (!response)
		return MHD_NO;
	add_headers(response, "text/plain; charset=utf-8", forbid_all);
	if (status == SERVER_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, "Allow", x->verdict.allow);
	if (status == SERVER_SEE_OTHER)
		MHD_add_response_header(response, "Location", x->server->url);
	if (status == SERVER_UNAVAILABLE)
		MHD_add_response_header(response, "Retry-After", "1");
	return queue(x, status, response);
}

static void release_body(void *data)
{
	g_bytes_unref(data);
}

static enum MHD_Result send_answer(struct exchange *x)
{
	const struct route *route = x->verdict.route;
	const char *type = x->answer.media_type ? x->answer.media_type : route->media_type;
	gsize len;
	const void *bytes = g_bytes_get_data(x->answer.body, &len);
	struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
		len, len ? (void *)bytes : (void *)"", release_body, g_bytes_ref(x->answer.body));

	if (!response) {
		g_bytes_unref(x->answer.body);
		return MHD_NO;
	}
	x->sending_bytes = len;
	g_atomic_pointer_add(&x->server->sending_bytes, (gssize)len);
	add_headers(response, type, route->csp ? route->csp() : forbid_all);
	if (x->answer.is_gzip)
		MHD_add_response_header(response, "Content-Encoding", "gzip");
	if (x->answer.file_name) {
		g_autofree char *value = g_strdup_printf("attachment; filename=\"%s\"", x->answer.file_name);

		MHD_add_response_header(response, "Content-Disposition", value);
	}
	if (route->cors)
		MHD_add_response_header(response, "Vary", "Origin");
	if (x->verdict.allow_origin)
		MHD_add_response_header(response, "Access-Control-Allow-Origin", x->verdict.allow_origin);
	return queue(x, x->answer.is_accepted ? SERVER_ACCEPTED : SERVER_OK, response);
}

static enum MHD_Result finish_answer(struct exchange *x)
{
	if (!x->error && x->answer.body)
		return send_answer(x);
	unsigned status = x->error && x->error->domain == SERVER_ERROR ? (unsigned)x->error->code : SERVER_FAILED;

	return send_text(x, status, x->error ? x->error->message : "no answer was found");
}

/* The way of a request */

/* Runs in a worker. */
static void answer_request(gpointer data, gpointer user_data)
{
	struct exchange *x = data;

	spare_stack_use();
	if (!x->verdict.route->answer(&x->request, x->server->ctx, &x->answer, &x->error))
		g_clear_pointer(&x->answer.body, g_bytes_unref);
	x->is_done = true;
	g_atomic_int_inc(&x->server->answers);
	MHD_resume_connection(x->connection);
}

static void now_does(struct exchange *x, enum peer_doing doing)
{
	connection_does(x->server->peers, x->connection, doing);
}

/* Also invalidates the one-time link once it was used or has expired. */
static void check_request(struct exchange *x)
{
	const char *refusal = connection_refusal(x->connection);
	struct server *s = x->server;

	if (refusal) {
		x->verdict = (struct verdict){ .status = SERVER_BAD_REQUEST, .why = refusal };
		return;
	}
	g_mutex_lock(&s->lock);
	if (s->gate.once && g_get_monotonic_time() > s->once_until_us)
		s->gate.once = NULL;
	x->verdict = gate_check(&s->gate, s->routes, s->routes_cnt, &x->request);
	if (x->verdict.status == SERVER_SEE_OTHER)
		s->gate.once = NULL;
	if (x->verdict.status < SERVER_BAD_REQUEST)
		s->last_us = g_get_monotonic_time();
	g_mutex_unlock(&s->lock);
	if (x->verdict.status == SERVER_OK && g_atomic_pointer_get(&s->sending_bytes) > SENDING_MAX_BYTES)
		x->verdict = (struct verdict){ .status = SERVER_UNAVAILABLE, .why = "too much is being sent just now" };
	if (x->verdict.status == SERVER_OK && g_thread_pool_unprocessed(s->pool) >= JOBS_MAX)
		x->verdict = (struct verdict){ .status = SERVER_UNAVAILABLE, .why = "too many requests wait just now" };
}

/* False during shutdown, when there are no workers any more. */
static bool give_to_worker(struct exchange *x)
{
	bool is_ending;

	x->is_asked = true;
	now_does(x, PEER_ASKING);
	g_mutex_lock(&x->server->lock);
	is_ending = x->server->is_ending;
	if (!is_ending) {
		MHD_suspend_connection(x->connection);
		g_thread_pool_push(x->server->pool, x, NULL);
	}
	g_mutex_unlock(&x->server->lock);
	return !is_ending;
}

/* False: the body is too long, end the connection. */
static bool take_body(struct exchange *x, const char *bytes, gsize len)
{
	x->body_bytes += len;
	x->is_too_large = x->verdict.route->takes == ROUTE_POST && x->body_bytes > ROUTE_BODY_MAX_BYTES;
	if (x->verdict.route->takes != ROUTE_POST || x->is_too_large)
		return x->body_bytes <= BODY_MAX_BYTES;
	if (!x->request.body)
		x->request.body = g_string_new(NULL);
	g_string_append_len(x->request.body, bytes, (gssize)len);
	return true;
}

static enum MHD_Result on_request(void *data, struct MHD_Connection *c, const char *path, const char *method,
				  const char *version, const char *upload, size_t *upload_len, void **context)
{
	struct exchange *x = *context;

	if (!x) {
		x = *context = g_new0(struct exchange, 1);
		x->server = data;
		x->connection = c;
		read_request(x, method, path);
		check_request(x);
		now_does(x, x->request.has_body ? PEER_WAITING : PEER_ANSWERING);
		/* Refused before the body was read: the connection ends with the answer. */
		return x->verdict.status == SERVER_OK ? MHD_YES :
			send_text(x, x->verdict.status, x->verdict.why ? x->verdict.why : "this way");
	}
	if (*upload_len) {
		bool is_taken = take_body(x, upload, *upload_len);

		*upload_len = 0;
		return is_taken ? MHD_YES : MHD_NO;
	}
	if (x->is_too_large)
		return send_text(x, SERVER_TOO_LARGE, "the body is longer than 256 KiB");
	if (x->is_done) {
		now_does(x, PEER_ANSWERING);
		return finish_answer(x);
	}
	return x->is_asked || give_to_worker(x) ? MHD_YES
						: send_text(x, SERVER_UNAVAILABLE, "the server is about to end");
}

#define AUDIT_WORD_MAX 200

/* Replaces blanks, so that each line has the same number of words. */
static void append_word(GString *line, const char *word)
{
	g_autofree char *cut = g_strndup(word, AUDIT_WORD_MAX);
	g_autofree char *escaped = g_uri_escape_string(cut, "/:,*@()", TRUE);

	text_safe(line, escaped);
}

static gint by_name(gconstpointer a, gconstpointer b)
{
	return strcmp(a, b);
}

/* An unknown address is not logged: it may be a mistyped token. */
static void audit(struct exchange *x)
{
	g_autoptr(GDateTime) now = g_date_time_new_now_utc();
	g_autofree char *time = g_date_time_format(now, "%FT%TZ");
	g_autoptr(GString) line = g_string_new(time);
	GList *keys = x->verdict.route ? g_list_sort(g_hash_table_get_keys(x->request.query), by_name) : NULL;
	char mark = '?';

	g_string_append_c(line, ' ');
	if (x->verdict.reader && x->verdict.reader->proxy)
		g_string_append_printf(line, "%s:", x->verdict.reader->name);
	append_word(line, x->verdict.who ? x->verdict.who : "-");
	g_string_append_printf(line, " %s ", *x->peer ? x->peer : "-");
	append_word(line, x->request.method);
	g_string_append_printf(line, " %s%s", x->verdict.route ? "/" : "-", x->verdict.route ? x->verdict.route->path : "");
	for (GList *l = keys; l; l = l->next, mark = '&') {
		g_string_append_c(line, mark);
		append_word(line, l->data);
		g_string_append_c(line, '=');
		append_word(line, g_hash_table_lookup(x->request.query, l->data));
	}
	g_list_free(keys);
	g_string_append_printf(line, " %u %" G_GSIZE_FORMAT, x->status, x->sending_bytes);
	x->server->audit(line->str);
}

static void on_completed(void *data, struct MHD_Connection *c, void **context, enum MHD_RequestTerminationCode why)
{
	struct exchange *x = *context;

	if (!x)
		return;
	now_does(x, PEER_WAITING);
	if (x->server->audit)
		audit(x);
	*context = NULL;
	exchange_free(x);
}

/* Start and stop */

static bool start_daemon(struct server *s, int fd, GError **error)
{
	s->daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
				     on_request, s, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
				     (unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				     (size_t)HEADER_MAX_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE_MAX_S,
				     MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_NOTIFY_CONNECTION,
				     connections_changed, s->peers, MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL,
				     MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	if (s->daemon)
		return true;
	close(fd);
	return server_fail(error, SERVER_FAILED, "the HTTP server did not start");
}

/* The first one is the listening address. */
static void name_hosts(struct server *s, const char *address, char *name, const char *const *names)
{
	GPtrArray *hosts = g_ptr_array_new();

	g_ptr_array_add(hosts, name);
	if (listen_is_loopback(address))
		g_ptr_array_add(hosts, g_strdup_printf("localhost%s", strrchr(name, ':')));
	for (guint i = 0; names && names[i]; i++)
		g_ptr_array_add(hosts, g_strdup(names[i]));
	g_ptr_array_add(hosts, NULL);
	s->hosts = (char **)g_ptr_array_free(hosts, FALSE);
	s->url = g_strdup_printf("http://%s/%s/", name, g_array_index(s->readers, struct reader, 0).token);
	s->gate = (struct gate){ .readers = (const struct reader *)(void *)s->readers->data,
				  .hosts = (const char *const *)s->hosts,
				  .is_proxied = names != NULL };
}

static gboolean on_signal(gpointer data)
{
	struct server *s = data;

	s->is_signalled = true;
	g_main_loop_quit(s->loop);
	return G_SOURCE_CONTINUE;
}

/* Workers free answers, but malloc keeps the memory in per-thread arenas.  Return it to the kernel when idle. */
static void give_back(struct server *s)
{
	gint answers = g_atomic_int_get(&s->answers);

	if (answers == s->trimmed || g_atomic_pointer_get(&s->sending_bytes))
		return;
	s->trimmed = answers;
	malloc_trim(0);
}

static gboolean on_second(gpointer data)
{
	struct server *s = data;
	gint64 now_us = g_get_monotonic_time(), last_us;

	peers_sweep(s->peers, now_us);
	give_back(s);
	g_mutex_lock(&s->lock);
	last_us = s->last_us;
	g_mutex_unlock(&s->lock);
	if (s->idle_s && now_us - last_us > (gint64)s->idle_s * G_USEC_PER_SEC)
		g_main_loop_quit(s->loop);
	return G_SOURCE_CONTINUE;
}

/* Set up before the address is announced: a signal may come right after. */
static void watch_signals(struct server *s)
{
	s->loop = g_main_loop_new(NULL, FALSE);
	s->sources[0] = g_unix_signal_add(SIGINT, on_signal, s);
	s->sources[1] = g_unix_signal_add(SIGTERM, on_signal, s);
	s->sources[2] = g_unix_signal_add(SIGHUP, on_signal, s);
	s->sources[3] = g_timeout_add(1000, on_second, s);
}

struct server *server_start(const struct server_options *o, GError **error)
{
	const char *address = o->address ? o->address : "127.0.0.1";
	char token[TOKEN_LEN + 1], *name = NULL;

	if (!o->readers && !token_make(token, error))
		return NULL;
	int fd = listen_on(address, o->port, &name, error);

	if (fd < 0)
		return NULL;
	struct server *s = g_new0(struct server, 1);

	g_mutex_init(&s->lock);
	s->readers = o->readers ? g_array_ref((GArray *)o->readers) : readers_of_token(token);
	s->audit = o->audit;
	s->routes = o->routes;
	s->routes_cnt = o->routes_cnt;
	s->ctx = o->ctx;
	s->last_us = g_get_monotonic_time();
	name_hosts(s, address, name, o->names);
	if (o->on_listening && !o->on_listening(s, o->data, error)) {
		close(fd);
		server_stop(s);
		return NULL;
	}
	s->peers = peers_new(CONNECTIONS_MAX);
	watch_signals(s);
	s->pool = g_thread_pool_new(answer_request, s, (gint)MAX(o->workers, 1), FALSE, NULL);
	if (start_daemon(s, fd, error))
		return s;
	server_stop(s);
	return NULL;
}

const char *server_url(const struct server *s)
{
	return s->url;
}

const char *server_url_once(struct server *s, GError **error)
{
	char code[TOKEN_LEN + 1];

	if (!token_make(code, error))
		return NULL;
	g_mutex_lock(&s->lock);
	g_free(s->once);
	g_free(s->url_once);
	s->once = g_strdup_printf("/open/%s", code);
	s->url_once = g_strdup_printf("http://%s%s", s->hosts[0], s->once);
	s->once_until_us = g_get_monotonic_time() + ONCE_US;
	s->gate.once = s->once;
	g_mutex_unlock(&s->lock);
	return s->url_once;
}

bool server_run(struct server *s, unsigned idle_s)
{
	s->idle_s = idle_s;
	g_main_loop_run(s->loop);
	return s->is_signalled;
}

void server_stop(struct server *s)
{
	if (!s)
		return;
	g_mutex_lock(&s->lock);
	s->is_ending = true;
	g_mutex_unlock(&s->lock);
	/* Stop accepting, then resume suspended connections, then stop the daemon. */
	if (s->daemon) {
		MHD_socket fd = MHD_quiesce_daemon(s->daemon);

		if (fd != MHD_INVALID_SOCKET)
			close(fd);
	}
	if (s->pool)
		g_thread_pool_free(s->pool, FALSE, TRUE);
	if (s->daemon)
		MHD_stop_daemon(s->daemon);
	for (guint i = 0; i < G_N_ELEMENTS(s->sources); i++)
		if (s->sources[i])
			g_source_remove(s->sources[i]);
	g_clear_pointer(&s->loop, g_main_loop_unref);
	g_clear_pointer(&s->peers, peers_free);
	g_strfreev(s->hosts);
	g_array_unref(s->readers);
	g_free(s->url);
	g_free(s->once);
	g_free(s->url_once);
	g_mutex_clear(&s->lock);
	g_free(s);
}
