/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Looks through /proc alone: without BPF, and with rights over one's own processes only. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/cgroup.h"
#include "base/clock.h"
#include "base/opener/opener.h"
#include "base/proc/status.h"
#include "base/quiet_thread.h"
#include "sample/parts.h"

#define SCAN_ALL_NS 1000000000ULL
#define SCAN_CHOSEN_NS 20000000ULL
#define ANSWER_US (G_USEC_PER_SEC)	/* maximal time of a read; shorter after one took that long */
#define ANSWER_MIN_US (ANSWER_US / 8)
#define TRIES 3
#define KERNEL_FRAMES_MAX 128

/* Splits "[<0>] futex_wait_queue+0x69/0x110 [module]" into name and module, in place. False: no such line. */
static bool kernel_frame(char *line, const char **ret_name, const char **ret_module)
{
	char *name = strstr(line, "] "), *plus, *module;

	if (!name)
		return false;
	name += 2;
	plus = strrchr(name, '+');
	module = plus ? strchr(plus, '[') : NULL;
	if (!plus || plus == name)
		return false;
	*plus = '\0';
	*ret_name = name;
	*ret_module = module ? module : "[kernel]";
	return true;
}

/* The node of a /proc/.../stack, whose first line is the innermost frame. */
static uint32_t node_of_lines(struct sampler *s, char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", KERNEL_FRAMES_MAX);
	uint32_t node = 0;

	for (guint i = g_strv_length(lines); i-- > 0;) {
		struct frame frame = { .kind = FRAME_KERNEL, .why = FRAME_NAMED };

		if (kernel_frame(lines[i], &frame.name, &frame.module))
			node = profile_node(s->profile, node, profile_frame(s->profile, &frame));
	}
	if (node)
		profile_stack_end(s->profile, node, STACK_COMPLETE);
	return node;
}

/* Without permission for the stack the function from wchan replaces it. */
static uint32_t node_of_wchan(struct sampler *s, const char *name)
{
	struct frame frame = { .kind = FRAME_KERNEL, .why = FRAME_NAMED, .name = name, .module = "[kernel]" };
	uint32_t node = profile_node(s->profile, 0, profile_frame(s->profile, &frame));

	profile_stack_end(s->profile, node, STACK_BROKEN);
	return node;
}

/* Denied, as opposed to ended. */
static bool is_denied(void)
{
	return errno == EPERM || errno == EACCES;
}

static uint32_t kernel_stack(struct sampler *s, struct sampled *t)
{
	char text[8192];
	bool is_stack = proc_thread_read(&t->files, PROC_STACK, text, sizeof(text)) > 0;
	gpointer known;
	uint32_t node;

	if (!is_stack) {
		if (is_denied())
			sampler_lacks(s, t, LACK_KERNEL_STACK);
		if (proc_thread_read(&t->files, PROC_WCHAN, text, sizeof(text)) <= 0 || strcmp(text, "0") == 0)
			return 0;
	}
	if (g_hash_table_lookup_extended(s->kernel_nodes, text, NULL, &known))
		return GPOINTER_TO_UINT(known);
	g_autofree char *key = g_strdup(text);

	node = is_stack ? node_of_lines(s, text) : node_of_wchan(s, text);
	g_hash_table_insert(s->kernel_nodes, g_steal_pointer(&key), GUINT_TO_POINTER(node));
	return node;
}

static uint32_t user_stack(struct sampler *s, struct sampled *t)
{
	struct space_regs regs = { 0 };
	enum proc_call what;
	char text[256];

	if (proc_thread_read(&t->files, PROC_SYSCALL, text, sizeof(text)) <= 0) {
		if (is_denied())
			sampler_lacks(s, t, LACK_PLACE);
		return 0;
	}
	if (!proc_call_parse(text, &what, &regs.sp, &regs.ip))
		return 0;
	return what == PROC_SLEEPS ? sampler_user_stack(s, t, &regs) : 0;
}

