/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ABI_KERNEL_NAMES_ABI_H
#define ABI_KERNEL_NAMES_ABI_H

/* A symbol has 511 characters at most (KSYM_NAME_LEN, since Linux 6.1), its module 55. */
#define OFFCPU_KERNEL_NAME_MAX 640

#endif
