/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/plumbing.h"

#include <string.h>

#include "analyse/label.h"
#include "analyse/reason/match.h"
#include "analyse/strset.h"
#include "base/module.h"

/* What the tables say about a frame, looked up once per frame. */
struct frame_class {
	const char *leaf;	/* kernel: the name to show; NULL: plumbing */
	const char *syscall;	/* kernel: name of the system call whose function it is */
	const char *entry;	/* kernel: how the kernel was entered, if this tells */
	bool waking;		/* kernel: says nothing about who wakes */
	uint8_t level;		/* user: enum runtime_level */
	bool preempts;		/* kernel: takes the CPU from a runnable thread */
	bool named;
};

struct plumbing {
	unsigned ref_cnt;
	const struct profile *profile;
	struct strset *strings;
	struct matcher *matcher;
	struct frame_class *classes;
	const char **frame_text;	/* by frame, NULL: not computed yet */
	const char **kernel_leaf;	/* by node, NULL: not computed yet */
	const char **waking_leaf;	/* by node, NULL: not computed yet, "": none */
	const char **user_part;		/* by node, NULL: not computed yet, "": none */
	const char **entry;		/* by node: system call or other entry; NULL: not computed yet */
};

static const char *intern(struct plumbing *pl, const char *s)
{
	return strset_add(pl->strings, s);
}

static void classify_kernel(struct plumbing *pl, const char *name, struct frame_class *c)
{
	g_autofree char *call = plumbing_syscall_name(name);
	const char *shown;

	if (call)
		c->syscall = intern(pl, call);
	c->entry = plumbing_entry_rule(name);
	c->waking = plumbing_is_waking(name);
	c->preempts = plumbing_is_preemption(name);
	if (plumbing_kernel_rule(name, &shown)) {
		c->leaf = shown ? intern(pl, shown) : NULL;
	} else if (call) {
		/* used only if no inner frame gave a name */
		c->leaf = c->syscall;
	} else {
		g_autofree char *plain = plumbing_plain_name(name);
		c->leaf = intern(pl, plain);
	}
}

bool plumbing_is_runtime(const char *module)
{
	return plumbing_runtime_file(module_base_name(module));
}

/* By pattern of the rules: the runtime level of its block.  Free with g_free(). */
static uint8_t *level_of_patterns(const struct rule_set *rules)
{
	uint8_t *levels = g_new0(uint8_t, (gsize)rules->patterns->len + 1);

	EACH_POINTER(i, const struct rule, rule, rules->rules) {
		for (guint c = 0; rule->kind == RULE_RUNTIME && c < rule->conditions->len; c++) {
			const GArray *patterns = g_array_index(rule->conditions, struct rule_condition, c).patterns;

			for (guint k = 0; k < patterns->len; k++) {
				uint8_t *level = &levels[g_array_index(patterns, uint32_t, k)];

				*level = MAX(*level, rule->level);
			}
		}
	}
	return levels;
}

/* Where interpreters keep library code: suffix of its files, and a part of their paths. */
static const struct { const char *suffix, *place;
} library_places[] = {
	{ ".py", "/lib/python3" }, { ">", "<frozen " },           { ".rb", "/lib/ruby/" },
	{ ".rb", "/gems/" },       { ".php", "/usr/share/php/" }, { ".php", "/vendor/" },
	{ ".pm", "/perl5/" },      { ".pm", "/perl/5." },         { ".pm", "/perl-base/" },
	{ "(eval)", "" },	/* generated at run time: accessors and delegators of Perl and Ruby */
	{ "js", "/node_modules/" }, { "", "node:" },	/* .js, .cjs, .mjs */
};

bool plumbing_is_scripts_library(const struct frame *f)
{
	for (size_t i = 0; f->file && i < G_N_ELEMENTS(library_places); i++)
		if (g_str_has_suffix(f->file, library_places[i].suffix) && strstr(f->file, library_places[i].place))
			return true;
	return false;
}

