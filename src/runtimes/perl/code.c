/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/each.h"
#include "base/find.h"
#include "symbolize/runtime/language.h"

#include <string.h>

#include "symbolize/process/maps.h"
#include "symbolize/runtime/memory.h"
#include "symbolize/runtime/thread_layout.h"
#include "symbolize/runtime/variables.h"

#define TEXT_MAX 1024
#define NAME_MAX_BYTES 4096

/* The same in all known versions, for builds with threads. */
#define INTERPRETER_STATEMENT 208	/* curcop, curstack, curstackinfo */
#define INTERPRETER_STACK 216
#define INTERPRETER_STACKS 224
#define SV_BODY 0		/* any value: its body, its flags */
#define SV_FLAGS 12
#define SV_BYTES 24
#define TYPE_MASK 0xff
#define TYPE_GV 9
#define TYPE_CV 13
#define TYPE_FORMAT 14
#define TYPE_HASH 12
#define CV_PACKAGE 32		/* in bodies */
#define GV_NAME 32
#define GV_PACKAGE 40
#define PACKAGE_NAME 32		/* may also be a list of names */
#define PACKAGE_NAMES 60
#define KEY_BYTES 4		/* HEK: length, then bytes */
#define KEY_TEXT 8
#define COP_FILE 48
#define CONTEXT_BYTES 104
#define CONTEXT_RETURN 48
#define CONTEXT_FUNCTION 72

static bool is_known(uint32_t version)
{
	static const uint32_t minors[] = { 36, 38, 40 };

	return ANY(x, minors, version == OFFCPU_LANGUAGE_VERSION(OFFCPU_LANGUAGE_PERL, 5, *x));
}

struct perl_code {
	GStringChunk *strings;
};

struct perl_code *perl_code_new(void)
{
	struct perl_code *p = g_new0(struct perl_code, 1);

	p->strings = g_string_chunk_new(4096);
	return p;
}

FREES(perl_code_free, struct perl_code, p, g_string_chunk_free(p->strings))

/* The body of a value, and its type. 0: unreadable. */
static uint64_t body_of(uint32_t pid, uint64_t addr, uint32_t *ret_type)
{
	uint8_t head[SV_BYTES];

	if (!addr || addr & 7 || !memory_read(pid, addr, head, sizeof(head)))
		return 0;
	*ret_type = memory_half(head, SV_FLAGS) & TYPE_MASK;
	return memory_word(head, SV_BODY);
}

/* The key that a pointer refers to. NULL: no text there. */
static char *read_key(uint32_t pid, uint64_t pointer_at)
{
	uint64_t addr;
	int32_t len;
	char bytes[TEXT_MAX + 1];

	if (!memory_read(pid, pointer_at, &addr, sizeof(addr)) || !addr ||
	    !memory_read(pid, addr + KEY_BYTES, &len, sizeof(len)) || len <= 0)
		return NULL;
	len = MIN(len, TEXT_MAX);
	if (!memory_read(pid, addr + KEY_TEXT, bytes, (size_t)len))
		return NULL;
	bytes[len] = '\0';
	return g_utf8_make_valid(bytes, -1);
}

/* NULL: none, or "main", the default package. */
static char *read_package(uint32_t pid, uint64_t pointer_at)
{
	uint64_t addr, body, names;
	int32_t name_cnt;
	uint32_t type;
	char *name;

	if (!memory_read(pid, pointer_at, &addr, sizeof(addr)))
		return NULL;
	body = body_of(pid, addr, &type);
	if (!body || type != TYPE_HASH || !memory_read(pid, body + PACKAGE_NAMES, &name_cnt, sizeof(name_cnt)) ||
	    !memory_read(pid, body + PACKAGE_NAME, &names, sizeof(names)))
		return NULL;
	name = read_key(pid, name_cnt ? names : body + PACKAGE_NAME);
	if (name && !strcmp(name, "main"))
		g_clear_pointer(&name, g_free);
	return name;
}

/* "Shop::Price::fetch". NULL: no function there any more. */
static char *read_function(uint32_t pid, uint64_t code)
{
	uint32_t type = 0;
	uint64_t body = body_of(pid, code, &type);
	bool has_name = type == TYPE_CV || type == TYPE_FORMAT;
	g_autofree char *name = NULL, *package = NULL;

	if (!body || (type != TYPE_GV && !has_name))
		return NULL;
	name = read_key(pid, body + (has_name ? OFFCPU_PERL_NAME_AT : GV_NAME));
	package = name ? read_package(pid, body + (has_name ? CV_PACKAGE : GV_PACKAGE)) : NULL;
	return package ? g_strdup_printf("%s::%s", package, name) : g_steal_pointer(&name);
}

/*
 * The file of the frame's statement, unless another one has replaced it. The number of an evaluated text is omitted.
 */
