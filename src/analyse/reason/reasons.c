/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/reason/reasons.h"

#include <string.h>

#include "analyse/actors.h"
#include "analyse/label.h"
#include "analyse/locks.h"
#include "analyse/plumbing.h"
#include "analyse/reason/idle.h"
#include "analyse/reason/match.h"
#include "base/hash.h"
#include "features/wakers/analysis.h"
#include "profile/limits.h"

static const struct {
	const char *name, *text;
} idle_kinds[IDLE_KIND_COUNT] = {
	[IDLE_NOT] = { "no", "not idle" },
	[IDLE_KERNEL] = { "kernel", "kernel threads" },
	[IDLE_LOOP] = { "loop", "event loops with nothing due" },
	[IDLE_POOL] = { "pool", "workers without work" },
	[IDLE_CLIENT] = { "client", "connections without requests" },
	[IDLE_TIMER] = { "timer", "housekeeping" },
	[IDLE_JOIN] = { "join", "waits for own threads and children" },
	[IDLE_MACHINE] = { "machine", "daemons and shells" },
};

const char *idle_kind_name(enum idle_kind kind)
{
	return idle_kinds[(unsigned)kind < IDLE_KIND_COUNT ? kind : IDLE_NOT].name;
}

const char *idle_kind_text(enum idle_kind kind)
{
	return idle_kinds[(unsigned)kind < IDLE_KIND_COUNT ? kind : IDLE_NOT].text;
}

static const struct rule no_rule;

/* Rules about the user stack only, evaluated once per stack. */
struct frame_rules {
	GArray *rules; /* const struct rule *, in order */
	const struct rule **of_node; /* by user node; NULL: not evaluated yet, &no_rule: none matches */
};

enum ended { ENDED_UNKNOWN, ENDED_BY_TIMER, ENDED_BY_WAKING, ENDED_BY_EXIT, ENDED_BY_STOP, ENDED_BY_FUSE, ENDED_COUNT };

/* Results that depend only on stacks, objects and wakers, shared by sets of rows. */
struct reasons_base {
	unsigned ref_cnt;
	const struct profile *profile;
	const struct rule_set *rules;
	struct plumbing *plumbing;
	struct matcher *matcher; /* owned by the plumbing */
	GArray *reason_rules; /* const struct rule *, in order */
	struct frame_rules loops, pools, spins;
	const struct rule **protocol_of_pattern; /* NULL: of no protocol */
	const char **node_protocol; /* by user node; NULL: not computed yet, "": none */
	uint8_t *tells; /* by waker: enum ended, what its waking is part of; ENDED_UNKNOWN: unknown */
	GHashTable *known; /* struct verdict_key -> const struct rule * */
	bool asks_threads; /* some rule depends on names of threads */
};

struct reasons {
	const struct profile *profile;
	struct reasons_base *base;
	const struct rule **rule, **loop; /* of each wait */
	const char **protocol; /* of each wait; NULL: none */
	uint8_t *reason, *idle; /* of each wait */
	uint8_t *ended; /* of each wait: enum ended */
	bool *kept; /* of each wait */
};

/* Waits with equal keys have the same verdict. */
struct verdict_key {
	const char *comm, *process; /* interned in the profile */
	uint32_t user, kernel, object;
	uint32_t state; /* and whether it is a kernel thread, waits for a socket of its own, and what ended it */
};

HASH_BYTES(key, struct verdict_key)

/* Registers its words; a word shared by two protocols belongs to the first. */
static void add_protocol(struct reasons_base *r, const struct rule *rule)
{
	for (guint c = 0; c < rule->conditions->len; c++) {
		const GArray *patterns = g_array_index(rule->conditions, struct rule_condition, c).patterns;

		for (guint i = 0; i < patterns->len; i++) {
			const struct rule **at = &r->protocol_of_pattern[g_array_index(patterns, uint32_t, i)];

			*at = *at ? *at : rule;
		}
	}
}