/* A module loaded by Perl or Ruby, ".../perl-base/auto/IO/IO.so", ".../ruby/3.1.0/io/wait.so": called by the script. */
static bool is_scripts_module(const struct frame *f)
{
	if (!f->module || !g_str_has_suffix(f->module, ".so"))
		return false;
	return (strstr(f->module, "/perl") && strstr(f->module, "/auto/")) || strstr(f->module, "/ruby/") ||
	       strstr(f->module, "/gems/");
}

static uint8_t level_of_frame(struct plumbing *pl, uint32_t frame, const uint8_t *levels)
{
	const struct frame *f = profile_get_frame(pl->profile, frame);
	uint32_t cnt;
	const uint32_t *ids = matcher_frame(pl->matcher, frame, &cnt);
	uint8_t level = RUNTIME_NONE;

	for (uint32_t i = 0; i < cnt; i++)
		level = MAX(level, levels[ids[i]]);
	if (level == RUNTIME_NONE && (plumbing_is_scripts_library(f) || is_scripts_module(f)))
		level = RUNTIME_LIBRARY;
	/* inlined functions of the standard library are in the program's own file */
	if (level == RUNTIME_NONE && f->is_inline && f->name && plumbing_runtime_name(f->name))
		level = RUNTIME_LIBC;
	return level;
}

enum runtime_level plumbing_frame_level(const struct plumbing *pl, uint32_t frame)
{
	return (enum runtime_level)pl->classes[frame].level;
}

bool plumbing_frame_is_runtime(const struct plumbing *pl, uint32_t frame)
{
	return pl->classes[frame].level != RUNTIME_NONE;
}

struct matcher *plumbing_matcher(struct plumbing *pl)
{
	return pl->matcher;
}

struct plumbing *plumbing_new(const struct profile *p)
{
	return plumbing_new_with(p, rules_default());
}

struct plumbing *plumbing_new_with(const struct profile *p, const struct rule_set *rules)
{
	g_autofree uint8_t *levels = level_of_patterns(rules);
	struct plumbing *pl = g_new0(struct plumbing, 1);

	pl->ref_cnt = 1;
	pl->profile = p;
	pl->strings = strset_new();
	pl->matcher = matcher_new(rules, p);
	pl->classes = g_new0(struct frame_class, p->frames->len + 1);
	pl->frame_text = g_new0(const char *, p->frames->len + 1);
	pl->kernel_leaf = g_new0(const char *, p->nodes->len + 1);
	pl->waking_leaf = g_new0(const char *, p->nodes->len + 1);
	pl->user_part = g_new0(const char *, p->nodes->len + 1);
	pl->entry = g_new0(const char *, p->nodes->len + 1);
	EACH_ROW(i, const struct frame, f, p->frames) {
		pl->classes[i].named = f->name && !label_is_run(f);
		if (f->kind == FRAME_USER)
			pl->classes[i].level = level_of_frame(pl, i, levels);
		else if (f->kind == FRAME_KERNEL && f->name)
			classify_kernel(pl, f->name, &pl->classes[i]);
	}
	return pl;
}

void plumbing_look_at(struct plumbing *pl, const struct profile *p)
{
	pl->profile = p;
}

struct plumbing *plumbing_ref(struct plumbing *pl)
{
	pl->ref_cnt++;
	return pl;
}

void plumbing_free(struct plumbing *pl)
{
	if (!pl || --pl->ref_cnt)
		return;
	strset_free(pl->strings);
	matcher_free(pl->matcher);
	g_free(pl->classes);
	g_free(pl->frame_text);
	g_free(pl->kernel_leaf);
	g_free(pl->waking_leaf);
	g_free(pl->user_part);
	g_free(pl->entry);
	g_free(pl);
}

static const char *frame_text(struct plumbing *pl, uint32_t frame)
{
	if (!pl->frame_text[frame]) {
		g_autoptr(GString) s = g_string_new(NULL);

		label_append(s, profile_get_frame(pl->profile, frame));
		pl->frame_text[frame] = intern(pl, s->str);
	}
	return pl->frame_text[frame];
}

