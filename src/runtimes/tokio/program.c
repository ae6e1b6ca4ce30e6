/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "runtimes/tokio/program.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/elf_file.h"
#include "base/find.h"
#include "base/hash.h"
#include "symbolize/names/demangle.h"
#include "symbolize/process/fileopen.h"
#include "symbolize/process/maps.h"
#include "symbolize/runtime/memory.h"

#define WORD 8
#define PIECE_BYTES (256u << 10)
#define TABLES_BYTES_MAX (64u << 20)	/* limit of the file's data */
#define SEARCH_BYTES_MAX (256u << 20)	/* limit of process memory searched for the first tasks */
#define TABLE_WORDS 14
#define END_MAX (64u << 20)	/* limit of a future's size */
#define CODE_BYTES_MAX 8192	/* limit of a function searched for calls */
#define CALLS_DEPTH_MAX 4
#define FUNCTIONS_MAX 256
#define RUNTIMES_MAX 64
#define KINDS_MAX 4096
#define RUNTIME_BYTES 4096	/* of what a scheduler's handle points to */
#define SHARDS_MAX 65536
#define SHARD_BYTES 24	/* a lock, and a list's head and tail */
#define LIST_TRIES 3
#define OWNERS_MAX UINT32_MAX
/* A program can make its memory look like lists everywhere, so reads are limited; each takes about 0.5 us. */
#define READS_TO_OPEN (4u << 20)
#define READS_OF_LOOK (1u << 20)
#define READ_BYTES 4096	/* a longer one counts as several */
#define READS_OF_FUNCTION 32	/* reads that searching a function counts as */

/* Word indexes in a task, and bits of the first word. */
enum { TASK_STATE, TASK_LINK, TASK_TABLE, TASK_OWNER, TASK_WORDS };
enum { STATE_RUNS = 1, STATE_DONE = 2, STATE_READY = 4 };

static bool may_read(struct tokio_program *p, unsigned cnt)
{
	if (p->reads_left < cnt) {
		p->reads_left = 0;
		return false;
	}
	p->reads_left -= cnt;
	return true;
}

/* ---- names */

char *tokio_first_argument(const char *at)
{
	unsigned depth = 0;
	const char *c;

	for (c = at; *c && (depth || (*c != ',' && *c != '>')); c++) {
		bool is_arrow = *c == '>' && c > at && c[-1] == '-';

		if (strchr("<([", *c))
			depth++;
		else if (strchr(">)]", *c) && depth && !is_arrow)
			depth--;
	}
	/* a letter: the function's name is generic */
	return *c && c > at + 1 ? g_strndup(at, (gsize)(c - at)) : NULL;
}

char *tokio_future_name(const char *function)
{
	static const char *const before[] = { "tokio::runtime::task::raw::poll::<", "tokio::runtime::task::core::Cell<",
					      "tokio::runtime::task::core::Stage<", "tokio::runtime::task::core::CoreStage<" };

	for (size_t i = 0; i < G_N_ELEMENTS(before); i++) {
		const char *at = strstr(function, before[i]);

		if (at)
			return tokio_first_argument(at + strlen(before[i]));
	}
	return NULL;
}

/* State of finding a future's name. Functions are counted, so that the search ends. */
struct name_search {
	struct tokio_program *p;
	const struct elf_table *table;
	uint64_t bias;
	unsigned left;
};

static const struct symtab_entry *function_at(const struct elf_table *t, uint64_t vaddr)
{
	size_t low = 0, high = t->symbols.cnt;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->symbols.entries[middle].addr < vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < t->symbols.cnt && t->symbols.entries[low].addr == vaddr ? &t->symbols.entries[low] : NULL;
}

/* From a function's own name; *ret: its symbol, NULL: none. */
static char *own_name(const struct name_search *n, uint64_t code, const struct symtab_entry **ret, bool *ret_is_task)
{
	const char *raw;
	g_autofree char *shown = NULL;

	*ret = function_at(n->table, code - n->bias);
	raw = *ret ? n->table->symbols.names + (*ret)->name : NULL;
	shown = raw && strstr(raw, "tokio") ? demangle(raw) : NULL;
	*ret_is_task = shown && strstr(shown, "tokio::runtime::task::");
	return shown ? tokio_future_name(shown) : NULL;
}

static char *name_by_function(struct name_search *n, uint64_t code, unsigned depth);