static void sort_rules(struct reasons_base *r)
{
	GArray **const lists[RULE_KIND_COUNT] = {
		[RULE_REASON] = &r->reason_rules,
		[RULE_LOOP] = &r->loops.rules,
		[RULE_POOL] = &r->pools.rules,
		[RULE_SPIN] = &r->spins.rules,
	};

	for (unsigned i = 0; i < RULE_KIND_COUNT; i++)
		if (lists[i])
			*lists[i] = g_array_new(FALSE, FALSE, sizeof(struct rule *));
	r->protocol_of_pattern = g_new0(const struct rule *, (gsize)r->rules->patterns->len + 1);
	EACH_POINTER(i, const struct rule, rule, r->rules->rules) {
		if (lists[rule->kind])
			g_array_append_val(*lists[rule->kind], rule);
		else if (rule->kind == RULE_PROTOCOL)
			add_protocol(r, rule);
		for (guint c = 0; c < rule->conditions->len; c++) {
			uint8_t field = g_array_index(rule->conditions, struct rule_condition, c).field;

			r->asks_threads = r->asks_threads || field == RULE_THREAD || field == RULE_PROCESS;
		}
	}
}

static bool has_any(const GArray *patterns, const uint32_t *ids, uint32_t cnt)
{
	for (guint i = 0; i < patterns->len; i++) {
		for (uint32_t k = 0; k < cnt; k++) {
			if (g_array_index(patterns, uint32_t, i) == ids[k])
				return true;
		}
	}
	return false;
}

/* A callback may run its loop again, as a dialog does: waiting for events there holds nothing up. */
static bool keeps_order(const struct reasons_base *r, const struct rule *rule, uint32_t user)
{
	const struct rule_condition *callback = &g_array_index(rule->conditions, struct rule_condition, 0);
	const struct rule_condition *before = callback, *end = callback + rule->conditions->len;

	while (before < end && !before->is_before)
		before++;
	if (before == end)
		return true;
	while (callback < end && (callback->field != RULE_USER || callback->is_not || callback->is_before))
		callback++;
	for (uint32_t n = callback == end ? 0 : user; n; n = profile_get_node(r->profile, n)->parent) {
		uint32_t cnt;
		const uint32_t *ids = matcher_frame(r->matcher, profile_get_node(r->profile, n)->frame, &cnt);

		if (has_any(before->patterns, ids, cnt))
			return false;
		if (has_any(callback->patterns, ids, cnt))
			return true;
	}
	return false;
}

/*
 * A library's loop polls by itself if no other file is between the call and the loop: libevent without epoll (tmux),
 * by unnamed functions.  If the library is linked into the program, this says nothing.
 */
static bool is_loops_own_poll(const struct reasons_base *r, const struct rule *rule, uint32_t user)
{
	static const char *const polls[] = { "poll", "ppoll", "__poll", "select", "__select", "pselect", NULL };
	const struct rule_condition *callback = &g_array_index(rule->conditions, struct rule_condition, 0);
	const char *library = NULL;

	for (uint32_t n = user; n; n = profile_get_node(r->profile, n)->parent) {
		uint32_t id = profile_get_node(r->profile, n)->frame, cnt;
		const struct frame *f = profile_get_frame(r->profile, id);

		if (n == user) {
			if (!f->name || !g_strv_contains(polls, f->name))
				return false;
			continue;
		}
		library = library ?: f->module;
		if (!library || f->module != library || !strstr(library, ".so"))
			return false;
		const uint32_t *ids = matcher_frame(r->matcher, id, &cnt);
		if (has_any(callback->patterns, ids, cnt))
			return true;
	}
	return false;
}

/* The patterns of the stack `user` must be marked. */
static const struct rule *first_that_agrees(const struct reasons_base *r, const GArray *rules, uint32_t user)
{
	for (guint i = 0; i < rules->len; i++) {
		const struct rule *rule = g_array_index(rules, const struct rule *, i);

		if (matcher_agrees(r->matcher, rule) && keeps_order(r, rule, user))
			return rule;
	}
	return NULL;
}

/* Both ends belong to one process. */
static bool is_own_socket(const struct profile *p, const struct wait *w)
{
	const struct object *o = profile_wait_object(p, w);

	return o && o->kind == OBJECT_SOCKET && o->pid && o->pid == profile_thread(p, w->thread)->pid;
}

