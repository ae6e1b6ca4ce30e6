/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/quiet_thread.h"

#include <signal.h>
#include <stdbool.h>

#define STACK_BYTES (32u << 10)	/* a frame with all registers takes 11 KiB on today's largest processors */

void spare_stack_use(void)
{
	static _Thread_local char stack[STACK_BYTES];
	static _Thread_local bool is_used;
	const stack_t spare = { .ss_sp = stack, .ss_size = sizeof(stack) };
	stack_t present;

	if (is_used)
		return;
	is_used = true;
	/* a sanitizer's own stays */
	if (!sigaltstack(NULL, &present) && present.ss_flags & SS_DISABLE)
		sigaltstack(&spare, NULL);
}
