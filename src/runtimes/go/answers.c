/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "runtimes/go/answers.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/find.h"
#include "base/go_table.h"
#include "base/opener/parser.h"
#include "runtimes/go/program.h"
#include "symbolize/elf/table.h"

#define INLINED_MAX_WORDS 5
#define TREES_TRIED 4
#define GO_CODE_MAX 256	/* limit of a function that is decoded */

/* Identifies a version of the file, since the answering process may not ask the kernel. */
struct identity {
	uint64_t dev, ino, size;
	int64_t changed_s, changed_ns, written_s, written_ns;
};

/* Both processes run the same build, so the protocol may be plain structs. */
enum about { ABOUT_FILE, ABOUT_CODE, ABOUT_INLINE_DATA, ABOUT_LABELS };
struct question {
	struct identity file;
	uint64_t about, vaddr, inline_data;
};

/* Segments follow. */
struct file_answer {
	uint64_t machine, has_start_line, table, text, adds_start, adds_end, main_start, segment_cnt;
	char version[GO_VERSION_MAX];
};

/* For each place: its line, its name, and its file, which is empty if unknown. */
struct code_answer {
	uint64_t start;
	int64_t step;
	uint32_t is_returned_to, place_cnt;
};

/* ---- in the parser process */

struct program {
	struct elf_file file;
	struct go_table table;
	char version[GO_VERSION_MAX];
	int fd;		/* of this question; the table is copied to memory */
};

/*
 * The last program asked about. Reading a table of tens of megabytes takes milliseconds, and addresses come by the
 * thousand.
 */
static struct {
	GMutex lock;
	struct program program;
	struct identity file;
	bool is_open;
} last;

static bool open_program(struct program *p, int fd)
{
	*p = (struct program){ .fd = fd };
	if (!elf_file_open(&p->file, fd, NULL) ||
	    (p->file.machine != EM_X86_64 && p->file.machine != EM_AARCH64) || !go_table_open(&p->table, &p->file))
		return false;
	go_version_read(&p->file, p->version, sizeof(p->version));
	elf_cntl(p->file.elf, ELF_C_FDDONE);
	return true;
}

/* NULL: not a Go program. */
static struct program *program_of(int fd, const struct identity *file)
{
	if (!last.is_open || memcmp(file, &last.file, sizeof(*file)) != 0) {
		elf_file_close(&last.program.file);
		last.is_open = open_program(&last.program, fd);
		last.file = *file;
	}
	last.program.fd = fd;
	return last.is_open ? &last.program : NULL;
}

static bool tell_file(const struct program *p, GByteArray *into)
{
	struct go_func adds = { 0 }, main = { 0 };

	go_table_named(&p->table, "runtime.allgadd", &adds);
	go_table_named(&p->table, "runtime.main", &main);
	struct file_answer a = {
		.machine = p->file.machine, .has_start_line = p->table.has_start_line,
		.table = p->table.vaddr, .text = p->table.text, .adds_start = adds.start,
		.adds_end = adds.end, .main_start = main.start, .segment_cnt = p->file.segment_cnt,
	};

	memcpy(a.version, p->version, sizeof(a.version));
	g_byte_array_append(into, (const guint8 *)&a, sizeof(a));
	g_byte_array_append(into, (const guint8 *)p->file.segments,
			    (guint)(p->file.segment_cnt * sizeof(*p->file.segments)));
	return true;
}

static bool read_bytes(const struct program *p, uint64_t vaddr, void *ret, size_t bytes)
{
	EACH_IN(i, const struct elf_segment, s, p->file.segments, p->file.segment_cnt) {
		uint64_t at = vaddr - s->vaddr;

		if (vaddr >= s->vaddr && at <= s->size && s->size - at >= bytes && s->off <= INT64_MAX - at)
			return pread(p->fd, ret, bytes, (off_t)(s->off + at)) == (ssize_t)bytes;
	}
	return false;
}

static bool tell_inline_data(const struct program *p, uint64_t vaddr)
{
	unsigned tried = 0;

	for (uint32_t i = 0; i < p->table.func_cnt && tried < TREES_TRIED; i++) {
		uint32_t words[4];
		struct go_func f;

		if (!go_table_func(&p->table, i, &f) || f.inline_tree == UINT32_MAX)
			continue;
		if (!read_bytes(p, vaddr + f.inline_tree, words, sizeof(words)) ||
		    !go_table_name(&p->table, words[p->table.has_start_line ? 1 : 3]))
			return false;
		tried++;
	}
	return tried;
}

