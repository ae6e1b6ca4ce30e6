/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "runtimes/python/find.h"

#include <string.h>

#include "base/find.h"
#include "base/module.h"
#include "symbolize/process/maps.h"
#include "symbolize/runtime/memory.h"
#include "symbolize/runtime/language.h"
#include "symbolize/runtime/thread_layout.h"
#include "symbolize/runtime/variables.h"

#define MINOR_MAX 99

uint32_t python_minor_of_file(const char *path)
{
	const char *name = module_base_name(path);
	char *end;
	guint64 minor;

	if (g_str_has_prefix(name, "lib"))
		name += strlen("lib");
	if (!g_str_has_prefix(name, "python3."))
		return 0;
	name += strlen("python3.");
	minor = g_ascii_strtoull(name, &end, 10);
	return end > name && minor <= MINOR_MAX && (!*end || *end == '.' || *end == 'd' || *end == 't')
		       ? (uint32_t)minor
		       : 0;
}

struct found {
	uint32_t minor;			/* from the file's name; 0: no Python file */
	uint32_t hex_version;
	bool has_no_gil;		/* built without a GIL; an imported module or an option may have enabled it */
	bool is_gil_on;
	uint64_t free_gil;		/* address of its lock in such a build */
	uint64_t runtime, code_type;	/* addresses of _PyRuntime and PyCode_Type */
	struct thread_layout threads;
	uint64_t get_state;		/* address of PyGILState_GetThisThreadState() */
};

/* "python3.13t" and "libpython3.13t.so.1.0" are built without a GIL and have other object layouts. */
static bool is_free_threaded(const char *path)
{
	const char *digits = strstr(module_base_name(path), "python3.");

	if (!digits)
		return false;
	digits += strlen("python3.");
	return digits[strspn(digits, "0123456789")] == 't';
}

#define DEBUG_COOKIE "xdebugpy"
#define DEBUG_WORDS 58
#define MINOR_TELLS 13	/* from then on the table shows whether there is a GIL */

#define FREE_GIL_AT 8		/* in a build without: offset of the usual lock, after the flag that enables it */

/* Some builds without a GIL have the usual name. They contain a GIL, too, which modules can enable. */
static void look_at_gil(struct found *f, uint32_t pid)
{
	struct {
		char cookie[8];
		uint64_t version, is_free_threaded, runtime_bytes, finalizing, interpreters;
		uint64_t bytes, id, next, threads, gc, modules, sys, builtins, gil;
	} table;
	uint64_t interp, gil;
	int32_t is_on;

	if (f->minor < MINOR_TELLS || !memory_read(pid, f->runtime, &table, sizeof(table)) ||
	    memcmp(table.cookie, DEBUG_COOKIE, sizeof(table.cookie)) || table.version >> 16 != (3 << 8 | f->minor))
		return;
	f->has_no_gil = table.is_free_threaded;
	/* the main interpreter is last in the list */
	if (!f->has_no_gil || f->minor != MINOR_TELLS ||
	    !memory_read(pid, f->runtime + table.interpreters + sizeof(interp), &interp, sizeof(interp)) || !interp ||
	    !memory_read(pid, interp + table.gil, &gil, sizeof(gil)) || !gil || gil % 8 ||
	    !memory_read(pid, gil, &is_on, sizeof(is_on)))
		return;
	f->is_gil_on = is_on;
	f->free_gil = gil + FREE_GIL_AT;
}

static void look_at_python(struct found *f, const char *proc_dir, uint32_t pid, const struct maps_line *line)
{
	struct variable wanted[] = { { "_PyRuntime", 0 },
				     { "PyCode_Type", 0 },
				     { "Py_Version", 0 },
				     { "PyGILState_GetThisThreadState", 0 } };
	uint64_t version;

	f->minor = python_minor_of_file(line->path);
	f->has_no_gil = is_free_threaded(line->path);
	if (!symbols_find(proc_dir, pid, line, wanted, G_N_ELEMENTS(wanted)) || !wanted[0].addr || !wanted[1].addr)
		return;
	f->runtime = wanted[0].addr;
	f->code_type = wanted[1].addr;
	f->get_state = wanted[3].addr;
	if (wanted[2].addr && memory_read(pid, wanted[2].addr, &version, sizeof(version)) &&
	    version >> 16 == (3 << 8 | f->minor))
		f->hex_version = (uint32_t)version;
	look_at_gil(f, pid);
}

/*
 * From 3.14 on _PyRuntime begins with a table of its offsets (struct _Py_DebugOffsets), which shows builds with an
 * unknown layout.
 */
static bool agrees_with_itself(const struct found *f, uint32_t pid, const struct python_layout *l)
{
	/* by version: 3.14, 3.15 */
	const struct {
		uint8_t word[2];
		uint32_t offset;
	} wanted[] = {
		{ { 15, 15 }, l->walk.gil_at },
		{ { 25, 25 }, l->walk.interp_at },
		{ { 26, 26 }, l->walk.frame_at },
		{ { 27, 30 }, l->walk.thread_at },
		{ { 32, 40 }, l->walk.previous_at },
		{ { 33, 41 }, l->walk.code_at },
		{ { 34, 42 }, l->walk.instr_at },
		{ { 36, 44 }, l->walk.entry_at },
		{ { 40, 48 }, l->file },
		{ { 41, 49 }, l->name },
		{ { 42, 50 }, l->qualname },
		{ { 43, 51 }, l->lines },
		{ { 44, 52 }, l->first_line },
		{ { 48, 56 }, l->code },
	};
	uint64_t words[DEBUG_WORDS];

	if (f->minor < 14)
		return true;
	if (!memory_read(pid, f->runtime, words, sizeof(words)) || memcmp(words, DEBUG_COOKIE, 8) != 0 ||
	    words[1] >> 16 != (3 << 8 | f->minor))
		return false;
	return !ANY(x, wanted, words[x->word[f->minor > 14]] != x->offset);
}

