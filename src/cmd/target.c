/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/target.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/sample.h"
#include "attach/cgroup.h"
#include "base/proc/mount_point.h"
#include "base/opener/opener.h"
#include "base/parse.h"
#include "base/trace_attributes.h"
#include "base/proc/status.h"
#include "cmd/cmd.h"
#include "session/session.h"
#include "session/probe.h"

/* A word that contains any of these is a process's name, not a number. */
#define NAME_STARTS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

static void add_entries(GArray *entries, const GOptionEntry *list)
{
	for (; list->long_name; list++)
		g_array_append_val(entries, *list);
}

static void add_who(GArray *entries, struct target *t)
{
	const GOptionEntry list[] = {
		{ "all", 'a', 0, G_OPTION_ARG_NONE, &t->all, "The whole system (the default)", NULL },
		{ "pid", 'p', 0, G_OPTION_ARG_STRING_ARRAY, &t->pids, "These processes, by number or name",
		  "PID|NAME[,...]" },
		{ "tid", 't', 0, G_OPTION_ARG_STRING_ARRAY, &t->tids, "These threads", "TID[,TID]" },
		{ "follow", 0, 0, G_OPTION_ARG_NONE, &t->follow, "With -p or -t: their children, too; of -t those forked from now on",
		  NULL },
		{ "cgroup", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &t->cgroups,
		  "Threads in this cgroup (version 2), unit or container, or below it", "PATH|NAME" },
		{ "comm", 0, 0, G_OPTION_ARG_STRING, &t->comm, "Threads whose name matches", "GLOB" },
		{ "user-threads-only", 'u', 0, G_OPTION_ARG_NONE, &t->user_threads, "User threads only", NULL },
		{ "kernel-threads-only", 'k', 0, G_OPTION_ARG_NONE, &t->kernel_threads, "Kernel threads only", NULL },
		{ "user", 0, 0, G_OPTION_ARG_STRING, &t->user,
		  "Who runs COMMAND (under sudo: who called it)", "NAME" },
		{ "self", 0, 0, G_OPTION_ARG_NONE, &t->self, "Trace the tracer's own threads too", NULL },
		{ "verbose", 'v', 0, G_OPTION_ARG_NONE, &t->verbose,
		  "Show what libbpf has to say, and of record how well it remembers stacks", NULL },
		/* for tests */
		{ "test-rows-max", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_INT, &t->rows_max, NULL, NULL },
		{ "test-verify-walks", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_NONE, &t->verify_walks, NULL, NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	add_entries(entries, list);
}

static void add_filter(GArray *entries, struct target *t)
{
	const GOptionEntry list[] = {
		{ "state", 0, 0, G_OPTION_ARG_STRING, &t->states,
		  "List waits in these states: letters of RSDTtPI, or bcc's numbers", "LIST" },
		{ "min-block", 'm', 0, G_OPTION_ARG_STRING, &t->min_block,
		  "List waits of at least this (a bare number is us)", "TIME" },
		{ "max-block", 'M', 0, G_OPTION_ARG_STRING, &t->max_block, "List waits of at most this", "TIME" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	add_entries(entries, list);
}

static void add_capture(GArray *entries, struct target *t)
{
	const GOptionEntry list[] = {
		{ "user-stacks-only", 'U', 0, G_OPTION_ARG_NONE, &t->user_stacks_only, "No kernel stacks", NULL },
		{ "kernel-stacks-only", 'K', 0, G_OPTION_ARG_NONE, &t->kernel_stacks_only, "No user stacks", NULL },
		{ "max-depth", 0, 0, G_OPTION_ARG_INT, &t->max_depth, "Frames of a stack, 1 to 127 (127)", "N" },
		{ "unwind", 0, 0, G_OPTION_ARG_STRING, &t->unwind,
		  "How user stacks are walked: auto (by tables from .eh_frame) or fp (frame pointers only)",
		  "HOW" },
		{ "exact", 0, 0, G_OPTION_ARG_NONE, &t->exact, "Every wait with its stacks, none sampled", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	add_entries(entries, list);
}

static void add_sampling(GArray *entries, struct target *t)
{
	const GOptionEntry list[] = {
		{ "sample", 0, 0, G_OPTION_ARG_STRING, &t->sample,
		  "Sample the stacks of waits below this, by duration (a bare number is us)", "TIME" },
		{ "max-overhead", 0, 0, G_OPTION_ARG_STRING, &t->max_overhead,
		  "Share of all CPUs' time that tracing may cost before more waits are sampled (record: 1)", "PCT" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	add_entries(entries, list);
}

static void add_on_cpu(GArray *entries, struct target *t)
{
	const GOptionEntry list[] = {
		{ "cpu", 0, 0, G_OPTION_ARG_NONE, &t->cpu, "What threads do on CPU, too, by 49 samples a second", NULL },
		{ "frequency", 'F', 0, G_OPTION_ARG_STRING, &t->frequency, "The same, by so many, 1 to 10000", "HZ" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	add_entries(entries, list);
}

/* Adds the options of probes: each sets its member of collect_options. */
static void add_switches(GArray *entries, struct target *t)
{
	for (unsigned i = 0; session_probes[i]; i++)
		for (const struct session_option *o = session_probes[i]->options; o && o->name; o++) {
			const GOptionEntry entry = { o->name, 0,   0, G_OPTION_ARG_NONE, (char *)&t->collect + o->at,
						     o->help, NULL };

			g_array_append_val(entries, entry);
		}
}

static void add_why(GArray *entries, struct target *t)
{
	const GOptionEntry wakers[] = {
		{ "wakers", 0, 0, G_OPTION_ARG_STRING, &t->wakers,
		  "Who ended each sleep, with its stacks; =DEPTH: and who had woken that one, up to 16", "DEPTH" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	const GOptionEntry lines[] = {
		{ "attributes", 0, 0, G_OPTION_ARG_STRING, &t->attributes,
		  "Beside routes, attributes of trace contexts that waits are told apart by", "KEY[,KEY]" },
		{ "inline", 0, 0, G_OPTION_ARG_NONE, &t->lines,
		  "Inlined functions, files and lines, from the programs' debug information", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	add_entries(entries, wakers);
	add_switches(entries, t);
	add_entries(entries, lines);
}

static void add_named(GArray *entries, struct target *t)
{
	const GOptionEntry list[] = {
		{ "no-objects", 0, 0, G_OPTION_ARG_NONE, &t->no_objects,
		  "Not what waits are for: files, sockets, locks and their holders", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	t->is_named = true;
	add_entries(entries, list);
}

GArray *target_entries(struct target *t, unsigned parts, const GOptionEntry *own)
{
	GArray *entries = g_array_new(TRUE, TRUE, sizeof(GOptionEntry));

	t->max_depth = OFFCPU_MAX_DEPTH;
	if (parts & TARGET_WHO)
		add_who(entries, t);
	if (parts & TARGET_FILTER)
		add_filter(entries, t);
	if (parts & TARGET_CAPTURE)
		add_capture(entries, t);
	if (parts & TARGET_WHY)
		add_why(entries, t);
	if (parts & TARGET_NAMED)
		add_named(entries, t);
	if (parts & TARGET_SAMPLING)
		add_sampling(entries, t);
	if (parts & TARGET_ON_CPU)
		add_on_cpu(entries, t);
	if (own)
		add_entries(entries, own);
	return entries;
}

void target_cut_command(struct target *t, int *argc, char **argv)
{
	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], "--") != 0)
			continue;
		t->command = &argv[i + 1];
		argv[i] = NULL;
		*argc = i;
		return;
	}
}

void target_fill_in(int argc, char **argv)
{
	/* GOption has no optional numbers */
	static char one_waker[] = "--wakers=1";

	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--wakers") == 0)
			argv[i] = one_waker;
}

/* For a process that /proc hides: with hidepid=2 it may belong to another user. */
static char *trouble_with_hidden(uint32_t id)
{
	return kill((pid_t)id, 0) && errno == ESRCH ?
		       g_strdup("does not exist") :
		       g_strdup("is not shown by /proc (hidepid): run as root, or add CAP_SYS_PTRACE");
}

/* Why a process or thread cannot be traced; NULL: it can. */
static char *trouble_with(uint32_t id, bool is_process)
{
	g_autofree char *path = g_strdup_printf("/proc/%u/status", id), *status = NULL;
	const char *state;
	uint64_t group;

	if (!id)
		return g_strdup("is the kernel itself, which has threads of its own only: record -k");
	if (!g_file_get_contents(path, &status, NULL, NULL))
		return trouble_with_hidden(id);
	state = proc_status_field(status, "State");
	group = proc_status_number(status, "Tgid");
	/* a process whose first thread has exited may still run others */
	if (state && (g_str_has_prefix(state, "\tZ") || g_str_has_prefix(state, "\tX")) &&
	    proc_status_number(status, "Threads") <= 1)
		return g_strdup("has ended, and nobody has waited for it yet");
	if (is_process && group && group != id)
		return g_strdup_printf("is a thread of process %" G_GUINT64_FORMAT ", for which there is -t", group);
	return NULL;
}

/* Drops processes found by name, from index `from` on, that cannot be traced: zombies keep their name. */
static void leave_out_troubled(GArray *ids, guint from)
{
	g_autoptr(GArray) fine = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	for (guint i = from; i < ids->len; i++) {
		g_autofree char *trouble = trouble_with(g_array_index(ids, uint32_t, i), true);

		if (!trouble)
			g_array_append_val(fine, g_array_index(ids, uint32_t, i));
	}
	if (fine->len) {
		g_array_set_size(ids, from);
		g_array_append_vals(ids, fine->data, fine->len);
	}
}

/* Parses "12,mariadbd": numbers, or names that stand for all processes with that name. */
static bool process_list(const char *text, GArray **ids, GError **error)
{
	g_auto(GStrv) words = g_strsplit(text, ",", -1);

	if (!strpbrk(text, NAME_STARTS))
		return parse_u32_list(text, ids, error);
	for (char **word = words; *word; word++) {
		if (!strpbrk(*word, NAME_STARTS)) {
			if (!parse_u32_list(*word, ids, error))
				return false;
			continue;
		}
		if (!*ids)
			*ids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
		guint from = (*ids)->len;
		if (process_ids_named(*word, *ids)) {
			leave_out_troubled(*ids, from);
			continue;
		}
		return refuse(error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "no process is called '%s'", *word);
	}
	return true;
}

static bool ids_of(char **typed, const char *what, GArray **ret_ids, GError **error)
{
	bool is_process = strcmp(what, "process") == 0;

	if (is_process && typed)
		opener_begin();	/* a search by name reads all processes, one of which may never answer */
	for (char **text = typed; text && *text; text++)
		if (!(is_process ? process_list(*text, ret_ids, error) : parse_u32_list(*text, ret_ids, error)))
			return false;
	for (guint i = 0; *ret_ids && i < (*ret_ids)->len; i++) {
		uint32_t id = g_array_index(*ret_ids, uint32_t, i);
		g_autofree char *trouble = trouble_with(id, is_process);

		if (!trouble)
			continue;
		return refuse(error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "%s %u %s", what, id, trouble);
	}
	return true;
}

bool target_processes(char **typed, GArray **ret_ids, GError **error)
{
	return ids_of(typed, "process", ret_ids, error);
}

static bool group_ids(char **typed, GArray **ret_ids, GError **error)
{
	for (char **path = typed; path && *path; path++) {
		if (!*ret_ids)
			*ret_ids = g_array_new(FALSE, FALSE, sizeof(uint64_t));
		if (!named_groups(*path, *ret_ids, error))
			return false;
	}
	return true;
}

bool target_group_processes(char **typed, GArray **ret_ids, GError **error)
{
	g_autoptr(GArray) groups = NULL, all = NULL;
	g_autofree char *mount = NULL;

	if (!group_ids(typed, &groups, error))
		return false;
	all = process_ids();
	mount = cgroup_mount("/proc", NULL);
	if (!*ret_ids)
		*ret_ids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	for (guint i = 0; groups && i < all->len; i++) {
		uint32_t pid = g_array_index(all, uint32_t, i);

		if (cgroup_has_thread(groups, mount, (pid_t)pid, (pid_t)pid) && !process_ids_contain(*ret_ids, pid))
			g_array_append_val(*ret_ids, pid);
	}
	return true;
}

static bool resolve_existing(struct target *t, GError **error)
{
	return ids_of(t->pids, "process", &t->collect.pids, error) && ids_of(t->tids, "thread", &t->collect.tids, error) &&
	       group_ids(t->cgroups, &t->collect.cgroup_ids, error);
}

/* Parses "0.5" or "0.5%" into parts per million. */
static bool parse_budget(const char *text, uint32_t *ret_ppm, GError **error)
{
	char *end;
	double pct = g_ascii_isdigit(text[0]) || text[0] == '.' ? g_ascii_strtod(text, &end) : 0;

	if (!(pct > 0 && pct <= 100) || (*end && strcmp(end, "%") != 0) || pct * 1e4 < 1)
		return refuse(error, PARSE_ERROR, 0, "--max-overhead: '%s' is not a percentage above 0 and up to 100",
			text);
	*ret_ppm = (uint32_t)(pct * 1e4 + 0.5);
	return true;
}

/* A given scale is only where sampling starts; only --exact keeps the governor from changing it. */
static bool resolve_sampling(struct target *t, GError **error)
{
	struct collect_options *c = &t->collect;

	c->sample_ns = t->exact ? 0 : t->default_sample_ns;
	c->budget_ppm = t->default_budget_ppm;
	if (t->max_overhead && !parse_budget(t->max_overhead, &c->budget_ppm, error))
		return false;
	c->may_raise = !t->exact && c->budget_ppm;
	if (!t->sample)
		return true;
	if (t->exact)
		return refuse(error, PARSE_ERROR, 0, "--exact and --sample exclude each other");
	if (!parse_duration(t->sample, 1000, &c->sample_ns, error))
		return false;
	if (c->sample_ns > SAMPLE_SCALE_MAX_NS)
		return refuse(error, PARSE_ERROR, 0, "--sample: '%s' is above %gs", t->sample,
			SAMPLE_SCALE_MAX_NS / 1e9);
	return true;
}

static bool resolve_frequency(struct target *t, GError **error)
{
	t->collect.on_cpu_hz = t->cpu ? ON_CPU_HZ_DEFAULT : 0;
	if (!t->frequency || (parse_u32(t->frequency, &t->collect.on_cpu_hz, NULL) && t->collect.on_cpu_hz &&
			      t->collect.on_cpu_hz <= ON_CPU_HZ_MAX))
		return true;
	return refuse(error, PARSE_ERROR, 0, "-F: '%s' is not a number of samples a second from 1 to %d", t->frequency,
		      ON_CPU_HZ_MAX);
}

static bool resolve_states(const char *text, uint32_t *ret_mask, GError **error)
{
	g_autofree char *letters = NULL;

	if (!parse_state_letters(text, &letters, error))
		return false;
	if (strchr(letters, 'C'))
		return refuse(error, PARSE_ERROR, 0,
			"--state: C stands for samples on CPU, which --cpu adds, and no wait is in it");
	for (const char *l = letters; *l; l++)
		*ret_mask |= 1U << (strchr(OFFCPU_STATE_LETTERS, *l) - OFFCPU_STATE_LETTERS);
	return true;
}

static bool resolve_values(struct target *t, GError **error)
{
	struct collect_options *c = &t->collect;
	static const char *const unwinders[] = { "auto", "fp", NULL };
	const char *wrong = NULL;

	if (t->states && !resolve_states(t->states, &c->state_mask, error))
		return false;
	if (t->min_block && !parse_duration(t->min_block, 1000, &c->min_ns, error))
		return false;
	if (t->max_block && !parse_duration(t->max_block, 1000, &c->max_ns, error))
		return false;
	if (t->comm && !parse_name_glob(t->comm, 2 * OFFCPU_COMM_LEN - 1, OFFCPU_COMM_LEN - 1, error)) {
		g_prefix_error(error, "--comm: ");
		return false;
	}
	if (!resolve_sampling(t, error) || !resolve_frequency(t, error))
		return false;
	if (t->user_threads && t->kernel_threads)
		wrong = "-u and -k exclude each other";
	else if (t->user_stacks_only && t->kernel_stacks_only)
		wrong = "-U and -K exclude each other";
	else if (t->max_depth < 1 || t->max_depth > OFFCPU_MAX_DEPTH)
		wrong = "--max-depth takes 1 to 127";
	else if (t->wakers && (!parse_u32(t->wakers, &t->wakers_cnt, NULL) || !t->wakers_cnt ||
			       t->wakers_cnt > OFFCPU_CHAIN_MAX))
		wrong = "--wakers=DEPTH takes 1 to 16";
	else if (t->max_block && c->max_ns < c->min_ns)
		wrong = "--max-block is below --min-block";
	else if (t->all && (t->pids || t->tids || t->cgroups || t->comm || t->command))
		wrong = "-a is the whole system: it goes with no other target";
	else if (t->command && !t->command[0])
		wrong = "no command stands behind --";
	else if (t->command && (t->pids || t->tids || t->cgroups || t->comm))
		wrong = "a command is a target of its own: it goes with no other";
	else if (t->follow && !t->pids && !t->tids)
		wrong = "--follow is about the children of -p or -t";
	else if (t->lines && t->kernel_stacks_only)
		wrong = "--inline is about user stacks, which -K leaves out";
	else if (t->unwind && !g_strv_contains(unwinders, t->unwind))
		wrong = "--unwind takes auto or fp";
	if (wrong)
		g_set_error_literal(error, PARSE_ERROR, 0, wrong);
	return !wrong;
}

/* A server's main process rarely does the work; its children of the same name do. */
static void warn_of_children(const GArray *pids, const char *command)
{
	g_autoptr(GArray) of_name = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
			  family = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	uint32_t first = g_array_index(pids, uint32_t, 0);
	g_autofree char *path = g_strdup_printf("/proc/%u/comm", first), *comm = NULL;
	unsigned left_out = 0;

	if (!g_file_get_contents(path, &comm, NULL, NULL) || !*g_strchomp(comm))
		return;
	g_array_append_vals(family, pids->data, pids->len);
	process_ids_add_descendants(family);
	process_ids_named(comm, of_name);
	for (guint i = pids->len; i < family->len; i++)
		left_out += process_ids_contain(of_name, g_array_index(family, uint32_t, i));
	if (left_out)
		cmd_error(command, "warning: %s (%u) has forked %u process%s of that name, left out here: --follow takes them, -p %s all of that name",
			  comm, first, left_out, left_out == 1 ? "" : "es", comm);
}

static bool resolve_user(struct target *t, GError **error)
{
	if (t->user && !t->command)
		return refuse(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
			"--user says who runs COMMAND, and there is none");
	if (!t->command || as_user_find(t->user, &t->as, error)) {
		t->tells_user = t->user || t->as;
		return true;
	}
	if (!t->user)
		g_prefix_error(error, "who called sudo is to run COMMAND (--user root: root): ");
	return false;
}

int target_resolve(struct target *t, const char *command)
{
	struct collect_options *c = &t->collect;
	g_autoptr(GError) error = NULL;

	if (!resolve_values(t, &error) || !resolve_user(t, &error))
		return cmd_wrong(command, "%s", error->message);
	bool typed_wrong = false;
	if (!resolve_existing(t, &error)) {
		typed_wrong = error->domain == PARSE_ERROR;
		cmd_error(command, "%s", error->message);
		return typed_wrong ? EXIT_USAGE : EXIT_FAILED;
	}
	c->comm_glob = t->comm;
	c->no_user_threads = t->kernel_threads;
	c->no_kernel_threads = t->user_threads;
	c->no_user_stacks = t->kernel_stacks_only;
	c->no_kernel_stacks = t->user_stacks_only;
	c->follow = t->follow || (c->pids && t->takes_children);
	c->with_forked = c->follow && c->pids;
	if (c->with_forked)	/* servers usually fork their children before they are traced */
		process_ids_add_descendants(c->pids);
	c->lines = t->lines;
	t->attribute_list = t->attributes ? g_strsplit(t->attributes, ",", -1) : NULL;
	trace_attributes_want(t->attribute_list);
	c->frame_pointers_only = g_strcmp0(t->unwind, "fp") == 0;
	c->max_depth = (unsigned)t->max_depth;
	c->include_self = t->self;
	c->rows_max = (size_t)MAX(t->rows_max, 0);
	c->verify_walks = t->verify_walks;
	c->want_wakers = t->wakers_cnt > 0 || (t->wants_wakers && !t->no_wakers);
	c->may_thin_wakers = !t->wakers_cnt;
	c->want_locks |= t->is_named && !t->no_objects;
	c->want_objects |= t->is_named && !t->no_objects;
	c->chain_depth = t->wakers_cnt > 1 ? t->wakers_cnt : 0;
	if (c->pids && c->pids->len && !c->follow)
		warn_of_children(c->pids, command);
	return EXIT_OK;
}

void target_release(struct target *t)
{
	if (t->collect.pids)
		g_array_unref(t->collect.pids);
	if (t->collect.tids)
		g_array_unref(t->collect.tids);
	if (t->collect.cgroup_ids)
		g_array_unref(t->collect.cgroup_ids);
	g_strfreev(t->pids);
	g_strfreev(t->tids);
	g_strfreev(t->cgroups);
	g_free(t->user);
	as_user_free(t->as);
	g_free(t->comm);
	g_free(t->attributes);
	trace_attributes_want(NULL);
	g_strfreev(t->attribute_list);
	g_free(t->states);
	g_free(t->min_block);
	g_free(t->max_block);
	g_free(t->unwind);
	g_free(t->wakers);
	g_free(t->sample);
	g_free(t->max_overhead);
	g_free(t->frequency);
}

static void describe_list(GString *text, const char *what, char **typed)
{
	if (!typed)
		return;
	g_autofree char *all = g_strjoinv(",", typed);
	g_string_append_printf(text, "%s%s %s", text->len ? ", " : "", what, all);
}

/* A time as given; a bare number is in microseconds. */
static char *with_unit(const char *typed)
{
	if (!typed)
		return NULL;
	return g_strconcat(typed, g_ascii_isdigit(typed[strlen(typed) - 1]) ? "us" : "", NULL);
}

char *target_describe(const struct target *t)
{
	GString *text = g_string_new(NULL);
	g_autofree char *min = with_unit(t->min_block), *max = with_unit(t->max_block);
	char *one[2] = { NULL, NULL };
	const struct { const char *what; char *typed; } singles[] = {
		{ "comm", t->comm }, { "state", t->states },
		{ "waits from", min }, { "waits up to", max },
	};

	describe_list(text, "process", t->pids);
	describe_list(text, "thread", t->tids);
	describe_list(text, "cgroup", t->cgroups);
	for (guint i = 0; i < G_N_ELEMENTS(singles); i++) {
		one[0] = singles[i].typed;
		describe_list(text, singles[i].what, one[0] ? one : NULL);
	}
	if (t->follow)
		g_string_append(text, " and what they fork");
	if (t->command) {
		g_autofree char *line = g_strjoinv(" ", t->command);
		g_string_append_printf(text, "%scommand %s", text->len ? ", " : "", line);
	}
	if (t->user_threads || t->kernel_threads)
		g_string_append_printf(text, "%s%s threads", text->len ? ", " : "",
				       t->user_threads ? "user" : "kernel");
	if (t->user_stacks_only || t->kernel_stacks_only)
		g_string_append_printf(text, "%s%s stacks only", text->len ? ", " : "",
				       t->user_stacks_only ? "user" : "kernel");
	return g_string_free(text, FALSE);
}
