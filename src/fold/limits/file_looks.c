/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Who has file locks for which others wait, by looks at /proc/locks now and then: who hands a lock on last may have
 * had it for a moment only, and who has it is often not recorded. SQLite waits by sleeping, so that its locks have no
 * waiters; they are known by the bytes that they cover.
 */
#include "fold/limits/limits.h"

#include <stdio.h>
#include <string.h>

#include "base/find.h"
#include "base/opener/opener.h"
#include "base/proc/status.h"
#include "fold/targets/part.h"

#define LOOK_NS UINT64_C(500000000)
#define LOOKS_SHARE 8	/* of the time so far: how seldom a long recording is looked at */
#define LOOKS_MAX 64	/* bits of a mask */
#define CPU_SHARE 100	/* of the time until the next look that one may take */
#define TEXT_MAX (256 << 10)
#define LOCKS_MAX 32
#define HOLDERS_MAX 128
#define DOING_MAX 16	/* holders whose doing is looked at, each time */
#define WAITERS_MAX 64	/* processes that wait for one */
#define TOLD_MAX 4	/* programs that wait for one */
#define SLEEPERS_MAX 64	/* processes that may wait for a database */

/* SQLite's os.h: PENDING_BYTE, and RESERVED_BYTE and SHARED_SIZE behind it; wal.c: WAL_WRITE_LOCK, in the file -shm */
#define SQLITE_FIRST 0x40000000
#define SQLITE_LAST (SQLITE_FIRST + 511)
#define SQLITE_WAL_WRITE 120

/* An inode that is locked. Masks have a bit for each look. */
struct lock {
	uint32_t major, minor;
	uint64_t ino, waits;	/* looks at which anyone waited for it */
	GHashTable *waiters;	/* their processes; NULL: none */
	bool is_sqlite, is_wal, is_sought;
	char *path;	/* NULL: not found */
};

/* Processes of one name that had it, which may follow each other, as those of a script do. */
struct holder {
	guint lock;
	uint32_t pid, pids_cnt;	/* the last, and about how many in turn */
	char *name;	/* NULL: it had ended, and another one keeps the open file */
	uint64_t has, reads;	/* with a lock that others wait for, or to write; to read */
	uint32_t cnt[CHILD_DOES_COUNT], doer[CHILD_DOES_COUNT];	/* looks, and the last of whom that was */
	char *doer_name[CHILD_DOES_COUNT], *where[CHILD_DOES_COUNT];
};

struct file_looks {
	char *proc_dir;
	GArray *locks, *holders;
	unsigned looks, doing;
	uint64_t next_ns;
};

/* "3: -> FLOCK  ADVISORY  WRITE 4712 fe:00:12 0 EOF" */
struct line {
	uint64_t id, ino, start;
	int64_t pid;
	uint32_t major, minor;
	char type[8], mode[8];
	bool is_waiting;
};

static void clear_lock(void *data)
{
	struct lock *k = data;

	g_free(k->path);
	g_clear_pointer(&k->waiters, g_hash_table_unref);
}

static void clear_holder(void *data)
{
	struct holder *h = data;

	g_free(h->name);
	for (unsigned i = 0; i < CHILD_DOES_COUNT; i++) {
		g_free(h->doer_name[i]);
		g_free(h->where[i]);
	}
}

struct file_looks *file_looks_new(const char *proc_dir)
{
	struct file_looks *l = g_new0(struct file_looks, 1);

	l->proc_dir = g_strdup(proc_dir);
	l->locks = g_array_new(FALSE, TRUE, sizeof(struct lock));
	l->holders = g_array_new(FALSE, TRUE, sizeof(struct holder));
	g_array_set_clear_func(l->locks, clear_lock);
	g_array_set_clear_func(l->holders, clear_holder);
	return l;
}

FREES(file_looks_free, struct file_looks, l, g_free(l->proc_dir); g_array_unref(l->locks); g_array_unref(l->holders))

static bool read_line(const char *text, struct line *ret)
{
	static const char *const types[] = { "FLOCK", "POSIX" };	/* a lock of an open file (OFD) tells no process */
	int at = 0;

	if (sscanf(text, "%" SCNu64 ": %n", &ret->id, &at) != 1 || !at)
		return false;
	ret->is_waiting = g_str_has_prefix(text + at, "-> ");
	at += ret->is_waiting ? (int)strlen("-> ") : 0;
	return sscanf(text + at, "%7s %*s %7s %" SCNd64 " %" SCNx32 ":%" SCNx32 ":%" SCNu64 " %" SCNu64, ret->type, ret->mode,
		      &ret->pid, &ret->major, &ret->minor, &ret->ino, &ret->start) == 7 &&
	       ANY(x, types, strcmp(*x, ret->type) == 0) && ret->pid > 0 && ret->pid < UINT32_MAX;
}

