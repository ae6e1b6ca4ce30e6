/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/limits/limits.h"

#include <inttypes.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/each.h"
#include "base/find.h"
#include "base/order.h"
#include "base/opener/opener.h"
#include "base/proc/status.h"

#define HELD_SHARE 2	/* 1/n of the window: minimum wait for a lock before looking for its holder */
#define QUEUE_SHARE 20	/* 1/n of a thread's time: minimum wait for a CPU before checking its allowed CPUs */
#define RAN_SHARE 10	/* 1/n of the window: minimum on-CPU time to keep others from a CPU */
#define ASKS_SHARE 2	/* 1/n of the window */
#define POOL_WAITERS 2	/* average number of concurrent waiters before counting its connections */
#define SLACK_SLEEPS_MIN 10
#define SLACK_MIN_NS 1000000	/* the kernel's default is 50 us */
#define DISK_SHARE 100	/* 1/n of the window: minimum wait for disk or memory before checking limits */

/*
 * What a process waited for: in uninterruptible sleep or for asynchronous I/O, for a CPU, while possibly frozen, at
 * sockets; and how long others waited for it at the other end of a socket.
 */
struct process {
	uint32_t pid;
	uint64_t disk_ns, queue_ns, frozen_ns, waited_ns, socket_ns;
	uint64_t asks_ns;	/* waits of its event loop that had asked others */
};

static char *status_of(const char *proc_dir, uint32_t pid, uint32_t tid)
{
	g_autofree char *path = g_strdup_printf("%s/%" PRIu32 "/task/%" PRIu32 "/status", proc_dir, pid, tid);
	size_t len;

	return opener_text(path, OPENER_TEXT_MAX, &len);
}

/* The rest of the line after the name, such as "0-1". NULL: no such line. */
static char *field_of(const char *status, const char *name)
{
	const char *at = proc_status_field(status, name);

	if (!at)
		return NULL;
	at += strspn(at, " \t");
	return g_strndup(at, strcspn(at, "\n"));
}

/* Number of CPUs in a kernel list: "0-3,8". */
static uint32_t cpus_of(const char *list)
{
	uint64_t sum = 0;

	for (const char *at = list; g_ascii_isdigit(*at);) {
		char *end;
		uint64_t first = g_ascii_strtoull(at, &end, 10);
		uint64_t last = *end == '-' ? g_ascii_strtoull(end + 1, &end, 10) : first;

		sum += last >= first && last - first < UINT16_MAX ? last - first + 1 : 0;
		at = *end == ',' ? end + 1 : "";
	}
	return (uint32_t)MIN(sum, UINT32_MAX);
}

/* Does it wait for CPUs, or may it keep others from one? */
static bool is_for_cpus(const struct profile *p, const struct thread *t)
{
	return !(t->flags & (THREAD_KERNEL | THREAD_EXITED | THREAD_EXECED)) &&
	       (t->runnable_ns + t->preempted_ns > thread_observed_ns(t) / QUEUE_SHARE ||
		t->on_cpu_ns > p->info.duration_ns / RAN_SHARE);
}

static void look_at_cpus(struct profile *p, const char *proc_dir)
{
	unsigned left = LIMITS_THREADS_MAX;

	EACH_ROW_WHILE(i, const struct thread, t, p->threads, left) {
		if (!is_for_cpus(p, t))
			continue;
		left--;
		g_autofree char *status = status_of(proc_dir, t->pid, t->tid);
		g_autofree char *list = status ? field_of(status, "Cpus_allowed_list") : NULL;

		if (list && cpus_of(list) && cpus_of(list) < p->info.cpus)
			profile_add_limit(p, LIMIT_CPUS, t->pid, t->tid, list);
	}
}

/* As filled in by sched_getattr(). */
struct policy {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

/* NULL: not a throttling policy. */
static char *policy_text(const struct policy *a)
{
	if (a->policy == SCHED_DEADLINE)
		return g_strdup_printf("SCHED_DEADLINE: %.3g ms of each %.3g ms", (double)a->runtime_ns / 1e6,
				       (double)a->period_ns / 1e6);
	return a->policy == SCHED_FIFO ? g_strdup("SCHED_FIFO") : a->policy == SCHED_RR ? g_strdup("SCHED_RR") : NULL;
}

/* cgroup quotas do not throttle real-time threads, so their own policy did. */
static void look_at_policies(struct profile *p)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

