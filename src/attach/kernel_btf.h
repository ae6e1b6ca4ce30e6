/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_KERNEL_BTF_H
#define ATTACH_KERNEL_BTF_H

#include <glib.h>
#include <linux/btf.h>
#include <stddef.h>
#include <stdint.h>

/* The fields common to all versions: struct btf_header is longer in newer versions of linux/btf.h. */
#define KERNEL_BTF_HEADER_BYTES (offsetof(struct btf_header, str_len) + sizeof(uint32_t))
/* Kinds of types that older kernels' linux/btf.h lacks. */
#define KERNEL_BTF_DECL_TAG 17
#define KERNEL_BTF_TYPE_TAG 18
#define KERNEL_BTF_ENUM64 19

/*
 * Queries of the running kernel's type information by scanning its bytes: libbpf would parse all of it, which takes 9
 * ms at each start, and again for loading.
 */
struct kernel_btf {
	const uint8_t *types, *strings;
	size_t types_bytes, strings_bytes;
	uint32_t type_cnt;
	uint32_t *places;	/* indexed by id, from 1: offset in types */
	void *memory;		/* what kernel_btf_close() frees, besides */
	size_t memory_bytes;
	int is_mapped;
};

/* All return 0 or more, or a negative errno. */

/* -EINVAL: damaged, or with types of an unknown kind. */
int kernel_btf_open(const char *path, struct kernel_btf *ret);
/* The same for bytes in memory, which must outlive it. */
int kernel_btf_from(const void *bytes, size_t len_bytes, struct kernel_btf *ret);
void kernel_btf_close(struct kernel_btf *btf);

/* The id of the first type of this name and kind (BTF_KIND_...); -ENOENT: there is none. */
int kernel_btf_id(const struct kernel_btf *btf, const char *name, uint32_t kind);
/* -ENOENT when there is no such function. */
int kernel_btf_has_function(const struct kernel_btf *btf, const char *name);
/* Number of arguments of a typedef of a function pointer, such as btf_trace_sched_switch. */
int kernel_btf_argument_cnt(const struct kernel_btf *btf, const char *typedef_name);

/* -ENOENT: no type has this id; 0 is void. */
int kernel_btf_type(const struct kernel_btf *btf, uint32_t id, struct btf_type *ret);
/* The members or values that follow a type, possibly unaligned; NULL: no such type. */
const uint8_t *kernel_btf_behind(const struct kernel_btf *btf, uint32_t id, size_t *ret_bytes);
/* A name; NULL: no such offset. */
const char *kernel_btf_string(const struct kernel_btf *btf, uint32_t offset);

/*
 * The kernel's type information, reduced to what the programs name, for CO-RE. For each type that they name libbpf
 * searches all of the kernel's 140,000 types: 19 ms of a start, and again for each object.
 */

/* The names that an object file's programs may look up; NULL: it has no type information. */
GHashTable *core_btf_names(const void *elf, size_t elf_bytes);

/*
 * The types with these names, what they hold by value, and void pointers in place of pointers, in libbpf's format. Ids
 * differ from the kernel's, so bpf_core_type_id_kernel() does not work; modules' types are not included. NULL if the
 * kernel's information is damaged or newer than this program.
 */
GByteArray *core_btf_cut(const struct kernel_btf *kernel, GHashTable *names);

/* Such a cut for an object file, in a file that libbpf can open until it is freed; NULL: none. */
struct core_btf *core_btf_new(const struct kernel_btf *kernel, const void *elf, size_t elf_bytes);
/* For bpf_object_open_opts.btf_custom_path; NULL for NULL. */
const char *core_btf_path(const struct core_btf *c);
void core_btf_free(struct core_btf *c);

#endif
