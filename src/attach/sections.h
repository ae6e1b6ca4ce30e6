/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_SECTIONS_H
#define ATTACH_SECTIONS_H

/*
 * What programs attach to and which functions of the kernel they call, libbpf would find in the kernel's type
 * information: for that it parses all of it, 10 to 14 ms for each object that is loaded.  We know the few places that
 * count (feature_kernel_btf()), so it is told.  Once, before the first object is opened; where we do not know them,
 * libbpf looks for itself.
 */
void sections_register(void);

#endif
