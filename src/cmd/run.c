/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/run.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/error.h"
#include "attach/feature.h"
#include "base/clock.h"
#include "base/hurry.h"
#include "base/opener/opener.h"
#include "base/parse.h"
#include "base/proc/status.h"
#include "base/urgency.h"
#include "cmd/cmd.h"

/*
 * Memory that libbpf needs again for each BPF object of a session: the kernel's BTF, 5 MB, and a copy.  Fresh memory
 * costs a page fault every 4 KiB, more than reading the file, most of all in a virtual machine.  So freed memory is
 * kept in a single arena for all threads, which starts with huge pages if available.
 */

#define HUGE_PAGE_BYTES (2u << 20)
#define TYPES_AT_ONCE 4	/* two objects are loaded at a time, and libbpf holds each one's BTF twice */

/* Call it before a session is created. */
static void types_memory_take(void)
{
	struct stat st;

	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 128 << 20);
	if (stat("/sys/kernel/btf/vmlinux", &st))
		return;
	size_t bytes = ((size_t)st.st_size * TYPES_AT_ONCE / HUGE_PAGE_BYTES + 1) * HUGE_PAGE_BYTES;
	void *room = aligned_alloc(HUGE_PAGE_BYTES, bytes);

	if (room)
		madvise(room, bytes, MADV_HUGEPAGE);
	free(room);
}

/* Call it when the programs of a long session are loaded: free memory is returned to the system, now and later. */
static void types_memory_give_back(void)
{
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	mallopt(M_TRIM_THRESHOLD, 4 << 20);
	malloc_trim(0);
}

#define SHORT_NS 1000000000ULL
#define NAMES_MS 10000	/* after the window's end */
#define LONG_NS 5000000000ULL

int run_status_of(const GError *error)
{
	if (error->domain == ATTACH_ERROR &&
	    (error->code == ATTACH_ERROR_PERMISSION || error->code == ATTACH_ERROR_KERNEL))
		return EXIT_NOT_PERMITTED;
	return EXIT_FAILED;
}

/* nohup ignores SIGHUP.  If we blocked and waited for it, it would end us. */
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

#define REPEATED_NS 500000000ULL

static uint64_t over_ns;	/* when the window ended */

bool run_is_repeated(void)
{
	return clock_ns(CLOCK_MONOTONIC) - over_ns < REPEATED_NS;
}

static void on_abandon(int sig)
{
	if (run_is_repeated())
		return;
	signal(sig, SIG_DFL);
	raise(sig);
}

void run_abandon_on_signals(void)
{
	run_on_signals(on_abandon);
}

static void say_line(const char *line, void *data)
{
	fprintf(stderr, "%s\n", line);
}

void run_window_over(void)
{
	static const struct watchdog_options ten_seconds = {
		.after_ms = WATCHDOG_AFTER_MS,
		.why = "offcpu: the window ended 10 s ago, and this process has not; its threads:",
		.say = say_line,
	};

	watchdog_begin(&ten_seconds);
	over_ns = clock_ns(CLOCK_MONOTONIC);
	run_abandon_on_signals();
}

/* Runs in the child: waits for the go-ahead, then executes COMMAND; reports errors through error_fd. */
static void become_command(const struct run *run, char **environment, int wait_fd, int error_fd)
{
	char **argv = run->target->command;
	sigset_t none;
	char byte;
	int err;

	(void)!TEMP_FAILURE_RETRY(read(wait_fd, &byte, 1));
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_DFL);
	if (as_user_become(run->target->as))
		execvpe(argv[0], argv, environment);
	err = errno;
	if (write(error_fd, &err, sizeof(err)) != sizeof(err))
		_exit(126);
	_exit(127);
}

/* Forks COMMAND, stopped before its exec. */
static bool spawn_command(struct run *run)
{
	g_auto(GStrv) environment = as_user_environment(run->target->as);
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
		become_command(run, environment, go[0], trouble[1]);
	}
	close(go[0]);
	close(trouble[1]);
	run->release_fd = go[1];
	run->exec_error_fd = trouble[0];
	run->is_held = true;
	return run->child > 0;
}