static void mark_object(const struct reasons_base *r, const struct wait *w, const struct object *o)
{
	struct matcher *m = r->matcher;

	if (!o)
		return;
	matcher_mark_text(m, RULE_OBJECT, object_kind_text(o->kind));
	if (is_own_socket(r->profile, w))
		matcher_mark_text(m, RULE_OBJECT, "own");
	matcher_mark_text(m, RULE_NAME, o->name);
	matcher_mark_text(m, RULE_PATH, o->place);
	matcher_mark_text(m, RULE_OPERATION, o->operation);
}

static bool knows_stack(const struct profile *p, uint32_t node)
{
	for (uint32_t n = node; n; n = profile_get_node(p, n)->parent) {
		const struct frame *f = profile_get_frame(p, profile_get_node(p, n)->frame);

		if (f->name && !object_is_frame(f))
			return true;
	}
	return false;
}

/*
 * Without a kernel stack (lost, or not asked for) the function of libc, or of Go's runtime, that the thread sleeps in
 * tells which call it is in. Functions that wait for more than one kind of thing, as read(), tell nothing.
 */
static void mark_call_of_libc(const struct reasons_base *r, const struct wait *w)
{
	static const struct { const char *function, *call;
	} other_names[] = {
		{ "recv", "recvfrom" },
		{ "send", "sendto" },
		{ "fstatat", "newfstatat" },
		{ "open64", "openat" },
		{ "futex_abstimed_wait_common", "futex" },
		{ "futex_abstimed_wait_cancelable64", "futex" },
		{ "lll_lock_wait", "futex" },
		{ "lll_lock_wait_private", "futex" },
		{ "pread", "pread64" },
		{ "pwrite", "pwrite64" },
		{ "waitpid", "wait4" },
		{ "runtime.epollwait", "epoll_pwait" },
		{ "runtime.futex", "futex" },
	};
	const struct frame *f = profile_get_frame(r->profile, profile_get_node(r->profile, w->user)->frame);
	g_autofree char *name = matcher_plain_name(f);

	if (!name || !f->module || !(plumbing_is_runtime(f->module) || g_str_has_prefix(name, "runtime.")))
		return;
	const char *call = g_str_has_prefix(name, "__GI_") ? name + strlen("__GI_") : name;

	call += strspn(call, "_");
	for (size_t i = 0; i < G_N_ELEMENTS(other_names); i++)
		if (strcmp(call, other_names[i].function) == 0)
			call = other_names[i].call;
	matcher_mark_text(r->matcher, RULE_SYSCALL, call);
}

/* A process reports its exit, stop or continuation to its parent, or what was read of its file system to the kernel. */
static uint8_t *tells_new(const struct profile *p)
{
	static const char *const exits[] = { "do_notify_parent", NULL };
	static const char *const stops[] = { "do_notify_parent_cldstop", "ptrace_stop", NULL };
	static const char *const serves[] = { "fuse_dev_do_write", "fuse_dev_write", "fuse_dev_splice_write", "fuse_uring_commit", NULL };
	uint8_t *tells = g_new0(uint8_t, (gsize)p->wakers->len + 1);

	EACH_ROW(i, const struct waker, w, p->wakers) {
		/* names are prefixes, so longer ones come first */
		if (w->kernel && profile_stack_names(p, w->kernel, stops))
			tells[i] = ENDED_BY_STOP;
		else if (w->kernel && profile_stack_names(p, w->kernel, exits))
			tells[i] = ENDED_BY_EXIT;
		else if (w->kernel && profile_stack_names(p, w->kernel, serves))
			tells[i] = ENDED_BY_FUSE;
	}
	return tells;
}

typedef uint64_t ended_sums[ENDED_COUNT];

static enum ended most_of(const ended_sums ns)
{
	uint64_t all_ns = 0;

	for (int k = 0; k < ENDED_COUNT; k++)
		all_ns += ns[k];
	for (int k = 0; k < ENDED_COUNT; k++)
		if (ns[k] > all_ns / 2)
			return (enum ended)k;
	return all_ns ? ENDED_BY_WAKING : ENDED_UNKNOWN;
}

