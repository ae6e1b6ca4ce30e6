/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <glib.h>
#include <string.h>

#include "abi/unwind_abi.h"
#include "base/find.h"
#include "runtimes/node/names.h"
#include "symbolize/process/maps.h"
#include "symbolize/runtime/memory.h"
#include "symbolize/runtime/variables.h"

#define OFFSET_MAX 512
#define WORD 8
#define SCOPE_FIRST_MAX 5	/* maximum number of words in a ScopeInfo before its locals */

/* Constants on which this code relies. */
struct expected {
	const char *name;
	int32_t value;
};

static const struct expected expected[] = {
	{ "v8dbg_HeapObjectTag", 1 },
	{ "v8dbg_SmiShiftSize", 31 },
	{ "v8dbg_SmiValueShift", 1 },
	{ "v8dbg_off_fp_context", UNWIND_V8_CONTEXT },
	{ "v8dbg_off_fp_function", UNWIND_V8_FUNCTION },
};

/* Likewise for inline.c, whose layout is that of one version; without it everything else still works. */
static const struct expected expected_inlined[] = {
	{ "_ZN2v88internal7Version6major_E", 11 },
	{ "_ZN2v88internal7Version6minor_E", 3 },
	{ "v8dbg_class_Code__deoptimization_data__FixedArray", V8_CODE_DEOPTS },
	{ "v8dbg_class_InstructionStream__instruction_start__uintptr_t", V8_STREAM_HEAD_BYTES },
	{ "v8dbg_class_FixedArray__data__uintptr_t", V8_ARRAY_DATA },
	{ "v8dbg_class_FixedArrayBase__length__SMI", V8_ARRAY_LENGTH },
	{ "v8dbg_DeoptimizationDataLiteralArrayIndex", V8_DEOPTS_LITERALS },
	{ "v8dbg_DeoptimizationDataSharedFunctionInfoIndex", V8_DEOPTS_FUNCTION },
	{ "v8dbg_type_Code__CODE_TYPE", V8_TYPE_CODE },
	{ "v8dbg_type_InstructionStream__INSTRUCTION_STREAM_TYPE", V8_TYPE_STREAM },
	{ "v8dbg_type_FixedArray__FIXED_ARRAY_TYPE", V8_TYPE_ARRAY },
	{ "v8dbg_type_WeakFixedArray__WEAK_FIXED_ARRAY_TYPE", V8_TYPE_WEAK_ARRAY },
	{ "v8dbg_type_ByteArray__BYTE_ARRAY_TYPE", V8_TYPE_BYTES },
};

#define NAMES_MAX 3

/* A number, by its names in different versions. */
struct wanted {
	const char *names[NAMES_MAX];
	size_t at;	/* offset in struct v8 */
	bool is_word;	/* a multiple of 8 */
};

#define TYPE(name, field) { { "v8dbg_" name }, offsetof(struct v8, type.field), false }
#define PLACE(name, field) { { "v8dbg_class_" name }, offsetof(struct v8, field), true }
#define PLACE_OR(name, other, another, field)                                                                          \
	{                                                                                                              \
		{ "v8dbg_class_" name, "v8dbg_class_" other, "v8dbg_class_" another }, offsetof(struct v8, field), true      \
	}
#define NUMBER(name, field) { { "v8dbg_" name }, offsetof(struct v8, field), false }

static const struct wanted wanted[] = {
	TYPE("type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", function),
	TYPE("type_Script__SCRIPT_TYPE", script),
	TYPE("type_ScopeInfo__SCOPE_INFO_TYPE", scope),
	TYPE("StringRepresentationMask", representation),
	TYPE("OneByteStringTag", one_byte),
	TYPE("SeqStringTag", sequential),
	TYPE("ConsStringTag", cons),
	TYPE("ExternalStringTag", external),
	TYPE("SlicedStringTag", sliced),
	TYPE("ThinStringTag", thin),
	PLACE("HeapObject__map__Map", map),
	NUMBER("class_Map__instance_type__uint16_t", map_type),
	PLACE("JSFunction__shared__SharedFunctionInfo", function_shared),
	/* Node 18 and 20, 22, 24 */
	PLACE_OR("SharedFunctionInfo__name_or_scope_info__Object",
		 "SharedFunctionInfo__name_or_scope_info__Tagged_Object_",
		 "SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_", shared_name),
	PLACE_OR("SharedFunctionInfo__script_or_debug_info__HeapObject",
		 "SharedFunctionInfo__script__Tagged_HeapObject_", "SharedFunctionInfo__raw_script__Tagged_Object_",
		 shared_script),
	NUMBER("class_SharedFunctionInfo__flags__int", shared_number),
	PLACE("Script__name__Object", script_name),
	PLACE("Script__source__Object", script_source),
	NUMBER("class_String__length__int32_t", string_length),
	PLACE("SeqOneByteString__chars__char", one_byte_chars),
	PLACE("SeqTwoByteString__chars__char", two_byte_chars),
	PLACE("ConsString__first__String", cons_first),
	PLACE("ConsString__second__String", cons_second),
	PLACE("SlicedString__parent__String", sliced_parent),
	PLACE("SlicedString__offset__SMI", sliced_offset),
	PLACE("ThinString__actual__String", thin_actual),
	PLACE("ExternalString__resource__Object", external_resource),
	NUMBER("scopeinfo_idx_ncontextlocals", scope_locals),
	NUMBER("scopeinfo_idx_first_vars", scope_first),
};

