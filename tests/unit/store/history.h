/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TESTS_STORE_HISTORY_H
#define TESTS_STORE_HISTORY_H

#include "sim.h"
#include "store/store.h"

/* For tests of a history: one in a directory of its own, with windows of a simulated machine. */
#define S UINT64_C(1000000000)
#define START SIM_START_UNIX_NS

char *new_dir(void);
/* With what is in it. */
void remove_dir(char *dir);
struct store *open_store(const char *dir);
void add_windows(struct store *s, const struct sim *sim, uint64_t from_ns, uint64_t to_ns, uint64_t step_ns);
struct profile *read_range(const char *dir, uint64_t from_ns, uint64_t to_ns);
/* It is what one window of that time would be. */
void assert_range(const char *dir, const struct sim *sim, uint64_t from_ns, uint64_t to_ns);

#endif
