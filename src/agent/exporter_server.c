/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "agent/exporter_server.h"

#include <microhttpd.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/opener/confine.h"
#include "base/opener/parser.h"
#include "base/opener/wire.h"
#include "server/connections.h"

#define LISTENING_FD 3
#define TEXTS_FD 4
#define CONNECTIONS_MAX 32
#define HEADER_MAX_BYTES (8 << 10)
#define SILENCE_MAX_S 10
#define TEXT_MAX_BYTES (UINT64_C(64) << 20)
#define MEMORY_MAX_BYTES (UINT64_C(512) << 20)
#define MEDIA_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct texts {
	GMutex lock;
	GBytes *last;	/* NULL: no window yet */
	uint64_t came_ns, still_after_ns;	/* when that came, or this process began; a longer pause is a hang */
	bool is_loopback;
	struct peers *peers;
};

static bool exporter_is_own_host(const char *host)
{
	static const char *const names[] = { "localhost", "[::1]" };
	const char *rest;

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
		if (g_ascii_strncasecmp(host, names[i], strlen(names[i])) == 0) {
			rest = host + strlen(names[i]);
			return !*rest || *rest == ':';
		}
	return g_str_has_prefix(host, "127.") && strspn(host, "0123456789.:") == strlen(host);
}

static enum MHD_Result send_response(struct MHD_Connection *c, unsigned status, GBytes *body, const char *type)
{
	gsize len;
	const void *bytes = g_bytes_get_data(body, &len);
	struct MHD_Response *r = MHD_create_response_from_buffer(len, (void *)(uintptr_t)bytes, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result result = MHD_NO;

	g_bytes_unref(body);
	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, "Content-Type", type);
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, "Cache-Control", "no-store");
	result = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return result;
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned status, const char *why)
{
	return send_response(c, status, g_bytes_new_static(why, strlen(why)), "text/plain; charset=utf-8");
}

/* For supervisors that restart a hanging agent. */
static enum MHD_Result answer_health(struct texts *t, struct MHD_Connection *c)
{
	char text[80];
	int len;

	g_mutex_lock(&t->lock);
	uint64_t age_ns = clock_ns(CLOCK_MONOTONIC) - t->came_ns;
	bool is_still = age_ns > t->still_after_ns, has_window = t->last != NULL;

	g_mutex_unlock(&t->lock);
	len = g_snprintf(text, sizeof(text), "%s: %s %.0f s ago\n", is_still ? "stands still" : "ok",
			 has_window ? "the last window came" : "no window yet, it began", (double)age_ns / 1e9);
	return send_response(c, is_still ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK, g_bytes_new(text, (gsize)len),
			     "text/plain; charset=utf-8");
}

static enum MHD_Result answer_metrics(struct texts *t, struct MHD_Connection *c)
{
	GBytes *last;

	g_mutex_lock(&t->lock);
	last = t->last ? g_bytes_ref(t->last) : NULL;
	g_mutex_unlock(&t->lock);
	return last ? send_response(c, MHD_HTTP_OK, last, MEDIA_TYPE)
		    : refuse(c, MHD_HTTP_SERVICE_UNAVAILABLE, "the first window is not over yet\n");
}

static enum MHD_Result on_request(void *data, struct MHD_Connection *c, const char *path, const char *method,
				  const char *version, const char *upload, size_t *upload_len, void **context)
{
	struct texts *t = data;
	const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host"), *refusal = connection_refusal(c);

	connection_does(t->peers, c, PEER_ANSWERING);
	if (refusal)
		return refuse(c, MHD_HTTP_BAD_REQUEST, refusal);
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
	if (t->is_loopback && (!host || !exporter_is_own_host(host)))
		return refuse(c, MHD_HTTP_FORBIDDEN, "this is not called so\n");
	if (strcmp(path, "/healthz") == 0)
		return answer_health(t, c);
	if (strcmp(path, "/metrics") != 0)
		return refuse(c, MHD_HTTP_NOT_FOUND, "there are /metrics and /healthz only\n");
	return answer_metrics(t, c);
}

static void on_completed(void *data, struct MHD_Connection *c, void **context, enum MHD_RequestTerminationCode why)
{
	connection_does(((struct texts *)data)->peers, c, PEER_WAITING);
}

static GBytes *read_text(int fd, uint64_t bytes)
{
	g_autofree guint8 *text = bytes <= TEXT_MAX_BYTES ? g_malloc(bytes + 1) : NULL;

	return text && file_read_at(fd, 0, text, bytes) ? g_bytes_new_take(g_steal_pointer(&text), bytes) : NULL;
}

/* Until a text arrives, or the agent ends; slow clients are disconnected meanwhile. */
static void sweep_until_text(struct texts *t)
{
	struct pollfd texts = { .fd = TEXTS_FD, .events = POLLIN };

	while (poll(&texts, 1, 1000) <= 0)
		peers_sweep(t->peers, g_get_monotonic_time());
}

static void take_texts(struct texts *t)
{
	struct exporter_text sent;
	int fd;

	for (sweep_until_text(t); parser_receive(TEXTS_FD, &sent, sizeof(sent), &fd) == (long)sizeof(sent);
	     sweep_until_text(t)) {
		GBytes *text = fd >= 0 ? read_text(fd, sent.bytes) : NULL, *before;

		if (fd >= 0)
			close(fd);
		if (!text)
			continue;
		g_mutex_lock(&t->lock);
		before = t->last;
		t->last = text;
		t->came_ns = clock_ns(CLOCK_MONOTONIC);
		t->still_after_ns = sent.still_after_ns;
		g_mutex_unlock(&t->lock);
		g_clear_pointer(&before, g_bytes_unref);
	}
}

_Noreturn void exporter_serve(int listening, int texts, bool is_loopback, uint64_t still_after_ns)
{
	struct confine c = { .calls = CONFINE_SERVER, .memory_bytes = MEMORY_MAX_BYTES };
	struct texts t = { .is_loopback = is_loopback,
			   .came_ns = clock_ns(CLOCK_MONOTONIC),
			   .still_after_ns = still_after_ns,
			   .peers = peers_new(CONNECTIONS_MAX) };
	struct MHD_Daemon *daemon;

	confine_descriptors((const int[]){ listening, texts }, 2);
	prctl(PR_SET_NAME, "offcpu-metrics", 0, 0, 0);
	if (!confine(&c, NULL))
		_exit(2);
	daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, on_request, &t,
				  MHD_OPTION_LISTEN_SOCKET, LISTENING_FD, MHD_OPTION_CONNECTION_LIMIT,
				  (unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				  (size_t)HEADER_MAX_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE_MAX_S,
				  MHD_OPTION_NOTIFY_COMPLETED, on_completed, &t, MHD_OPTION_NOTIFY_CONNECTION,
				  connections_changed, t.peers, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	if (!daemon)
		_exit(2);
	take_texts(&t);
	MHD_stop_daemon(daemon);
	_exit(0);
}
