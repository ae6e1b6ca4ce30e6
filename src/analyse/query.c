/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/query.h"

#include <fnmatch.h>
#include <string.h>

#include "abi/offcpu_abi.h"
#include "analyse/label.h"
#include "base/refuse.h"

/* Also for on-CPU samples: see profile/profile.h. */
#define LETTERS OFFCPU_STATE_LETTERS "C"

/*
 * Limit of backtracking steps per name.  A sane expression needs a few per byte; one that needs more, like (a+)+$,
 * would take minutes.  PCRE takes the lowest of several limits, so an expression cannot raise it.
 */
#define MATCH_LIMIT "(*LIMIT_MATCH=50000)"

static bool check_states(const char *states, GError **error)
{
	for (const char *s = states; s && *s; s++) {
		if (*s == ',' || strchr(LETTERS, *s))
			continue;
		return refuse(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
			      "state \"%s\": no state has the letter '%c'; known are S, D, T, t, P, I, R, C", states,
			      g_ascii_isprint(*s) ? *s : '?');
	}
	if (states && !strpbrk(states, LETTERS))
		return refuse(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "state \"%s\": names no state", states);
	return true;
}

/* Bytes, not UTF-8: names come from any program and need not be valid. */
GRegex *query_regex(const char *pattern, GError **error)
{
	g_autofree char *limited = g_strconcat(MATCH_LIMIT, pattern, NULL);
	g_autoptr(GError) why = NULL;
	GRegex *regex = g_regex_new(limited, G_REGEX_RAW, 0, &why);

	if (!regex) {
		/* GLib's message quotes the pattern with our limit; the reason is its last part. */
		const char *reason = strrchr(why->message, ':');

		g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "expression \"%s\": %s", pattern,
			    reason && reason[1] == ' ' ? reason + 2 : why->message);
	}
	return regex;
}

/* Everything but the expression. */
static bool check_words(const struct query *q, GError **error)
{
	if (!check_states(q->states, error))
		return false;
	if (q->attribute && (!strchr(q->attribute, '=') || q->attribute[0] == '='))
		return refuse(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
			      "attribute \"%s\": it is a name and what it is, as http.route=/order/*", q->attribute);
	if (q->trace && (!*q->trace || strspn(q->trace, "0123456789abcdefABCDEF") != strlen(q->trace)))
		return refuse(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
			      "trace \"%s\": it is hexadecimal digits, the first ones or all 32", q->trace);
	return true;
}

bool query_check(const struct query *q, GError **error)
{
	if (!check_words(q, error))
		return false;
	if (q->grep) {
		g_autoptr(GRegex) regex = query_regex(q->grep, error);
		return regex != NULL;
	}
	return true;
}

static bool is_called(const struct thread *t, const char *const *globs)
{
	for (; globs && *globs; globs++)
		if ((t->process && !fnmatch(*globs, t->process, 0)) || (t->service && !fnmatch(*globs, t->service, 0)))
			return true;
	return false;
}

static bool in_list(uint32_t id, const uint32_t *ids, unsigned cnt)
{
	for (unsigned i = 0; i < cnt; i++) {
		if (ids[i] == id)
			return true;
	}
	return cnt == 0;
}

static void select_threads(const struct profile *p, const struct query *q, struct selection *s)
{
	EACH_ROW(i, const struct thread, t, p->threads) {
		bool kernel = t->flags & THREAD_KERNEL;

		s->threads[i] = !(kernel && q->user_only) && !(!kernel && q->kernel_only) &&
				(is_called(t, q->processes) ||
				 (in_list(t->pid, q->pids, q->pids_cnt) && (q->pids_cnt || !q->processes))) &&
				in_list(t->tid, q->tids, q->tids_cnt) &&
				(!q->comm || fnmatch(q->comm, t->comm ? t->comm : "", 0) == 0);
	}
}

/* Matches the expression once per frame; a node matches if its parent or its frame does. */
static bool *matching_nodes(const struct profile *p, const char *pattern, GError **error)
{
	g_autoptr(GRegex) regex = query_regex(pattern, error);
	if (!regex)
		return NULL;
	g_autofree bool *frames = g_new0(bool, p->frames->len + 1);
	g_autoptr(GString) label = g_string_new(NULL);

	for (unsigned i = 0; i < p->frames->len; i++) {
		g_autoptr(GError) why = NULL;

		g_string_truncate(label, 0);
		label_append(label, profile_get_frame(p, i));
		frames[i] = g_regex_match_full(regex, label->str, (gssize)label->len, 0, 0, NULL, &why);
		if (why) {
			return refuse_null(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
					   "expression \"%s\": takes too many steps to match a frame's name", pattern);
		}
	}

	bool *nodes = g_new0(bool, p->nodes->len + 1);
	for (unsigned i = 1; i < p->nodes->len; i++) {
		const struct stack_node *n = profile_get_node(p, i);

		nodes[i] = nodes[n->parent] || frames[n->frame];
	}
	return nodes;
}

