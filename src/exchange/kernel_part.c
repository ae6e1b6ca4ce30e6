/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/kernel_part.h"

#include <string.h>

#define SCHEDULER_WITHIN 6	/* frames of the tracer's own may be further in */

bool kernel_part_is_scheduler(const char *name)
{
	return strstr(name, "schedule") || g_str_has_prefix(name, "finish_task_switch") ||
	       strstr(name, "sched_switch") || g_str_has_prefix(name, "prepare_to_block");
}

static bool is_entry(const char *name)
{
	static const char *const entries[] = {
		"entry_SYSCALL_", "entry_SYSENTER_", "entry_INT80_", "asm_exc_", "asm_sysvec_",
		"asm_common_interrupt", "ret_from_fork", "secondary_startup_64", "el0_svc", "el0t_64_",
		"el0_da", "ret_fast_syscall"
	};

	for (gsize i = 0; i < G_N_ELEMENTS(entries); i++)
		if (g_str_has_prefix(name, entries[i]))
			return true;
	return false;
}

static bool ends_in_scheduler(const GPtrArray *names)
{
	for (guint i = names->len; i-- > 0 && names->len - i <= SCHEDULER_WITHIN;)
		if (kernel_part_is_scheduler(g_ptr_array_index(names, i)))
			return true;
	return false;
}

guint kernel_part_begins(const GPtrArray *names, bool is_waker)
{
	guint i = 0;

	if (!is_waker && !ends_in_scheduler(names))
		return names->len;
	while (i < names->len && !is_entry(g_ptr_array_index(names, i)))
		i++;
	return i;
}

bool kernel_part_stops(const struct profile *p, uint32_t kernel)
{
	for (unsigned i = 0; kernel && i < SCHEDULER_WITHIN; i++) {
		const struct stack_node *node = profile_get_node(p, kernel);
		const char *name = profile_get_frame(p, node->frame)->name;

		if (name && kernel_part_is_scheduler(name))
			return true;
		kernel = node->parent;
	}
	return false;
}
