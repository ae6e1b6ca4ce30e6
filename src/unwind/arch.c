/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/arch.h"

#include <elf.h>

#include "unwind/arch_x86_64.h"

const struct unwind_arch *unwind_arch_of(uint16_t machine)
{
	return machine == EM_X86_64 ? &unwind_arch_x86_64 : NULL;
}
