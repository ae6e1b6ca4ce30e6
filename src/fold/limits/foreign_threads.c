/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/limits/limits.h"

#include <inttypes.h>
#include <sys/stat.h>

#include "base/opener/opener.h"
#include "base/proc/status.h"

struct foreign_threads {
	char *proc_dir;
	GHashTable *processes;	/* pid -> struct process */
};

struct process {
	uint64_t start_ns;
	bool is_ours;		/* in our own pid namespace: thread ids are the same */
	GHashTable *threads;	/* tid there -> tid here */
	int64_t next_read_us, pause_us;
};

static void process_free(void *data)
{
	struct process *p = data;

	g_hash_table_destroy(p->threads);
	g_free(p);
}

struct foreign_threads *foreign_threads_new(const char *proc_dir)
{
	struct foreign_threads *f = g_new0(struct foreign_threads, 1);

	f->proc_dir = g_strdup(proc_dir);
	f->processes = g_hash_table_new_full(NULL, NULL, NULL, process_free);
	return f;
}

FREES(foreign_threads_free, struct foreign_threads, f, g_hash_table_destroy(f->processes); g_free(f->proc_dir))

bool foreign_threads_are_ours(const char *proc_dir, uint32_t pid)
{
	g_autofree char *theirs = g_strdup_printf("%s/%" PRIu32 "/ns/pid", proc_dir, pid);
	g_autofree char *ours = g_strdup_printf("%s/self/ns/pid", proc_dir);
	struct stat a, b;

	return opener_stat(theirs, &a) && stat(ours, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

struct reading {
	const char *task;
	GHashTable *threads;
	unsigned read_cnt;
};

static bool read_thread(const struct opener_entry *e, void *data)
{
	struct reading *r = data;
	size_t len;
	g_autofree char *file = g_strdup_printf("%s/%s/status", r->task, e->name),
			*status = opener_text(file, OPENER_TEXT_MAX, &len);
	uint32_t theirs = status ? proc_status_innermost_id(status) : 0;

	if (theirs)
		g_hash_table_insert(r->threads, GUINT_TO_POINTER(theirs),
				    GUINT_TO_POINTER((uint32_t)g_ascii_strtoull(e->name, NULL, 10)));
	return ++r->read_cnt < FOREIGN_TASKS_MAX;
}

static void read_threads(const struct foreign_threads *f, struct process *p, uint32_t pid)
{
	g_autofree char *task = g_strdup_printf("%s/%" PRIu32 "/task", f->proc_dir, pid);
	struct reading r = { .task = task, .threads = p->threads };

	g_hash_table_remove_all(p->threads);
	opener_list(task, false, read_thread, &r);
}

static struct process *process_of(struct foreign_threads *f, uint32_t pid, uint64_t start_ns)
{
	struct process *p = g_hash_table_lookup(f->processes, GUINT_TO_POINTER(pid));

	if (p && p->start_ns == start_ns)
		return p;
	if (g_hash_table_size(f->processes) >= FOREIGN_PROCESSES_MAX)
		g_hash_table_remove_all(f->processes);
	p = g_new0(struct process, 1);
	p->start_ns = start_ns;
	p->is_ours = foreign_threads_are_ours(f->proc_dir, pid);
	p->threads = g_hash_table_new(NULL, NULL);
	p->pause_us = FOREIGN_PAUSE_US;
	g_hash_table_replace(f->processes, GUINT_TO_POINTER(pid), p);
	return p;
}

uint32_t foreign_threads_find(struct foreign_threads *f, uint32_t pid, uint64_t proc_start_ns, uint32_t tid)
{
	struct process *p;
	uint32_t found;
	int64_t now_us;

	if (!tid)
		return 0;
	p = process_of(f, pid, proc_start_ns);
	if (p->is_ours)
		return tid;
	found = GPOINTER_TO_UINT(g_hash_table_lookup(p->threads, GUINT_TO_POINTER(tid)));
	now_us = g_get_monotonic_time();
	if (found || now_us < p->next_read_us)
		return found;
	read_threads(f, p, pid);
	p->next_read_us = g_get_monotonic_time() + p->pause_us;
	p->pause_us = MIN(p->pause_us * 2, FOREIGN_PAUSE_MAX_US);
	return GPOINTER_TO_UINT(g_hash_table_lookup(p->threads, GUINT_TO_POINTER(tid)));
}
