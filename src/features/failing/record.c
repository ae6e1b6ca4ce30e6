/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/failing/record.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>
#include <sys/syscall.h>

#include "attach/feature.h"
#include "attach/kernel_btf.h"
#include "attach/maps.h"
#include "base/call_path.h"
#include "base/each.h"
#include "base/find.h"
#include "base/opener/opener.h"
#include "base/order.h"
#include "base/proc/status.h"
#include "features/failing/abi.h"
#include "profile/limits.h"
#include "profile/profile.h"
#include "failing.skel.h"

#define FIRST_NS 400000000ULL	/* a program that has just been started has other things to do */
#define APART_NS 1400000000ULL	/* between two looks at how often threads run */
#define COUNTED_NS 2200000000ULL	/* a try a second, at least twice */
#define RUNS_PER_S 100	/* a process that runs more often has work */
#define TRIES_MIN 2

enum phase { BEFORE, SEEN, COUNTING, OVER };

struct failing_calls {
	enum phase phase;
	uint64_t since_ns;	/* when that phase began */
	uint64_t counted_ns;	/* length of the counting */
	GHashTable *runs;	/* tid -> how often it has run, at the first look */
	GHashTable *pids;	/* tid -> pid, as they were found */
	struct failing_bpf *skel;
	struct core_btf *core_btf;
	GArray *rows;		/* struct row */
};

struct row {
	struct failing_key key;
	uint64_t cnt;
};

static const struct {
	uint16_t nr;
	const char *name;
	struct failing_call call;
} table[] = {
	{ SYS_openat, .name = "open" },
	{ SYS_openat2, .name = "open" },
	{ SYS_statx, .name = "stat" },
	{ SYS_faccessat, .name = "access" },
	{ SYS_faccessat2, .name = "access" },
	{ SYS_mkdirat, .name = "mkdir" },
	{ SYS_linkat, "link", { .path = 4 } },
	{ SYS_symlinkat, .name = "symlink" },
	{ SYS_renameat2, .name = "rename" },
	{ SYS_unlinkat, .name = "unlink" },
	{ SYS_execve, .name = "execve" },
	{ SYS_flock, "flock", { .fd = 1, .is_lock = 1 } },
	{ SYS_fcntl, "fcntl", { .fd = 1, .is_lock = 1, .is_fcntl = 1 } },
	{ SYS_write, "write", { .fd = 1 } },
	{ SYS_pwrite64, "write", { .fd = 1 } },
	{ SYS_writev, "write", { .fd = 1 } },
	{ SYS_fsync, "fsync", { .fd = 1 } },
	{ SYS_fallocate, "fallocate", { .fd = 1 } },
#ifdef SYS_newfstatat
	{ SYS_newfstatat, .name = "stat" },
#endif
#ifdef SYS_open	/* x86 */
	{ SYS_open, .name = "open" },
	{ SYS_creat, .name = "open" },
	{ SYS_stat, .name = "stat" },
	{ SYS_lstat, .name = "stat" },
	{ SYS_access, .name = "access" },
	{ SYS_mkdir, .name = "mkdir" },
	{ SYS_rmdir, .name = "rmdir" },
	{ SYS_link, "link", { .path = 2 } },
	{ SYS_symlink, .name = "symlink" },
	{ SYS_rename, .name = "rename" },
	{ SYS_unlink, .name = "unlink" },
#endif
};

struct failing_calls *failing_calls_new(void)
{
	struct failing_calls *f = g_new0(struct failing_calls, 1);

	/* programs in BPF number threads as the initial namespace does */
	f->phase = proc_own_pid_namespace() ? OVER : BEFORE;
	f->runs = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	f->pids = g_hash_table_new(NULL, NULL);
	f->rows = g_array_new(FALSE, FALSE, sizeof(struct row));
	return f;
}

static void detach(struct failing_calls *f)
{
	failing_bpf__destroy(g_steal_pointer(&f->skel));
	core_btf_free(g_steal_pointer(&f->core_btf));
}

