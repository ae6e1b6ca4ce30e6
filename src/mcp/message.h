/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef MCP_MESSAGE_H
#define MCP_MESSAGE_H

#include <glib.h>
#include <stdbool.h>

#include "base/json_read.h"

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

#endif