/* What ended most of each row's blocked time; a sleep that is open at the end counts like earlier ones. */
static uint8_t *ended_new(const struct profile *p, const uint8_t *tells)
{
	uint8_t *ended = g_new0(uint8_t, (gsize)p->waits->len + 1);
	g_autofree ended_sums *ns = g_malloc0_n((gsize)p->waits->len + 1, sizeof(*ns));
	g_autofree ended_sums *of_place = g_malloc0_n((gsize)p->nodes->len + 1, sizeof(*of_place));

	EACH_ROW(i, const struct wake, wake, p->wakes) {
		const struct waker *w = profile_get_waker(p, wake->waker);
		enum ended by = waker_is_timer(w)    ? ENDED_BY_TIMER
				: tells[wake->waker] ? (enum ended)tells[wake->waker]
						     : ENDED_BY_WAKING;

		ns[wake->wait][by] += wake->blocked_ns;
		of_place[profile_wait(p, wake->wait)->user][by] += wake->blocked_ns;
	}
	EACH_ROW(i, const struct wait, w, p->waits) {
		const enum ended earlier = most_of(of_place[w->user]);

		ended[i] = (uint8_t)most_of(ns[i]);
		if (ended[i] == ENDED_UNKNOWN && w->user && w->flags & WAIT_OPEN_AT_END &&
		    (earlier == ENDED_BY_TIMER || earlier == ENDED_BY_WAKING))
			ended[i] = earlier;
	}
	return ended;
}

/* Marks words for a rule's `ended`; exits and stops are wakings too. */
static void mark_ended(struct matcher *matcher, enum ended ended)
{
	static const char *const words[ENDED_COUNT] = {
		[ENDED_BY_TIMER] = "timer", [ENDED_BY_EXIT] = "exit", [ENDED_BY_STOP] = "stop",
		[ENDED_BY_FUSE] = "fuse",
	};

	if (words[ended])
		matcher_mark_text(matcher, RULE_ENDED, words[ended]);
	if (ended != ENDED_UNKNOWN && ended != ENDED_BY_TIMER)
		matcher_mark_text(matcher, RULE_ENDED, "waking");
}

/* "time_sleep", "java.lang.Thread.sleep0", "std::this_thread::sleep_for" */
static bool is_sleep(const char *name)
{
	static const char *const whole[] = { "sleep_for", "sleep_until", "sleep_ms" };
	size_t len = actors_kind_bytes(name);

	for (size_t i = 0; i < G_N_ELEMENTS(whole); i++)
		if (g_str_has_suffix(name, whole[i]))
			return true;
	return len >= strlen("sleep") && g_ascii_strncasecmp(name + len - strlen("sleep"), "sleep", strlen("sleep")) == 0;
}

/*
 * A function far out on the stack may have called something else: only its callee tells, so that is marked separately.
 */
static void mark_caller(const struct reasons_base *r, const struct wait *w)
{
	for (uint32_t n = w->user; n; n = profile_get_node(r->profile, n)->parent) {
		uint32_t id = profile_get_node(r->profile, n)->frame;
		const struct frame *f = profile_get_frame(r->profile, id);
		enum runtime_level level = plumbing_frame_level(r->plumbing, id);

		if (!f->name || label_is_run(f) || level == RUNTIME_LIBC || level == RUNTIME_ENTRY)
			continue;
		g_autofree char *name = matcher_plain_name(f);
		if (is_sleep(name))
			continue;
		matcher_mark_text(r->matcher, RULE_CALLER, name);
		return;
	}
}

/* No function of the program: a thread that a library started for itself. */
static bool is_all_library(const struct reasons_base *r, uint32_t user)
{
	uint32_t n = user;

	while (n && plumbing_frame_is_runtime(r->plumbing, profile_get_node(r->profile, n)->frame))
		n = profile_get_node(r->profile, n)->parent;
	return user && !n;
}

static const struct rule *ask_rules(struct reasons_base *r, const struct profile *p, const struct wait *w,
				    enum ended ended)
{
	const struct thread *t = profile_thread(p, w->thread);
	const char state[] = { (char)w->state, 0 };

