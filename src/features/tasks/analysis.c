/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/tasks/analysis.h"

#include <string.h>

#include "base/find.h"
#include "base/hash.h"
#include "base/order.h"

/* Goroutines with nothing to do: the wait's reason, and functions on the stack. All of a row must match. */
static const struct idle_rule {
	const char *reason;	/* NULL: any */
	const char *functions[2];	/* NULL: no further one */
	const char *why;
} go_rules[] = {
	{ "GC worker (idle)", { NULL }, "background work of the runtime" },
	{ "GC sweep wait", { NULL }, "background work of the runtime" },
	{ "GC scavenge wait", { NULL }, "background work of the runtime" },
	{ "force gc (idle)", { NULL }, "background work of the runtime" },
	{ "finalizer wait", { NULL }, "background work of the runtime" },
	{ "cleanup wait", { NULL }, "background work of the runtime" },
	{ "GOMAXPROCS updater (idle)", { NULL }, "background work of the runtime" },
	{ "timer goroutine (idle)", { NULL }, "background work of the runtime" },
	{ "trace reader (blocked)", { NULL }, "background work of the runtime" },
	{ "select (no cases)", { NULL }, "select without cases, for ever" },
	{ "IO wait", { "internal/poll.(*FD).Accept" }, "waits for connections" },
	{ "IO wait", { "net/http.(*conn).serve", "bufio.(*Reader).Peek" }, "connections without a request (net/http)" },
	{ "IO wait", { "net/http.(*conn).readRequest" }, "connections without a request (net/http)" },
	{ "IO wait",
	  { "net/http.(*connReader).backgroundRead" },
	  "connections whose request is being answered (net/http)" },
	{ "IO wait",
	  { "net/http.(*persistConn).readLoop", "bufio.(*Reader).Peek" },
	  "connections kept open (net/http client)" },
	{ "select", { "net/http.(*persistConn).writeLoop" }, "connections kept open (net/http client)" },
	{ "IO wait", { "net/http.(*http2serverConn).readFrames" }, "connections whose next frame is awaited (HTTP/2)" },
	{ "IO wait", { "golang.org/x/net/http2.(*serverConn).readFrames" }, "connections whose next frame is awaited (HTTP/2)" },
	{ "IO wait", { "net/http.(*http2clientConnReadLoop).run" }, "connections kept open (HTTP/2 client)" },
	{ "IO wait", { "golang.org/x/net/http2.(*clientConnReadLoop).run" }, "connections kept open (HTTP/2 client)" },
	{ "IO wait",
	  { "google.golang.org/grpc/internal/transport.(*http2Server).HandleStreams" },
	  "connections whose next frame is awaited (gRPC)" },
	{ "IO wait",
	  { "google.golang.org/grpc/internal/transport.(*http2Client).reader" },
	  "connections kept open (gRPC client)" },
	{ "select", { "database/sql.(*DB).connectionOpener" }, "background work of database/sql" },
	{ "select", { "database/sql.(*DB).connectionCleaner" }, "background work of database/sql" },
	{ "IO wait", { "github.com/fsnotify/fsnotify.(*Watcher).readEvents" }, "waits for changes of files (fsnotify)" },
	{ "IO wait", { "github.com/fsnotify/fsnotify.(*inotify).readEvents" }, "waits for changes of files (fsnotify)" },
	{ NULL, { "os/signal.loop" }, "waits for signals" },
};

/* Go's standard library, by the first part of package paths. */
static const char *const go_packages[] = {
	"archive",  "bufio",    "bytes",  "cmp",     "compress", "container", "context", "crypto",  "database", "debug",
	"embed",    "encoding", "errors", "expvar",  "flag",     "fmt",       "hash",    "html",    "image",    "index",
	"internal", "io",       "iter",   "log",     "maps",     "math",      "mime",    "net",     "os",       "path",
	"plugin",   "reflect",  "regexp", "runtime", "slices",   "sort",      "strconv", "strings", "structs",  "sync",
	"syscall",  "testing",  "text",   "time",    "unicode",  "unique",    "unsafe",  "vendor",  "weak",
};

