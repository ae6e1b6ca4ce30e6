/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/runtime/memory.h"

#include <glib.h>
#include <sys/uio.h>

#include "base/hash.h"
#include "base/opener/opener.h"

#define PAGE_BITS 12
#define PAGE_BYTES (1 << PAGE_BITS)
#define PIECES_AT_ONCE 256
#define KEPT_PAGES_MAX 1024
#define PAGES_AT_ONCE 7
#define PAGES_AHEAD_MAX 256
#define ADDRESS_BITS 48
#define NAMES_US 20000	/* stacks to be named have waited longer in the ring buffer */
#define NAMES_OLD_US 200000
#define NAMES_KEPT_US (5 * G_USEC_PER_SEC)	/* afterwards the memory is freed */

/* Another process reads, if there is one, because reading may hang. */
static bool ask_all(uint32_t pid, const struct memory_piece *pieces, size_t cnt, bool *is_read)
{
	struct opener_piece asked[OPENER_PIECES_MAX];

	for (size_t i = 0; i < cnt; i++)
		asked[i] = (struct opener_piece){ pieces[i].addr, pieces[i].ret, pieces[i].bytes };
	return opener_memory(pid, asked, cnt, is_read);
}

static bool ask_long(uint32_t pid, uint64_t addr, char *ret, size_t bytes)
{
	bool is_read = true;

	for (size_t at = 0; at < bytes && is_read; at += OPENER_PIECE_BYTES_MAX) {
		const struct memory_piece piece = { addr + at, ret + at, MIN(bytes - at, OPENER_PIECE_BYTES_MAX) };

		is_read = ask_all(pid, &piece, 1, &is_read) && is_read;
	}
	return is_read;
}

struct kept_page {
	int64_t read_us;
	bool is_needed;	/* not only read ahead */
	char bytes[PAGE_BYTES];
};

struct kept_pages {
	GHashTable *pages;	/* struct kept_page, by page_key() */
	uint32_t pid;		/* process of the kept pages; 0: none */
	bool around;		/* also read neighbouring pages */
	unsigned depth;		/* nesting of memory_begin_names(); 0: outside */
	int64_t now_us;
	int64_t from_us;	/* older pages are read again */
	int64_t cleared_us;
};

FREES_DATA(kept_free, struct kept_pages, k, g_clear_pointer(&k->pages, g_hash_table_unref))

static _Thread_local struct kept_pages kept;	/* between memory_keep_pages() and memory_drop_pages() */
static GPrivate named_of_thread = G_PRIVATE_INIT(kept_free);	/* pages read for names */

/* 48 bits of an address and 22 of a process id (PID_MAX_LIMIT), so keys are unique. */
static gpointer page_key(uint32_t pid, uint64_t number)
{
	return GSIZE_TO_POINTER((uint64_t)pid << 36 | number);
}

static guint page_hash(gconstpointer key)
{
	return hash_end(hash_pointer(key));
}

static GHashTable *pages_new(void)
{
	return g_hash_table_new_full(page_hash, NULL, NULL, g_free);
}

void memory_keep_pages(uint32_t pid)
{
	kept = (struct kept_pages){ .pages = pages_new(), .pid = pid };
}

void memory_drop_pages(void)
{
	g_clear_pointer(&kept.pages, g_hash_table_unref);
	kept.pid = 0;
}

void memory_keep_anew(uint32_t pid)
{
	if (kept.pid == pid)
		g_hash_table_remove_all(kept.pages);
}

void memory_keep_around(bool around)
{
	kept.around = around;
}

void memory_begin_names(void)
{
	struct kept_pages *named = g_private_get(&named_of_thread);

	if (!named) {
		named = g_new0(struct kept_pages, 1);
		named->pages = pages_new();
		g_private_set(&named_of_thread, named);
	}
	if (named->depth++)
		return;
	named->now_us = g_get_monotonic_time();
	named->from_us = named->now_us - NAMES_US;
	if (named->now_us - named->cleared_us > NAMES_KEPT_US) {
		g_hash_table_remove_all(named->pages);
		named->cleared_us = named->now_us;
	}
}

