/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "server/ask.h"

#include <fnmatch.h>
#include <string.h>

#include "analyse/reason/reasons.h"
#include "explain/text.h"
#include "store/line.h"

#define LAST_DEFAULT_S 60

#define bad(error, ...) server_fail(error, SERVER_BAD_REQUEST, __VA_ARGS__)

static bool check_length(uint64_t ns, uint64_t max_ns, GError **error)
{
	return ns <= max_ns || bad(error, "a range of %s is asked for, and at most %s are answered", TEXT_NS(ns), TEXT_NS(max_ns));
}

bool ask_range(const struct request *r, const char *from_name, const char *to_name, const struct store_extent *extent,
	       uint64_t max_ns, struct ask_range *ret, GError **error)
{
	guint64 from = extent->from_unix_ns, to = extent->to_unix_ns;

	if (!request_number(r, from_name, G_MAXINT64, &from, error) ||
	    !request_number(r, to_name, G_MAXINT64, &to, error))
		return false;
	if (from > to)
		return bad(error, "%s is later than %s", from_name, to_name);
	/* a range outside of the history is empty, whatever its length */
	ret->from_ns = CLAMP(from, extent->from_unix_ns, extent->to_unix_ns);
	ret->to_ns = CLAMP(to, ret->from_ns, extent->to_unix_ns);
	return check_length(ret->to_ns - ret->from_ns, max_ns, error);
}

bool ask_last(const struct request *r, const struct store_extent *extent, struct ask_range *ret, GError **error)
{
	guint64 seconds = LAST_DEFAULT_S;

	if (!request_number(r, "seconds", ASK_RANGE_MAX_NS / 1000000000, &seconds, error))
		return false;
	if (!seconds)
		return bad(error, "seconds=0: at least one second is wanted");
	ret->to_ns = extent->to_unix_ns;
	ret->from_ns = MAX(extent->from_unix_ns, ret->to_ns - MIN(ret->to_ns, seconds * 1000000000));
	return true;
}

static bool take_text(const struct request *r, const char *name, const char **ret, GError **error)
{
	const char *text = request_text(r, name);

	*ret = text && *text ? text : NULL;
	if (text && strlen(text) > ASK_TEXT_MAX_BYTES)
		return bad(error, "%s is longer than %d bytes", name, ASK_TEXT_MAX_BYTES);
	if (text && !g_utf8_validate(text, -1, NULL))
		return bad(error, "%s is no UTF-8", name);
	return true;
}

/* A reason, or its family before the dot. */
static bool is_reason(const char *name)
{
	for (unsigned i = 0; i < REASON_COUNT; i++)
		if (reason_is_named((enum reason)i, name))
			return true;
	return false;
}

bool ask_filter(const struct request *r, struct ask_filter *ret, GError **error)
{
	g_autoptr(GError) why = NULL;

	if (!take_text(r, "process", &ret->process, error) || !take_text(r, "service", &ret->service, error) ||
	    !take_text(r, "reason", &ret->reason, error) || !take_text(r, "comm", &ret->comm, error) ||
	    !take_text(r, "grep", &ret->grep, error))
		return false;
	ret->processes = NULL;
	memcpy(ret->only, r->only, sizeof(ret->only));
	if (ret->reason && !is_reason(ret->reason))
		return bad(error, "reason: no reason has that name; known are %s", reason_names());
	if (!query_check(&(struct query){ .grep = ret->grep }, &why))
		return bad(error, "grep: %s", why->message);
	return true;
}

bool ask_filter_is_empty(const struct ask_filter *f)
{
	return !f->processes && !f->process && !f->service && !f->reason && !f->comm && !f->grep && !f->only[0] &&
	       !f->only[1];
}

static bool matches(const char *glob, const char *text)
{
	return !glob || fnmatch(glob, text, 0) == 0;
}

static bool may_see(const struct ask_filter *f, const char *service)
{
	return readers_list_has(f->only[0], service) && readers_list_has(f->only[1], service);
}

static void narrow_threads(const struct profile *p, const struct ask_filter *f, struct selection *s)
{
	EACH_ROW(i, const struct thread, t, p->threads)
		s->threads[i] = s->threads[i] && matches(f->process, cells_process(t)) &&
				matches(f->service, cells_service(t)) && may_see(f, cells_service(t));
	for (uint32_t i = 0; i < p->waits->len; i++)
		s->waits[i] = s->waits[i] && s->threads[profile_wait(p, i)->thread];
	s->whole = false;
}

