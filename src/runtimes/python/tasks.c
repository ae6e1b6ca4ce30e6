/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "runtimes/python/tasks.h"

#include <string.h>

#include "base/each.h"
#include "base/find.h"
#include "runtimes/python/find.h"
#include "symbolize/runtime/memory.h"
#include "symbolize/runtime/variables.h"

#define RUNTIME_MAX_BYTES (1u << 20)
#define RUNTIME_PIECE_WORDS 512
#define PAGE_BYTES 4096		/* lowest valid address */
#define SEARCH_WORDS 10		/* words of an object to search for pointers */
#define SEARCH_BEFORE_BYTES 32
#define SET_ENTRIES_TRIED 255
#define TABLE_PIECE 256
#define SEARCH_DEPTH 3
#define SEARCH_OBJECTS_MAX 4096
#define TASK_WORD_MIN 8
#define TASK_WORDS 40
#define SET_ENTRIES_MAX (2 * PYTHON_TASKS_MAX)
#define MINOR_MIN 8
#define MINOR_WHOLE PYTHON_MINOR_WHOLE
#define MINOR_MAX 15
#define MINOR_LISTS 14

/* Object offsets in the supported versions. */
#define MODULE_DICT_AT 16
#define LONG_DIGIT_AT 24
#define WEAK_OBJECT_AT 16
#define STACK_BASE_AT 72	/* _PyInterpreterFrame: localsplus */
#define STACK_TOP_AT 64
#define INSTR_AT 56
#define COROUTINE_BYTES 160
#define TAG_BITS 7		/* 3.14: tag bits in a frame's pointers */
#define FRAME_BYTES 112	/* before 3.11: a frame object */
#define OLD_CORO_FRAME_AT 16
#define OLD_CORO_RUNS_AT 24	/* up to 3.9 */
#define OLD_STACK_AT 64	/* 3.10: begin of the stack, its depth at 80; before: its end at 72 */
#define OLD_STATE_AT 108	/* 3.10 */
#define OLD_LOCALS_10 352
#define OLD_LOCALS_8 360	/* and 3.9 */
#define LOCALS_14 80
#define RUNTIME_HEAD_WORDS 64	/* of _PyRuntime: one of them points to the first interpreter */
#define STATE_RUNS 0		/* enum _framestate: lower is not started or suspended, higher is finished */
#define STATE_RUNS_15 4	/* likewise, from 3.15 on */
#define MINOR_STATES 15

bool python_is_of_heap(const GArray *lines, uint64_t addr)
{
	guint from = 0, to = lines->len;

	while (from < to) {
		const guint middle = from + (to - from) / 2;
		const struct maps_line *m = &g_array_index(lines, struct maps_line, middle);

		if (addr >= m->start && addr < m->end)
			return m->is_readable && !m->inode;
		if (addr < m->start)
			to = middle;
		else
			from = middle + 1;
	}
	return false;
}

/* The dict of a module in a dict of modules. 0: it has none of that name. */
static uint64_t module_of(struct python_program *p, uint64_t modules, const char *name)
{
	uint64_t module = python_dict_find(p, modules, name);

	return module && python_type(p, module) == p->module_type ? python_word(p, module + MODULE_DICT_AT) : 0;
}

static bool is_modules(struct python_program *p, const GArray *lines, uint64_t object)
{
	return object % 8 == 0 && python_is_of_heap(lines, object) && python_type(p, object) == p->dict_type &&
	       module_of(p, object, "sys") && module_of(p, object, "builtins");
}

/* The index of the word that leads to sys.modules; RUNTIME_PIECE_WORDS: none does. */
static size_t modules_among(struct python_program *p, const GArray *lines, const uint64_t words[RUNTIME_PIECE_WORDS])
{
	size_t i = 0;

	while (i < RUNTIME_PIECE_WORDS && !is_modules(p, lines, words[i]))
		i++;
	return i;
}

