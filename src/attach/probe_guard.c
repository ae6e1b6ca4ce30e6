/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * To set or remove a uprobe the kernel takes the mmap_lock of each process that maps the file, while all forks on the
 * machine wait (register_for_each_vma(), dup_mmap_sem).  No signal ends either wait.  A process that holds its
 * mmap_lock and sleeps in a file system (FUSE) that never answers would stop all forks for good.  If the connection of
 * that file system is aborted the sleeper gets an error, and everybody continues.
 *
 * Nothing here may fork, nor ask an opener, which may have to be forked.  Threads can be started.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/probe.h"
#include "base/each.h"
#include "base/opener/opener.h"
#include "base/proc/status.h"
#include "base/quiet_thread.h"

#define PATIENCE_MS 1000	/* what the kernel takes for itself, on a busy machine */
#define HELD_MS 2000		/* nobody else holds a memory's lock that long */
#define ALONE_MS 1000		/* more until others than that user's are aborted */
#define LOOK_MS 100
#define CONNECTIONS "/sys/fs/fuse/connections"
#define NOBODY UINT32_MAX

struct probe_guard {
	GThread *thread;
	GMutex lock;
	GCond cond;
	bool is_over;
	/* for the asking thread, which may outlive the others */
	gint asked_pid, asked_uid;	/* pid 0: none now */
};