/* From the names of the functions that it calls. */
static char *name_by_calls(struct name_search *n, uint64_t code, size_t bytes, unsigned depth)
{
	g_autofree uint8_t *text = g_malloc(bytes);
	char *name = NULL;
	int32_t distance;

	if (!may_read(n->p, READS_OF_FUNCTION) || !memory_read(n->p->pid, code, text, bytes))
		return NULL;
	for (size_t i = 0; i + 5 <= bytes && !name; i++) {
		if (text[i] != 0xe8 && text[i] != 0xe9)	/* opcodes of call and jmp */
			continue;
		memcpy(&distance, text + i + 1, sizeof(distance));
		name = name_by_function(n, code + i + 5 + (uint64_t)(int64_t)distance, depth + 1);
	}
	return name;
}

/*
 * Legacy mangling omits types in most names, but not in those of drop functions: a task's functions call the one that
 * drops its future.
 */
static char *name_by_function(struct name_search *n, uint64_t code, unsigned depth)
{
	const struct symtab_entry *e;
	bool is_task;
	char *name = own_name(n, code, &e, &is_task);

	if (name || !is_task || depth > CALLS_DEPTH_MAX || !n->left)
		return name;
	n->left--;
	return name_by_calls(n, code, MIN(e->size, CODE_BYTES_MAX), depth);
}

/* ---- function tables (vtables) */

static bool is_of_task(const char *raw, const char *function)
{
	const char *at = raw ? strstr(raw, "5tokio7runtime4task3raw") : NULL;

	return at && g_str_has_prefix(at + strlen("5tokio7runtime4task3raw"), function);
}

static bool is_task_function(const struct elf_table *t, uint64_t vaddr)
{
	const struct symtab_entry *e = function_at(t, vaddr);

	return e && is_of_task(t->symbols.names + e->name, "");
}

static bool may_read_place(void *program, unsigned cnt)
{
	return may_read(program, cnt);
}

static void find_source_place(struct tokio_program *p, const struct elf_table *t, uint64_t bias,
			      struct tokio_kind *kind)
{
	const struct tokio_place_search search = { p->pid, t, bias, may_read_place, p };
	struct tokio_source_place place;

	if (!tokio_place_find(&search, kind->poll, &place))
		return;
	kind->file = place.file;
	kind->line = place.line;
	kind->has_several_places = place.is_one_of_several;
}

/* words: from `poll` on. Offsets follow the functions; the largest is that of a task's trailer. */
static void add_kind(struct tokio_program *p, const struct elf_table *t, uint64_t bias, uint64_t at,
		     const uint64_t words[TABLE_WORDS])
{
	struct tokio_kind kind = { .table = at, .poll = words[0], .scheduler_at = UINT32_MAX }, *known;
	struct name_search search = { p, t, bias, FUNCTIONS_MAX };
	const struct symtab_entry *poll;
	unsigned i = 0, function_cnt;
	bool is_task;

	while (i < TABLE_WORDS && words[i] > END_MAX && is_task_function(t, words[i] - bias))
		i++;
	function_cnt = i;
	for (unsigned cnt = 0; cnt < 3 && i < TABLE_WORDS; i++, cnt++) {
		if (words[i] % WORD || !words[i] || words[i] > END_MAX)
			return;
		kind.end_at = MAX(kind.end_at, (uint32_t)words[i]);
		kind.scheduler_at = MIN(kind.scheduler_at, (uint32_t)words[i]);
	}
	if (function_cnt < 2 || g_hash_table_size(p->kinds) >= KINDS_MAX || kind.end_at <= kind.scheduler_at ||
	    kind.scheduler_at < TASK_WORDS * WORD)
		return;
	kind.schedule = words[1];
	kind.name = own_name(&search, words[0], &poll, &is_task);
	/* not from calls of poll: its future may create and drop other kinds of tasks */
	for (unsigned k = 2; k < function_cnt && !kind.name; k++)
		kind.name = name_by_function(&search, words[k], 0);
	find_source_place(p, t, bias, &kind);
	known = g_memdup2(&kind, sizeof(kind));
	g_hash_table_replace(p->kinds, &known->table, known);
	p->kinds_from = MIN(p->kinds_from, at);
	p->kinds_to = MAX(p->kinds_to, at + 1);
}

/*
 * Compilers merge functions with equal code, and many futures are dropped alike. So a name shared by two kinds of a
 * scheduler is dropped.
 */
static void drop_doubtful_names(struct tokio_program *p)
{
	g_autoptr(GPtrArray) doubtful = g_ptr_array_new();
	GHashTableIter iter, others;
	gpointer one, other;

	g_hash_table_iter_init(&iter, p->kinds);
	while (g_hash_table_iter_next(&iter, NULL, &one)) {
		const struct tokio_kind *a = one;

		g_hash_table_iter_init(&others, p->kinds);
		while (g_hash_table_iter_next(&others, NULL, &other)) {
			const struct tokio_kind *b = other;

			if (a->name && b->name && a->schedule == b->schedule && !strcmp(a->name, b->name) &&
			    (a->poll != b->poll || a->end_at != b->end_at))
				g_ptr_array_add(doubtful, one);
		}
	}
	for (guint i = 0; i < doubtful->len; i++)
		g_clear_pointer(&((struct tokio_kind *)doubtful->pdata[i])->name, g_free);
}