/* A state in which a thread can wait; otherwise it has ended. */
static bool is_alive(char state)
{
	return strchr("RSDTtPI", state) != NULL;
}

/* Reads its state and stacks, repeatedly until it has not run meanwhile. False: it has ended. */
static bool look_again(struct sampler *s, struct sampled *t, uint64_t now_ns)
{
	struct proc_sched after;
	struct proc_stat stat;
	uint32_t user = 0, kernel = 0;

	for (unsigned i = 0; i < TRIES; i++) {
		if (!proc_thread_stat(&t->files, &stat) || !is_alive(stat.state))
			return false;
		t->last_ticks = stat.cpu_ticks;
		if (strcmp(stat.comm, t->comm) != 0 || (t->space && stat.code && stat.code != t->space))
			sampler_note_exec(s, t, &stat, now_ns);
		user = kernel = 0;
		if (stat.state == 'R')
			break;
		if (!s->options.no_user_stacks && !t->is_kernel)
			user = user_stack(s, t);
		if (!s->options.no_kernel_stacks)
			kernel = kernel_stack(s, t);
		if (!t->has_counts || !proc_thread_sched(&t->files, &after) || after.runs == t->last.runs)
			break;
		t->last = after;
		s->moved_cnt += i + 1 == TRIES;
	}
	sampler_saw(s, t, (uint8_t)stat.state, user, kernel, false, now_ns);
	return true;
}

/* False: it has ended. */
static bool look_at_thread(struct sampler *s, struct sampled *t)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	struct proc_sched sched;

	if (t->has_counts) {
		if (!proc_thread_sched(&t->files, &sched))
			return false;
		bool has_stood = sched.runs == t->last.runs && !t->is_new && t->look.state != 'R';

		t->last = sched;
		if (has_stood) {
			sampler_saw(s, t, t->look.state, t->look.user, t->look.kernel, true, now_ns);
			return true;
		}
	}
	return look_again(s, t, now_ns);
}

static void add_if_wanted(struct sampler *s, pid_t pid, pid_t tid, uint64_t now_ns)
{
	struct proc_thread files;
	struct proc_stat stat;

	if (g_hash_table_contains(s->threads, GINT_TO_POINTER(tid)))
		return;
	proc_thread_init(&files, pid, tid);
	if (proc_thread_stat(&files, &stat) && is_alive(stat.state) &&
	    sampler_wants(s, pid, tid, stat.comm, stat.is_kernel) &&
	    (!s->options.cgroup_ids || cgroup_has_thread(s->options.cgroup_ids, s->cgroup_mount, pid, tid))) {
		struct sampled *t = sampler_meet(s, pid, tid, &stat, stat.start_ticks * s->tick_ns, now_ns);

		t->files = files;
		t->has_counts = proc_thread_sched(&t->files, &t->last);
		if (!t->has_counts && (is_denied() || !s->has_counts))
			sampler_lacks(s, t, LACK_COUNTS);
		/* if it began in the window all of its counts belong to the window */
		if (t->start_ns < s->start_ns + s->boot_offset_ns || !s->start_ns) {
			t->first = t->last;
			t->first_ticks = stat.cpu_ticks;
		}
		return;
	}
	proc_thread_close(&files);
}

/* During an exec its files may be unreadable forever: another process tries it. */
static bool answers(uint32_t pid)
{
	g_autofree char *path = g_strdup_printf("/proc/%u/stat", pid);
	size_t bytes = 0;
	g_autofree char *text = opener_text(path, 1, &bytes);

	return text != NULL;
}

static void scan_process(struct sampler *s, uint32_t pid, uint64_t now_ns)
{
	char path[64];
	struct dirent *entry;
	DIR *dir;

	if (!answers(pid))
		return;
	g_snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (g_ascii_isdigit(entry->d_name[0]))
			add_if_wanted(s, (pid_t)pid, atoi(entry->d_name), now_ns);
	if (dir)
		closedir(dir);
}