	matcher_begin(r->matcher);
	matcher_mark_path(r->matcher, w->kernel);
	matcher_mark_path(r->matcher, w->user);
	mark_caller(r, w);
	matcher_mark_text(r->matcher, RULE_SYSCALL, plumbing_syscall(r->plumbing, w));
	if (w->user && !knows_stack(r->profile, w->kernel))
		mark_call_of_libc(r, w);
	matcher_mark_text(r->matcher, RULE_STATE, state);
	matcher_mark_text(r->matcher, RULE_TASK, t->flags & THREAD_KERNEL ? "kernel" : "user");
	if (is_all_library(r, w->user))
		matcher_mark_text(r->matcher, RULE_TASK, "library");
	mark_ended(r->matcher, ended);
	mark_object(r, w, profile_wait_object(p, w));
	if (r->asks_threads) {
		matcher_mark_text(r->matcher, RULE_THREAD, t->comm);
		matcher_mark_text(r->matcher, RULE_PROCESS, t->process);
	}
	return first_that_agrees(r, r->reason_rules, w->user);
}

static const struct rule *find_by_frames(struct reasons_base *r, struct frame_rules *rules, uint32_t user)
{
	const struct rule **at = &rules->of_node[user];

	if (!user || !rules->rules->len)
		return NULL;
	if (!*at) {
		matcher_begin(r->matcher);
		matcher_mark_path(r->matcher, user);
		*at = first_that_agrees(r, rules->rules, user) ?: &no_rule;
		if (rules == &r->loops && *at != &no_rule && is_loops_own_poll(r, *at, user))
			*at = &no_rule;
	}
	return *at == &no_rule ? NULL : *at;
}

/* The library called by the program: the outermost known one below the program's own functions. */
static const char *protocol_of(struct reasons_base *r, uint32_t user)
{
	const char *found = "";

	if (!user || r->node_protocol[user])
		return user ? r->node_protocol[user] : "";
	for (uint32_t n = user; n; n = profile_get_node(r->profile, n)->parent) {
		uint32_t frame = profile_get_node(r->profile, n)->frame;

		uint32_t cnt;
		const uint32_t *ids = matcher_frame(r->matcher, frame, &cnt);
		const struct rule *rule = NULL;

		for (uint32_t i = 0; i < cnt && !rule; i++)
			rule = r->protocol_of_pattern[ids[i]];
		if (rule)
			found = rule->name;
		else if (!plumbing_frame_is_runtime(r->plumbing, frame))
			break;
	}
	return r->node_protocol[user] = found;
}

enum reason reasons_by_rule(const struct reasons *r, uint32_t wait)
{
	const struct wait *w = profile_wait(r->profile, wait);

	if (w->state == 'R' && (w->flags & WAIT_THROTTLED))
		return REASON_CPU_THROTTLED;
	return r->rule[wait] ? (enum reason)r->rule[wait]->reason : REASON_OTHER;
}

static void find_reasons(struct reasons *r)
{
	const struct profile *p = r->profile;
	struct reasons_base *base = r->base;

	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct thread *t = profile_thread(p, w->thread);
		struct verdict_key key = {
			.comm = base->asks_threads ? t->comm : NULL,
			.process = base->asks_threads ? t->process : NULL,
			.user = w->user,
			.kernel = w->kernel,
			.object = w->object,
			.state = w->state | (t->flags & THREAD_KERNEL ? 256U : 0) | (is_own_socket(p, w) ? 512U : 0) |
				 (uint32_t)r->ended[i] << 16,
		};
		gpointer rule;

		r->loop[i] = find_by_frames(base, &base->loops, w->user);
		if (w->state == ON_CPU_STATE) {
			r->reason[i] = REASON_ON_CPU;
			r->protocol[i] = "";
			continue;
		}
		if (!g_hash_table_lookup_extended(base->known, &key, NULL, &rule)) {
			rule = (gpointer)ask_rules(base, p, w, (enum ended)r->ended[i]);
			g_hash_table_insert(base->known, g_memdup2(&key, sizeof(key)), rule);
		}
		r->rule[i] = rule;
		r->reason[i] = (uint8_t)reasons_by_rule(r, i);
		r->protocol[i] = rule && r->rule[i]->protocol ? r->rule[i]->protocol : protocol_of(base, w->user);
	}
}

