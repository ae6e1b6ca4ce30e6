/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Requests to an opener, and what happens if it does not answer. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hurry.h"
#include "base/opener/parser.h"
#include "base/opener/wire.h"

/*
 * Maximal wait for a reply, as long as few requests were in vain: they share a budget, which recovers at a tenth of
 * the elapsed time. So even many processes that never answer delay a recorder by no more, and a window is cut in time.
 */
#define PATIENCE_US 1000000
#define PATIENCE_MIN_US 100000
#define GRANTED_US 1500000
#define GRANTED_BACK 10
/* While a user waits for our end strangers are not waited for. */
#define PATIENCE_LAST_US PATIENCE_MIN_US
/* An opener that has work and no CPU must not count as one that hangs. */
#define STARVED_US (20 * G_USEC_PER_SEC)
#define COPIED_US (10 * G_USEC_PER_SEC)
#define SLICE_MS 50
#define KEEPER_MS 5000
#define KEEPER_STOPPED_MS 1000
#define NONE_PAUSE_US G_USEC_PER_SEC	/* pause before the next attempt if none can be started */

static struct channel {
	GMutex lock;
	int control, socket;
	pid_t keeper, helper;
	bool is_there, is_lost;
	int64_t granted_us, granted_at_us, none_until_us;
	uint64_t ended_cpu_ns, answered_cpu_ns;	/* CPU time of former helpers; of this one up to its last reply */
	struct opener_counts counts;
	struct opener_skipped *skipped;
} channel = { .control = -1, .socket = -1 };

bool opener_is_there(void)
{
	return channel.is_there;
}

bool opener_is_lost(void)
{
	g_mutex_lock(&channel.lock);
	bool is_lost = channel.is_lost;

	g_mutex_unlock(&channel.lock);
	return is_lost;
}

/* ---- time */

static int64_t patience_us(struct channel *c)
{
	int64_t now = g_get_monotonic_time();

	c->granted_us = MIN(c->granted_us + (now - c->granted_at_us) / GRANTED_BACK, GRANTED_US);
	c->granted_at_us = now;
	return CLAMP(c->granted_us, PATIENCE_MIN_US, PATIENCE_US);
}

/* Is it runnable without a CPU? Only the kernel is asked, so this never blocks. */
static bool is_starved(pid_t helper)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/stat", (int)helper), *text = NULL;
	const char *end = g_file_get_contents(path, &text, NULL, NULL) ? strrchr(text, ')') : NULL;

	return end && end[1] == ' ' && end[2] == 'R';
}

static bool can_be_read(int fd, int wait_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return TEMP_FAILURE_RETRY(poll(&p, 1, wait_ms)) > 0;
}

/* Raises its priority like that of the recorder's own threads (urgency.h), if it starves among thousands. */
static void raise_if_starved(pid_t helper)
{
	const struct sched_param lowest = { .sched_priority = sched_get_priority_min(SCHED_RR) };

	sched_setscheduler(helper, SCHED_RR | SCHED_RESET_ON_FORK, &lowest);
}

/* False: no reply came. */
static bool await_reply(struct channel *c, int64_t begun_us, int64_t patience)
{
	int64_t starved_us = 0, at_us = g_get_monotonic_time();

	while (!can_be_read(c->socket, SLICE_MS)) {
		int64_t now = g_get_monotonic_time(), most = hurry_is_asked() ? PATIENCE_LAST_US : patience;

		if (starved_us < STARVED_US && is_starved(c->helper)) {
			starved_us += now - at_us;
			raise_if_starved(c->helper);
		}
		at_us = now;
		if (now - begun_us - starved_us >= most)
			return false;
	}
	return true;
}

/* ---- another opener */

pid_t opener_pid(void)
{
	g_mutex_lock(&channel.lock);
	pid_t pid = channel.helper;

	g_mutex_unlock(&channel.lock);
	return pid;
}

uint64_t opener_cpu_ns(void)
{
	g_mutex_lock(&channel.lock);
	uint64_t ns = channel.is_there ? channel.ended_cpu_ns + clock_of_process_ns(channel.helper) : 0;

	g_mutex_unlock(&channel.lock);
	return ns;
}