/* A single thread: its status says which process it belongs to. */
static void scan_thread(struct sampler *s, uint32_t tid, uint64_t now_ns)
{
	g_autofree char *path = g_strdup_printf("/proc/%u/status", tid), *text = NULL;
	const char *tgid;

	if (g_hash_table_contains(s->threads, GUINT_TO_POINTER(tid)) || !g_file_get_contents(path, &text, NULL, NULL))
		return;
	tgid = strstr(text, "\nTgid:");
	if (tgid)
		add_if_wanted(s, atoi(tgid + 6), (pid_t)tid, now_ns);
}

static void scan_all(struct sampler *s, uint64_t now_ns)
{
	const GArray *pids = s->options.pids, *tids = s->options.tids;
	uint64_t every_ns = pids || tids ? SCAN_CHOSEN_NS : SCAN_ALL_NS;

	if (s->scanned_ns && now_ns - s->scanned_ns < every_ns)
		return;
	s->scanned_ns = now_ns;
	for (guint i = 0; pids && i < pids->len; i++)
		scan_process(s, g_array_index(pids, uint32_t, i), now_ns);
	for (guint i = 0; tids && i < tids->len; i++)
		scan_thread(s, g_array_index(tids, uint32_t, i), now_ns);
	if (pids || tids)
		return;
	g_autoptr(GArray) all = process_ids();

	for (guint i = 0; i < all->len; i++)
		scan_process(s, g_array_index(all, uint32_t, i), now_ns);
}

/* Continues a round that was begun before. */
static gpointer look_at_rest(gpointer data)
{
	struct sampler *s = data;

	spare_stack_use();
	scan_all(s, clock_ns(CLOCK_MONOTONIC));
	EACH_VALUE(struct sampled, t, s->threads) {
		if (t->round == s->rounds.cnt)
			continue;
		t->is_seen = look_at_thread(s, t);
		t->round = s->rounds.cnt;
	}
	g_mutex_lock(&s->rounds.lock);
	s->rounds.is_over = true;
	g_cond_signal(&s->rounds.over);
	g_mutex_unlock(&s->rounds.lock);
	return NULL;
}

/* A read does not return: the process is skipped from now on, and reported by name through the scan. */
static bool leave_behind(struct sampler *s, uint64_t token)
{
	pid_t pid;

	if (!proc_thread_leave(token, &pid))
		return false;
	s->rounds.left_cnt++;
	s->scanned_ns = 0;
	EACH_VALUE(struct sampled, t, s->threads) {
		if (t->files.pid != pid)
			continue;
		t->is_seen = false;
		t->round = s->rounds.cnt;
	}
	return true;
}

/* False: the looking thread was left behind. */
static bool is_finished(struct sampler *s)
{
	gint64 answer_us = MAX(ANSWER_US >> MIN(s->rounds.left_cnt, 8), ANSWER_MIN_US);
	uint64_t token = 0;

	g_mutex_lock(&s->rounds.lock);
	while (!s->rounds.is_over) {
		gint64 until_us = g_get_monotonic_time() + answer_us;
		bool is_signalled = g_cond_wait_until(&s->rounds.over, &s->rounds.lock, until_us);

		if (!is_signalled && token && token == proc_thread_reading() && leave_behind(s, token))
			break;
		token = proc_thread_reading();
	}
	g_mutex_unlock(&s->rounds.lock);
	return s->rounds.is_over;
}

void by_proc_round(struct sampler *s)
{
	s->rounds.cnt++;
	do {
		GThread *thread;

		s->rounds.is_over = false;
		thread = quiet_thread_new("look", look_at_rest, s, NULL);
		if (!thread)
			look_at_rest(s);
		else if (is_finished(s))
			g_thread_join(thread);
		else
			g_thread_unref(thread);
	} while (!s->rounds.is_over);
}