/* An entry of a function's inline tree: the inlined function's name, and where it is called. */
static const char *inlined_at(const struct program *p, const struct go_func *f, uint64_t inline_data, int32_t index,
			      uint64_t *ret_call)
{
	const uint64_t bytes = p->table.has_start_line ? 16 : 20;
	uint32_t words[INLINED_MAX_WORDS] = { 0 };
	const char *name;

	if (!inline_data || f->inline_tree == UINT32_MAX || index < 0 || index > UINT16_MAX ||
	    !read_bytes(p, inline_data + f->inline_tree + bytes * (uint64_t)index, words, bytes))
		return NULL;
	name = go_table_name(&p->table, words[p->table.has_start_line ? 1 : 3]);
	*ret_call = f->start + words[p->table.has_start_line ? 2 : 4];
	return *ret_call < f->end ? name : NULL;
}

static void tell_place(const struct go_place *place, GByteArray *into)
{
	const char *file = place->file ? place->file : "";

	g_byte_array_append(into, (const guint8 *)&place->line, sizeof(place->line));
	g_byte_array_append(into, (const guint8 *)place->name, (guint)strlen(place->name) + 1);
	g_byte_array_append(into, (const guint8 *)file, (guint)strlen(file) + 1);
}

static uint32_t tell_places(const struct program *p, const struct go_func *f, const struct question *q,
			    GByteArray *into)
{
	uint64_t at = q->vaddr, call;
	uint32_t cnt = 0;
	int32_t index;

	while (cnt < GO_PLACES_MAX) {
		const char *name = NULL;
		struct go_place place;

		place.file = go_table_code_line(&p->table, f, at, &place.line);
		if (go_table_value(&p->table, f, f->inline_values, at, &index) && index >= 0)
			name = inlined_at(p, f, q->inline_data, index, &call);
		place.name = name ? name : f->name;
		tell_place(&place, into);
		cnt++;
		if (!name)
			break;
		at = call;
	}
	return cnt;
}

static bool tell_code(const struct program *p, const struct question *q, GByteArray *into)
{
	struct code_answer a = { .step = GO_STEP_UNKNOWN };
	struct go_func f;
	int32_t step;

	if (!go_table_find(&p->table, q->vaddr, &f))
		return false;
	a.start = f.start;
	a.is_returned_to = go_table_is_returned_to(&f);
	if (f.flags & GO_FUNC_TOPFRAME)
		a.step = GO_STEP_END;
	else if (go_table_value(&p->table, &f, f.sp_values, q->vaddr, &step) && step >= 0 && step % 8 == 0)
		a.step = step;
	g_byte_array_append(into, (const guint8 *)&a, sizeof(a));
	a.place_cnt = tell_places(p, &f, q, into);
	memcpy(into->data, &a, sizeof(a));
	return true;
}

/* The code of a function, up to `room` bytes; returns its length. */
static size_t read_function(const struct program *p, const char *name, uint8_t *ret, size_t room, uint64_t *ret_start)
{
	struct go_func f;
	size_t bytes;

	if (!go_table_named(&p->table, name, &f))
		return 0;
	bytes = (size_t)MIN(f.end - f.start, room);
	*ret_start = f.start;
	return read_bytes(p, f.start, ret, bytes) ? bytes : 0;
}

/* A program that never sets labels lacks this function. */
static bool tell_labels(const struct program *p, GByteArray *into)
{
	struct go_labels_place place = { 0 };
	uint8_t sets[GO_CODE_MAX], checks[GO_CODE_MAX];
	uint64_t sets_at, checks_at;
	size_t sets_bytes, checks_bytes;

	if (p->file.machine != EM_X86_64 || !go_labels_by_version(p->version, &place))
		return false;
	sets_bytes = read_function(p, "runtime/pprof.runtime_setProfLabel", sets, sizeof(sets), &sets_at);
	checks_bytes = sets_bytes ? read_function(p, "runtime.stackcheck", checks, sizeof(checks), &checks_at) : 0;
	if (!checks_bytes || !go_labels_by_code(sets, sets_bytes, &place) ||
	    !go_goroutine_by_code(checks, checks_bytes, checks_at, &place))
		return false;
	g_byte_array_append(into, (const guint8 *)&place, sizeof(place));
	return true;
}

static bool answer_question(const struct program *p, const struct question *q, GByteArray *into)
{
	switch (q->about) {
	case ABOUT_FILE:
		return tell_file(p, into);
	case ABOUT_INLINE_DATA:
		return tell_inline_data(p, q->vaddr);
	case ABOUT_LABELS:
		return tell_labels(p, into);
	default:
		return tell_code(p, q, into);
	}
}

bool go_answers_parse(int fd, const void *question, size_t question_bytes, GByteArray *into)
{
	const struct program *p;
	struct question q;
	bool is_ours;

	if (question_bytes != sizeof(q))
		return false;
	memcpy(&q, question, sizeof(q));
	g_mutex_lock(&last.lock);
	p = program_of(fd, &q.file);
	is_ours = p && answer_question(p, &q, into);
	g_mutex_unlock(&last.lock);
	return is_ours;
}

/* ---- in the asking process */

