/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "agent/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/chosen_groups.h"
#include "agent/processes.h"
#include "base/clock.h"
#include "profile/profile_file.h"
#include "session/session.h"

#define SECOND_NS UINT64_C(1000000000)
#define PAUSE_NS (600 * SECOND_NS)	/* between two recordings */
#define FILE_MODE 0640

struct order {
	uint64_t duration_ns, number;
};

struct recorder {
	char *dir;
	log_fn log;
	int fd;			/* to the waiting process: an order, and a byte when it is done */
	pid_t pid;
	uint64_t began_ns, number;	/* CLOCK_MONOTONIC; 0: never */
	bool is_running;
};

static char *path_of(const char *dir, uint64_t number)
{
	return g_strdup_printf("%s/.alert-%" G_GUINT64_FORMAT ".offcpu", dir, number);
}

/* ---- in the recorder process */

static struct collect_options options_of(const struct agent_config *c, GArray *groups)
{
	return (struct collect_options){
		.mode = COLLECT_WAITS,
		.comm_glob = c->comm,
		.cgroup_ids = groups,
		.budget_ppm = c->budget_ppm,
		.may_raise = c->budget_ppm != 0,
		.on_cpu_hz = ON_CPU_HZ_DEFAULT,
		.chain_depth = AGENT_CHAIN_STEPS,
		.want_objects = true,
		.want_locks = true,
		.want_wakers = true,
		.want_blame = true,
		.want_services = true,
		.no_kernel_threads = !c->kernel_threads,
	};
}

static bool await_end(struct session *s, uint64_t duration_ns, GError **error)
{
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + duration_ns;

	while (clock_ns(CLOCK_MONOTONIC) < end_ns && !session_is_full(s)) {
		if (!session_drain(s))
			g_usleep(session_drain_ms(s) * 1000);
		if (!session_check(s, error))
			return false;
	}
	return session_stop(s, error);
}

static bool save_recording(struct session *s, const struct agent_config *c, const struct order *order, GError **error)
{
	g_autofree char *path = path_of(c->dir, order->number);
	struct profile *p;
	bool is_written;

	if (!session_start(s, error) || !await_end(s, order->duration_ns, error))
		return false;
	p = session_take_profile(s);
	p->info.command_line = "recorded as an alert began";
	if (c->host)
		p->info.host = c->host;
	session_unload(s);
	unlink(path);		/* left by an agent that was killed */
	is_written = profile_file_write(p, path, error) && chmod(path, FILE_MODE) == 0;
	profile_free(p);
	return is_written;
}

/* Logs only errors: the agent itself reports that it records. */
static log_fn agent_log;
static void tell_trouble(enum log_level level, const char *text)
{
	if (level <= LOG_LEVEL_WARNING)
		agent_log(level, text);
}

/* The configuration may have changed since the agent began: it is read again. */
static bool record_once(const struct agent_options *options, const struct order *order, GError **error)
{
	struct agent_config *c = agent_read_config(options, error);
	g_autofree char *missing = NULL, *why = NULL;
	struct collect_options collect;
	struct session *s;
	bool is_well;

	if (!c)
		return false;
	agent_log = options->log;
	processes_begin(c, tell_trouble);
	collect = options_of(c, chosen_groups(c->cgroups, &missing, &why));
	s = processes_give_up(c, tell_trouble, error) ? session_new(&collect, error) : NULL;
	is_well = s && save_recording(s, c, order, error);
	session_free(s);
	processes_end();
	return is_well;
}

static void record_in_child(const struct agent_options *options, const struct order *order, pid_t parent)
{
	g_autoptr(GError) error = NULL;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	if (record_once(options, order, &error))
		_exit(0);
	log_say(options->log, LOG_LEVEL_ERROR, "the recording of an alert failed: %s",
		error ? error->message : "its file cannot be written");
	_exit(1);
}

/* One at a time, until the agent ends. */
static void serve_orders(int fd, const struct agent_options *options)
{
	struct order order;

	while (recv(fd, &order, sizeof(order), 0) == sizeof(order)) {
		pid_t self = getpid(), child = fork();
		int status = -1;
		char is_done;

		if (child == 0)
			record_in_child(options, &order, self);
		if (child > 0)
			waitpid(child, &status, 0);
		is_done = status == 0;
		if (send(fd, &is_done, 1, MSG_NOSIGNAL) != 1)
			break;
	}
}

/* ---- in the agent */

static void become_recorder(const struct agent_options *options, int fd, pid_t parent)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);	/* a terminal sends SIGINT to both */
	prctl(PR_SET_NAME, "offcpu-recorder", 0, 0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() == parent)
		serve_orders(fd, options);
	_exit(0);
}

struct recorder *recorder_new(const struct agent_options *options, const struct agent_config *config)
{
	pid_t self = getpid();
	struct recorder *r;
	int fds[2];

	if (!agent_config_records(config) || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return NULL;
	r = g_new0(struct recorder, 1);
	r->dir = g_strdup(config->dir);
	r->log = options->log;
	r->fd = fds[0];
	r->pid = fork();
	if (r->pid == 0) {
		close(fds[0]);
		become_recorder(options, fds[1], self);
	}
	close(fds[1]);
	if (r->pid > 0)
		return r;
	log_say(r->log, LOG_LEVEL_WARNING, "alerts record nothing: %s", g_strerror(errno));
	r->pid = 0;
	recorder_free(r);
	return NULL;
}

/* Closing the socket ends the process and what it started. */
void recorder_free(struct recorder *r)
{
	if (!r)
		return;
	close(r->fd);
	if (r->pid) {
		kill(r->pid, SIGTERM);
		waitpid(r->pid, NULL, 0);
	}
	if (r->number) {
		g_autofree char *path = path_of(r->dir, r->number);

		unlink(path);
	}
	g_free(r->dir);
	g_free(r);
}

char *recorder_begin(struct recorder *r, uint64_t duration_ns)
{
	const struct order order = { .duration_ns = duration_ns, .number = r->number + 1 };
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (r->is_running || (r->began_ns && now_ns - r->began_ns < PAUSE_NS)) {
		log_say(r->log, LOG_LEVEL_NOTICE, "no recording of this alert: the last one began less than 10 minutes ago");
		return NULL;
	}
	if (send(r->fd, &order, sizeof(order), MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(order)) {
		log_say(r->log, LOG_LEVEL_WARNING, "no recording of this alert: the process that records has ended");
		return NULL;
	}
	r->number = order.number;
	r->began_ns = now_ns;
	r->is_running = true;
	return path_of(r->dir, r->number);
}

enum recorder_state recorder_check(struct recorder *r)
{
	char is_done = 0;
	ssize_t n;

	if (!r || !r->is_running)
		return RECORDER_WAITS;
	n = recv(r->fd, &is_done, 1, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return RECORDER_RUNS;
	r->is_running = false;
	return n == 1 && is_done ? RECORDER_DONE : RECORDER_FAILED;
}
