/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_CONFINE_CALLS_H
#define BASE_CONFINE_CALLS_H

#include "base/confine.h"

/* From now on all other system calls of this thread, and of those it makes, are refused (EPERM).  False with errno. */
bool confine_calls(enum confine_calls calls);

#endif
