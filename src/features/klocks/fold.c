/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/each.h"
#include "base/find.h"
#include "fold/objects.h"

#include <inttypes.h>
#include <string.h>

#include "base/module.h"
#include "base/opener/opener.h"
#include "base/proc/mount_point.h"
#include "fold/crossed.h"
#include "fold/parts.h"

struct lock {
	struct crossed_row row;
	struct offcpu_rec_kernel_lock rec;
	char *name;	/* NULL: that of a variable, or none */
};

struct fold_kernel_locks {
	struct profile *profile;
	struct symbolizer *symbolizer;
	char *proc_dir;
	struct crossed *seen;	/* struct lock */
};

static void lock_free(void *data)
{
	g_free(((struct lock *)data)->name);
	g_free(data);
}

struct fold_kernel_locks *fold_kernel_locks_new(struct profile *profile, struct symbolizer *symbolizer,
						const char *proc_dir)
{
	struct fold_kernel_locks *all = g_new0(struct fold_kernel_locks, 1);

	all->profile = profile;
	all->symbolizer = symbolizer;
	all->proc_dir = g_strdup(proc_dir);
	all->seen = crossed_new(lock_free);
	return all;
}

FREES(fold_kernel_locks_free, struct fold_kernel_locks, all, crossed_free(all->seen); g_free(all->proc_dir))

static void append_part(GString *s, const struct offcpu_rec_kernel_lock *rec, unsigned i)
{
	const char *part = (const char *)rec->path[i];

	g_string_append_len(s, part, (gssize)strnlen(part, OFFCPU_LOCK_PART));
}

/* A path of which only the last names are known, or which is mounted elsewhere only, begins with "...". */
static void append_path(const struct fold_kernel_locks *all, GString *s, const struct offcpu_rec_kernel_lock *rec)
{
	g_autofree char *mounts = g_strdup_printf("%s/%" PRIu32 "/mountinfo", all->proc_dir, rec->pid);
	size_t bytes;
	g_autofree char *text = rec->is_whole ? opener_text(mounts, OPENER_TEXT_MAX, &bytes) : NULL;
	g_autoptr(GString) path = g_string_new(NULL);

	for (unsigned i = rec->parts; i-- > 0;) {
		append_part(path, rec, i);
		if (i)
			g_string_append_c(path, '/');
	}
	if (!mount_point_prepend(path, text, rec->dev) && rec->parts)
		g_string_prepend(path, ".../");
	if (path->len) {
		g_string_append_len(s, path->str, (gssize)path->len);
		return;
	}
	g_string_append_printf(s, "inode %" G_GUINT64_FORMAT " of device ", (guint64)rec->ino);
	device_append(s, rec->dev);
}

static char *name_of(const struct fold_kernel_locks *all, const struct offcpu_rec_kernel_lock *rec)
{
	static const char *const members[] = {
		[OFFCPU_LOCK_MMAP] = "mmap_lock", [OFFCPU_LOCK_INODE] = "i_rwsem", [OFFCPU_LOCK_MAPPINGS] = "i_mmap_rwsem",
		[OFFCPU_LOCK_PAGES] = "invalidate_lock", [OFFCPU_LOCK_POSITION] = "f_pos_lock",
		[OFFCPU_LOCK_UMOUNT] = "s_umount", [OFFCPU_LOCK_RENAME] = "s_vfs_rename_mutex",
	};
	g_autoptr(GString) s = g_string_new(NULL);

	if (!rec->what)
		return NULL;
	g_string_printf(s, "%s of ", members[rec->what]);
	if (rec->what == OFFCPU_LOCK_MMAP || rec->what >= OFFCPU_LOCK_UMOUNT)
		append_part(s, rec, 0);
	else
		append_path(all, s, rec);
	return g_strdup(s->str);
}

void fold_kernel_locks_add(struct fold_kernel_locks *all, const struct offcpu_rec_kernel_lock *rec, size_t size)
{
	if (size < sizeof(*rec) || rec->what > OFFCPU_LOCK_RENAME || rec->parts > OFFCPU_LOCK_PARTS) {
		fold_drop_record(all->profile);
		return;
	}
	if (crossed_has(all->seen, rec->id))
		return;
	struct lock *l = g_new0(struct lock, 1);

	l->row.id = rec->id;
	l->rec = *rec;
	l->name = name_of(all, rec);
	crossed_add(all->seen, l);
}

guint fold_kernel_locks_cnt(const struct fold_kernel_locks *all)
{
	return crossed_cnt(all->seen);
}

void fold_kernel_locks_forget(struct fold_kernel_locks *all)
{
	crossed_forget(all->seen);
}