	EACH_ROW_WHILE(i, const struct wait, w, p->waits, g_hash_table_size(seen) < LIMITS_THREADS_MAX) {
		const struct thread *t = profile_thread(p, w->thread);
		struct policy a = { .size = sizeof(a) };

		if (w->state != 'R' || !(w->flags & WAIT_THROTTLED) || (t->flags & (THREAD_EXITED | THREAD_EXECED)) ||
		    !g_hash_table_add(seen, GUINT_TO_POINTER(w->thread + 1)) ||
		    syscall(SYS_sched_getattr, t->tid, &a, sizeof(a), 0))
			continue;
		g_autofree char *text = policy_text(&a);

		if (text)
			profile_add_limit(p, LIMIT_POLICY, t->pid, t->tid, text);
	}
}

/* Real-time threads that normal threads wait for on the same CPU. */
static void look_at_realtime(struct profile *p)
{
	unsigned left = LIMITS_THREADS_MAX;

	EACH_ROW_WHILE(i, const struct thread, t, p->threads, left) {
		struct policy a = { .size = sizeof(a) };

		if (t->flags & (THREAD_KERNEL | THREAD_EXITED | THREAD_EXECED) ||
		    t->on_cpu_ns <= p->info.duration_ns / RAN_SHARE)
			continue;
		left--;
		g_autofree char *name = syscall(SYS_sched_getattr, t->tid, &a, sizeof(a), 0) ? NULL : policy_text(&a);
		g_autofree char *text = name && a.policy != SCHED_DEADLINE ? g_strdup_printf("%s %" PRIu32, name, a.priority) :
									     g_strdup(name);

		if (text)
			profile_add_limit(p, LIMIT_REALTIME, t->pid, t->tid, text);
	}
}

/* Does it often sleep for a time that it chose? */
static bool sleeps_often(const struct profile *p, const struct wait *w)
{
	static const char *const functions[] = { "hrtimer_nanosleep", "do_nanosleep", NULL };

	return w->count >= SLACK_SLEEPS_MIN && profile_stack_names(p, w->kernel, functions);
}

static void look_at_slack(struct profile *p, const char *proc_dir)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

	EACH_ROW_WHILE(i, const struct wait, w, p->waits, g_hash_table_size(seen) < LIMITS_THREADS_MAX) {
		const struct thread *t = profile_thread(p, w->thread);

		if ((t->flags & (THREAD_KERNEL | THREAD_EXITED | THREAD_EXECED)) || !sleeps_often(p, w) ||
		    !g_hash_table_add(seen, GUINT_TO_POINTER(w->thread + 1)))
			continue;
		g_autofree char *path = g_strdup_printf("%s/%" PRIu32 "/timerslack_ns", proc_dir, t->tid);
		size_t len;
		g_autofree char *text = opener_text(path, OPENER_TEXT_MAX, &len);
		uint64_t slack_ns = text ? g_ascii_strtoull(text, NULL, 10) : 0;
		g_autofree char *slack = g_strdup_printf("%" PRIu64, slack_ns);

		if (slack_ns >= SLACK_MIN_NS)
			profile_add_limit(p, LIMIT_SLACK, t->pid, t->tid, slack);
	}
}

/* "Max open files            24                   4096                 files": the soft limit. UINT64_MAX: none. */
static uint64_t files_allowed(const char *limits)
{
	static const char name[] = "\nMax open files";
	const char *at = strstr(limits, name);

	at += at ? strlen(name) : 0;
	at += at ? strspn(at, " ") : 0;
	return at && g_ascii_isdigit(*at) ? g_ascii_strtoull(at, NULL, 10) : UINT64_MAX;
}

static bool count_descriptor(const struct opener_entry *e, void *data)
{
	uint64_t *cnt = data;

	*cnt += g_ascii_isdigit(*e->name);
	return true;
}