/* Lets COMMAND execute; false, after printing, if that failed. */
static bool release_command(struct run *run)
{
	int err = 0;

	run->is_held = false;
	close(run->release_fd);
	/* A successful exec closes the other end. */
	const ssize_t n = TEMP_FAILURE_RETRY(read(run->exec_error_fd, &err, sizeof(err)));
	close(run->exec_error_fd);
	if (n != sizeof(err))
		return true;
	return cmd_refuse(run->name, "%s: %s", run->target->command[0], g_strerror(err));
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
	g_autofree char *log = run->target->verbose ? load_log_take() : NULL;

	if (log)
		fputs(log, stderr);
}

/* A session's event loop: signals, and a timer for periodic work. */
struct watch {
	struct run *run;
	GMainLoop *loop;
	GError **error;
	uint64_t begun_ns, shown_ns;
	int timer_fd, signal_fd;
	bool is_well;		/* false: the session failed */
	bool is_long;		/* it runs for so long that everything is loaded */
};

/* Schedules the next turn: at once if more data is waiting, and never after the end. */
static void set_timer(const struct watch *w, bool is_more)
{
	uint64_t elapsed = clock_ns(CLOCK_MONOTONIC) - w->begun_ns;
	uint64_t wait = is_more ? 0 : MIN(w->run->drain_ms, session_drain_ms(w->run->session)) * 1000000ULL;
	struct itimerspec when = { 0 };

	if (w->run->duration_ns)
		wait = MIN(wait, w->run->duration_ns > elapsed ? w->run->duration_ns - elapsed : 0);
	wait = MAX(wait, 1);	/* 0 would disarm the timer */
	when.it_value.tv_sec = (time_t)(wait / 1000000000);
	when.it_value.tv_nsec = (long)(wait % 1000000000);
	timerfd_settime(w->timer_fd, 0, &when, NULL);
}

static void tell_end(struct run *run)
{
	if (run->on_end)
		run->on_end(run);
}

static bool is_over(struct watch *w)
{
	struct run *run = w->run;

	if (!session_check(run->session, w->error)) {
		w->is_well = false;
		return true;
	}
	if (session_is_full(run->session)) {
		tell_end(run);
		cmd_error(run->name,
			  "ends here: so many threads, stacks and waits came in that one recording holds no more");
		return true;
	}
	return false;
}

static gboolean on_timer(gint fd, GIOCondition condition, gpointer data)
{
	struct watch *w = data;
	struct run *run = w->run;
	uint64_t elapsed = clock_ns(CLOCK_MONOTONIC) - w->begun_ns;

	(void)fd;	/* need not be read: set_timer() clears it */
	if (run->duration_ns && elapsed >= run->duration_ns) {
		hurry_after_ms(NAMES_MS);
		g_main_loop_quit(w->loop);
		return G_SOURCE_CONTINUE;
	}
	bool is_more = session_drain(run->session);

	elapsed = clock_ns(CLOCK_MONOTONIC) - w->begun_ns;
	if (is_over(w) || (run->on_tick && !run->on_tick(run, elapsed))) {
		g_main_loop_quit(w->loop);
		return G_SOURCE_CONTINUE;
	}
	if (!w->is_long && elapsed > LONG_NS) {
		w->is_long = true;
		types_memory_give_back();
	}
	if (elapsed - w->shown_ns > 500000000ULL) {
		show_progress(run, false);
		w->shown_ns = elapsed;
	}
	set_timer(w, is_more);
	return G_SOURCE_CONTINUE;
}

static gboolean on_input(gint fd, GIOCondition condition, gpointer data)
{
	struct watch *w = data;

	if (!w->run->on_input(w->run) || condition & (G_IO_HUP | G_IO_ERR))
		g_main_loop_quit(w->loop);
	return G_SOURCE_CONTINUE;
}

static gboolean on_signal(gint fd, GIOCondition condition, gpointer data)
{
	struct watch *w = data;
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) != sizeof(info))
		return G_SOURCE_CONTINUE;
	if (info.ssi_signo == SIGCHLD)
		reap_command(w->run);
	else
		hurry_begin();
	if (info.ssi_signo != SIGCHLD || w->run->child_ended)
		g_main_loop_quit(w->loop);
	return G_SOURCE_CONTINUE;
}