/* Before 3.11: an early pointer in _PyRuntime leads to the interpreter. */
static uint64_t search_interpreter(struct python_program *p, const GArray *lines)
{
	uint64_t heads[RUNTIME_HEAD_WORDS], words[RUNTIME_PIECE_WORDS];

	if (!memory_read(p->pid, p->runtime, heads, sizeof(heads)))
		return 0;
	for (size_t i = 0; i < RUNTIME_HEAD_WORDS; i++) {
		if (heads[i] % 8 || !python_is_of_heap(lines, heads[i]) ||
		    !memory_read(p->pid, heads[i], words, sizeof(words)))
			continue;
		const size_t found = modules_among(p, lines, words);

		if (found < RUNTIME_PIECE_WORDS)
			return words[found];
	}
	return 0;
}

/* The main interpreter is in _PyRuntime. Other processes of this version most likely have it at the same place. */
static uint64_t search_runtime(struct python_program *p, const GArray *lines)
{
	static gint places[MINOR_MAX + 1];
	const gint place = g_atomic_int_get(&places[p->minor]);
	uint64_t words[RUNTIME_PIECE_WORDS], there = place ? python_word(p, p->runtime + (uint64_t)place) : 0;

	if (there && is_modules(p, lines, there))
		return there;
	for (uint64_t at = 0; at < RUNTIME_MAX_BYTES; at += sizeof(words)) {
		if (!memory_read(p->pid, p->runtime + at, words, sizeof(words)))
			return 0;
		const size_t found = modules_among(p, lines, words);

		if (found < RUNTIME_PIECE_WORDS) {
			g_atomic_int_set(&places[p->minor], (gint)(at + 8 * found));
			return words[found];
		}
	}
	return 0;
}

static bool find_modules(struct python_program *p, const GArray *lines)
{
	if (!p->modules)
		p->modules = p->minor < MINOR_WHOLE ? search_interpreter(p, lines) : search_runtime(p, lines);
	return p->modules;
}

uint64_t python_module(struct python_program *p, const GArray *lines, const char *name)
{
	return find_modules(p, lines) ? module_of(p, p->modules, name) : 0;
}

static bool look_at(struct python_program *p, const char *proc_dir, const struct maps_line *line)
{
	struct variable wanted[] = { { "_PyRuntime", 0 },  { "PyCode_Type", 0 }, { "PyDict_Type", 0 },    { "PyModule_Type", 0 },
				     { "PyCoro_Type", 0 }, { "PySet_Type", 0 },  { "PyUnicode_Type", 0 }, { "PyLong_Type", 0 },
				     { "PyList_Type", 0 }, { "PyFrame_Type", 0 } };
	uint64_t *to[] = { &p->runtime,        &p->code_type, &p->dict_type, &p->module_type,
			   &p->coroutine_type, &p->set_type,  &p->text_type, &p->long_type,
			   &p->list_type,      &p->frame_type };

	if (!variables_find(proc_dir, p->pid, line, wanted, G_N_ELEMENTS(wanted)))
		return false;
	for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++) {
		if (!wanted[i].addr)
			return false;
		*to[i] = wanted[i].addr;
	}
	return true;
}

enum python_tasks_state python_program_open(struct python_program *p, const char *proc_dir, uint32_t pid,
					    const GArray *lines)
{
	struct offcpu_language unused;
	bool is_there = false;

	*p = (struct python_program){ .pid = pid, .entries_left = PYTHON_ENTRIES_MAX };
	EACH_ROW_WHILE(i, const struct maps_line, m, lines, !is_there) {
		if (!m->is_exec || !python_minor_of_file(m->path))
			continue;
		p->minor = python_minor_of_file(m->path);
		is_there = look_at(p, proc_dir, m);
	}
	if (!p->minor)
		return PYTHON_TASKS_NONE;
	if (!is_there || p->minor < MINOR_MIN || p->minor > MINOR_MAX ||
	    python_look(proc_dir, pid, lines, &unused).is_free_threaded)
		return PYTHON_TASKS_OTHER_VERSION;
	p->code = python_code_new();
	return PYTHON_TASKS_READABLE;
}