/* The addresses of all functions that poll a task. */
static GHashTable *find_polls(const struct elf_table *t, uint64_t bias)
{
	GHashTable *polls = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);

	EACH_IN(i, const struct symtab_entry, e, t->symbols.entries, t->symbols.cnt) {
		uint64_t addr = e->addr + bias;

		if (is_of_task(t->symbols.names + e->name, "4poll"))
			g_hash_table_add(polls, g_memdup2(&addr, sizeof(addr)));
	}
	return polls;
}

static void find_kinds_in(struct tokio_program *p, const struct elf_table *t, uint64_t bias, GHashTable *polls,
			  const struct maps_line *line)
{
	g_autofree uint64_t *words = g_malloc(line->end - line->start);
	uint64_t cnt = (line->end - line->start) / WORD;

	if (!memory_read(p->pid, line->start, words, cnt * WORD))
		return;
	for (uint64_t i = 0; i + TABLE_WORDS <= cnt; i++)
		if (words[i] && g_hash_table_contains(polls, &words[i]))
			add_kind(p, t, bias, line->start + i * WORD, words + i);
}

static bool find_kinds(struct tokio_program *p, const struct elf_table *t, const GArray *lines,
		       const struct maps_line *code)
{
	g_autoptr(GHashTable) polls = NULL;
	uint64_t vaddr, left = TABLES_BYTES_MAX;

	if (!elf_table_vaddr(t, code->pgoff, &vaddr))
		return false;
	polls = find_polls(t, code->start - vaddr);
	EACH_ROW_WHILE(i, const struct maps_line, line, lines, g_hash_table_size(polls)) {
		if (line->inode != code->inode || line->dev_major != code->dev_major ||
		    line->dev_minor != code->dev_minor || line->is_exec || !line->is_readable ||
		    line->end - line->start > left)
			continue;
		left -= line->end - line->start;
		find_kinds_in(p, t, code->start - vaddr, polls, line);
	}
	drop_doubtful_names(p);
	return g_hash_table_size(p->kinds) > 0;
}

/* ---- lists */

static const struct tokio_kind *kind_of(const struct tokio_program *p, uint64_t table)
{
	if (table < p->kinds_from || table >= p->kinds_to)
		return NULL;
	return g_hash_table_lookup(p->kinds, &table);
}

static bool read_task(struct tokio_program *p, uint64_t addr, uint64_t words[TASK_WORDS],
		      const struct tokio_kind **ret_kind)
{
	if (!addr || addr % WORD || addr >> 47 || !may_read(p, 1) ||
	    !memory_read(p->pid, addr, words, TASK_WORDS * WORD))
		return false;
	*ret_kind = kind_of(p, words[TASK_TABLE]);
	return *ret_kind && words[TASK_OWNER] && words[TASK_OWNER] <= OWNERS_MAX;
}

static enum tokio_task_state state_of(uint64_t word)
{
	if (word & STATE_RUNS)
		return TOKIO_RUNS;
	if (word & STATE_DONE)
		return TOKIO_DONE;
	return word & STATE_READY ? TOKIO_READY : TOKIO_WAITS;
}

enum list_result { LIST_WHOLE, LIST_NONE, LIST_CHANGED, LIST_CUT };

/* Walks from the first to the last task, each of which links to its neighbours. */
static enum list_result read_list(struct tokio_program *p, uint64_t first, uint64_t last, uint64_t links_at,
				  GArray *ret)
{
	uint64_t words[TASK_WORDS], links[2], owner = 0, before = 0, at = first;
	guint begin = ret->len;
	struct tokio_task task;

	while (ret->len < TOKIO_TASKS_MAX && p->reads_left) {
		task = (struct tokio_task){ .addr = at };
		if (!read_task(p, at, words, &task.kind) || (owner && words[TASK_OWNER] != owner) ||
		    !memory_read(p->pid, at + task.kind->end_at + links_at, links, sizeof(links)) || links[0] != before)
			return ret->len - begin > 1 ? LIST_CHANGED : LIST_NONE;
		task.state = state_of(words[TASK_STATE]);
		g_array_append_val(ret, task);
		if (!links[1])
			return at == last ? LIST_WHOLE : ret->len - begin > 1 ? LIST_CHANGED : LIST_NONE;
		owner = words[TASK_OWNER];
		before = at;
		at = links[1];
	}
	return LIST_CUT;
}

