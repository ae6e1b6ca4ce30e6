/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef MCP_PROTOCOL_H
#define MCP_PROTOCOL_H

#include <glib.h>
#include <stdbool.h>

#include "base/json_read.h"
#include "mcp/tools.h"
#include "render/json/write.h"

/* JSON-RPC 2.0 as the Model Context Protocol uses it: one message a line, no batches. The sender is not trusted. */

#define MESSAGE_BYTES_MAX (256u << 10)
#define MESSAGE_ID_MAX 256	/* max bytes of an id or a progress token, as JSON */

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
	MESSAGE_RESPONSE,	/* we send no requests, so these are ignored */
	MESSAGE_BAD,		/* answered by an error with `code` and `why` */
};

struct message {
	enum message_kind kind;
	char *id;	/* as JSON, for the answer; NULL: it could not be read */
	char *method;
	char *params;	/* a JSON object; "{}" if there are none */
	enum message_error code;
	const char *why;
};

/* Fills *m for any line. Free with message_clear(). */
void message_read(struct message *m, const char *line, gsize len);
void message_clear(struct message *m);

/* Is it one JSON value in UTF-8 on one line? Then it can be embedded in other JSON. */
bool message_is_json(const char *text, gsize len);
/*
 * The member of a valid JSON object, for g_free(): raw, or the text of a string. NULL: not an object, no such member,
 * or (of _string) not a string.
 */
char *message_member_raw(const char *object, const char *key);
char *message_member_string(const char *object, const char *key);
/* The raw id, which must be a string or an integer of at most MESSAGE_ID_MAX bytes. */
char *message_member_id(const char *object, const char *key);

/* The Model Context Protocol above the transport: lists, resources, and the form of answers. */

/* Do we speak this revision of the protocol? */
bool protocol_speaks(const char *revision);

/* The result of a request other than tools/call, as JSON, for g_free(). NULL: error *ret_code, *ret_why. */
char *protocol_result(const struct tool_options *options, const char *version, const struct message *m,
		      enum message_error *ret_code, const char **ret_why);

/* Append a message and a newline. id, result: as JSON; id NULL: the id could not be read. */
void protocol_answer(GString *out, const char *id, const char *result);
void protocol_error(GString *out, const char *id, enum message_error code, const char *why);

/* The result of a tool call, for g_free(), from its JSON answer or from an error's sentence. */
char *protocol_tool_answer(const char *answer);
char *protocol_tool_error(const char *sentence);

/* The documents that explain answers, one resource a section: a whole document is too long for a client to read. */

/* Writes the array of resources/list. */
void resources_write(struct json *j);
/* Writes the array "contents" of resources/read. False: no such resource; nothing is written. */
bool resources_write_one(struct json *j, const char *uri);

#endif