/* Modules are added at the end. */
static bool are_modules_new(struct python_program *p)
{
	const struct python_entries before = p->searched;
	struct python_entries now;

	if (!python_dict_entries(p, p->modules, &now))
		return false;
	p->searched = now;
	return now.at != before.at || now.cnt != before.cnt;
}

bool python_tasks_are_ready(struct python_program *p, const char *proc_dir, const GArray *lines)
{
	p->entries_left = PYTHON_ENTRIES_MAX;
	if (!p->module && find_modules(p, lines) && are_modules_new(p))
		p->module = module_of(p, p->modules, "asyncio.tasks");
	return p->module && (p->minor < MINOR_LISTS || p->lists.interpreter ||
			     python_task_lists_open(&p->lists, proc_dir, p->pid, p->runtime, lines));
}

enum python_tasks_state python_tasks_open(struct python_program *p, const char *proc_dir, uint32_t pid,
					  const GArray *lines)
{
	enum python_tasks_state state = python_program_open(p, proc_dir, pid, lines);

	if (state != PYTHON_TASKS_READABLE)
		return state;
	return python_tasks_are_ready(p, proc_dir, lines) ? PYTHON_TASKS_READABLE : PYTHON_TASKS_NO_ASYNCIO;
}

void python_tasks_close(struct python_program *p)
{
	python_code_free(p->code);
	p->code = NULL;
}

/* The word with the coroutine, between the awaited object and the name. 0: not a task. */
static unsigned coroutine_word(const struct python_program *p, const uint8_t *task)
{
	uint64_t words = p->coroutine_at
				 ? p->coroutine_at + 2
				 : MIN(python_word(p, memory_word(task, PYTHON_TYPE_AT) + PYTHON_TYPE_SIZE_AT) / 8,
				       TASK_WORDS);

	for (unsigned i = p->coroutine_at ? p->coroutine_at : TASK_WORD_MIN; i + 1 < words; i++) {
		uint64_t name_type;

		if (python_type(p, memory_word(task, 8 * i)) != p->coroutine_type)
			continue;
		name_type = python_type(p, memory_word(task, 8 * i + 8));
		if (name_type == p->text_type || name_type == p->long_type)
			return i;
	}
	return 0;
}

/* Does the set contain weak references to tasks? */
static bool has_tasks(const struct python_program *p, uint64_t set, unsigned *left)
{
	uint64_t table = python_word(p, set + PYTHON_SET_TABLE_AT), mask = python_word(p, set + PYTHON_SET_MASK_AT);
	uint8_t task[TASK_WORDS * 8];

	for (uint64_t i = 0; table && i <= MIN(mask, SET_ENTRIES_TRIED) && *left; i++) {
		uint64_t key = python_word(p, table + 16 * i),
			 object = key > PAGE_BYTES ? python_word(p, key + WEAK_OBJECT_AT) : 0;

		--*left;
		if (object > PAGE_BYTES && memory_read(p->pid, object, task, sizeof(task)) && coroutine_word(p, task))
			return true;
	}
	return false;
}

/*
 * The set of tasks of an object, a WeakSet with an attribute for it. Attributes are before the object, after it, or
 * in a dict. 0: none, or empty.
 */
static uint64_t set_behind(const struct python_program *p, uint64_t object, unsigned depth, unsigned *left)
{
	uint64_t words[SEARCH_WORDS];
	uint64_t from = depth ? object : object - SEARCH_BEFORE_BYTES, found = 0;

	if (!memory_read(p->pid, from, words, sizeof(words)))
		return 0;
	for (size_t i = 0; i < SEARCH_WORDS && *left && !found; i++) {
		/* 3.12 tags pointers to attributes like this */
		uint64_t value = words[i] & 1 ? words[i] + 1 : words[i];

		if (value < PAGE_BYTES || value % 8)
			continue;
		--*left;
		if (python_type(p, value) == p->set_type)
			found = has_tasks(p, value, left) ? value : 0;
		else if (depth + 1 < SEARCH_DEPTH)
			found = set_behind(p, value, depth + 1, left);
	}
	return found;
}