/* Finds the offset of the links. A single task has none, so any two zero words would match. */
static enum list_result try_list(struct tokio_program *p, uint64_t first, uint64_t last, GArray *ret)
{
	enum list_result result = LIST_NONE;
	guint begin = ret->len;

	for (uint64_t at = 0; at <= 3 * WORD && result == LIST_NONE; at += WORD) {
		if (p->has_links_at ? at != p->links_at : at && first == last)
			continue;
		for (unsigned i = 0; i < LIST_TRIES && (!i || result == LIST_CHANGED); i++) {
			g_array_set_size(ret, begin);
			result = read_list(p, first, last, at, ret);
		}
		if (result == LIST_WHOLE && first != last) {
			p->links_at = at;
			p->has_links_at = true;
		}
	}
	return result;
}

/* Reads all lists whose ends are there; returns how many. */
static unsigned read_place(struct tokio_program *p, const struct tokio_place *place, GHashTable *firsts, GArray *ret,
			   bool *is_cut)
{
	g_autofree uint64_t *words = g_malloc(place->bytes);
	const struct tokio_kind *kind;
	uint64_t task[TASK_WORDS];
	unsigned found = 0;

	if (!may_read(p, 1 + (unsigned)(place->bytes / READ_BYTES)) ||
	    !memory_read(p->pid, place->from, words, place->bytes))
		return 0;
	for (uint64_t i = 0; i + 1 < place->bytes / WORD; i++) {
		guint begin = ret->len;
		enum list_result result;

		if (!words[i + 1] || words[i + 1] % WORD || !read_task(p, words[i], task, &kind) ||
		    g_hash_table_contains(firsts, &words[i]))
			continue;
		result = try_list(p, words[i], words[i + 1], ret);
		if (result == LIST_NONE) {
			g_array_set_size(ret, begin);
			continue;
		}
		*is_cut |= result != LIST_WHOLE;
		g_hash_table_add(firsts, g_memdup2(&words[i], sizeof(words[i])));
		found++;
	}
	return found;
}

/* ---- where lists begin */

static bool is_searched(const struct maps_line *line)
{
	return line->is_readable && !line->is_exec && !line->is_shared && !line->inode &&
	       (!*line->path || !strcmp(line->path, "[heap]") || g_str_has_prefix(line->path, "[anon"));
}

/* Finds runtimes from tasks in a piece of memory: what their schedulers point to. */
static void find_runtimes_in(const struct tokio_program *p, const uint64_t *words, size_t cnt, GArray *ret)
{
	for (size_t i = TASK_TABLE; i + 1 < cnt && ret->len < RUNTIMES_MAX; i++) {
		const struct tokio_kind *kind = kind_of(p, words[i]);
		size_t scheduler = kind ? i - TASK_TABLE + kind->scheduler_at / WORD : cnt;
		bool is_known = false;

		if (scheduler >= cnt || !words[i + 1] || words[i + 1] > OWNERS_MAX)
			continue;
		for (guint k = 0; k < ret->len; k++)
			is_known |= g_array_index(ret, uint64_t, k) == words[scheduler];
		if (!is_known)
			g_array_append_val(ret, words[scheduler]);
	}
}

static GArray *find_runtimes(const struct tokio_program *p, const GArray *lines)
{
	GArray *found = g_array_new(FALSE, FALSE, sizeof(uint64_t));
	g_autofree uint64_t *words = g_malloc(PIECE_BYTES);
	uint64_t left = SEARCH_BYTES_MAX;

	EACH_ROW(i, const struct maps_line, line, lines) {
		for (uint64_t at = line->start; is_searched(line) && at < line->end && left; at += PIECE_BYTES) {
			uint64_t bytes = MIN(MIN(line->end - at, PIECE_BYTES), left);

			left -= bytes;
			if (memory_read(p->pid, at, words, bytes))
				find_runtimes_in(p, words, bytes / WORD, found);
		}
	}
	return found;
}

/* How much memory is mapped from addr on, at most `wanted`. */
static uint64_t mapped_from(const GArray *lines, uint64_t addr, uint64_t wanted)
{
	EACH_ROW(i, const struct maps_line, line, lines)
		if (addr >= line->start && addr < line->end)
			return is_searched(line) ? MIN(line->end - addr, wanted) / WORD * WORD : 0;
	return 0;
}

