/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "tasks/sampler.h"

#include "base/order.h"
#include "profile/tasks_file.h"

static bool is_recorded(const struct profile *p, uint32_t pid)
{
	for (guint i = 0; i < p->threads->len; i++)
		if (profile_thread(p, i)->pid == pid)
			return true;
	return false;
}

ORDER_POINTERS(by_tasks, struct tasks, ORDER_HIGH(tasks) ORDER_LOW(pid))

void tasks_put(struct profile *p, GPtrArray *tasks)
{
	g_ptr_array_sort(tasks, by_tasks);
	for (guint i = 0; i < tasks->len && p->tasks->len < TASKS_POPULATIONS_MAX; i++)
		if (is_recorded(p, ((const struct tasks *)tasks->pdata[i])->pid))
			profile_add_tasks(p, g_steal_pointer(&tasks->pdata[i]));
	g_ptr_array_unref(tasks);
}
