/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <limits.h>
#include <string.h>

#include "base/find.h"
#include "base/insn_x86.h"
#include "runtimes/tokio/program.h"
#include "symbolize/runtime/memory.h"

#define FUNCTION_BYTES_MAX 65536U
#define LEVELS_MAX 5	/* raw::poll, Harness::poll, its inner function, Core::poll, the future's own function */
#define FUNCTIONS_MAX 32	/* per level */
#define READS_OF_FUNCTION 32	/* reads that a function counts as */
#define READS_OF_FRAME 1024U	/* for the name of a frame */
#define FILE_BYTES_MAX 1024
#define LINE_MAX_SANE 1000000U
#define RESUMED "`async fn` resumed"

enum { NO_RDX = 2, NO_RDI = 7 };	/* register numbers */

/* core::panic::Location in the program's data. */
struct location {
	uint64_t file, len;
	uint32_t line, column;
};

struct walk {
	const struct tokio_place_search *s;
	GArray *next;	/* uint64_t: functions of the next level */
	struct tokio_source_place *found;
	uint64_t held[16];	/* addresses assigned to registers, 0: unknown */
};

static const char *symbol_at(const struct tokio_place_search *s, uint64_t code, uint32_t *ret_size)
{
	const struct symtab_entry *e = symtab_find(&s->table->symbols, code - s->bias);

	if (!e || e->addr != code - s->bias)
		return NULL;
	*ret_size = e->size;
	return symtab_name(&s->table->symbols, e);
}

/*
 * How likely the file belongs to a dependency, 0: least. Cargo compiles the program's crates with relative paths and
 * downloaded ones with absolute ones.
 */
static unsigned strangeness(const char *file)
{
	static const char *const places[] = { "/registry/", "/rustc/", "/git/checkouts/", "vendor/" };

	return FIRST(x, places, strstr(file, *x), 2, file[0] == '/');
}

static void take_location(struct walk *w, uint64_t at)
{
	struct tokio_source_place *f = w->found;
	struct location l;
	char file[FILE_BYTES_MAX + 1];

	if (!at || !w->s->may_read(w->s->ctx, 2) || !memory_read(w->s->pid, at, &l, sizeof(l)) || !l.len ||
	    l.len > FILE_BYTES_MAX || !l.line || l.line > LINE_MAX_SANE || !memory_read(w->s->pid, l.file, file, l.len))
		return;
	file[l.len] = 0;
	if (strlen(file) != l.len || !g_str_has_suffix(file, ".rs") || !g_utf8_validate(file, -1, NULL))
		return;
	unsigned now = strangeness(file), before = f->file ? strangeness(f->file) : UINT_MAX;

	if (now > before || (now == before && f->line == l.line && strcmp(f->file, file) == 0))
		return;
	f->is_one_of_several = now == before;
	if (now == before)
		return;
	g_free(f->file);
	f->file = g_strdup(file);
	f->line = l.line;
}

static bool says_resumed(struct walk *w, uint64_t text)
{
	char begins[sizeof(RESUMED) - 1];

	return text && w->s->may_read(w->s->ctx, 1) && memory_read(w->s->pid, text, begins, sizeof(begins)) &&
	       memcmp(begins, RESUMED, sizeof(begins)) == 0;
}

/* Tokio's functions on the way to the future, and closures, one of which may be the future itself. */
static bool leads_on(const char *name)
{
	if (strstr(name, "5tokio7runtime4task"))
		return true;
	return (strstr(name, "$closure$") || strstr(name, "u7bclosure") || strstr(name, "closure$u7d") ||
		g_str_has_prefix(name, "_RNC")) &&
	       !strstr(name, "5tokio") && !g_str_has_prefix(name, "_ZN4core") && !g_str_has_prefix(name, "_ZN3std");
}

static void look_at_call(struct walk *w, uint64_t target)
{
	uint32_t size;
	const char *name = symbol_at(w->s, target, &size);

	if (!name)
		return;
	if (strstr(name, "panic_const_async_fn_resumed"))
		take_location(w, w->held[NO_RDI]);
	else if (strstr(name, "9panicking5panic17h") && says_resumed(w, w->held[NO_RDI]))	/* before Rust 1.81 */
		take_location(w, w->held[NO_RDX]);
	else if (leads_on(name) && w->next->len < FUNCTIONS_MAX)
		g_array_append_val(w->next, target);
}

