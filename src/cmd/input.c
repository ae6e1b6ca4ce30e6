/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/input.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/refuse.h"
#include "cmd/range.h"
#include "exchange/format.h"
#include "features/tasks/analysis.h"
#include "profile/profile_file.h"

#define MAGIC_BYTES 16
static const char sqlite_magic[MAGIC_BYTES] = "SQLite format 3", perf_magic[] = "PERFILE2";

/* Import options from the command line, for the whole command. */
static struct import_options import_options;

gboolean recording_unit_option(const char *name, const char *value, gpointer data, GError **error)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };

	for (size_t i = 0; i < G_N_ELEMENTS(units); i++) {
		if (strcmp(value, units[i].name) == 0) {
			import_options.unit_ns = units[i].ns;
			return TRUE;
		}
	}
	g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s \"%s\": no such unit; known are ns, us, ms, s",
		    name, value);
	return FALSE;
}

static gssize read_fd(void *ctx, void *buffer, gsize size_bytes, GError **error)
{
	int fd = *(const int *)ctx;
	const ssize_t n = TEMP_FAILURE_RETRY(read(fd, buffer, size_bytes));

	if (n < 0)
		g_set_error_literal(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno), g_strerror(errno));
	return n;
}

static bool has_magic(const char *bytes, gsize len_bytes, const char *magic, gsize magic_bytes)
{
	return len_bytes >= magic_bytes && memcmp(bytes, magic, magic_bytes) == 0;
}

/* Reads a stream.  A compressed recording or one from a pipe is kept in memory as a whole. */
static struct profile *read_stream(int fd, const char *name, GError **error)
{
	struct source *source = source_new(read_fd, &fd);
	gsize len_bytes = 0;
	const char *bytes = source_peek(source, &len_bytes, NULL);
	struct profile *p = NULL;

	if (bytes && has_magic(bytes, len_bytes, sqlite_magic, MAGIC_BYTES)) {
		GByteArray *all = source_all(source, error);

		if (all)
			p = profile_file_read_bytes(all->data, all->len, name, error);
		else
			g_prefix_error(error, "'%s': ", name);
		if (all)
			g_byte_array_unref(all);
	} else if (bytes && has_magic(bytes, len_bytes, perf_magic, strlen(perf_magic))) {
		g_set_error(error, EXCHANGE_ERROR, EXCHANGE_ERROR_UNKNOWN,
			    "'%s' is perf.data, which perf reads only as a file of its own", name);
	} else {
		p = exchange_read(source, name, &import_options, error);
	}
	source_free(source);
	return p;
}

/*
 * Selects the fields to print, adding the pid.  perf omits stacks of tracepoints unless it keeps its default fields.
 */
static struct profile *read_perf_data(const char *path, GError **error)
{
	const char *argv[] = { "perf", "script", "-i", path, "-F", "+pid,+ip,+sym,+dso,+period", "--no-inline", NULL };
	const char *no_period[] = { "perf", "script", "-i", path, "-F", "+pid,+ip,+sym,+dso", "--no-inline", NULL };
	g_autoptr(GError) why = NULL;
	struct profile *p = NULL;

	bool is_refused = true;	/* perf may not know the field period */

	for (int attempt = 0; attempt < 2 && is_refused; attempt++) {
		int out = -1, status = 0;
		GPid pid;

		g_clear_error(&why);
		if (!g_spawn_async_with_pipes(NULL, (char **)(attempt ? no_period : argv), NULL,
					      G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD |
						      G_SPAWN_STDERR_TO_DEV_NULL,
					      NULL, NULL, &pid, NULL, &out, NULL, NULL))
			return refuse_null(error, EXCHANGE_ERROR, EXCHANGE_ERROR_UNKNOWN,
				"'%s' is perf.data, and perf, which reads it, is not here", path);
		char more;

		p = read_stream(out, path, &why);
		/* we closed the pipe first: the parser's error says why */
		bool is_stopped = why && read(out, &more, 1) > 0;

		close(out);
		TEMP_FAILURE_RETRY(waitpid(pid, &status, 0));
		is_refused = status != 0 && !is_stopped;
		if (is_refused) {
			profile_free(p);
			p = NULL;
			g_clear_error(&why);
			g_set_error(&why, EXCHANGE_ERROR, EXCHANGE_ERROR_BAD,
				    "'%s': perf script could not read it; run it to see why", path);
		}
	}
	if (!p)
		g_propagate_error(error, g_steal_pointer(&why));
	return p;
}

/*
 * Whether the path is one of our own descriptors, as from the shell's <(COMMAND): opening any other FIFO might block.
 */
static bool is_own_fd(const char *path)
{
	return g_str_has_prefix(path, "/dev/fd/") || g_str_has_prefix(path, "/proc/self/fd/") ||
	       strcmp(path, "/dev/stdin") == 0;
}

