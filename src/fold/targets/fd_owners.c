/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/targets/part.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/opener/opener.h"
#include "base/order.h"
#include "base/proc/status.h"

struct owner {
	uint64_t ino;
	uint32_t pid;
	uint32_t access;	/* enum fd_access */
};

struct fd_owners {
	char *proc_dir;
	GArray *owners;		/* struct owner, by inode, then pid */
	int64_t next_read_us;
	unsigned pause;		/* between readings, as a multiple of the last one's duration */
};

struct fd_owners *fd_owners_new(const char *proc_dir)
{
	struct fd_owners *o = g_new0(struct fd_owners, 1);

	o->proc_dir = g_strdup(proc_dir);
	o->pause = FD_OWNERS_PAUSE;
	o->owners = g_array_new(FALSE, FALSE, sizeof(struct owner));
	return o;
}

FREES(fd_owners_free, struct fd_owners, o, g_array_unref(o->owners); g_free(o->proc_dir))

/* "socket:[123]", "pipe:[123]". Opens no file and asks no file system, because these may hang. */
static bool parse_link(const char *text, uint64_t *ret_ino)
{
	const char *number = g_str_has_prefix(text, "socket:[") ? text + 8
			     : g_str_has_prefix(text, "pipe:[") ? text + 6
								: NULL;

	return number && (*ret_ino = g_ascii_strtoull(number, NULL, 10)) != 0;
}

struct reading {
	struct fd_owners *owners;
	uint32_t pid;
	int64_t until_us;
};

/* The link's permissions show how the file is open. */
static bool take_fd(const struct opener_entry *e, void *data)
{
	const struct reading *r = data;
	struct owner one = { .pid = r->pid };

	if (parse_link(e->link, &one.ino)) {
		one.access = e->link[0] == 's' ? FD_READS | FD_WRITES
					       : (e->mode & S_IRUSR ? FD_READS : 0U) |
							 (e->mode & S_IWUSR ? FD_WRITES : 0U);
		g_array_append_val(r->owners->owners, one);
	}
	return r->owners->owners->len < FD_OWNERS_MAX && g_get_monotonic_time() < r->until_us;
}

static bool take_process(const struct opener_entry *e, void *data)
{
	struct reading *r = data;
	uint64_t pid = g_ascii_isdigit(e->name[0]) ? g_ascii_strtoull(e->name, NULL, 10) : 0;
	g_autofree char *path = g_strdup_printf("%s/%s/fd", r->owners->proc_dir, e->name);

	if (!pid || pid > G_MAXINT32)
		return true;
	r->pid = (uint32_t)pid;
	opener_list(path, true, take_fd, r);
	return r->owners->owners->len < FD_OWNERS_MAX && g_get_monotonic_time() < r->until_us;
}

ORDER(compare, struct owner, ORDER_LOW(ino) ORDER_LOW(pid))

bool fd_owners_read(struct fd_owners *o, bool now)
{
	int64_t begun_us = g_get_monotonic_time();
	struct reading r = { .owners = o, .until_us = begun_us + FD_OWNERS_READ_MAX_US };

	if (!now && begun_us < o->next_read_us)
		return false;
	g_array_set_size(o->owners, 0);
	if (!opener_list(o->proc_dir, false, take_process, &r))
		return false;
	g_array_sort(o->owners, compare);
	int64_t ended_us = g_get_monotonic_time();
	o->next_read_us = ended_us + (ended_us - begun_us) * o->pause;
	return true;
}

void fd_owners_was_of_use(struct fd_owners *o, bool was)
{
	o->pause = was ? FD_OWNERS_PAUSE : MIN(2 * o->pause, FD_OWNERS_PAUSE_MAX);
}

/* The index of the first one with this inode, or where it would be. */
static guint first_of(const struct fd_owners *o, uint64_t ino)
{
	guint from = 0, to = o->owners->len;

	while (from < to) {
		guint middle = from + (to - from) / 2;

		if (g_array_index(o->owners, struct owner, middle).ino < ino)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static bool has_one_thread(const struct fd_owners *o, uint32_t pid)
{
	g_autofree char *status = opener_process_text(o->proc_dir, pid, "status");

	return status && proc_status_number(status, "Threads") == 1;
}

/* The process with files at index *i and following ones, and how it has them open; *i: behind them. */
static struct owner next_process(const struct fd_owners *o, guint *i)
{
	struct owner one = g_array_index(o->owners, struct owner, (*i)++);

	for (; *i < o->owners->len; (*i)++) {
		const struct owner *more = &g_array_index(o->owners, struct owner, *i);

		if (more->ino != one.ino || more->pid != one.pid)
			break;
		one.access |= more->access;
	}
	return one;
}

uint32_t fd_owners_find(const struct fd_owners *o, uint64_t ino, unsigned access, uint32_t waiter, unsigned *ret_others)
{
	bool has_waiter = false, is_keeper = true;
	uint32_t found = 0;
	unsigned cnt = 0;

	for (guint i = first_of(o, ino); i < o->owners->len && g_array_index(o->owners, struct owner, i).ino == ino;) {
		const struct owner one = next_process(o, &i);
		/* a supervisor that made the pipe for two others, and reads nothing */
		const bool keeps_both = one.access & ~access;

		if (!(one.access & access))
			continue;
		if (one.pid == waiter) {
			has_waiter = true;
			continue;
		}
		if (is_keeper && !keeps_both)
			cnt = 0;
		if (!cnt)
			found = one.pid;
		cnt += is_keeper || !keeps_both;
		is_keeper = is_keeper && keeps_both;
	}
	if (has_waiter && (!found || !has_one_thread(o, waiter)))
		cnt = 0, found = waiter;
	*ret_others = cnt ? cnt - 1 : 0;
	return found;
}

char *fd_owners_name(const struct fd_owners *o, uint32_t pid)
{
	char *text = opener_process_text(o->proc_dir, pid, "comm");

	return text ? g_strchomp(text) : NULL;
}
