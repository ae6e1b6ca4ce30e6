/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/names/kernel.h"

#include <string.h>

#include "base/hash.h"
#include "base/urgency.h"

/* Modules and BPF programs come and go, so an unknown kernel address justifies reading again, a few times. */
#define READS_MAX 8
#define PAUSE_US 2000000
#define ANSWERS_MAX 65536
#define KERNEL_FROM (UINT64_C(1) << 63)	/* kernel addresses are in the upper half */

struct answer {
	uint64_t addr, offset;
	const char *name, *module;
};

struct kernel_symbols {
	char *path;
	struct symbolizer_kernel by;
	GHashTable *answers;		/* struct answer, by address */
	struct kallsyms *table;
	GThread *early;			/* returns the first table; NULL: not started, or joined */
	unsigned reads;
	int64_t next_us;
	GStringChunk *names;		/* names from queries, which outlive the table */
	uint64_t sched_start, sched_end;
	bool has_sched;
};

struct kernel_symbols *kernel_symbols_new(const char *kallsyms_path)
{
	struct kernel_symbols *k = g_new0(struct kernel_symbols, 1);

	k->path = g_strdup(kallsyms_path);
	k->answers = g_hash_table_new_full(hash_u64, g_int64_equal, NULL, g_free);
	k->names = g_string_chunk_new(4096);
	return k;
}

static void ask_no_more(struct kernel_symbols *k)
{
	if (k->by.free)
		k->by.free(k->by.ctx);
	k->by = (struct symbolizer_kernel){ 0 };
}

void kernel_symbols_free(struct kernel_symbols *k)
{
	if (k->early)
		kallsyms_free(g_thread_join(k->early));
	ask_no_more(k);
	kallsyms_free(k->table);
	g_hash_table_destroy(k->answers);
	g_string_chunk_free(k->names);
	g_free(k->path);
	g_free(k);
}

void kernel_symbols_ask(struct kernel_symbols *k, const struct symbolizer_kernel *by)
{
	ask_no_more(k);
	k->by = *by;
}

/* ---- reading all */

static gpointer read_early(gpointer path)
{
	return kallsyms_read(path, NULL);
}

void kernel_symbols_foresee(struct kernel_symbols *k)
{
	if (!k->by.name && !k->early && !k->reads)
		k->early = urgency_thread_new("kallsyms", read_early, k->path);
}

/* False: too soon, or useless to read again. */
static bool read_all(struct kernel_symbols *k)
{
	struct kallsyms *table;

	if (k->reads >= READS_MAX || (k->table && k->table->hidden) || g_get_monotonic_time() < k->next_us)
		return false;
	k->reads++;
	table = k->early ? g_thread_join(k->early) : kallsyms_read(k->path, NULL);
	k->early = NULL;
	k->next_us = g_get_monotonic_time() + PAUSE_US * (1 << k->reads);
	if (!table)
		return false;
	kallsyms_free(k->table);
	k->table = table;
	return true;
}

static void keep_texts(struct kernel_symbols *k, struct answer *a)
{
	a->name = g_string_chunk_insert_const(k->names, a->name);
	a->module = g_string_chunk_insert_const(k->names, a->module);
}

static bool find_read(struct kernel_symbols *k, uint64_t addr, struct answer *ret)
{
	if (!k->table || !kallsyms_find(k->table, addr, &ret->name, &ret->module, &ret->offset))
		return false;
	keep_texts(k, ret);
	return true;
}

/* ---- single queries */

/* /proc/kallsyms adds [bpf]. */
static bool is_bpf(const char *name)
{
	return g_str_has_prefix(name, "bpf_prog_") || g_str_has_prefix(name, "bpf_trampoline_");
}

/* "name+0x1f/0xa0 [module]" */
static bool parse_answer(char *text, struct answer *ret)
{
	char *plus = strrchr(text, '+'), *module = strchr(text, '['), *end;

	if (!plus || plus == text || (module && module < plus))
		return false;
	*plus = '\0';
	ret->offset = g_ascii_strtoull(plus + 1, &end, 16);
	ret->name = text;
	ret->module = module ? g_strchomp(module) : is_bpf(text) ? "[bpf]" : "[kernel]";
	return *end == '/';
}

/* False: unknown address, or no answers any more. */
static bool ask_kernel(struct kernel_symbols *k, uint64_t addr, struct answer *ret)
{
	char text[SYMBOLIZER_KERNEL_NAME_MAX];

	if (addr < KERNEL_FROM)
		return false;
	if (!k->by.name(k->by.ctx, addr, text, sizeof(text))) {
		ask_no_more(k);
		return false;
	}
	if (!parse_answer(text, ret))
		return false;
	keep_texts(k, ret);
	return true;
}

static bool find_asked(struct kernel_symbols *k, uint64_t addr, struct answer *ret)
{
	const struct answer *known = g_hash_table_lookup(k->answers, &addr);
	struct answer *kept;

	if (known) {
		*ret = *known;
		return true;
	}
	if (!ask_kernel(k, addr, ret))
		return false;
	if (g_hash_table_size(k->answers) >= ANSWERS_MAX)
		g_hash_table_remove_all(k->answers);
	kept = g_memdup2(ret, sizeof(*ret));
	kept->addr = addr;
	g_hash_table_replace(k->answers, &kept->addr, kept);
	return true;
}

/* ---- both */

bool kernel_symbols_find(struct kernel_symbols *k, uint64_t addr, bool again, struct symbol *ret)
{
	struct answer found;
	bool is_found = k->by.name && find_asked(k, addr, &found);

	if (!is_found && !k->by.name)
		is_found = find_read(k, addr, &found) ||
			   ((again || !k->table) && read_all(k) && find_read(k, addr, &found));
	if (!is_found)
		return false;
	ret->name = found.name;
	ret->module = found.module;
	ret->symbol_offset = found.offset;
	ret->why = FRAME_NAMED;
	return true;
}

const char *kernel_symbols_lock(struct kernel_symbols *k, uint64_t addr)
{
	struct answer found;

	if (!k->by.name)
		return k->table ? kallsyms_find_lock(k->table, addr) : NULL;
	return find_asked(k, addr, &found) && !found.offset && kallsyms_is_lock(found.name) ? found.name : NULL;
}

bool kernel_symbols_sched_text(struct kernel_symbols *k, uint64_t *ret_start, uint64_t *ret_end)
{
	if (k->by.name && !k->has_sched) {
		k->has_sched = true;
		k->sched_start = k->by.address(k->by.ctx, "__sched_text_start");
		k->sched_end = k->by.address(k->by.ctx, "__sched_text_end");
	}
	*ret_start = k->by.name ? k->sched_start : k->table ? k->table->sched_start : 0;
	*ret_end = k->by.name ? k->sched_end : k->table ? k->table->sched_end : 0;
	return *ret_start && *ret_end > *ret_start;
}