static struct profile *read_path(const char *path, GError **error)
{
	char magic[MAGIC_BYTES];
	struct stat st;
	struct profile *p = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | (is_own_fd(path) ? 0 : O_NONBLOCK));

	/* profile_file_read() reports missing files and those that are not regular. */
	if (fd < 0 || fstat(fd, &st) || !(S_ISREG(st.st_mode) || (S_ISFIFO(st.st_mode) && is_own_fd(path)))) {
		if (fd >= 0)
			close(fd);
		return profile_file_read(path, error);
	}
	ssize_t n = S_ISREG(st.st_mode) ? pread(fd, magic, sizeof(magic), 0) : -1;

	if (n == 0 || (n > 0 && has_magic(magic, (gsize)n, sqlite_magic, MAGIC_BYTES)))
		p = profile_file_read(path, error);
	else if (n > 0 && has_magic(magic, (gsize)n, perf_magic, strlen(perf_magic)))
		p = read_perf_data(path, error);
	else
		p = read_stream(fd, path, error);
	close(fd);
	return p;
}

struct profile *recording_read(const char *path, GError **error)
{
	g_autoptr(GError) why = NULL;
	struct profile *p = strcmp(path, "-") == 0 ? read_stream(STDIN_FILENO, "standard input", &why)
						   : read_path(path, &why);

	if (g_error_matches(why, G_FILE_ERROR, G_FILE_ERROR_NOENT) && strcmp(path, RECORDING_DEFAULT_FILE) == 0)
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
			    "there is no recording here (%s): make one with `offcpu record -d 5`, or name a file",
			    path);
	else if (why)
		g_propagate_error(error, g_steal_pointer(&why));
	return p;
}

static bool is_with_on_cpu(enum weight weight)
{
	return weight == WEIGHT_ON_CPU || weight == WEIGHT_TIME;
}

char *recording_advice(const char *option, const char *agent_key)
{
	if (!history_is_asked())
		return g_strdup_printf("record it with %s", option);
	return agent_key ? g_strdup_printf("the agent records them with %s in [record]", agent_key)
			 : g_strdup_printf("no history keeps them, a recording with %s does", option);
}

/* Error for something that the recording lacks. */
static void set_lack(GError **error, const struct profile *p, const char *path, const char *what, const char *option,
		     const char *agent_key)
{
	g_autofree char *advice = recording_advice(option, agent_key);

	g_set_error(error, EXCHANGE_ERROR, EXCHANGE_ERROR_BAD, "%s: has no %s%s%s", path, what,
		    p->info.imported ? "" : ": ", p->info.imported ? "" : advice);
}

bool recording_with_on_cpu(struct profile *p, const char *path, bool is_asked, const struct query *query,
			   enum weight *weight, GError **error)
{
	const char *states = query ? query->states : NULL;
	bool wants = (is_asked && is_with_on_cpu(*weight)) || (states && strchr(states, ON_CPU_STATE));
	const bool is_counted = profile_rows_are_counted(p->info.rows_are);

	if (is_counted && is_asked && *weight != WEIGHT_COUNT) {
		set_lack(error, p, path, "times: only --weight count is of it", NULL, NULL);
		return false;
	}
	if (is_counted)
		*weight = WEIGHT_COUNT;
	if (!profile_has_on_cpu(p)) {
		if (!wants)
			return true;
		set_lack(error, p, path, "samples on CPU", "--cpu", "cpu-samples = 19");
		return false;
	}
	if (!is_asked && (!states || strchr(states, ON_CPU_STATE)))
		*weight = WEIGHT_TIME;
	if (is_with_on_cpu(*weight))
		profile_on_cpu_as_waits(p);
	return true;
}

bool recording_has_wakers(const struct profile *p, const char *path, GError **error)
{
	if (!p->info.has_wakers)
		set_lack(error, p, path, "wakers", "--wakers", "wakers = yes");
	return p->info.has_wakers;
}

bool recording_knows(const struct profile *p, const char *path, enum weight weight, const struct query *query,
		     GError **error)
{
	const struct {
		bool asked;
		uint32_t unknown;
		const char *what;
	} wants[] = {
		{ weight == WEIGHT_BLOCKED || weight == WEIGHT_RUNNABLE || weight == WEIGHT_PREEMPTED, UNKNOWN_PARTS,
		  "blocked, runnable and preempted time apart" },
		{ weight == WEIGHT_COUNT, UNKNOWN_COUNTS, "how many waits there were" },
		{ query && query->states, UNKNOWN_STATES, "states" },
		{ query && (query->pids_cnt || query->tids_cnt), UNKNOWN_IDS, "ids of processes or threads" },
		{ query && (query->user_only || query->kernel_only), UNKNOWN_ACCOUNTS, "which threads are the kernel's" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(wants); i++) {
		if (!wants[i].asked || !(wants[i].unknown & p->info.unknown))
			continue;
		return refuse(error, EXCHANGE_ERROR, EXCHANGE_ERROR_BAD, "%s: %s does not tell %s", path,
			      p->info.imported, wants[i].what);
	}
	return true;
}

struct profile *recording_only_tasks(struct profile *p, const char *path, GError **error)
{
	struct profile *tasks = task_profile_new(p);
	g_autofree char *advice = recording_advice("--tasks", NULL);

	if (!tasks && p->info.has_tasks)
		g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s: there were no tasks%s", path,
			    p->info.range.is_cut ? " in that range" : "");
	else if (!tasks)
		g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s: has no tasks: %s", path, advice);
	profile_free(p);
	return tasks;
}
