/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "mcp/server.h"

#include <string.h>

#include "analyse/diff/diff.h"
#include "analyse/range.h"
#include "base/version.h"
#include "mcp/tools.h"
#include "mcp/protocol.h"
#include "render/answer/report.h"
#include "render/json/json.h"
#include "render/text/diff.h"
#include "features/incidents/history.h"

#define bad(error, ...) server_fail(error, SERVER_BAD_REQUEST, __VA_ARGS__)

struct tool_call {
	const struct request *request;
	struct history *history;
	const struct tool_input *in;
};

static const char *param(const struct tool_call *a, enum param param)
{
	return a->in->values[param];
}

static struct answer_options options_of(const struct tool_call *a, const char *id)
{
	const char *cursor = param(a, PARAM_CURSOR);

	return (struct answer_options){
		.max_bytes = TOOL_BYTES_MAX,
		.id = id,
		.cursor = cursor ? g_ascii_strtoull(cursor, NULL, 10) : 0,
	};
}

/* Reads a time range and the filters of it. */
static bool find_part(const struct tool_call *a, enum param from, enum param to, const char *const *processes,
		      struct history_part *part, GError **error)
{
	uint64_t now_ns = (uint64_t)g_get_real_time() * 1000, usual_ns = MOMENT_RANGE_USUAL_NS;
	struct store_extent extent;

	if (part->incident ? !store_extent(part->incident, &extent, error)
			   : !history_extent(a->history, &extent, error))
		return false;
	/* times as "14:32" and "-5m" count from the incident's time */
	if (part->incident) {
		now_ns = extent.to_unix_ns;
		usual_ns = extent.to_unix_ns - extent.from_unix_ns;
	}
	if (!moment_range(param(a, from), param(a, to), "", usual_ns, now_ns, &part->range.from_ns, &part->range.to_ns, error))
		return false;
	part->range.from_ns = CLAMP(part->range.from_ns, extent.from_unix_ns, extent.to_unix_ns);
	part->range.to_ns = CLAMP(part->range.to_ns, part->range.from_ns, extent.to_unix_ns);
	if (part->range.to_ns - part->range.from_ns > ASK_RANGE_MAX_NS)
		return bad(error, "a range of at most 31 days is answered");
	part->filter = (struct ask_filter){ .processes = processes,
					    .comm = param(a, PARAM_THREAD),
					    .grep = param(a, PARAM_GREP) };
	memcpy(part->filter.only, a->request->only, sizeof(part->filter.only));
	return true;
}

static char **processes_of(const struct tool_call *a)
{
	const char *given = param(a, PARAM_PROCESS) ? param(a, PARAM_PROCESS) : param(a, PARAM_SERVICE);

	return given ? g_strsplit(given, ",", -1) : NULL;
}

static bool report(const struct tool_call *a, const char *id, GString *out, GError **error)
{
	const char *incident = param(a, PARAM_INCIDENT);
	const struct answer_options options = options_of(a, id);
	g_auto(GStrv) processes = processes_of(a);
	g_autofree char *dir = NULL;
	struct history_part part = { 0 };
	bool ok;

	if (incident && !incident_check_name(incident, error))
		return false;
	part.incident = dir = incident ? incident_dir(history_dir_of(a->history), incident) : NULL;
	if (!find_part(a, PARAM_FROM, PARAM_TO, (const char *const *)processes, &part, error) ||
	    !history_enter(a->history, error))
		return false;
	ok = history_part_read(a->history, &part, RANGE_PLAIN, error) &&
	     answer_report(out, "report", part.profile, part.selection, &options, error);
	history_part_clear(a->history, &part);
	history_leave(a->history);
	return ok;
}

static bool answer_findings(const struct tool_call *a, GString *out, GError **error)
{
	return report(a, param(a, PARAM_ID), out, error);
}

static bool answer_stacks(const struct tool_call *a, GString *out, GError **error)
{
	return report(a, "stacks", out, error);
}

static bool write_change(const struct tool_call *a, const struct history_part *before, const struct history_part *after,
			 GString *out, GError **error)
{
	static const enum diff_by tables[] = { DIFF_BY_REASON, DIFF_BY_STACK };
	const struct diff_options options = { .noise = DIFF_NOISE_DEFAULT };
	const struct diff_input in[DIFF_SIDES] = {
		[DIFF_BEFORE] = { .profile = before->profile, .selection = before->selection, .name = "before", .filters = before->text },
		[DIFF_AFTER] = { .profile = after->profile, .selection = after->selection, .name = "after", .filters = after->text },
	};
	struct diff *d = diff_new(&in[DIFF_BEFORE], &in[DIFF_AFTER], &options);
	g_autoptr(GString) finding = g_string_new(NULL);
	const struct answer_options answer = options_of(a, param(a, PARAM_ID));
	bool ok;

	diff_text_finding(finding, d);
	ok = answer_diff(out, d,
			 &(struct diff_json_options){
				 .tables = tables, .tables_cnt = G_N_ELEMENTS(tables), .finding = finding->str },
			 false, &answer, error);
	diff_free(d);
	return ok;
}

/* A range without an end is as long as the other one. */
static void as_long(const struct tool_call *a, struct history_part *before, const struct history_part *after)
{
	if (!param(a, PARAM_BEFORE_TO))
		before->range.to_ns = MIN(before->range.to_ns,
					  before->range.from_ns + after->range.to_ns - after->range.from_ns);
}

