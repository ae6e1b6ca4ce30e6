/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/each.h"
#include "base/find.h"
#include "symbolize/runtime/recognise.h"

#include <string.h>

#include "base/trace_attributes.h"
#include "symbolize/process/maps.h"
#include "symbolize/runtime/memory.h"

#define VARIABLE "otel_thread_ctx_v1"
#define MAPS_MAX_BYTES (16u << 20)
#define FILES_MAX 512	/* limit of files of a process to search */
#define STATIC_MAX (1 << 20)	/* maximum offset of a variable loaded at start from the thread pointer */
#define MODULE_MAX 4096

/* Where the C library has a thread's vector of TLS blocks, from the thread pointer; and the size of its entries. */
struct vector {
	int32_t at;
	uint32_t entry_bytes;
};

static struct vector vector_of(bool is_musl)
{
#ifdef __x86_64__
	return (struct vector){ 8, is_musl ? 8 : 16 };
#else
	/* glibc: sysdeps/aarch64/nptl/tls.h; musl: last member of struct pthread, before the thread pointer */
	return is_musl ? (struct vector){ -8, 8 } : (struct vector){ 0, 16 };
#endif
}

static bool place_in_module(uint64_t module, uint64_t offset, bool is_musl, struct offcpu_context_place *ret)
{
	const struct vector v = vector_of(is_musl);

	if (!module || module > MODULE_MAX)
		return false;
	ret->module = module;
	ret->at = (int64_t)offset;
	ret->dtv_at = v.at;
	ret->dtv_bytes = v.entry_bytes;
	return true;
}

static bool is_static(int64_t offset)
{
	return offset && offset > -STATIC_MAX && offset < STATIC_MAX;
}

/*
 * The descriptor's second word: an offset from the thread pointer if the block was allocated at start, else the
 * address of a module id and an offset (glibc: struct tlsdesc_dynamic_arg; musl: its own two words).
 */
static bool place_by_descriptor(uint32_t pid, uint64_t at, bool is_musl, struct offcpu_context_place *ret)
{
	uint64_t word[2], index[2];

	if (!memory_read(pid, at, word, sizeof(word)))
		return false;
	ret->at = (int64_t)word[1];
	if (is_static(ret->at))
		return true;
	return memory_read(pid, word[1], index, sizeof(index)) && index[1] < STATIC_MAX &&
	       place_in_module(index[0], index[1], is_musl, ret);
}

/* Tries the most reliable source first. */
static bool place_of(uint32_t pid, const struct local_variable *v, bool is_musl, struct offcpu_context_place *ret)
{
	uint64_t module;

	*ret = (struct offcpu_context_place){ .at = v->thread_offset };
	if (v->has_thread_offset)
		return is_static(ret->at);
	if (v->offset_at && memory_read(pid, v->offset_at, &ret->at, sizeof(ret->at)) && is_static(ret->at))
		return true;
	if (v->module_at && memory_read(pid, v->module_at, &module, sizeof(module)) &&
	    place_in_module(module, v->offset, is_musl, ret))
		return true;
	return v->descriptor_at && place_by_descriptor(pid, v->descriptor_at, is_musl, ret);
}

static bool is_first_of_file(GHashTable *files, const struct maps_line *m)
{
	const struct maps_file file = maps_file_of(m);

	return g_hash_table_add(files, g_memdup2(&file, sizeof(file)));
}

static bool has_musl(const GArray *lines)
{
	return ANY_ROW(const struct maps_line, x, lines, strstr(x->path, "/ld-musl-"));
}

static bool find_variable(const char *proc_dir, uint32_t pid, struct offcpu_context_place *ret)
{
	g_autofree char *text = living_maps(proc_dir, pid, MAPS_MAX_BYTES);
	g_autoptr(GArray) lines = text ? maps_parse(text) : NULL;
	g_autoptr(GHashTable) files = g_hash_table_new_full(maps_file_hash, maps_file_equal, g_free, NULL);

	EACH_ROW_WHILE(i, const struct maps_line, m, lines, g_hash_table_size(files) < FILES_MAX) {
		struct local_variable v;

		if (!m->is_exec || m->path[0] != '/' || !is_first_of_file(files, m))
			continue;
		if (variables_find_local(proc_dir, pid, m, VARIABLE, &v) && place_of(pid, &v, has_musl(lines), ret))
			return true;
	}
	return false;
}

bool thread_labels_place(uint32_t pid, const struct go_labels_place *labels, uint64_t bias,
			 struct offcpu_context_place *ret)
{
	*ret = (struct offcpu_context_place){ .at = labels->goroutine_at,
					      .labels_at = (uint16_t)labels->labels_at,
					      .runs_at = (uint16_t)labels->runs_at,
					      .has_list = labels->has_list };
	if (labels->offset_at && !memory_read(pid, labels->offset_at + bias, &ret->at, sizeof(ret->at)))
		return false;
	return is_static(ret->at);
}

static void set_keys(const struct process_context *c, struct offcpu_context_place *place)
{
	memset(place->keys, 0, sizeof(place->keys));
	for (guint i = 0; i < MIN(c->keys->len, PROCESS_CONTEXT_KEYS_MAX); i++)
		if (trace_attribute_is_wanted(g_ptr_array_index(c->keys, i)))
			place->keys[i / 64] |= UINT64_C(1) << i % 64;
}

enum thread_context_state thread_context_find(const char *proc_dir, uint32_t pid, struct offcpu_context_place *ret,
					      struct process_context **ret_context)
{
	g_autoptr(process_context) c = process_context_read(proc_dir, pid);

	if (ret_context)
		*ret_context = NULL;
	if (!c)
		return THREAD_CONTEXT_NONE;
	if (!c->schema)
		return THREAD_CONTEXT_UNSAID;
	if (!find_variable(proc_dir, pid, ret))
		return THREAD_CONTEXT_NO_VARIABLE;
	set_keys(c, ret);
	if (ret_context)
		*ret_context = g_steal_pointer(&c);
	return THREAD_CONTEXT_READABLE;
}

bool thread_context_look_at_keys(const char *proc_dir, uint32_t pid, struct offcpu_context_place *place)
{
	const struct offcpu_context_place before = *place;
	g_autoptr(process_context) c = process_context_read(proc_dir, pid);

	if (c)
		set_keys(c, place);
	return memcmp(before.keys, place->keys, sizeof(before.keys)) != 0;
}
