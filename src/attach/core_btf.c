/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/kernel_btf.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/each.h"
#include "base/elf_file.h"

struct core_btf {
	int fd;
	char *path;
};

struct cut {
	const struct kernel_btf *kernel;
	uint32_t *ids;		/* from the kernel's id to that in the cut; 0: not in it */
	GArray *chosen;		/* uint32_t: the kernel's ids of the chosen types, in order */
	GByteArray *types, *strings;
};

/* NULL: a kind that programs do not use, or without a name. */
static const char *name_of(const struct kernel_btf *btf, uint32_t id)
{
	struct btf_type t;

	if (kernel_btf_type(btf, id, &t) || !t.name_off)
		return NULL;
	switch (BTF_INFO_KIND(t.info)) {
	case BTF_KIND_STRUCT: case BTF_KIND_UNION: case BTF_KIND_ENUM: case KERNEL_BTF_ENUM64: case BTF_KIND_TYPEDEF:
		return kernel_btf_string(btf, t.name_off);
	default: return NULL;
	}
}

/* The programs' struct mm_struct___old is a version of the kernel's struct mm_struct, as in libbpf. */
static void add_name(GHashTable *names, const char *name)
{
	const char *flavour = NULL;

	for (const char *at = name; *at && strlen(at) > 4; at++)
		if (at[0] != '_' && strncmp(at + 1, "___", 3) == 0 && at[4] != '_')
			flavour = at + 1;
	g_hash_table_add(names, flavour ? g_strndup(name, (gsize)(flavour - name)) : g_strdup(name));
}

GHashTable *core_btf_names(const void *elf, size_t elf_bytes)
{
	struct elf_file file;
	struct kernel_btf btf;
	Elf_Scn *section = elf_file_open_object(&file, elf, elf_bytes, NULL) ? elf_file_section_named(&file, ".BTF")
									     : NULL;
	const Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;
	GHashTable *names = NULL;

	if (data && !kernel_btf_from(data->d_buf, data->d_size, &btf)) {
		names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
		for (uint32_t id = 1; id <= btf.type_cnt; id++) {
			const char *name = name_of(&btf, id);

			if (name)
				add_name(names, name);
		}
		kernel_btf_close(&btf);
	}
	elf_file_close(&file);
	return names;
}

/* The id in the cut of one of the kernel's types, which is added if needed. */
static uint32_t id_in_cut(struct cut *c, uint32_t id)
{
	if (!id || id > c->kernel->type_cnt)
		return 0;	/* void */
	if (!c->ids[id]) {
		g_array_append_val(c->chosen, id);
		c->ids[id] = c->chosen->len;
	}
	return c->ids[id];
}

static uint32_t put_string(struct cut *c, uint32_t offset)
{
	const char *string = offset ? kernel_btf_string(c->kernel, offset) : NULL;
	uint32_t place = c->strings->len;

	if (!string)
		return 0;
	g_byte_array_append(c->strings, (const guint8 *)string, (guint)strlen(string) + 1);
	return place;
}

static void append(GByteArray *to, const void *what, size_t bytes)
{
	g_byte_array_append(to, what, (guint)bytes);
}

/* Members of a struct, or values of an enum. Both begin with a name; in members a type follows. */
static void put_list(struct cut *c, const uint8_t *list, size_t list_bytes, uint32_t kind)
{
	size_t bytes_each = kind == BTF_KIND_ENUM ? sizeof(struct btf_enum) : sizeof(struct btf_member);
	uint32_t one[3];

	for (size_t at = 0; at < list_bytes; at += bytes_each) {
		memcpy(one, list + at, bytes_each);
		one[0] = put_string(c, one[0]);
		if (kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION)
			one[1] = id_in_cut(c, one[1]);
		append(c->types, one, bytes_each);
	}
}