static bool add_place(struct tokio_program *p, const GArray *lines, uint64_t from, uint64_t wanted)
{
	struct tokio_place place = { from, from % WORD ? 0 : mapped_from(lines, from, wanted) };
	g_autoptr(GHashTable) firsts = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);
	g_autoptr(GArray) tasks = g_array_new(FALSE, FALSE, sizeof(struct tokio_task));
	bool is_cut = false;

	if (place.bytes < 2 * WORD || !read_place(p, &place, firsts, tasks, &is_cut))
		return false;
	g_array_append_val(p->places, place);
	return true;
}

/* The ends of the lists are in the runtime, or in an array that it points to, with the length that it has. */
static void find_places(struct tokio_program *p, const GArray *lines, uint64_t runtime)
{
	uint64_t words[RUNTIME_BYTES / WORD], bytes = runtime % WORD ? 0 : mapped_from(lines, runtime, RUNTIME_BYTES);
	bool has_array = false;

	if (!bytes || !memory_read(p->pid, runtime, words, bytes))
		return;
	for (uint64_t i = 0; i + 1 < bytes / WORD && p->reads_left; i++)
		if (words[i + 1] && words[i + 1] <= SHARDS_MAX && !(words[i + 1] & (words[i + 1] - 1)))
			has_array |= add_place(p, lines, words[i], words[i + 1] * SHARD_BYTES);
	if (!has_array)
		add_place(p, lines, runtime, RUNTIME_BYTES);
}

static void find_lists(struct tokio_program *p, const GArray *lines)
{
	g_autoptr(GArray) runtimes = find_runtimes(p, lines);

	for (guint i = 0; i < runtimes->len; i++)
		find_places(p, lines, g_array_index(runtimes, uint64_t, i));
}

/* ---- */

static bool is_by_rustc(int fd)
{
	struct elf_file file;
	bool is_rust = false;

	if (elf_file_open(&file, fd, NULL)) {
		bool is_known = file.is_64_little && file.machine == EM_X86_64;
		Elf_Scn *scn = is_known ? elf_file_section_named(&file, ".comment") : NULL;
		Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;

		is_rust = data && data->d_buf && data->d_size && memmem(data->d_buf, data->d_size, "rustc ", 6);
	}
	elf_file_close(&file);
	return is_rust;
}

static struct elf_table *read_file(const char *proc_dir, uint32_t pid, const struct maps_line *line)
{
	struct elf_table *t = NULL;
	int fd = file_open_line(proc_dir, pid, line);

	if (fd < 0)
		return NULL;
	if (is_by_rustc(fd))
		t = elf_table_read(fd, NULL);
	close(fd);
	return t;
}

FREES_DATA(kind_free, struct tokio_kind, kind, g_free(kind->name); g_free(kind->file))

static const struct maps_line *program_line(const GArray *lines)
{
	return FIRST_ROW(const struct maps_line, line, lines, line->is_exec && line->inode, line, NULL);
}

bool tokio_program_open(struct tokio_program *p, const char *proc_dir, uint32_t pid, const GArray *lines)
{
	const struct maps_line *line = program_line(lines);
	struct elf_table *t = line ? read_file(proc_dir, pid, line) : NULL;
	bool is_there;

	*p = (struct tokio_program){ .pid = pid, .kinds_from = UINT64_MAX, .reads_left = READS_TO_OPEN };
	p->kinds = g_hash_table_new_full(hash_u64, g_int64_equal, NULL, kind_free);
	p->places = g_array_new(FALSE, FALSE, sizeof(struct tokio_place));
	is_there = t && find_kinds(p, t, lines, line);
	elf_table_free(t);
	p->path = line ? g_strdup(line->path) : NULL;
	return is_there;
}

bool tokio_program_is_ready(struct tokio_program *p, const GArray *lines)
{
	p->reads_left = READS_TO_OPEN;
	if (!p->places->len)
		find_lists(p, lines);
	return p->places->len > 0;
}

void tokio_program_close(struct tokio_program *p)
{
	g_hash_table_destroy(p->kinds);
	g_array_unref(p->places);
	g_free(p->path);
}

bool tokio_program_read(struct tokio_program *p, GArray *ret, bool *ret_is_cut)
{
	g_autoptr(GHashTable) firsts = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);
	bool is_there = false;
	uint64_t word;

	*ret_is_cut = false;
	p->reads_left = READS_OF_LOOK;
	g_array_set_size(ret, 0);
	EACH_ROW(i, const struct tokio_place, place, p->places) {
		is_there |= memory_read(p->pid, place->from, &word, sizeof(word));
		read_place(p, place, firsts, ret, ret_is_cut);
	}
	*ret_is_cut |= !p->reads_left;
	p->listed = ret->len;
	return is_there;
}