/* Lists the entries of a set: an object or a weak reference to it, and a hash. */
static void list_table(const struct python_program *p, uint64_t table, uint64_t cnt, bool is_weak, GArray *into)
{
	uint64_t entries[2 * TABLE_PIECE];

	for (uint64_t from = 0; from < cnt; from += TABLE_PIECE) {
		uint64_t here = MIN(cnt - from, TABLE_PIECE);

		if (!memory_read(p->pid, table + 16 * from, entries, 16 * here))
			return;
		for (uint64_t i = 0; i < here && into->len < PYTHON_TASKS_MAX; i++) {
			uint64_t key = entries[2 * i],
				 task = key > PAGE_BYTES && is_weak ? python_word(p, key + WEAK_OBJECT_AT) : key;

			if (task > PAGE_BYTES && task % 8 == 0)
				g_array_append_val(into, task);
		}
	}
}

static void find_sets(struct python_program *p)
{
	static const char *const names[PYTHON_TASK_SETS_MAX] = { "_all_tasks", "_scheduled_tasks", "_eager_tasks" };

	EACH_IN(i, struct python_task_set, s, p->sets, PYTHON_TASK_SETS_MAX) {
		*s = (struct python_task_set){ .object = python_dict_find(p, p->module, names[i]) };
		s->is_weak = s->object && python_type(p, s->object) != p->set_type;
		if (!s->is_weak)
			s->set = s->object;
	}
	p->has_sets = true;
}

/* Appends the addresses in all of asyncio's sets. */
static void list_tasks(struct python_program *p, GArray *into, bool *ret_is_cut)
{
	if (!p->has_sets)
		find_sets(p);
	if (p->lists.interpreter)
		*ret_is_cut |= !python_task_lists_read(&p->lists, into, PYTHON_TASKS_MAX);
	EACH_IN(i, struct python_task_set, s, p->sets, PYTHON_TASK_SETS_MAX) {
		unsigned left = SEARCH_OBJECTS_MAX;
		uint64_t mask, table;

		if (s->is_weak && (!s->set || python_type(p, s->set) != p->set_type))	/* empty sets are not found */
			s->set = set_behind(p, s->object, 0, &left);
		table = s->set ? python_word(p, s->set + PYTHON_SET_TABLE_AT) : 0;
		mask = table ? python_word(p, s->set + PYTHON_SET_MASK_AT) : 0;
		*ret_is_cut |= mask >= SET_ENTRIES_MAX;
		if (table)
			list_table(p, table, MIN(mask, SET_ENTRIES_MAX - 1) + 1, s->is_weak, into);
	}
}

#define PARTS_OF_TASK (2 * PYTHON_TASK_FRAMES_MAX + 1)
#define PARTS_AT_ONCE (2 * PARTS_OF_TASK)

/* Tasks as read, to be compared with a second reading, of several at once. */
struct task_reading {
	struct python_program *p;
	struct {
		uint64_t addr;
		size_t bytes;
		uint8_t data[TASK_WORDS * 8], again[TASK_WORDS * 8];
	} parts[PARTS_AT_ONCE];
	unsigned first, cnt;	/* parts of the current task begin with the first */
	GArray *tasks;		/* struct task_read */
};

struct task_read {
	struct python_task task;
	unsigned first, end;	/* its parts */
};

static const uint8_t *read_part(struct task_reading *r, uint64_t addr, size_t bytes)
{
	if (r->cnt - r->first >= PARTS_OF_TASK || !memory_read(r->p->pid, addr, r->parts[r->cnt].data, bytes))
		return NULL;
	r->parts[r->cnt].addr = addr;
	r->parts[r->cnt].bytes = bytes;
	return r->parts[r->cnt++].data;
}

