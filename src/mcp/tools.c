/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "mcp/tools.h"

#include <string.h>

#define STRING "{\"type\":\"string\"}"
#define INTEGER "{\"type\":\"integer\"}"
#define OBJECT "{\"type\":\"object\"}"
#define ARRAY_OF(type) "{\"type\":\"array\",\"items\":{\"type\":\"" type "\"}}"
#define THINGS "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"id\"],\"properties\":{\"id\":" STRING "}}}"
#define HEAD "{\"type\":\"object\",\"required\":[\"schema\",\"of\"],\"properties\":{" \
	     "\"schema\":{\"const\":\"offcpu.answer/1\"},\"of\":" STRING ","
#define TAIL "\"left_out\":{\"type\":\"object\",\"description\":\"items without room, by member\"," \
	     "\"additionalProperties\":" INTEGER "},\"next\":{\"type\":\"object\",\"required\":[\"cursor\"]," \
	     "\"properties\":{\"cursor\":" INTEGER ",\"pieces\":" INTEGER "}}}}"

/*
 * JSON schemas of what clients may rely on (docs/answers.md); answers may have more members. An answer to an id has
 * other members, so few are required.
 */
static const char schema_report[] = HEAD
	"\"file\":" STRING ",\"id\":" STRING ",\"recording\":" OBJECT ","
	"\"headlines\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"id\",\"sentence\"],"
	"\"properties\":{\"id\":" STRING ",\"sentence\":" STRING ",\"evidence\":" STRING ",\"advice\":" STRING "}}},"
	"\"little\":" STRING ",\"time\":" OBJECT ",\"stacks\":" THINGS ",\"processes\":" THINGS ",\"requests\":" THINGS ","
	"\"slowest\":" ARRAY_OF("object") ",\"on_cpu\":" ARRAY_OF("object") ",\"losses\":" ARRAY_OF("object") ","
	"\"other_findings\":" THINGS "," TAIL;

static const char schema_part[] = HEAD
	"\"file\":" STRING ",\"id\":" STRING ",\"stacks\":" THINGS ",\"requests\":" THINGS "," TAIL;

static const char schema_compare[] = HEAD
	"\"finding\":" STRING ",\"scaled_per\":" STRING ",\"before\":" OBJECT ",\"after\":" OBJECT ",\"total\":" OBJECT ","
	"\"by_reason\":" THINGS ",\"by_stack\":" THINGS "," TAIL;

static const char schema_doctor[] = HEAD
	"\"may_record\":{\"type\":\"boolean\"},\"missing\":" ARRAY_OF("object") ",\"features\":" ARRAY_OF("string") ",\"findings\":" ARRAY_OF("object") ",\"runtimes\":" ARRAY_OF("object") "," TAIL;

static const char schema_incidents[] = HEAD "\"incidents\":" THINGS ",\"none\":" STRING "," TAIL;

#define BIT(param) (1u << (param))

#define TEXT(name, help) { (name), (help), PARAM_TEXT, 0, 0 }