static bool has_function(const struct task_row *row, const char *name)
{
	for (unsigned i = 0; i < row->frame_cnt; i++)
		if (row->frames[i].name && !strcmp(row->frames[i].name, name))
			return true;
	return false;
}

static bool rule_holds(const struct idle_rule *rule, const struct task_row *row)
{
	if (rule->reason && g_strcmp0(rule->reason, row->reason) != 0)
		return false;
	for (size_t i = 0; i < G_N_ELEMENTS(rule->functions); i++)
		if (rule->functions[i] && !has_function(row, rule->functions[i]))
			return false;
	return true;
}

/* Goroutines that the runtime started for itself: runtime.isSystemGoroutine(). */
static bool is_of_runtime(const struct task_row *row)
{
	unsigned cnt = row->frame_cnt;

	while (cnt && task_frame_is_label(&row->frames[cnt - 1]))
		cnt--;

	const char *outermost = cnt ? row->frames[cnt - 1].name : NULL;

	return outermost && row->creator.name && g_str_has_prefix(outermost, "runtime.") &&
	       g_str_has_prefix(row->creator.name, "runtime.") && strcmp(outermost, "runtime.main") != 0;
}

/* "/usr/lib/python3.11/asyncio/locks.py", and packages installed next to it. */
static bool is_python_library(const char *file)
{
	return file && (strstr(file, "/lib/python3") || strstr(file, "/site-packages/") ||
			strstr(file, "/dist-packages/") || g_str_has_prefix(file, "<frozen "));
}

/* Does a library function of asyncio, gevent, eventlet or Python accept connections or serve in the background? */
static bool is_python_server(enum tasks_kind kind, const struct task_row *row)
{
	unsigned cnt = kind == TASKS_ASYNCIO ? MIN(row->frame_cnt, 1) : row->frame_cnt;

	for (unsigned i = 0; i < cnt && (!row->frames[i].file || is_python_library(row->frames[i].file)); i++) {
		const char *name = row->frames[i].name ? row->frames[i].name : "", *method = strrchr(name, '.');

		method = method ? method + 1 : name;
		if (!strcmp(method, "serve_forever") || !strcmp(method, "accept"))
			return true;
	}
	return false;
}

const char *task_idle(enum tasks_kind kind, const struct task_row *row)
{
	/* in a system call of its own, while a signal is awaited */
	if (kind == TASKS_GO && has_function(row, "os/signal.signal_recv"))
		return "waits for signals";
	if (strcmp(row->state, "waiting") != 0)
		return NULL;
	/* it waits while its thread runs the pool's work, or waits for work */
	if (kind == TASKS_GREENLET && has_function(row, "_WorkerGreenlet._begin"))
		return "threads of gevent's pool";
	if (task_is_of_python(kind))
		return is_python_server(kind, row) ? "waits for connections" : NULL;
	if (kind == TASKS_JAVA)
		return task_java_idle(row);
	if (kind == TASKS_TOKIO)
		return NULL;
	for (size_t i = 0; i < G_N_ELEMENTS(go_rules); i++)
		if (rule_holds(&go_rules[i], row))
			return go_rules[i].why;
	return is_of_runtime(row) ? go_rules[0].why : NULL;
}

bool task_answers_request(const struct task_row *row)
{
	/* the first two: aiohttp, uvicorn */
	return has_function(row, "RequestHandler._handle_request") || has_function(row, "RequestResponseCycle.run_asgi") ||
	       task_java_answers_request(row) || has_function(row, "net/http.serverHandler.ServeHTTP") ||
	       has_function(row, "google.golang.org/grpc.(*Server).processUnaryRPC");
}

/* A handler that asks others reads their answers by the same type of body. */
bool task_reads_answer(const struct task_row *row)
{
	return has_function(row, "net/http.(*body).Read") && has_function(row, "net/http.(*persistConn).Read");
}

bool task_reads_request(const struct task_row *row)
{
	return has_function(row, "net/http.serverHandler.ServeHTTP") && has_function(row, "net/http.(*body).Read") &&
	       !task_reads_answer(row);
}