/* A process that lowered its own limit, as sandboxes do, has more files than its limit. */
static void look_at_files(struct profile *p, const char *proc_dir, uint32_t pid)
{
	g_autofree char *status = opener_process_text(proc_dir, pid, "status"), *limits = opener_process_text(proc_dir, pid, "limits");
	g_autofree char *path = g_strdup_printf("%s/%" PRIu32 "/fd", proc_dir, pid);
	uint64_t allowed = limits ? files_allowed(limits) : UINT64_MAX, cnt = 0;

	/* FDSize is the most the table ever held, so usually this avoids counting */
	if (!status || proc_status_number(status, "FDSize") < allowed || !opener_list(path, false, count_descriptor, &cnt) ||
	    cnt > allowed || !limit_is_used_up(cnt, allowed))
		return;
	g_autofree char *text = g_strdup_printf(LIMIT_FILES_FORMAT, cnt, allowed);

	profile_add_limit(p, LIMIT_FILES, pid, 0, text);
}

#define SIZES_MAX 8
#define SPACE_NS 10000000ULL	/* shorter waits for an address space are not told */

/* What fork() has to copy while others wait for the process's address space. */
static void look_at_sizes(struct profile *p, const char *proc_dir)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

	EACH_ROW_WHILE(i, const struct wait, w, p->waits, g_hash_table_size(seen) < SIZES_MAX) {
		const struct object *o = profile_wait_object(p, w);

		if (!o || o->kind != OBJECT_KERNEL_LOCK || !o->pid || !g_str_has_prefix(o->name, "mmap_lock") ||
		    w->blocked_ns < SPACE_NS || !g_hash_table_add(seen, GUINT_TO_POINTER(o->pid)))
			continue;
		g_autofree char *status = opener_process_text(proc_dir, o->pid, "status");
		uint64_t kib = status ? proc_status_number(status, "VmRSS") : 0;
		g_autofree char *text = g_strdup_printf("%" PRIu64, kib);

		if (kib)
			profile_add_limit(p, LIMIT_SIZE, o->pid, 0, text);
	}
}

static struct process *process_of(GArray *processes, GHashTable *index, uint32_t pid)
{
	guint at = GPOINTER_TO_UINT(g_hash_table_lookup(index, GUINT_TO_POINTER(pid)));

	if (!at) {
		const struct process new = { .pid = pid };

		g_array_append_val(processes, new);
		at = processes->len;
		g_hash_table_insert(index, GUINT_TO_POINTER(pid), GUINT_TO_POINTER(at));
	}
	return &g_array_index(processes, struct process, at - 1);
}

#define ALL_NS(a) ((a)->disk_ns + (a)->queue_ns + (a)->frozen_ns + (a)->waited_ns + (a)->asks_ns)
ORDER(compare_processes, struct process, ORDER_HIGH_OF(ALL_NS) ORDER_LOW(pid))

/* Stopped by a freezer or by somebody. */
static bool may_be_frozen(const struct profile *p, const struct wait *w)
{
	static const char *const functions[] = { "do_freezer_trap", "get_signal", "__refrigerator", NULL };

	return w->state == 'T' || profile_stack_names(p, w->kernel, functions);
}

/* A wait for asynchronous I/O is an ordinary sleep. */
static bool collects_io(const struct profile *p, const struct wait *w)
{
	static const char *const functions[] = { "read_events", "io_cqring_wait", NULL };

	return w->state == 'S' && profile_stack_names(p, w->kernel, functions);
}

static bool waits_at_socket(const struct profile *p, const struct wait *w)
{
	const struct object *o = profile_wait_object(p, w);

	return o && o->kind == OBJECT_SOCKET;
}

static GArray *processes_new(const struct profile *p)
{
	GArray *processes = g_array_new(FALSE, FALSE, sizeof(struct process));
	g_autoptr(GHashTable) index = g_hash_table_new(NULL, NULL);

	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct thread *t = profile_thread(p, w->thread);

		if (t->flags & THREAD_KERNEL)
			continue;
		struct process *one = process_of(processes, index, t->pid);

		one->disk_ns += w->state == 'D' || collects_io(p, w) ? w->blocked_ns : 0;
		one->socket_ns += waits_at_socket(p, w) ? w->blocked_ns : 0;
		one->queue_ns += w->runnable_ns + w->preempted_ns;
		if (w->blocked_ns > p->info.duration_ns / DISK_SHARE && may_be_frozen(p, w))
			one->frozen_ns += w->blocked_ns;
	}
	g_array_sort(processes, compare_processes);
	return processes;
}

