/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/runtime/python_find.h"

#include <string.h>

#include "base/module.h"
#include "symbolize/process/living.h"
#include "symbolize/process/maps.h"
#include "symbolize/runtime/memory.h"
#include "symbolize/runtime/python_layout.h"
#include "symbolize/runtime/variables.h"

#define MINOR_MAX 99
#define MAPS_TEXT_MAX (64 << 20)
#define KEYS_FIRST_BLOCK 32	/* later keys lie behind another pointer (glibc: PTHREAD_KEY_2NDLEVEL_SIZE) */
#define KEY_ENTRY_BYTES 16

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
	uint32_t minor;			/* by the name of the file; 0: none has such a name */
	uint32_t hex_version;
	bool has_no_gil;
	uint64_t runtime, code_type;	/* addresses of _PyRuntime and PyCode_Type */
	int64_t keys_at;		/* as glibc says: from the thread pointer, */
	uint64_t first_key_bytes;	/* and in an entry there */
	uint64_t tid_at;		/* the same: in struct pthread; 0: it does not */
	uint64_t get_state;		/* address of PyGILState_GetThisThreadState() */
};

/* "python3.13t" and "libpython3.13t.so.1.0" have no GIL, and other objects. */
static bool is_free_threaded(const char *path)
{
	const char *digits = strstr(module_base_name(path), "python3.");

	if (!digits)
		return false;
	digits += strlen("python3.");
	return digits[strspn(digits, "0123456789")] == 't';
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
}

/* What glibc's own debugger library is told: size in bits, how many, offset. */
static bool read_descriptor(uint32_t pid, uint64_t addr, uint64_t *ret_offset)
{
	uint32_t words[3];

	if (!addr || !memory_read(pid, addr, words, sizeof(words)))
		return false;
	*ret_offset = words[2];
	return words[2] < 1 << 16;
}

/*
 * Where glibc's struct pthread begins, from the thread pointer: there on x86-64, before it on arm64
 * (sysdeps/aarch64/nptl/tls.h).
 */
static bool begin_of_pthread(uint32_t pid, uint64_t size_addr, int64_t *ret)
{
	*ret = 0;
#ifdef __aarch64__
	uint32_t size;

	if (!size_addr || !memory_read(pid, size_addr, &size, sizeof(size)) || size >= 1 << 16)
		return false;
	*ret = -(int64_t)size;
#else
	(void)pid;
	(void)size_addr;
#endif
	return true;
}

static void look_at_libc(struct found *f, const char *proc_dir, uint32_t pid, const struct maps_line *line)
{
	struct variable wanted[] = { { "_thread_db_pthread_specific", 0 }, { "_thread_db_pthread_key_data_data", 0 },
				     { "_thread_db_pthread_tid", 0 }, { "_thread_db_sizeof_pthread", 0 } };
	uint64_t keys, data, tid;
	int64_t begin;

	if (variables_find(proc_dir, pid, line, wanted, G_N_ELEMENTS(wanted)) &&
	    read_descriptor(pid, wanted[0].addr, &keys) && read_descriptor(pid, wanted[1].addr, &data) &&
	    begin_of_pthread(pid, wanted[3].addr, &begin)) {
		f->keys_at = begin + (int64_t)keys;
		f->first_key_bytes = data;
		if (read_descriptor(pid, wanted[2].addr, &tid))
			f->tid_at = tid;
	}
}

static bool is_libc(const char *path)
{
	const char *name = module_base_name(path);

	return g_str_has_prefix(name, "libc.so") || g_str_has_prefix(name, "libc-2") ||
	       g_str_has_prefix(name, "libpthread");
}

#define DEBUG_COOKIE "xdebugpy"
#define DEBUG_WORDS 58

/*
 * From 3.14 on _PyRuntime begins with a table of its own offsets (struct _Py_DebugOffsets), by which a build is known
 * that differs from what we know.
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
	    words[1] >> 16 != (3 << 8 | f->minor) || words[2])
		return false;
	for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++)
		if (words[wanted[i].word[f->minor > 14]] != wanted[i].offset)
			return false;
	return true;
}

/*
 * Where in _PyRuntime the key lies.  Up to 3.11 the GIL lies before it, with two mutexes; each has 40 bytes on x86-64
 * and 48 on arm64 (__SIZEOF_PTHREAD_MUTEX_T).
 */
