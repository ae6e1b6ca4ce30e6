/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef MCP_TOOLS_H
#define MCP_TOOLS_H

#include "render/json/write.h"

/*
 * The tools that a client may call. Each is a command of ours with --json=tool in a process of its own, so a hostile
 * recording can only crash that process.
 */

#define TOOL_BYTES_MAX 8192	/* max size of an answer */
#define TOOL_HISTORY "history"	/* a file name that means the agent's history */
#define TOOL_SECONDS_MAX 60	/* max length of a recording */

enum param {
	PARAM_FILE,
	PARAM_BEFORE,
	PARAM_AFTER,
	PARAM_FROM,
	PARAM_TO,
	PARAM_BEFORE_FROM,
	PARAM_BEFORE_TO,
	PARAM_PROCESS,
	PARAM_THREAD,
	PARAM_GREP,
	PARAM_SERVICE,
	PARAM_ID,
	PARAM_CURSOR,
	PARAM_TARGET,
	PARAM_SECONDS,
	PARAM_ON_CPU,
	PARAM_INCIDENT,
	PARAM_COUNT
};

enum param_type { PARAM_TEXT, PARAM_NUMBER, PARAM_FLAG };

struct param_kind {
	const char *name, *help;
	enum param_type type;
	guint64 min, max;	/* limits of a number */
};
extern const struct param_kind param_kinds[PARAM_COUNT];

struct tool_options {
	const char *history;	/* the folder; NULL: the agent's default */
	/* If not NULL: only these tools are offered, and they read the history alone. NULL-terminated. */
	const char *const *of_history;
	bool allows_recording;
};

/* The parameters of a call, by enum param. NULL: not given. */
struct tool_input {
	const struct tool_options *options;
	char *values[PARAM_COUNT];
};

struct tool {
	const char *name, *title, *description;
	const enum param *params;	/* terminated by PARAM_COUNT */
	unsigned required;		/* bits of enum param */
	const char *schema;		/* JSON schema of the answer */
	/* Appends the command's arguments, for g_free(). The command's answer has at most max_bytes. */
	void (*words)(GPtrArray *words, const struct tool_input *in, guint max_bytes);
	bool records;
};

/* NULL: no such tool, or it is not allowed. */
const struct tool *tools_find(const struct tool_options *options, const char *name);
/* Writes the array of tools/list. */
void tools_write(struct json *j, const struct tool_options *options);
bool tool_takes(const struct tool *tool, enum param param);

#define ARGUMENT_TEXT_MAX 4096	/* bytes */

/*
 * Reads the arguments, a valid JSON object, into in->values. False with an error for the caller. Call
 * arguments_clear() in either case.
 */
bool arguments_read(struct tool_input *in, const struct tool *tool, const char *object, GError **error);
void arguments_clear(struct tool_input *in);

#endif