void memory_names_may_be_old(bool may)
{
	struct kept_pages *named = g_private_get(&named_of_thread);

	if (named && named->depth)
		named->from_us = named->now_us - (may ? NAMES_OLD_US : NAMES_US);
}

void memory_end_names(void)
{
	struct kept_pages *named = g_private_get(&named_of_thread);

	named->depth--;
}

/* As many as fit into one request. */
static void keep_some(struct kept_pages *k, uint32_t pid, const uint64_t *numbers, unsigned cnt)
{
	struct kept_page *pages[PAGES_AT_ONCE];
	struct memory_piece pieces[PAGES_AT_ONCE];
	bool is_read[PAGES_AT_ONCE] = { false };

	_Static_assert(PAGES_AT_ONCE * PAGE_BYTES <= OPENER_PIECE_BYTES_MAX, "one question");
	if (g_hash_table_size(k->pages) + cnt > KEPT_PAGES_MAX)
		g_hash_table_remove_all(k->pages);
	for (unsigned i = 0; i < cnt; i++) {
		pages[i] = g_new(struct kept_page, 1);
		pages[i]->read_us = k->now_us;
		pages[i]->is_needed = false;
		pieces[i] = (struct memory_piece){ numbers[i] * PAGE_BYTES, pages[i]->bytes, PAGE_BYTES };
	}
	ask_all(pid, pieces, cnt, is_read);
	for (unsigned i = 0; i < cnt; i++) {
		if (is_read[i])
			g_hash_table_replace(k->pages, page_key(pid, numbers[i]), pages[i]);
		else
			g_free(pages[i]);
	}
}

static void keep_around(struct kept_pages *k, uint32_t pid, uint64_t number)
{
	uint64_t numbers[PAGES_AT_ONCE];

	for (unsigned i = 0; i < PAGES_AT_ONCE; i++)
		numbers[i] = number - number % PAGES_AT_ONCE + i;
	keep_some(k, pid, numbers, PAGES_AT_ONCE);
}

void memory_keep_ahead(const GArray *numbers)
{
	for (guint at = 0; opener_is_there() && at < numbers->len; at += PAGES_AT_ONCE)
		keep_some(&kept, kept.pid, &g_array_index(numbers, uint64_t, at),
			  MIN(numbers->len - at, PAGES_AT_ONCE));
}

void memory_needed(GArray *ret_numbers)
{
	g_array_set_size(ret_numbers, 0);
	EACH_ENTRY(void, key, key, kept.pages) {
		const uint64_t number = GPOINTER_TO_SIZE(key) & ((UINT64_C(1) << (ADDRESS_BITS - PAGE_BITS)) - 1);

		if (((const struct kept_page *)key_in.value)->is_needed && ret_numbers->len < PAGES_AHEAD_MAX)
			g_array_append_val(ret_numbers, number);
	}
}

/* NULL: not completely readable. */
static const char *kept_page(struct kept_pages *k, uint32_t pid, uint64_t number)
{
	gpointer key = page_key(pid, number);
	struct kept_page *page = g_hash_table_lookup(k->pages, key);

	if (k->around && !(page && page->read_us >= k->from_us)) {
		keep_around(k, pid, number);
		page = g_hash_table_lookup(k->pages, key);
		if (!page)
			return NULL;
	}
	if (page && page->read_us >= k->from_us) {
		page->is_needed = true;
		return page->bytes;
	}
	page = g_new(struct kept_page, 1);
	page->is_needed = true;
	page->read_us = k->now_us;
	if (!ask_long(pid, number * PAGE_BYTES, page->bytes, PAGE_BYTES)) {
		g_hash_table_remove(k->pages, key);
		g_free(page);
		return NULL;
	}
	if (g_hash_table_size(k->pages) >= KEPT_PAGES_MAX)
		g_hash_table_remove_all(k->pages);
	g_hash_table_replace(k->pages, key, page);
	return page->bytes;
}

