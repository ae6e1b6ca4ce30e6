/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <glib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/each.h"
#include "base/opener/opener.h"
#include "base/proc/status.h"

/* Linux 6.6; may be newer than the installed include/uapi/linux/bpf.h */
#define TRACE_UPROBE_MULTI 48

struct multi_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid, pad;
};

#define DETACH_THREADS 16U

struct probe_set {
	struct probe_holder *holder;	/* holds multi's links; NULL: not started */
	GPtrArray *single;	/* of struct bpf_link */
	bool is_checked, is_held_up;
};

static int create_multi(int prog_fd, const char *path, const uint64_t *offsets, const uint64_t *semaphores,
			const uint64_t *cookies, size_t cnt)
{
	struct multi_attr attr = {
		.prog_fd = (uint32_t)prog_fd, .attach_type = TRACE_UPROBE_MULTI, .path = (uintptr_t)path,
		.offsets = (uintptr_t)offsets, .ref_ctr_offsets = (uintptr_t)semaphores,
		.cookies = (uintptr_t)cookies, .cnt = (uint32_t)cnt,
	};
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : fd;
}

int probe_link(int prog_fd, int file_fd, const uint64_t *numbers, bool has_semaphores, size_t cnt)
{
	char path[32];

	g_snprintf(path, sizeof(path), "/proc/self/fd/%d", file_fd);
	return create_multi(prog_fd, path, numbers, has_semaphores ? numbers + cnt : NULL, numbers + 2 * cnt, cnt);
}

/* Tried once: an existing link type refuses what is not a file with another error than an unknown one. */
static bool has_multi(void)
{
	static int known = -1;
	const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = (enum bpf_attach_type)TRACE_UPROBE_MULTI);
	uint64_t offset = 0;
	int fd, err;

	if (known >= 0)
		return known;
	fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", nothing, G_N_ELEMENTS(nothing), &opts);
	err = fd < 0 ? fd : create_multi(fd, "/", &offset, NULL, NULL, 1);
	if (fd >= 0)
		close(fd);
	known = fd >= 0 && err == -EBADF;
	return known;
}

void probe_prepare(struct bpf_program *prog)
{
	if (has_multi())
		bpf_program__set_expected_attach_type(prog, (enum bpf_attach_type)TRACE_UPROBE_MULTI);
}

struct probe_set *probe_set_new(void)
{
	struct probe_set *s = g_new0(struct probe_set, 1);

	s->single = g_ptr_array_new();
	return s;
}

static void destroy_link(gpointer link, gpointer data)
{
	bpf_link__destroy(link);
}

static void detach_links(GPtrArray *links, guint from)
{
	GThreadPool *pool = links->len - from > 1
				    ? g_thread_pool_new(destroy_link, NULL,
							(gint)MIN(links->len - from, DETACH_THREADS), FALSE, NULL)
				    : NULL;

	for (guint i = from; i < links->len; i++)
		if (!pool || !g_thread_pool_push(pool, links->pdata[i], NULL))
			destroy_link(links->pdata[i], NULL);
	if (pool)
		g_thread_pool_free(pool, FALSE, TRUE);
	g_ptr_array_set_size(links, (gint)from);
}

static void take_away(struct probe_set *s)
{
	struct probe_guard *guard = s->holder || s->single->len ? probe_guard_begin() : NULL;

	probe_holder_free(s->holder);
	detach_links(s->single, 0);
	if (guard)
		probe_guard_end(guard);
}

FREES(probe_set_free, struct probe_set, s, take_away(s); g_ptr_array_unref(s->single))

static int add_multi(struct probe_set *s, const struct bpf_program *prog, int file_fd, const struct probe_point *points,
		     size_t cnt)
{
	g_autofree uint64_t *numbers = g_new(uint64_t, 3 * cnt);

	for (size_t i = 0; i < cnt; i++) {
		numbers[i] = points[i].offset;
		numbers[cnt + i] = points[i].semaphore;
		numbers[2 * cnt + i] = points[i].cookie;
	}
	s->holder = s->holder ? s->holder : probe_holder_new();
	return s->holder ? probe_holder_add(s->holder, bpf_program__fd(prog), file_fd, numbers, (uint32_t)cnt)
			 : -ENOMEM;
}

static int add_single(struct probe_set *s, const struct bpf_program *prog, int file_fd,
		      const struct probe_point *points, size_t cnt)
{
	g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", file_fd);
	guint before = s->single->len;

	for (size_t i = 0; i < cnt; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = points[i].cookie,
			    .ref_ctr_offset = points[i].semaphore);
		struct bpf_link *link = bpf_program__attach_uprobe_opts(prog, -1, path, points[i].offset, &opts);

		if (!link) {
			int err = -errno;

			detach_links(s->single, before);
			return err ? err : -EINVAL;
		}
		g_ptr_array_add(s->single, link);
	}
	return 0;
}

/* Does every process answer? Then its memory's lock is free. Nothing is mapped at 0 that could be waited for. */
static bool do_all_answer(void)
{
	g_autoptr(GArray) pids = process_ids();
	uint8_t byte;
	const struct opener_piece nothing = { 0, &byte, sizeof(byte) };
	bool is_read;

	for (guint i = 0; opener_is_there() && i < pids->len; i++)
		if (!opener_memory(g_array_index(pids, uint32_t, i), &nothing, 1, &is_read) && errno == ETIMEDOUT)
			return false;
	return true;
}

int probe_set_add(struct probe_set *s, const struct bpf_program *prog, int file_fd, const struct probe_point *points,
		  size_t cnt)
{
	if (!s->is_checked)
		s->is_held_up = !do_all_answer();
	s->is_checked = true;
	if (s->is_held_up)
		return -EDEADLK;
	struct probe_guard *guard = probe_guard_begin();
	int err = has_multi() ? add_multi(s, prog, file_fd, points, cnt) : add_single(s, prog, file_fd, points, cnt);

	probe_guard_end(guard);
	return err;
}
