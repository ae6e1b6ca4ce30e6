/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/error.h"
#include "base/clock.h"
#include "base/parse.h"
#include "cmd/cmd.h"

#define SHORT_NS 1000000000ULL

int run_status_of(const GError *error)
{
	if (error->domain == ATTACH_ERROR &&
	    (error->code == ATTACH_ERROR_PERMISSION || error->code == ATTACH_ERROR_KERNEL))
		return EXIT_NOT_PERMITTED;
	return EXIT_FAILED;
}

/* Of nohup's children it is, and would end them if we blocked it and waited for it. */
static bool is_hangup_ignored(void)
{
	struct sigaction old;

	return sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler == SIG_IGN;
}

static void signals_of_interest(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	if (!is_hangup_ignored())
		sigaddset(set, SIGHUP);
	sigaddset(set, SIGCHLD);
}

void run_on_signals(void (*handler)(int sig))
{
	signal(SIGINT, handler);
	signal(SIGTERM, handler);
	if (!is_hangup_ignored())
		signal(SIGHUP, handler);
}

/* In the child: wait for the word, then become COMMAND; what failed goes through error_fd. */
static void become_command(char **argv, int wait_fd, int error_fd)
{
	sigset_t none;
	char byte;
	int err;

	while (read(wait_fd, &byte, 1) < 0 && errno == EINTR)
		;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_DFL);
	execvp(argv[0], argv);
	err = errno;
	if (write(error_fd, &err, sizeof(err)) != sizeof(err))
		_exit(126);
	_exit(127);
}