static const struct rule *loop_named(const struct reasons_base *base, const char *name)
{
	for (guint i = 0; i < base->loops.rules->len; i++)
		if (strcmp(g_array_index(base->loops.rules, const struct rule *, i)->name, name) == 0)
			return g_array_index(base->loops.rules, const struct rule *, i);
	return NULL;
}

/* Without -threaded one thread runs all Haskell threads: whatever it waits for beside events holds these up. */
static void find_haskell_loops(struct reasons *r)
{
	const struct profile *p = r->profile;
	const struct rule *loop = loop_named(r->base, "GHC");
	g_autofree bool *runs_all = g_new0(bool, (gsize)p->threads->len + 1);

	EACH_ROW(i, const struct wait, w, p->waits)
		runs_all[w->thread] |= r->rule[i] && strcmp(r->rule[i]->name, "ghc-events") == 0;
	EACH_ROW(i, const struct wait, w, p->waits)
		if (runs_all[w->thread] && w->blocked_ns && w->user && strcmp(r->rule[i] ? r->rule[i]->name : "", "ghc-events") != 0)
			r->loop[i] = loop;
}

/*
 * Which child a wait is for is known when it ends; a wait cut off by the window's end may not know. A shell that
 * mostly waited for sleeps probably did so then, too, unless it took longer.
 */
static bool is_cut_off(const struct profile *p, const struct wait *w)
{
	const struct object *o = profile_wait_object(p, w);

	return o && o->kind == OBJECT_CHILD && !o->pid && w->flags & (WAIT_OPEN_AT_START | WAIT_OPEN_AT_END);
}

static void find_cut_off_sleeps(struct reasons *r)
{
	const struct profile *p = r->profile;
	struct shell {
		const struct rule *rule;
		uint64_t sleeps_ns, longest_ns, others_ns;
	};
	g_autofree struct shell *shells = g_new0(struct shell, (gsize)p->threads->len + 1);
	bool is_any = false;

	EACH_ROW(i, const struct wait, w, p->waits) {
		struct shell *s = &shells[w->thread];

		if (rule_is_shell_sleep(r->rule[i])) {
			is_any = true;
			s->rule = r->rule[i];
			s->sleeps_ns += w->blocked_ns;
			s->longest_ns = MAX(s->longest_ns, w->max_ns);
		} else if (!is_cut_off(p, w)) {
			s->others_ns += w->blocked_ns;
		}
	}
	for (uint32_t i = 0; is_any && i < p->waits->len; i++) {
		const struct wait *w = profile_wait(p, i);
		const struct shell *s = &shells[w->thread];

		if (r->reason[i] != REASON_CHILD_EXIT || !is_cut_off(p, w) || s->sleeps_ns <= s->others_ns ||
		    w->max_ns > s->longest_ns)
			continue;
		r->rule[i] = s->rule;
		r->reason[i] = (uint8_t)s->rule->reason;
	}
}

static bool is_lost(const struct profile *p, const struct wait *w)
{
	return w->state == 'S' && w->user && w->kernel && !knows_stack(p, w->kernel);
}

static uint64_t place_of(const struct wait *w)
{
	return (uint64_t)w->thread << 32 | w->user;
}

/*
 * A sleep without a kernel stack has the reason of the thread's longest waits at that place, which say more than
 * libc's functions.
 */
static void find_lost(struct reasons *r)
{
	const struct profile *p = r->profile;
	g_autoptr(GHashTable) places = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL); /* index + 1 of another wait; 0: none */

	EACH_ROW(i, const struct wait, w, p->waits) {
		const uint64_t place = place_of(w);

		if (is_lost(p, w))
			g_hash_table_insert(places, g_memdup2(&place, sizeof(place)), NULL);
	}
	for (uint32_t i = 0; g_hash_table_size(places) && i < p->waits->len; i++) {
		const struct wait *w = profile_wait(p, i);
		const uint64_t place = place_of(w);
		gpointer at;

		if (w->state != 'S' || is_lost(p, w) || !g_hash_table_lookup_extended(places, &place, NULL, &at) ||
		    (at && profile_wait(p, GPOINTER_TO_UINT(at) - 1)->blocked_ns >= w->blocked_ns))
			continue;
		g_hash_table_insert(places, g_memdup2(&place, sizeof(place)), GUINT_TO_POINTER(i + 1));
	}
	for (uint32_t i = 0; g_hash_table_size(places) && i < p->waits->len; i++) {
		const struct wait *w = profile_wait(p, i);
		const uint64_t place = place_of(w);
		uint32_t as = is_lost(p, w) ? GPOINTER_TO_UINT(g_hash_table_lookup(places, &place)) : 0;

		if (!as)
			continue;
		r->rule[i] = r->rule[as - 1];
		r->protocol[i] = r->protocol[as - 1];
		r->reason[i] = r->reason[as - 1];
		r->idle[i] = r->idle[as - 1];
	}
}

