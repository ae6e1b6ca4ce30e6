/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "runtimes/go/program.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/each.h"
#include "base/find.h"
#include "symbolize/process/fileopen.h"
#include "symbolize/process/maps.h"
#include "symbolize/runtime/memory.h"

#define FILES_MAX 64		/* mapped executable files to check */
#define CODE_MAX_BYTES 8192	/* limit of runtime.allgadd's code */
#define NAMED_MAX 3		/* addresses that one instruction may refer to */
#define SCAN_MAX_BYTES ((uint64_t)256 << 20)
#define SCAN_PIECE_BYTES (1u << 20)
#define GOROUTINE_WORDS (GO_GOROUTINE_BYTES_MAX / 8)
#define CODES_MAX 65536

/* Offsets in struct g, the same in all supported versions (runtime2.go). */
#define SCHED_G_AT 72	/* sched.g, the goroutine itself */
#define START_WORD_MIN 24
/* Offset in struct moduledata. */
#define MODULE_TEXT_AT (22 * 8)
#define MODULE_FUNC_AT (38 * 8)
#define MODULE_FUNC_AT_1_20 (40 * 8)
#define MODULE_BYTES (41 * 8)

static bool is_live_status(uint64_t status)
{
	uint64_t plain = status & ~(uint64_t)GO_STATUS_SCAN;

	return (plain >= GO_STATUS_RUNNABLE && plain <= GO_STATUS_WAITING) || plain == GO_STATUS_COPYING ||
	       plain == GO_STATUS_PREEMPTED;
}

/*
 * Finds offsets in the first goroutine, which has goid 1, is alive, and began with runtime.main. The order of the
 * fields between is the same in all versions.
 */
static bool take_layout(struct go_program *p, const uint64_t *words, uint64_t main_start)
{
	struct go_layout *l = &p->layout;

	*l = (struct go_layout){ 0 };
	for (uint32_t goid = 19; goid <= 20 && !l->goid; goid++)
		if (words[goid] == 1 && is_live_status((uint32_t)words[goid - 1]))
			l->goid = goid * 8;
	for (uint32_t i = START_WORD_MIN; i < GOROUTINE_WORDS && !l->start; i++)
		if (words[i] == main_start)
			l->start = i * 8;
	if (!l->goid || !l->start)
		return false;
	l->status = l->goid - 8;
	l->reason = l->goid + 24;
	l->creator = l->start - 16;	/* preceded by gopc and ancestors */
	l->parent = l->start - 24;
	l->bytes = l->start + 8;
	return true;
}

static bool is_list(struct go_program *p, uint64_t addr, uint64_t main_start)
{
	uint64_t slice[3], first, words[GOROUTINE_WORDS];

	if (!memory_read(p->pid, addr, slice, sizeof(slice)) || !slice[1] || slice[1] > slice[2] ||
	    slice[2] > GO_GOROUTINES_MAX || slice[0] % 8 || !memory_read(p->pid, slice[0], &first, sizeof(first)) ||
	    first % 8 || !memory_read(p->pid, first, words, sizeof(words)))
		return false;
	return words[SCHED_G_AT / 8] == first && take_layout(p, words, main_start);
}

/* x86-64: a 32-bit displacement from the instruction's end, without an immediate. Returns the number of addresses. */
static unsigned named_x86_64(const uint8_t *code, size_t bytes, size_t at, uint64_t vaddr, uint64_t ret[NAMED_MAX])
{
	int32_t distance;

	if (bytes - at < sizeof(distance))
		return 0;
	memcpy(&distance, code + at, sizeof(distance));
	ret[0] = vaddr + at + sizeof(distance) + (uint64_t)(int64_t)distance;
	return 1;
}

/* arm64: adrp, followed by an add, load or store of one of the list's three words. */
static unsigned named_arm64(const uint8_t *code, size_t bytes, size_t at, uint64_t vaddr, uint64_t ret[NAMED_MAX])
{
	uint32_t adrp, next, field;
	uint64_t page, addr;

	if (at % 4 || bytes - at < 2 * sizeof(adrp))
		return 0;
	memcpy(&adrp, code + at, sizeof(adrp));
	memcpy(&next, code + at + sizeof(adrp), sizeof(next));
	if ((adrp & 0x9f000000) != 0x90000000 || (next >> 5 & 31) != (adrp & 31))
		return 0;
	page = ((uint64_t)(adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3)) << 12;
	page = ((vaddr + at) & ~0xfffull) + (page ^ 1ull << 32) - (1ull << 32);
	field = next >> 10 & 0xfff;
	if ((next & 0xffc00000) == 0x91000000)
		addr = page + field;
	else if ((next & 0xff800000) == 0xf9000000)
		addr = page + 8ull * field;
	else
		return 0;
	for (unsigned i = 0; i < NAMED_MAX; i++)
		ret[i] = addr - 8ull * i;
	return NAMED_MAX;
}