FREES(failing_calls_free, struct failing_calls, f, detach(f); g_hash_table_unref(f->runs); g_hash_table_unref(f->pids);
      g_array_unref(f->rows))

bool failing_calls_is_due(const struct failing_calls *f, uint64_t elapsed_ns)
{
	static const uint64_t lasts_ns[] = { [BEFORE] = FIRST_NS, [SEEN] = APART_NS, [COUNTING] = COUNTED_NS };

	return f->phase != OVER && elapsed_ns >= f->since_ns + lasts_ns[f->phase];
}

static void enter(struct failing_calls *f, enum phase phase, uint64_t elapsed_ns)
{
	f->phase = phase;
	f->since_ns = elapsed_ns;
}

/* How often each thread of these has run: tid -> number; NULL: there are too many. */
static GHashTable *read_runs(const GArray *pids, GHashTable *pid_of)
{
	g_autoptr(GHashTable) runs = g_hash_table_new_full(NULL, NULL, NULL, g_free);

	EACH_ROW(i, const uint32_t, pid, pids) {
		g_autoptr(GArray) tids = process_threads(*pid, FAILING_THREADS_MAX + 1);

		EACH_ROW(k, const uint32_t, tid, tids) {
			g_autofree char *status = opener_process_text("/proc", *tid, "status");
			uint64_t cnt = status ? proc_status_number(status, "voluntary_ctxt_switches") : 0;

			g_hash_table_insert(runs, GUINT_TO_POINTER(*tid), g_memdup2(&cnt, sizeof(cnt)));
			g_hash_table_insert(pid_of, GUINT_TO_POINTER(*tid), GUINT_TO_POINTER(*pid));
		}
		if (g_hash_table_size(runs) > FAILING_THREADS_MAX)
			return NULL;
	}
	return g_steal_pointer(&runs);
}

/* How often a thread has run since the first look; 0: it is new. */
static uint64_t runs_since(const struct failing_calls *f, GHashTable *now, gpointer tid)
{
	const uint64_t *before = g_hash_table_lookup(f->runs, tid), *cnt = g_hash_table_lookup(now, tid);

	return before && cnt && *cnt > *before ? *cnt - *before : 0;
}

/* Threads that run now and then, of processes that do no more in all: uint32_t. */
static GArray *pausing_new(const struct failing_calls *f, GHashTable *now, uint64_t apart_ns)
{
	GArray *tids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g_autoptr(GHashTable) sums = g_hash_table_new(NULL, NULL);	/* pid -> runs of its threads */
	GHashTableIter iter;
	gpointer tid;

	g_hash_table_iter_init(&iter, now);
	while (g_hash_table_iter_next(&iter, &tid, NULL)) {
		gpointer pid = g_hash_table_lookup(f->pids, tid);
		gsize sum = GPOINTER_TO_SIZE(g_hash_table_lookup(sums, pid)) + runs_since(f, now, tid);

		g_hash_table_replace(sums, pid, GSIZE_TO_POINTER(sum));
	}
	g_hash_table_iter_init(&iter, now);
	while (g_hash_table_iter_next(&iter, &tid, NULL)) {
		gsize sum = GPOINTER_TO_SIZE(g_hash_table_lookup(sums, g_hash_table_lookup(f->pids, tid)));
		const uint32_t id = GPOINTER_TO_UINT(tid);

		if (runs_since(f, now, tid) && sum * UINT64_C(1000000000) < apart_ns * RUNS_PER_S)
			g_array_append_val(tids, id);
	}
	return tids;
}

static bool attach(struct failing_calls *f, const GArray *tids)
{
	size_t elf_bytes;
	const void *elf = failing_bpf__elf_bytes(&elf_bytes);

	if (feature_kernel_btf())
		f->core_btf = core_btf_new(feature_kernel_btf(), elf, elf_bytes);
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = core_btf_path(f->core_btf));
	f->skel = failing_bpf__open_opts(&opts);
	if (!f->skel)
		return false;
	for (size_t i = 0; i < G_N_ELEMENTS(table); i++) {
		f->skel->rodata->calls[table[i].nr] = table[i].call;
		f->skel->rodata->calls[table[i].nr].path = table[i].call.path ?: call_path_of(table[i].nr).path;
	}
	return !failing_bpf__load(f->skel) && map_fill(f->skel->maps.failing_threads, tids, NULL) &&
	       !failing_bpf__attach(f->skel);
}