/* Its row; UINT_MAX: there are too many, or it is not there yet and is not to be added. */
static guint lock_at(struct file_looks *l, const struct line *at, bool add)
{
	const struct lock fresh = { .major = at->major, .minor = at->minor, .ino = at->ino };

	EACH_ROW(i, const struct lock, k, l->locks)
		if (k->ino == at->ino && k->major == at->major && k->minor == at->minor)
			return i;
	if (!add || l->locks->len >= LOCKS_MAX)
		return UINT_MAX;
	g_array_append_val(l->locks, fresh);
	return l->locks->len - 1;
}

/* "backup.sh: flock" of a program that only waits for its child: its parent, a script, tells more. NULL: gone. */
static char *name_of(const struct file_looks *l, uint32_t pid, bool is_for_child)
{
	char *script = process_script_name(pid);

	if (script)
		return script;
	g_autofree char *comm = opener_process_text(l->proc_dir, pid, "comm");
	g_autofree char *status = comm && is_for_child ? opener_process_text(l->proc_dir, pid, "status") : NULL;
	const uint32_t parent = status ? (uint32_t)proc_status_number(status, "PPid") : 0;
	g_autofree char *of = parent > 1 ? process_script_name(parent) : NULL;

	if (!comm)
		return NULL;
	g_strchomp(comm);
	return of ? g_strdup_printf("%s: %s", of, comm) : g_steal_pointer(&comm);
}

static struct holder *holder_at(struct file_looks *l, guint lock, uint32_t pid, const char *name)
{
	const struct holder fresh = { .lock = lock, .pid = pid, .name = g_strdup(name) };

	EACH_ROW(i, struct holder, h, l->holders)
		if (h->lock == lock && (name ? g_strcmp0(h->name, name) == 0 : h->pid == pid && !h->name)) {
			g_free(fresh.name);
			return h;
		}
	if (l->holders->len >= HOLDERS_MAX) {
		g_free(fresh.name);
		return NULL;
	}
	g_array_append_val(l->holders, fresh);
	return &g_array_index(l->holders, struct holder, l->holders->len - 1);
}

static void note_doing(const struct file_looks *l, struct holder *h, const struct process_doing *d)
{
	h->cnt[d->does]++;
	h->doer[d->does] = d->pid;
	if (!h->doer_name[d->does] || d->pid != h->pid) {
		g_free(h->doer_name[d->does]);
		h->doer_name[d->does] = d->pid == h->pid ? NULL : name_of(l, d->pid, false);
	}
	if (!h->where[d->does])
		h->where[d->does] = process_doing_where(l->proc_dir, d);
}

/* reads: a lock that only keeps others from writing. */
static void note_holder(struct file_looks *l, guint lock, const struct line *at, bool reads)
{
	const uint64_t bit = UINT64_C(1) << l->looks;
	const uint32_t pid = (uint32_t)at->pid;
	const bool looks = l->doing < DOING_MAX;
	struct process_doing d = { 0 };

	if (ANY_ROW(const struct holder, x, l->holders,
		    x->lock == lock && x->pid == pid && (reads ? x->reads : x->has) & bit))
		return;
	if (looks)
		d = process_doing_of(l->proc_dir, pid);
	l->doing += looks;
	g_autofree char *name = name_of(l, pid, d.pid && d.pid != pid);
	struct holder *h = holder_at(l, lock, pid, name);

	if (!h)
		return;
	h->pids_cnt += h->pid != pid || !h->pids_cnt;
	h->pid = pid;
	*(reads ? &h->reads : &h->has) |= bit;
	if (name && d.pid)
		note_doing(l, h, &d);
}

static bool is_of_sqlite(const struct line *at)
{
	return strcmp(at->type, "POSIX") == 0 &&
	       ((at->start >= SQLITE_FIRST && at->start <= SQLITE_LAST) || at->start == SQLITE_WAL_WRITE);
}