static bool is_go_library(const char *name)
{
	static const char *const beside[] = { "golang.org/x/sync/", "golang.org/x/time/", "golang.org/x/net/" };
	size_t len = strcspn(name, "/.");

	return ANY(x, beside, g_str_has_prefix(name, *x)) ||
	       ANY(x, go_packages, strlen(*x) == len && !strncmp(*x, name, len));
}

static bool is_library(enum tasks_kind kind, const struct task_frame *f)
{
	if (kind == TASKS_GO)
		return task_frame_is_label(f) || is_go_library(f->name);
	if (kind == TASKS_JAVA)
		return task_java_is_library(f->name);
	/* compiled functions have no file */
	return (kind == TASKS_GREENLET && !f->file) || (task_is_of_python(kind) && is_python_library(f->file));
}

/* Of a module that the program's own one needs: Go's cache of modules, copies (go mod vendor), Debian's packages of sources. */
static bool is_of_other_module(const char *file)
{
	static const char *const places[] = { "/pkg/mod/", "/vendor/", "/usr/share/gocode/", "@v" };

	return file && ANY(x, places, strstr(file, *x));
}

/* The innermost one of no library; NULL: there is none. */
static const struct task_frame *first_frame(enum tasks_kind kind, const struct task_row *row, bool of_any_module)
{
	for (unsigned i = 0; i < row->frame_cnt; i++) {
		const struct task_frame *f = &row->frames[i];

		if (f->name && !is_library(kind, f) &&
		    (of_any_module || kind != TASKS_GO || !is_of_other_module(f->file)))
			return f;
	}
	return NULL;
}

const struct task_frame *task_own_frame(enum tasks_kind kind, const struct task_row *row)
{
	return first_frame(kind, row, false) ?: first_frame(kind, row, true);
}

const char *task_noun(enum tasks_kind kind)
{
	static const char *const nouns[TASKS_KINDS] = { [TASKS_GO] = "goroutine", [TASKS_JAVA] = "virtual thread",
							[TASKS_GREENLET] = "greenlet" };

	return nouns[kind] ? nouns[kind] : "task";
}

bool task_is_pool_call(const char *call)
{
	return !strcmp(call, "net/http.(*Transport).getConn") || !strcmp(call, "database/sql.(*DB).conn");
}

bool task_go_awaits_connection(const struct task_row *row)
{
	static const char *const gets[] = { "Pool).Get", "Pool).GetContext", "Pool).Acquire", "Pool).waitTurn", "Pool).getConn" };

	if (strcmp(row->state, "waiting") != 0 || g_strcmp0(row->reason, "IO wait") == 0)
		return false;
	for (unsigned i = 0; i < row->frame_cnt; i++)
		if (row->frames[i].name && ANY(x, gets, g_str_has_suffix(row->frames[i].name, *x)))
			return true;
	return false;
}

/* The call that waits for a free connection of a pool, as opposed to a reply on one. */
static const char *pool_call(const struct task_row *row)
{
	unsigned i = 0;

	while (i < row->frame_cnt && row->frames[i].name && g_str_has_prefix(row->frames[i].name, "runtime."))
		i++;
	return i < row->frame_cnt && row->frames[i].name && task_is_pool_call(row->frames[i].name) ? row->frames[i].name
												  : NULL;
}

const char *task_call(enum tasks_kind kind, const struct task_row *row)
{
	/* of a system call the one that it is, and not what has led to it in another module */
	const bool is_innermost = strcmp(row->state, "syscall") == 0;
	const struct task_frame *own = is_innermost ? first_frame(kind, row, true) : task_own_frame(kind, row);
	const char *pool = kind == TASKS_GO && own ? pool_call(row) : NULL;

	if (kind == TASKS_JAVA && strcmp(row->state, "waiting") != 0)
		return NULL;	/* already past the pool */
	if (pool)
		return pool;
	if (!own || own == row->frames)
		return NULL;
	/* "with" and "async with" wait in the same function for everything */
	if (task_is_of_python(kind) && own - row->frames > 1 && own[-1].name && own[-2].name &&
	    (g_str_has_suffix(own[-1].name, "__aenter__") || g_str_has_suffix(own[-1].name, "__enter__")))
		own--;
	/* for functions generated from "select" and "<-" the reason says it */
	return task_is_of_python(kind) || !g_str_has_prefix(own[-1].name ? own[-1].name : "", "runtime.") ? own[-1].name
													: NULL;
}