/* "pthread_cond_wait@@GLIBC_2.3.2" is the linker's spelling. */
static const char *runtime_text(struct plumbing *pl, uint32_t frame)
{
	const char *s = frame_text(pl, frame);
	const char *at = strchr(s, '@');

	if (!at || at == s)
		return s;
	g_autofree char *cut = g_strndup(s, (gsize)(at - s));
	return intern(pl, cut);
}

/* Frames of a stack from which the user part is chosen; -1: none. */
struct user_pick {
	int64_t caller;	/* innermost frame of the program, preferably named */
	int64_t api;	/* the runtime function that it called, or the outermost runtime function */
	int64_t library, entry;	/* innermost named frames of these levels */
	int64_t library_api;	/* the function that `library` called */
	int64_t other;	/* innermost frame without a file */
	bool is_outer;	/* unnamed functions lie between the caller and what it seems to call */
};

/* Without a frame of the program, chooses the most informative runtime frame. */
static void pick_runtime(struct user_pick *pick)
{
	if (pick->caller >= 0 || (pick->library < 0 && pick->entry < 0))
		return;
	pick->caller = pick->library >= 0 ? pick->library : pick->entry;
	pick->api = pick->library_api;
}

static bool is_of_one_file(const struct plumbing *pl, uint32_t x, uint32_t y)
{
	const char *module = profile_get_frame(pl->profile, x)->module;

	return module && g_strcmp0(module, profile_get_frame(pl->profile, y)->module) == 0;
}

/* Unnamed functions between runtime functions of the same file belong to the runtime. */
static bool is_within_runtime(const struct plumbing *pl, const struct user_pick *pick, uint32_t frame)
{
	return pick->caller >= 0 && pick->api >= 0 && is_of_one_file(pl, (uint32_t)pick->caller, frame) &&
	       is_of_one_file(pl, (uint32_t)pick->api, frame);
}

/* Start of a thread in musl's clone().  Its name alone is ambiguous. */
static bool is_thread_start(const struct plumbing *pl, uint32_t node)
{
	const struct stack_node *n = profile_get_node(pl->profile, node);
	const char *name = profile_get_frame(pl->profile, n->frame)->name, *caller;

	if (!name || strcmp(name, "start") != 0 || !n->parent)
		return false;
	caller = profile_get_frame(pl->profile, profile_get_node(pl->profile, n->parent)->frame)->name;
	return g_strcmp0(caller, "__clone") == 0;
}

static bool has_suffix(const char *name, const char *const *suffixes)
{
	for (size_t i = 0; name && suffixes[i]; i++)
		if (g_str_has_suffix(name, suffixes[i]))
			return true;
	return false;
}

/* A script's frame has its source as file and module. */
static bool is_of_script(const struct frame *f)
{
	return f->file && f->module && strcmp(f->file, f->module) == 0;
}

/*
 * For an extension in C, or a library below it: the innermost script function that called it, since the extension is
 * the script's library.  -1: not an extension, or no script called it.
 */
static int64_t script_of_extension(const struct plumbing *pl, uint32_t node)
{
	static const char *const extensions[] = { ".so", ".node", NULL };
	const struct frame *f = profile_get_frame(pl->profile, profile_get_node(pl->profile, node)->frame);

	if (!has_suffix(f->module, extensions) && !(f->module && strstr(f->module, ".so.")))	/* libzmq.so.5 */
		return -1;
	for (uint32_t n = profile_get_node(pl->profile, node)->parent; n;
	     n = profile_get_node(pl->profile, n)->parent) {
		uint32_t frame = profile_get_node(pl->profile, n)->frame;

		if (pl->classes[frame].named && pl->classes[frame].level == RUNTIME_NONE &&
		    is_of_script(profile_get_frame(pl->profile, frame)))
			return frame;
	}
	return -1;
}

static bool is_shared_library(const struct frame *f)
{
	const char *suffix = f->module ? strstr(f->module, ".so.") : NULL;

	return suffix && g_ascii_isdigit(suffix[4]);
}