const struct param_kind param_kinds[PARAM_COUNT] = {
	[PARAM_FILE] = TEXT("file", "Path of a recording; \"history\": what the agent of this host kept, from and to being clock "
				    "times then. Left out: the last recording made here, or trace.offcpu"),
	[PARAM_BEFORE] = TEXT("before", "Path of the recording before the change; left out: the history"),
	[PARAM_AFTER] = TEXT("after", "Path of the recording after it; left out: another range of that one"),
	[PARAM_FROM] = TEXT("from", "Begin: a clock time (\"14:32\", \"2026-11-25T14:32:18\", \"yesterday 14:00\", \"-15m\"), or of a "
				    "file seconds into it (\"2.5\")"),
	[PARAM_TO] = TEXT("to", "End, the same"),
	[PARAM_BEFORE_FROM] = TEXT("before_from", "Begin of the range that is compared with; it is as long as the other one"),
	[PARAM_BEFORE_TO] = TEXT("before_to", "Its end"),
	[PARAM_PROCESS] = TEXT("process", "Only these processes or services: names or numbers, with commas"),
	[PARAM_THREAD] = TEXT("thread", "Only threads whose name matches this glob"),
	[PARAM_GREP] = TEXT("grep", "Only waits with a frame that matches this regular expression"),
	[PARAM_SERVICE] = TEXT("service", "Only this process or service, by name"),
	[PARAM_ID] = TEXT("id", "An id of an answer (\"wait-9551657e6c\"), or the name of an array of it, to have all of that"),
	[PARAM_CURSOR] = { "cursor", "The rest: \"cursor\" of \"next\" in the answer before", PARAM_NUMBER, 0, G_MAXUINT32 },
	[PARAM_TARGET] = TEXT("target", "A process, by number or name; left out: the whole machine"),
	[PARAM_SECONDS] = { "seconds", "How long", PARAM_NUMBER, 1, TOOL_SECONDS_MAX },
	[PARAM_INCIDENT] = TEXT("incident", "In place of the history what was put aside of it under that name, as incidents lists "
				"it; all of it unless from and to say less"),
	[PARAM_ON_CPU] = { "on_cpu", "Also what threads do on CPU, by samples", PARAM_FLAG, 0, 0 },
};

static void add_word(GPtrArray *words, const char *word)
{
	g_ptr_array_add(words, g_strdup(word));
}

static void add_value(GPtrArray *words, const char *option, const char *value)
{
	if (value)
		g_ptr_array_add(words, g_strconcat("--", option, "=", value, NULL));
}

static void begin(GPtrArray *words, const char *command, guint max_bytes)
{
	add_word(words, command);
	add_word(words, "--json=tool");
	g_ptr_array_add(words, g_strdup_printf("--max-bytes=%u", max_bytes));
}

static void add_range(GPtrArray *words, const struct tool_input *in)
{
	add_value(words, "from", in->values[PARAM_FROM]);
	add_value(words, "to", in->values[PARAM_TO]);
}

static void add_history(GPtrArray *words, const struct tool_input *in)
{
	if (in->options->history)
		add_value(words, "history", in->options->history);
	else
		add_word(words, "--history");
	add_value(words, "incident", in->values[PARAM_INCIDENT]);
}

/* "-" would mean standard input */
static void add_path(GPtrArray *words, const char *path)
{
	g_ptr_array_add(words, strcmp(path, "-") == 0 ? g_strdup("./-") : g_strdup(path));
}

static bool reads_history(const struct tool_input *in)
{
	return in->values[PARAM_INCIDENT] || g_strcmp0(in->values[PARAM_FILE], TOOL_HISTORY) == 0;
}

static void report_of(GPtrArray *words, const struct tool_input *in, const char *id, guint max_bytes)
{
	begin(words, "report", max_bytes);
	add_value(words, "id", id);
	add_value(words, "cursor", in->values[PARAM_CURSOR]);
	add_value(words, "pid", in->values[PARAM_PROCESS]);
	add_value(words, "comm", in->values[PARAM_THREAD]);
	add_value(words, "grep", in->values[PARAM_GREP]);
	add_range(words, in);
	if (reads_history(in)) {
		add_history(words, in);
	} else if (in->values[PARAM_FILE]) {
		add_word(words, "--");
		add_path(words, in->values[PARAM_FILE]);
	}
}

static void words_of_report(GPtrArray *words, const struct tool_input *in, guint max_bytes)
{
	report_of(words, in, in->values[PARAM_ID], max_bytes);
}

static void words_of_stacks(GPtrArray *words, const struct tool_input *in, guint max_bytes)
{
	report_of(words, in, "stacks", max_bytes);
}

static void words_of_requests(GPtrArray *words, const struct tool_input *in, guint max_bytes)
{
	report_of(words, in, "requests", max_bytes);
}

static void words_of_history(GPtrArray *words, const struct tool_input *in, guint max_bytes)
{
	begin(words, "report", max_bytes);
	add_value(words, "pid", in->values[PARAM_SERVICE]);
	add_range(words, in);
	add_history(words, in);
}

static void words_of_incidents(GPtrArray *words, const struct tool_input *in, guint max_bytes)
{
	begin(words, "report", max_bytes);
	add_word(words, "--incidents");
	add_history(words, in);
}