/* At most PAGE_BYTES, on one or two pages. */
static bool read_kept(struct kept_pages *k, uint32_t pid, uint64_t addr, char *ret, size_t bytes)
{
	size_t first = MIN(PAGE_BYTES - addr % PAGE_BYTES, bytes);
	const char *page = kept_page(k, pid, addr / PAGE_BYTES);

	if (page)
		memcpy(ret, page + addr % PAGE_BYTES, first);
	page = page && first < bytes ? kept_page(k, pid, addr / PAGE_BYTES + 1) : page;
	if (page && first < bytes)
		memcpy(ret + first, page, bytes - first);
	return page || ask_long(pid, addr, ret, bytes);
}

bool memory_read(uint32_t pid, uint64_t addr, void *ret, size_t bytes)
{
	struct iovec here = { ret, bytes }, there = { (void *)(uintptr_t)addr, bytes };
	struct kept_pages *named;

	if (!bytes)
		return false;
	if (!opener_is_there())
		return process_vm_readv((int)pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
	if (bytes > PAGE_BYTES || addr >> ADDRESS_BITS)
		return ask_long(pid, addr, ret, bytes);
	if (kept.pid == pid)
		return read_kept(&kept, pid, addr, ret, bytes);
	named = g_private_get(&named_of_thread);
	return named && named->depth ? read_kept(named, pid, addr, ret, bytes) : ask_long(pid, addr, ret, bytes);
}

/* Memory after the text may be unreadable, but only from the next page on. */
bool memory_text(uint32_t pid, uint64_t addr, char *ret, size_t room)
{
	size_t first = MIN(PAGE_BYTES - addr % PAGE_BYTES, room);

	if (!memory_read(pid, addr, ret, first))
		return false;
	if (memchr(ret, 0, first))
		return true;
	/* a missing page costs the opener a look at all mappings */
	return first < room && memory_read(pid, addr + first, ret + first, room - first) &&
	       memchr(ret + first, 0, room - first);
}

/* Returns how many of the first pieces could be read. */
static size_t read_some(uint32_t pid, const struct memory_piece *pieces, size_t cnt)
{
	struct iovec here[PIECES_AT_ONCE], there[PIECES_AT_ONCE];
	size_t done = 0;
	ssize_t n;

	for (size_t i = 0; i < cnt; i++) {
		here[i] = (struct iovec){ pieces[i].ret, pieces[i].bytes };
		there[i] = (struct iovec){ (void *)(uintptr_t)pieces[i].addr, pieces[i].bytes };
	}
	n = process_vm_readv((int)pid, here, cnt, there, cnt, 0);
	for (; done < cnt && n >= (ssize_t)pieces[done].bytes; done++)
		n -= (ssize_t)pieces[done].bytes;
	return done;
}

/* Requests as many of the first pieces as fit; at least one. */
static size_t ask_some(uint32_t pid, const struct memory_piece *pieces, size_t cnt, bool *is_read)
{
	size_t now = 0, bytes = 0;

	while (now < MIN(cnt, OPENER_PIECES_MAX) && bytes + pieces[now].bytes <= OPENER_PIECE_BYTES_MAX)
		bytes += pieces[now++].bytes;
	if (now)
		ask_all(pid, pieces, now, is_read);
	else
		*is_read = memory_read(pid, pieces[0].addr, pieces[0].ret, pieces[0].bytes);
	return MAX(now, 1);
}

void memory_read_pieces(uint32_t pid, const struct memory_piece *pieces, size_t cnt, bool *is_read)
{
	memset(is_read, 0, cnt * sizeof(*is_read));
	for (size_t at = 0; opener_is_there() && at < cnt;)
		at += ask_some(pid, pieces + at, cnt - at, is_read + at);
	for (size_t at = 0; !opener_is_there() && at < cnt;) {
		size_t now = cnt - at < PIECES_AT_ONCE ? cnt - at : PIECES_AT_ONCE,
		       done = read_some(pid, pieces + at, now);

		memset(is_read + at, 1, done * sizeof(*is_read));
		at += done < now ? done + 1 : now;	/* skip an unreadable one */
	}
}