static uint32_t key_offset(const struct python_layout *layout)
{
#ifdef __aarch64__
	return layout->key_at + (layout->gil ? 2 * 8 : 0);
#else
	return layout->key_at;
#endif
}

/* Each thread's state by its key: false where that is not made yet. */
static bool take_key(const struct found *f, uint32_t pid, const struct python_layout *layout, struct offcpu_language *ret)
{
	struct {
		int32_t is_made;
		uint32_t number;
	} key;

	if (!memory_read(pid, f->runtime + key_offset(layout), &key, sizeof(key)) || key.is_made != 1 ||
	    key.number >= KEYS_FIRST_BLOCK)
		return false;
	ret->keys_at = (int32_t)f->keys_at;
	ret->key_at = (uint32_t)(key.number * KEY_ENTRY_BYTES + f->first_key_bytes);
	return true;
}

/*
 * From 3.15 on a variable of each thread has it.  No symbol that `strip` leaves tells where that lies, but the
 * exported function that returns it is nothing but one or two loads.
 */
static bool take_variable(const struct found *f, uint32_t pid, struct offcpu_language *ret)
{
#ifdef __x86_64__
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t direct[] = { 0x64, 0x48, 0x8b, 0x04, 0x25 };	/* mov %fs:place,%rax; a program's */
	static const uint8_t by_table[] = { 0x48, 0x8b, 0x05 };	/* mov table(%rip),%rax; a library's, then */
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
	(void)f;
	(void)pid;
	(void)ret;
	return false;
#endif
}

static enum python_state take(const struct found *f, uint32_t pid, struct offcpu_language *ret)
{
	const struct python_layout *layout = f->has_no_gil ? NULL : python_layout_of(3 << 8 | f->minor);
	struct offcpu_language found;

	if (!f->minor)
		return PYTHON_NONE;
	if (!layout)
		return PYTHON_OTHER_VERSION;
	if (!f->runtime)
		return PYTHON_NO_SYMBOLS;
	if (!agrees_with_itself(f, pid, layout))
		return PYTHON_OTHER_VERSION;
	if (!f->keys_at || f->keys_at % 8)
		return PYTHON_NO_LIBC;
	found = layout->walk;
	if (layout->walk.key_at == OFFCPU_KEY_NONE && !take_variable(f, pid, &found))
		return PYTHON_OTHER_VERSION;
	if (layout->walk.key_at != OFFCPU_KEY_NONE && !take_key(f, pid, layout, &found))
		return PYTHON_NOT_READY;
	found.code_type = f->code_type;
	found.tid_at = (uint32_t)f->tid_at;
	if (layout->gil)
		found.gil = f->runtime + layout->gil;
	*ret = found;
	return PYTHON_READABLE;
}

struct python_look python_look(const char *proc_dir, uint32_t pid, struct offcpu_language *ret)
{
	g_autofree char *text = living_maps(proc_dir, pid, MAPS_TEXT_MAX);
	g_autoptr(GArray) lines = NULL;
	struct found f = { 0 };
	enum python_state state;

	if (!text)
		return (struct python_look){ .state = PYTHON_NONE };
	lines = maps_parse(text);
	for (guint i = 0; i < lines->len && !f.runtime; i++) {
		const struct maps_line *m = &g_array_index(lines, struct maps_line, i);

		if (m->is_exec && python_minor_of_file(m->path))
			look_at_python(&f, proc_dir, pid, m);
	}
	for (guint i = 0; i < lines->len && f.runtime && !f.keys_at; i++) {
		const struct maps_line *m = &g_array_index(lines, struct maps_line, i);

		if (m->is_exec && is_libc(m->path))
			look_at_libc(&f, proc_dir, pid, m);
	}
	state = take(&f, pid, ret);
	return (struct python_look){ .state = state,
				     .minor = f.minor,
				     .hex_version = f.hex_version,
				     .is_free_threaded = f.has_no_gil,
				     .has_gil_holder = state == PYTHON_READABLE && ret->tid_at };
}

bool python_find(const char *proc_dir, uint32_t pid, struct offcpu_language *ret)
{
	return python_look(proc_dir, pid, ret).state == PYTHON_READABLE;
}