/* A function in which a thread or the program begins. */
static bool is_begin(const struct plumbing *pl, uint32_t node)
{
	const struct profile *p = pl->profile;
	const uint32_t by = profile_get_node(p, node)->parent, caller = by ? profile_get_node(p, by)->frame : 0;
	const char *name = by ? profile_get_frame(p, caller)->name : NULL;

	return !by || pl->classes[caller].level == RUNTIME_LIBC || pl->classes[caller].level == RUNTIME_ENTRY ||
	       (name && g_str_has_prefix(name, "std::thread::_State_impl"));
}

/*
 * For a function of a shared library: the innermost function of the program itself that called it, and in *api the
 * library's function that it called.  What a thread begins in tells less than the library.  -1: none.
 */
static int64_t program_of_library(const struct plumbing *pl, uint32_t node, int64_t *api)
{
	uint32_t called = node;

	if (!is_shared_library(profile_get_frame(pl->profile, profile_get_node(pl->profile, node)->frame)))
		return -1;
	for (uint32_t n = node; n; n = profile_get_node(pl->profile, n)->parent) {
		uint32_t frame = profile_get_node(pl->profile, n)->frame;
		const struct frame *f = profile_get_frame(pl->profile, frame);

		if (f->kind == FRAME_CONTEXT)
			return -1;
		if (pl->classes[frame].named && is_shared_library(f))
			called = n;
		if (!pl->classes[frame].named || is_shared_library(f))
			continue;
		if (pl->classes[frame].level != RUNTIME_NONE || plumbing_runtime_name(f->name) || !f->module)
			continue;
		if (is_begin(pl, n))
			return -1;
		*api = profile_get_node(pl->profile, called)->frame;
		return frame;
	}
	return -1;
}

static bool is_of_language(const struct plumbing *pl, uint32_t frame)
{
	const char *name = profile_get_frame(pl->profile, frame)->name;

	return name && plumbing_runtime_name(name);
}

static struct user_pick pick_user(const struct plumbing *pl, uint32_t node)
{
	struct user_pick pick = { .caller = -1, .api = -1, .library = -1, .entry = -1, .library_api = -1, .other = -1 };
	bool inside = true;	/* still among the runtime frames above the first caller */

	for (uint32_t n = node; n; n = profile_get_node(pl->profile, n)->parent) {
		uint32_t frame = profile_get_node(pl->profile, n)->frame;
		const struct frame_class *c = &pl->classes[frame];

		/* outermost: the context of the request */
		if (profile_get_frame(pl->profile, frame)->kind == FRAME_CONTEXT)
			break;
		if (c->level != RUNTIME_NONE && is_within_runtime(pl, &pick, frame)) {
			pick.caller = -1;
			inside = true;
		}
		if (c->level != RUNTIME_NONE) {
			bool is_first = pick.library < 0 && pick.entry < 0;

			/* any other library tells more than that of the language */
			bool is_better = c->named && pick.library >= 0 && is_of_language(pl, (uint32_t)pick.library) &&
					 !is_of_language(pl, frame);

			if (c->named && c->level == RUNTIME_LIBRARY && (pick.library < 0 || is_better)) {
				pick.library = frame;
				is_first = is_first || is_better;
			}
			if (c->named && c->level == RUNTIME_ENTRY && pick.entry < 0)
				pick.entry = frame;
			if (is_first && (pick.library >= 0 || pick.entry >= 0))
				pick.library_api = pick.api;
			if (inside && c->level != RUNTIME_ENTRY && (c->named || pick.api < 0))
				pick.api = frame;
			continue;
		}
		if (!c->named && !profile_get_frame(pl->profile, frame)->module) {
			/* lost, or a wrong address from unwinding without tables */
			pick.other = pick.other < 0 ? frame : pick.other;
			continue;
		}
		if (is_thread_start(pl, n))
			continue;
		inside = false;
		if (c->named) {
			int64_t script = script_of_extension(pl, n);

			if (script >= 0) {
				pick.api = frame;
				pick.caller = script;
				return pick;
			}
			int64_t own = program_of_library(pl, n, &pick.api);

			pick.is_outer = pick.caller >= 0;
			pick.caller = own >= 0 ? own : frame;
			return pick;
		}
		if (pick.caller < 0)
			pick.caller = frame;
	}
	pick_runtime(&pick);
	return pick;
}

