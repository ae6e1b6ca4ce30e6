/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TESTS_PRINT_WINDOW_H
#define TESTS_PRINT_WINDOW_H

#include "profile/profile.h"

/* A line of JSON. */
void print_window(const struct profile *p);

#endif