/* Busiest processes first, whatever they waited for. */
#define BUSY_NS(a) ((a)->disk_ns + (a)->queue_ns + (a)->socket_ns)
ORDER(compare_workers, struct process, ORDER_HIGH_OF(BUSY_NS) ORDER_LOW(pid))

static void look_at_backlogs(struct profile *p, const GArray *all, struct net_tables *nets, struct sock_peers *peers,
			     struct net_looks *looks, const char *proc_dir)
{
	g_autoptr(GArray) processes = g_array_copy((GArray *)all);

	g_array_sort(processes, compare_workers);
	for (guint i = 0; i < MIN(processes->len, LIMITS_BACKLOGS_MAX); i++)
		backlog_look(p, looks, nets, proc_dir, g_array_index(processes, struct process, i).pid);
	cycle_look(p, nets, proc_dir);
	if (!peers)
		return;
	full_queue_look(p, nets, peers, proc_dir);
	owed_look(p, looks, peers);
	nagle_look(p, nets, peers, proc_dir);
}

static void look_at_pools(struct profile *p, struct net_tables *nets, struct sock_peers *ends, const char *proc_dir)
{
	g_autoptr(GArray) peers = g_array_new(FALSE, FALSE, sizeof(struct process));
	g_autoptr(GHashTable) index = g_hash_table_new(NULL, NULL);

	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct object *o = profile_wait_object(p, w);

		if (o && (o->kind == OBJECT_SOCKET || o->kind == OBJECT_EPOLL) && o->pid)
			process_of(peers, index, o->pid)->waited_ns += w->blocked_ns;
		if (o && object_upstream(o))
			process_of(peers, index, profile_thread(p, w->thread)->pid)->asks_ns += w->blocked_ns;
	}
	g_array_sort(peers, compare_processes);
	for (guint i = 0; i < MIN(peers->len, LIMITS_POOLS_MAX); i++) {
		const struct process *one = &g_array_index(peers, struct process, i);

		if (one->waited_ns >= POOL_WAITERS * p->info.duration_ns ||
		    one->asks_ns >= p->info.duration_ns / ASKS_SHARE)
			pool_look(p, nets, ends, proc_dir, one->pid);
	}
}

static bool is_there(const char *proc_dir, uint32_t tid)
{
	g_autofree char *status = status_of(proc_dir, tid, tid), *state = status ? field_of(status, "State") : NULL;

	return state && *state != 'Z' && *state != 'X';
}

#define KEEPER_FDS 32	/* a program's own files come first; an inherited one keeps its number */
#define KEEPER_LOOKS 20000

/* Does this descriptor hold a lock taken by process `taker`? "lock:\t1: FLOCK  ADVISORY  WRITE 4711 fe:00:12 0 EOF" */
static bool keeps_lock(const char *proc_dir, uint32_t pid, int fd, uint32_t taker, uint64_t ino)
{
	g_autofree char *path = g_strdup_printf("%s/%" PRIu32 "/fdinfo/%d", proc_dir, pid, fd);
	size_t len;
	g_autofree char *text = opener_text(path, OPENER_TEXT_MAX, &len);
	uint64_t of;
	uint32_t by;

	for (const char *at = text; at && (at = strstr(at, "lock:")); at += strlen("lock:"))
		if (sscanf(at, "lock: %*u: %*s %*s %*s %" SCNu32 " %*x:%*x:%" SCNu64, &by, &of) == 2 && by == taker &&
		    (!ino || of == ino))
			return true;
	return false;
}

uint32_t file_lock_keeper(const char *proc_dir, uint32_t taker, uint64_t ino)
{
	g_autoptr(GDir) dir = g_dir_open(proc_dir, 0, NULL);
	unsigned left = KEEPER_LOOKS;

	for (const char *name; dir && left >= KEEPER_FDS && (name = g_dir_read_name(dir));) {
		uint32_t pid = (uint32_t)g_ascii_strtoull(name, NULL, 10);

		for (int fd = 0; pid && fd < KEEPER_FDS; fd++, left--)
			if (keeps_lock(proc_dir, pid, fd, taker, ino))
				return pid;
	}
	return 0;
}