static void put_behind(struct cut *c, uint32_t id, uint32_t kind)
{
	size_t bytes;
	const uint8_t *behind = kernel_btf_behind(c->kernel, id, &bytes);
	struct btf_array array;

	switch (kind) {
	case BTF_KIND_STRUCT: case BTF_KIND_UNION: case BTF_KIND_ENUM: case KERNEL_BTF_ENUM64:
		put_list(c, behind, bytes, kind);
		break;
	case BTF_KIND_ARRAY:
		memcpy(&array, behind, sizeof(array));
		array.type = id_in_cut(c, array.type);
		array.index_type = id_in_cut(c, array.index_type);
		append(c->types, &array, sizeof(array));
		break;
	default:
		append(c->types, behind, bytes);
	}
}

/* Also chooses the types that it holds by value. False: a kind that is no value. */
static bool put_type(struct cut *c, uint32_t id)
{
	struct btf_type t;

	if (kernel_btf_type(c->kernel, id, &t))
		return false;
	uint32_t kind = BTF_INFO_KIND(t.info);

	t.name_off = put_string(c, t.name_off);
	switch (kind) {
	case BTF_KIND_PTR:
		t.type = 0;	/* void */
		break;
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case KERNEL_BTF_TYPE_TAG: t.type = id_in_cut(c, t.type); break;
	case BTF_KIND_FUNC:
	case BTF_KIND_FUNC_PROTO:
	case BTF_KIND_VAR:
	case BTF_KIND_DATASEC:
	case KERNEL_BTF_DECL_TAG: return false;
	default:
		break;
	}
	append(c->types, &t, sizeof(t));
	put_behind(c, id, kind);
	return true;
}

static bool put_all(struct cut *c, GHashTable *names)
{
	append(c->strings, "", 1);
	for (uint32_t id = 1; id <= c->kernel->type_cnt; id++) {
		const char *name = name_of(c->kernel, id);

		if (name && g_hash_table_contains(names, name))
			id_in_cut(c, id);
	}
	/* putting one may choose more */
	EACH_ROW(i, const uint32_t, id, c->chosen)
		if (!put_type(c, *id))
			return false;
	return true;
}

GByteArray *core_btf_cut(const struct kernel_btf *kernel, GHashTable *names)
{
	struct cut c = {
		.kernel = kernel, .ids = g_new0(uint32_t, (gsize)kernel->type_cnt + 1),
		.chosen = g_array_new(FALSE, FALSE, sizeof(uint32_t)), .types = g_byte_array_new(),
		.strings = g_byte_array_new(),
	};
	GByteArray *all = NULL;

	if (put_all(&c, names)) {
		const struct btf_header header = {
			.magic = BTF_MAGIC, .version = BTF_VERSION, .hdr_len = KERNEL_BTF_HEADER_BYTES,
			.type_len = c.types->len, .str_off = c.types->len, .str_len = c.strings->len,
		};

		all = g_byte_array_new();
		append(all, &header, KERNEL_BTF_HEADER_BYTES);
		append(all, c.types->data, c.types->len);
		append(all, c.strings->data, c.strings->len);
	}
	g_free(c.ids);
	g_array_unref(c.chosen);
	g_byte_array_unref(c.types);
	g_byte_array_unref(c.strings);
	return all;
}

struct core_btf *core_btf_new(const struct kernel_btf *kernel, const void *elf, size_t elf_bytes)
{
	g_autoptr(GHashTable) names = core_btf_names(elf, elf_bytes);
	g_autoptr(GByteArray) cut = names ? core_btf_cut(kernel, names) : NULL;
	int fd = cut ? memfd_create("offcpu-btf", MFD_CLOEXEC) : -1;
	struct core_btf *c;

	if (fd < 0)
		return NULL;
	c = g_new(struct core_btf, 1);
	*c = (struct core_btf){ .fd = fd, .path = g_strdup_printf("/proc/self/fd/%d", fd) };
	if (write(fd, cut->data, cut->len) != (ssize_t)cut->len)
		g_clear_pointer(&c, core_btf_free);
	return c;
}

const char *core_btf_path(const struct core_btf *c)
{
	return c ? c->path : NULL;
}

FREES(core_btf_free, struct core_btf, c, close(c->fd); g_free(c->path))