static bool is_changed(const struct task_reading *r, const bool *is_read, const struct task_read *t)
{
	for (unsigned i = t->first; i < t->end; i++)
		if (!is_read[i] || /* without the reference count */
		    memcmp(r->parts[i].again + 8, r->parts[i].data + 8, r->parts[i].bytes - 8) != 0)
			return true;
	return false;
}

/* Passes on what was read. */
static void finish_tasks(struct task_reading *r, python_task_fn fn, void *ctx)
{
	struct memory_piece pieces[PARTS_AT_ONCE];
	bool is_read[PARTS_AT_ONCE];

	for (unsigned i = 0; i < r->cnt; i++)
		pieces[i] = (struct memory_piece){ r->parts[i].addr, r->parts[i].again, r->parts[i].bytes };
	memory_read_pieces(r->p->pid, pieces, r->cnt, is_read);
	EACH_ROW(i, struct task_read, t, r->tasks) {
		if (is_changed(r, is_read, t)) {
			t->task.is_stale = true;
			t->task.frame_cnt = 0;
		}
		fn(ctx, &t->task);
	}
	g_array_set_size(r->tasks, 0);
	r->first = r->cnt = 0;
}

/* The offset of a coroutine's frame, which follows its state. */
static size_t frame_at(const struct python_program *p)
{
	return p->minor == 11 ? 80 : 72;
}

/* The top of a suspended frame's stack. 0: empty. */
static uint64_t top_of_stack(const struct python_program *p, const uint8_t *bytes, uint64_t addr)
{
	const size_t frame = frame_at(p);
	uint64_t end = memory_word(bytes, frame + STACK_TOP_AT);
	int32_t top = (int32_t)end;

	if (p->minor >= MINOR_LISTS) {
		if (end <= PAGE_BYTES || end % 8)
			return 0;
		uint64_t word = python_word(p, end - 8) & ~(uint64_t)TAG_BITS;

		/* from 3.15 on the (unused) place of an iterator's index is above the awaited object */
		return word || p->minor < MINOR_STATES ? word : python_word(p, end - 16) & ~(uint64_t)TAG_BITS;
	}
	return top > 0 && top <= UINT16_MAX ? python_word(p, addr + frame + STACK_BASE_AT + 8 * ((uint64_t)top - 1))
					    : 0;
}

/* A coroutine of the chain. */
struct coroutine {
	int8_t state;	/* see STATE_RUNS */
	uint64_t code, instr;
	uint64_t top;	/* top of its stack if suspended; 0: empty */
	uint64_t locals;	/* address of its variables; 0: finished */
};

/* Before 3.11 its frame is an object. */
static bool read_old_coroutine(struct task_reading *r, uint64_t addr, struct coroutine *c)
{
	const struct python_layout *l = python_layout_of(3 << 8 | r->p->minor);
	const uint8_t *bytes = read_part(r, addr, OLD_CORO_RUNS_AT + 8), *frame;
	uint64_t at = bytes ? memory_word(bytes, OLD_CORO_FRAME_AT) : 0, end;
	bool runs;

	*c = (struct coroutine){ .state = STATE_RUNS + 1 };
	if (!at)
		return bytes;	/* it is finished */
	frame = read_part(r, at, FRAME_BYTES);
	if (!frame)
		return false;
	runs = r->p->minor == 10 ? !(int8_t)frame[OLD_STATE_AT] : bytes[OLD_CORO_RUNS_AT] & 1;
	c->state = runs ? STATE_RUNS : STATE_RUNS - 1;
	c->code = memory_word(frame, l->walk.code_at);
	c->instr = (uint32_t)MAX((int32_t)memory_half(frame, l->walk.instr_at), 0);
	end = r->p->minor == 10 ? memory_word(frame, OLD_STACK_AT) +
					  8 * (uint64_t)MIN(memory_half(frame, OLD_STACK_AT + 16), UINT16_MAX)
				: memory_word(frame, OLD_STACK_AT + 8);
	c->top = end > memory_word(frame, OLD_STACK_AT) ? python_word(r->p, end - 8) : 0;
	c->locals = at + (r->p->minor == 10 ? OLD_LOCALS_10 : OLD_LOCALS_8);
	return true;
}