#define VARIABLES (G_N_ELEMENTS(expected) + G_N_ELEMENTS(expected_inlined) + G_N_ELEMENTS(wanted) * NAMES_MAX)

/* The file's first mapping, which relocates its symbols. */
static bool find_symbols(const char *proc_dir, uint32_t pid, struct variable variables[VARIABLES])
{
	g_autofree char *text = living_maps(proc_dir, pid, MAPS_TEXT_MAX);
	g_autoptr(GArray) lines = text ? maps_parse(text) : NULL;

	EACH_ROW_OF(i, const struct maps_line, line, lines)
		if (line->inode && runtime_of_file(line->path) == RUNTIME_NODE)
			return variables_find(proc_dir, pid, line, variables, VARIABLES);
	return false;
}

static bool read_number(uint32_t pid, const struct variable *variable, int32_t *ret)
{
	return variable->addr && memory_read(pid, variable->addr, ret, sizeof(*ret));
}

static bool read_wanted(struct v8 *v, const struct wanted *w, const struct variable *variables)
{
	int32_t number;
	uint16_t field;

	for (size_t i = 0; i < NAMES_MAX; i++) {
		if (!read_number(v->pid, &variables[i], &number))
			continue;
		if (number < 0 || (w->is_word && (number > OFFSET_MAX || number % WORD)) || number > UINT16_MAX)
			return false;
		field = (uint16_t)number;
		memcpy((uint8_t *)v + w->at, &field, sizeof(field));
		return true;
	}
	return false;
}

static bool are_expected(uint32_t pid, const struct expected *e, size_t cnt, const struct variable *variables)
{
	int32_t number;

	for (size_t i = 0; i < cnt; i++)
		if (!read_number(pid, &variables[i], &number) || number != e[i].value)
			return false;
	return true;
}

static void name_variables(struct variable variables[VARIABLES])
{
	struct variable *next = variables;

	for (size_t i = 0; i < G_N_ELEMENTS(expected); i++)
		*next++ = (struct variable){ .name = expected[i].name };
	for (size_t i = 0; i < G_N_ELEMENTS(expected_inlined); i++)
		*next++ = (struct variable){ .name = expected_inlined[i].name };
	for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++)
		for (size_t k = 0; k < NAMES_MAX; k++)
			*next++ = (struct variable){ .name = wanted[i].names[k] ? wanted[i].names[k] : "" };
}

bool v8_open(struct v8 *v, const char *proc_dir, uint32_t pid)
{
	struct variable variables[VARIABLES], *next = variables;

	*v = (struct v8){ .pid = pid };
#ifndef __x86_64__
	return false;
#endif
	name_variables(variables);
	if (!find_symbols(proc_dir, pid, variables) || !are_expected(pid, expected, G_N_ELEMENTS(expected), next))
		return false;
	next += G_N_ELEMENTS(expected);
	v->has_inlined = are_expected(pid, expected_inlined, G_N_ELEMENTS(expected_inlined), next);
	next += G_N_ELEMENTS(expected_inlined);
	for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++, next += NAMES_MAX)
		if (!read_wanted(v, &wanted[i], next))
			return false;
	v->shared_number += 4;	/* the number follows the flags */
	return v->shared_number <= OFFSET_MAX && v->scope_first <= SCOPE_FIRST_MAX &&
	       v->scope_locals < v->scope_first && v->map_type <= OFFSET_MAX && v->string_length <= OFFSET_MAX;
}

bool v8_read_word(const struct v8 *v, uint64_t object, uint64_t at, uint64_t *ret)
{
	return v8_is_object(object) && memory_read(v->pid, object - 1 + at, ret, sizeof(*ret));
}

int v8_type_of(const struct v8 *v, uint64_t object)
{
	uint64_t map;
	uint16_t type;

	if (!v8_read_word(v, object, v->map, &map) || !v8_is_object(map) ||
	    !memory_read(v->pid, map - 1 + v->map_type, &type, sizeof(type)))
		return -1;
	return type;
}