ORDER(compare_rows, struct row, ORDER_LOW(key.tid) ORDER_HIGH(cnt) ORDER_LOW(key.error))

static void take(const void *key, const void *cnt, void *data)
{
	struct failing_calls *f = data;
	struct row row;

	memcpy(&row.key, key, sizeof(row.key));
	memcpy(&row.cnt, cnt, sizeof(row.cnt));
	g_array_append_val(f->rows, row);
}

static uint32_t pid_of(const struct failing_calls *f, const struct row *r)
{
	return GPOINTER_TO_UINT(g_hash_table_lookup(f->pids, GUINT_TO_POINTER(r->key.tid)));
}

static bool is_same_try(const struct failing_calls *f, const struct row *a, const struct row *b)
{
	return pid_of(f, a) == pid_of(f, b) && a->key.nr == b->key.nr && a->key.error == b->key.error &&
	       strcmp(a->key.name, b->key.name) == 0;
}

/* Of several threads that try the same, as those of a pool do in turn, the first stands for all. */
static void add_up(struct failing_calls *f)
{
	for (guint i = 0; i < f->rows->len; i++)
		for (guint k = f->rows->len - 1; k > i; k--) {
			struct row *one = &g_array_index(f->rows, struct row, i);
			const struct row *other = &g_array_index(f->rows, struct row, k);

			if (!is_same_try(f, one, other))
				continue;
			one->cnt += other->cnt;
			g_array_remove_index(f->rows, k);
		}
}

static void end(struct failing_calls *f, uint64_t elapsed_ns)
{
	f->counted_ns = elapsed_ns - f->since_ns;
	failing_bpf__detach(f->skel);
	map_read_out(f->skel->maps.failing_counts, take, f);
	g_array_sort(f->rows, compare_rows);
	add_up(f);
	detach(f);
	enter(f, OVER, elapsed_ns);
}

void failing_calls_look(struct failing_calls *f, const GArray *pids, uint64_t elapsed_ns)
{
	const uint64_t apart_ns = elapsed_ns - f->since_ns;

	if (f->phase == COUNTING) {
		end(f, elapsed_ns);
		return;
	}
	g_autoptr(GHashTable) runs = pids->len <= FAILING_THREADS_MAX ? read_runs(pids, f->pids) : NULL;
	g_autoptr(GArray) tids = f->phase == SEEN && runs ? pausing_new(f, runs, apart_ns) : NULL;

	if (!runs || (tids && !tids->len)) {
		enter(f, OVER, elapsed_ns);
	} else if (!tids) {
		g_hash_table_unref(f->runs);
		f->runs = g_steal_pointer(&runs);
		enter(f, SEEN, elapsed_ns);
	} else if (attach(f, tids)) {
		enter(f, COUNTING, elapsed_ns);
	} else {
		detach(f);
		enter(f, OVER, elapsed_ns);
	}
}

static const char *call_name(uint16_t nr)
{
	return FIRST(x, table, x->nr == nr, x->name, "?");
}

void failing_calls_put(struct failing_calls *f, struct profile *p)
{
	uint32_t told = 0;

	if (f->phase == COUNTING)
		end(f, f->since_ns + COUNTED_NS);
	EACH_ROW(i, const struct row, r, f->rows) {
		struct limit_fails fails = {
			.cnt = r->cnt, .ns = f->counted_ns, .error = r->key.error, .name = r->key.name
		};

		g_strlcpy(fails.call, call_name(r->key.nr), sizeof(fails.call));
		g_autofree char *text = limit_fails_text(&fails);

		if (r->key.tid != told && r->cnt >= TRIES_MIN)
			profile_add_limit(p, LIMIT_FAILS, pid_of(f, r), r->key.tid, text);
		told = r->key.tid;
	}
}