/* False: unreadable. */
static bool read_coroutine(struct task_reading *r, uint64_t addr, struct coroutine *c)
{
	const struct python_layout *l = python_layout_of(3 << 8 | r->p->minor);
	const size_t frame = frame_at(r->p);
	const uint8_t *bytes;

	if (r->p->minor < MINOR_WHOLE)
		return read_old_coroutine(r, addr, c);
	bytes = read_part(r, addr, COROUTINE_BYTES);
	if (!bytes)
		return false;
	*c = (struct coroutine){
		.state = (int8_t)(bytes[frame - 5] - (r->p->minor >= MINOR_STATES ? STATE_RUNS_15 : STATE_RUNS)),
		.code = memory_word(bytes, frame + l->walk.code_at) & ~(uint64_t)TAG_BITS,
		.instr = memory_word(bytes, frame + INSTR_AT),
		.top = top_of_stack(r->p, bytes, addr),
		.locals = addr + frame + (r->p->minor >= MINOR_LISTS ? LOCALS_14 : STACK_BASE_AT),
	};
	return true;
}

/* For an innermost coroutine of asyncio that waits for others. */
static void note_held(const struct python_program *p, const struct coroutine *c, struct python_task *t)
{
	static const struct {
		const char *file, *name;
		enum python_task_in in;
	} known[] = {
		{ "/asyncio/tasks.py", "_wait", PYTHON_TASK_IN_WAIT },
		{ "/asyncio/tasks.py", "wait_for", PYTHON_TASK_IN_WAIT_FOR },
		{ "/asyncio/taskgroups.py", "TaskGroup.__aexit__", PYTHON_TASK_IN_GROUP },
		{ "/asyncio/taskgroups.py", "TaskGroup._aexit", PYTHON_TASK_IN_GROUP },
	};
	const struct language_frame *f = &t->frames[t->frame_cnt - 1];

	for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
		if (f->file && !strcmp(f->name, known[i].name) && g_str_has_suffix(f->file, known[i].file)) {
			t->in = known[i].in;
			t->held = python_word(p, c->locals) & ~(uint64_t)(p->minor >= MINOR_LISTS ? TAG_BITS : 0);
		}
}

static void walk_coroutines(struct task_reading *r, uint64_t coroutine, struct python_task *t)
{
	while (coroutine && python_type(r->p, coroutine) == r->p->coroutine_type) {
		struct coroutine c;
		struct language_place place = { .version = 3 << 8 | r->p->minor,
						.pid = r->p->pid,
						.space = 1,
						.code_type = r->p->code_type };

		if (t->frame_cnt >= PYTHON_TASK_FRAMES_MAX || !read_coroutine(r, coroutine, &c)) {
			t->is_cut = true;
			return;
		}
		place.code = c.code;
		place.instr = c.instr;
		if (c.state > STATE_RUNS || !python_code_name(r->p->code, &place, &t->frames[t->frame_cnt]))
			return;
		t->frame_cnt++;
		coroutine = c.state == STATE_RUNS ? 0 : c.top;
		if (c.state < STATE_RUNS && c.locals && python_type(r->p, coroutine) != r->p->coroutine_type)
			note_held(r->p, &c, t);
	}
}