struct reasons_base *reasons_base_new(const struct profile *p, const struct rule_set *rules)
{
	struct reasons_base *b = g_new0(struct reasons_base, 1);

	b->ref_cnt = 1;
	b->profile = p;
	b->rules = rules ? rules : rules_default();
	b->plumbing = plumbing_new_with(p, b->rules);
	b->matcher = plumbing_matcher(b->plumbing);
	b->loops.of_node = g_new0(const struct rule *, (gsize)p->nodes->len + 1);
	b->pools.of_node = g_new0(const struct rule *, (gsize)p->nodes->len + 1);
	b->spins.of_node = g_new0(const struct rule *, (gsize)p->nodes->len + 1);
	b->node_protocol = g_new0(const char *, (gsize)p->nodes->len + 1);
	b->tells = tells_new(p);
	b->known = g_hash_table_new_full(key_hash, key_equal, g_free, NULL);
	sort_rules(b);
	return b;
}

void reasons_base_free(struct reasons_base *b)
{
	if (!b || --b->ref_cnt)
		return;
	g_array_unref(b->reason_rules);
	g_array_unref(b->loops.rules);
	g_array_unref(b->pools.rules);
	g_array_unref(b->spins.rules);
	g_free(b->protocol_of_pattern);
	plumbing_free(b->plumbing);
	g_free(b->loops.of_node);
	g_free(b->pools.of_node);
	g_free(b->spins.of_node);
	g_free(b->node_protocol);
	g_free(b->tells);
	g_hash_table_unref(b->known);
	g_free(b);
}

struct reasons *reasons_new_on(struct reasons_base *base, const struct profile *p)
{
	struct reasons *r = g_new0(struct reasons, 1);

	base->ref_cnt++;
	plumbing_look_at(base->plumbing, p);
	r->profile = p;
	r->base = base;
	r->rule = g_new0(const struct rule *, (gsize)p->waits->len + 1);
	r->loop = g_new0(const struct rule *, (gsize)p->waits->len + 1);
	r->protocol = g_new0(const char *, (gsize)p->waits->len + 1);
	r->reason = g_new0(uint8_t, (gsize)p->waits->len + 1);
	r->idle = g_new0(uint8_t, (gsize)p->waits->len + 1);
	r->kept = g_new0(bool, (gsize)p->waits->len + 1);
	r->ended = ended_new(p, base->tells);
	if (p->info.rows_are) {	/* rules are about threads' waits */
		for (uint32_t i = 0; i < p->waits->len; i++)
			r->protocol[i] = "";
		return r;
	}
	find_reasons(r);
	find_haskell_loops(r);
	find_cut_off_sleeps(r);
	idle_find(p, base->plumbing, r->rule, r->loop, r->reason, r->idle, r->kept);
	for (uint32_t i = 0; i < p->waits->len; i++)	/* work that a pool's thread does is nobody's housekeeping */
		if (r->idle[i] == IDLE_TIMER && reasons_pool(r, i))
			r->idle[i] = IDLE_NOT;
	find_lost(r);
	return r;
}

struct reasons *reasons_new(const struct profile *p, const struct rule_set *rules)
{
	struct reasons_base *base = reasons_base_new(p, rules);
	struct reasons *r = reasons_new_on(base, p);

	reasons_base_free(base);
	return r;
}

FREES(reasons_free, struct reasons, r, reasons_base_free(r->base); g_free(r->rule); g_free(r->loop);
      g_free(r->protocol); g_free(r->reason); g_free(r->ended); g_free(r->idle);
      g_free(r->kept))

enum reason reasons_of(const struct reasons *r, uint32_t wait)
{
	return (enum reason)r->reason[wait];
}