int64_t plumbing_user_parent(const struct plumbing *pl, uint32_t user_node)
{
	return pick_user(pl, user_node).caller;
}

bool plumbing_user_parent_is_outer(const struct plumbing *pl, uint32_t user_node)
{
	return pick_user(pl, user_node).is_outer;
}

static const char *user_part(struct plumbing *pl, uint32_t node)
{
	if (pl->user_part[node])
		return pl->user_part[node];
	struct user_pick pick = pick_user(pl, node);
	const char *part = "";

	if (pick.api >= 0 && pick.caller >= 0) {
		g_autofree char *both = g_strdup_printf("%s <- %s", runtime_text(pl, (uint32_t)pick.api),
							frame_text(pl, (uint32_t)pick.caller));
		part = intern(pl, both);
	} else if (pick.caller >= 0) {
		part = frame_text(pl, (uint32_t)pick.caller);
	} else if (pick.api >= 0) {
		part = runtime_text(pl, (uint32_t)pick.api);
	} else if (pick.other >= 0) {
		part = frame_text(pl, (uint32_t)pick.other);
	}
	return pl->user_part[node] = part;
}

/* The outermost frame that tells how the kernel was entered; a system call takes precedence. */
static const char *entry_of(struct plumbing *pl, uint32_t node)
{
	if (!pl->entry[node]) {
		const char *call = NULL, *entry = NULL;

		for (uint32_t n = node; n; n = profile_get_node(pl->profile, n)->parent) {
			const struct frame_class *c = &pl->classes[profile_get_node(pl->profile, n)->frame];

			call = c->syscall ? c->syscall : call;
			/* every kernel thread's stack begins like a new thread's */
			if (c->entry && !(entry && strcmp(c->entry, "new thread") == 0))
				entry = c->entry;
		}
		pl->entry[node] = call ? call : intern(pl, entry ? entry : "[unknown entry]");
	}
	return pl->entry[node];
}

static const char *kernel_leaf(struct plumbing *pl, uint32_t node)
{
	if (pl->kernel_leaf[node])
		return pl->kernel_leaf[node];
	const char *leaf = NULL;

	for (uint32_t n = node; n && !leaf; n = profile_get_node(pl->profile, n)->parent) {
		uint32_t frame = profile_get_node(pl->profile, n)->frame;

		leaf = pl->classes[frame].named ? pl->classes[frame].leaf : frame_text(pl, frame);
	}
	if (!leaf)
		leaf = entry_of(pl, node);
	return pl->kernel_leaf[node] = leaf;
}

/* Whether the thread lost the CPU while runnable: decided by the innermost frames, before any function that sleeps. */
static bool stands_preempted(const struct plumbing *pl, uint32_t node)
{
	for (uint32_t n = node; n; n = profile_get_node(pl->profile, n)->parent) {
		const struct frame_class *c = &pl->classes[profile_get_node(pl->profile, n)->frame];

		if (c->preempts)
			return true;
		if (!c->named || c->leaf)
			return false;
	}
	return false;
}

/*
 * A thread that was not switched out in the window is new, or was on a run queue at its start.  Why was not seen, but
 * the stack tells.
 */
static const char *runnable_leaf(struct plumbing *pl, const struct wait *w)
{
	const char *entry = w->kernel ? entry_of(pl, w->kernel) : "";

	if (strcmp(entry, "sched_yield") == 0)
		return intern(pl, "sched_yield");
	if (w->flags & WAIT_THROTTLED)
		return intern(pl, "throttled");
	if (w->preempted_ns || !w->runnable_ns || stands_preempted(pl, w->kernel))
		return intern(pl, "preempted");
	if (!(w->flags & WAIT_OPEN_AT_START) || strcmp(entry, "new thread") == 0)
		return intern(pl, "new thread");
	return intern(pl, "runnable");
}

/*
 * "native_queued_spin_lock_slowpath <- futex_q_lock": the spin lock has no name, but the function that takes it has.
 * Skips frames of a tracer.
 */