const struct offcpu_rec_kernel_lock *fold_kernel_locks_find(const struct fold_kernel_locks *all, uint64_t id)
{
	const struct lock *l = crossed_find(all->seen, id);

	return l ? &l->rec : NULL;
}

/* Functions that take one lock alone, for kernels that do not list their variables (CONFIG_KALLSYMS_ALL). */
static const char *lock_of_taker(const char *function)
{
	static const struct { const char *function, *lock; } known[] = {
		{ "rtnl_lock", "rtnl_mutex" }, { "rtnl_lock_killable", "rtnl_mutex" }, { "cgroup_kn_lock_live", "cgroup_mutex" },
	};

	return FIRST(x, known, function && !strcmp(function, x->function), x->lock, NULL);
}

/* The function that takes it; NULL: not known.  ret_is_there: the wait is one for a lock at all, or nobody knows. */
static const char *taker(const struct profile *p, uint32_t kernel, bool *ret_is_there)
{
	bool met = false;

	*ret_is_there = true;
	for (uint32_t n = kernel; n; n = profile_get_node(p, n)->parent) {
		const char *name = profile_get_frame(p, profile_get_node(p, n)->frame)->name;

		if (!name)
			return NULL;
		bool is_scheduler = strstr(name, "schedule");

		if (!is_scheduler && !lock_function_is(name)) {
			*ret_is_there = met;
			return name;
		}
		met = met || !is_scheduler;
	}
	return NULL;
}

static const char *operation(uint8_t flags)
{
	if (flags & OFFCPU_LOCK_MUTEX)
		return "mutex";
	if (flags & OFFCPU_LOCK_READS)
		return flags & OFFCPU_LOCK_HAS_READERS ? "read, behind readers" : "read";
	if (flags & OFFCPU_LOCK_WRITES)
		return flags & OFFCPU_LOCK_HAS_READERS ? "write, behind readers" : "write";
	return "semaphore";
}

uint32_t fold_kernel_locks_object(struct fold_kernel_locks *all, const struct offcpu_rec_kernel_lock *lock,
				  uint32_t target, uint32_t kernel)
{
	const struct lock *l = crossed_find(all->seen, lock->id);
	const char *own = l->name ? l->name : symbolizer_kernel_lock(all->symbolizer, lock->addr);
	bool is_there;
	const char *function = taker(all->profile, kernel, &is_there);

	own = own ? own : lock_of_taker(function);
	if (!is_there || (!own && (!function || (target && !lock->holder))))
		return target;
	g_autofree char *taken = own ? NULL : g_strdup_printf("taken in %s", function);
	const struct object o = { .kind = OBJECT_KERNEL_LOCK,
				  .operation = operation(lock->flags),
				  .name = own ? own : taken,
				  .place = "",
				  .pid = lock->owner,
				  .holder_tid = lock->holder };

	return profile_object(all->profile, &o) + 1;
}

#define JOURNAL_THREAD "jbd2/"	/* fs/jbd2/journal.c: kjournald2(), as "jbd2/vda1-8" */

bool fold_journal_is_awaited(const struct profile *p, uint32_t kernel, bool has_file)
{
	/* fs/jbd2/transaction.c; the first two may be inlined into the next */
	static const char *const functions[] = { "wait_transaction_", "add_transaction_credits", "start_this_handle", NULL };
	const char *name = NULL, *caller = NULL;

	for (uint32_t n = kernel; n && !caller; n = profile_get_node(p, n)->parent) {
		const char *own = profile_get_frame(p, profile_get_node(p, n)->frame)->name;

		if (!own)
			return false;
		if (name)
			caller = own;
		else if (!strstr(own, "schedule"))
			name = own;
	}
	if (!name)
		return false;
	if (g_str_has_prefix(name, "jbd2_log_wait_commit"))
		return !has_file || strstr(caller ? caller : "", "wait_for_space");
	for (size_t i = 0; functions[i]; i++)
		if (g_str_has_prefix(name, functions[i]))
			return true;
	return false;
}

uint32_t fold_journal_object(struct profile *p, const struct waker *waker)
{
	const char *device, *inode;

	if (waker->irq || waker->user || !g_str_has_prefix(waker->comm, JOURNAL_THREAD))
		return 0;
	device = waker->comm + strlen(JOURNAL_THREAD);
	inode = strrchr(device, '-');
	/* a name has 15 characters, so what is behind the device may be missing, and its own end */
	g_autofree char *name = inode ? g_strndup(device, (gsize)(inode - device)) : g_strdup_printf("%s...", device);
	const struct object o = { .kind = OBJECT_JOURNAL, .operation = "", .name = name, .place = "", .holder_tid = waker->tid };

	return profile_object(p, &o) + 1;
}