static bool answer_compare(const struct tool_call *a, GString *out, GError **error)
{
	g_auto(GStrv) processes = processes_of(a);
	const char *const *only = (const char *const *)processes;
	struct history_part before = { 0 }, after = { 0 };
	bool ok;

	if (!param(a, PARAM_BEFORE_FROM))
		return bad(error, "before_from is wanted: %s", param_kinds[PARAM_BEFORE_FROM].help);
	if (!find_part(a, PARAM_BEFORE_FROM, PARAM_BEFORE_TO, only, &before, error) ||
	    !find_part(a, PARAM_FROM, PARAM_TO, only, &after, error) || !history_enter(a->history, error))
		return false;
	as_long(a, &before, &after);
	ok = history_part_read(a->history, &before, RANGE_PLAIN, error) &&
	     history_part_read(a->history, &after, RANGE_PLAIN, error) && write_change(a, &before, &after, out, error);
	history_part_clear(a->history, &before);
	history_part_clear(a->history, &after);
	history_leave(a->history);
	return ok;
}

/* Headlines may name services that this reader must not see. */
static bool answer_incidents(const struct tool_call *a, GString *out, GError **error)
{
	g_autoptr(GString) whole = g_string_new(NULL);
	g_autoptr(GPtrArray) all = NULL;

	if (a->request->only[0] || a->request->only[1])
		return bad(error, "incidents are listed for readers who see all services");
	all = incident_list(history_dir_of(a->history), error);
	if (!all)
		return false;
	json_incidents(whole, all, history_dir_of(a->history));
	answer_object(out, "incidents", whole, NULL, TOOL_BYTES_MAX);
	return true;
}

static const char *const names[] = { "findings", "explain", "stacks", "compare", "history", "incidents", NULL };
static bool (*const answers[])(const struct tool_call *a, GString *out, GError **error) = {
	answer_findings, answer_findings, answer_stacks, answer_compare, answer_findings, answer_incidents,
};
static const struct tool_options options = { .of_history = names };

/* Over HTTP no files of this host are read, only the history. */
static bool check_files(const struct tool_input *in, GError **error)
{
	if (in->values[PARAM_BEFORE] || in->values[PARAM_AFTER] ||
	    (in->values[PARAM_FILE] && strcmp(in->values[PARAM_FILE], TOOL_HISTORY) != 0))
		return bad(error, "no files are read here: leave it out, it is the history that is asked");
	return true;
}

/* For g_free(). */
static char *call(const struct request *r, struct history *h, const struct tool *tool, const char *arguments)
{
	g_autoptr(GString) out = g_string_new(NULL);
	g_autoptr(GError) error = NULL;
	struct tool_input in = { .options = &options };
	const struct tool_call tool_call = { r, h, &in };
	guint at = 0;
	bool ok;

	while (strcmp(names[at], tool->name) != 0)
		at++;
	ok = arguments_read(&in, tool, arguments, &error) && check_files(&in, &error) &&
	     answers[at](&tool_call, out, &error);
	arguments_clear(&in);
	if (!ok)
		return protocol_tool_error(error->message);
	g_string_truncate(out, out->len - (out->len && out->str[out->len - 1] == '\n'));
	return protocol_tool_answer(out->str);
}

static void call_tool(const struct request *r, struct history *h, const struct message *m, GString *out)
{
	g_autofree char *name = message_member_string(m->params, "name");
	g_autofree char *arguments = message_member_raw(m->params, "arguments");
	const struct tool *tool = tools_find(&options, name);

	/* for the line of --audit, which shows the queried address */
	if (tool)
		g_hash_table_replace(r->query, g_strdup("tool"), g_strdup(tool->name));
	g_autofree char *result = tool ? call(r, h, tool, arguments ? arguments : "{}") : NULL;

	if (result)
		protocol_answer(out, m->id, result);
	else
		protocol_error(out, m->id, MESSAGE_INVALID_PARAMS, "there is no tool of that name");
}

static void answer_message(const struct request *r, struct history *h, const struct message *m, GString *out)
{
	g_autofree char *result = NULL;
	enum message_error code = m->code;
	const char *why = m->why;

	if (m->kind == MESSAGE_REQUEST && strcmp(m->method, "tools/call") == 0) {
		call_tool(r, h, m, out);
		return;
	}
	if (m->kind == MESSAGE_REQUEST)
		result = protocol_result(&options, version_text(), m, &code, &why);
	if (result)
		protocol_answer(out, m->id, result);
	else
		protocol_error(out, m->id, code, why);
}

static bool answer_post(const struct request *r, void *ctx, struct answer *ret, GError **error)
{
	g_autoptr(GString) out = g_string_new(NULL);
	struct message m;

	if (r->mcp_revision && !protocol_speaks(r->mcp_revision))
		return bad(error, "MCP-Protocol-Version: that revision is not spoken here");
	message_read(&m, r->body ? r->body->str : "", r->body ? r->body->len : 0);
	/* notifications and responses need no answer, because no state is kept */
	ret->is_accepted = m.kind == MESSAGE_NOTIFICATION || m.kind == MESSAGE_RESPONSE;
	if (!ret->is_accepted)
		answer_message(r, ctx, &m, out);
	message_clear(&m);
	ret->body = g_string_free_to_bytes(g_steal_pointer(&out));
	return true;
}

const struct route mcp_route = { "mcp", "application/json", NULL, NULL, answer_post, ROUTE_POST };
