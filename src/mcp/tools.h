/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef MCP_TOOLS_H
#define MCP_TOOLS_H

#include "render/json/write.h"

/*
 * What a client may ask for: tools, each of which is a command of ours with --json=tool, run as a process of its own.  So
 * what a hostile recording does to a reader ends with that reader.
 */

#define TOOL_BYTES_MAX 8192	/* of an answer */
#define TOOL_HISTORY "history"	/* the file that is none: what the agent kept */
#define TOOL_SECONDS_MAX 60	/* of a recording */

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
	guint64 min, max;	/* of a number */
};
extern const struct param_kind param_kinds[PARAM_COUNT];

struct tool_options {
	const char *history;	/* the folder; NULL: where the agent keeps it */
	/* Names of tools, which are all there are and read the history alone; NULL ends them.  NULL: all, and files too. */
	const char *const *of_history;
	bool allows_recording;
};

/* Of a call: what was given, by enum param; NULL: it was not. */
struct tool_input {
	const struct tool_options *options;
	char *values[PARAM_COUNT];
};

struct tool {
	const char *name, *title, *description;
	const enum param *params;	/* PARAM_COUNT ends it */
	unsigned required;		/* bits of enum param */
	const char *schema;		/* of the answer */
	/* Appends the words of the command that answers, in at most so many bytes; each for g_free(). */
	void (*words)(GPtrArray *words, const struct tool_input *in, guint max_bytes);
	bool records;
};

/* NULL: there is none of that name, or it is not allowed. */
const struct tool *tools_find(const struct tool_options *options, const char *name);
/* The array of tools/list. */
void tools_write(struct json *j, const struct tool_options *options);
bool tool_takes(const struct tool *tool, enum param param);

/*
 * JSON schemas of the answers, as far as a client may rely on them (docs/answers.md): more members may come.  An answer to
 * an id has members of its own, so little is required.
 */
extern const char schema_report[], schema_part[], schema_compare[], schema_doctor[], schema_incidents[];

#define ARGUMENT_TEXT_MAX 4096	/* bytes */

/*
 * Reads the arguments of a call, an object that is valid JSON, into in->values.  False with a sentence that tells the
 * caller what is wanted; for arguments_clear() all the same.
 */
bool arguments_read(struct tool_input *in, const struct tool *tool, const char *object, GError **error);
void arguments_clear(struct tool_input *in);

#endif
