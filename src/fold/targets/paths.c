/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/find.h"
#include "fold/limits/limits.h"

#include <fcntl.h>
#include <linux/limits.h>

#include "base/call_path.h"
#include "base/opener/opener.h"
#include "symbolize/runtime/memory.h"

/* The directory where the path begins: the working directory, or that of a descriptor. */
static char *directory_of(const char *proc_dir, uint32_t pid, int fd)
{
	g_autofree char *link = fd == AT_FDCWD ? g_strdup_printf("%s/%" PRIu32 "/cwd", proc_dir, pid) :
						 g_strdup_printf("%s/%" PRIu32 "/fd/%d", proc_dir, pid, fd);

	return opener_link(link);
}

/* "257 0xffffff9c 0x55d0.. 0x241 .." */
char *path_of_call(const char *proc_dir, uint32_t pid, uint32_t tid)
{
	g_autofree char *name = g_strdup_printf("task/%" PRIu32 "/syscall", tid), *text = opener_process_text(proc_dir, pid, name);
	char path[PATH_MAX], *at = text;
	const uint64_t nr = text && g_ascii_isdigit(*text) ? g_ascii_strtoull(text, &at, 10) : UINT64_MAX;
	const struct call_path call = call_path_of(nr);
	uint64_t argument = 0;
	int fd = AT_FDCWD;

	for (unsigned i = 1; i <= call.path; i++) {
		argument = g_ascii_strtoull(at, &at, 16);
		fd = i == call.directory ? (int)argument : fd;
	}
	if (!call.path || !memory_text(pid, argument, path, sizeof(path)) || !*path)
		return NULL;
	g_autofree char *from = *path == '/' ? NULL : directory_of(proc_dir, pid, fd);

	return from ? g_build_filename(from, path, NULL) : g_strdup(path);
}

/* What a path leads to where a thread waits without an open file. */
static const struct {
	const char *functions[5];	/* of the kernel */
	enum object_kind kind;
} places[] = {
	{ { "fifo_open", "wait_for_partner" }, OBJECT_PIPE },
	{ { "request_wait_answer", "rpc_wait_bit_killable", "wait_for_response", "p9_client_rpc" }, OBJECT_FILE },
};

/* Its index in `places`; G_N_ELEMENTS(places): none of them. */
static size_t place_of(const struct profile *p, const struct wait *w)
{
	size_t k = 0;

	while (k < G_N_ELEMENTS(places) && !profile_stack_names(p, w->kernel, places[k].functions))
		k++;
	return k;
}

void paths_look(struct profile *p, const char *proc_dir)
{
	unsigned left = PATHS_MAX;

	EACH_ROW_WHILE(i, struct wait, w, p->waits, left) {
		const struct thread *t = profile_thread(p, w->thread);
		const size_t k = w->object || !(w->flags & WAIT_OPEN_AT_END) ? G_N_ELEMENTS(places) : place_of(p, w);

		if (k == G_N_ELEMENTS(places))
			continue;
		left--;
		g_autofree char *path = path_of_call(proc_dir, t->pid, t->tid);

		if (path)
			w->object = 1 + profile_object(p, &(struct object){ .kind = places[k].kind, .name = path });
	}
}