/* The code of the function that appends to the list refers to it. */
static bool find_goroutines(struct go_program *p)
{
	bool is_arm64 = p->file.machine == EM_AARCH64;
	uint8_t code[CODE_MAX_BYTES];
	const uint64_t adds = p->file.adds_start + p->bias, main = p->file.main_start + p->bias;
	size_t bytes = (size_t)MIN(p->file.adds_end - p->file.adds_start, sizeof(code));

	if (!p->file.adds_start || !p->file.main_start || !memory_read(p->pid, adds, code, bytes))
		return false;
	for (size_t at = 0; at < bytes; at++) {
		uint64_t addrs[NAMED_MAX];
		unsigned cnt = (is_arm64 ? named_arm64 : named_x86_64)(code, bytes, at, adds, addrs);

		for (unsigned i = 0; i < cnt; i++)
			if (addrs[i] % 8 == 0 && is_list(p, addrs[i], main)) {
				p->goroutines = addrs[i];
				return true;
			}
	}
	return false;
}

/* The lengths of the first reasons, the same in all versions; each follows its text's address. */
static const uint64_t reason_lengths[] = { 0, 17, 7 };
#define REASONS_HEAD_WORDS (2 * G_N_ELEMENTS(reason_lengths))

static bool are_reasons(const uint64_t *words)
{
	for (size_t i = 0; i < G_N_ELEMENTS(reason_lengths); i++)
		if (words[2 * i + 1] != reason_lengths[i])
			return false;
	return true;
}

static bool is_plain(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!g_ascii_isprint(text[i]))
			return false;
	return true;
}

static bool read_reasons(struct go_program *p, uint64_t addr)
{
	for (p->reason_cnt = 0; p->reason_cnt < GO_REASONS_MAX; p->reason_cnt++) {
		char *text = p->reasons[p->reason_cnt];
		uint64_t part[2];

		memset(text, 0, GO_REASON_TEXT_MAX);
		if (!memory_read(p->pid, addr + 16ull * p->reason_cnt, part, sizeof(part)) ||
		    part[1] >= GO_REASON_TEXT_MAX || (!part[1] && p->reason_cnt))
			break;
		if (part[1] &&
		    (!memory_read(p->pid, part[0], text, (size_t)part[1]) || !is_plain(text, (size_t)part[1])))
			break;
	}
	return p->reason_cnt > G_N_ELEMENTS(reason_lengths) && !strcmp(p->reasons[1], "GC assist marking") &&
	       !strcmp(p->reasons[2], "IO wait");
}

static void take_module(struct go_program *p, const uint64_t *words)
{
	uint64_t at = words[(p->file.has_start_line ? MODULE_FUNC_AT_1_20 : MODULE_FUNC_AT) / 8] - p->bias;

	if (words[MODULE_TEXT_AT / 8] == p->file.text + p->bias && go_is_inline_data(p->fd, at))
		p->inline_data = at;
}

/* Searches the program's data piece by piece, with overlaps for matches across pieces. */
static void scan(struct go_program *p, uint64_t from, uint64_t bytes)
{
	g_autofree uint64_t *words = g_malloc(SCAN_PIECE_BYTES);
	const uint64_t table = p->file.table + p->bias;

	while (bytes >= MODULE_BYTES && (!p->reason_cnt || !p->inline_data)) {
		size_t here = (size_t)MIN(bytes, SCAN_PIECE_BYTES),
		       step = here < SCAN_PIECE_BYTES ? here : here - MODULE_BYTES;

		if (!memory_read(p->pid, from, words, here))
			return;
		for (size_t i = 0; i < here / 8; i++) {
			if (!p->reason_cnt && i + REASONS_HEAD_WORDS <= here / 8 && are_reasons(words + i) &&
			    !read_reasons(p, from + 8 * i))
				p->reason_cnt = 0;
			if (!p->inline_data && words[i] == table && i + MODULE_BYTES / 8 <= here / 8)
				take_module(p, words + i);
		}
		from += step;
		bytes -= step;
	}
}

static void find_texts(struct go_program *p)
{
	uint64_t left = SCAN_MAX_BYTES;

	EACH_IN(i, const struct elf_segment, s, p->file.segments, p->file.segment_cnt) {
		uint64_t from = (s->vaddr + p->bias + 7) & ~7ull, bytes = MIN(s->size, left);

		if (s->is_exec)
			continue;
		scan(p, from, bytes & ~7ull);
		left -= bytes;
	}
}

/* As in doctor. Parents of goroutines are known from Go 1.21 on. */
static void take_version(struct go_program *p)
{
	unsigned minor = 0;

	if (sscanf(p->file.version, "go1.%2u", &minor) == 1)
		p->layout.has_parent = minor >= 21;
	p->layout.minor = minor;
	p->layout.labels = go_labels_at(minor, p->layout.start);
	if (p->layout.labels && p->layout.labels + 8 <= GO_GOROUTINE_BYTES_MAX)
		p->layout.bytes = p->layout.labels + 8;
	else
		p->layout.labels = 0;
}

