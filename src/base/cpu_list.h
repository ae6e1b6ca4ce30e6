/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_CPU_LIST_H
#define BASE_CPU_LIST_H

#include <glib.h>
#include <stdbool.h>

/* The CPUs that are online, as the kernel lists them: "0-3,8"; NULL with *error.  Free with g_free(). */
char *cpu_list_online(GError **error);
/* Those of such a list (int). */
GArray *cpu_list_parse(const char *list);
bool cpu_list_has(const GArray *cpus, int cpu);

#endif