static GByteArray *ask_parser(int fd, enum about about, uint64_t vaddr, uint64_t inline_data)
{
	struct question q = { .about = about, .vaddr = vaddr, .inline_data = inline_data };
	struct stat st;

	if (fstat(fd, &st))
		return NULL;
	q.file = (struct identity){
		st.st_dev,	    st.st_ino,		(uint64_t)st.st_size, st.st_ctim.tv_sec,
		st.st_ctim.tv_nsec, st.st_mtim.tv_sec,	st.st_mtim.tv_nsec,
	};
	return parser_ask_or_do(PARSER_GO, go_answers_parse, fd, &q, sizeof(q));
}

bool go_file_read(int fd, struct go_file *ret)
{
	g_autoptr(GByteArray) bytes = ask_parser(fd, ABOUT_FILE, 0, 0);
	struct cursor c = { 0 };
	struct file_answer a;

	*ret = (struct go_file){ 0 };
	if (!bytes || bytes->len < sizeof(a))
		return false;
	memcpy(&a, bytes->data, sizeof(a));
	c = (struct cursor){ .at = bytes->data + sizeof(a), .end = bytes->data + bytes->len };
	if ((a.machine != EM_X86_64 && a.machine != EM_AARCH64) ||
	    !elf_segments_take(&c, a.segment_cnt, &ret->segments)) {
		go_file_clear(ret);
		return false;
	}
	ret->segment_cnt = a.segment_cnt;
	ret->machine = (uint16_t)a.machine;
	ret->has_start_line = a.has_start_line;
	ret->table = a.table;
	ret->text = a.text;
	ret->adds_start = a.adds_start;
	ret->adds_end = MAX(a.adds_start, a.adds_end);
	ret->main_start = a.main_start;
	a.version[sizeof(a.version) - 1] = '\0';
	for (const char *v = a.version; *v; v++)
		if (!g_ascii_isgraph(*v))
			return true;
	g_strlcpy(ret->version, a.version, sizeof(ret->version));
	return true;
}

bool go_labels_place_read(int fd, struct go_labels_place *ret)
{
	g_autoptr(GByteArray) bytes = ask_parser(fd, ABOUT_LABELS, 0, 0);

	*ret = (struct go_labels_place){ 0 };
	if (!bytes || bytes->len != sizeof(*ret))
		return false;
	memcpy(ret, bytes->data, sizeof(*ret));
	return ret->labels_at && ret->labels_at < GO_GOROUTINE_BYTES_MAX && ret->labels_at % 8 == 0 &&
	       ret->runs_at < GO_GOROUTINE_BYTES_MAX && ret->runs_at % 8 == 0;
}

void go_file_clear(struct go_file *f)
{
	g_clear_pointer(&f->segments, g_free);
	f->segment_cnt = 0;
}

static const char *take_text(struct cursor *c)
{
	size_t left = cursor_left(c);
	const uint8_t *end = left ? memchr(c->at, 0, left) : NULL;

	return end ? (const char *)cursor_take(c, (uint64_t)(end - c->at) + 1) : NULL;
}

/* The texts follow the places in the same allocation. */
struct go_code *go_code_from_bytes(const void *bytes, size_t len_bytes)
{
	struct code_answer a;
	struct go_code *code;
	struct cursor c;

	if (len_bytes < sizeof(a))
		return NULL;
	memcpy(&a, bytes, sizeof(a));
	if (!a.place_cnt || a.place_cnt > GO_PLACES_MAX || a.step < GO_STEP_END || a.step > INT32_MAX ||
	    (a.step > 0 && a.step % 8))
		return NULL;
	const size_t head = sizeof(*code) + a.place_cnt * sizeof(code->places[0]), texts = len_bytes - sizeof(a);

	code = g_malloc(head + texts);
	*code = (struct go_code){ a.start, a.step, a.is_returned_to, a.place_cnt };
	memcpy((char *)code + head, (const char *)bytes + sizeof(a), texts);
	c = (struct cursor){ .at = (const uint8_t *)code + head, .end = (const uint8_t *)code + head + texts };
	EACH_IN(i, struct go_place, place, code->places, a.place_cnt) {
		place->line = cursor_u32(&c);
		place->name = take_text(&c);
		place->file = take_text(&c);
		if (!place->name || !place->file) {
			g_free(code);
			return NULL;
		}
		if (!*place->file)
			place->file = NULL;
	}
	return code;
}

struct go_code *go_code_read(int fd, uint64_t vaddr, uint64_t inline_data)
{
	g_autoptr(GByteArray) bytes = ask_parser(fd, ABOUT_CODE, vaddr, inline_data);

	return bytes ? go_code_from_bytes(bytes->data, bytes->len) : NULL;
}

bool go_is_inline_data(int fd, uint64_t vaddr)
{
	g_autoptr(GByteArray) bytes = ask_parser(fd, ABOUT_INLINE_DATA, vaddr, 0);

	return bytes != NULL;
}