static void words_of_compare(GPtrArray *words, const struct tool_input *in, guint max_bytes)
{
	const char *before = in->values[PARAM_BEFORE], *after = in->values[PARAM_AFTER];

	begin(words, "diff", max_bytes);
	add_value(words, "id", in->values[PARAM_ID]);
	add_value(words, "cursor", in->values[PARAM_CURSOR]);
	add_value(words, "pid", in->values[PARAM_PROCESS]);
	add_range(words, in);
	add_value(words, "before-from", in->values[PARAM_BEFORE_FROM]);
	add_value(words, "before-to", in->values[PARAM_BEFORE_TO]);
	if (!before && !after) {
		add_history(words, in);
		return;
	}
	add_word(words, "--");
	if (before)
		add_path(words, before);
	if (after)
		add_path(words, after);
}

static void words_of_doctor(GPtrArray *words, const struct tool_input *in, guint max_bytes)
{
	begin(words, "doctor", max_bytes);
	add_word(words, "--no-test");
	add_value(words, "pid", in->values[PARAM_PROCESS]);
}

#define SOURCE PARAM_FILE, PARAM_FROM, PARAM_TO, PARAM_INCIDENT
#define FILTERS PARAM_PROCESS, PARAM_THREAD, PARAM_GREP

static const enum param of_findings[] = { SOURCE, FILTERS, PARAM_COUNT };
static const enum param of_explain[] = { PARAM_ID, PARAM_CURSOR, SOURCE, FILTERS, PARAM_COUNT };
static const enum param of_stacks[] = { SOURCE, FILTERS, PARAM_CURSOR, PARAM_COUNT };
static const enum param of_requests[] = { SOURCE, PARAM_CURSOR, PARAM_COUNT };
static const enum param of_history[] = { PARAM_FROM, PARAM_TO, PARAM_INCIDENT, PARAM_SERVICE, PARAM_COUNT };
static const enum param of_incidents[] = { PARAM_COUNT };
static const enum param of_compare[] = { PARAM_BEFORE, PARAM_AFTER, PARAM_FROM, PARAM_TO, PARAM_BEFORE_FROM,
					 PARAM_BEFORE_TO, PARAM_PROCESS, PARAM_ID, PARAM_CURSOR, PARAM_COUNT };
static const enum param of_doctor[] = { PARAM_PROCESS, PARAM_COUNT };
static const enum param of_record[] = { PARAM_TARGET, PARAM_SECONDS, PARAM_ON_CPU, PARAM_COUNT };

static const struct tool tools[] = {
	{ "findings", "Findings of a recording",
	  "Begin here. What the threads of a recording waited for: the headlines with evidence and advice, the stacks behind "
	  "them, times of the processes. Each item has an id for explain. Shares are of the time that matters (off CPU and not "
	  "idle); \"little\" in place of headlines: the program is healthy, or idle.",
	  of_findings, 0, schema_report, words_of_report, false },
	{ "explain", "One finding, stack or process in full",
	  "All that is known of one id of an answer to the same file and filters: whole stacks, threads, who woke or held it. Where "
	  "the answer has \"next\", its cursor gives the rest. An array's name as id (\"headlines\", \"stacks\", \"processes\", "
	  "\"requests\", \"on_cpu\", \"losses\", \"other_findings\") gives what \"left_out\" counts.",
	  of_explain, BIT(PARAM_ID), schema_part, words_of_report, false },
	{ "stacks", "Stacks of waits, the heaviest first",
	  "All waits by thread name, reason and place, with frames (the innermost first), page by page; filters choose.",
	  of_stacks, 0, schema_part, words_of_stacks, false },
	{ "compare", "What changed between two recordings",
	  "Two recordings, or without them two ranges of the history: which reasons and stacks changed by more than noise. The "
	  "ids are for the id of this tool. \"by_reason\" and \"by_stack\" as id: all rows.",
	  of_compare, 0, schema_compare, words_of_compare, false },
	{ "requests", "Requests of a recording",
	  "Of a recording made by `offcpu request`: latency of each function's requests, what they spent their time on, what is "
	  "different in the slowest 1%, and the slowest ones.",
	  of_requests, 0, schema_part, words_of_requests, false },
	{ "history", "Findings of the past",
	  "As findings, of what the agent of this host kept; the last hour unless from or to say more. Go deeper by explain "
	  "with file \"history\" and the same from and to.",
	  of_history, 0, schema_report, words_of_history, false },
	{ "incidents", "Times that were put aside",
	  "Windows of the history that an alert or somebody put aside, which stay when the history has forgotten them: when, how "
	  "long, what the alert said, the first headline. id is the incident of findings, history, stacks and explain.",
	  of_incidents, 0, schema_incidents, words_of_incidents, false },
	{ "doctor", "What can be recorded here",
	  "What this kernel and these rights allow; of a process: its runtime, and what its stacks and names lack.",
	  of_doctor, 0, schema_doctor, words_of_doctor, false },
	{ "record", "Record a program",
	  "Traces where threads spend the time they are not running, for up to 60 seconds, and gives the findings. \"file\" of the "
	  "answer names the recording for the other tools; it is deleted when this server ends.",
	  of_record, BIT(PARAM_SECONDS), schema_report, words_of_report, true },
};

