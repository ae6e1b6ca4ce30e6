/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/find.h"
#include "base/module.h"

#include <glib.h>

bool lock_function_is(const char *name)
{
	/* kernel/locking, lib/lockref.c */
	static const char *const prefixes[] = {
		"rwsem_", "down_", "mutex_", "ww_mutex_", "percpu_", "rt_mutex_", "rwbase_", "killable_", "osq_lock",
		"raw_spin_lock", "raw_read_lock", "raw_write_lock", "native_queued_spin_lock", "pv_queued_spin_lock",
		"queued_spin_lock", "queued_read_lock", "queued_write_lock", "lockref_",
	};

	while (*name == '_')
		name++;
	return ANY(x, prefixes, g_str_has_prefix(name, *x));
}
