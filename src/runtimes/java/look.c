/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Virtual threads of Java as struct tasks. */
#include <string.h>

#include "base/hash.h"
#include "base/opener/opener.h"
#include "features/tasks/look_parts.h"
#include "runtimes/java/vthreads.h"

#define LAMBDA "$$Lambda"
#define PINNED "pinned to its carrier"

struct java_source {
	struct java_vthreads vthreads;
	GArray *seen;	/* struct java_vthread of the current look, with owned names */
	GHashTable *holders;	/* struct holder, by thread id */
};

/* A thread that holds a lock that others wait for. */
struct holder {
	uint64_t number, lock;
	char *kind;
};

static void holder_free(gpointer p)
{
	g_free(((struct holder *)p)->kind);
	g_free(p);
}

static bool refuse_with(GError **error, uint32_t pid, const char *why)
{
	g_set_error(error, CENSUS_ERROR, CENSUS_FAILED, "process %u is a JVM whose virtual threads cannot be seen: %s", pid, why);
	return false;
}

static bool is_readable(enum java_vthreads_state state, uint32_t pid, GError **error)
{
	if (state == JAVA_VTHREADS_MOVE)
		return refuse_with(error, pid, "its garbage collector (ZGC, Shenandoah) moves objects at any time");
	if (state == JAVA_VTHREADS_UNLISTED)
		return refuse_with(error, pid, "none of its executors has any, and others are in no list (-Djdk.trackAllThreads=false)");
	if (state == JAVA_VTHREADS_UNKNOWN)
		return refuse_with(error, pid, "it has just begun, or its version, or how it keeps its objects, is not known");
	return state == JAVA_VTHREADS_READABLE;
}

static bool is_java_ready(void *source, const GArray *lines, struct tasks *t, GError **error)
{
	struct java_vthreads *v = &((struct java_source *)source)->vthreads;

	return is_readable(java_vthreads_are_there(v), v->hotspot.pid, error);
}

static void *open_java(uint32_t pid, const GArray *lines, struct tasks *t, GError **error)
{
	struct java_source *s = g_new0(struct java_source, 1);
	g_autofree char *comm = NULL, *version = NULL;

	if (!is_readable(java_vthreads_open(&s->vthreads, "/proc", pid, lines), pid, error) ||
	    !(comm = opener_process_text("/proc", pid, "comm"))) {
		java_vthreads_close(&s->vthreads);
		g_free(s);
		return NULL;
	}
	version = g_strdup_printf("JDK %u", s->vthreads.hotspot.layout.major);
	t->program = tasks_string(t, g_strchomp(comm));
	t->version = tasks_string(t, version);
	s->seen = g_array_new(FALSE, FALSE, sizeof(struct java_vthread));
	s->holders = g_hash_table_new_full(hash_u64, g_int64_equal, NULL, holder_free);
	return s;
}

static void close_java(void *source)
{
	struct java_source *s = source;

	java_vthreads_close(&s->vthreads);
	g_array_unref(s->seen);
	g_hash_table_unref(s->holders);
	g_free(s);
}

static uint64_t count_java(void *source)
{
	const struct java_source *s = source;

	return s->vthreads.listed;
}

/* "ReentrantLock" for "java/util/concurrent/locks/ReentrantLock$NonfairSync". NULL for classes outside of the JDK. */
static char *kind_of_lock(const char *class)
{
	if (!class || !g_str_has_prefix(class, "java/util/concurrent/"))
		return NULL;
	if (g_str_has_suffix(class, "$ConditionObject"))
		return g_strdup("condition");
	class = strrchr(class, '/') + 1;
	return g_strndup(class, strcspn(class, "$"));
}

static char *lock_text(const struct java_vthread *t)
{
	return t->does == JAVA_BLOCKED ? g_strdup("monitor") : kind_of_lock(t->blocker_class) ?: g_strdup("lock");
}

static void on_vthread(void *ctx, const struct java_vthread *t)
{
	struct java_source *s = ctx;
	struct java_vthread own = *t;

	own.names = g_memdup2(t->names, t->frame_cnt * sizeof(*t->names));
	g_array_append_val(s->seen, own);
	if (t->holder && !t->is_stale && !g_hash_table_contains(s->holders, &t->holder)) {
		struct holder *h = g_new0(struct holder, 1);

		*h = (struct holder){ .number = t->holder, .lock = t->blocker, .kind = lock_text(t) };
		g_hash_table_insert(s->holders, &h->number, h);
	}
}

static const char *state_of(const struct java_vthread *t)
{
	return t->is_stale		  ? "changed while it was read"
	       : t->does == JAVA_RUNNABLE ? "runnable"
	       : t->does == JAVA_RUNS	  ? "running"
					  : "waiting";
}

/* "monitor (synchronized) of shop.Ledger" */
static char *monitor_of(const struct java_vthread *t)
{
	char *text = g_strconcat("monitor (synchronized)", t->blocker_class ? " of " : NULL, t->blocker_class, NULL);

	return g_strdelimit(text, "/", '.');
}