/* COMMAND as a child that stands still before its exec. */
static bool spawn_command(struct run *run)
{
	int go[2], trouble[2];

	if (pipe2(go, O_CLOEXEC))
		return false;
	if (pipe2(trouble, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return false;
	}
	run->child = fork();
	if (run->child == 0) {
		close(go[1]);
		become_command(run->target->command, go[0], trouble[1]);
	}
	close(go[0]);
	close(trouble[1]);
	run->release_fd = go[1];
	run->exec_error_fd = trouble[0];
	return run->child > 0;
}

/* Lets COMMAND go; false, with a sentence printed, when it could not be executed. */
static bool release_command(struct run *run)
{
	int err = 0;
	ssize_t n;

	close(run->release_fd);
	run->release_fd = -1;
	/* The other end closes at a successful exec. */
	do
		n = read(run->exec_error_fd, &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	close(run->exec_error_fd);
	run->exec_error_fd = -1;
	if (n != sizeof(err))
		return true;
	cmd_error(run->name, "%s: %s", run->target->command[0], g_strerror(err));
	return false;
}

static void show_progress(const struct run *run, bool last)
{
	struct session_progress p;

	if (!run->progress || !isatty(STDERR_FILENO) || g_strcmp0(g_getenv("TERM"), "dumb") == 0)
		return;
	session_progress(run->session, &p);
	double seconds = (double)p.elapsed_ns / 1e9;
	fprintf(stderr, "\r%.1f s, %.0f switches/s, %" G_GUINT64_FORMAT " stacks, %" G_GUINT64_FORMAT " lost  %s",
		seconds, seconds > 0 ? (double)p.switches / seconds : 0, p.stacks, p.lost, last ? "\n" : "");
	fflush(stderr);
}

static void reap_command(struct run *run)
{
	if (run->child > 0 && !run->child_ended &&
	    waitpid(run->child, &run->child_status, WNOHANG) == run->child)
		run->child_ended = true;
}

static void print_libbpf_log(const struct run *run)
{
	g_autofree char *log = run->target->verbose ? session_libbpf_log() : NULL;

	if (log)
		fputs(log, stderr);
}

/* False when the session failed meanwhile. */
static bool wait_for_the_end(struct run *run, GError **error)
{
	uint64_t begun = clock_ns(CLOCK_MONOTONIC), shown = 0;
	bool is_more = false;
	sigset_t set;

	signals_of_interest(&set);
	for (;;) {
		uint64_t elapsed = clock_ns(CLOCK_MONOTONIC) - begun;
		uint64_t wait = is_more ? 0 : MIN(run->drain_ms, session_drain_ms(run->session)) * 1000000ULL;

		if (run->duration_ns && elapsed >= run->duration_ns)
			return true;
		if (run->duration_ns)
			wait = MIN(wait, run->duration_ns - elapsed);
		struct timespec timeout = { 0, (long)wait };
		int sig = sigtimedwait(&set, NULL, &timeout);
		if (sig == SIGINT || sig == SIGTERM || sig == SIGHUP)
			return true;
		reap_command(run);
		if (run->child_ended)
			return true;
		is_more = session_drain(run->session);
		if (!session_check(run->session, error))
			return false;
		if (session_is_full(run->session)) {
			cmd_error(run->name, "ends here: so many threads, stacks and waits came in that one recording holds no more");
			return true;
		}
		elapsed = clock_ns(CLOCK_MONOTONIC) - begun;
		if (run->on_tick && !run->on_tick(run, elapsed))
			return true;
		if (elapsed - shown > 500000000ULL) {
			show_progress(run, false);
			shown = elapsed;
		}
	}
}

void run_let_signals_through(void)
{
	sigset_t set;

	signals_of_interest(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void run_hold_signals(void)
{
	sigset_t set;

	signals_of_interest(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

bool run_parse_duration(struct run *run, const char *text)
{
	g_autoptr(GError) error = NULL;

	if (!text || (parse_duration(text, 1000000000, &run->duration_ns, &error) && run->duration_ns))
		return true;
	cmd_error(run->name, "%s", error ? error->message : "-d takes a time above 0");
	return false;
}

int run_session(struct run *run)
{
	g_autoptr(GError) error = NULL;

	run->release_fd = run->exec_error_fd = -1;
	run->drain_ms = run->drain_ms ? run->drain_ms : SESSION_DRAIN_MS;
	run_hold_signals();
	if (run->target->command) {
		if (!spawn_command(run)) {
			cmd_error(run->name, "start %s: %s", run->target->command[0], g_strerror(errno));
			return EXIT_FAILED;
		}
		run->target->collect.command_pid = (uint32_t)run->child;
		run->target->collect.command_name = run->target->command[0];
	}
	run->target->collect.is_short = run->child > 0 || (run->duration_ns && run->duration_ns < SHORT_NS);
	run->session = session_new(&run->target->collect, &error);
	print_libbpf_log(run);
	if (!run->session || !session_start(run->session, &error)) {
		cmd_error(run->name, "%s", error->message);
		return run_status_of(error);
	}
	if (run->child > 0 && !release_command(run))
		return EXIT_FAILED;
	if (run->on_tick)
		run->on_tick(run, 0);
	bool is_well = wait_for_the_end(run, &error);
	show_progress(run, true);
	/* From now on a Ctrl-C abandons: nobody has to wait for a slow disk.  Also one that a shell's script had us ignore. */
	run_on_signals(SIG_DFL);
	run_let_signals_through();
	if (!is_well || !session_stop(run->session, &error)) {
		print_libbpf_log(run);
		cmd_error(run->name, "%s", error->message);
		return run_status_of(error);
	}
	return EXIT_OK;
}

int run_command_status(struct run *run)
{
	if (run->child <= 0)
		return EXIT_OK;
	if (!run->child_ended)
		run_let_signals_through();
	/* A Ctrl-C goes to both, and it may just be ending. */
	reap_command(run);
	for (int i = 0; i < 20 && !run->child_ended; i++) {
		g_usleep(10000);
		reap_command(run);
	}
	if (!run->child_ended)
		cmd_error(run->name, "%s (%d) still runs, and its status is waited for; Ctrl-C ends that",
			  run->target->command[0], (int)run->child);
	while (!run->child_ended) {
		if (waitpid(run->child, &run->child_status, 0) == run->child)
			run->child_ended = true;
		else if (errno != EINTR)
			return EXIT_FAILED;
	}
	return WIFSIGNALED(run->child_status) ? 128 + WTERMSIG(run->child_status) :
						WEXITSTATUS(run->child_status);
}

void run_release(struct run *run)
{
	/* A child that was never let go must not start now. */
	if (run->release_fd >= 0) {
		if (run->child > 0)
			kill(run->child, SIGKILL);
		close(run->release_fd);
	}
	if (run->exec_error_fd >= 0)
		close(run->exec_error_fd);
	session_free(run->session);
	run->session = NULL;
}
