/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_CORE_BTF_H
#define ATTACH_CORE_BTF_H

#include <glib.h>

#include "attach/kernel_btf.h"

/*
 * The kernel's type information, cut down to what the programs name, for CO-RE.  libbpf looks through all
 * of the kernel's 140,000 types for each that the programs name: 19 ms of a start, and again for each object.
 */

/* The names that an object file's programs may ask for; NULL: it has no type information. */
GHashTable *core_btf_names(const void *elf, size_t elf_bytes);

/*
 * The types of these names, what they hold by value, and void pointers for those they hold, as libbpf reads
 * them.  Ids are not the kernel's, so that bpf_core_type_id_kernel() is of no use; types of modules are not
 * looked for.  NULL where the kernel's information is damaged or newer than this program.
 */
GByteArray *core_btf_cut(const struct kernel_btf *kernel, GHashTable *names);

/* Such a cut for an object file, in a file that libbpf can open until it is freed; NULL: there is none. */
struct core_btf *core_btf_new(const struct kernel_btf *kernel, const void *elf, size_t elf_bytes);
/* For bpf_object_open_opts.btf_custom_path; of NULL, NULL. */
const char *core_btf_path(const struct core_btf *c);
void core_btf_free(struct core_btf *c);

#endif
