/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef MCP_PROTOCOL_H
#define MCP_PROTOCOL_H

#include <glib.h>
#include <stdbool.h>

#include "base/json_read.h"
#include "mcp/tools.h"
#include "render/json/write.h"

/* JSON-RPC 2.0 as the Model Context Protocol has it: one message a line, no batches, from who may be anybody. */

#define MESSAGE_BYTES_MAX (256u << 10)
#define MESSAGE_ID_MAX 256	/* bytes of an id or of a progress token, as JSON */

enum message_error {
	MESSAGE_PARSE_ERROR = -32700,
	MESSAGE_INVALID_REQUEST = -32600,
	MESSAGE_NO_METHOD = -32601,
	MESSAGE_INVALID_PARAMS = -32602,
	MESSAGE_NO_RESOURCE = -32002,
};

enum message_kind {
	MESSAGE_REQUEST,
	MESSAGE_NOTIFICATION,
	MESSAGE_RESPONSE,	/* to us, who ask nothing */
	MESSAGE_BAD,		/* it gets an error: `code` and `why` */
};

struct message {
	enum message_kind kind;
	char *id;	/* as JSON, which is how it is given back; NULL: none could be read */
	char *method;
	char *params;	/* as JSON, an object; "{}" where there are none */
	enum message_error code;
	const char *why;
};

/* Fills *m whatever the line is; for message_clear(). */
void message_read(struct message *m, const char *line, gsize len);
void message_clear(struct message *m);

/* One JSON value in UTF-8 on one line: it may be put into another text as it stands. */
bool message_is_json(const char *text, gsize len);
/*
 * The value of that member of an object, which is valid JSON, as it stands, or where it is a string its text; NULL: it has
 * none, is no object, or that is no string.  For g_free().
 */
char *message_member_raw(const char *object, const char *key);
char *message_member_string(const char *object, const char *key);
/* The same of an id: a string or a whole number of at most MESSAGE_ID_MAX bytes, as it stands. */
char *message_member_id(const char *object, const char *key);

/* What the Model Context Protocol says whichever way messages come: lists, resources, and the form of each answer. */

/* Is that a revision we speak? */
bool protocol_speaks(const char *revision);

/* The result of a request other than tools/call, as JSON, for g_free(); NULL: it is the error *ret_code, *ret_why. */
char *protocol_result(const struct tool_options *options, const char *version, const struct message *m,
		      enum message_error *ret_code, const char **ret_why);

/* Append a message and a newline.  id, result: as JSON; id NULL: it could not be read. */
void protocol_answer(GString *out, const char *id, const char *result);
void protocol_error(GString *out, const char *id, enum message_error code, const char *why);

/* The result of a tool, for g_free(): of its answer, which is JSON; or of the sentence that says what went wrong. */
char *protocol_tool_answer(const char *answer);
char *protocol_tool_error(const char *sentence);

/* The documents that say what answers mean, a resource for each section: whole ones are too much to read at once. */

/* The array of resources/list. */
void resources_write(struct json *j);
/* Writes the array "contents" of resources/read; false: there is no such resource, and nothing is written. */
bool resources_write_one(struct json *j, const char *uri);

#endif
