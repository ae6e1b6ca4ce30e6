/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "mcp/schemas.h"

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

const char schema_report[] = HEAD
	"\"file\":" STRING ",\"id\":" STRING ",\"recording\":" OBJECT ","
	"\"headlines\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"id\",\"sentence\"],"
	"\"properties\":{\"id\":" STRING ",\"sentence\":" STRING ",\"evidence\":" STRING ",\"advice\":" STRING "}}},"
	"\"little\":" STRING ",\"time\":" OBJECT ",\"stacks\":" THINGS ",\"processes\":" THINGS ",\"requests\":" THINGS ","
	"\"slowest\":" ARRAY_OF("object") ",\"on_cpu\":" ARRAY_OF("object") ",\"losses\":" ARRAY_OF("object") ","
	"\"other_findings\":" THINGS "," TAIL;

const char schema_part[] = HEAD
	"\"file\":" STRING ",\"id\":" STRING ",\"stacks\":" THINGS ",\"requests\":" THINGS "," TAIL;

const char schema_compare[] = HEAD
	"\"finding\":" STRING ",\"scaled_per\":" STRING ",\"before\":" OBJECT ",\"after\":" OBJECT ",\"total\":" OBJECT ","
	"\"by_reason\":" THINGS ",\"by_stack\":" THINGS "," TAIL;

const char schema_doctor[] = HEAD
	"\"may_record\":{\"type\":\"boolean\"},\"missing\":" ARRAY_OF("object") ",\"features\":" ARRAY_OF("string") ",\"findings\":" ARRAY_OF("object") ",\"runtimes\":" ARRAY_OF("object") "," TAIL;

const char schema_incidents[] = HEAD "\"incidents\":" THINGS ",\"none\":" STRING "," TAIL;