/* False: the session failed. */
static bool wait_for_the_end(struct run *run, GError **error)
{
	struct watch w = { .run = run, .error = error, .begun_ns = clock_ns(CLOCK_MONOTONIC), .is_well = true };
	sigset_t set;

	signals_of_interest(&set);
	w.signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	w.timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (w.signal_fd < 0 || w.timer_fd < 0) {
		g_set_error(error, ATTACH_ERROR, ATTACH_ERROR_FAILED, "a timer and a signal descriptor: %s",
			    g_strerror(errno));
		w.is_well = false;
	} else {
		w.loop = g_main_loop_new(NULL, FALSE);
		guint timer = g_unix_fd_add(w.timer_fd, G_IO_IN, on_timer, &w);
		guint input = run->on_input ? g_unix_fd_add(run->input_fd, G_IO_IN | G_IO_HUP | G_IO_ERR, on_input, &w)
					    : 0;
		guint signals = g_unix_fd_add_full(G_PRIORITY_HIGH, w.signal_fd, G_IO_IN, on_signal, &w, NULL);

		reap_command(run);	/* it may have ended before the signal descriptor was created */
		set_timer(&w, true);
		if (!run->child_ended)
			g_main_loop_run(w.loop);
		g_source_remove(timer);
		g_source_remove(signals);
		if (input)
			g_source_remove(input);
		g_main_loop_unref(w.loop);
	}
	if (w.signal_fd >= 0)
		close(w.signal_fd);
	if (w.timer_fd >= 0)
		close(w.timer_fd);
	return w.is_well;
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
	return cmd_refuse(run->name, "%s", error ? error->message : "-d takes a time above 0");
}

/* Warned about at the start, since a report without names does not say why. */
static void warn_of_names(const struct run *run)
{
	const struct collect_options *o = &run->target->collect;

	if (run->on_input || (o->mode != COLLECT_WAITS && o->mode != COLLECT_EVENTS))
		return;
	if (!o->no_kernel_stacks && !feature_supported(FEATURE_KALLSYMS))
		cmd_error(run->name, "warning: kernel functions have no names: run as root with kernel.kptr_restrict at "
			  "most 1, or add CAP_SYSLOG");
	if (!proc_is_ours("/proc"))
		cmd_error(run->name, "warning: programs have no names and few frames: /proc is of another pid namespace, "
			  "where their numbers are others; mount it for this one (unshare --mount-proc)");
	if (!o->pids && !run->child && !feature_supported(FEATURE_OTHERS_MAPS))
		cmd_error(run->name, "warning: other users' programs have no names and few frames: run as root, or add "
			  "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH");
}

int run_session(struct run *run)
{
	g_autoptr(GError) error = NULL;

	run->drain_ms = run->drain_ms ? run->drain_ms : SESSION_DRAIN_MS;
	run_hold_signals();
	opener_begin();
	types_memory_take();
	if (run->target->command) {
		if (run->target->tells_user)
			cmd_error(run->name, "note: %s runs as %s", run->target->command[0],
				  run->target->as ? run->target->as->name : g_get_user_name());
		if (!spawn_command(run))
			return cmd_failed(run->name, "start %s: %s", run->target->command[0], g_strerror(errno));
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
	warn_of_names(run);
	if (run->child > 0 && !release_command(run))
		return EXIT_FAILED;
	if (run->on_tick)
		run->on_tick(run, 0);
	bool is_well = wait_for_the_end(run, &error);
	tell_end(run);
	show_progress(run, true);
	run_window_over();	/* applies also to signals that the shell's script ignores */
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
	/* Ctrl-C reaches both, so COMMAND may be ending by itself. */
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

#define SKIPPED_NAMED 5

void run_end_opener(const char *name)
{
	unsigned cnt = 0;

	for (char *news; (news = opener_news()); g_free(news))
		if (cnt++ < SKIPPED_NAMED)
			cmd_error(name, "warning: %s", news);
	if (cnt > SKIPPED_NAMED)
		cmd_error(name, "warning: and %u more did not answer", cnt - SKIPPED_NAMED);
	opener_stop();
}

void run_release(struct run *run)
{
	/* A child that was never released must not start now. */
	if (run->is_held) {
		if (run->child > 0)
			kill(run->child, SIGKILL);
		close(run->release_fd);
		close(run->exec_error_fd);
	}
	session_free(run->session);
	run->session = NULL;
	run_end_opener(run->name);
}

void run_print_losses(const struct profile *p, const char *before, const char *but)
{
	EACH_ROW(i, const struct profile_loss, l, p->losses) {
		if (g_strcmp0(l->reason, but) == 0)
			continue;
		fprintf(stderr, "%s%s %" G_GUINT64_FORMAT, before, l->reason, l->count);
		before = ", ";
	}
}