bool tool_takes(const struct tool *tool, enum param param)
{
	const enum param *at = tool->params;

	while (*at != PARAM_COUNT && *at != param)
		at++;
	return *at == param;
}

static bool is_allowed(const struct tool_options *options, const struct tool *tool)
{
	return options->of_history ? g_strv_contains(options->of_history, tool->name)
				   : !tool->records || options->allows_recording;
}

const struct tool *tools_find(const struct tool_options *options, const char *name)
{
	for (guint i = 0; name && i < G_N_ELEMENTS(tools); i++)
		if (strcmp(tools[i].name, name) == 0)
			return is_allowed(options, &tools[i]) ? &tools[i] : NULL;
	return NULL;
}

static void write_param(struct json *j, const struct param_kind *kind)
{
	static const char *const types[] = { "string", "integer", "boolean" };

	json_member_object(j, kind->name);
	JSON(j, "type", types[kind->type], "description", kind->help);
	if (kind->type == PARAM_NUMBER) {
		JSON(j, "minimum", kind->min, "maximum", kind->max);
	}
	json_object_end(j);
}

static bool names_file(enum param param)
{
	return param == PARAM_FILE || param == PARAM_BEFORE || param == PARAM_AFTER;
}

static void write_input(struct json *j, const struct tool *tool, const struct tool_options *options)
{
	json_member_object(j, "inputSchema");
	json_member_string(j, "type", "object");
	json_member_object(j, "properties");
	for (const enum param *param = tool->params; *param != PARAM_COUNT; param++)
		if (!options->of_history || !names_file(*param))
			write_param(j, &param_kinds[*param]);
	json_object_end(j);
	if (tool->required) {
		json_member_array(j, "required");
		for (unsigned param = 0; param < PARAM_COUNT; param++)
			if (tool->required & BIT(param))
				json_string(j, param_kinds[param].name);
		json_array_end(j);
	}
	json_member_bool(j, "additionalProperties", false);
	json_object_end(j);
}

static void write_tool(struct json *j, const struct tool *tool, const struct tool_options *options)
{
	JSON(j, "name", tool->name, "title", tool->title, "description", tool->description);
	write_input(j, tool, options);
	json_key(j, "outputSchema");
	json_raw(j, tool->schema, strlen(tool->schema));
	json_member_object(j, "annotations");
	JSON(j, "readOnlyHint", (bool)(!tool->records), "destructiveHint", (bool)false);
	JSON(j, "idempotentHint", (bool)(!tool->records), "openWorldHint", (bool)false);
	json_object_end(j);
}

void tools_write(struct json *j, const struct tool_options *options)
{
	json_array_begin(j);
	for (guint i = 0; i < G_N_ELEMENTS(tools); i++)
		if (is_allowed(options, &tools[i]))
			JSON_IN(j, write_tool(j, &tools[i], options));
	json_array_end(j);
}