/* The keeper may have been stopped, with all processes of its name: SIGCONT lets it continue. */
static bool await_keeper(const struct channel *c)
{
	if (can_be_read(c->control, KEEPER_STOPPED_MS))
		return true;
	kill(c->keeper, SIGCONT);
	return can_be_read(c->control, KEEPER_MS);
}

/* Leaves the previous one, if any, behind. False: there is none now. */
static bool begin_helper(struct channel *c)
{
	struct opener_begun begun = { 0 };
	int fd = -1;

	if (c->is_lost || g_get_monotonic_time() < c->none_until_us)
		return false;
	c->ended_cpu_ns += clock_of_process_ns(c->helper);
	c->answered_cpu_ns = 0;
	if (c->socket >= 0)
		close(c->socket);
	c->socket = -1;
	c->helper = 0;
	c->is_lost = !parser_send(c->control, "n", 1, -1) || !await_keeper(c) ||
		     parser_receive(c->control, &begun, sizeof(begun), &fd) != (long)sizeof(begun);
	if (fd < 0) {
		c->none_until_us = g_get_monotonic_time() + NONE_PAUSE_US;
		opener_skipped_tell(c->skipped, "openers",
				    g_strdup("so many processes that open what is other users' wait for what does not "
					     "answer that there is no other: names will be missing until one comes back"));
		return false;
	}
	c->socket = fd;
	c->helper = begun.pid;
	return true;
}

/* ---- a request */

static _Thread_local uint64_t asked_cpu_ns;

uint64_t opener_thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) + asked_cpu_ns;
}

static void note_cost(struct channel *c)
{
	const uint64_t now_ns = clock_of_process_ns(c->helper);

	asked_cpu_ns += now_ns - MIN(c->answered_cpu_ns, now_ns);
	c->answered_cpu_ns = now_ns;
}

enum answer { ANSWERED, LATE, ENDED };

static enum answer exchange(struct channel *c, const struct opener_request *request, const struct opener_asked *a,
			    void *reply, size_t bytes, long *ret_bytes, int *ret_fd)
{
	const int64_t first_us = g_get_monotonic_time(), patience = patience_us(c);
	int64_t begun_us = first_us;
	int32_t error;

	if (!parser_send(c->socket, request, OPENER_REQUEST_BYTES + a->path_bytes, a->fd))
		return ENDED;
	for (;;) {
		if (!await_reply(c, begun_us, patience) || begun_us - first_us > COPIED_US)
			return LATE;
		*ret_bytes = parser_receive(c->socket, reply, bytes, ret_fd);
		if (*ret_bytes < (long)OPENER_REPLY_BYTES)
			return ENDED;
		memcpy(&error, reply, sizeof(error));
		if (error != EINPROGRESS)
			return ANSWERED;
		begun_us = hurry_is_asked() ? begun_us : g_get_monotonic_time();
	}
}

static void give_up(struct channel *c, const struct opener_asked *a, int64_t waited_us)
{
	c->counts.replaced++;
	c->counts.skipped++;
	c->granted_us = MAX(c->granted_us - waited_us, 0);
	if (a->subject)
		opener_skipped_add(c->skipped, a->subject, waited_us, g_get_monotonic_time());
	begin_helper(c);
}

/* Size of the reply; -1 with errno. */
static long exchange_or_skip(struct channel *c, const struct opener_request *request, const struct opener_asked *a,
			     void *reply, size_t bytes, int *ret_fd)
{
	int64_t begun_us = g_get_monotonic_time();
	enum answer answer = ENDED;
	long n = -1;

	errno = ETIMEDOUT;
	if (opener_skipped_has(c->skipped, a->subject, begun_us)) {
		c->counts.skipped++;
		return -1;
	}
	/* one that ended may have had another reason: the request is sent once more */
	for (int tries = 0; tries < 2 && answer == ENDED; tries++) {
		*ret_fd = -1;
		if (c->socket < 0 && !begin_helper(c))
			break;
		answer = exchange(c, request, a, reply, bytes, &n, ret_fd);
		if (answer == ENDED) {
			c->counts.replaced++;
			close(c->socket);
			c->socket = -1;
		}
	}
	if (answer == LATE)
		give_up(c, a, g_get_monotonic_time() - begun_us);
	else if (answer == ENDED)
		c->counts.skipped++;
	errno = ETIMEDOUT;
	return answer == ANSWERED ? n : -1;
}