/*
 * Most processes map the same few files, none of which is of Go. Which these were is remembered for a while: another
 * file may have that number and path some day.
 */
#define OTHERS_MAX 4096
#define OTHERS_NS UINT64_C(64000000000)

static struct {
	GMutex lock;
	GHashTable *files;	/* a set of struct other_file */
	uint64_t until_ns;
} others;

struct other_file {
	struct maps_file file;
	char *path;
};

FREES_DATA(other_free, struct other_file, o, g_free(o->path))

static gboolean is_same_file(gconstpointer a, gconstpointer b)
{
	return maps_file_equal(a, b) &&
	       strcmp(((const struct other_file *)a)->path, ((const struct other_file *)b)->path) == 0;
}

static bool is_other(const struct maps_line *line)
{
	const struct other_file key = { maps_file_of(line), (char *)(uintptr_t)line->path };
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	bool is_it;

	g_mutex_lock(&others.lock);
	if (!others.files)
		others.files = g_hash_table_new_full(maps_file_hash, is_same_file, other_free, NULL);
	if (now_ns >= others.until_ns || g_hash_table_size(others.files) >= OTHERS_MAX) {
		g_hash_table_remove_all(others.files);
		others.until_ns = now_ns + OTHERS_NS;
	}
	is_it = g_hash_table_contains(others.files, &key);
	g_mutex_unlock(&others.lock);
	return is_it;
}

static void note_other(const struct maps_line *line)
{
	const struct other_file key = { maps_file_of(line), g_strdup(line->path) };

	g_mutex_lock(&others.lock);
	g_hash_table_add(others.files, g_memdup2(&key, sizeof(key)));
	g_mutex_unlock(&others.lock);
}

static bool open_line(struct go_program *p, const char *proc_dir, const struct maps_line *line)
{
	uint64_t vaddr;

	p->fd = is_other(line) ? -1 : file_open_line(proc_dir, p->pid, line);
	if (p->fd < 0)
		return false;
	if (go_file_read(p->fd, &p->file) &&
	    elf_segments_vaddr(p->file.segments, p->file.segment_cnt, line->pgoff, &vaddr)) {
		p->bias = line->start - vaddr;
		p->path = g_strdup(line->path);
		return true;
	}
	note_other(line);
	go_file_clear(&p->file);
	close(p->fd);
	p->fd = -1;
	return false;
}

GHashTable *go_program_codes_new(void)
{
	return g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
}

bool go_program_is_ready(struct go_program *p)
{
	if (!find_goroutines(p))
		return false;
	take_version(p);
	find_texts(p);
	return true;
}

enum go_state go_program_open(struct go_program *p, const char *proc_dir, uint32_t pid, const GArray *lines)
{
	bool is_go = false;

	*p = (struct go_program){ .pid = pid, .fd = -1, .codes = go_program_codes_new() };
	for (guint i = 0, tried = 0; i < lines->len && tried < FILES_MAX && !is_go; i++) {
		const struct maps_line *line = &g_array_index(lines, struct maps_line, i);

		if (line->is_exec && line->inode) {
			is_go = open_line(p, proc_dir, line);
			tried++;
		}
	}
	if (!is_go)
		return GO_NONE;
	return go_program_is_ready(p) ? GO_READABLE : GO_NOT_READY;
}

void go_program_close(struct go_program *p)
{
	go_file_clear(&p->file);
	g_clear_pointer(&p->codes, g_hash_table_unref);
	if (p->fd >= 0)
		close(p->fd);
	g_free(p->path);
	p->path = NULL;
	p->fd = -1;
}

/* Stacks may contain anything, so only code addresses are looked up. */
static bool is_code(const struct go_program *p, uint64_t vaddr)
{
	EACH_IN(i, const struct elf_segment, s, p->file.segments, p->file.segment_cnt)
		if (s->is_exec && vaddr >= s->vaddr && vaddr - s->vaddr < s->size)
			return true;
	return false;
}

const struct go_code *go_program_code(const struct go_program *p, uint64_t pc, bool is_return)
{
	const uint64_t vaddr = pc - p->bias - is_return;
	gpointer key = GSIZE_TO_POINTER(pc << 1 | is_return), kept;

	if (!is_code(p, vaddr))
		return NULL;
	if (g_hash_table_lookup_extended(p->codes, key, NULL, &kept))
		return kept;
	if (g_hash_table_size(p->codes) >= CODES_MAX)
		g_hash_table_remove_all(p->codes);
	kept = go_code_read(p->fd, vaddr, p->inline_data);
	g_hash_table_insert(p->codes, key, kept);
	return kept;
}
