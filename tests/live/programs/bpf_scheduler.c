/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The least BPF scheduler: a sched_ext_ops that has a name and no function, so that the kernel puts all threads into
 * its one global queue.  Says "ready" when it has the CPUs, and lets them go when its input ends.  77: it cannot be had.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NO_SCHED_EXT 77

static const struct btf_member *member_of(const struct btf *btf, const struct btf_type *type, const char *name, int id)
{
	const struct btf_member *m = btf_members(type);

	for (int i = 0; i < btf_vlen(type); i++)
		if (name ? strcmp(btf__name_by_offset(btf, m[i].name_off), name) == 0 : (int)m[i].type == id)
			return &m[i];
	return NULL;
}

int main(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int ops = btf ? btf__find_by_name_kind(btf, "sched_ext_ops", BTF_KIND_STRUCT) : -1;
	int value = btf ? btf__find_by_name_kind(btf, "bpf_struct_ops_sched_ext_ops", BTF_KIND_STRUCT) : -1;

	if (ops < 0 || value < 0)
		return NO_SCHED_EXT;
	const struct btf_type *value_type = btf__type_by_id(btf, value);
	const struct btf_member *data = member_of(btf, value_type, NULL, ops);
	const struct btf_member *name = member_of(btf, btf__type_by_id(btf, ops), "name", 0);
	struct btf *own = btf__new_empty();	/* the kernel wants types of ours, and looks at none */

	if (!own || btf__add_int(own, "int", 4, BTF_INT_SIGNED) < 0 || btf__load_into_kernel(own))
		return perror("BTF"), 1;
	LIBBPF_OPTS(bpf_map_create_opts, options, .btf_vmlinux_value_type_id = value, .btf_fd = btf__fd(own));
	int map = bpf_map_create(BPF_MAP_TYPE_STRUCT_OPS, "scheduler", 4, value_type->size, 1, &options);
	char *bytes = calloc(1, value_type->size);
	const unsigned key = 0;

	if (!data || !name || map < 0 || !bytes) {
		fprintf(stderr, "struct_ops: size %u, data %p, name %p, map %d\n", value_type->size, (void *)data, (void *)name, map);
		return 1;
	}
	strcpy(bytes + data->offset / 8 + name->offset / 8, "one_queue");
	if (bpf_map_update_elem(map, &key, bytes, 0))
		return perror("sched_ext"), 1;
	puts("ready");
	fflush(stdout);
	while (read(0, bytes, 1) > 0)
		;
	return bpf_map_delete_elem(map, &key) ? perror("end"), 1 : 0;
}