long opener_ask(const struct opener_asked *a, void *reply, size_t bytes, int *ret_fd)
{
	struct opener_request request = { .call = a->call, .flags = a->flags, .number = a->number };
	int32_t error;
	long n;

	*ret_fd = -1;
	if (a->path_bytes > sizeof(request.path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (opener_has_ended(a->subject)) {
		errno = ENOENT;
		return -1;
	}
	if (hurry_is_over()) {
		errno = ETIMEDOUT;
		return -1;
	}
	if (a->path_bytes)
		memcpy(request.path, a->path, a->path_bytes);
	g_mutex_lock(&channel.lock);
	n = channel.is_there ? exchange_or_skip(&channel, &request, a, reply, bytes, ret_fd) : -1;
	note_cost(&channel);
	g_mutex_unlock(&channel.lock);
	if (n < (long)OPENER_REPLY_BYTES)
		return -1;
	memcpy(&error, reply, sizeof(error));
	errno = error;
	return error ? -1 : n - (long)OPENER_REPLY_BYTES;
}

/* ---- what users are told */

struct opener_counts opener_counts(void)
{
	g_mutex_lock(&channel.lock);
	struct opener_counts counts = channel.counts;

	g_mutex_unlock(&channel.lock);
	return counts;
}

char *opener_news(void)
{
	g_mutex_lock(&channel.lock);
	char *news = channel.skipped ? opener_skipped_news(channel.skipped) : NULL;

	g_mutex_unlock(&channel.lock);
	return news;
}

char *opener_last_news(void)
{
	g_mutex_lock(&channel.lock);
	char *news = channel.skipped ? opener_skipped_last_news(channel.skipped) : NULL;

	g_mutex_unlock(&channel.lock);
	return news;
}

void opener_tell_of(const char *kind, uint32_t pid, const char *what)
{
	g_autofree char *subject = g_strdup_printf("%s %u", kind, pid), *path = g_strdup_printf("/proc/%u/comm", pid), *comm = NULL;

	if (!g_file_get_contents(path, &comm, NULL, NULL))
		comm = g_strdup("?");
	g_strdelimit(g_strchomp(comm), "\n\r\t\033", '?');
	g_mutex_lock(&channel.lock);
	channel.counts.skipped++;
	if (channel.skipped)
		opener_skipped_tell(channel.skipped, subject, g_strdup_printf("process %u (%s): %s", pid, comm, what));
	g_mutex_unlock(&channel.lock);
}

/* ---- its life */

bool opener_channel_open(const uint64_t *kept)
{
	struct channel *c = &channel;
	int sockets[2] = { -1, -1 };

	opener_channel_close();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return false;
	c->keeper = fork();
	if (c->keeper == 0)
		opener_keep(sockets[1], kept);
	close(sockets[1]);
	g_mutex_lock(&c->lock);
	c->control = sockets[0];
	c->granted_us = GRANTED_US;
	c->granted_at_us = g_get_monotonic_time();
	c->none_until_us = 0;
	c->is_lost = false;
	c->skipped = opener_skipped_new();
	c->is_there = c->keeper > 0 && begin_helper(c);
	g_mutex_unlock(&c->lock);
	if (!c->is_there)
		opener_channel_close();
	return c->is_there;
}

/* An opener may be in an endless sleep: neither we nor its keeper wait for that. */
void opener_channel_close(void)
{
	struct channel *c = &channel;

	g_mutex_lock(&c->lock);
	c->is_there = c->is_lost = false;
	if (c->socket >= 0)
		close(c->socket);
	if (c->control >= 0)
		close(c->control);
	if (c->keeper > 0)
		waitpid(c->keeper, NULL, WNOHANG);
	c->socket = c->control = -1;
	c->keeper = c->helper = 0;
	c->ended_cpu_ns = 0;
	c->counts = (struct opener_counts){ 0 };
	g_clear_pointer(&c->skipped, opener_skipped_free);
	g_mutex_unlock(&c->lock);
}