/* What the lock is on, by who has it or waits for it, at that moment. */
static void find_path(const struct file_looks *l, struct lock *k, uint32_t pid)
{
	if (k->is_sought)
		return;
	k->is_sought = true;
	k->path = fd_link_of_inode(l->proc_dir, pid, k->ino);
	if (k->is_wal && k->path && g_str_has_suffix(k->path, "-shm"))
		k->path[strlen(k->path) - strlen("-shm")] = 0;
	else if (k->is_wal)
		g_clear_pointer(&k->path, g_free);
}

static void note_sqlite(struct file_looks *l, const struct line *at)
{
	const bool writes = strcmp(at->mode, "WRITE") == 0;
	const guint lock = is_of_sqlite(at) ? lock_at(l, at, writes) : UINT_MAX;

	if (lock == UINT_MAX)
		return;
	struct lock *k = &g_array_index(l->locks, struct lock, lock);

	k->is_sqlite = true;
	k->is_wal = at->start == SQLITE_WAL_WRITE;
	find_path(l, k, (uint32_t)at->pid);
	if (k->path)
		note_holder(l, lock, at, !writes);
}

static void note_wait(struct file_looks *l, const struct line *holder, const struct line *at)
{
	const guint lock = lock_at(l, at, true);

	if (lock == UINT_MAX)
		return;
	struct lock *k = &g_array_index(l->locks, struct lock, lock);

	k->waits |= UINT64_C(1) << l->looks;
	k->waiters = k->waiters ?: g_hash_table_new(NULL, NULL);
	if (g_hash_table_size(k->waiters) < WAITERS_MAX)
		g_hash_table_add(k->waiters, GUINT_TO_POINTER(at->pid));
	find_path(l, k, (uint32_t)at->pid);
	note_holder(l, lock, holder, false);
}

/* Holders precede their waiters. */
static void look_at(struct file_looks *l, const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	struct line holder = { 0 }, at;

	for (char **line = lines; *line; line++) {
		if (!read_line(*line, &at))
			continue;
		if (!at.is_waiting) {
			holder = at;
			note_sqlite(l, &at);
		} else if (at.id == holder.id && holder.pid && at.ino == holder.ino) {
			note_wait(l, &holder, &at);
		}
	}
}

void file_looks_look(struct file_looks *l, uint64_t elapsed_ns)
{
	const uint64_t start_ns = opener_thread_cpu_ns();
	g_autofree char *path = g_build_filename(l->proc_dir, "locks", NULL);
	size_t len;

	if (l->looks >= LOOKS_MAX || elapsed_ns < l->next_ns)
		return;
	g_autofree char *text = opener_text(path, TEXT_MAX, &len);

	l->doing = 0;
	if (text)
		look_at(l, text);
	l->looks++;
	l->next_ns = elapsed_ns + MAX(MAX(LOOK_NS, elapsed_ns / LOOKS_SHARE),
				      (opener_thread_cpu_ns() - start_ns) * CPU_SHARE);
}

static unsigned bits(uint64_t mask)
{
	return (unsigned)__builtin_popcountll(mask);
}

/* Who had it at most looks, not the process itself; at looks of that mask only. NULL: nobody. */
static struct holder *most_of(const struct file_looks *l, guint lock, uint32_t itself, uint64_t mask, bool reads)
{
	struct holder *most = NULL;
	unsigned most_cnt = 0;

	EACH_ROW(i, struct holder, h, l->holders) {
		const unsigned cnt = bits((reads ? h->reads : h->has) & mask);

		if (h->lock != lock || h->pid == itself || cnt <= most_cnt)
			continue;
		most = h;
		most_cnt = cnt;
	}
	return most;
}

/* The flock(1) of a shell has ended: who keeps the open file is known of now only. */
static void find_keeper(const struct file_looks *l, struct holder *h)
{
	const struct lock *k = &g_array_index(l->locks, struct lock, h->lock);
	const uint32_t pid = h->name ? 0 : file_lock_keeper(l->proc_dir, h->pid, k->ino);
	const struct process_doing d = pid ? process_doing_of(l->proc_dir, pid) : (struct process_doing){ 0 };

	h->name = pid ? name_of(l, pid, d.pid && d.pid != pid) : h->name;
	h->pid = pid ?: h->pid;
	if (h->name && d.pid)
		note_doing(l, h, &d);
}

/* Names are others', and are told apart by tabs. */
static char *plain(const char *name)
{
	return g_strdelimit(g_strdup(name ?: ""), "\t\n", ' ');
}