/* Reads at address 0, where nothing is mapped: no file is read, but the mmap_lock is taken.  SIGKILL ends it. */
static void ask_one(struct probe_guard *g, uint32_t pid)
{
	g_autofree char *folder = g_strdup_printf("/proc/%u", pid), *path = g_strconcat(folder, "/mem", NULL);
	struct stat st;
	uint8_t byte;

	g_atomic_int_set(&g->asked_uid, (gint)NOBODY);
	g_atomic_int_set(&g->asked_pid, (gint)pid);
	if (stat(folder, &st) == 0)
		g_atomic_int_set(&g->asked_uid, (gint)st.st_uid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!pread(fd, &byte, sizeof(byte), 0);
	close(fd);
}

static gpointer ask_all(gpointer data)
{
	struct probe_guard *g = data;
	g_autoptr(GArray) pids = process_ids();

	for (guint i = 0; i < pids->len; i++)
		ask_one(g, g_array_index(pids, uint32_t, i));
	g_atomic_int_set(&g->asked_pid, 0);
	g_atomic_rc_box_release(g);
	return NULL;
}

static void begin_to_ask(struct probe_guard *g)
{
	g_atomic_int_set(&g->asked_pid, (gint)NOBODY);
	GThread *thread = quiet_thread_new("ask", ask_all, g_atomic_rc_box_acquire(g), NULL);

	if (thread)
		g_thread_unref(thread);
	else
		g_atomic_rc_box_release(g);
}

/* -- connections: "45" -> what waits there -- */

/* A mount of our own, since there may be none in this namespace. */
static int connections_folder(void)
{
	int fs = (int)syscall(SYS_fsopen, "fusectl", 1 /* FSOPEN_CLOEXEC */), mounted = -1;

	if (fs < 0)
		return open(CONNECTIONS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (syscall(SYS_fsconfig, fs, 6 /* FSCONFIG_CMD_CREATE */, NULL, NULL, 0) == 0)
		mounted = (int)syscall(SYS_fsmount, fs, 1 /* FSMOUNT_CLOEXEC */, 0);
	close(fs);
	if (mounted < 0)
		return open(CONNECTIONS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int folder = openat(mounted, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	close(mounted);
	return folder;
}

static int open_of(int folder, const char *id, const char *name, int flags)
{
	g_autofree char *path = g_strconcat(id, "/", name, NULL);

	return openat(folder, path, flags | O_CLOEXEC | O_NOFOLLOW);
}

/* How many requests wait for that file system's answer. */
static unsigned long waiting_in(int folder, const char *id)
{
	int fd = open_of(folder, id, "waiting", O_RDONLY);
	char text[32] = "";

	if (fd < 0)
		return 0;
	unsigned long cnt = read(fd, text, sizeof(text) - 1) > 0 ? strtoul(text, NULL, 10) : 0;

	close(fd);
	return cnt;
}

/* char * -> how many, of all connections in which something waits now */
static GHashTable *waiting_now(int folder)
{
	GHashTable *ids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again >= 0 ? fdopendir(again) : NULL;

	for (struct dirent *e; dir && (e = readdir(dir));) {
		unsigned long cnt = g_ascii_isdigit(e->d_name[0]) ? waiting_in(folder, e->d_name) : 0;

		if (cnt)
			g_hash_table_insert(ids, g_strdup(e->d_name), GSIZE_TO_POINTER(cnt));
	}
	if (dir)
		closedir(dir);
	return ids;
}

/* In a file system that answers, the number of waiting requests changes from look to look. */
static gboolean goes_on_in(gpointer id, gpointer cnt, gpointer now)
{
	return g_hash_table_lookup(now, id) != cnt;
}

static uint32_t owner_of(int folder, const char *id)
{
	struct stat st;

	return fstatat(folder, id, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_uid : NOBODY;
}

static bool abort_one(int folder, const char *id)
{
	int fd = open_of(folder, id, "abort", O_WRONLY);
	bool is_done = fd >= 0 && write(fd, "1", 1) == 1;

	if (fd >= 0)
		close(fd);
	return is_done;
}

/* -- the thread that watches -- */

/* True: all is over. */
static bool rest(struct probe_guard *g, int64_t ms)
{
	const int64_t until_us = g_get_monotonic_time() + ms * 1000;

	g_mutex_lock(&g->lock);
	while (!g->is_over && g_cond_wait_until(&g->cond, &g->lock, until_us))
		;
	bool is_over = g->is_over;

	g_mutex_unlock(&g->lock);
	return is_over;
}

/* The process that does not answer for HELD_MS; 0: all is over.  Removes connections that make progress from stuck. */
static uint32_t find_holder(struct probe_guard *g, int folder, GHashTable *stuck)
{
	int64_t since_us = g_get_monotonic_time();
	gint pid, last = 0;

	for (begin_to_ask(g); !rest(g, LOOK_MS); last = pid) {
		g_autoptr(GHashTable) now = waiting_now(folder);

		g_hash_table_foreach_remove(stuck, goes_on_in, now);
		pid = g_atomic_int_get(&g->asked_pid);
		if (!pid)
			begin_to_ask(g);
		if (!pid || pid != last)
			since_us = g_get_monotonic_time();
		else if (g_get_monotonic_time() - since_us > HELD_MS * 1000)
			return (uint32_t)pid;
	}
	return 0;
}

static void tell(uint32_t pid, const char *id, uint32_t owner)
{
	g_autofree char *what = g_strdup_printf("it held up probes, and with them whoever forks, by a file system that did not "
						"answer, so FUSE connection %s, of user %u, was aborted", id, owner);

	opener_tell_of("guard", pid, what);
}

static bool is_of_first_process(const char *mounts, const char *id)
{
	g_autofree char *device = g_strdup_printf(" 0:%s ", id);

	return !mounts || strstr(mounts, device);
}

/*
 * Aborts the stuck connections of that process's user, then any of that user in which something waits.  In a user
 * namespace one person has several users: if that does not help, stuck ones in mounts that process 1 does not see.
 */
static void let_go(struct probe_guard *g, int folder, GHashTable *stuck, uint32_t pid)
{
	const uint32_t user = (uint32_t)g_atomic_int_get(&g->asked_uid);
	const int64_t alone_until_us = g_get_monotonic_time() + ALONE_MS * 1000;
	g_autofree char *mounts = NULL;

	g_file_get_contents("/proc/1/mountinfo", &mounts, NULL, NULL);
	for (bool is_first = true; is_first || !rest(g, LOOK_MS); is_first = false) {
		g_autoptr(GHashTable) now = waiting_now(folder);
		const bool takes_others = g_get_monotonic_time() > alone_until_us;
		GHashTableIter at;
		gpointer id;

		g_hash_table_foreach_remove(stuck, goes_on_in, now);
		g_hash_table_iter_init(&at, is_first ? stuck : now);
		while (g_hash_table_iter_next(&at, &id, NULL)) {
			const uint32_t owner = owner_of(folder, id);
			const bool is_his = owner == user && user != NOBODY;
			const bool is_apart = g_hash_table_contains(stuck, id) && !is_of_first_process(mounts, id);

			if ((is_his || (takes_others && is_apart)) && abort_one(folder, id))
				tell(pid, id, owner);
		}
	}
}

static gpointer watch(gpointer data)
{
	struct probe_guard *g = data;

	if (rest(g, PATIENCE_MS))
		return NULL;
	int folder = connections_folder();

	if (folder < 0)
		return NULL;
	g_autoptr(GHashTable) stuck = waiting_now(folder);
	uint32_t pid = find_holder(g, folder, stuck);

	if (pid)
		let_go(g, folder, stuck, pid);
	close(folder);
	return NULL;
}

struct probe_guard *probe_guard_begin(void)
{
	struct probe_guard *g = g_atomic_rc_box_new0(struct probe_guard);

	g_mutex_init(&g->lock);
	g_cond_init(&g->cond);
	g->thread = quiet_thread_new("guard", watch, g, NULL);
	return g;
}

void probe_guard_end(struct probe_guard *g)
{
	g_mutex_lock(&g->lock);
	g->is_over = true;
	g_cond_signal(&g->cond);
	g_mutex_unlock(&g->lock);
	if (g->thread)
		g_thread_join(g->thread);
	g_atomic_rc_box_release(g);
}