static const struct python_layout *layout_of(const struct found *f)
{
	return python_layout_of(3 << 8 | f->minor | (f->has_no_gil ? PYTHON_FREE_THREADED : 0));
}

/* The offset of the key in _PyRuntime. Up to 3.11 it follows the GIL and two mutexes. */
static uint32_t key_offset(const struct found *f, const struct python_layout *layout)
{
	return layout->key_at + (layout->gil ? 2 * f->threads.more_in_mutex : 0);
}

bool python_has_begun(uint32_t pid, uint64_t key_at)
{
	int32_t is_made;

	return !memory_read(pid, key_at, &is_made, sizeof(is_made)) || is_made == 1;
}

/* The thread state is found by a pthread key. False: not created yet. */
static bool take_key(const struct found *f, uint32_t pid, const struct python_layout *layout,
		     struct offcpu_language *ret)
{
	struct {
		int32_t is_made;
		uint32_t number;
	} key;

	return memory_read(pid, f->runtime + key_offset(f, layout), &key, sizeof(key)) && key.is_made == 1 &&
	       thread_layout_key(&f->threads, key.number, ret);
}

/*
 * From 3.15 on the thread state is in a thread-local variable. `strip` removes its symbol, but the exported function
 * that returns it consists of one or two loads.
 */
static bool take_variable(const struct found *f, uint32_t pid, struct offcpu_language *ret)
{
#ifdef __x86_64__
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t direct[] = { 0x64, 0x48, 0x8b, 0x04, 0x25 };	/* mov %fs:place,%rax; in a program */
	static const uint8_t by_table[] = { 0x48, 0x8b, 0x05 };	/* mov table(%rip),%rax; in a library, followed by */
	static const uint8_t loads[] = { 0x64, 0x48, 0x8b, 0x00 };	/* mov %fs:(%rax),%rax */
	uint8_t code[16];
	uint64_t at = f->get_state;
	int64_t place;
	int32_t word;

	if (!at || !memory_read(pid, at, code, sizeof(endbr)))
		return false;
	at += memcmp(code, endbr, sizeof(endbr)) ? 0 : sizeof(endbr);
	if (!memory_read(pid, at, code, sizeof(code)))
		return false;
	if (!memcmp(code, direct, sizeof(direct))) {
		memcpy(&word, code + sizeof(direct), sizeof(word));
		place = word;
	} else if (!memcmp(code, by_table, sizeof(by_table)) && !memcmp(code + 7, loads, sizeof(loads))) {
		memcpy(&word, code + sizeof(by_table), sizeof(word));
		if (!memory_read(pid, at + 7 + (uint64_t)(int64_t)word, &place, sizeof(place)))
			return false;
	} else {
		return false;
	}
	ret->keys_at = (int32_t)place;
	return place < 0 && place > INT32_MIN && !(place & 7);
#else
	return false;
#endif
}

static enum language_state fill_in(const struct found *f, uint32_t pid, struct offcpu_language *ret)
{
	const struct python_layout *layout = layout_of(f);
	struct offcpu_language found;

	if (!f->minor)
		return LANGUAGE_NONE;
	if (!layout)
		return LANGUAGE_OTHER_VERSION;
	if (!f->runtime)
		return LANGUAGE_NO_SYMBOLS;
	if (!agrees_with_itself(f, pid, layout))
		return LANGUAGE_OTHER_VERSION;
	if (!f->threads.key_cnt)
		return LANGUAGE_NO_LIBC;
	found = layout->walk;
	if (layout->walk.key_at == OFFCPU_KEY_NONE && !take_variable(f, pid, &found))
		return LANGUAGE_OTHER_VERSION;
	if (layout->walk.key_at != OFFCPU_KEY_NONE && !take_key(f, pid, layout, &found))
		return LANGUAGE_NOT_READY;
	found.code_type = f->code_type;
	found.tid_at = f->threads.tid_at;
	found.sleeps_in_queue = f->threads.is_musl;
	if (layout->gil)
		found.gil = f->runtime + layout->gil;
	if (f->has_no_gil) {
		found.gil = f->free_gil;
		found.tid_at = f->free_gil ? found.tid_at : 0;
	}
	*ret = found;
	return LANGUAGE_READABLE;
}

struct python_look python_look(const char *proc_dir, uint32_t pid, const GArray *lines, struct offcpu_language *ret)
{
	struct found f = { 0 };
	enum language_state state;

	EACH_ROW_WHILE(i, const struct maps_line, m, lines, !f.runtime)
		if (m->is_exec && python_minor_of_file(m->path))
			look_at_python(&f, proc_dir, pid, m);
	if (f.runtime)
		thread_layout_find(proc_dir, pid, lines, &f.threads);
	state = fill_in(&f, pid, ret);
	return (struct python_look){ .state = state,
				     .minor = f.minor,
				     .hex_version = f.hex_version,
				     .is_free_threaded = f.has_no_gil,
				     .is_gil_on = f.is_gil_on,
				     .has_gil_holder = state == LANGUAGE_READABLE && ret->tid_at,
				     .key_at = state == LANGUAGE_NOT_READY ? f.runtime + key_offset(&f, layout_of(&f))
									   : 0 };
}