static void narrow_to_reason(const struct profile *p, const char *reason, struct selection *s)
{
	struct reasons *reasons = reasons_new(p, NULL);

	for (uint32_t i = 0; i < p->waits->len; i++)
		s->waits[i] = s->waits[i] && reason_is_named(reasons_of(reasons, i), reason);
	s->whole = false;
	s->by_stack = true;
	reasons_free(reasons);
}

struct selection *ask_select(const struct ask_filter *f, const struct profile *p, GError **error)
{
	const struct query q = { .comm = f->comm, .grep = f->grep, .processes = f->processes };
	g_autoptr(GError) why = NULL;
	struct selection *s = selection_new(p, &q, &why);

	if (!s) {
		bad(error, "%s", why->message);
		return NULL;
	}
	if (f->process || f->service || f->only[0] || f->only[1])
		narrow_threads(p, f, s);
	if (f->reason)
		narrow_to_reason(p, f->reason, s);
	return s;
}

static struct selection *select_rows(void *ctx, const struct profile *p, GError **error)
{
	return ask_select(ctx, p, error);
}

static bool wants_process(void *ctx, const char *name)
{
	return matches(((const struct ask_filter *)ctx)->process, name);
}

static bool wants_service(void *ctx, const char *name)
{
	const struct ask_filter *f = ctx;

	return matches(f->service, name) && may_see(f, name);
}

void ask_part(const struct ask_filter *f, struct ask_part *ret)
{
	for (unsigned i = 0; i < REASON_COUNT; i++)
		ret->reasons[i] = f->reason && reason_is_named((enum reason)i, f->reason);
	ret->part = (struct store_part){
		.wants_process = f->process ? wants_process : NULL,
		.wants_service = f->service || f->only[0] || f->only[1] ? wants_service : NULL,
		.reasons = f->reason ? ret->reasons : NULL,
		.needs_rows = f->comm || f->grep,
		.select = select_rows,
		.ctx = (void *)(uintptr_t)f,
	};
}

char *ask_filter_text(const struct ask_filter *f)
{
	const struct {
		const char *name, *value;
	} parts[] = { { "process", f->process },
		      { "service", f->service },
		      { "reason", f->reason },
		      { "threads", f->comm },
		      { "frames", f->grep } };
	GString *s = g_string_new(NULL);

	for (guint i = 0; i < G_N_ELEMENTS(parts); i++)
		if (parts[i].value)
			g_string_append_printf(s, "%s%s %s", s->len ? ", " : "", parts[i].name, parts[i].value);
	return g_string_free(s, FALSE);
}

bool ask_word(const struct request *r, const char *name, const char *const *words, unsigned *ret, GError **error)
{
	const char *text = request_text(r, name);
	g_autofree char *known = NULL;

	if (!text)
		return true;
	for (unsigned i = 0; words[i]; i++) {
		if (strcmp(words[i], text) == 0) {
			*ret = i;
			return true;
		}
	}
	known = g_strjoinv(", ", (char **)words);
	return bad(error, "%s is none of %s", name, known);
}

bool ask_line(const struct request *r, const struct store_extent *extent, struct ask_line *ret, GError **error)
{
	/* in the order of enum store_by */
	static const char *const by[] = { "class", "process", "service", "reason", "duration", NULL };
	guint64 step_ns = 0, series = 12;
	unsigned chosen = STORE_BY_CLASS;

	if (!ask_range(r, "from", "to", extent, ASK_LINE_MAX_NS, &ret->range, error) ||
	    !request_number(r, "step", ASK_LINE_MAX_NS, &step_ns, error) ||
	    !request_number(r, "series", ASK_SERIES_MAX, &series, error) || !ask_word(r, "by", by, &chosen, error))
		return false;
	uint64_t length_ns = ret->range.to_ns - ret->range.from_ns;

	if (!step_ns)
		step_ns = MAX(length_ns / (ASK_STEPS_MAX / 4), ASK_STEP_MIN_NS);
	if (step_ns < ASK_STEP_MIN_NS)
		return bad(error, "step is below a second");
	if (length_ns / step_ns >= ASK_STEPS_MAX)
		return bad(error, "step is too short for that range: at most %d steps are answered", ASK_STEPS_MAX);
	if (!series)
		return bad(error, "series=0: at least one is wanted");
	ret->step_ns = step_ns;
	ret->by = (enum store_by)chosen;
	ret->series_max = (unsigned)series;
	return true;
}