/* The same, looked for once: keepers, taker -> keeper, has those that are known. */
static uint32_t file_keeper(GHashTable *keepers, const char *proc_dir, uint32_t taker)
{
	gpointer known = NULL;

	if (!g_hash_table_lookup_extended(keepers, GUINT_TO_POINTER(taker), NULL, &known)) {
		known = GUINT_TO_POINTER(file_lock_keeper(proc_dir, taker, 0));
		g_hash_table_insert(keepers, GUINT_TO_POINTER(taker), known);
	}
	return GPOINTER_TO_UINT(known);
}

/* "file", or "file 4712 cat": the process that keeps a file lock whose taker has ended. */
static char *keeper_text(GHashTable *keepers, const char *proc_dir, uint32_t taker)
{
	uint32_t pid = file_keeper(keepers, proc_dir, taker);
	g_autofree char *status = pid ? status_of(proc_dir, pid, pid) : NULL, *comm = status ? field_of(status, "Name") : NULL;

	return pid ? g_strdup_printf("file %" PRIu32 " %s", pid, comm ? comm : "") : g_strdup("file");
}

/*
 * Owner of the lock: its taker, or, if that has ended and got the open file from an older process, as flock(1) does
 * from a shell (exec 9>file; flock 9), that process.  Process numbers grow, except where they wrap.
 */
static uint32_t file_lock_owner(GHashTable *keepers, const char *proc_dir, uint32_t taker)
{
	uint32_t keeper = is_there(proc_dir, taker) ? 0 : file_keeper(keepers, proc_dir, taker);

	return keeper && keeper < taker ? keeper : taker;
}

/* Holders precede waiters: "3: FLOCK ADVISORY WRITE 4711 08:01:42 0 EOF", "3: -> FLOCK ADVISORY WRITE 4712 ..". */
static void add_file_locks(struct profile *p, GHashTable *pids, const char *text, GHashTable *keepers,
			   const char *proc_dir)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	uint64_t lock = 0, id;
	uint32_t holder = 0, owner = 0, pid;

	for (char **line = lines; *line; line++) {
		bool is_waiting = strstr(*line, "-> ");

		if (sscanf(*line, is_waiting ? "%" SCNu64 ": -> %*s %*s %*s %" SCNu32 : "%" SCNu64 ": %*s %*s %*s %" SCNu32, &id, &pid) != 2)
			continue;
		if (!is_waiting) {
			lock = id;
			holder = pid;
			owner = 0;
		} else if (id == lock && holder && g_hash_table_remove(pids, GUINT_TO_POINTER(pid))) {
			owner = owner ? owner : file_lock_owner(keepers, proc_dir, holder);
			uint32_t child = child_at_file_lock(proc_dir, owner);
			g_autofree char *name = opener_process_text(proc_dir, owner, "comm");
			g_autofree char *who = name  ? g_strdup_printf("%" PRIu32 " %" PRIu32 " %s", owner, child, g_strchomp(name)) :
					       child ? g_strdup_printf("%" PRIu32 " %" PRIu32, owner, child) :
						       g_strdup_printf("%" PRIu32, owner);

			profile_add_limit(p, LIMIT_FILE_LOCK, pid, 0, who);
		}
	}
}

/* Shared locks whose holder has ended. For private ones the recording shows that itself. */
static void look_at_holders(struct profile *p, GHashTable *keepers, const char *proc_dir)
{
	unsigned left = LIMITS_THREADS_MAX;

	EACH_ROW_WHILE(i, const struct wait, w, p->waits, left) {
		const struct object *o = profile_wait_object(p, w);
		const struct profile_limit *file;
		uint32_t pid = profile_thread(p, w->thread)->pid, holder = 0;
		bool is_file = wait_is_for_file_lock(p, w);

		if (!(w->flags & WAIT_OPEN_AT_END) || w->blocked_ns < p->info.duration_ns / HELD_SHARE)
			continue;
		file = is_file ? profile_find_limit(p, LIMIT_FILE_LOCK, pid, 0) : NULL;
		bool is_shared = o && !is_file && !o->is_private && o->kind != OBJECT_KERNEL_LOCK;
		holder = file ? profile_file_lock_holder(p, pid) : is_shared ? o->holder_tid : 0;
		if (!holder)
			continue;
		left--;
		if (is_there(proc_dir, holder) || !foreign_threads_are_ours(proc_dir, pid) ||
		    profile_find_limit(p, LIMIT_GONE, pid, holder))
			continue;
		g_autofree char *keeper = is_file ? keeper_text(keepers, proc_dir, holder) : NULL;

		profile_add_limit(p, LIMIT_GONE, pid, holder, keeper ? keeper : "mutex");
	}
}