static char *wait_of(const struct java_vthread *t)
{
	g_autofree char *lock = kind_of_lock(t->blocker_class);

	switch (t->does) {
	case JAVA_PARKED:
	case JAVA_PARKED_FOR_A_TIME:
		return lock ? g_strdup_printf("parked for a %s", lock) : g_strdup(t->does == JAVA_PARKED ? "parked" : "parked for a time");
	case JAVA_BLOCKED: return monitor_of(t);
	case JAVA_WAITS: return g_strdup("Object.wait()");
	default: return NULL;
	}
}

/* What it waits for, or, if it keeps its carrier meanwhile, why. */
static char *reason_of(const struct java_vthread *t)
{
	switch (t->is_stale ? JAVA_PIN_NONE : t->pin) {
	case JAVA_PIN_MONITOR:
		return g_strconcat(PINNED, ": ",
				   t->does == JAVA_BLOCKED ? "waits for a monitor (synchronized)"
				   : t->does == JAVA_WAITS ? "in Object.wait()"
				   : t->pinned_by          ? "holds the monitor of "
							   : "holds a monitor",
				   t->does == JAVA_PARKED || t->does == JAVA_PARKED_FOR_A_TIME ? t->pinned_by : NULL,
				   NULL);
	case JAVA_PIN_NATIVE: return g_strconcat(PINNED, ": native frame of ", t->pinned_by, NULL);
	case JAVA_PIN_CLASS: return g_strconcat(PINNED, ": class initialiser ", t->pinned_by, NULL);
	case JAVA_PIN_UNKNOWN: return g_strdup(PINNED);
	default: return t->is_stale ? NULL : wait_of(t);
	}
}

/* Removes the number of a class generated for a lambda: "Shop$$Lambda.0x00007f30d0001000.run". */
static char *plain_name(const char *name)
{
	const char *lambda = strstr(name, LAMBDA), *end = lambda ? strrchr(lambda, '.') : NULL;

	return end ? g_strdup_printf("%.*s%s", (int)(lambda + strlen(LAMBDA) - name), name, end) : g_strdup(name);
}

/* JVM stubs appear between methods: "C2 Runtime complete_monitor_locking", "_complete_monitor_locking_Java". */
static bool is_method(const char *name)
{
	return strchr(name, '.') && !strchr(name, ' ');
}

static uint64_t key_of(const struct java_vthread *t, const char *state, const char *reason, const char *awaited_by)
{
	uint64_t key = hash_more(hash_pointer(state), reason ? g_str_hash(reason) : 0);

	key = hash_more(hash_more(key, awaited_by ? g_str_hash(awaited_by) : 0), t->end);
	for (unsigned i = 0; i < t->frame_cnt; i++)
		key = hash_more(key, hash_pointer(t->names[i]));
	return key * HASH_MIX;
}

static void fill_in(struct tasks *t, const struct java_vthread *of, struct task_row *row)
{
	struct task_frame *frames = g_new0(struct task_frame, MAX(of->frame_cnt, 1));

	for (unsigned i = 0; i < of->frame_cnt; i++) {
		g_autofree char *name = is_method(of->names[i]) ? plain_name(of->names[i]) : NULL;

		if (name)
			frames[row->frame_cnt++].name = tasks_string(t, name);
	}
	row->frames = frames;
	row->end = of->end;
}

static void add_thread(struct java_source *s, struct tasks *t, const struct java_vthread *of, double weight)
{
	const char *state = state_of(of);
	const struct holder *held = of->is_stale ? NULL : g_hash_table_lookup(s->holders, &of->number);
	/* if it waits for the lock again, it has released it */
	const bool is_held = held && held->lock != of->blocker && of->does != JAVA_BLOCKED;
	g_autofree char *reason = reason_of(of), *awaited = is_held ? g_strdup_printf("others, for the %s that it holds", held->kind) : NULL;
	bool is_new;
	struct task_row *row = tasks_row(t, key_of(of, state, reason, awaited), &is_new);

	t->stale += of->is_stale;
	if (!row)
		return;
	if (is_new) {
		fill_in(t, of, row);
		row->state = state;
		row->reason = tasks_string(t, reason);
		row->awaited_by = tasks_string(t, awaited);
	}
	tasks_seen(t, row, weight);
}

static bool look_java(void *source, struct tasks *t, uint64_t first, uint64_t stride)
{
	struct java_source *s = source;
	struct java_vthreads_census census;
	bool is_there;

	g_array_set_size(s->seen, 0);
	g_hash_table_remove_all(s->holders);
	is_there = java_vthreads_read(&s->vthreads, first, stride, on_vthread, s, &census);
	EACH_ROW(i, struct java_vthread, one, s->seen) {
		if (is_there)
			add_thread(s, t, one, (double)stride);
		g_free((gpointer)one->names);
	}
	t->unreadable += census.unreadable;
	t->is_cut |= census.is_cut || census.is_partial;
	return is_there;
}

_Static_assert(JAVA_VTHREADS_MAX == TASKS_MOST_JAVA, "reports tell it");

const struct task_source java_task_source = {
	.kind = TASKS_JAVA, .open = open_java, .is_ready = is_java_ready, .close = close_java,
	.count = count_java, .look = look_java,
};
