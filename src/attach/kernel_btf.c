/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/kernel_btf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/opener/wire.h"

#define BYTES_MAX (256 << 20)
#define KIND_LAST KERNEL_BTF_ENUM64

/* Bytes after a type's first twelve; -1 for an unknown kind. */
static int64_t trailer_bytes(const struct btf_type *t)
{
	int64_t vlen = BTF_INFO_VLEN(t->info);

	switch (BTF_INFO_KIND(t->info)) {
	case BTF_KIND_INT: return sizeof(uint32_t);
	case BTF_KIND_ARRAY: return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION: return vlen * (int64_t)sizeof(struct btf_member);
	case BTF_KIND_ENUM: return vlen * (int64_t)sizeof(struct btf_enum);
	case BTF_KIND_FUNC_PROTO: return vlen * (int64_t)sizeof(struct btf_param);
	case BTF_KIND_VAR: return sizeof(struct btf_var);
	case BTF_KIND_DATASEC: return vlen * (int64_t)sizeof(struct btf_var_secinfo);
	case KERNEL_BTF_DECL_TAG: return sizeof(uint32_t);
	case KERNEL_BTF_ENUM64: return vlen * 12;
	default: return BTF_INFO_KIND(t->info) > KIND_LAST ? -1 : 0;
	}
}

/* The offset of each type; its id is its index in the list, from 1. */
static int find_places(struct kernel_btf *btf)
{
	size_t at = 0;
	struct btf_type t;

	btf->places = malloc((btf->types_bytes / sizeof(t) + 1) * sizeof(*btf->places));
	if (!btf->places)
		return -ENOMEM;
	while (at < btf->types_bytes) {
		if (btf->types_bytes - at < sizeof(t))
			return -EINVAL;
		memcpy(&t, btf->types + at, sizeof(t));
		int64_t more = trailer_bytes(&t);

		if (more < 0 || (int64_t)(btf->types_bytes - at - sizeof(t)) < more)
			return -EINVAL;
		btf->places[++btf->type_cnt] = (uint32_t)at;
		at += sizeof(t) + (size_t)more;
	}
	return 0;
}

int kernel_btf_type(const struct kernel_btf *btf, uint32_t id, struct btf_type *ret)
{
	if (!id || id > btf->type_cnt)
		return -ENOENT;
	memcpy(ret, btf->types + btf->places[id], sizeof(*ret));
	return 0;
}

const uint8_t *kernel_btf_behind(const struct kernel_btf *btf, uint32_t id, size_t *ret_bytes)
{
	struct btf_type t;

	if (kernel_btf_type(btf, id, &t))
		return NULL;
	*ret_bytes = (size_t)trailer_bytes(&t);
	return btf->types + btf->places[id] + sizeof(t);
}

const char *kernel_btf_string(const struct kernel_btf *btf, uint32_t offset)
{
	if (offset >= btf->strings_bytes || btf->strings[btf->strings_bytes - 1])
		return NULL;
	return (const char *)btf->strings + offset;
}

/* Each string occurs once, so finding it first saves comparing every type's name. */
int kernel_btf_id(const struct kernel_btf *btf, const char *name, uint32_t kind)
{
	size_t len = strlen(name) + 2;
	char *enclosed = calloc(1, len);

	if (!enclosed)
		return -ENOMEM;
	memcpy(enclosed + 1, name, len - 2);
	const uint8_t *found = memmem(btf->strings, btf->strings_bytes, enclosed, len);

	free(enclosed);
	for (uint32_t id = 1; found && id <= btf->type_cnt; id++) {
		struct btf_type t;

		memcpy(&t, btf->types + btf->places[id], sizeof(t));
		if (t.name_off == (size_t)(found + 1 - btf->strings) && BTF_INFO_KIND(t.info) == kind)
			return (int)id;
	}
	return -ENOENT;
}

int kernel_btf_has_function(const struct kernel_btf *btf, const char *name)
{
	int id = kernel_btf_id(btf, name, BTF_KIND_FUNC);

	return id < 0 ? id : 0;
}

int kernel_btf_argument_cnt(const struct kernel_btf *btf, const char *typedef_name)
{
	struct btf_type t;
	int id = kernel_btf_id(btf, typedef_name, BTF_KIND_TYPEDEF);
	int err = id < 0 ? id : kernel_btf_type(btf, (uint32_t)id, &t);

	if (!err)
		err = kernel_btf_type(btf, t.type, &t);
	if (!err && BTF_INFO_KIND(t.info) == BTF_KIND_PTR)
		err = kernel_btf_type(btf, t.type, &t);
	if (!err && BTF_INFO_KIND(t.info) != BTF_KIND_FUNC_PROTO)
		err = -EINVAL;
	return err ? err : (int)BTF_INFO_VLEN(t.info);
}

int kernel_btf_from(const void *bytes, size_t len_bytes, struct kernel_btf *ret)
{
	struct btf_header h;

	*ret = (struct kernel_btf){ 0 };
	if (len_bytes < KERNEL_BTF_HEADER_BYTES)
		return -EINVAL;
	memcpy(&h, bytes, KERNEL_BTF_HEADER_BYTES);
	if (h.magic != BTF_MAGIC || h.hdr_len < KERNEL_BTF_HEADER_BYTES || h.hdr_len > len_bytes)
		return -EINVAL;
	uint64_t room = len_bytes - h.hdr_len;

	if ((uint64_t)h.type_off + h.type_len > room || (uint64_t)h.str_off + h.str_len > room)
		return -EINVAL;
	ret->types = (const uint8_t *)bytes + h.hdr_len + h.type_off;
	ret->types_bytes = h.type_len;
	ret->strings = (const uint8_t *)bytes + h.hdr_len + h.str_off;
	ret->strings_bytes = h.str_len;
	int err = find_places(ret);

	if (err)
		kernel_btf_close(ret);
	return err;
}

/* Mapped where the kernel allows it (Linux 6.16), else copied. */
static int map_or_read(int fd, size_t bytes, struct kernel_btf *ret)
{
	void *memory = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	bool is_mapped = memory != MAP_FAILED;
	int err;

	if (!is_mapped) {
		memory = malloc(bytes);
		if (!memory)
			return -ENOMEM;
		if (!file_read_at(fd, 0, memory, bytes)) {
			free(memory);
			return -EIO;
		}
	}
	err = kernel_btf_from(memory, bytes, ret);
	ret->memory = memory;
	ret->memory_bytes = bytes;
	ret->is_mapped = is_mapped;
	if (err)
		kernel_btf_close(ret);
	return err;
}

int kernel_btf_open(const char *path, struct kernel_btf *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	struct stat st;

	*ret = (struct kernel_btf){ 0 };
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (st.st_size <= 0 || st.st_size > BYTES_MAX)
		err = -EINVAL;
	else
		err = map_or_read(fd, (size_t)st.st_size, ret);
	close(fd);
	return err;
}

void kernel_btf_close(struct kernel_btf *btf)
{
	free(btf->places);
	if (btf->is_mapped)
		munmap(btf->memory, btf->memory_bytes);
	else
		free(btf->memory);
	*btf = (struct kernel_btf){ 0 };
}