const char *task_lock_function(const struct task_row *row)
{
	const char *found = NULL;

	if (strcmp(row->state, "waiting") != 0)
		return NULL;
	for (unsigned i = 0; i < row->frame_cnt && row->frames[i].name; i++) {
		const char *name = row->frames[i].name;

		if (g_str_has_prefix(name, "sync.") || g_str_has_prefix(name, "internal/sync."))
			found = name;
		else if (!g_str_has_prefix(name, "runtime."))
			break;
	}
	return found;
}

const char *task_reason_text(const char *state, const char *reason)
{
	if (reason)
		return reason;
	if (!strcmp(state, "syscall"))
		return "a system call";
	return !strcmp(state, "waiting") ? "a wait of unknown reason" : state;
}

static uint64_t key_of(const struct task_group *g)
{
	uint64_t key = hash_more(hash_pointer(g->state), g_str_hash(task_reason_text(g->state, g->reason)));

	if (g->at)
		key = hash_more(hash_more(key, hash_pointer(g->at->name)), g->at->line);
	return hash_more(hash_more(key, hash_pointer(g->creator)), g->call ? g_str_hash(g->call) : 0);
}

/* Adds to the group with this key, which is created if new. */
static void add_to_group(GArray *groups, GHashTable *index, const struct task_group *part, uint64_t key,
			 const struct task_row *row)
{
	guint at = GPOINTER_TO_UINT(g_hash_table_lookup(index, &key));
	struct task_group *g;

	if (!at) {
		g_array_append_val(groups, *part);
		at = groups->len;
		g_hash_table_insert(index, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(at));
	}
	g = &g_array_index(groups, struct task_group, at - 1);
	if (g->parent != row->parent)
		g->parent = 0;
	g->tasks += row->tasks;
	g->task_ns += row->task_ns;
	g->variance += (double)row->task_se_ns * (double)row->task_se_ns;
}

ORDER(by_tasks, struct task_group, ORDER_HIGH(tasks))

void task_groups_make(struct task_groups *g, const struct tasks *t)
{
	g_autoptr(GHashTable) groups = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);
	g_autoptr(GHashTable) reasons = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);
	g_autoptr(GHashTable) idle = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);

	*g = (struct task_groups){ 0 };
	g->groups = g_array_new(FALSE, TRUE, sizeof(struct task_group));
	g->reasons = g_array_new(FALSE, TRUE, sizeof(struct task_group));
	g->idle = g_array_new(FALSE, TRUE, sizeof(struct task_group));
	EACH_ROW(i, const struct task_row, row, t->rows) {
		const char *why = task_idle(t->kind, row);
		const char *call = task_call(t->kind, row);
		struct task_group part = { .state = row->state, .reason = row->reason, .parent = row->parent },
				  whole = part;

		whole.reason = call ? call : row->reason;
		add_to_group(g->reasons, reasons, &whole, key_of(&whole), row);
		if (why) {
			struct task_group nothing = { .state = row->state, .reason = why, .parent = row->parent };

			add_to_group(g->idle, idle, &nothing, g_str_hash(why), row);
			g->idle_tasks += row->tasks;
			g->idle_ns += row->task_ns;
			continue;
		}
		part.at = task_own_frame(t->kind, row);
		part.creator = row->creator.name;
		part.call = call;
		part.example = row;
		add_to_group(g->groups, groups, &part, key_of(&part), row);
	}
	g_array_sort(g->groups, by_tasks);
	g_array_sort(g->reasons, by_tasks);
	g_array_sort(g->idle, by_tasks);
}

void task_groups_clear(struct task_groups *g)
{
	g_array_unref(g->groups);
	g_array_unref(g->reasons);
	g_array_unref(g->idle);
}
