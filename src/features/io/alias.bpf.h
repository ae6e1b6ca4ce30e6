/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From an inode's list of dentries to the dentry. */
#ifndef FEATURES_IO_ALIAS_BPF_H
#define FEATURES_IO_ALIAS_BPF_H

#include "bpf/ktypes.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct dentry___alias {
	union {
		struct hlist_node d_alias;
	} d_u;
};

/* Since Linux 7 the union is anonymous. */
struct dentry___plain {
	struct hlist_node d_alias;
};

#pragma clang attribute pop

static __always_inline struct dentry *dentry_of(struct hlist_node *alias)
{
	if (bpf_core_field_exists(struct dentry___plain, d_alias))
		return (void *)alias - bpf_core_field_offset(struct dentry___plain, d_alias);
	return (void *)alias - bpf_core_field_offset(struct dentry___alias, d_u.d_alias);
}

#endif