static const char *running_function(struct plumbing *pl, uint32_t node)
{
	const struct profile *p = pl->profile;
	const char *inner = frame_text(pl, profile_get_node(p, node)->frame), *taker;

	for (uint32_t n = profile_get_node(p, node)->parent; n && plumbing_is_tracer(inner);
	     n = profile_get_node(p, n)->parent)
		inner = frame_text(pl, profile_get_node(p, node = n)->frame);
	taker = inner;
	for (uint32_t n = node; n && lock_function_is(taker); n = profile_get_node(p, n)->parent)
		taker = frame_text(pl, profile_get_node(p, n)->frame);
	if (taker == inner)
		return inner;
	g_autofree char *both = g_strdup_printf("%s <- %s", inner, taker);

	return intern(pl, both);
}

/* For on-CPU time or samples: the innermost function, and the program's function that called the kernel or library. */
static const char *running_leaf(struct plumbing *pl, const struct wait *w)
{
	uint32_t node = w->kernel ? w->kernel : w->user;
	const char *inner = node ? running_function(pl, node) : "[no stack]";
	int64_t caller = w->user ? plumbing_user_parent(pl, w->user) : -1;
	const char *by = caller >= 0 ? frame_text(pl, (uint32_t)caller) : inner;
	const char *what = w->state == ON_CPU_STATE ? "on CPU: " : "";
	g_autofree char *both = strcmp(by, inner) == 0 ? g_strdup_printf("%s%s", what, inner) :
							 g_strdup_printf("%s%s (%s)", what, inner, by);

	return intern(pl, both);
}

const char *plumbing_leaf(struct plumbing *pl, const struct wait *w)
{
	const char *rows_are = pl->profile->info.rows_are;
	const struct rows_kind *kind = profile_rows_kind(rows_are);

	/* threads in a snapshot are mostly waiting */
	if (w->state == ON_CPU_STATE || (kind && kind->what && !profile_rows_are_counted(rows_are)))
		return running_leaf(pl, w);
	const char *user = w->user ? user_part(pl, w->user) : "";
	const char *kernel = NULL;

	if (w->state == 'R')
		kernel = runnable_leaf(pl, w);
	else if (w->kernel)
		kernel = kernel_leaf(pl, w->kernel);
	if (kernel && *user) {
		g_autofree char *both = g_strdup_printf("%s (%s)", kernel, user);
		return intern(pl, both);
	}
	if (!kernel && *user) {
		g_autofree char *alone = g_strdup_printf("(%s)", user);
		return intern(pl, alone);
	}
	return kernel ? kernel : intern(pl, "[no stack]");
}

/* The innermost frame of a waker that is not plumbing; "" if all are. */
static const char *waking_leaf(struct plumbing *pl, uint32_t node)
{
	if (pl->waking_leaf[node])
		return pl->waking_leaf[node];
	const char *leaf = NULL;

	for (uint32_t n = node; n && !leaf; n = profile_get_node(pl->profile, n)->parent) {
		uint32_t frame = profile_get_node(pl->profile, n)->frame;

		if (!pl->classes[frame].named)
			leaf = frame_text(pl, frame);
		else if (!pl->classes[frame].waking)
			leaf = pl->classes[frame].leaf;
	}
	return pl->waking_leaf[node] = leaf ? leaf : intern(pl, "");
}

const char *plumbing_waker(struct plumbing *pl, const struct waker *w)
{
	const char *user = w->user ? user_part(pl, w->user) : "", *kernel = w->kernel ? waking_leaf(pl, w->kernel) : "";

	if (!*user)
		return kernel;
	g_autofree char *both = *kernel ? g_strdup_printf("%s (%s)", kernel, user) : g_strdup_printf("(%s)", user);
	return intern(pl, both);
}

const char *plumbing_entry(struct plumbing *pl, uint32_t kernel)
{
	return kernel ? entry_of(pl, kernel) : NULL;
}

const char *plumbing_syscall(struct plumbing *pl, const struct wait *w)
{
	const struct thread *t = profile_thread(pl->profile, w->thread);

	if (t->flags & THREAD_KERNEL)
		return intern(pl, "kernel thread");
	return w->kernel ? entry_of(pl, w->kernel) : intern(pl, "[no kernel stack]");
}