static bool has_attribute(const struct profile *p, uint32_t node, const char *attribute)
{
	const char *glob = strchr(attribute, '=') + 1;
	g_autofree char *name = g_strndup(attribute, (gsize)(glob - 1 - attribute));
	const char *value = context_value(p, node, name);

	return value && !fnmatch(glob, value, 0);
}

/* Whether the row's longest wait was for that trace; for its other waits that is unknown. */
static bool is_of_trace(const struct profile *p, uint32_t wait, const char *trace)
{
	const struct wait_trace *of = profile_trace_of(p, wait);

	return of && !g_ascii_strncasecmp(of->trace, trace, strlen(trace));
}

static bool is_of_request(const struct profile *p, const struct query *q, uint32_t wait)
{
	return (!q->attribute || has_attribute(p, profile_wait(p, wait)->user, q->attribute)) &&
	       (!q->trace || is_of_trace(p, wait, q->trace));
}

/*
 * With a selection of stacks, threads without such waits are deselected: their accounts would be about something else.
 */
static void keep_threads_with_waits(const struct profile *p, struct selection *s)
{
	g_autofree bool *has_waits = g_new0(bool, p->threads->len + 1);

	for (unsigned i = 0; i < p->waits->len; i++)
		has_waits[profile_wait(p, i)->thread] |= s->waits[i];
	for (guint i = 0; i < p->threads->len; i++)
		s->threads[i] &= has_waits[i];
}

struct selection *selection_new(const struct profile *p, const struct query *q, GError **error)
{
	g_autofree bool *nodes = NULL;

	if (!check_words(q, error))
		return NULL;
	if (q->grep) {
		nodes = matching_nodes(p, q->grep, error);
		if (!nodes)
			return NULL;
	}

	struct selection *s = g_new0(struct selection, 1);
	s->threads = g_new0(bool, p->threads->len + 1);
	s->waits = g_new0(bool, p->waits->len + 1);
	s->whole = !q->states && !q->comm && !q->grep && !q->attribute && !q->trace && !q->pids_cnt && !q->processes &&
		   !q->tids_cnt && !q->user_only && !q->kernel_only;
	s->by_stack = q->grep || q->attribute || q->trace;
	s->states = g_strdup(q->states);
	select_threads(p, q, s);
	EACH_ROW(i, const struct wait, w, p->waits)
		s->waits[i] = s->threads[w->thread] &&
			      (!q->states || (w->state && strchr(q->states, w->state))) &&
			      (!nodes || nodes[w->user] || nodes[w->kernel]) && is_of_request(p, q, i);
	if (s->by_stack)
		keep_threads_with_waits(p, s);
	return s;
}

FREES(selection_free, struct selection, s, g_free(s->threads); g_free(s->waits); g_free(s->states))

bool selection_has_process(const struct selection *s, const struct profile *p, uint32_t pid)
{
	for (guint i = 0; s && i < p->threads->len; i++)
		if (s->threads[i] && profile_thread(p, i)->pid == pid)
			return true;
	return !s;
}

static void append_ids(GString *s, const char *what, const uint32_t *ids, unsigned cnt)
{
	if (!cnt)
		return;
	g_string_append_printf(s, "%s%s %u", s->len ? ", " : "", what, ids[0]);
	for (unsigned i = 1; i < cnt; i++)
		g_string_append_printf(s, ",%u", ids[i]);
}

char *query_text(const struct query *q)
{
	GString *s = g_string_new(NULL);

	if (q->user_only)
		g_string_append(s, "user threads");
	if (q->kernel_only)
		g_string_append_printf(s, "%skernel threads", s->len ? ", " : "");
	append_ids(s, "pid", q->pids, q->pids_cnt);
	for (const char *const *name = q->processes; name && *name; name++)
		g_string_append_printf(s, "%sprocess %s", s->len ? ", " : "", *name);
	append_ids(s, "tid", q->tids, q->tids_cnt);
	if (q->comm)
		g_string_append_printf(s, "%scomm %s", s->len ? ", " : "", q->comm);
	if (q->states)
		g_string_append_printf(s, "%sstate %s", s->len ? ", " : "", q->states);
	if (q->grep)
		g_string_append_printf(s, "%sa frame matching /%s/", s->len ? ", " : "", q->grep);
	if (q->attribute)
		g_string_append_printf(s, "%s%s", s->len ? ", " : "", q->attribute);
	if (q->trace)
		g_string_append_printf(s, "%srows whose longest wait was for trace %s", s->len ? ", " : "", q->trace);
	return g_string_free(s, FALSE);
}