static void put(const struct file_looks *l, struct profile *p, struct holder *h, uint32_t waiter, uint64_t waits,
		bool reads)
{
	enum child_does does = 0;

	find_keeper(l, h);
	for (unsigned i = 1; i < CHILD_DOES_COUNT; i++)
		does = h->cnt[i] > h->cnt[does] ? i : does;
	const struct lock *k = &g_array_index(l->locks, struct lock, h->lock);
	g_autofree char *name = plain(h->name), *doer = plain(h->doer_name[does]), *where = plain(h->where[does]),
			*path = plain(k->path);
	const struct limit_locked row = {
		.held = bits((reads ? h->reads : h->has) & waits), .seen = bits(waits),
		.holder = h->pid, .holders = h->pids_cnt, .doer = h->doer[does],
		.does = does, .name = name, .doer_name = doer, .where = where, .path = path, .is_sqlite = k->is_sqlite,
	};
	g_autofree char *text = limit_locked_text(&row);

	if (*name)
		profile_add_limit(p, LIMIT_LOCKED, waiter, 0, text);
}

/* For one recorded process of each program that waits. */
static void put_waited(const struct file_looks *l, struct profile *p, const struct lock *k, struct holder *h)
{
	const char *told[TOLD_MAX];
	unsigned cnt = 0;

	EACH_ROW(i, const struct thread, t, p->threads) {
		if (cnt == TOLD_MAX)
			break;
		if (!g_hash_table_contains(k->waiters, GUINT_TO_POINTER(t->pid)) ||
		    FIRST_OF(x, told, cnt, *x == t->process, true, false))
			continue;
		told[cnt++] = t->process;
		put(l, p, h, t->pid, k->waits, false);
	}
}

struct open_file {
	const char *path;
	bool is_open;
};

static bool take_file(const struct opener_entry *e, void *data)
{
	struct open_file *f = data;

	f->is_open = e->link && strcmp(e->link, f->path) == 0;
	return !f->is_open;
}

static bool has_open(const struct file_looks *l, uint32_t pid, const char *path)
{
	g_autofree char *fds = g_strdup_printf("%s/%" PRIu32 "/fd", l->proc_dir, pid);
	struct open_file f = { .path = path };

	opener_list(fds, true, take_file, &f);
	return f.is_open;
}

/* A process that sleeps and has the database open. If it is the writer itself it may wait for readers to end. */
static void put_sleeper(const struct file_looks *l, struct profile *p, guint lock, uint32_t pid)
{
	const uint64_t all = l->looks < LOOKS_MAX ? (UINT64_C(1) << l->looks) - 1 : UINT64_MAX;
	struct holder *own = FIRST_ROW(struct holder, h, l->holders,
				       h->lock == lock && h->pid == pid && h->has, h, NULL);
	struct holder *writer = most_of(l, lock, pid, all, false);
	struct holder *reader = own && (!writer || bits(own->has) > bits(writer->has)) ?
					most_of(l, lock, pid, own->has, true) : NULL;
	struct holder *h = reader ?: writer && (!own || bits(writer->has) >= bits(own->has)) ? writer : own;

	if (h)
		put(l, p, h, pid, h == reader ? own->has : all, h == reader);
}

static GHashTable *sleepers_new(const struct profile *p)
{
	static const char *const sleeps[] = { "hrtimer_nanosleep", "do_nanosleep", NULL };
	GHashTable *pids = g_hash_table_new(NULL, NULL);

	EACH_ROW(i, const struct wait, w, p->waits)
		if (g_hash_table_size(pids) < SLEEPERS_MAX && profile_stack_names(p, w->kernel, sleeps))
			g_hash_table_add(pids, GUINT_TO_POINTER(profile_thread(p, w->thread)->pid));
	return pids;
}

void file_looks_put(struct file_looks *l, struct profile *p)
{
	g_autoptr(GHashTable) sleepers = NULL;

	EACH_ROW(i, const struct lock, k, l->locks) {
		struct holder *h = k->waits ? most_of(l, i, 0, k->waits, false) : NULL;

		if (h && k->path)
			put_waited(l, p, k, h);
		if (!k->is_sqlite || !k->path)
			continue;
		sleepers = sleepers ?: sleepers_new(p);
		GHashTableIter at;
		gpointer pid;

		g_hash_table_iter_init(&at, sleepers);
		while (g_hash_table_iter_next(&at, &pid, NULL))
			if (has_open(l, GPOINTER_TO_UINT(pid), k->path))
				put_sleeper(l, p, i, GPOINTER_TO_UINT(pid));
	}
}
