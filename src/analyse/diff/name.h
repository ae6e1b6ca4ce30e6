/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_DIFF_NAME_H
#define ANALYSE_DIFF_NAME_H

#include "profile/profile.h"

/*
 * Names by which two recordings are compared.  Another build, another version of a library or another compiler spells
 * the name of a function differently; what is spelled here is only compared and never shown.
 */

/*
 * Appends the name without what a build adds to it: ".constprop.0", ".part.1", ".isra.0", ".cold", ".llvm.123", "
 * [clone ...]", "@@GLIBC_2.34", Rust's "::h0123456789abcdef", "[abi:cxx11]", numbers of lambdas, std's inline
 * namespaces, default allocators and the like, and blanks that compilers set differently.
 */
void diff_name_append(GString *s, const char *name);

/* The same, without template arguments and parameters: "ns::queue<int>::push(int)" is "ns::queue::push". */
void diff_name_append_loose(GString *s, const char *name);

/* The frame's name; "libfoo.so+?" for one without a name, whatever the version of the library and the address. */
void diff_name_append_frame(GString *s, const struct frame *f, bool loose);

/* "kworker/#:#": every number as one sign. */
void diff_name_append_numberless(GString *s, const char *comm);

#endif