static char *read_file(const struct language_place *place)
{
	char text[TEXT_MAX + 1];
	uint64_t addr;
	uint32_t line;

	if (!place->instr || place->instr & 7 ||
	    !memory_read(place->pid, place->instr + OFFCPU_PERL_LINE_AT, &line, sizeof(line)) ||
	    line != place->hashes || !memory_read(place->pid, place->instr + COP_FILE, &addr, sizeof(addr)) || !addr ||
	    !memory_text(place->pid, addr, text, sizeof(text)) || !*text)
		return NULL;
	return g_str_has_prefix(text, "(eval ") ? g_strdup("(eval)") : g_utf8_make_valid(text, -1);
}

bool perl_code_name(struct perl_code *p, const struct language_place *place, struct language_frame *ret)
{
	static const char *const others[] = {
		[OFFCPU_PERL_MAIN / 8] = "{main}", [OFFCPU_PERL_EVAL / 8] = "{eval}", [OFFCPU_PERL_REQUIRE / 8] = "{require}",
		[OFFCPU_PERL_SORT / 8] = "{sort}"
	};
	g_autofree char *name = NULL, *file = NULL;

	if (!is_known(place->version))
		return false;
	if (place->code / 8 < G_N_ELEMENTS(others))
		name = g_strdup(others[place->code / 8]);
	else
		name = read_function(place->pid, place->code);
	if (!name)
		return false;
	file = read_file(place);
	*ret = (struct language_frame){ .name = g_string_chunk_insert_const(p->strings, name),
					.file = file ? g_string_chunk_insert_const(p->strings, file) : NULL };
	if (file)
		ret->line = MIN(place->hashes, (uint32_t)INT32_MAX);
	return true;
}

/* ---- finding the interpreter */

struct found {
	uint32_t version;
	uint64_t key_at, interpreter_at;
};

static void look_at_file(struct found *f, const char *proc_dir, uint32_t pid, const struct maps_line *line)
{
	struct variable wanted[] = { { "PL_version", 0 }, { "PL_thr_key", 0 }, { "PL_curinterp", 0 } };
	uint8_t minor;

	if (!variables_find(proc_dir, pid, line, wanted, G_N_ELEMENTS(wanted)) || !wanted[0].addr || !wanted[1].addr ||
	    !wanted[2].addr || !memory_read(pid, wanted[0].addr, &minor, sizeof(minor)))
		return;
	*f = (struct found){ OFFCPU_LANGUAGE_VERSION(OFFCPU_LANGUAGE_PERL, 5, minor), wanted[1].addr, wanted[2].addr };
}

/* Checks the offsets on the first interpreter, which keeps running. */
static bool has_known_layout(uint32_t pid, uint64_t interpreter_at)
{
	uint64_t interpreter, stack, stacks;
	struct {
		uint64_t stack, contexts, outer, inner;
		int32_t last, max;
	} top;

	return memory_read(pid, interpreter_at, &interpreter, sizeof(interpreter)) && interpreter &&
	       memory_read(pid, interpreter + INTERPRETER_STACK, &stack, sizeof(stack)) &&
	       memory_read(pid, interpreter + INTERPRETER_STACKS, &stacks, sizeof(stacks)) &&
	       memory_read(pid, stacks, &top, sizeof(top)) && top.stack == stack && top.contexts && top.last >= -1 &&
	       top.last <= top.max;
}

enum language_state perl_look(const char *proc_dir, uint32_t pid, const GArray *lines, struct offcpu_language *ret)
{
	struct thread_layout threads = { 0 };
	struct found f = { 0 };
	struct offcpu_language found;
	uint32_t key;
	bool is_perl = false;

	EACH_ROW_WHILE(i, const struct maps_line, m, lines, !f.version) {
		if (m->is_exec && runtime_of_file(m->path) == RUNTIME_PERL) {
			is_perl = true;
			look_at_file(&f, proc_dir, pid, m);
		}
	}
	if (!f.version)
		return is_perl ? LANGUAGE_NO_SYMBOLS : LANGUAGE_NONE;
	if (!is_known(f.version))
		return LANGUAGE_OTHER_VERSION;
	if (!thread_layout_find(proc_dir, pid, lines, &threads))
		return LANGUAGE_NO_LIBC;
	found = (struct offcpu_language){
		.version = f.version, .frame_at = INTERPRETER_STACKS, .instr_at = INTERPRETER_STATEMENT,
		.frame_bytes = CONTEXT_BYTES, .code_at = CONTEXT_FUNCTION, .entry = OFFCPU_ENTRY_CONTEXT,
		.entry_at = CONTEXT_RETURN,
	};
	if (!has_known_layout(pid, f.interpreter_at) || !memory_read(pid, f.key_at, &key, sizeof(key)) ||
	    !thread_layout_key(&threads, key, &found))
		return LANGUAGE_NOT_READY;
	*ret = found;
	return LANGUAGE_READABLE;
}
