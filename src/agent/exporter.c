/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "agent/exporter.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/exporter_server.h"
#include "base/opener/opener.h"
#include "base/opener/parser.h"
#include "base/version.h"
#include "push/metrics.h"
#include "server/listen.h"

#define STILL_WINDOWS 4
#define STILL_MIN_NS UINT64_C(60000000000)
#define SEND_MAX_US 100000	/* an unresponsive server must not delay windows */

struct exporter {
	struct metrics *metrics;
	uint64_t bpf_ns;
	int socket;	/* -1: the server has ended */
	pid_t server;
	char *url;
	log_fn log;
};

/* Without a window for this long the agent counts as hanging. */
static uint64_t still_after_ns(const struct agent_config *c)
{
	return MAX(STILL_WINDOWS * c->window_ns, STILL_MIN_NS);
}

struct exporter *exporter_new(const struct agent_config *config, log_fn log, GError **error)
{
	g_autofree char *address = NULL, *name = NULL;
	int sockets[2] = { -1, -1 }, listening;
	const struct timeval patience = { .tv_usec = SEND_MAX_US };
	guint16 port = 0;
	struct exporter *e;

	if (!config->metrics_listen || !listen_parse(config->metrics_listen, &address, &port, error))
		return NULL;
	listening = listen_on(address ? address : "127.0.0.1", port, &name, error);
	if (listening < 0)
		return NULL;
	bool is_paired = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0;
	pid_t pid = is_paired ? fork() : -1;

	if (pid == 0)
		exporter_serve(listening, sockets[1], !address || listen_is_loopback(address), still_after_ns(config));
	if (pid < 0)
		g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno),
			    "[metrics] a process that answers: %s", g_strerror(errno));
	close(listening);
	if (is_paired)
		close(sockets[1]);
	if (pid < 0) {
		if (is_paired)
			close(sockets[0]);
		return NULL;
	}
	setsockopt(sockets[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	e = g_new0(struct exporter, 1);
	*e = (struct exporter){ .metrics = metrics_new(), .socket = sockets[0], .server = pid, .log = log,
				.url = g_strdup_printf("http://%s/metrics", name) };
	return e;
}

void exporter_free(struct exporter *e)
{
	if (!e)
		return;
	if (e->socket >= 0)
		close(e->socket);
	waitpid(e->server, NULL, 0);
	metrics_free(e->metrics);
	g_free(e->url);
	g_free(e);
}

const char *exporter_url(const struct exporter *e)
{
	return e->url;
}

/* "0.1.0-12-gHASH" and "gHASH"; "" for a tag or an archive, which name no commit. */
static void about_text(const struct exporter_state *state, GString *s)
{
	const char *version = version_text(), *commit = strstr(version, "-g");

	metrics_head(s, "offcpu_build_info", "gauge", "Which program this is.");
	g_string_append_printf(s, "offcpu_build_info{version=\"%s\",commit=\"%.*s\"} 1\n", version,
			       commit ? (int)strcspn(commit + 2, "-") : 0, commit ? commit + 2 : "");
	metrics_head(s, "offcpu_agent_config_info", "gauge", "A hash of the configuration's files.");
	metrics_labelled(s, "offcpu_agent_config_info", "hash", state->config->hash, 1);
	metrics_number(s, "offcpu_agent_config_reload_successful", "gauge",
		       "Whether the configuration that was read last is in use.", !state->is_reload_bad);
	metrics_seconds(s, "offcpu_agent_config_reload_timestamp_seconds", "gauge",
			"When the configuration was read last.", state->reloaded_unix_ns);
}

static void own_text(const struct exporter *e, const struct exporter_state *state, GString *s)
{
	const struct keeper_counts kept = keeper_counts(state->keeper);
	const struct parser_counts parsed = parser_counts();
	const struct opener_counts opened = opener_counts();

	metrics_seconds(s, "offcpu_agent_cpu_seconds_total", "counter", "CPU time of the agent's process.",
			state->cpu_ns);
	metrics_seconds(s, "offcpu_agent_bpf_seconds_total", "counter",
			"CPU time of its programs in the kernel, where the kernel counts it.", e->bpf_ns);
	metrics_number(s, "offcpu_agent_resident_bytes", "gauge", "Memory of the agent's process.",
		       state->resident_bytes);
	metrics_seconds(s, "offcpu_agent_last_window_timestamp_seconds", "gauge", "When the last window ended.",
			state->end_unix_ns);
	metrics_seconds(s, "offcpu_agent_window_seconds", "gauge", "How long a window is to be.",
			state->config->window_ns);
	metrics_number(s, "offcpu_agent_windows_stored_total", "counter", "Windows that are in the store.",
		       kept.stored);
	metrics_number(s, "offcpu_agent_windows_lost_total", "counter", "Windows that the store could not take.",
		       kept.lost);
	metrics_number(s, "offcpu_agent_begun_anew_total", "counter", "How often recording began anew, with a gap.",
		       state->anew_cnt);
	metrics_number(s, "offcpu_agent_windows_late_total", "counter",
		       "Windows that took half as long again as they should, or longer.", state->late_cnt);
	metrics_number(s, "offcpu_agent_files_parsed_total", "counter", "ELF files that were given to a parser.",
		       parsed.asked);
	metrics_number(s, "offcpu_agent_files_lost_total", "counter", "Of these, those that their parser fell over.",
		       parsed.lost);
	about_text(state, s);
	metrics_number(s, "offcpu_agent_reads_skipped_total", "counter",
		       "Reads of processes' memory and of files that were not answered, or not made since one was not.",
		       opened.skipped);
	metrics_number(s, "offcpu_agent_openers_replaced_total", "counter",
		       "Processes that opened what is other users', and ended or did not answer.", opened.replaced);
	pusher_metrics(state->pusher, s);
	alerter_metrics(state->alerter, s);
}

/* Sends it whole or not at all: as a file without a name. */
static bool hand_over(struct exporter *e, const GString *text, uint64_t still_ns)
{
	const struct exporter_text sent = { .bytes = text->len, .still_after_ns = still_ns };
	int fd = memfd_create("metrics", MFD_CLOEXEC);
	bool is_well = fd >= 0 && write(fd, text->str, text->len) == (ssize_t)text->len &&
		       parser_send(e->socket, &sent, sizeof(sent), fd);

	if (fd >= 0)
		close(fd);
	return is_well;
}

void exporter_add(struct exporter *e, const struct profile *window, const struct reasons *reasons,
		  const struct exporter_state *state)
{
	g_autoptr(GString) text = g_string_new(NULL);

	if (!e || e->socket < 0)
		return;
	metrics_add(e->metrics, window, reasons);
	e->bpf_ns += window->info.has_bpf_ns ? window->info.tracer_bpf_ns : 0;
	metrics_text(e->metrics, text);
	own_text(e, state, text);
	if (hand_over(e, text, still_after_ns(state->config)) || errno == EAGAIN)
		return;
	log_say(e->log, LOG_LEVEL_ERROR, "%s is not served any more: its process is gone", e->url);
	close(e->socket);
	e->socket = -1;
}