static void look_at_file_locks(struct profile *p, GHashTable *keepers, const char *proc_dir)
{
	g_autoptr(GHashTable) pids = g_hash_table_new(NULL, NULL);
	g_autofree char *path = g_build_filename(proc_dir, "locks", NULL), *text = NULL;
	size_t len;

	for (guint i = 0; i < p->waits->len; i++)
		if (wait_is_for_file_lock(p, profile_wait(p, i)))
			g_hash_table_add(pids, GUINT_TO_POINTER(profile_thread(p, profile_wait(p, i)->thread)->pid));
	EACH_ROW(i, const struct profile_limit, l, p->limits) {
		char there[1];
		struct limit_child c;

		if (limit_child_read(l, &c, there, sizeof(there)) && c.does == CHILD_FILE_LOCK)
			g_hash_table_add(pids, GUINT_TO_POINTER(c.pid));
	}
	text = g_hash_table_size(pids) ? opener_text(path, OPENER_TEXT_MAX, &len) : NULL;
	if (text)
		add_file_locks(p, pids, text, keepers, proc_dir);
}

GHashTable *limits_pids_new(const struct profile *p)
{
	GHashTable *pids = g_hash_table_new(NULL, NULL);

	for (uint32_t i = 0; i < p->threads->len; i++)
		g_hash_table_add(pids, GUINT_TO_POINTER(profile_thread(p, i)->pid));
	return pids;
}

void limits_look(struct profile *p, struct group_limits *groups, struct net_looks *looks, const char *proc_dir)
{
	g_autoptr(GArray) processes = processes_new(p);
	g_autoptr(GHashTable) keepers = g_hash_table_new(NULL, NULL);
	struct net_tables *nets = net_tables_new(proc_dir);
	struct sock_peers *ends = sock_peers_new(proc_dir, nets);

	stopped_peers_look(p, nets, ends, proc_dir);
	look_at_pools(p, nets, ends, proc_dir);
	look_at_backlogs(p, processes, nets, ends, looks, proc_dir);
	children_look(p, nets, ends, proc_dir);
	workers_look(p, proc_dir);
	sock_peers_free(ends);
	net_tables_free(nets);
	for (guint i = 0; i < MIN(processes->len, LIMITS_PROCESSES_MAX); i++) {
		const struct process *one = &g_array_index(processes, struct process, i);

		if (one->disk_ns > p->info.duration_ns / DISK_SHARE) {
			group_limits_look(groups, p, LIMIT_DISK, one->pid);
			group_limits_look(groups, p, LIMIT_MEMORY, one->pid);
		}
		if (one->queue_ns > p->info.duration_ns / QUEUE_SHARE) {
			group_limits_look(groups, p, LIMIT_QUOTA, one->pid);
			group_limits_look(groups, p, LIMIT_WEIGHT, one->pid);
		}
		if (one->frozen_ns)
			group_limits_look(groups, p, LIMIT_FROZEN, one->pid);
	}
	for (guint i = 0; i < MIN(processes->len, LIMITS_COUNTED_MAX); i++) {
		group_limits_look(groups, p, LIMIT_TASKS, g_array_index(processes, struct process, i).pid);
		look_at_files(p, proc_dir, g_array_index(processes, struct process, i).pid);
	}
	refaults_look(p, groups, proc_dir);
	paths_look(p, proc_dir);
	sessions_look(p, proc_dir);
	starters_look(p, proc_dir);
	semaphores_look(p, proc_dir);
	look_at_cpus(p, proc_dir);
	look_at_file_locks(p, keepers, proc_dir);
	monitors_look(p, proc_dir);
	look_at_holders(p, keepers, proc_dir);
	stopped_holders_look(p, proc_dir);
	signallers_look(p, proc_dir);
	look_at_policies(p);
	look_at_realtime(p);
	look_at_slack(p, proc_dir);
	look_at_sizes(p, proc_dir);
}
