/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/find.h"
#include "fold/limits/limits.h"

#include <linux/limits.h>
#include <sys/syscall.h>

#include "base/opener/opener.h"
#include "symbolize/runtime/memory.h"

/* The argument of the thread's system call that is the path of a file to open. -1: none. */
static int path_argument(uint64_t nr)
{
#ifdef SYS_open
	if (nr == SYS_open || nr == SYS_creat)
		return 0;
#endif
	return nr == SYS_openat || nr == SYS_openat2 ? 1 : -1;
}

/* "257 0xffffff9c 0x55d0.. 0x241 ..": the path that the thread passed. NULL: it is in another call by now. */
static char *path_of(const char *proc_dir, uint32_t pid, uint32_t tid)
{
	g_autofree char *name = g_strdup_printf("task/%" PRIu32 "/syscall", tid), *text = opener_process_text(proc_dir, pid, name);
	char path[PATH_MAX], *at = text;
	int left = text && g_ascii_isdigit(*text) ? path_argument(g_ascii_strtoull(text, &at, 10)) : -1;
	uint64_t address = 0;

	for (; left >= 0; left--)
		address = g_ascii_strtoull(at, &at, 16);
	if (!address || !memory_text(pid, address, path, sizeof(path)) || !*path)
		return NULL;
	g_autofree char *link = g_strdup_printf("%s/%" PRIu32 "/cwd", proc_dir, pid), *cwd = *path == '/' ? NULL : opener_link(link);

	return cwd ? g_build_filename(cwd, path, NULL) : g_strdup(path);
}

/* A descriptor shows the pipe only once both ends are open. */
void fifos_look(struct profile *p, const char *proc_dir)
{
	static const char *const functions[] = { "fifo_open", "wait_for_partner", NULL };
	unsigned left = FIFOS_MAX;

	EACH_ROW_WHILE(i, struct wait, w, p->waits, left) {
		const struct thread *t = profile_thread(p, w->thread);

		if (w->object || !(w->flags & WAIT_OPEN_AT_END) || !profile_stack_names(p, w->kernel, functions))
			continue;
		left--;
		g_autofree char *path = path_of(proc_dir, t->pid, t->tid);

		if (path)
			w->object = 1 + profile_object(p, &(struct object){ .kind = OBJECT_PIPE, .name = path });
	}
}