/* Interprets an instruction; `after` is the address of the next one. */
static void interpret(struct walk *w, const struct insn *i, uint64_t after)
{
	uint64_t operand = after + (uint64_t)(int64_t)i->disp, target;
	bool is_plain = !i->is_two_byte && !i->is_vex;

	if (insn_is_address(i))
		w->held[(i->modrm >> 3 & 7) | (i->rex & 4 ? 8 : 0)] = operand;
	else if (is_plain && (i->opcode == 0xe8 || i->opcode == 0xe9 || i->opcode == 0xeb))
		look_at_call(w, after + (uint64_t)i->imm);
	else if (is_plain && i->opcode == 0xff && (i->modrm == 0x15 || i->modrm == 0x25) &&	/* via the GOT */
		 w->s->may_read(w->s->ctx, 1) && memory_read(w->s->pid, operand, &target, sizeof(target)))
		look_at_call(w, target);
	else
		return;
	if (!insn_is_address(i))
		memset(w->held, 0, sizeof(w->held));
}

static void look_at_function(struct walk *w, uint64_t code)
{
	uint32_t size = 0;
	const char *name = symbol_at(w->s, code, &size);
	g_autofree uint8_t *text = NULL;
	struct insn i;

	size = MIN(size, FUNCTION_BYTES_MAX);
	if (!name || !size || !w->s->may_read(w->s->ctx, READS_OF_FUNCTION))
		return;
	text = g_malloc(size);
	if (!memory_read(w->s->pid, code, text, size))
		return;
	memset(w->held, 0, sizeof(w->held));
	for (size_t at = 0, n; at < size; at += MAX(n, 1)) {
		n = insn_decode(text + at, size - at, &i);
		if (n)
			interpret(w, &i, code + at + n);
	}
}

static bool find_within(const struct tokio_place_search *s, uint64_t poll, unsigned levels,
			struct tokio_source_place *ret)
{
	GArray *level = g_array_new(FALSE, FALSE, sizeof(uint64_t));
	struct walk w = { .s = s, .found = ret };

	*ret = (struct tokio_source_place){ 0 };
	g_array_append_val(level, poll);
	for (unsigned i = 0; i < levels && level->len && !ret->file; i++) {
		w.next = g_array_new(FALSE, FALSE, sizeof(uint64_t));
		for (guint k = 0; k < level->len; k++)
			look_at_function(&w, g_array_index(level, uint64_t, k));
		g_array_unref(level);
		level = w.next;
	}
	g_array_unref(level);
	return ret->file != NULL;
}

bool tokio_place_find(const struct tokio_place_search *s, uint64_t poll, struct tokio_source_place *ret)
{
	return find_within(s, poll, LEVELS_MAX, ret);
}

/* Budget for one frame. */
static bool may_read_some(void *left, unsigned cnt)
{
	unsigned *cnt_left = left;
	bool may = *cnt_left >= cnt;

	*cnt_left = may ? *cnt_left - cnt : 0;
	return may;
}

/* The future's type from a Tokio function's name (v0 mangling), for its own code inlined there. */
static const char *polled_type(const char *name)
{
	static const char *const polls[] = { "tokio::runtime::task::core::Core<", "tokio::runtime::task::harness::Harness<" };

	for (size_t i = 0; i < G_N_ELEMENTS(polls); i++) {
		const char *at = strstr(name, polls[i]);

		if (at && strstr(at, "::poll"))
			return at + strlen(polls[i]);
	}
	return NULL;
}

void tokio_place_of_frame(struct symbol *symbol, uint32_t pid, uint64_t addr, GStringChunk *strings)
{
	const char *type = polled_type(symbol->name);
	unsigned left = READS_OF_FRAME;
	const struct tokio_place_search search = { pid, symbol->source, addr - symbol->offset, may_read_some, &left };
	struct tokio_source_place place;

	if (!type || !find_within(&search, addr - symbol->symbol_offset, 1, &place))
		return;
	g_autofree char *file = place.file, *future = tokio_first_argument(type);

	symbol->name = g_string_chunk_insert_const(strings, future ? future : "async fn or block");
	symbol->file = g_string_chunk_insert_const(strings, file);
	symbol->line = place.is_one_of_several ? 0 : place.line;
}