static void read_name(const struct python_program *p, uint64_t text, char *ret)
{
	const struct python_layout *l = python_layout_of(3 << 8 | p->minor);

	if (python_type(p, text) == p->long_type) {	/* 3.13: a number until the name is used */
		g_snprintf(ret, PYTHON_TASK_NAME_MAX, "Task-%u", (unsigned)(uint32_t)python_word(p, text + LONG_DIGIT_AT));
		return;
	}
	if (!memory_read(p->pid, text + l->ascii_bytes, ret, PYTHON_TASK_NAME_MAX - 1) &&
	    !memory_text(p->pid, text + l->ascii_bytes, ret, PYTHON_TASK_NAME_MAX))
		*ret = 0;
	ret[PYTHON_TASK_NAME_MAX - 1] = 0;
}

/* False: finished, or not a task. */
static bool read_task(struct task_reading *r, uint64_t address, struct python_task *t)
{
	struct python_program *p = r->p;
	const uint8_t *task = read_part(r, address, sizeof(r->parts[0].data));
	unsigned at = task ? coroutine_word(p, task) : 0;
	struct coroutine outermost;

	if (!at)
		return false;
	p->coroutine_at = at;
	*t = (struct python_task){ .address = address, .awaits = memory_word(task, 8 * at - 8) };
	if (!read_coroutine(r, memory_word(task, 8 * at), &outermost) || outermost.state > STATE_RUNS)
		return false;
	r->cnt = r->first + 1;	/* the walk reads it again */
	t->state = outermost.state == STATE_RUNS ? PYTHON_TASK_RUNS : t->awaits ? PYTHON_TASK_WAITS : PYTHON_TASK_READY;
	read_name(p, memory_word(task, 8 * at + 8), t->name);
	walk_coroutines(r, memory_word(task, 8 * at), t);
	if (p->lists.interpreter)
		t->awaited_by = python_task_lists_awaited_by(&p->lists, address, &t->is_awaited_by_several);
	return true;
}

void python_tasks_held(struct python_program *p, const struct python_task *t, GArray *into)
{
	uint64_t set = t->in == PYTHON_TASK_IN_GROUP ? python_group_tasks(p, t->held) : t->held, table, mask, cnt;

	if (t->in == PYTHON_TASK_IN_WAIT_FOR && t->held) {
		g_array_append_val(into, t->held);
	} else if (set && python_type(p, set) == p->set_type) {
		table = python_word(p, set + PYTHON_SET_TABLE_AT);
		mask = table ? python_word(p, set + PYTHON_SET_MASK_AT) : 0;
		cnt = table ? MIN(MIN(mask, SET_ENTRIES_MAX - 1) + 1, p->entries_left) : 0;
		p->entries_left -= cnt;
		list_table(p, table, cnt, false, into);
	}
}

bool python_tasks_read(struct python_program *p, uint64_t first, uint64_t stride, python_task_fn fn, void *ctx,
		       struct python_tasks_census *ret)
{
	g_autoptr(GArray) tasks = g_array_new(FALSE, FALSE, sizeof(uint64_t)),
			  read = g_array_new(FALSE, FALSE, sizeof(struct task_read));
	struct task_reading r;
	uint64_t is_there;

	r.p = p;
	r.tasks = read;
	r.first = r.cnt = 0;
	*ret = (struct python_tasks_census){ 0 };
	p->entries_left = PYTHON_ENTRIES_MAX;
	if (!stride || !memory_read(p->pid, p->runtime, &is_there, sizeof(is_there)))
		return false;
	list_tasks(p, tasks, &ret->is_cut);
	p->listed = tasks->len;
	for (uint64_t i = first; i < tasks->len; i += stride) {
		struct task_read t;

		if (!read_task(&r, g_array_index(tasks, uint64_t, i), &t.task)) {
			r.cnt = r.first;
			continue;
		}
		t.first = r.first;
		t.end = r.first = r.cnt;
		g_array_append_val(read, t);
		if (r.cnt + PARTS_OF_TASK > PARTS_AT_ONCE)
			finish_tasks(&r, fn, ctx);
	}
	finish_tasks(&r, fn, ctx);
	return true;
}