const struct rule *reasons_rule(const struct reasons *r, uint32_t wait)
{
	return r->rule[wait];
}

const struct rule *reasons_loop(const struct reasons *r, uint32_t wait)
{
	return r->loop[wait];
}

const struct rule *reasons_pool(struct reasons *r, uint32_t wait)
{
	return find_by_frames(r->base, &r->base->pools, profile_wait(r->profile, wait)->user);
}

const struct rule *reasons_spin(const struct reasons *r, uint32_t wait)
{
	return find_by_frames(r->base, &r->base->spins, profile_wait(r->profile, wait)->user);
}

const char *reasons_protocol(const struct reasons *r, uint32_t wait)
{
	return r->protocol[wait];
}

enum idle_kind reasons_idle(const struct reasons *r, uint32_t wait)
{
	return (enum idle_kind)r->idle[wait];
}

bool reasons_is_kept_for_client(const struct reasons *r, uint32_t wait)
{
	return r->kept[wait];
}

bool reasons_are_taken(const struct reasons *r, const struct profile_limit *backlog)
{
	return taken_is_at_end(r->profile, backlog, r->reason, r->idle);
}

bool reasons_is_unseen(const struct reasons *r, uint32_t wait)
{
	const struct wait *w = profile_wait(r->profile, wait);

	return !r->rule[wait] && !knows_stack(r->profile, w->kernel) && !knows_stack(r->profile, w->user);
}

static bool has_frames(const struct reasons *r, uint32_t wait)
{
	const struct wait *w = profile_wait(r->profile, wait);
	const uint32_t ends[] = { w->kernel, w->user };

	for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
		for (uint32_t n = ends[i]; n; n = profile_get_node(r->profile, n)->parent) {
			const struct frame *f = profile_get_frame(r->profile, profile_get_node(r->profile, n)->frame);

			if (f->why != FRAME_PENDING && !object_is_frame(f))
				return true;
		}
	return false;
}

uint32_t reasons_object(const struct reasons *r, uint32_t wait)
{
	const struct rule *rule = reasons_rule(r, wait);

	return rule && rule->objectless ? 0 : profile_wait(r->profile, wait)->object;
}

bool reasons_is_anywhere(const struct reasons *r, uint32_t wait)
{
	const struct rule *rule = reasons_rule(r, wait);

	return rule && rule->anywhere && rule->reason == reasons_of(r, wait);
}

/* A thread that yields while spinning does so for what it spins for. */
static const struct rule *spin_that_yields(const struct reasons *r, uint32_t wait)
{
	return rule_is_yield(r->rule[wait]) ? reasons_spin(r, wait) : NULL;
}

const char *reasons_says(const struct reasons *r, uint32_t wait)
{
	const struct rule *rule = r->rule[wait], *spin = spin_that_yields(r, wait);

	if (reasons_is_unseen(r, wait))
		return has_frames(r, wait) ? "waits for something unknown (its functions have no names)" :
					     "waits for something unknown: its stacks were lost";
	if (spin)
		return spin->says;
	if (rule && rule->reason == REASON_EVENT_LOOP && r->reason[wait] == REASON_NETWORK_RECEIVE &&
	    profile_upstream(r->profile, profile_wait(r->profile, wait)))
		return "waits in its event loop for an answer";
	return rule && rule->says && rule->reason == r->reason[wait] ? rule->says : reason_says(reasons_of(r, wait));
}

const char *reasons_advice(const struct reasons *r, uint32_t wait)
{
	const struct rule *rule = r->rule[wait], *spin = spin_that_yields(r, wait);

	if (reasons_is_unseen(r, wait) && has_frames(r, wait))
		return "Run `offcpu doctor` where this was recorded: it tells which rights the names need.";
	if (reasons_is_unseen(r, wait))
		return "Why is told by `offcpu report --full`; record fewer threads (-p), or once more.";
	if (spin && spin->advice)
		return spin->advice;
	return rule && rule->advice && rule->reason == r->reason[wait] ? rule->advice
								       : reason_advice(reasons_of(r, wait));
}

struct plumbing *reasons_plumbing(const struct reasons *r)
{
	return r->base->plumbing;
}
