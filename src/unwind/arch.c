/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/arch.h"

#include <elf.h>


const struct unwind_arch *unwind_arch_of(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return &unwind_arch_x86_64;
	case EM_AARCH64:
		return &unwind_arch_aarch64;
	default:
		return NULL;
	}
}

const struct unwind_arch *unwind_arch_here(void)
{
#ifdef __aarch64__
	return &unwind_arch_aarch64;
#else
	return &unwind_arch_x86_64;
#endif
}
