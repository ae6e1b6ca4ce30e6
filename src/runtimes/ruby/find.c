/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <glib.h>
#include <string.h>

#include "base/find.h"
#include "base/module.h"
#include "symbolize/process/maps.h"
#include "symbolize/runtime/memory.h"
#include "symbolize/runtime/language.h"
#include "symbolize/runtime/thread_layout.h"
#include "symbolize/runtime/variables.h"

#define MODULES_MAX 1024
#define CODE_BYTES 48
/*
 * x86-64, glibc and musl: a thread's pointer to its vector of thread-local blocks, and the vector's entries, by
 * module id.
 */
#define VECTOR_AT 8
#define VECTOR_ENTRY_BYTES 16
#define MUSL_VECTOR_ENTRY_BYTES 8
/* A thread's context: the innermost frame; at its begin its stack and the stack's size in words. */
#define CONTEXT_FRAME 16
/* Frame. */
#define FRAME_INSTR 0
#define FRAME_CODE 16
#define FRAME_LOCALS 32		/* the word it points to contains the frame's flags */
#define FLAG_FINISH 0x20	/* called from C */

/*
 * The global VM lock of 3.1 (vm_core.h, thread_pthread.h): context -> thread -> its ractor, context, pthread and
 * queue entry; ractor -> lock, which begins with its owner.
 */
#define LOCK_VERSION OFFCPU_LANGUAGE_VERSION(OFFCPU_LANGUAGE_RUBY, 3, 1)
#define CONTEXT_THREAD 48
#define THREAD_RACTOR 24
#define THREAD_CONTEXT 40
#define THREAD_PTHREAD 80
#define THREAD_QUEUE 104
#define RACTOR_LOCK 336

struct found {
	bool is_ruby, has_context, is_program;
	uint32_t version;
	struct thread_layout threads;
	struct local_variable context;
	uint64_t context_module;	/* the module id, if found in code; 0: unknown */
};

static uint32_t version_at(uint32_t pid, uint64_t addr)
{
	char text[16];

	if (!addr || !memory_text(pid, addr, text, sizeof(text)) || !g_ascii_isdigit(text[0]) || text[1] != '.' ||
	    !g_ascii_isdigit(text[2]) || text[3] != '.')
		return 0;
	return OFFCPU_LANGUAGE_VERSION(OFFCPU_LANGUAGE_RUBY, text[0] - '0', text[2] - '0');
}

/*
 * For stripped files: rb_thread_current() first calls __tls_get_addr() for ruby_current_ec. The code refers to its
 * two arguments: the module id and the offset in its block.
 */
static bool context_of_code(struct found *f, uint32_t pid, uint64_t function)
{
	static const uint8_t asks[] = { 0x66, 0x48, 0x8d, 0x3d };	/* data16 lea words(%rip),%rdi */
	static const uint8_t loads[] = { 0x48, 0x8b, 0x00 };		/* mov (%rax),%rax, after an 8-byte call */
	uint8_t code[CODE_BYTES];
	uint64_t words[2];
	int32_t to;

	if (!function || !memory_read(pid, function, code, sizeof(code)))
		return false;
	for (size_t i = 0; i + 19 <= sizeof(code); i++) {
		if (memcmp(code + i, asks, sizeof(asks)) || memcmp(code + i + 16, loads, sizeof(loads)))
			continue;
		memcpy(&to, code + i + sizeof(asks), sizeof(to));
		if (!memory_read(pid, function + i + 8 + (uint64_t)(int64_t)to, words, sizeof(words)) ||
		    words[1] >= UINT32_MAX)
			return false;
		f->context_module = words[0];
		f->context.offset = words[1];
		return true;
	}
	return false;
}

static void look_at_file(struct found *f, const char *proc_dir, uint32_t pid, const struct maps_line *line)
{
	struct variable wanted[] = { { "ruby_version", 0 }, { "rb_thread_current", 0 } };

	f->is_ruby = true;
	if (f->version || !symbols_find(proc_dir, pid, line, wanted, G_N_ELEMENTS(wanted)) || !wanted[0].addr)
		return;
	f->version = version_at(pid, wanted[0].addr);
	f->is_program = !g_str_has_prefix(module_base_name(line->path), "lib");
	f->has_context = variables_find_local(proc_dir, pid, line, "ruby_current_ec", &f->context) ||
			 context_of_code(f, pid, wanted[1].addr);
}

/* 0: not loaded yet. A program's own variables belong to module 1. */
static uint64_t module_number(const struct found *f, uint32_t pid)
{
	uint64_t number;

	if (f->context_module)
		return f->context_module < MODULES_MAX ? f->context_module : 0;
	if (f->is_program && !f->context.module_at)
		return 1;
	return f->context.module_at && memory_read(pid, f->context.module_at, &number, sizeof(number)) &&
			       number < MODULES_MAX
		       ? number
		       : 0;
}

static enum language_state fill_in(const struct found *f, uint32_t pid, struct offcpu_language *ret)
{
	uint32_t frame_bytes = ruby_frame_bytes(f->version);
	uint32_t entry_bytes = f->threads.is_musl ? MUSL_VECTOR_ENTRY_BYTES : VECTOR_ENTRY_BYTES;
	uint64_t number;

	if (!f->is_ruby)
		return LANGUAGE_NONE;
	if (!f->version)
		return LANGUAGE_NO_SYMBOLS;
	if (!frame_bytes)
		return LANGUAGE_OTHER_VERSION;
	if (!f->has_context || f->context.offset >= UINT32_MAX)
		return LANGUAGE_NO_SYMBOLS;
	if (!f->threads.key_cnt)
		return LANGUAGE_NO_LIBC;
	number = module_number(f, pid);
	if (!number)
		return LANGUAGE_NOT_READY;
	*ret = (struct offcpu_language){
		.version = f->version, .keys_at = VECTOR_AT, .key_at = (uint32_t)(number * entry_bytes),
		.cframe_at = (uint32_t)f->context.offset, .has_cframe = 1, .frame_at = CONTEXT_FRAME,
		.code_at = FRAME_CODE, .instr_at = FRAME_INSTR, .instr_bytes = 8, .frame_bytes = frame_bytes,
		.entry = OFFCPU_ENTRY_BEHIND, .entry_at = FRAME_LOCALS, .entry_value = FLAG_FINISH,
	};
	if (f->version == LOCK_VERSION && f->threads.tid_at && !f->threads.is_musl) {
		ret->interp_at = CONTEXT_THREAD;
		ret->ractor_at = THREAD_RACTOR;
		ret->context_at = THREAD_CONTEXT;
		ret->thread_at = THREAD_PTHREAD;
		ret->queue_at = THREAD_QUEUE;
		ret->gil_at = RACTOR_LOCK;
		ret->tid_at = f->threads.tid_at;
	}
	return LANGUAGE_READABLE;
}

enum language_state ruby_look(const char *proc_dir, uint32_t pid, const GArray *lines, struct offcpu_language *ret)
{
	struct found f = { 0 };

	EACH_ROW_OF(i, const struct maps_line, m, lines)
		if (m->is_exec && runtime_of_file(m->path) == RUNTIME_RUBY)
			look_at_file(&f, proc_dir, pid, m);
	if (f.is_ruby)
		thread_layout_find(proc_dir, pid, lines, &f.threads);
	return fill_in(&f, pid, ret);
}
